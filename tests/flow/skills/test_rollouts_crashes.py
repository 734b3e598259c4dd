"""A rollout whose process dies between any two steps, or that two do at once, is the same in the end."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.daemon.background.maintenance import sweep_expired
from runlore.daemon.parts import Parts
from runlore.domain.errors import RunloreError
from runlore.domain.record import Record, StateReason
from runlore.domain.records.audit import Act
from runlore.domain.run import Run
from runlore.domain.skills.rollout import ExecutionKind, PromotedSkill, RolloutKind, RolloutStatus
from runlore.flow.publish.decide import revoke as revoke_records
from runlore.flow.skills.catalogue import agrees
from runlore.flow.skills.sources import BECAUSE, end_promoted
from runlore.ports import operations as ops
from tests.flow.dying import Died
from tests.flow.kill_points import Fuse, mortal
from tests.flow.rolling import (
    CANARY,
    MARKER,
    NAME,
    STEPS,
    active,
    catalogue,
    executed,
    in_canary,
    procedure,
    promoted,
    record,
    revoke,
    stored,
    verified,
)
from tests.flow.skill_shelf import files, library_on, rows
from tests.skill_files.disks import WatchedDisk
from tests.waiting import PATIENCE_S
from tests.world import OPERATOR, World, decision, reading

pytestmark = pytest.mark.req("ROL-10", "ROL-8")
Step = Callable[[Application], object]


@pytest.fixture
def world(sqlite_world: World) -> World:
    """What no database can change is asked of one; what one might is asked of `either_world`."""
    return sqlite_world


def promote_act(source: Record) -> Step:
    asked = ops.PromoteLearning(record_id=source.record_id, skill_name=NAME, instructions=STEPS)
    return lambda by: by.promote_learning(asked)


def record_act(kind: str, run: Run) -> Step:
    asked = ops.RolloutResult(
        skill_name=NAME, kind=RolloutKind(kind), run_id=run.run_id, expected_output_contains=MARKER
    )
    return lambda by: by.record_result(asked)


def advance_act(to: str, **fields: Any) -> Step:
    asked = ops.AdvanceRequest(skill_name=NAME, to=RolloutStatus(to), **fields)
    return lambda by: by.advance_promoted(asked)


def revoke_act() -> Step:
    return lambda by: by.revoke_promoted(ops.RevokePromoted(skill_name=NAME, reason="enough"))


def rollback_act(key: str | None = None) -> Step:
    return lambda by: by.rollback_promoted(ops.RevokePromoted(skill_name=NAME, idempotency_key=key))


def steps_of(world: World) -> list[Step]:
    """Every step of a rollout; the runs that it needs are there."""
    source = procedure(world)
    world.session(CANARY)
    skill = promoted(world, source)
    trial = executed(world, skill)
    later = world.clock.now() + timedelta(minutes=1)
    used = executed(world, skill, kind=ExecutionKind.USE, session=CANARY, at=later)
    return [
        promote_act(source),
        record_act("verification", trial),
        advance_act("verified"),
        advance_act("canary", sessions=(CANARY,)),
        record_act("canary", used),
        advance_act("active"),
        revoke_act(),
        rollback_act("once"),
        lambda by: by.revoke(decision(source, idempotency_key="once more")),
    ]


def agree(world: World) -> None:
    """Record, row and file say the same, and the doctor finds nothing."""
    agree_on_it(world)
    assert world.operator.doctor().healthy


def agree_on_it(world: World) -> None:
    """Record, row and file say the same."""
    with world.parts.store.snapshot() as snapshot:
        found = snapshot.promotions.find(NAME)
        assert found is not None
        assert agrees(snapshot, found)
        assert snapshot.promotions.history(NAME, after=found.revision - 1) == ((found.revision, found),)
    world.parts.library.refresh()
    assert files(world) == rows(world)


def ends_the_same(skill: PromotedSkill) -> tuple[object, ...]:
    """What a rollout comes to, whenever it was done."""
    moves = [(event.move, event.to_status, event.reason) for event in skill.events]
    return skill.status, skill.definition, moves, len(skill.evidence)


def drive(world: World, steps: Sequence[Step], parts: Parts) -> None:
    for step in steps:
        step(Application(parts, OPERATOR))


def died_at(world: World, steps: Sequence[Step], point: int) -> bool:
    try:
        drive(world, steps, mortal(world.parts, Fuse(point)))
    except Died:
        return True
    return False


@pytest.mark.parametrize("number", range(9))
def test_a_step_that_dies_anywhere_is_done_by_doing_it_again(sqlite_world: World, number: int) -> None:
    world = sqlite_world
    steps = steps_of(world)
    drive(world, steps[:number], world.parts)
    point = 0
    while died_at(world, [steps[number]], point):
        agree(world)
        point += 1
    assert point > 2
    steps[number](world.operator)
    agree(world)
    expected = [
        RolloutStatus.DRAFT,
        RolloutStatus.DRAFT,
        RolloutStatus.VERIFIED,
        RolloutStatus.CANARY,
        RolloutStatus.CANARY,
        RolloutStatus.ACTIVE,
        RolloutStatus.REVOKED,
        RolloutStatus.ACTIVE,
        RolloutStatus.REVOKED,
    ]
    assert stored(world).status is expected[number]


def dying_disk(point: int) -> WatchedDisk:
    """A disk on which the process dies before its step of that number."""
    fuse = Fuse(point)
    return WatchedDisk(lambda call, name: fuse.at(f"{call} {name}"))


def test_a_process_that_dies_while_it_writes_the_file_leaves_one_for_the_next_start(world: World) -> None:
    active(world)
    # It is taken out, mounted, taken out again: each act dies one step later than it did the last time.
    acts = {RolloutStatus.ACTIVE: revoke_act(), RolloutStatus.REVOKED: rollback_act()}
    point = dict.fromkeys(acts, 0)
    done = set[RolloutStatus]()
    while done != acts.keys():
        status = stored(world).status
        parts = replace(world.parts, library=library_on(world, disk=dying_disk(point[status])))
        try:
            acts[status](Application(parts, OPERATOR))
            done.add(status)
        except Died:
            point[status] += 1
        world.restart()
        agree_on_it(world)
    assert min(point.values()) > 10
    agree(world)


def test_those_who_do_the_same_step_at_once_do_it_once(either_world: World) -> None:
    world = either_world
    source = procedure(world)
    world.session(CANARY)
    steps: list[Callable[[], Step]] = [
        lambda: promote_act(source),
        lambda: record_act("verification", executed(world, stored(world))),
        lambda: advance_act("verified"),
        lambda: advance_act("canary", sessions=(CANARY,)),
        lambda: record_act("canary", executed(world, stored(world), session=CANARY)),
        lambda: advance_act("active"),
    ]
    for number, step in enumerate(steps):
        problems = at_once(world, [step()] * 4)

        assert {problem.code for problem in problems} <= {"promoted.exists", "promoted.moved"}
        assert stored(world).revision == number + 1
        agree(world)
    assert catalogue(world) == {NAME}


def test_an_activation_and_an_end_at_once_leave_nothing_mounted(either_world: World) -> None:
    world = either_world
    ends: list[Callable[[Record], Step]] = [
        lambda _: revoke_act(),
        lambda source: lambda by: by.revoke(decision(source)),
        lambda source: (
            lambda by: by.supersede(
                ops.Supersession(record_id=source.record_id, content="Release: a new way")
            )
        ),
    ]
    for number, end in enumerate(ends):
        source = procedure(world, f"Release: way {number}")
        skill = in_canary(world, source)
        record(world, "canary", executed(world, skill, session=CANARY))

        at_once(world, [advance_act("active"), end(source)])

        assert stored(world).status is RolloutStatus.REVOKED
        assert catalogue(world) == set()
        agree(world)


def test_a_sweep_and_whoever_ends_the_same_learning_do_not_wait_for_each_other(postgres_world: World) -> None:
    world = postgres_world
    source = procedure(world, expires_at=world.clock.now() + timedelta(days=2))
    active(world, source)
    world.clock.advance(days=3)
    sweeping = threading.Thread(target=sweep_expired, args=(world.parts,))
    # As whoever began before the learning expired, or has a clock that is late.
    act = Act(actor="ada", at=world.clock.now() - timedelta(days=2))

    with reading(world.settings) as rows:
        with world.parts.store.transaction() as tx:
            tx.lock({source.scope})
            present = tx.records.get(source.record_id)
            [ended] = revoke_records(tx, [present], act)
            sweeping.start()
            while not rows("SELECT 1 FROM pg_locks WHERE NOT granted"):
                assert sweeping.is_alive()
            end_promoted(tx, [ended], act)
        sweeping.join(PATIENCE_S)

    assert not sweeping.is_alive()
    assert (stored(world).status, stored(world).revoked_reason) == (
        RolloutStatus.REVOKED,
        BECAUSE[StateReason.REVOKED],
    )
    agree(world)


def test_a_promotion_and_the_end_of_its_learning_at_once_leave_no_draft_behind(either_world: World) -> None:
    world = either_world
    source = procedure(world)

    at_once(world, [promote_act(source), lambda by: by.revoke(decision(source))])

    page = world.operator.list_promoted(ops.PromotedRequest())
    assert all(skill.status is RolloutStatus.REVOKED for skill in page.items)


def at_once(world: World, acts: Sequence[Step]) -> list[RunloreError]:
    """Acts that begin together; what went wrong with some of them."""
    start, problems = threading.Barrier(len(acts)), list[RunloreError]()

    def do(act: Step) -> None:
        start.wait()
        try:
            act(world.operator)
        except RunloreError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=do, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads)
    return problems


def test_a_rollout_that_dies_between_any_two_steps_ends_the_same(sqlite_world: World) -> None:
    world = sqlite_world
    steps = steps_of(world)[:-1]
    for number, step in enumerate(steps):
        world.restart()
        step(world.operator)
        assert stored(world).revision == number + 1
        agree(world)
    assert ends_the_same(stored(world))[0] is RolloutStatus.ACTIVE


def test_a_verified_one_stays_so_over_a_start(world: World) -> None:
    before = verified(world)
    world.restart()
    assert stored(world) == before
    assert revoke(world).status is RolloutStatus.REVOKED
