"""Procedures on their way to skills: learnings that may be promoted, runs that executed them, and every step
of a rollout by its short name."""

from typing import Any

from runlore.domain.record import Kind, Record
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import (
    Execution,
    ExecutionKind,
    PromotedSkill,
    RolloutKind,
    RolloutStatus,
)
from runlore.ports import operations as ops
from tests.flow.learning_acts import learning
from tests.world import World

NAME = "cut-a-release"
MARKER = "RELEASED"
STEPS = "Run the tests.\nTag the commit.\nSay RELEASED where all of it went well."
CANARY = SessionId("talk")


def procedure(world: World, content: str = "Release: run the tests, then tag", **fields: Any) -> Record:
    """A procedure that may be promoted."""
    said = {"kind": Kind.PROCEDURE, **fields.pop("candidate", {})}
    return learning(world, content, candidate=said, **fields)


def promoted(world: World, source: Record | None = None, **fields: Any) -> PromotedSkill:
    """A procedure promoted by the operator."""
    record = source or procedure(world)
    asked = {"skill_name": NAME, "instructions": STEPS, **fields}
    return world.operator.promote_learning(ops.PromoteLearning(record_id=record.record_id, **asked))


def executed(
    world: World,
    skill: PromotedSkill,
    *,
    kind: ExecutionKind = ExecutionKind.TRIAL,
    says: str = f"All done: {MARKER}",
    status: RunStatus = RunStatus.COMPLETED,
    session: str = "trials",
    output: str | None = None,
    calls: bool = True,
    **fields: Any,
) -> Run:
    """A run that worked by the words of a skill, as a trial does, and has ended; `output` is kept as what it
    came to."""
    world.clock.advance(seconds=1)
    world.session(session)
    run = world.run(f"Work by {skill.name}", session_id=SessionId(session))
    execution = Execution(
        **{
            "run_id": run.run_id,
            "skill_name": skill.name,
            "fingerprint": skill.fingerprint,
            "kind": kind,
            "at": world.clock.now(),
            "session_id": SessionId(session),
            **fields,
        }
    )
    with world.parts.store.transaction() as tx:
        tx.promotions.add_execution(execution)
    if calls:
        world.append(run, {"type": "tool_call", "call_id": "c1", "name": "Bash", "arguments": {}})
    world.say(run, says)
    if output is not None:
        world.operator.add_artifact(ops.NewArtifact(run_id=run.run_id, name="final_output", text=output))
    return world.finish(run, status=status)


def record(world: World, kind: str, run: Run | RunId, name: str = NAME, **fields: Any) -> PromotedSkill:
    """A result that the operator records."""
    run_id = run.run_id if isinstance(run, Run) else run
    asked = {"expected_output_contains": MARKER, **fields}
    return world.operator.record_result(
        ops.RolloutResult(skill_name=name, kind=RolloutKind(kind), run_id=run_id, **asked)
    )


def advance(world: World, to: str, name: str = NAME, **fields: Any) -> PromotedSkill:
    """The next step."""
    return world.operator.advance_promoted(
        ops.AdvanceRequest(skill_name=name, to=RolloutStatus(to), **fields)
    )


def revoke(world: World, name: str = NAME, **fields: Any) -> PromotedSkill:
    """Out of use."""
    return world.operator.revoke_promoted(ops.RevokePromoted(skill_name=name, **fields)).skill


def roll_back(world: World, name: str = NAME, **fields: Any) -> PromotedSkill:
    """Back to what was active."""
    return world.operator.rollback_promoted(ops.RevokePromoted(skill_name=name, **fields))


def verified(world: World, source: Record | None = None, **fields: Any) -> PromotedSkill:
    """One that a trial has verified."""
    skill = promoted(world, source, **fields)
    record(world, "verification", executed(world, skill), skill.name)
    return advance(world, "verified", skill.name)


def in_canary(world: World, source: Record | None = None, **fields: Any) -> PromotedSkill:
    """One that the session `talk` sees."""
    world.session(CANARY)
    skill = verified(world, source, **fields)
    return advance(world, "canary", skill.name, sessions=(CANARY,))


def active(world: World, source: Record | None = None, **fields: Any) -> PromotedSkill:
    """One that everybody sees."""
    skill = in_canary(world, source, **fields)
    used = executed(world, skill, kind=ExecutionKind.USE, session=CANARY)
    record(world, "canary", used, skill.name)
    return advance(world, "active", skill.name)


STAGES = {"draft": promoted, "verified": verified, "canary": in_canary, "active": active}


def stored(world: World, name: str = NAME) -> PromotedSkill:
    """How it stands."""
    return world.operator.get_promoted(name)


def seen_by(world: World, session: str) -> set[str]:
    """The names that a session sees, which are the same wherever it looks."""
    session_id = SessionId(session)
    world.session(session)
    listed = {skill.name for skill in world.operator.session_skills(session_id)}
    context = world.operator.memory_context(ops.ContextRequest(session_id=session_id))
    assert set(context.visible_skills) == listed
    asked = ops.MatchRequest(query="cut a release", session_id=session_id)
    matched = {each.skill.name for each in world.operator.match_skills(asked).items}
    assert matched <= listed
    return listed


def catalogue(world: World) -> set[str]:
    """The names of the normal catalogue."""
    return {skill.name for skill in world.operator.list_skills(ops.SkillsRequest()).items}
