"""Who may call what: one table, walked over every route with every role."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from runlore.api.app import all_endpoints
from runlore.config.settings import Settings
from runlore.domain.access import Role
from runlore.ports.operations import OPERATIONS
from tests.surfaces.api_client import Answer, Api, Json, path_of, serving

pytestmark = pytest.mark.req("OPS-5", "SCO-2")

ROLES = {name: operation.roles for name, operation in OPERATIONS.items()}
UNLIMITED = frozenset(name for name, operation in OPERATIONS.items() if operation.unlimited)
PROPOSAL = {"key": "editor", "value": "helix", "reason": "they said so"}
FINDING = {"summary": "s", "repo_slug": "a/b", "source_handle": "hn", "source_url": "https://example.org"}
# Every operation as a call that gets past the door: method, path and body.
CALLS: dict[str, tuple[str, str, Any]] = {
    "list_records": ("GET", "/v1/memory/records?session_id=own", None),
    "get_record": ("GET", "/v1/memory/records/none?session_id=own", None),
    "history": ("GET", "/v1/memory/records/none/history?session_id=own", None),
    "search": ("GET", "/v1/memory/search?query=x&session_id=own", None),
    "goal_context": ("GET", "/v1/memory/context?goal=x&session_id=own", None),
    "states": ("GET", "/v1/memory/states", None),
    "propose_profile": ("POST", "/v1/memory/profile-proposals", PROPOSAL),
    "add_episode": ("POST", "/v1/memory/episodes", {"kind": "experiment", "summary": "It worked"}),
    "inbox": ("GET", "/v1/inbox", None),
    "review_list": ("GET", "/v1/review?session_id=own", None),
    "confirm": ("POST", "/v1/review/none/confirm", None),
    "reject": ("POST", "/v1/review/none/reject", None),
    "rollback": ("POST", "/v1/memory/records/none/rollback", None),
    "restore": ("POST", "/v1/memory/records/none/restore", None),
    "forget": ("POST", "/v1/memory/records/none/forget", None),
    "compact": ("POST", "/v1/memory/compactions", {}),
    "dedup": ("POST", "/v1/memory/dedups", {}),
    "radar_add": ("POST", "/v1/memory/radar", FINDING),
    "radar_adopt": ("POST", "/v1/memory/radar/none/adopt", None),
    "radar_undo": ("POST", "/v1/memory/radar/none/undo", None),
    "radar_log": ("GET", "/v1/memory/radar/log", None),
    "create_candidate": ("POST", "/v1/learning-candidates", {"kind": "fact", "content": "It is so"}),
    "list_candidates": ("GET", "/v1/learning-candidates?session_id=own", None),
    "get_candidate": ("GET", "/v1/learning-candidates/none?session_id=own", None),
    "publish": ("POST", "/v1/learning-candidates/none/publish", None),
    "list_learnings": ("GET", "/v1/learnings?session_id=own", None),
    "get_learning": ("GET", "/v1/learnings/none?session_id=own", None),
    "revoke": ("POST", "/v1/learnings/none/revoke", None),
    "set_standing": ("POST", "/v1/learnings/none/standing", None),
    "revoke_matching": ("POST", "/v1/learnings/revoke-matching", {"text": "nowhere", "dry_run": True}),
    "clear_origin": ("POST", "/v1/learnings/clear-origin", {"origin": "nowhere", "dry_run": True}),
    "supersede": ("POST", "/v1/learnings/none/supersede", {"content": "It is otherwise"}),
    "verify": ("POST", "/v1/learnings/none/verify", None),
    "feedback": ("POST", "/v1/learnings/none/feedback", {"run_id": "own", "verdict": "helped"}),
    "test_policy": ("POST", "/v1/policies/learning/test", {"policy": {}}),
    "backfill_capture": ("POST", "/v1/capture/backfill", {"dry_run": True}),
    "delete_run_memories": ("POST", "/v1/capture/delete-memories", {"dry_run": True}),
    "work_jobs": ("POST", "/v1/jobs/work", None),
    "create_session": ("POST", "/v1/sessions", {"title": "T"}),
    "change_session": ("PATCH", "/v1/sessions/own", {"title": "T"}),
    "get_session": ("GET", "/v1/sessions/own", None),
    "list_sessions": ("GET", "/v1/sessions", None),
    "note_mounts": ("PUT", "/v1/skill-mounts/afar", {"folders": ["/srv/ada/.claude/skills"]}),
    "put_folder": ("PUT", f"/v1/folders/folder-{'0' * 32}", {"project": "acme"}),
    "get_folder": ("GET", f"/v1/folders/folder-{'0' * 32}", None),
    "put_persona": ("PUT", "/v1/personas/ada", {}),
    "get_persona": ("GET", "/v1/personas/ada", None),
    "list_personas": ("GET", "/v1/personas", None),
    "open_run": ("POST", "/v1/sessions/own/runs", {"request": "Do it"}),
    "get_run": ("GET", "/v1/runs/own", None),
    "list_runs": ("GET", "/v1/runs?session_id=own", None),
    "append_events": (
        "POST",
        "/v1/runs/own/events",
        {"events": [{"type": "assistant_message", "text": "x"}]},
    ),
    "add_checkpoint": ("POST", "/v1/sessions/own/checkpoints", {"text": "so far"}),
    "add_scratch": ("POST", "/v1/runs/own/scratch", {"text": "plan"}),
    "list_scratch": ("GET", "/v1/runs/own/scratch", None),
    "add_artifact": ("POST", "/v1/runs/own/artifacts", {"name": "n", "text": "t"}),
    "get_artifact": ("GET", "/v1/artifacts/own", None),
    "list_artifacts": ("GET", "/v1/runs/own/artifacts", None),
    "value": ("GET", "/v1/value", None),
    "repeats": ("GET", "/v1/repeats", None),
    "say_outcome": ("POST", "/v1/runs/own/outcome", {"outcome": "good"}),
    "finish_run": ("POST", "/v1/runs/own/finish", {"status": "completed"}),
    "journal": ("GET", "/v1/sessions/own/journal", None),
    "memory_context": ("GET", "/v1/sessions/own/memory-context", None),
    "session_search": ("GET", "/v1/sessions/own/memory-search", None),
    "preview_input": ("POST", "/v1/sessions/own/inputs/preview", {"text": "x"}),
    "receipt": ("GET", "/v1/runs/own/receipt", None),
    "start_input": ("POST", "/v1/sessions/own/inputs", {"text": "x", "model": "none:such"}),
    "report_hook": ("POST", "/v1/hooks/codex/Stop", {"payload": {}}),
    "follow_run": ("GET", "/v1/runs/over/events", None),
    "cancel_run": ("POST", "/v1/runs/over/cancel", None),
    "list_approvals": ("GET", "/v1/approvals?session_id=own", None),
    "get_approval": ("GET", "/v1/approvals/none", None),
    "decide_approval": ("POST", "/v1/approvals/none", {"approve": True}),
    "import_runs": ("POST", "/v1/transcripts/runs", {"source": "none", "runs": []}),
    "transcript_positions": ("POST", "/v1/transcripts/positions", {"sources": ["none"]}),
    "plan_reading": ("GET", "/v1/reading", None),
    "read_sessions": ("POST", "/v1/reading", None),
    "suggest": ("POST", "/v1/skill-suggestions/detect", None),
    "list_suggestions": ("GET", "/v1/skill-suggestions", None),
    "get_suggestion": ("GET", "/v1/skill-suggestions/none", None),
    "skip_suggestion": ("POST", "/v1/skill-suggestions/none/skip", None),
    "reset_suggestion": ("POST", "/v1/skill-suggestions/none/reset", None),
    "list_skills": ("GET", "/v1/skills", None),
    "get_skill": ("GET", "/v1/skills/none", None),
    "match_skills": ("GET", "/v1/skills?query=x&session_id=own", None),
    "session_skills": ("GET", "/v1/sessions/own/skills", None),
    "use_skill": ("POST", "/v1/skills/none/use", {"run_id": "own"}),
    "save_skill": ("POST", "/v1/skill-suggestions/none/save", None),
    "import_skill": ("POST", "/v1/skills", {"text": "nothing", "source": "none"}),
    "accept_skill": ("POST", "/v1/skills/none/accept", None),
    "delete_skill": ("DELETE", "/v1/skills/none", None),
    "restore_skill": ("POST", "/v1/skills/none/restore", None),
    "settle_skill_file": ("POST", "/v1/skills/none/settle", {"keep": "stored"}),
    "curate_skills": ("POST", "/v1/skills/curate", None),
    "undo_curation": ("POST", "/v1/skill-curations/none/undo", None),
    "list_curations": ("GET", "/v1/skill-curations", None),
    "reset_skips": ("POST", "/v1/skill-suggestions/reset", None),
    "skill_log": ("GET", "/v1/skill-log", None),
    "promote_learning": (
        "POST",
        "/v1/learnings/none/promote-skill",
        {"skill_name": "x", "instructions": "Do it"},
    ),
    "list_promoted": ("GET", "/v1/learning-skills", None),
    "get_promoted": ("GET", "/v1/learning-skills/none", None),
    "promoted_history": ("GET", "/v1/learning-skills/none/history", None),
    "try_promoted": ("POST", "/v1/learning-skills/none/trial", {"input": "x", "session_id": "own"}),
    "record_result": (
        "POST",
        "/v1/learning-skills/none/rollout-result",
        {"kind": "canary", "run_id": "own", "expected_output_contains": "done"},
    ),
    "advance_promoted": ("POST", "/v1/learning-skills/none/advance", {"to": "draft"}),
    "revoke_promoted": ("POST", "/v1/learning-skills/none/revoke", None),
    "rollback_promoted": ("POST", "/v1/learning-skills/none/rollback", None),
    "get_policy": ("GET", "/v1/policies/retention", None),
    "put_policy": ("PUT", "/v1/policies/retention", {"policy": {}}),
    "policy_history": ("GET", "/v1/policies/retention/history", None),
    "rollback_policy": ("POST", "/v1/policies/retention/rollback", {"to_revision": 0}),
    "create_token": ("POST", "/v1/tokens", {"name": "new", "role": "reader"}),
    "list_tokens": ("GET", "/v1/tokens", None),
    "rotate_token": ("POST", "/v1/tokens/none/rotate", None),
    "list_audit": ("GET", "/v1/audit", None),
    "revoke_token": ("POST", "/v1/tokens/none/revoke", None),
    "pause_capture": ("POST", "/v1/capture/pause", None),
    "resume_capture": ("POST", "/v1/capture/resume", None),
    "capture_status": ("GET", "/v1/capture", None),
    "list_jobs": ("GET", "/v1/jobs", None),
    "retry_job": ("POST", "/v1/jobs/none/retry", None),
    "export": ("POST", "/v1/memory/export", None),
    "import_records": ("POST", "/v1/memory/import", {}),
    "backup": ("POST", "/v1/backup", None),
    "doctor": ("POST", "/v1/doctor", None),
    "status": ("GET", "/v1/status", None),
}


class Shared:
    """One Runlore with a token of every role, and a session of the agent's own."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.secrets: Json = {role: api.token(f"a-{role}", role) for role in Role}
        self.limited = api.token("limited", Role.OPERATOR, "project:atlas", "session:own")
        self.as_role(Role.AGENT, "POST", "/v1/sessions", {"session_id": "own"})
        self.as_role(Role.AGENT, "POST", "/v1/sessions/own/runs", {"run_id": "own", "request": "Do it"})
        self.as_role(Role.AGENT, "POST", "/v1/sessions/own/runs", {"run_id": "over", "request": "Do it"})
        self.as_role(Role.AGENT, "POST", "/v1/runs/over/finish", {"status": "completed"})
        artifact = {"name": "n", "text": "t", "artifact_id": "own"}
        self.as_role(Role.AGENT, "POST", "/v1/runs/own/artifacts", artifact)

    def as_role(self, role: Role, method: str, path: str, body: Any = None) -> Answer:
        """A call with the token of a role."""
        return self.api.call(method, path, body, token=self.secrets[role])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """One for all roles."""
    with serving(Settings(state_root=str(tmp_path_factory.mktemp("roles") / "runlore"))) as api:
        yield Shared(api)


def test_every_operation_with_a_route_is_called_here() -> None:
    assert set(ROLES) - set(CALLS) == {"restore_backup"}
    assert set(CALLS) <= set(ROLES)


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("operation", CALLS)
def test_a_role_is_let_in_exactly_where_the_table_says(shared: Shared, operation: str, role: Role) -> None:
    before = shared.api.tables()

    answer = shared.as_role(role, *CALLS[operation])

    if role in ROLES[operation]:
        assert answer.status not in {401, 403, 500}, answer
    else:
        assert answer.problem == (403, "role.denied")
        assert shared.api.tables() == before


def test_the_role_is_looked_at_before_anything_of_a_call_is_read(shared: Shared) -> None:
    routes = {endpoint.route.name: endpoint for endpoint in all_endpoints()}
    free = {name for name, endpoint in routes.items() if endpoint.role_of is None}
    assert free == {"healthz", "readyz", "openapi"}
    for name in set(routes) - free:
        path = re.sub(r"{[^}]+}", "none", routes[name].path) + "?nonsense=1"
        allowed = ROLES[routes[name].role_of or ""]
        for role in Role:
            answer = shared.as_role(role, routes[name].method, path, b"{")
            assert answer.problem[0] == (422 if role in allowed else 403), (name, role, answer)


@pytest.mark.parametrize("operation", sorted(UNLIMITED & set(CALLS)))
def test_a_token_with_limits_is_not_good_for_what_concerns_everything(shared: Shared, operation: str) -> None:
    before = shared.api.tables()

    answer = shared.api.call(*CALLS[operation], token=shared.limited)

    assert answer.problem == (403, "scope.denied")
    assert shared.api.tables() == before


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/memory/records", "/v1/memory/search?query=x", "/memory/search?query=x", "/v1/review"),
        *("/v1/learning-candidates", "/v1/learning-candidates/x", "/v1/learnings", "/v1/learnings/x"),
    ],
)
def test_an_agent_names_its_session_with_every_read(shared: Shared, path: str) -> None:
    assert shared.as_role(Role.AGENT, "GET", path).problem == (403, "session.required")


@pytest.mark.parametrize("below", ["", "/journal", "/memory-context", "/memory-search", "/runs"])
def test_the_session_of_another_agent_is_not_there(shared: Shared, below: str) -> None:
    other = shared.api.token(f"other{below.replace('/', '-')}", Role.AGENT)
    answers = [
        shared.api.call("GET", f"/v1/sessions/{name}{below}", token=other) for name in ("own", "nowhere")
    ]

    assert answers[0].problem == answers[1].problem == (404, "session.not-found")
    for path in ("/v1/runs/own", "/v1/runs/own/journal", "/v1/runs/own/receipt", "/v1/artifacts/own"):
        assert shared.api.call("GET", path, token=other).status == 404, path


@pytest.mark.req("LAY-5")
def test_scratch_is_seen_inside_its_own_run_alone(shared: Shared) -> None:
    api = shared.api
    shared.as_role(Role.AGENT, "POST", "/v1/sessions", {"session_id": "noted"})
    shared.as_role(Role.AGENT, "POST", "/v1/sessions/noted/runs", {"run_id": "noted", "request": "Plan"})
    note = shared.as_role(Role.AGENT, "POST", "/v1/runs/noted/scratch", {"text": "zebra plan"}).json

    inside = shared.as_role(Role.AGENT, "GET", "/v1/runs/noted/scratch").json["items"]
    outside = [
        shared.as_role(Role.AGENT, "GET", "/v1/memory/records?session_id=noted&layer=working").json["items"],
        shared.as_role(Role.AGENT, "GET", "/v1/memory/search?query=zebra&session_id=noted").json["items"],
        shared.as_role(Role.AGENT, "GET", "/v1/sessions/noted/memory-search?query=zebra").json["results"],
    ]
    by_id = shared.as_role(
        Role.AGENT, "GET", path_of("v1", "memory", "records", note["record_id"]) + "?session_id=noted"
    )
    api.post("/v1/runs/noted/finish", {"status": "completed"})

    assert [record["record_id"] for record in inside] == [note["record_id"]]
    assert outside == [[], [], []]
    assert by_id.problem == (404, "record.not-found")
    assert api.get(f"/v1/memory/records/{note['record_id']}")["state"] == "tombstoned"


def test_nobody_confirms_what_their_own_token_proposed_as_agent(shared: Shared) -> None:
    proposed = shared.as_role(
        Role.AGENT, "POST", "/v1/memory/profile-proposals", {**PROPOSAL, "key": "shell"}
    ).json

    by_itself = shared.as_role(Role.AGENT, "POST", f"/v1/review/{proposed['record_id']}/confirm")
    by_the_operator = shared.as_role(Role.OPERATOR, "POST", f"/v1/review/{proposed['record_id']}/confirm")

    assert by_itself.problem == (403, "role.denied")
    assert by_the_operator.json["state"] == "active"


def test_an_agent_publishes_nothing_and_sees_no_candidate_but_its_own(shared: Shared) -> None:
    body = {"kind": "fact", "content": "The build needs seven minutes", "scope": "session:own"}
    own = shared.as_role(Role.AGENT, "POST", "/v1/learning-candidates", body).json["record_id"]
    body["content"] = "The build needs nine minutes"
    other = shared.as_role(Role.OPERATOR, "POST", "/v1/learning-candidates", body).json["record_id"]

    by_itself = shared.as_role(Role.AGENT, "POST", f"/v1/learning-candidates/{own}/publish")
    seen = shared.as_role(Role.AGENT, "GET", "/v1/learning-candidates?session_id=own").json["items"]
    others = shared.as_role(Role.AGENT, "GET", f"/v1/learning-candidates/{other}?session_id=own")

    assert by_itself.problem == (403, "role.denied")
    assert own in {record["record_id"] for record in seen}
    assert {record["created_by"] for record in seen} == {"a-agent"}
    assert others.problem == (404, "record.not-found")
