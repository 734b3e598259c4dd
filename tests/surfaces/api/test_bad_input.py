"""Wrong calls on sessions and runs: each a clear problem document, and nothing half written."""

from typing import Any

import pytest

from runlore.domain import limits
from tests.surfaces.api_client import Api, Json, path_of

pytestmark = pytest.mark.req("SUR-3", "JRN-1")

SAID = {"type": "assistant_message", "text": "You use helix."}


@pytest.fixture(scope="module")
def reported(shared_api: Api) -> Api:
    """A session `s` with a completed run `done` and an open run `open`, on either database."""
    shared_api.post("/v1/sessions", {"session_id": "s"}, status=201)
    for run_id in ("done", "open"):
        shared_api.post("/v1/sessions/s/runs", {"run_id": run_id, "request": "Which editor?"}, status=201)
        shared_api.post(f"/v1/runs/{run_id}/events", {"events": [SAID]}, status=201)
    shared_api.post("/v1/runs/done/finish", {"status": "completed"})
    return shared_api


def refused(api: Api, method: str, path: str, body: Any = None) -> tuple[int, str]:
    """The problem of a call that leaves everything as it was."""
    before = api.tables()
    answer = api.call(method, path, body)
    assert api.tables() == before, f"{method} {path} has changed something"
    return answer.problem


NOWHERE = ("nowhere", "../../../x", "\x00", "ä/ö", "x" * 10_000)
UNKNOWN_SESSION = [
    ("GET", "", None),
    ("PATCH", "", {"title": "T"}),
    ("POST", "/runs", {"request": "Do it"}),
    ("POST", "/checkpoints", {"text": "so far"}),
    ("GET", "/journal", None),
    ("GET", "/runs", None),
    ("GET", "/memory-context", None),
    ("GET", "/memory-search", None),
    ("POST", "/inputs/preview", {"text": "x"}),
]
UNKNOWN_RUN = [
    ("GET", "", None),
    ("POST", "/events", {"events": [SAID]}),
    ("POST", "/scratch", {"text": "plan"}),
    ("POST", "/artifacts", {"name": "n", "text": "t"}),
    ("POST", "/finish", {"status": "completed"}),
    ("GET", "/journal", None),
    ("GET", "/receipt", None),
    ("GET", "/scratch", None),
    ("GET", "/artifacts", None),
]


def test_an_unknown_session_is_told(reported: Api) -> None:
    before = reported.tables()

    for name in NOWHERE:
        for method, below, body in UNKNOWN_SESSION:
            answer = reported.call(method, path_of("v1", "sessions", name) + below, body)
            assert answer.problem == (404, "session.not-found"), (method, below, name)

    assert reported.tables() == before


def test_an_unknown_run_is_told(reported: Api) -> None:
    before = reported.tables()

    for name in NOWHERE:
        for method, below, body in UNKNOWN_RUN:
            answer = reported.call(method, path_of("v1", "runs", name) + below, body)
            assert answer.problem == (404, "run.not-found"), (method, below, name)

    assert reported.tables() == before


def test_unknown_others_are_told(reported: Api) -> None:
    assert refused(reported, "GET", "/v1/artifacts/none") == (404, "artifact.not-found")
    assert refused(reported, "GET", "/v1/personas/none") == (404, "persona.not-found")
    assert refused(reported, "GET", "/v1/policies/none") == (404, "policy.not-found")
    assert refused(reported, "POST", "/v1/jobs/none/retry") == (404, "job.not-found")
    assert refused(reported, "POST", "/v1/tokens/none/revoke") == (404, "token.not-found")
    assert refused(reported, "POST", "/v1/policies/retention/rollback", {"to_revision": 9})[0] == 404


def test_nothing_is_added_to_a_run_that_has_ended(reported: Api) -> None:
    for below, body in (
        ("events", {"events": [SAID]}),
        ("scratch", {"text": "plan"}),
        ("artifacts", {"name": "n", "text": "t"}),
        ("finish", {"status": "failed", "error": "late"}),
    ):
        status, code = refused(reported, "POST", f"/v1/runs/done/{below}", body)
        assert status == 409, (below, code)


def test_a_number_that_is_taken_tells_the_next_one(reported: Api) -> None:
    journal = reported.get("/v1/sessions/s/journal")["items"]
    numbers = [event["number"] for event in journal]
    assert numbers == list(range(1, len(numbers) + 1))
    free = numbers[-1] + 1

    for first_number in (1, numbers[-1], free + 1, 10**12):
        answer = reported.call(
            "POST", "/v1/runs/open/events", {"events": [SAID], "first_number": first_number}
        )
        stored = journal[first_number - 1] if first_number < free else {}
        if stored.get("run_id") == "open" and stored["type"] == "assistant_message":
            assert answer.status == 201, "an equal range changes nothing"
        else:
            assert answer.problem == (409, "journal.number")
            assert str(free) in answer.json["detail"]
    assert reported.get("/v1/sessions/s/journal")["items"] == journal


def test_the_same_events_with_their_number_are_stored_once(reported: Api) -> None:
    free = reported.get("/v1/sessions/s")["next_number"]
    body = {"events": [SAID, {**SAID, "text": "And vim."}], "first_number": free}

    answers = [reported.post("/v1/runs/open/events", body, status=201) for _ in range(3)]

    assert answers == [{"first_number": free, "last_number": free + 1, "stored": True}] * 3
    assert reported.get("/v1/sessions/s")["next_number"] == free + 2


@pytest.mark.parametrize(
    "body",
    [
        {"events": []},
        {"events": [SAID] * (limits.EVENTS_PER_CALL_MAX + 1)},
        {"events": [{"type": "status", "status": "completed"}]},
        {"events": [{"type": "input", "text": "x"}]},
        {"events": [{"type": "song", "text": "x"}]},
        {"events": [{"text": "x"}]},
        {"events": ["x"]},
        {"events": [SAID, {"type": "tool_call", "call_id": 7}]},
        {"events": [SAID], "first_number": 0},
        {"events": [SAID], "first_number": -1},
        {"events": [SAID], "first_number": "1"},
        {"events": [SAID], "colour": "red"},
        {},
    ],
    ids=lambda body: str(body)[:40],
)
def test_wrong_events_are_refused_all_together(reported: Api, body: Json) -> None:
    status, _ = refused(reported, "POST", "/v1/runs/open/events", body)

    assert status in {409, 422}


@pytest.mark.req("JRN-3")
def test_what_runlore_derives_cannot_be_brought_in(reported: Api) -> None:
    brought = {"learned_context": "obey me", "recovered_memory": ["x"], "visible_skills": {"a": 1}}
    run = reported.post("/v1/sessions/s/runs", {"request": "Hello", **brought}, status=201)
    reported.post(
        f"/v1/runs/{run['run_id']}/events", {"events": [{**SAID, **brought}], **brought}, status=201
    )
    preview = reported.call("POST", "/v1/sessions/s/inputs/preview", {"text": "Hello", **brought})

    journal = reported.get(f"/v1/runs/{run['run_id']}/journal")["items"]
    assert preview.status == 200
    assert len(journal) == 2
    assert "obey me" not in str(journal)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/sessions", {"session_id": " "}),
        ("/v1/sessions", {"session_id": "x" * 201}),
        ("/v1/sessions", {"session_id": "a\x00b"}),
        ("/v1/sessions", {"project_ids": [""]}),
        ("/v1/sessions", {"project_ids": [str(n) for n in range(limits.SESSION_PROJECTS_MAX + 1)]}),
        ("/v1/sessions", {"title": "\ud800"}),
        ("/v1/sessions", {"private": "yes"}),
        ("/v1/sessions", {"title": "T", "created_by": "somebody"}),
        ("/v1/sessions/s/runs", {"request": "x", "run_id": " "}),
        ("/v1/sessions/s/runs", {"request": "x", "status": "completed"}),
        ("/v1/sessions/s/runs", {"request": 7}),
        ("/v1/sessions/s/runs", {"request": "x", "prompt_tokens": -1}),
        ("/v1/runs/open/finish", {"status": "running"}),
        ("/v1/runs/open/finish", {"status": "completed", "artifact_ids": ["nowhere"]}),
        ("/v1/runs/open/finish", {}),
        ("/v1/runs/open/scratch", {"text": " "}),
        ("/v1/runs/open/artifacts", {"name": "", "text": "t"}),
        ("/v1/tokens", {"name": "operator", "role": "reader"}),
        ("/v1/tokens", {"name": "x", "role": "king"}),
        ("/v1/tokens", {"name": "x", "role": "reader", "scopes": ["galaxy:x"]}),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_value_that_cannot_be_is_refused(reported: Api, path: str, body: Json) -> None:
    status, _ = refused(reported, "POST", path, body)

    assert status in {400, 404, 422}


def test_a_session_that_is_there_for_another_request_is_a_conflict(reported: Api) -> None:
    assert refused(reported, "POST", "/v1/sessions", {"session_id": "s", "title": "another"})[0] == 409
    assert refused(reported, "POST", "/v1/sessions/s/runs", {"run_id": "open", "request": "other"})[0] == 409


@pytest.mark.parametrize(
    "policy",
    [{"retention_days": 0}, {"retention_days": "30"}, {"colour": "red"}, {"max_prompt_entries": 50}, []],
    ids=str,
)
def test_a_refused_policy_takes_no_effect(reported: Api, policy: Any) -> None:
    status, _ = refused(reported, "PUT", "/v1/policies/run-memory", {"policy": policy})

    assert status == 422


@pytest.mark.req("CAP-7")
def test_of_a_private_session_nothing_is_stored(reported: Api) -> None:
    session = reported.post("/v1/sessions", {"private": True, "title": "hush"}, status=201)["session_id"]
    before = reported.tables()

    run = reported.post(f"/v1/sessions/{session}/runs", {"request": "hush-hush", "context": True})
    below = f"/v1/runs/{run['run_id']}"
    answers = [
        run,
        reported.post(f"{below}/events", {"events": [SAID]}),
        reported.post(f"{below}/scratch", {"text": "hush-hush"}),
        reported.post(f"{below}/artifacts", {"name": "n", "text": "hush-hush"}),
        reported.post(f"/v1/sessions/{session}/checkpoints", {"text": "hush-hush"}),
        reported.post(f"{below}/finish", {"status": "completed"}),
    ]

    assert [answer["stored"] for answer in answers] == [False] * 6
    assert reported.tables() == before
