"""A procedure on its way to being a skill over HTTP: each step, what it answers, and why it is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runlore.config.settings import Settings
from runlore.domain.access import Role
from tests.surfaces.agent_runs import MARKER, agent_api, session
from tests.surfaces.api_client import Api, Json, path_of
from tests.surfaces.rollout_things import SKILL, do, done, procedure, promote

pytestmark = pytest.mark.req("ROL-13", "SUR-3")
FIELDS = [
    *("skill_name", "status", "definition_fingerprint", "source_record_id", "description", "when_to_use"),
    *("version", "instructions", "runtime", "evidence", "lifecycle_events"),
]


@pytest.fixture
def own(clean_home: Path) -> Iterator[Api]:
    """A served Runlore whose model does what it is told."""
    with agent_api(Settings(state_root=str(clean_home / "runlore"))) as (made, _):
        yield made


def tried(api: Api, **where: Any) -> str:
    """The id of a trial's run, which has ended."""
    run = done(api, "trial", {"input": "Release 1.2", "wait": True, **where}, status=201)
    assert run["status"] == "completed", run
    return str(run["run_id"])


def recorded(api: Api, kind: str, run_id: str, **more: Any) -> Json:
    """The skill with a result of a run."""
    body = {"kind": kind, "run_id": run_id, "expected_output_contains": MARKER, **more}
    return done(api, "rollout-result", body)


@pytest.mark.req("ROL-2", "ROL-3", "ROL-4", "ROL-7", "ROL-8")
def test_a_procedure_becomes_a_skill_is_revoked_and_comes_back(own: Api, tmp_path: Path) -> None:
    api = own
    record_id = procedure(api)
    draft = promote(api, record_id, description="Releases it.", allowed_tools=["shell"]).json
    canary = session(api, tmp_path)

    run_id = tried(api, working_folder=str(tmp_path))
    verified = recorded(api, "verification", run_id, definition_fingerprint=draft["definition_fingerprint"])
    statuses = [done(api, "advance", {"to": "verified"})["status"]]
    statuses.append(done(api, "advance", {"to": "canary", "sessions": [canary]})["status"])
    seen = [skill["name"] for skill in api.get(path_of("v1", "sessions", canary, "skills"))["items"]]
    hidden = api.get("/v1/skills")["items"]
    recorded(api, "canary", tried(api, session_id=canary))
    statuses.append(done(api, "advance", {"to": "active"})["status"])
    mounted = api.get("/v1/skills")["items"]
    revoked = done(api, "revoke", {"reason": "it broke"})
    gone = api.get("/v1/skills")["items"]
    back = done(api, "rollback")
    assert done(api, "rollback") == back, "it is what it would become"
    moves = do(api, "advance", {"to": "canary", "sessions": [canary]}).json["hint"]
    assert moves == "from active these moves are possible: revoke"

    assert list(draft)[: len(FIELDS)] == FIELDS
    assert (draft["status"], draft["source_record_id"]) == ("draft", record_id)
    assert draft["runtime"]["allowed_tools"] == ["shell"]
    assert [each["run_id"] for each in verified["evidence"]] == [run_id]
    assert statuses == ["verified", "canary", "active"]
    assert (seen, hidden, [skill["name"] for skill in mounted], gone) == ([SKILL], [], [SKILL], [])
    assert (revoked["status"], revoked["revoked_reason"]) == ("revoked", "it broke")
    assert back["status"] == "active"
    assert api.get(path_of("v1", "learning-skills", SKILL)) == back
    path = path_of("v1", "learning-skills", SKILL, "history")
    history = api.get(path)["items"]
    assert [each["number"] for each in history] == list(range(1, len(history) + 1))
    assert (history[0]["skill"], history[-1]["skill"]) == (draft, back)
    first = api.get(path, limit=len(history) - 1)
    assert first["items"] + api.get(path, cursor=first["next_cursor"])["items"] == history


def test_promoted_skills_are_listed_page_by_page_and_narrowed(own: Api) -> None:
    sources = {
        name: procedure(own, f"Fill the log, then do {name}") for name in ("a-one", "b-two", "c-three")
    }
    made = [promote(own, source, name=name).json for name, source in sources.items()]
    done(own, "revoke", name="b-two")

    def names(**query: Any) -> list[str]:
        return [each["skill_name"] for each in own.get("/v1/learning-skills", **query)["items"]]

    page = own.get("/v1/learning-skills", limit=2)
    assert [each["skill_name"] for each in page["items"]] == ["a-one", "b-two"]
    assert names(limit=2, cursor=page["next_cursor"]) == ["c-three"]
    assert names() == [each["skill_name"] for each in made]
    assert names(status=["draft", "canary"]) == ["a-one", "c-three"]
    assert names(status="revoked") == ["b-two"]
    assert names(source_record_id=sources["c-three"]) == ["c-three"]


@pytest.mark.req("OPS-1")
def test_a_revision_is_a_tag_that_an_act_can_ask_for(own: Api) -> None:
    record_id = procedure(own)
    answer = promote(own, record_id)
    path = path_of("v1", "learning-skills", SKILL)
    tag = answer.headers["etag"]

    known = own.call("GET", path, headers={"If-None-Match": tag})
    other = own.call("POST", f"{path}/advance", {"to": "draft"}, headers={"If-Match": '"77"'})
    body = {"skill_name": SKILL, "instructions": "Other words"}
    promoting = path_of("v1", "learnings", record_id, "promote-skill")
    stale = own.call("POST", promoting, body, headers={"If-Match": '"77"'})
    fresh = own.call("POST", promoting, body, headers={"If-Match": tag})

    assert (known.status, known.headers["etag"]) == (304, tag)
    assert other.problem == stale.problem == (412, "revision.stale")
    assert (fresh.status, fresh.json["instructions"]) == (200, "Other words")


def test_the_same_once_more_changes_nothing(own: Api, tmp_path: Path) -> None:
    record_id = procedure(own)
    assert promote(own, record_id).json == promote(own, record_id).json
    run_id = tried(own, working_folder=str(tmp_path))

    assert recorded(own, "verification", run_id) == recorded(own, "verification", run_id)
    assert done(own, "advance", {"to": "verified"}) == own.get(path_of("v1", "learning-skills", SKILL))
    assert done(own, "revoke", {"reason": "no"}) == done(own, "revoke", {"reason": "no"})


def test_a_trial_with_the_same_key_is_one_run(own: Api, tmp_path: Path) -> None:
    promote(own, procedure(own))
    path = path_of("v1", "learning-skills", SKILL, "trial")
    body = {"input": "Go", "working_folder": str(tmp_path)}

    runs = [own.call("POST", path, body, headers={"Idempotency-Key": "k"}) for _ in range(2)]

    assert runs[0].json["run_id"] == runs[1].json["run_id"]
    assert runs[0].headers["location"] == path_of("v1", "runs", runs[0].json["run_id"])


@pytest.mark.req("ROL-3", "ROL-13")
def test_a_trial_needs_nothing_but_its_input(own: Api) -> None:
    promote(own, procedure(own))

    assert recorded(own, "verification", tried(own))["evidence"][-1]["success"] is True


@pytest.mark.req("ROL-1", "ROL-3", "ROL-5", "ROL-6", "ROL-7")
def test_what_is_refused_says_why_and_changes_nothing(own: Api, tmp_path: Path) -> None:
    record_id, fact = procedure(own), procedure(own, "The codename is Atlas", kind="fact")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    other = procedure(own, "Fill the log, then rotate it")
    promote(own, record_id)
    run_id = tried(own, working_folder=str(tmp_path))
    result = {"kind": "verification", "run_id": run_id, "expected_output_contains": MARKER}
    before = own.tables()

    refused = {
        "no learning": promote(own, "none", "other"),
        "a fact": promote(own, fact, "other"),
        "a taken name": promote(own, other, SKILL),
        "a wrong name": promote(own, record_id, "No Name"),
        "inline": promote(own, record_id, "other", context="inline"),
        "another profile": promote(own, record_id, "other", agent_profile="default"),
        "too early": do(own, "advance", {"to": "verified"}),
        "no such step": do(own, "advance", {"to": "active"}),
        "never by advancing": do(own, "advance", {"to": "revoked"}),
        "a share beyond all": do(own, "advance", {"to": "canary", "share": 101}),
        "another marker": do(own, "rollout-result", {**result, "expected_output_contains": "nowhere"}),
        "no run": do(own, "rollout-result", {**result, "run_id": "none"}),
        "a stale fingerprint": do(own, "rollout-result", {**result, "definition_fingerprint": "0" * 64}),
        "no canary yet": do(own, "rollout-result", {**result, "kind": "canary"}),
        "never active": do(own, "rollback"),
        "a secret": do(own, "revoke", {"reason": f"key {secret}"}),
        "two places": do(own, "trial", {"input": "Go", "session_id": "x", "working_folder": "/tmp"}),
        "no such skill": do(own, "trial", {"input": "Go", "working_folder": "/tmp"}, name="none"),
        "no such session": do(own, "trial", {"input": "Go", "session_id": "none"}),
        "no such place": own.call("GET", path_of("v1", "learning-skills", SKILL, "history") + "?cursor=x"),
    }

    assert own.tables() == before
    assert refused["no run"].problem == (404, "run.not-found")
    for what, answer in refused.items():
        status, code = answer.problem
        assert status in {404, 409, 422}, (what, answer)
        assert code.count(".") == 1, what
        assert secret not in answer.body.decode()


WRONG: list[tuple[str, Json]] = [
    ("/v1/learnings/x/promote-skill", {}),
    ("/v1/learnings/x/promote-skill", {"skill_name": "a", "instructions": 7}),
    ("/v1/learnings/x/promote-skill", {"skill_name": "a", "instructions": "b", "what": 1}),
    ("/v1/learnings/x/promote-skill", {"skill_name": "a", "instructions": "b", "allowed_tools": "shell"}),
    ("/v1/learning-skills/x/trial", {}),
    ("/v1/learning-skills/x/trial", {"input": "a", "wait": "yes"}),
    ("/v1/learning-skills/x/rollout-result", {"kind": "what", "run_id": "r"}),
    ("/v1/learning-skills/x/rollout-result", {"kind": "canary", "run_id": "r"}),
    ("/v1/learning-skills/x/advance", {"to": "nowhere"}),
    ("/v1/learning-skills/x/advance", {"to": "canary", "share": "5"}),
    ("/v1/learning-skills/x/revoke", {"reason": None}),
    ("/v1/learning-skills/x/rollback", {"why": "so"}),
]


def test_a_wrong_field_is_named(embedded_api: Api) -> None:
    for path, body in WRONG:
        answer = embedded_api.call("POST", path, body)

        assert answer.problem == (422, "request.field"), (path, body)


@pytest.mark.req("OPS-5")
def test_agents_see_no_skill_before_it_is_theirs(own: Api) -> None:
    promote(own, procedure(own))
    agent = own.token("agent", Role.AGENT)

    for path in (
        "/v1/learning-skills",
        f"/v1/learning-skills/{SKILL}",
        f"/v1/learning-skills/{SKILL}/history",
    ):
        assert own.call("GET", path, token=agent).problem == (403, "role.denied")
