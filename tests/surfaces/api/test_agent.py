"""Inputs that the daemon works through: started, followed as they happen, stopped, and what they wait for."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runlore.config.settings import Settings
from runlore.daemon.parts import Parts
from runlore.domain.access import Role
from tests.surfaces.agent_runs import MARKER, Stream, Told, agent_api, obedient, session, started
from tests.surfaces.api_client import TIMEOUT_S, Api, path_of, serving
from tests.surfaces.api_conformance import validator
from tests.waiting import until

pytestmark = pytest.mark.req("AGT-5", "SUR-3")


@pytest.fixture(params=["sqlite", "postgres"])
def api(request: pytest.FixtureRequest, clean_home: Path) -> Iterator[Api]:
    """A served Runlore whose model does what it is told, on either database."""
    url = request.getfixturevalue("postgres_database") if request.param == "postgres" else None
    with agent_api(Settings(state_root=str(clean_home / "runlore"), database_url=url)) as (made, _):
        yield made


@pytest.fixture
def own(clean_home: Path) -> Iterator[Api]:
    """The same with its own SQLite file, for what has nothing to do with the store."""
    with agent_api(Settings(state_root=str(clean_home / "runlore"))) as (made, _):
        yield made


def all_of(api: Api, run_id: str, **more: str) -> list[Told]:
    """A run's whole stream."""
    with Stream(api, run_id, **more) as stream:
        assert stream.answer.status == 200
        return list(stream)


def numbers(told: list[Told]) -> list[int]:
    """The numbers of the journal's events."""
    return [each.number for each in told if each.number is not None]


def test_an_input_is_worked_and_its_stream_tells_what_the_journal_has(api: Api, tmp_path: Path) -> None:
    run_id = started(api, session(api, tmp_path), "Release it")

    told = all_of(api, run_id)

    journal = api.get(path_of("v1", "runs", run_id, "journal"))["items"]
    assert [each.data for each in told if each.name == "journal"] == journal
    assert numbers(told) == [event["number"] for event in journal]
    assert {each.name for each in told if each.number is None} <= {"text", "remark", "end"}
    end = told[-1]
    # How a run counts is told of one that is asked for alone.
    shown = {**api.get(path_of("v1", "runs", run_id)), "outcome": None}
    assert (end.name, end.data["run"]) == ("end", shown)
    assert end.data["final_output"] == f"You said 'Release it', {MARKER}"
    assert end.data["run"]["status"] == "completed"


def test_what_each_event_holds_is_told_in_the_document(own: Api, tmp_path: Path) -> None:
    session_id = session(own, tmp_path)
    run_id = started(own, session_id, "!echo hello")
    seen: dict[str, list[Told]] = {}
    with Stream(own, run_id) as stream:
        for told in stream:
            seen.setdefault(told.name, []).append(told)
            if told.name == "approval" and told.data["state"] == "waiting":
                own.post(path_of("v1", "approvals", told.data["approval_id"]), {"approve": True})

    shapes = own.get("/openapi.json")["components"]["schemas"]["RunEventData"]["properties"]
    assert {"journal", "approval", "output", "end"} <= set(seen) <= set(shapes)
    for name, events in seen.items():
        check = validator(json.dumps(shapes[name]))
        for told in events:
            check.validate(told.data)
    assert "".join(told.data["text"] for told in seen["output"]) == "hello\n"


def test_a_stream_goes_on_after_any_number_of_the_journal(own: Api, tmp_path: Path) -> None:
    run_id = started(own, session(own, tmp_path), "Release it")
    whole = [told for told in all_of(own, run_id) if told.name in ("journal", "end")]
    last = max(numbers(whole))

    for number in range(last + 3):
        rest = [told for told in whole if told.number is None or told.number > number]
        assert all_of(own, run_id, Last_Event_ID=str(number)) == rest
        assert all_of(own, run_id, query=f"?after={number}") == rest
        assert all_of(own, run_id, query="?after=0", Last_Event_ID=str(number)) == rest


def test_whoever_waits_is_answered_with_the_end(api: Api) -> None:
    path = path_of("v1", "sessions", session(api), "inputs")

    answer = api.call("POST", path, {"text": "Release it", "wait": True})

    assert (answer.status, answer.json["status"]) == (201, "completed")
    assert answer.headers["location"] == path_of("v1", "runs", answer.json["run_id"])


class SlowMemories:
    """Run memories that are written once the test lets them be."""

    def __init__(self, real: Any, let_go: threading.Event) -> None:
        self._real = real
        self._let_go = let_go

    def put(self, *given: Any) -> None:
        """Write one, when it may be."""
        assert self._let_go.wait(TIMEOUT_S)
        self._real.put(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.mark.req("RUN-1")
def test_a_session_is_free_once_its_run_has_ended_and_whoever_waits_is_answered_when_it_is_remembered(
    clean_home: Path,
) -> None:
    let_go = threading.Event()

    def slow(parts: Parts) -> Parts:
        return replace(parts, run_memories=SlowMemories(parts.run_memories, let_go))

    settings = Settings(state_root=str(clean_home / "runlore"))
    with (
        agent_api(settings, fitted=slow) as (api, _),
        ThreadPoolExecutor(1) as threads,
        closing(SimpleNamespace(close=let_go.set)),
    ):
        path = path_of("v1", "sessions", session(api), "inputs")
        body = {"text": "Release it", "run_id": "first", "wait": True}
        waiting = threads.submit(api.call, "POST", path, body)
        first = path_of("v1", "runs", "first")
        until(lambda: api.call("GET", first).status == 200 and api.get(first)["status"] == "completed")
        assert api.get(first)["memory"] == "pending"

        run_id = started(api, path.split("/")[3], "The next one")
        until(lambda: api.get(path_of("v1", "runs", run_id))["status"] == "completed")
        # It looks every half second at most.
        assert not wait([waiting], timeout=0.7).done
        let_go.set()

        assert waiting.result().json["memory"] == "stored"


@pytest.mark.req("OPS-2")
def test_the_same_key_or_id_begins_one_run(own: Api) -> None:
    paths = [path_of("v1", "sessions", session(own), "inputs") for _ in range(2)]
    body, headers = {"text": "hang"}, {"Idempotency-Key": "once"}

    by_key = [own.call("POST", paths[0], body, headers=headers) for _ in range(3)]
    by_id = [own.call("POST", paths[1], {**body, "run_id": "mine"}) for _ in range(2)]

    assert len({answer.json["run_id"] for answer in by_key}) == 1
    assert [answer.json["run_id"] for answer in by_id] == ["mine", "mine"]
    assert [own.call("POST", path, body).problem for path in paths] == [(409, "agent.session-busy")] * 2
    assert len(own.get("/v1/runs")["items"]) == 2


@pytest.mark.req("AGT-4")
@pytest.mark.parametrize(("approve", "state"), [(True, "approved"), (False, "denied")])
def test_a_command_waits_for_a_word_and_goes_on_with_it(
    api: Api, tmp_path: Path, approve: bool, state: str
) -> None:
    run_id = started(api, session(api, tmp_path), "!touch made")
    with Stream(api, run_id) as stream:
        asked = stream.until("approval").data
        waiting = api.get("/v1/approvals", run_id=run_id)["items"]
        status = api.get(path_of("v1", "runs", run_id))["status"]
        path = path_of("v1", "approvals", asked["approval_id"])
        decided = [api.post(path, {"approve": approve}) for _ in range(2)]
        other = api.call("POST", path, {"approve": not approve})
        stream.until("end")

    assert ([asked], status) == (waiting, "waiting_for_approval")
    assert (asked["kind"], asked["tool"], asked["arguments"]) == ("call", "shell", {"command": "touch made"})
    assert decided[0] == decided[1] == api.get(path)
    assert (decided[0]["state"], decided[0]["decided_by"]) == (state, "operator")
    assert other.problem == (409, "approval.decided")
    assert (tmp_path / "made").exists() is approve
    assert api.get("/v1/approvals", run_id=run_id)["items"] == []
    assert api.get("/v1/approvals", run_id=run_id, state=state)["items"] == [decided[0]]


@pytest.mark.req("AGT-4")
def test_a_no_may_say_why_and_a_yes_may_not(own: Api, tmp_path: Path) -> None:
    run_id = started(own, session(own, tmp_path), "!touch made")
    with Stream(own, run_id) as stream:
        path = path_of("v1", "approvals", stream.until("approval").data["approval_id"])
        refused = own.call("POST", path, {"approve": True, "answer": "do"})
        said = [own.post(path, {"approve": False, "answer": " use the other one "}) for _ in range(2)]
        other = own.call("POST", path, {"approve": False, "answer": "something else"})
        end = stream.until("end").data

    assert refused.problem == (422, "approval.answer")
    assert said[0] == said[1]
    assert (said[0]["state"], said[0]["answer"]) == ("denied", "use the other one")
    assert other.problem == (409, "approval.decided")
    assert "denied: use the other one" in end["final_output"]
    assert not (tmp_path / "made").exists()


@pytest.mark.req("AGT-5", "SUR-2")
def test_a_private_run_is_waited_for_and_followed_and_nothing_of_it_stays(own: Api, tmp_path: Path) -> None:
    session_id = session(own, tmp_path, private=True)
    path = path_of("v1", "sessions", session_id, "inputs")
    before = own.tables()

    waited = own.call("POST", path, {"text": "Release it", "wait": True})
    asked = own.call("POST", path, {"text": "!touch made"}).json["run_id"]
    with Stream(own, asked) as stream:
        approval = stream.until("approval").data
        assert own.get("/v1/approvals", run_id=asked)["items"] == [approval]
        own.post(path_of("v1", "approvals", approval["approval_id"]), {"approve": True})
        end = stream.until("end").data

    assert (waited.status, waited.json["status"], waited.json["stored"]) == (200, "completed", False)
    assert end["final_output"].startswith("It came to: ")
    assert (tmp_path / "made").exists()
    # A process that is alive says so.
    assert {name for name, rows in own.tables().items() if rows != before[name]} <= {"processes"}


def test_a_question_is_answered_over_http(own: Api) -> None:
    session_id = session(own)
    run_id = started(own, session_id, "?Which colour")
    with Stream(own, run_id) as stream:
        asked = stream.until("approval").data
        assert own.get(path_of("v1", "runs", run_id))["status"] == "waiting_for_user"
        path = path_of("v1", "approvals", asked["approval_id"])
        assert own.call("POST", path, {"approve": True}).status == 422
        answered = own.post(path, {"answer": "green"})
        end = stream.until("end").data

    assert (asked["kind"], asked["question"], answered["answer"]) == ("question", "Which colour", "green")
    assert end["final_output"] == "It came to: green"


@pytest.mark.parametrize("text", ["hang", "?Which colour", "!sleep 60"])
def test_a_run_is_cancelled_whatever_it_does(own: Api, tmp_path: Path, text: str) -> None:
    run_id = started(own, session(own, tmp_path), text)
    path = path_of("v1", "runs", run_id, "cancel")

    cancelled = own.post(path)

    assert all_of(own, run_id)[-1].data["run"]["status"] == "cancelled"
    shown = {**own.get(path_of("v1", "runs", run_id)), "outcome": None}
    assert own.post(path) == shown == cancelled
    assert own.get("/v1/approvals", run_id=run_id)["items"] == []


@pytest.mark.req("AGT-3")
def test_without_a_model_an_input_is_refused_in_one_line_and_nothing_is_written(embedded_api: Api) -> None:
    session_id = session(embedded_api)
    before = embedded_api.tables()

    answer = embedded_api.call("POST", path_of("v1", "sessions", session_id, "inputs"), {"text": "Go"})

    assert answer.problem == (503, "model.none")
    assert embedded_api.tables() == before


def test_runs_of_other_agents_are_followed_by_their_journal(own: Api) -> None:
    session_id = session(own)
    run_id = own.post(path_of("v1", "sessions", session_id, "runs"), {"request": "Mine"}, status=201)[
        "run_id"
    ]
    with Stream(own, run_id) as stream:
        first = next(iter(stream))
        events = {"events": [{"type": "assistant_message", "text": "It is done"}]}
        own.post(path_of("v1", "runs", run_id, "events"), events, status=201)
        second = stream.until("journal")
        own.post(path_of("v1", "runs", run_id, "finish"), {"status": "completed"})
        end = stream.until("end")

    assert (first.data["type"], second.data["body"]) == ("input", {"text": "It is done"})
    assert (end.data["run"]["status"], end.data["final_output"]) == ("completed", "It is done")
    assert own.call("POST", path_of("v1", "runs", run_id, "cancel")).status == 200


@pytest.mark.req("OPS-5")
def test_a_stream_is_for_those_who_may_see_the_run(own: Api) -> None:
    mine, other = own.token("mine", Role.AGENT), own.token("other", Role.AGENT)
    own.call("POST", "/v1/sessions", {"session_id": "own"}, token=mine)
    path = path_of("v1", "sessions", "own", "inputs")
    run_id = own.call("POST", path, {"text": "Release it", "wait": True}, token=mine).json["run_id"]
    events = path_of("v1", "runs", run_id, "events")

    assert own.call("GET", events, token=mine).status == 200
    assert own.call("GET", events, token=other).problem == (404, "run.not-found")
    assert own.call("GET", path_of("v1", "runs", "none", "events")).problem == (404, "run.not-found")
    assert own.call("POST", path, {"text": "Mine"}, token=other).problem == (404, "session.not-found")


@pytest.mark.req("OPS-5", "AGT-4")
def test_nobody_allows_the_calls_of_their_own_agent(own: Api, tmp_path: Path) -> None:
    agent = own.token("agent", Role.AGENT)
    session_id = session(own, tmp_path)
    run_id = started(own, session_id, "!touch made")
    with Stream(own, run_id) as stream:
        path = path_of("v1", "approvals", stream.until("approval").data["approval_id"])
        denied = own.call("POST", path, {"approve": True}, token=agent)
        own.post(path_of("v1", "runs", run_id, "cancel"))

    assert denied.problem == (403, "role.denied")
    assert own.get(path)["state"] == "lapsed"
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("query", "header"), [("?after=-1", None), ("?after=x", None), ("?what=1", None), ("", "-1"), ("", "x")]
)
def test_a_wrong_place_to_begin_is_said_before_anything_is_streamed(
    own: Api, query: str, header: str | None
) -> None:
    headers = {} if header is None else {"Last-Event-ID": header}

    answer = own.call("GET", f"/v1/runs/none/events{query}", headers=headers)

    assert answer.status == 422


def test_a_daemon_that_stops_ends_its_streams_and_those_who_wait(clean_home: Path) -> None:
    settings = Settings(state_root=str(clean_home / "runlore"))
    waited = []
    with agent_api(settings) as (api, model):
        run_id = started(api, session(api), "hang")
        stream = Stream(api, run_id)
        path = path_of("v1", "sessions", session(api), "inputs")
        waiting = threading.Thread(
            target=lambda: waited.append(api.call("POST", path, {"text": "hang", "wait": True}))
        )
        waiting.start()
        next(iter(stream))
        while len(model.requests) < 2:
            api.get("/v1/runs")
    with closing(stream.connection):
        rest = list(stream)
    waiting.join()

    assert rest[-1].name == "end"
    assert rest[-1].data["run"]["status"] == "interrupted"
    assert waited[0].json["status"] == "interrupted"
    with serving(settings) as again:
        assert all_of(again, run_id)[-1].data["run"]["status"] == "interrupted"


def test_many_can_follow_one_run_and_hear_the_same(own: Api, tmp_path: Path) -> None:
    run_id = started(own, session(own, tmp_path), "!echo hello")
    streams = [Stream(own, run_id) for _ in range(5)]
    asked = {stream.until("approval").data["approval_id"] for stream in streams}
    own.post(path_of("v1", "approvals", asked.pop()), {"approve": True})

    heard = [[told for told in stream if told.name in ("journal", "output", "end")] for stream in streams]

    assert all(each == heard[0] for each in heard)
    assert not asked
    assert heard[0][-1].data["final_output"].startswith("It came to: hello")
    for stream in streams:
        stream.connection.close()


def test_the_model_was_asked_with_the_words_of_the_input(clean_home: Path) -> None:
    with agent_api(Settings(state_root=str(clean_home / "runlore")), obedient) as (api, server):
        api.post(path_of("v1", "sessions", session(api), "inputs"), {"text": "Go", "wait": True}, status=201)

        assert server.requests[0].text == "Go"
