"""Skills over HTTP: kept, brought in, promoted, matched, used, curated, undone; wrong calls refused."""

from pathlib import Path
from typing import Any

import pytest

from runlore.domain.access import Role
from tests.surfaces.api_client import Answer, Api, Json, path_of
from tests.surfaces.skill_files_of import skill_md
from tests.surfaces.skill_runs import import_body, told_run

pytestmark = pytest.mark.req("SUR-3", "SUR-1")

SKILLS, SUGGESTIONS, CURATIONS = "/v1/skills", "/v1/skill-suggestions", "/v1/skill-curations"
HIDDEN = "Tidy\u202e up\u200b"


def suggested(api: Api) -> list[Json]:
    """What two runs suggest, the best first."""
    api.post("/v1/transcripts/runs", import_body(told_run(1), told_run(2)))
    api.post(f"{SUGGESTIONS}/detect")
    return list(api.get(SUGGESTIONS)["items"])


def saved(api: Api, suggestion: Json, **body: Any) -> Json:
    """A suggestion, kept."""
    path = path_of("v1", "skill-suggestions", suggestion["name"], "save")
    return api.post(path, {"accept_untrusted": True, **body})


def brought(api: Api, name: str = "tidy-up", **body: Any) -> Json:
    """A skill of somebody's."""
    return api.post(SKILLS, {"text": skill_md(name), "source": "a friend", **body}, status=201)


@pytest.mark.req("SKL-8", "TNT-2")
def test_a_suggestion_becomes_a_skill_with_its_file_once(api: Api) -> None:
    first, *_ = suggested(api)
    path = path_of("v1", "skill-suggestions", first["suggestion_id"], "save")

    refused = api.call("POST", path)
    kept = api.call("POST", path, {"accept_untrusted": True})
    again = api.call("POST", path, {"accept_untrusted": True})

    assert refused.problem == (422, "skill.tainted")
    for source in first["provenance"]["sources"]:
        assert source in refused.json["detail"]
    assert (kept.status, kept.json["name"], kept.json["state"]) == (200, first["name"], "active")
    assert again.json == kept.json
    assert api.get(path_of("v1", "skill-suggestions", first["name"]))["state"] == "saved"
    file = api.call("GET", path_of("v1", "skills", first["name"], "file"))
    assert file.headers["content-type"].startswith("text/markdown")
    assert file.body.decode().startswith(f'---\nname: "{first["name"]}"\n')
    assert file.headers["etag"] == kept.headers["etag"]


@pytest.mark.req("TNT-2")
def test_a_skill_that_is_brought_in_reaches_nobody_until_it_is_promoted(api: Api) -> None:
    made = api.call("POST", SKILLS, {"text": skill_md(), "source": "a friend"})
    session = api.post("/v1/sessions", {}, status=201)["session_id"]
    path, match = path_of("v1", "skills", "tidy-up"), {"query": "tidy the workspace", "session_id": session}

    hidden = (
        api.get(SKILLS, **match)["items"],
        api.get(path_of("v1", "sessions", session, "skills"))["items"],
    )
    refused = [api.call("POST", f"{path}/{move}").problem for move in ("use", "promote")]
    promoted = api.post(f"{path}/accept", {"force": True, "reason": "read it"})

    assert (made.status, made.headers["location"]) == (201, path)
    assert made.json["provenance"]["untrusted"]
    assert hidden == ([], [])
    assert refused == [(422, "skill.tainted")] * 2
    assert not promoted["provenance"]["untrusted"]
    assert promoted["provenance"]["sources"] == made.json["provenance"]["sources"]
    [found] = api.get(SKILLS, **match)["items"]
    assert found["match"]["score"] == sum(part["points"] for part in found["match"]["parts"])
    assert {name: value for name, value in found.items() if name != "match"} == promoted
    [line] = [each for each in api.get("/v1/skill-log")["items"] if each["kind"] == "accepted"]
    assert (line["name"], line["actor"], line["reason"]) == ("tidy-up", "operator", "read it")


def test_an_imported_file_is_given_back_as_runlore_writes_it_and_its_body_byte_for_byte(api: Api) -> None:
    body = f"# {HIDDEN}\r\n\r\nRun `make clean`\r\n"
    brought(api, text=skill_md(body=body))

    file = api.call("GET", f"{SKILLS}/tidy-up/file")
    known = api.call("GET", f"{SKILLS}/tidy-up/file", headers={"If-None-Match": file.headers["etag"]})

    assert file.body.endswith(f"---\n\n{body}".encode())
    assert b'runlore-untrusted: "true"' in file.body
    assert (known.status, known.body) == (304, b"")
    assert api.call("GET", f"{SKILLS}/none/file").problem == (404, "skill.not-found")


@pytest.mark.req("TNT-2")
def test_a_skill_is_promoted_at_the_revision_that_was_read(api: Api) -> None:
    made = brought(api)
    path = f"{SKILLS}/tidy-up/accept"

    moved = [
        api.call("POST", path, {"force": True, "expected_revision": made["revision"] + 1}),
        api.call("POST", path, {"force": True}, headers={"If-Match": f'"{made["revision"] + 1}"'}),
    ]
    promoted = api.call("POST", path, {"force": True}, headers={"If-Match": f'"{made["revision"]}"'})

    assert [each.problem for each in moved] == [(409, "skill.moved")] * 2
    assert promoted.json["revision"] == made["revision"] + 1
    assert not promoted.json["provenance"]["untrusted"]


@pytest.mark.req("SKL-8")
def test_a_name_that_would_lead_elsewhere_becomes_a_name(api: Api) -> None:
    made = brought(api, "../../etc/x")

    assert "/" not in made["name"]
    folders = [path.name for path in Path(api.settings.state_root, "skills").iterdir() if path.is_dir()]
    assert folders == [made["name"]]


@pytest.mark.req("OPS-3")
def test_a_repeated_call_with_its_key_has_one_effect(api: Api) -> None:
    body, key = {"text": skill_md(), "source": "a friend", "name": "mine"}, {"Idempotency-Key": "one"}

    first, again = (api.call("POST", SKILLS, body, headers=key) for _ in range(2))
    other = api.call("POST", SKILLS, {**body, "name": "yours"}, headers=key)

    assert first.json == again.json
    assert other.problem == (409, "idempotency.reused")
    assert [skill["name"] for skill in api.get(SKILLS)["items"]] == ["mine"]


@pytest.mark.req("SKL-9")
def test_what_is_deleted_can_be_brought_back_and_twice_changes_nothing(api: Api) -> None:
    brought(api)
    path = f"{SKILLS}/tidy-up"

    gone, again = api.call("DELETE", path), api.call("DELETE", path)
    back = [api.post(f"{path}/restore") for _ in range(2)]

    assert (gone.status, gone.json["state"]) == (200, "deleted")
    assert again.json == gone.json
    assert [each["state"] for each in back] == ["active", "active"]
    assert back[0] == back[1]


@pytest.mark.req("SKL-9", "SKL-6")
def test_a_curation_is_told_done_listed_and_undone(api: Api) -> None:
    first, other, *_ = suggested(api)
    before = saved(api, first)
    api.post(path_of("v1", "skill-suggestions", first["suggestion_id"], "skip"))

    told = api.post(f"{SKILLS}/curate")
    done = api.post(f"{SKILLS}/curate", {"apply": True})
    listed = api.get(CURATIONS)["items"]
    undone = api.post(f"{CURATIONS}/undo")

    assert told["curation"] is None
    assert told["actions"] == done["actions"]
    assert [action["gone_name"] for action in done["actions"]] == [first["name"]]
    assert all(action["reason"] for action in done["actions"])
    assert listed == [done["curation"]]
    assert (undone["undone_by"], undone["before"]) == ("operator", [before])
    back = api.get(path_of("v1", "skills", first["name"]))
    assert {**back, "revision": 0} == {**before, "revision": 0}
    again = api.call("POST", path_of("v1", "skill-curations", undone["curation_id"], "undo"))
    assert (again.status, again.json) == (200, undone)
    assert api.post(f"{SUGGESTIONS}/reset")["items"] == []
    api.post(path_of("v1", "skill-suggestions", other["suggestion_id"], "skip"))
    assert [each["name"] for each in api.post(f"{SUGGESTIONS}/reset")["items"]] == [other["name"]]
    assert api.post(f"{SUGGESTIONS}/reset", {"name": other["name"]})["items"] == []


@pytest.mark.req("SKL-11")
def test_a_run_that_opens_a_skill_is_counted_once_and_its_end_tells_the_outcome(api: Api) -> None:
    brought(api)
    api.post(f"{SKILLS}/tidy-up/accept", {"force": True})
    session = api.post("/v1/sessions", {}, status=201)["session_id"]
    run = api.post(f"/v1/sessions/{session}/runs", {"request": "tidy up"}, status=201)["run_id"]

    used = [api.post(f"{SKILLS}/tidy-up/use", {"run_id": run})["usage"] for _ in range(2)]
    api.post(f"/v1/runs/{run}/finish", {"status": "completed"})
    settled = api.get(f"{SKILLS}/tidy-up")["usage"]

    assert [usage["times"] for usage in used] == [1, 1]
    assert (settled["times"], settled["succeeded"], settled["failed"]) == (1, 1, 0)


def test_skills_are_listed_by_name_in_pages(api: Api) -> None:
    names = [f"skill-{number}" for number in (3, 1, 2, 5, 4)]
    for name in names:
        brought(api, name)
    found: list[str] = []
    query: Json = {"limit": 2}
    while True:
        page = api.get(SKILLS, **query)
        found += [skill["name"] for skill in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]

    assert found == sorted(names)
    assert api.get(SKILLS, origin="learned")["items"] == []
    assert len(api.get(SKILLS, origin=["imported", "learned"], state=["active", "deleted"])["items"]) == 5


@pytest.mark.parametrize(
    ("method", "path", "body", "problem"),
    [
        ("POST", SKILLS, {"source": "x"}, (422, "request.field")),
        ("POST", SKILLS, {"text": skill_md()}, (422, "request.field")),
        ("POST", SKILLS, {"text": skill_md(), "source": " "}, (422, "skill.source")),
        ("POST", SKILLS, {"text": skill_md(), "source": "x", "name": "../x"}, (422, "skill.name")),
        ("POST", SKILLS, {"text": "no front matter", "source": "x"}, (422, "skill.document")),
        ("POST", SKILLS, {"text": skill_md() + "x" * 700_000, "source": "x"}, (422, "skill.size")),
        ("POST", SKILLS, {"text": "---\na: &a [*a]\n---\n", "source": "x"}, (422, "skill.document")),
        ("POST", f"{SKILLS}/curate", {"apply": "yes"}, (422, "request.field")),
        ("POST", f"{SKILLS}/none/accept", {"force": 1}, (422, "request.field")),
        ("POST", f"{SKILLS}/none/accept", {"force": True}, (404, "skill.not-found")),
        ("POST", f"{SKILLS}/none/restore", {"reason": "x"}, (422, "request.field")),
        ("POST", f"{SKILLS}/none/use", {"run": "x"}, (422, "request.field")),
        ("DELETE", f"{SKILLS}/%00", None, (404, "skill.not-found")),
        ("POST", f"{SUGGESTIONS}/none/save", None, (404, "suggestion.not-found")),
        ("POST", f"{SUGGESTIONS}/none/save", {"name": "A B"}, (422, "skill.name")),
        ("POST", f"{SUGGESTIONS}/reset", {"name": "none"}, (404, "suggestion.not-found")),
        ("POST", f"{CURATIONS}/none/undo", None, (404, "curation.not-found")),
        ("GET", f"{SKILLS}?session_id=x", None, (422, "request.field")),
        ("GET", f"{SKILLS}?query=x&state=active", None, (422, "request.field")),
        ("GET", f"{SKILLS}?query=x&cursor=y", None, (422, "request.field")),
        ("GET", f"{SKILLS}?state=lost", None, (422, "request.field")),
        ("GET", f"{SKILLS}?limit=0", None, (422, "limit.range")),
        ("GET", f"{SKILLS}?cursor=what", None, (422, "cursor.format")),
        ("GET", f"{CURATIONS}?limit=0", None, (422, "limit.range")),
        ("GET", "/v1/skill-log?cursor=what", None, (422, "cursor.format")),
        ("GET", "/v1/sessions/none/skills", None, (404, "session.not-found")),
    ],
)
def test_a_wrong_call_is_told_and_changes_nothing(
    shared_api: Api, method: str, path: str, body: Any, problem: tuple[int, str]
) -> None:
    before = shared_api.tables()

    answer: Answer = shared_api.call(method, path, body)

    assert answer.problem == problem
    assert shared_api.tables() == before


@pytest.mark.parametrize("name", ["none", "../../../x", "\x00", "ä/ö", "x" * 10_000, "curate"])
def test_a_name_that_names_nothing_is_not_found(shared_api: Api, name: str) -> None:
    assert shared_api.call("GET", path_of("v1", "skills", name)).problem == (404, "skill.not-found")


@pytest.mark.req("OPS-5", "SCO-4")
def test_an_agent_gets_the_skills_of_its_session_and_no_library(api: Api) -> None:
    brought(api)
    api.post(f"{SKILLS}/tidy-up/accept", {"force": True})
    agent = api.token("agent", Role.AGENT)
    api.call("POST", "/v1/sessions", {"session_id": "own"}, token=agent)
    query = {"query": "tidy the workspace", "session_id": "own"}

    found = api.call("GET", SKILLS, query=query, token=agent)
    refused = [
        api.call("GET", SKILLS, token=agent).problem,
        api.call("GET", f"{SKILLS}/tidy-up/file", token=agent).problem,
        api.call("GET", SKILLS, query={"query": "tidy"}, token=agent).problem,
        api.call("DELETE", f"{SKILLS}/tidy-up", token=agent).problem,
    ]

    assert [skill["name"] for skill in found.json["items"]] == ["tidy-up"]
    assert refused == [
        (403, "role.denied"),
        (403, "role.denied"),
        (403, "session.required"),
        (403, "role.denied"),
    ]
