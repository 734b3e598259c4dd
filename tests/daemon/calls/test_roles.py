"""Who may do what is one table of role and operation, and every operation goes by it."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.domain.access import Caller
from runlore.domain.errors import Conflict, Denied
from runlore.domain.policies.policy import PolicyName
from runlore.domain.project import folder_id
from runlore.domain.record import JsonObject, Kind
from runlore.domain.run import ArtifactId, RunId, RunStatus
from runlore.domain.scope import WORKSPACE
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.skills.rollout import RolloutKind, RolloutStatus
from runlore.domain.suggestion import SuggestionState
from runlore.domain.worth.outcome import SaidOutcome
from runlore.ports import operations as ops
from runlore.ports.model import ModelFailure
from runlore.ports.operations import (
    OPERATIONS,
    AgentOperations,
    LibraryOperations,
    Operations,
    Role,
    RolloutOperations,
)
from tests.daemon.dead_letters import dead_job
from tests.flow import rolling
from tests.flow.agent_world import waiting_run
from tests.flow.skill_shelf import brought_in, skill_text, two_alike
from tests.flow.telling import suggested, told
from tests.world import Tables, World, decision, found

SESSION, RUN, NOTES = SessionId("s1"), RunId("r1"), ArtifactId("a1")
ADA = PersonaId("ada")
SOMEBODY = "somebody"
ROLES = {name: operation.roles for name, operation in OPERATIONS.items()}
UNLIMITED = frozenset(name for name, operation in OPERATIONS.items() if operation.unlimited)
# Making skills takes longer than most of the operations.
_LIBRARY = frozenset(ROLES).intersection(dir(LibraryOperations))
_AGENT = frozenset(ROLES).intersection(dir(AgentOperations))
_ROLLOUTS = frozenset(ROLES).intersection(dir(RolloutOperations))
Calls = Mapping[str, Callable[[], object]]


@pytest.mark.req("OPS-5", "SUR-1")
def test_the_table_of_roles_names_every_operation_and_no_other() -> None:
    operations = {name for name, _ in inspect.getmembers(Operations, inspect.isfunction) if name[0] != "_"}

    assert set(ROLES) == operations
    assert operations >= UNLIMITED
    application = Application(cast("Any", None), Caller(actor="somebody", role=Role.OPERATOR))
    assert {name for name in operations if not callable(getattr(application, name, None))} == set()


@pytest.mark.req("OPS-5", "LAY-7")
def test_a_role_may_do_nothing_that_the_table_does_not_say(tmp_path: Path) -> None:
    for number, group in enumerate(_groups()):
        with _scene(tmp_path / str(number), *group) as scene:
            for operation in sorted(group):
                for role in sorted(set(Role) - ROLES[operation]):
                    _refuse(
                        replace(scene, operation=operation), Caller(actor=SOMEBODY, role=role), "role.denied"
                    )


@pytest.mark.req("OPS-5", "LAY-7")
@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("roles_max", [1, pytest.param(len(Role), marks=pytest.mark.soak)])
@pytest.mark.parametrize("operation", sorted(ROLES))
def test_a_role_may_do_what_the_table_says(tmp_path: Path, operation: str, roles_max: int) -> None:
    with ExitStack() as worlds:
        scene = worlds.enter_context(_scene(tmp_path / "first", operation))
        # An agent comes first: of those who may, it is the one that may see the least.
        for role in sorted(ROLES[operation])[:roles_max]:
            if scene.world.tables() != scene.before:
                scene = worlds.enter_context(_scene(tmp_path / role, operation))
            scene.call_as(Caller(actor=SOMEBODY, role=role))


@pytest.mark.req("OPS-5")
def test_what_concerns_everything_is_refused_to_an_operator_with_a_limit(tmp_path: Path) -> None:
    limited = Caller(actor=SOMEBODY, role=Role.OPERATOR, scopes=frozenset({WORKSPACE}))
    for number, group in enumerate(_groups()):
        with _scene(tmp_path / str(number), *group) as scene:
            for operation in sorted(UNLIMITED & group):
                _refuse(replace(scene, operation=operation), limited, "scope.denied")


def _groups() -> tuple[frozenset[str], ...]:
    """All operations, by what has to be there for them."""
    return _LIBRARY, _ROLLOUTS, _AGENT, frozenset(ROLES) - _LIBRARY - _ROLLOUTS - _AGENT


@pytest.mark.req("LAY-7")
def test_deciding_is_the_operators_alone() -> None:
    on_records = ("confirm", "reject", "rollback", "restore", "forget", "radar_adopt", "radar_undo")
    on_learnings = ("publish", "set_standing", "revoke", "revoke_matching", "supersede", "verify")
    acts = (*on_records, *on_learnings)

    assert {ROLES[act] for act in acts} == {frozenset({Role.OPERATOR})}


class Somebody:
    """All operations, for a caller who is another one from call to call."""

    def __init__(self, world: World) -> None:
        self.caller = Caller(actor=SOMEBODY, role=Role.OPERATOR)
        self._world = world

    def __getattr__(self, name: str) -> Callable[..., object]:
        def call(*request: object, **named: object) -> object:
            return getattr(Application(self._world.parts, self.caller), name)(*request, **named)

        return call


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A world with something for every operation that it was made for, and what was in it then."""

    world: World
    somebody: Somebody
    calls: Calls
    before: Tables
    operation: str

    def call_as(self, caller: Caller) -> None:
        """The operation, by this caller."""
        self.somebody.caller = caller
        self.calls[self.operation]()


@contextmanager
def _scene(root: Path, *operations: str) -> Iterator[Scene]:
    world = World(Settings(state_root=str(root)))
    somebody = Somebody(world)
    try:
        calls = _calls(world, cast("Application", somebody), frozenset(operations))
        yield Scene(
            world=world, somebody=somebody, calls=calls, before=world.tables(), operation=operations[0]
        )
    finally:
        world.close()


def _refuse(scene: Scene, caller: Caller, code: str) -> None:
    with pytest.raises(Denied) as denial:
        scene.call_as(caller)
    assert denial.value.code == code, scene.operation
    assert scene.world.tables() == scene.before, scene.operation


def _calls(world: World, caller: Application, operations: frozenset[str]) -> Calls:
    return {
        **_record_calls(world, caller),
        **_session_calls(world, caller),
        **_learning_calls(world, caller),
        **_skill_calls(world, caller),
        **(_library_calls(world, caller) if operations & _LIBRARY else {}),
        **(_rollout_calls(world, caller) if operations & _ROLLOUTS else {}),
        **(_agent_calls(world, caller) if operations & _AGENT else {}),
        **_service_calls(world, caller),
    }


def _learning_calls(world: World, caller: Application) -> Calls:
    """The operations of the learning plane, on a session of the caller's that was given something."""
    capturing: JsonObject = {"capture": {"semantic_candidates": {"enabled": True}}}
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.LEARNING, policy=capturing))
    learned = world.profile("linter", "ruff")
    owner = Application(world.parts, Caller(actor=caller.caller.actor, role=Role.OPERATOR))
    asked = ops.NewRun(session_id=SESSION, request="Which linter?", run_id=RunId("r2"), context=True)
    owner.open_run(asked)
    said = ops.NewCandidate(kind=Kind.FACT, content="The codename is Atlas")
    waiting = owner.create_candidate(said).record_id
    wrong = ops.FeedbackNote(
        record_id=learned.record_id, run_id=RunId("r2"), verdict=ops.FeedbackVerdict.WRONG
    )
    linters = ops.MatchingRevocation(filters=ops.LearningFilters(text="ruff"))
    instead = ops.Supersession(record_id=learned.record_id, content="linter: flake8")
    my_word = ops.VerifyRequest(record_id=learned.record_id, on_my_word=True)
    trial = ops.PolicyTrial(name=PolicyName.LEARNING, policy={})
    return {
        "create_candidate": lambda: caller.create_candidate(said),
        "list_candidates": lambda: caller.list_candidates(ops.CandidateRequest(session_id=SESSION)),
        "get_candidate": lambda: caller.get_candidate(waiting, session_id=SESSION),
        "publish": lambda: caller.publish(ops.Publication(record_id=waiting)),
        "list_learnings": lambda: caller.list_learnings(ops.LearningRequest(session_id=SESSION)),
        "get_learning": lambda: caller.get_learning(learned.record_id, session_id=SESSION),
        "set_standing": lambda: caller.set_standing(replace(decision(learned), standing=False)),
        "revoke": lambda: caller.revoke(decision(learned)),
        "revoke_matching": lambda: caller.revoke_matching(linters),
        "clear_origin": lambda: caller.clear_origin(ops.OriginClearance(origin="nowhere")),
        "supersede": lambda: caller.supersede(instead),
        "verify": lambda: caller.verify(my_word),
        "feedback": lambda: caller.feedback(wrong),
        "test_policy": lambda: caller.test_policy(trial),
        "backfill_capture": lambda: caller.backfill_capture(ops.BackfillRequest()),
        "delete_run_memories": lambda: caller.delete_run_memories(ops.RunMemoryDeletion(dry_run=True)),
        "work_jobs": caller.work_jobs,
    }


def _skill_calls(world: World, caller: Application) -> Calls:
    """The operations on transcripts and suggestions."""
    waiting = suggested(world, "release-it").suggestion_id
    skipped = suggested(world, "reset-it", state=SuggestionState.SKIPPED).suggestion_id
    runs = ops.RunsToImport(source="here", runs=(told("Build it"),))
    return {
        "import_runs": lambda: caller.import_runs(runs),
        "transcript_positions": lambda: caller.transcript_positions(["here"]),
        "suggest": lambda: caller.suggest(ops.SuggestRequest()),
        "plan_reading": lambda: caller.plan_reading(ops.ReadingPlanRequest()),
        "read_sessions": caller.read_sessions,
        "list_suggestions": lambda: caller.list_suggestions(ops.SuggestionsRequest()),
        "get_suggestion": lambda: caller.get_suggestion("release-it"),
        "skip_suggestion": lambda: caller.skip_suggestion(waiting),
        "reset_suggestion": lambda: caller.reset_suggestion(skipped),
    }


def _library_calls(world: World, caller: Application) -> Calls:
    """The operations on skills, each on one that it is for."""
    operator = world.operator
    suggested(world, "save-it")
    suggested(world, "wait-again", state=SuggestionState.SKIPPED)
    for name in ("promote-it", "use-it", "delete-it", "restore-it"):
        brought_in(world, name, promoted=name == "use-it")
    operator.delete_skill("restore-it")
    two_alike(world)
    curated = operator.curate_skills(ops.CurateRequest(apply=True)).curation
    assert curated is not None, "two drafts with the same body are one"
    promotion = ops.AcceptSkill(name="promote-it", force=True)
    new = ops.ImportSkill(text=skill_text("new-one"), source="elsewhere")
    return {
        "save_skill": lambda: caller.save_skill(ops.SaveSkill(suggestion="save-it")),
        "import_skill": lambda: caller.import_skill(new),
        "list_skills": lambda: caller.list_skills(ops.SkillsRequest()),
        "get_skill": lambda: caller.get_skill("use-it"),
        "accept_skill": lambda: caller.accept_skill(promotion),
        "delete_skill": lambda: caller.delete_skill("delete-it"),
        "restore_skill": lambda: caller.restore_skill("restore-it"),
        "settle_skill_file": lambda: caller.settle_skill_file(
            ops.SettleFile(name="use-it", keep=ops.Keep.STORED)
        ),
        "match_skills": lambda: caller.match_skills(ops.MatchRequest(query="use it", session_id=SESSION)),
        "session_skills": lambda: caller.session_skills(SESSION),
        "use_skill": lambda: caller.use_skill(ops.UseSkill(name="use-it", run_id=RUN)),
        "curate_skills": lambda: caller.curate_skills(ops.CurateRequest(apply=True)),
        "undo_curation": lambda: caller.undo_curation(curated.curation_id),
        "list_curations": caller.list_curations,
        "reset_skips": caller.reset_skips,
        "note_mounts": lambda: caller.note_mounts(ops.MachineMounts(machine="afar")),
        "skill_log": lambda: caller.skill_log(ops.SkillLogRequest()),
    }


def _rollout_calls(world: World, caller: Application) -> Calls:
    """The operations on promoted procedures, each on one that it is for."""
    rolling.active(world, skill_name="use-it")
    rolling.active(world, rolling.procedure(world, "Another way"), skill_name="back-to-it")
    rolling.revoke(world, "back-to-it")
    source = rolling.procedure(world, "A third way")
    tried = rolling.promoted(world, source, skill_name="try-it")
    run = rolling.executed(world, tried)
    unpromoted = rolling.procedure(world, "A fourth way")
    new = ops.PromoteLearning(record_id=unpromoted.record_id, skill_name="new-one", instructions="Do it.")
    result = ops.RolloutResult(
        skill_name="try-it",
        kind=RolloutKind.VERIFICATION,
        run_id=run.run_id,
        expected_output_contains=rolling.MARKER,
    )
    restart = ops.AdvanceRequest(skill_name="try-it", to=RolloutStatus.DRAFT)
    return {
        "promote_learning": lambda: caller.promote_learning(new),
        "list_promoted": lambda: caller.list_promoted(ops.PromotedRequest()),
        "get_promoted": lambda: caller.get_promoted("use-it"),
        "promoted_history": lambda: caller.promoted_history(ops.PromotedHistoryRequest(skill_name="use-it")),
        "try_promoted": lambda: _tried(world, caller),
        "record_result": lambda: caller.record_result(result),
        "advance_promoted": lambda: caller.advance_promoted(restart),
        "revoke_promoted": lambda: caller.revoke_promoted(ops.RevokePromoted(skill_name="use-it")),
        "rollback_promoted": lambda: caller.rollback_promoted(ops.RevokePromoted(skill_name="back-to-it")),
    }


def _agent_calls(world: World, caller: Application) -> Calls:
    """The operations on runs that Runlore works itself, on one in the caller's session that waits."""
    asked = waiting_run(world, SESSION)
    yes = ops.ApprovalDecision(approval_id=asked.approval_id, approve=True)
    return {
        "start_input": lambda: _started(caller),
        "follow_run": lambda: next(caller.follow_run(ops.FollowRun(run_id=asked.run_id))),
        "cancel_run": lambda: caller.cancel_run(asked.run_id),
        "list_approvals": lambda: caller.list_approvals(ops.ApprovalsRequest()),
        "get_approval": lambda: caller.get_approval(asked.approval_id),
        "decide_approval": lambda: caller.decide_approval(yes),
    }


def _started(caller: Application) -> None:
    """No model is set, so the operation is let through to what it says then."""
    with pytest.raises(ModelFailure):
        caller.start_input(ops.NewInput(session_id=SESSION, text="Look around"))


def _tried(world: World, caller: Application) -> None:
    """No model is set, so the operation is let through to what it says then."""
    asked = ops.TrialRequest(skill_name="try-it", input="", working_folder=str(world.root.parent))
    with pytest.raises(ModelFailure):
        caller.try_promoted(asked)


def _record_calls(world: World, caller: Application) -> Calls:
    """The operations on records, each on something that it is for."""
    seen = ops.Filters(session_id=SESSION)
    active = world.profile("shell", "zsh")
    world.profile("editor", "vim")
    latest = world.profile("editor", "emacs")
    waiting = world.propose("pager", "less")
    finding = world.finding("Pin the toolchain")
    adopted = world.finding("Vendor the dependencies")
    world.operator.radar_adopt(ops.AdoptRequest(finding_id=adopted.record_id))
    superseded = world.profile("tabs", "four")
    world.rollback(world.profile("tabs", "two"))
    proposal = ops.ProfileProposal(key="theme", value="dark", reason="said so")
    merging = ops.MergeRequest(create_proposals=True)
    return {
        "list_records": lambda: caller.list_records(ops.ListRequest(filters=seen)),
        "get_record": lambda: caller.get_record(active.record_id, session_id=SESSION),
        "history": lambda: caller.history(active.record_id, session_id=SESSION),
        "search": lambda: caller.search(ops.SearchRequest(query="zsh", filters=seen)),
        "states": caller.states,
        "inbox": lambda: caller.inbox(ops.InboxRequest()),
        "review_list": lambda: caller.review_list(ops.ReviewRequest(session_id=SESSION)),
        "radar_log": caller.radar_log,
        "propose_profile": lambda: caller.propose_profile(proposal),
        "add_episode": lambda: caller.add_episode(ops.Episode(kind=Kind.EXPERIMENT, summary="It ran")),
        "radar_add": lambda: found(caller, "Cache the builds"),
        "confirm": lambda: caller.confirm(decision(waiting)),
        "reject": lambda: caller.reject(decision(waiting)),
        "rollback": lambda: caller.rollback(decision(latest)),
        "restore": lambda: caller.restore(decision(superseded)),
        "compact": lambda: caller.compact(merging),
        "dedup": lambda: caller.dedup(merging),
        "forget": lambda: caller.forget(decision(active)),
        "radar_adopt": lambda: caller.radar_adopt(ops.AdoptRequest(finding_id=finding.record_id)),
        "radar_undo": lambda: caller.radar_undo(decision(adopted)),
        "goal_context": lambda: caller.goal_context(ops.GoalRequest(goal="zsh", session_id=SESSION)),
    }


def _session_calls(world: World, caller: Application) -> Calls:
    """The operations on sessions and runs, on a session of the caller's own."""
    owner = Application(world.parts, Caller(actor=caller.caller.actor, role=Role.OPERATOR))
    owner.create_session(ops.NewSession(session_id=SESSION))
    owner.open_run(ops.NewRun(session_id=SESSION, request="Look around", run_id=RUN))
    owner.add_artifact(ops.NewArtifact(run_id=RUN, name="notes", text="All is well", artifact_id=NOTES))
    world.operator.put_persona(ops.PersonaChange(persona_id=ADA))
    world.operator.put_folder(ops.FolderChange(folder_id=folder_id("/work"), project="acme"))
    said = {"type": "assistant_message", "text": "Done"}
    return {
        "report_hook": lambda: caller.report_hook(ops.HookEvent(agent="codex", event="Stop", payload={})),
        "create_session": lambda: caller.create_session(ops.NewSession()),
        "change_session": lambda: caller.change_session(ops.SessionChange(session_id=SESSION, title="A")),
        "get_session": lambda: caller.get_session(SESSION),
        "list_sessions": lambda: caller.list_sessions(ops.PageRequest()),
        "put_folder": lambda: caller.put_folder(ops.FolderChange(folder_id=folder_id("/work"), project="p")),
        "get_folder": lambda: caller.get_folder(folder_id("/work")),
        "put_persona": lambda: caller.put_persona(ops.PersonaChange(persona_id=PersonaId("bob"))),
        "get_persona": lambda: caller.get_persona(ADA),
        "list_personas": lambda: caller.list_personas(ops.PageRequest()),
        "open_run": lambda: caller.open_run(ops.NewRun(session_id=SESSION, request="Go on", context=True)),
        "get_run": lambda: caller.get_run(RUN),
        "list_runs": lambda: caller.list_runs(ops.RunsRequest(session_id=SESSION)),
        "append_events": lambda: caller.append_events(ops.NewEvents(run_id=RUN, events=(said,))),
        "add_checkpoint": lambda: caller.add_checkpoint(ops.NewCheckpoint(session_id=SESSION, text="So far")),
        "add_scratch": lambda: caller.add_scratch(ops.NewScratch(run_id=RUN, text="The plan")),
        "list_scratch": lambda: caller.list_scratch(RUN),
        "add_artifact": lambda: caller.add_artifact(ops.NewArtifact(run_id=RUN, name="diff", text="+1")),
        "get_artifact": lambda: caller.get_artifact(NOTES),
        "list_artifacts": lambda: caller.list_artifacts(RUN),
        "repeats": lambda: caller.repeats(ops.RepeatsRequest()),
        "value": lambda: caller.value(ops.ValueRequest()),
        "say_outcome": lambda: caller.say_outcome(ops.OutcomeRequest(run_id=RUN, outcome=SaidOutcome.GOOD)),
        "finish_run": lambda: caller.finish_run(ops.RunEnd(run_id=RUN, status=RunStatus.COMPLETED)),
        "journal": lambda: caller.journal(ops.JournalRequest(run_id=RUN)),
        "memory_context": lambda: caller.memory_context(ops.ContextRequest(session_id=SESSION)),
        "session_search": lambda: caller.session_search(ops.SessionSearchRequest(session_id=SESSION)),
        "preview_input": lambda: caller.preview_input(ops.PreviewRequest(session_id=SESSION, text="Go on")),
        "receipt": lambda: caller.receipt(RUN),
    }


def _service_calls(world: World, caller: Application) -> Calls:
    """The operations of the service, each on something that it is for."""
    policy = PolicyName.RUN_MEMORY
    world.operator.put_policy(ops.PolicyChange(name=policy, policy={}))
    world.operator.create_token(ops.NewToken(name="ci", role=Role.READER))
    dead = dead_job(world)
    exported = world.operator.export().path
    return {
        "get_policy": lambda: caller.get_policy(policy),
        "put_policy": lambda: caller.put_policy(ops.PolicyChange(name=policy, policy={})),
        "policy_history": lambda: caller.policy_history(policy),
        "rollback_policy": lambda: caller.rollback_policy(ops.PolicyRollback(name=policy)),
        "create_token": lambda: caller.create_token(ops.NewToken(name="cd", role=Role.AGENT)),
        "list_tokens": caller.list_tokens,
        "rotate_token": lambda: caller.rotate_token(ops.TokenRotation(name="ci")),
        "revoke_token": lambda: caller.revoke_token("ci"),
        "list_audit": lambda: caller.list_audit(ops.AuditRequest()),
        "pause_capture": caller.pause_capture,
        "resume_capture": caller.resume_capture,
        "capture_status": caller.capture_status,
        "list_jobs": caller.list_jobs,
        "retry_job": lambda: caller.retry_job(dead),
        "export": caller.export,
        "import_records": lambda: caller.import_records(exported),
        "backup": caller.backup,
        "restore_backup": lambda: _restored(world, caller),
        "doctor": caller.doctor,
        "status": caller.status,
    }


def _restored(world: World, caller: Application) -> None:
    """A backup goes into an empty store alone, so the operation is let through to its own refusal."""
    backup = world.operator.backup().path
    with pytest.raises(Conflict):
        caller.restore_backup(backup)
