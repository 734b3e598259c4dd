"""Acts at the same moment: one wins, the other is told, and nothing is half done."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.boot import boot
from runlore.daemon.clock import TimeOrderedIds
from runlore.domain.errors import Conflict, RunloreError
from runlore.domain.record import Record, State, StateReason
from runlore.domain.records.audit import Act
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.flow.publish.decide import sweep
from runlore.flow.publish.forget import forget
from runlore.ports import operations as ops
from tests.fakes import START
from tests.flow.reference import breaches
from tests.flow.waiting import until_somebody_waits_for_a_lock
from tests.waiting import PATIENCE_S
from tests.world import World, decision, found, replayed

# How often two meet: enough on every run for both orders to occur, and the long ring meets them more often.
ROUNDS = pytest.mark.parametrize("rounds", [8, pytest.param(60, marks=pytest.mark.soak)])


@pytest.fixture
def world(settings: Settings) -> Iterator[World]:
    """An empty Runlore whose ids are unique among threads."""
    made = World(settings, ids=TimeOrderedIds())
    yield made
    made.close()


@pytest.fixture
def two(world: World) -> tuple[Application, Application]:
    """Two callers: threads of one process, and on PostgreSQL two daemons with nothing else in common."""
    if world.settings.database_url:
        return world.operator, world.another()
    return world.operator, world.operator


Two = tuple[Application, Application]


@pytest.mark.req("LAY-1", "LRN-6", "OPS-4")
@ROUNDS
def test_of_two_rival_proposals_confirmed_at_once_one_becomes_active(
    world: World, two: Two, rounds: int
) -> None:
    for number in range(rounds):
        key = f"editor {number}"
        rivals = [world.propose(key, value) for value in ("vim", "emacs")]

        told = at_once(*(_confirming(*pair) for pair in zip(two, rivals, strict=True)))

        assert sorted(map(_code, told)) == ["done", "review.changed"]
        states = [world.record(rival).state for rival in rivals]
        assert sorted(states) == [State.ACTIVE, State.CONSTRAINED]
    assert_whole(world)


@pytest.mark.req("LRN-5")
@ROUNDS
def test_two_equal_proposals_confirmed_at_once_end_as_one_record(world: World, two: Two, rounds: int) -> None:
    for number in range(rounds):
        twins = [found(caller, f"The port of service {number} is 8080") for caller in two]

        told = at_once(*(_confirming(*pair) for pair in zip(two, twins, strict=True)))

        assert [_code(each) for each in told] == ["done", "done"]
        assert len({each.record_id for each in told if isinstance(each, Record)}) == 1
        reasons = [world.record(twin).state_reason for twin in twins]
        assert sorted(map(str, reasons)) == sorted(map(str, [None, StateReason.DUPLICATE]))
    assert_whole(world)


@pytest.mark.req("REC-5", "LAY-1")
@pytest.mark.parametrize("rival", ["reject", "confirm"])
@ROUNDS
def test_one_decision_on_a_candidate_wins(world: World, two: Two, rounds: int, rival: str) -> None:
    for number in range(rounds):
        candidate = world.propose(f"editor {number}", "vim")
        wanted = decision(candidate, expected_revision=1)

        told = at_once(partial(two[0].confirm, wanted), partial(getattr(two[1], rival), wanted))

        assert sorted(map(_code, told)) == ["done", "record.revision"]
        assert world.record(candidate).revision == 2
    assert_whole(world)


@pytest.mark.req("LAY-1")
@ROUNDS
def test_a_confirmation_and_the_rollback_of_what_it_replaces_exclude_each_other(
    world: World, two: Two, rounds: int
) -> None:
    for number in range(rounds):
        old = world.profile(f"editor {number}", "vim")
        new = world.propose(f"editor {number}", "emacs")

        told = at_once(_confirming(two[0], new), partial(two[1].rollback, decision(old)))

        codes = [_code(each) for each in told]
        if codes[0] == "done":
            assert codes[1] == "record.move"
            assert world.record(old).superseded_by == new.record_id
        else:
            assert codes == ["review.changed", "done"]
            assert world.record(new).state is State.CONSTRAINED
    assert_whole(world)


@pytest.mark.req("LAY-3")
@pytest.mark.parametrize("rival", ["rollback", "forget"])
@ROUNDS
def test_a_merge_is_confirmed_with_all_of_its_sources_or_not_at_all(
    world: World, two: Two, rounds: int, rival: str
) -> None:
    for number in range(rounds):
        texts = [f"Service {number} uses canary releases {how}" for how in ("at night", "on Mondays")]
        sources = [world.fact(text, topic_tags=("canary", f"service {number}")) for text in texts]
        (merge,) = world.proposals()

        told = at_once(_confirming(two[0], merge), partial(getattr(two[1], rival), decision(sources[1])))

        codes = [_code(each) for each in told]
        assert "done" in codes
        if codes == ["done", "done"]:
            # A forgetting that came second took the merge with it: it held the forgotten text.
            assert rival == "forget"
            assert world.record(merge).state_reason is StateReason.FORGOTTEN
        elif codes[0] == "done":
            assert world.record(merge).state is State.ACTIVE
            assert [world.record(s).superseded_by for s in sources] == [merge.record_id] * 2
        else:
            assert codes[0] in {"review.sources", "record.move"}
            assert world.record(sources[0]).state is State.ACTIVE
        world.forget(sources[0])
    assert_whole(world)


@pytest.mark.req("LAY-3", "LAY-4")
@ROUNDS
def test_one_set_of_sources_gets_one_proposal_however_many_ask(world: World, two: Two, rounds: int) -> None:
    for number in range(rounds):
        scope = Scope(ScopeKind.PROJECT, f"service {number}")
        for how in ("at night", "on Mondays"):
            world.fact(f"It uses canary releases {how}", topic_tags=("canary", "releases"), scope=scope)
        request = ops.MergeRequest(create_proposals=True, scopes=frozenset({scope}))

        told = at_once(*(partial(caller.compact, request) for caller in two))

        items = [item for each in told if isinstance(each, tuple) for item in each]
        assert sorted(item.status for item in items) == ["proposed", "waiting"]
        assert len({item.proposal.record_id for item in items if item.proposal}) == 1
    assert_whole(world)


@pytest.mark.req("LRN-12")
def test_what_is_forgotten_while_a_merge_of_it_is_worked_out_does_not_come_back(
    postgres_world: World,
) -> None:
    world = postgres_world
    sources = [
        world.fact(f"Zanzibar uses canary releases {how}", topic_tags=("zanzibar", "canary"))
        for how in ("at night", "on Mondays")
    ]
    other = world.another()
    with ThreadPoolExecutor(1) as pool:
        with world.parts.store.transaction() as tx:
            tx.lock({WORKSPACE})
            compacting = pool.submit(other.compact, ops.MergeRequest(create_proposals=True))
            until_somebody_waits_for_a_lock(world)
            forget(tx, tx.records.get(sources[0].record_id), Act(actor="operator", at=world.clock.now()))
        items = compacting.result()

    assert items == ()
    assert world.listed(State.CONSTRAINED) == []


@pytest.mark.req("OPS-4")
@ROUNDS
def test_the_same_call_from_two_at_once_has_one_effect_and_one_answer(
    world: World, two: Two, rounds: int
) -> None:
    for number in range(rounds):
        proposal = ops.ProfileProposal(
            key=f"editor {number}", value="vim", reason="said so", idempotency_key=f"propose {number}"
        )
        made = at_once(*(partial(caller.propose_profile, proposal) for caller in two))
        assert isinstance(made[0], Record)
        assert made[0] == made[1]

        yes = decision(made[0], idempotency_key=f"confirm {number}")
        confirmed = at_once(*(partial(caller.confirm, yes) for caller in two))
        assert isinstance(confirmed[0], Record)
        assert confirmed[0] == confirmed[1]
        assert confirmed[0].revision == 2

        back = decision(made[0], idempotency_key=f"rollback {number}")
        rolled = at_once(*(partial(caller.rollback, back) for caller in two))
        assert isinstance(rolled[0], ops.RollbackAnswer)
        assert rolled[0] == rolled[1]
    assert len(world.stored()) == rounds
    assert_whole(world)


@pytest.mark.req("LRN-11", "OPS-4")
def test_a_daemon_that_starts_while_another_one_sweeps_goes_on_with_the_rest(postgres_world: World) -> None:
    world = postgres_world
    other = world.another()
    for number in range(50):
        world.propose(f"editor {number}", "vim", expires_at=START + timedelta(days=1))
    now = world.clock.advance(days=1)

    with ThreadPoolExecutor(1) as pool:
        with world.parts.store.transaction() as tx:
            sweep(tx, tx.records.list_due(now, limit=10), Act(actor="daemon", at=now))
            booting = pool.submit(boot, other.parts)
            until_somebody_waits_for_a_lock(world)
        booting.result()

    assert {record.state_reason for record in world.stored().values()} == {StateReason.EXPIRED}
    assert_whole(world)


@pytest.mark.req("OPS-4", "SUR-5")
def test_of_two_imports_at_once_one_finds_the_store_empty(world: World, two: Two, tmp_path: Path) -> None:
    other = World(Settings(state_root=str(tmp_path / "other")), ids=TimeOrderedIds())
    other.profile("editor", "vim")
    path = other.operator.export().path

    told = at_once(*(partial(caller.import_records, path) for caller in two))

    modes = sorted(each.mode for each in told if isinstance(each, ops.ImportAnswer))
    assert modes == ["candidates", "exact"]
    assert world.histories() == other.histories()
    other.close()


def at_once(*acts: Callable[[], object]) -> list[object]:
    """What each act answers, or raises, when all begin at the same moment."""
    barrier = threading.Barrier(len(acts))

    def begin(act: Callable[[], object]) -> object:
        barrier.wait(timeout=PATIENCE_S)
        try:
            return act()
        except RunloreError as error:
            return error

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(begin, acts))


def assert_whole(world: World) -> None:
    """Nothing is half done."""
    records = world.stored()
    assert records == replayed(world.histories())
    assert breaches(records, world.clock.now()) == []


def _confirming(caller: Application, record: Record) -> Callable[[], Record]:
    return partial(caller.confirm, decision(record))


def _code(told: object) -> str:
    if isinstance(told, RunloreError):
        assert isinstance(told, Conflict), told
        return told.code
    return "done"
