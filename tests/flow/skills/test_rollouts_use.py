"""Who sees a promoted skill and may use it, and what is kept of that."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.daemon.app import Application
from runlore.domain.rollouts import in_canary as drawn
from runlore.domain.run import ProcessId, RunStatus
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.skill import SkillOrigin
from runlore.domain.skills.rollout import ExecutionKind, RolloutStatus
from runlore.ports import operations as ops
from tests.examples import scaled
from tests.flow.rolling import (
    CANARY,
    NAME,
    STAGES,
    STEPS,
    active,
    advance,
    catalogue,
    executed,
    in_canary,
    procedure,
    promoted,
    record,
    revoke,
    seen_by,
    stored,
    verified,
)
from tests.flow.skill_shelf import saved
from tests.world import World, outcome

pytestmark = pytest.mark.req("ROL-8")
OTHER = "other"
SESSIONS = [SessionId(f"session-{number}") for number in range(40)]


@pytest.fixture
def world(sqlite_world: World) -> World:
    """What no database can change is asked of one; what one might is asked of `either_world`."""
    return sqlite_world


def use(world: World, session: str = CANARY, **fields: Any) -> str:
    """Who opens it there gets it, or the code of a refusal."""
    world.session(session)
    asked = ops.UseSkill(**{"name": NAME, "session_id": SessionId(session), **fields})
    told = outcome(lambda: world.operator.use_skill(asked))
    if told == "done":
        assert STEPS in world.operator.use_skill(asked).document.body
    return told


def executions(world: World, run_id: Any) -> list[tuple[str, str, str | None]]:
    """What is kept of a run's use."""
    with world.parts.store.snapshot() as snapshot:
        found = snapshot.promotions.executions(NAME, run_id)
    return [(each.kind.value, each.fingerprint, each.session_id) for each in found]


@pytest.mark.parametrize("stage", [*STAGES, "revoked"])
def test_only_an_active_one_is_there_for_all_and_one_in_canary_for_its_sessions(
    world: World, stage: str
) -> None:
    skill = STAGES.get(stage, active)(world)
    if stage == "revoked":
        revoke(world)
    shown = {"canary": ({NAME}, set()), "active": ({NAME}, {NAME})}.get(stage, (set(), set()))
    told = {"canary": ("done", "skill.not-found"), "active": ("done", "done")}.get(
        stage, ("skill.not-found", "skill.not-found")
    )

    assert (seen_by(world, CANARY), seen_by(world, OTHER)) == shown
    assert (use(world, CANARY), use(world, OTHER)) == told
    without_a_session = outcome(lambda: world.operator.use_skill(ops.UseSkill(name=NAME)))
    assert without_a_session == ("done" if stage == "active" else "skill.not-found")
    assert skill.name == NAME


@pytest.mark.req("ROL-4")
def test_what_is_in_canary_is_matched_for_its_sessions_alone(world: World) -> None:
    saved(world, "tidy-up")
    in_canary(world)
    world.session(OTHER)

    def matched(session: str) -> list[str]:
        asked = ops.MatchRequest(query="cut a release", session_id=SessionId(session))
        return [each.skill.name for each in world.operator.match_skills(asked).items]

    def found(session: str) -> set[str]:
        asked = ops.SessionSearchRequest(session_id=SessionId(session), query="cut release")
        return {each.title for each in world.operator.session_search(asked).results if each.kind == "skill"}

    assert (matched(CANARY), matched(OTHER)) == ([NAME], [])
    assert NAME in found(CANARY)
    assert NAME not in found(OTHER)
    advance(world, "canary", sessions=(SessionId(OTHER),))
    assert (matched(CANARY), matched(OTHER)) == ([], [NAME])


@pytest.mark.req("ROL-4", "SKL-10")
def test_what_a_session_does_not_see_takes_no_slot_of_its_turn(world: World) -> None:
    saved(world, "release-a-thing", description="Release it with care.")
    in_canary(world, description="Cut a release of this project: cut, release.")
    world.session(OTHER)

    def matched(session: str) -> list[str]:
        asked = ops.MatchRequest(query="cut a release", session_id=SessionId(session), limit=1)
        return [each.skill.name for each in world.operator.match_skills(asked).items]

    assert matched(CANARY) == [NAME]
    assert matched(OTHER) == ["release-a-thing"]


@pytest.mark.req("ROL-4")
@settings(max_examples=scaled(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.integers(1, 100), named=st.sets(st.sampled_from(SESSIONS), max_size=3))
def test_a_share_shows_it_to_the_same_sessions_on_every_surface(
    sqlite_world: World, share: int, named: set[SessionId]
) -> None:
    world = sqlite_world
    with world.parts.store.snapshot() as snapshot:
        is_there = snapshot.promotions.find(NAME) is not None
    skill = stored(world) if is_there else in_canary(world)
    for session in named:
        world.session(session)
    advance(world, "canary", sessions=tuple(sorted(named)), share=share)
    skill = stored(world)

    expected = {session for session in SESSIONS if drawn(skill, session)}

    assert named <= expected
    assert {session for session in SESSIONS if seen_by(world, session)} == expected
    assert {session for session in SESSIONS[:8] if use(world, session) == "done"} == expected & set(
        SESSIONS[:8]
    )


@pytest.mark.req("SCO-4")
@pytest.mark.parametrize("stage", ["canary", "active"])
def test_a_session_that_may_not_use_it_neither_sees_nor_opens_it(world: World, stage: str) -> None:
    STAGES[stage](world)
    world.operator.change_session(
        ops.SessionChange(session_id=CANARY, capability_scope={"deny_skills": ["cut-*"]})
    )

    assert seen_by(world, CANARY) == set()
    assert use(world, CANARY) == "skill.denied"


@pytest.mark.req("ROL-3", "SKL-11")
@pytest.mark.parametrize("stage", ["canary", "active"])
def test_a_run_of_another_agent_that_opens_it_is_kept_as_having_executed_it(
    either_world: World, stage: str
) -> None:
    world = either_world
    skill = STAGES[stage](world)
    run = world.run("Release it", session_id=CANARY)
    for _ in range(2):
        world.operator.use_skill(ops.UseSkill(name=NAME, run_id=run.run_id))

    assert executions(world, run.run_id) == [("use", skill.fingerprint, CANARY)]
    counted = world.operator.get_skill(NAME).usage.times if stage == "active" else 0
    assert counted == (1 if stage == "active" else 0)
    if stage == "canary":
        world.say(run, "RELEASED")
        world.finish(run)
        assert record(world, "canary", run).evidence[-1].success is True
        assert advance(world, "active").status is RolloutStatus.ACTIVE


@pytest.mark.req("ROL-3")
def test_a_run_that_runlore_works_itself_executes_nothing_by_opening_it(world: World) -> None:
    active(world)
    run = world.executed(ProcessId("ours"))

    world.operator.use_skill(ops.UseSkill(name=NAME, run_id=run.run_id))

    assert executions(world, run.run_id) == []


@pytest.mark.req("ROL-3")
def test_opening_it_elsewhere_or_in_vain_is_no_execution(world: World) -> None:
    verified(world)
    world.session(OTHER)
    run = world.run("Release it", session_id=SessionId(OTHER))

    assert use(world, OTHER, run_id=run.run_id) == "skill.not-found"
    assert executions(world, run.run_id) == []


@pytest.mark.req("ROL-3")
@pytest.mark.parametrize("role", [ops.Role.AGENT, ops.Role.OPERATOR])
def test_a_run_that_had_ended_when_it_opened_the_skill_did_not_work_by_it(world: World, role: Any) -> None:
    in_canary(world)
    scopes = frozenset({Scope(ScopeKind.SESSION, CANARY)})
    by = Application(world.parts, ops.Caller(actor="somebody", role=role, scopes=scopes))
    run = world.finished(reply="All done: RELEASED", session_id=CANARY)

    assert STEPS in by.use_skill(ops.UseSkill(name=NAME, run_id=run.run_id)).document.body

    assert executions(world, run.run_id) == []
    assert outcome(lambda: record(world, "canary", run)) == "promoted.not-executed"


@pytest.mark.req("ROL-3", "ROL-4")
def test_a_trial_from_before_the_canary_is_no_canary(world: World) -> None:
    world.session(CANARY)
    skill = verified(world)
    early = executed(world, skill, session=CANARY)
    world.clock.advance(seconds=1)
    advance(world, "canary", sessions=(CANARY,))

    assert outcome(lambda: record(world, "canary", early)) == "promoted.before"
    record(world, "canary", executed(world, skill, session=CANARY))
    assert advance(world, "active").status is RolloutStatus.ACTIVE


@pytest.mark.req("ROL-2", "ROL-4")
def test_what_is_taken_back_to_draft_is_hidden_and_proves_itself_anew(world: World) -> None:
    skill = in_canary(world)
    used = executed(world, skill, kind=ExecutionKind.USE, session=CANARY)
    record(world, "canary", used)
    world.clock.advance(seconds=1)

    advance(world, "draft")

    assert (seen_by(world, CANARY), use(world, CANARY)) == (set(), "skill.not-found")
    assert outcome(lambda: advance(world, "verified")) == "promoted.evidence"
    record(world, "verification", executed(world, skill))
    advance(world, "verified")
    advance(world, "canary", sessions=(CANARY,))
    assert outcome(lambda: advance(world, "active")) == "promoted.evidence"
    assert record(world, "canary", used) == stored(world)


@pytest.mark.req("ROL-5")
def test_a_use_of_other_words_proves_nothing_for_these(world: World) -> None:
    source = procedure(world)
    skill = in_canary(world, source)
    run = executed(world, skill, kind=ExecutionKind.USE, session=CANARY)
    promoted(world, source, instructions="Other words.\nSay RELEASED.")
    again = stored(world)
    record(world, "verification", executed(world, again))
    advance(world, "verified")
    advance(world, "canary", sessions=(CANARY,))

    assert outcome(lambda: record(world, "canary", run)) == "promoted.not-executed"


@pytest.mark.req("ROL-3")
@pytest.mark.parametrize("way", ["caller", "two calls"])
def test_a_result_may_name_the_run_that_called_it(world: World, way: str) -> None:
    skill = in_canary(world)
    calling = world.run("Release it", session_id=CANARY)
    for _ in range(1 if way == "caller" else 2):
        executed(
            world,
            skill,
            kind=ExecutionKind.USE,
            session="child",
            session_id=CANARY,
            calling_run_id=calling.run_id,
        )

    told = outcome(lambda: record(world, "canary", calling.run_id))

    assert told == ("done" if way == "caller" else "promoted.ambiguous")
    if way == "caller":
        evidence = stored(world).evidence[-1]
        assert evidence.success is True
        assert evidence.run_id != calling.run_id
        assert record(world, "canary", evidence.run_id) == stored(world)


@pytest.mark.req("ROL-6")
def test_a_run_that_goes_on_proves_nothing_yet(world: World) -> None:
    skill = in_canary(world)
    world.clock.advance(seconds=1)
    run = world.run("Release it", session_id=CANARY)
    world.operator.use_skill(ops.UseSkill(name=NAME, run_id=run.run_id))

    assert outcome(lambda: record(world, "canary", run)) == "promoted.running"
    world.finish(run, status=RunStatus.FAILED)
    assert record(world, "canary", run).evidence[-1].success is False
    assert stored(world).status is skill.status


@pytest.mark.req("ROL-3")
def test_a_run_whose_words_are_not_kept_any_more_proves_nothing_either_way(world: World) -> None:
    skill = in_canary(world)
    run = executed(world, skill, session=CANARY)
    with world.parts.store.transaction() as tx:
        tx.journal.erase_run(run.run_id)

    assert outcome(lambda: record(world, "canary", run)) == "promoted.output-gone"
    assert len(stored(world).evidence) == 1


def test_a_row_alone_makes_nothing_usable(sqlite_world: World) -> None:
    world = sqlite_world
    row = replace(
        saved(world, "learned"),
        origin=SkillOrigin.PROMOTED,
    )
    with world.parts.store.transaction() as tx:
        tx.skills.update(replace(row, revision=row.revision + 1), expected_revision=row.revision)

    assert seen_by(world, OTHER) == set()
    assert use(world, OTHER, name="learned") == "skill.not-found"


def test_a_skill_is_opened_by_its_id_too(sqlite_world: World) -> None:
    world = sqlite_world
    active(world)

    assert use(world, name="skl_promoted-cut-a-release") == "done"
    assert catalogue(world) == {NAME}
