"""A served Runlore with something of everything in it, and every call that only reads of it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from runlore.daemon import answers
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind, ApprovalState
from runlore.domain.detectors.match import Heuristic
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import Kind, PolicyDecision, PublishTier, RecordId, State
from runlore.domain.run import ArtifactId, RunId
from runlore.domain.runs.job import JobState
from runlore.domain.scope import WORKSPACE, ScopeKind
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.skill import SkillOrigin, SkillState
from runlore.domain.skills.rollout import RolloutStatus
from runlore.domain.suggestion import SuggestionState
from runlore.ports import operations as ops
from tests.surfaces.api_client import Api, Json, path_of
from tests.surfaces.skill_files_of import skill_md
from tests.surfaces.skill_runs import import_body, told_run

START_OF_NEXT_CENTURY = datetime(2100, 1, 1, tzinfo=UTC)
FINDING = {
    "summary": "Atlas builds with one command",
    "repo_slug": "acme/atlas",
    "source_handle": "hn",
    "source_url": "https://example.org/1",
    "topic_tags": ["build"],
}


class Filled:
    """A served Runlore with something of everything in it."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.preference = self.confirm(self.propose("editor", "helix"))
        self.waiting = self.propose("shell", "fish")
        found = api.post("/v1/memory/radar", {"findings": [FINDING]}, status=201)["items"]
        self.scan, self.finding = found[0]["record_id"], found[1]["record_id"]
        self.persona = api.call("PUT", "/v1/personas/ada", {"name": "Ada"}).json["persona_id"]
        body = {"session_id": "s/1", "persona_id": "ada", "project_ids": ["atlas"], "agent": "test"}
        self.session = api.post("/v1/sessions", body, status=201)["session_id"]
        self.run = self.finished("r/1", "Which editor do I use?", "You use helix.")
        self.open_run = api.post(self.at("runs"), {"run_id": "r/2", "request": "And then?"}, status=201)[
            "run_id"
        ]
        self.scratch = api.post(self.of_open("scratch"), {"text": "plan: ask"}, status=201)["record_id"]
        artifact = {"name": "report.md", "text": "# Done", "artifact_id": "a/1"}
        self.artifact = api.post(self.of_open("artifacts"), artifact, status=201)["artifact_id"]
        self.candidate = self.say("Releases are cut on mondays")
        self.learning = self.publish(self.say("The codename is Atlas"))
        self.provisional = self.publish(
            self.say("Deploys wait for ada", kind="decision"), publish_tier="provisional"
        )
        capture = {"capture": {"semantic_candidates": {"enabled": True}}}
        assert api.call("PUT", "/v1/policies/learning", {"policy": capture}).status == 200
        api.post("/v1/transcripts/runs", import_body(told_run(1), told_run(2)))
        self.suggestions = [
            str(found["suggestion_id"]) for found in api.post("/v1/skill-suggestions/detect")["new"]
        ]
        api.post(path_of("v1", "skill-suggestions", self.suggestions[1], "skip"))
        self.skill = str(
            api.post(
                path_of("v1", "skill-suggestions", self.suggestions[0], "save"), {"accept_untrusted": True}
            )["name"]
        )
        self.imported = str(
            api.post("/v1/skills", {"text": skill_md(), "source": "a friend"}, status=201)["name"]
        )
        api.call("DELETE", path_of("v1", "skills", self.imported))
        self.procedure = self.publish(self.say("Tag the commit, then push the tag", kind="procedure"))
        body = {"skill_name": "tag-it", "instructions": "Tag the commit."}
        promoted = api.post(path_of("v1", "learnings", self.procedure, "promote-skill"), body)
        self.promoted = str(promoted["skill_name"])
        self.approval = self.asked()
        # What these have queued is done before a test looks at what a call changes.
        api.post("/v1/jobs/work", {"limit": 500})

    def propose(self, key: str, value: str) -> str:
        """A candidate's id."""
        body = {"key": key, "value": value, "reason": "they said so"}
        return str(self.api.post("/v1/memory/profile-proposals", body, status=201)["record_id"])

    def confirm(self, record_id: str) -> str:
        """An active record's id."""
        return str(self.api.post(f"/v1/review/{record_id}/confirm")["record_id"])

    def say(self, content: str, **more: Any) -> str:
        """A candidate of the learning plane."""
        body = {"kind": "fact", "content": content, **more}
        return str(self.api.post("/v1/learning-candidates", body, status=201)["record_id"])

    def publish(self, record_id: str, **more: Any) -> str:
        """A learning's id."""
        path = path_of("v1", "learning-candidates", record_id, "publish")
        return str(self.api.post(path, more)["record_id"])

    def finished(self, run_id: str, request: str, answer: str) -> str:
        """A completed run's id."""
        self.api.post(self.at("runs"), {"run_id": run_id, "request": request}, status=201)
        events = {"events": [{"type": "assistant_message", "text": answer}]}
        self.api.post(path_of("v1", "runs", run_id, "events"), events, status=201)
        self.api.post(path_of("v1", "runs", run_id, "finish"), {"status": "completed"})
        return run_id

    def asked(self) -> str:
        """The id of what a run waits for."""
        parts = self.api.service.parts
        approval = Approval(
            approval_id=ApprovalId("ask/1"),
            run_id=RunId(self.open_run),
            session_id=SessionId(self.session),
            kind=ApprovalKind.CALL,
            tool="shell",
            arguments={"command": "ls"},
            created_at=parts.clock.now(),
        )
        with parts.store.transaction() as tx:
            tx.approvals.insert(approval)
        return approval.approval_id

    def at(self, *more: str) -> str:
        """A path below the session."""
        return path_of("v1", "sessions", self.session, *more)

    def of_open(self, *more: str) -> str:
        """A path below the open run."""
        return path_of("v1", "runs", self.open_run, *more)


def readings(filled: Filled) -> Iterator[tuple[str, Json, Json]]:
    """Every reading call: its path, its query, and the document that the operation gives from inside."""
    inside, session = filled.api.operations, SessionId(filled.session)
    seen = ops.Filters(session_id=session)
    record = RecordId(filled.preference)
    yield "/v1/memory/records", {}, answers.write(inside.list_records(ops.ListRequest()))
    page = inside.list_records(ops.ListRequest(filters=seen, limit=1))
    yield "/v1/memory/records", {"session_id": session, "limit": 1}, answers.write(page)
    one = answers.write(inside.get_record(record))
    yield path_of("v1", "memory", "records", record), {}, one
    yield path_of("memory", "records", record), {"session_id": session}, one
    yield (
        path_of("v1", "memory", "records", record, "history"),
        {},
        answers.write(inside.history(record)),
    )
    hits = answers.write_hits("editor", inside.search(ops.SearchRequest(query="editor")))
    yield "/v1/memory/search", {"query": "editor"}, hits
    yield "/memory/search", {"query": "editor"}, hits
    goal = inside.goal_context(ops.GoalRequest(goal="choose an editor", session_id=session))
    query = {"goal": "choose an editor", "session_id": session}
    yield "/v1/memory/context", query, answers.write(goal)
    yield "/v1/memory/states", {}, answers.write(inside.states())
    yield "/v1/review", {}, answers.write(inside.review_list(ops.ReviewRequest()))
    yield "/v1/inbox", {}, answers.write(inside.inbox(ops.InboxRequest()))
    yield "/v1/memory/radar/log", {}, answers.write(inside.radar_log())
    yield "/v1/value", {}, answers.write(inside.value(ops.ValueRequest()))
    yield "/v1/repeats", {}, answers.write(inside.repeats(ops.RepeatsRequest()))
    yield from learning_readings(filled)
    yield from session_readings(filled)
    yield from run_readings(filled)
    yield from agent_readings(filled)
    yield from skill_readings(filled)
    yield from rollout_readings(filled)
    yield from service_readings(filled)


def learning_readings(filled: Filled) -> Iterator[tuple[str, Json, Json]]:
    """Those of candidates and learnings, with every parameter."""
    inside, session = filled.api.operations, SessionId(filled.session)
    waiting = inside.list_candidates(ops.CandidateRequest())
    yield "/v1/learning-candidates", {}, answers.write(waiting)
    narrowed = inside.list_candidates(
        ops.CandidateRequest(
            kinds=frozenset({Kind.FACT}),
            states=frozenset({State.CONSTRAINED, State.ACTIVE}),
            scopes=frozenset({WORKSPACE}),
            text="mondays",
            limit=1,
            session_id=session,
        )
    )
    query: Json = {"kind": "fact", "state": ["constrained", "active"], "scope": "workspace"}
    query |= {"text": "mondays", "limit": 1, "session_id": session}
    yield "/v1/learning-candidates", query, answers.write(narrowed)
    candidate = inside.get_candidate(RecordId(filled.candidate))
    yield path_of("v1", "learning-candidates", filled.candidate), {}, answers.write(candidate)
    yield "/v1/learnings", {}, answers.write(inside.list_learnings(ops.LearningRequest()))
    filters = ops.LearningFilters(
        scopes=frozenset({WORKSPACE}),
        kinds=frozenset({Kind.FACT, Kind.DECISION}),
        states=frozenset({State.ACTIVE}),
        tiers=frozenset({PublishTier.PROVISIONAL}),
        decisions=frozenset({PolicyDecision.MANUAL}),
        actor="operator",
        text="ada",
    )
    request = ops.LearningRequest(filters=filters, as_of=START_OF_NEXT_CENTURY, session_id=session)
    query = {"scope_kind": "workspace", "scope_id": "default", "kind": ["fact", "decision"]}
    query |= {"state": "active", "publish_tier": "provisional", "policy_decision": "manual"}
    query |= {"policy_actor": "operator", "text": "ada", "as_of": "2100-01-01", "session_id": session}
    yield "/v1/learnings", query, answers.write(inside.list_learnings(request))
    of_rule = ops.LearningRequest(
        filters=ops.LearningFilters(rule="none such", scope_kinds=frozenset({ScopeKind.WORKSPACE}))
    )
    query = {"rule": "none such", "scope_kind": "workspace"}
    yield "/v1/learnings", query, answers.write(inside.list_learnings(of_rule))
    learning = inside.get_learning(RecordId(filled.learning), session_id=session)
    yield (
        path_of("v1", "learnings", filled.learning),
        {"session_id": session},
        answers.write(learning),
    )


def session_readings(filled: Filled) -> Iterator[tuple[str, Json, Json]]:
    """Those of sessions and personas."""
    inside, session = filled.api.operations, SessionId(filled.session)
    yield "/v1/sessions", {}, answers.write(inside.list_sessions(ops.PageRequest()))
    yield filled.at(), {}, answers.write(inside.get_session(session))
    whole = answers.write(inside.journal(ops.JournalRequest(session_id=session)))
    yield filled.at("journal"), {}, whole
    runs = answers.write(inside.list_runs(ops.RunsRequest(session_id=session)))
    yield filled.at("runs"), {}, runs
    yield "/v1/runs", {"session_id": session}, runs
    context = inside.memory_context(ops.ContextRequest(session_id=session, query="which editor"))
    yield filled.at("memory-context"), {"query": "which editor"}, answers.write(context)
    found = inside.session_search(ops.SessionSearchRequest(session_id=session, query="editor", limit=5))
    query = {"query": "editor", "limit": 5}
    yield filled.at("memory-search"), query, answers.write(found)
    recent = inside.session_search(ops.SessionSearchRequest(session_id=session))
    yield filled.at("memory-search"), {}, answers.write(recent)
    yield "/v1/personas", {}, answers.write(inside.list_personas(ops.PageRequest()))
    yield "/v1/personas/ada", {}, answers.write(inside.get_persona(PersonaId("ada")))


def run_readings(filled: Filled) -> Iterator[tuple[str, Json, Json]]:
    """Those of runs and artifacts."""
    inside, run, other = filled.api.operations, RunId(filled.run), RunId(filled.open_run)
    yield path_of("v1", "runs", run), {}, answers.write(inside.get_run(run))
    journal = inside.journal(ops.JournalRequest(run_id=run, limit=2))
    yield path_of("v1", "runs", run, "journal"), {"limit": 2}, answers.write(journal)
    yield path_of("v1", "runs", run, "receipt"), {}, answers.write(inside.receipt(run))
    yield "/v1/receipt", {}, answers.write(inside.receipt())
    yield filled.of_open("scratch"), {}, answers.write(inside.list_scratch(other))
    yield filled.of_open("artifacts"), {}, answers.write(inside.list_artifacts(other))
    artifact = inside.get_artifact(ArtifactId(filled.artifact))
    yield path_of("v1", "artifacts", filled.artifact), {}, answers.write(artifact)


def agent_readings(filled: Filled) -> Iterator[tuple[str, Json, Json]]:
    """Those of what runs wait for."""
    inside, session = filled.api.operations, SessionId(filled.session)
    waiting = inside.list_approvals(ops.ApprovalsRequest())
    assert [each.approval_id for each in waiting.items] == [filled.approval]
    yield "/v1/approvals", {}, answers.write(waiting)
    narrowed = ops.ApprovalsRequest(
        run_id=RunId(filled.open_run), session_id=session, states=frozenset(ApprovalState), limit=1
    )
    query: Json = {"run_id": filled.open_run, "session_id": session, "state": sorted(ApprovalState)}
    yield "/v1/approvals", {**query, "limit": 1}, answers.write(inside.list_approvals(narrowed))
    approval = inside.get_approval(ApprovalId(filled.approval))
    yield path_of("v1", "approvals", filled.approval), {}, answers.write(approval)


def rollout_readings(filled: Filled) -> Iterator[tuple[str, Json, Json]]:
    """Those of promoted skills."""
    inside, path = filled.api.operations, path_of("v1", "learning-skills", filled.promoted)
    page = inside.list_promoted(ops.PromotedRequest())
    yield "/v1/learning-skills", {}, answers.write(page)
    narrowed = ops.PromotedRequest(
        statuses=frozenset({RolloutStatus.DRAFT}), source_record_id=RecordId(filled.procedure), limit=1
    )
    query: Json = {"status": "draft", "source_record_id": filled.procedure, "limit": 1}
    found = inside.list_promoted(narrowed)
    assert [skill.name for skill in found.items] == [filled.promoted]
    yield "/v1/learning-skills", query, answers.write(found)
    yield path, {}, answers.write(inside.get_promoted(filled.promoted))
    history = inside.promoted_history(ops.PromotedHistoryRequest(skill_name=filled.promoted))
    yield f"{path}/history", {}, answers.write(history)
    first = inside.promoted_history(ops.PromotedHistoryRequest(skill_name=filled.promoted, limit=1))
    yield f"{path}/history", {"limit": 1}, answers.write(first)


def skill_readings(filled: Filled) -> Iterator[tuple[str, Json, Json]]:
    """Those of suggested skills."""
    inside, path = filled.api.operations, "/v1/skill-suggestions"
    yield path, {}, answers.write(inside.list_suggestions(ops.SuggestionsRequest()))
    every = ops.SuggestionsRequest(
        states=frozenset(SuggestionState), heuristics=frozenset({Heuristic.MULTI_STEP}), limit=1
    )
    query = {"state": sorted(SuggestionState), "heuristic": "multi-step", "limit": 1}
    yield path, query, answers.write(inside.list_suggestions(every))
    first, page = replace(every, heuristics=frozenset()), {"state": sorted(SuggestionState), "limit": 1}
    cursor = inside.list_suggestions(first).next_cursor
    assert cursor is not None
    rest = inside.list_suggestions(replace(first, cursor=cursor))
    yield path, {**page, "cursor": cursor}, answers.write(rest)
    yield from library_readings(filled)
    for suggestion_id in filled.suggestions:
        stored = inside.get_suggestion(suggestion_id)
        for name in (suggestion_id, stored.suggestion.name):
            yield path_of("v1", "skill-suggestions", name), {}, answers.write(stored)


def library_readings(filled: Filled) -> Iterator[tuple[str, Json, Json]]:
    """Those of skills as they are kept."""
    inside, session = filled.api.operations, SessionId(filled.session)
    page = inside.list_skills(ops.SkillsRequest())
    yield "/v1/skills", {}, answers.write(page)
    deleted = ops.SkillsRequest(
        states=frozenset({SkillState.DELETED}), origins=frozenset({SkillOrigin.IMPORTED}), limit=1
    )
    gone = inside.list_skills(deleted)
    assert [skill.name for skill in gone.items] == [filled.imported]
    query: Json = {"state": "deleted", "origin": "imported", "limit": 1}
    yield "/v1/skills", query, answers.write(gone)
    match = inside.match_skills(ops.MatchRequest(query="npm publish", session_id=session, limit=2))
    assert match.items
    query = {"query": "npm publish", "session_id": filled.session, "limit": 2}
    yield "/v1/skills", query, answers.write(match)
    skill = inside.get_skill(filled.skill)
    for name in (skill.name, skill.skill_id):
        yield path_of("v1", "skills", name), {}, answers.write(skill)
    yield filled.at("skills"), {}, answers.write(inside.session_skills(session))
    yield "/v1/skill-curations", {"limit": 5}, answers.write(inside.list_curations(5))
    log = inside.skill_log(ops.SkillLogRequest(limit=2))
    yield "/v1/skill-log", {"limit": 2}, answers.write(log)
    named = inside.skill_log(ops.SkillLogRequest(name=filled.skill))
    yield "/v1/skill-log", {"name": filled.skill}, answers.write(named)


def service_readings(filled: Filled) -> Iterator[tuple[str, Json, Json]]:
    """Those of the service itself."""
    inside = filled.api.operations
    for name in PolicyName:
        yield f"/v1/policies/{name}", {}, answers.write(inside.get_policy(name))
        yield f"/v1/policies/{name}/history", {}, answers.write(inside.policy_history(name))
    yield "/v1/tokens", {}, answers.write(inside.list_tokens())
    yield "/v1/capture", {}, answers.write(inside.capture_status())
    yield "/v1/jobs", {"state": "dead"}, answers.write(inside.list_jobs(frozenset({JobState.DEAD})))
