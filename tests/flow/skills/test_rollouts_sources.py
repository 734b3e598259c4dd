"""A promoted skill ends with its learning, in one transaction, whatever ends that."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest

from runlore.daemon.background.maintenance import sweep_expired
from runlore.daemon.background.workers import Workers
from runlore.domain.errors import Conflict
from runlore.domain.record import Record, RecordId, Source
from runlore.domain.skills.rollout import ExecutionKind, RolloutMove, RolloutStatus
from runlore.flow.skills.sources import BECAUSE, SUPERSEDED
from runlore.ports import operations as ops
from tests.flow.learning_acts import candidate, publish, supersede
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
    roll_back,
    seen_by,
    stored,
)
from tests.flow.skill_shelf import files
from tests.world import World, decision, outcome

pytestmark = pytest.mark.req("ROL-10")
CONTENT = "Release: run the tests, then tag"


@pytest.fixture
def world(sqlite_world: World) -> World:
    """What no database can change is asked of one; what one might is asked of `either_world`."""
    return sqlite_world


def expire(world: World, _source: Record) -> None:
    world.clock.advance(days=3)
    sweep_expired(world.parts)


def replace_by_hand(world: World, source: Record) -> None:
    other = candidate(world.operator, "Release: another way", kind=source.kind)
    publish(world, other, supersedes=source.record_id)


def confirm_another(world: World, source: Record) -> None:
    other = candidate(world.operator, "Release: a third way", kind=source.kind)
    world.confirm(other, supersedes=source.record_id)


def revoke_all(world: World, _source: Record) -> None:
    filters = ops.LearningFilters(text="tests")
    world.operator.revoke_matching(ops.MatchingRevocation(filters=filters, reason="all of them"))


ENDS: dict[str, Callable[[World, Record], object]] = {
    "revoked": lambda world, source: world.operator.revoke(decision(source)),
    "revoked with others": revoke_all,
    "superseded": lambda world, source: supersede(world, source, "Release: in another way"),
    "superseded by a publication": replace_by_hand,
    "superseded by a confirmation": confirm_another,
    "rolled back": lambda world, source: world.rollback(source),
    "expired": expire,
    "forgotten": lambda world, source: world.forget(source),
}
REASONS = {*BECAUSE.values(), SUPERSEDED}


def expiring(world: World) -> Record:
    """A procedure that stands for two days."""
    return procedure(world, CONTENT, expires_at=world.clock.now() + timedelta(days=2))


@pytest.mark.parametrize("end", sorted(ENDS))
def test_whatever_ends_the_learning_revokes_the_skill(world: World, end: str) -> None:
    source = expiring(world)
    before = active(world, source)

    ENDS[end](world, source)

    # What time alone ends is swept by a worker, which looks at the files next.
    assert not files(world) or end == "expired"
    after = stored(world)
    assert after.status is RolloutStatus.REVOKED
    assert [event.move for event in after.events] == [
        *(event.move for event in before.events),
        RolloutMove.REVOKE,
    ]
    assert after.revoked_reason in REASONS or end == "forgotten"
    assert (catalogue(world), seen_by(world, CANARY)) == (set(), set())
    assert files(world) == {}
    assert outcome(lambda: roll_back(world)) == "promoted.source"


@pytest.mark.parametrize("stage", ["draft", "verified", "canary"])
def test_a_skill_on_its_way_ends_too(sqlite_world: World, stage: str) -> None:
    source = procedure(sqlite_world)
    STAGES[stage](sqlite_world, source)

    sqlite_world.operator.revoke(decision(source))

    assert stored(sqlite_world).status is RolloutStatus.REVOKED
    assert seen_by(sqlite_world, CANARY) == set()


def test_an_undone_adoption_revokes_what_was_promoted_from_it(world: World) -> None:
    finding = world.finding("Tag before building")
    request = ops.AdoptRequest(finding_id=finding.record_id, workflow="release", accept_untrusted=True)
    source = world.operator.radar_adopt(request).procedure
    promoted(world, source, accept_untrusted=True)

    world.operator.radar_undo(decision(finding))

    assert stored(world).status is RolloutStatus.REVOKED


@pytest.mark.req("ROL-1")
@pytest.mark.parametrize("stage", STAGES)
def test_one_procedure_is_one_skill_until_that_is_revoked(sqlite_world: World, stage: str) -> None:
    world, source = sqlite_world, procedure(sqlite_world)
    STAGES[stage](world, source)
    with pytest.raises(Conflict) as refused:
        promoted(world, source, skill_name="the-same-again")
    assert refused.value.code == "promoted.learning"
    assert [each.name for each in world.operator.list_promoted(ops.PromotedRequest()).items] == [NAME]

    revoke(world)
    assert promoted(world, source, skill_name="the-same-again").status is RolloutStatus.DRAFT
    with pytest.raises(Conflict) as refused:
        promoted(world, source)
    assert refused.value.code == "promoted.learning"
    if stage == "active":
        with pytest.raises(Conflict) as refused:
            roll_back(world)
        assert refused.value.code == "promoted.learning"
        revoke(world, "the-same-again")
        assert roll_back(world).status is RolloutStatus.ACTIVE


def test_what_another_learning_stands_for_is_left_alone(world: World) -> None:
    source, other = procedure(world), procedure(world, "Another procedure of ours")
    kept = active(world, source)
    promoted(world, other, skill_name="another")

    world.operator.revoke(decision(other))

    assert stored(world) == kept
    assert stored(world, "another").status is RolloutStatus.REVOKED
    assert catalogue(world) == {NAME}


def test_a_learning_that_is_not_revoked_after_all_leaves_the_skill(world: World) -> None:
    source = procedure(world)
    kept = active(world, source)

    assert outcome(lambda: world.operator.revoke(decision(source, expected_revision=99))) != "done"
    assert stored(world) == kept


def test_an_expired_learning_is_heeded_to_the_millisecond_before_any_sweep(world: World) -> None:
    source = expiring(world)
    active(world, source)
    world.clock.advance(days=2)

    assert seen_by(world, "other") == set()
    asked = ops.UseSkill(name=NAME, session_id=world.session().session_id)
    assert outcome(lambda: world.operator.use_skill(asked)) == "promoted.source"
    assert outcome(lambda: promoted(world, source, skill_name="new")) == "promoted.expired"
    assert outcome(lambda: world.operator.get_skill(NAME)) == "skill.not-found"
    assert world.operator.list_skills(ops.SkillsRequest()).items == ()


def test_a_daemon_takes_the_file_away_with_the_next_step_and_not_with_the_next_sweep(world: World) -> None:
    active(world, expiring(world))
    workers = Workers(world.parts)
    workers.step()
    assert files(world)
    # No sweep is due yet when the learning expires.
    world.clock.advance(days=2)
    workers._swept_s = world.clock.elapsed_s()

    workers.step()

    assert not files(world)


def test_nothing_moves_on_from_a_learning_that_has_expired(world: World) -> None:
    source = expiring(world)
    skill = in_canary(world, source)
    used = executed(world, skill, kind=ExecutionKind.USE, session=CANARY)
    record(world, "canary", used)
    world.clock.advance(days=2)

    assert outcome(lambda: advance(world, "active")) == "promoted.expired"
    assert catalogue(world) == set()


def test_a_start_finds_what_expired_while_nobody_was_there(either_world: World) -> None:
    world = either_world
    active(world, expiring(world))
    world.clock.advance(days=5)

    world.restart()

    assert stored(world).status is RolloutStatus.REVOKED
    assert (catalogue(world), files(world)) == (set(), {})


@pytest.mark.req("LRN-12")
def test_forgetting_the_learning_leaves_no_word_of_the_skill(either_world: World) -> None:
    world = either_world
    words = {"description": "Zanzibar it.", "when_to_use": "For zanzibar.", "version": "zanzibar"}
    # One that is active, and one that was revoked before.
    for name in (NAME, "revoked-before"):
        source = procedure(world, f"Release: the zanzibar way of {name}")
        instructions = f"{STEPS}\nThe zanzibar way."
        skill = active(world, source, skill_name=name, instructions=instructions, **words)
        if name != NAME:
            revoke(world, name, reason="zanzibar is closed")

        assert holds(world, "zanzibar")
        world.forget(source)

        after = stored(world, name)
        assert (after.status, after.fingerprint) == (RolloutStatus.REVOKED, skill.fingerprint)
        assert len(after.events) > len(skill.events)
        assert not holds(world, "zanzibar")
        assert world.operator.skill_log(ops.SkillLogRequest(name=name)).items == ()
        assert outcome(partial(roll_back, world, name)) == "promoted.source"


@pytest.mark.req("LRN-12")
def test_forgetting_an_earlier_learning_of_a_skill_leaves_none_of_its_words_in_the_history(
    world: World,
) -> None:
    first = procedure(world, "Release: the zanzibar way")
    second = procedure(world, "Another way to do it")
    active(world, first, instructions=f"{STEPS}\nThe zanzibar way.")
    revoke(world, reason="zanzibar is closed")
    anew = active(world, second)

    assert holds(world, "zanzibar")
    world.forget(first)

    after = stored(world)
    assert (after.status, after.definition) == (RolloutStatus.ACTIVE, anew.definition)
    assert catalogue(world) == {NAME}
    assert not holds(world, "zanzibar")
    history = world.operator.promoted_history(ops.PromotedHistoryRequest(skill_name=NAME))
    assert len(history.items) == anew.revision


@pytest.mark.req("LRN-12")
def test_a_forgotten_run_is_no_longer_known_to_have_executed_anything(world: World) -> None:
    skill = promoted(world)
    run = executed(world, skill)

    world.forget(RecordId(run.run_id))

    assert outcome(lambda: record(world, "verification", run)) == "promoted.not-executed"
    assert world.tables()["skill_executions"] == []


@pytest.mark.req("LRN-12", "ROL-3")
def test_forgetting_the_session_of_a_learning_ends_what_was_promoted_from_it(world: World) -> None:
    world.session("talk")
    run = world.finished(reply="Release: run the zanzibar tests")
    source = procedure(
        world, "Release: zanzibar", candidate={"source": Source(run_id=run.run_id, session_id=run.session_id)}
    )
    promoted(world, source, instructions="The zanzibar way.")

    assert holds(world, "zanzibar")
    world.forget(RecordId("talk"))

    assert stored(world).status is RolloutStatus.REVOKED
    assert not holds(world, "zanzibar")


def holds(world: World, word: str) -> bool:
    """Whether a word is anywhere: in a table, or in a file of the state root."""
    texts = (str(value) for rows in world.tables().values() for row in rows for value in row)
    return any(word in text.casefold() for text in texts) or bool(world.files_with(word))
