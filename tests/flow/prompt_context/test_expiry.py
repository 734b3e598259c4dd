"""`expires_at` is honoured to the millisecond, whether a sweep has been round or not."""

from datetime import timedelta
from typing import Any

import pytest

from runlore.domain.record import Kind, Move, PublishTier, Record, State, StateReason
from runlore.domain.records.audit import RecordChange
from runlore.domain.scope import WORKSPACE
from runlore.ports import operations as ops
from tests.builders import changed, fact, proposed
from tests.fakes import START
from tests.world import World, outcome, replayed

SOON = START + timedelta(seconds=10)
TO_THE_LAST_MILLISECOND = {"seconds": 9, "milliseconds": 999}

pytestmark = pytest.mark.req("LRN-11")


def test_a_record_is_listed_and_found_until_the_millisecond_it_expires_in(world: World) -> None:
    preference = world.profile("editor", "vim", expires_at=SOON)
    episode = world.episode("The editor was tried", expires_at=SOON)
    both = [episode.record_id, preference.record_id]
    world.clock.advance(**TO_THE_LAST_MILLISECOND)
    assert world.active() == both
    assert world.search("editor", layers=frozenset({preference.layer, episode.layer})) != []

    world.clock.advance(milliseconds=1)

    assert world.active() == []
    assert world.search("editor", layers=frozenset({preference.layer, episode.layer})) == []
    assert world.search("editor", include_stale=True) == []
    last = SOON - timedelta(milliseconds=1)
    assert world.active(as_of=last) == both
    assert world.active(as_of=SOON) == []
    assert world.search("editor", as_of=last) == [preference.record_id]
    assert world.search("editor", as_of=SOON) == []


def test_what_waits_is_in_the_inbox_until_the_millisecond_it_expires_in(world: World) -> None:
    candidate = world.propose(expires_at=SOON)
    world.clock.advance(**TO_THE_LAST_MILLISECOND)
    assert _inbox(world) == [candidate.record_id]

    world.clock.advance(milliseconds=1)

    assert _inbox(world) == []
    assert world.operator.status().counts[(candidate.layer, State.CONSTRAINED)] == 1


@pytest.mark.parametrize("act", ["confirm", "reject", "forget"])
def test_what_waits_and_has_expired_can_only_be_forgotten(world: World, act: str) -> None:
    candidate = world.propose(expires_at=SOON)
    world.clock.advance(seconds=10)
    before = world.tables()

    code = outcome(lambda: getattr(world, act)(candidate))

    assert code == ("done" if act == "forget" else "record.expired")
    assert (world.tables() == before) is (act != "forget")


def test_an_expired_active_record_cannot_be_rolled_back(world: World) -> None:
    record = world.profile(expires_at=SOON)
    world.clock.advance(seconds=10)

    assert outcome(lambda: world.rollback(record)) == "record.expired"


def test_an_expired_record_is_neither_repeated_nor_contradicted(world: World) -> None:
    _write_active(world, "The port is 8080", expires_at=SOON)
    same, other = world.finding("The port is 8080"), world.finding("The port is 9090")
    assert _would(world, same).duplicate_of is not None
    assert outcome(lambda: world.confirm(other)) == "review.conflict"

    world.clock.advance(seconds=10)

    assert _would(world, same) == _would(world, other)
    assert world.confirm(same).record_id == same.record_id


def test_a_proposal_does_not_expect_to_replace_what_has_expired(world: World) -> None:
    old = world.profile("editor", "vim", expires_at=SOON)
    early = world.propose("editor", "emacs")
    assert early.supersedes == old.record_id
    world.clock.advance(seconds=10)

    late = world.propose("editor", "nano")

    assert late.supersedes is None
    assert outcome(lambda: world.confirm(early)) == "review.changed"
    assert world.confirm(late).supersedes is None
    assert world.active() == [late.record_id]
    assert world.record(old).state is State.ACTIVE


@pytest.mark.req("LAY-3")
def test_what_an_expired_record_replaced_can_come_back(world: World) -> None:
    """Nobody can make a replacement that expires before what it replaces; older stores have some."""
    old, new = world.profile("editor", "vim"), world.profile("editor", "emacs")
    _write(world, _expiring(world.record(new)))
    assert outcome(lambda: world.restore(old)) == "restore.replaced"
    world.clock.advance(seconds=10)

    world.restore(old)

    assert world.active() == [old.record_id]
    world.restart()
    assert world.record(new).state_reason is StateReason.EXPIRED
    assert world.active() == [old.record_id]


def test_a_superseded_record_that_has_expired_does_not_come_back(world: World) -> None:
    old = world.profile("editor", "vim", expires_at=SOON)
    new = world.profile("editor", "emacs")
    world.clock.advance(seconds=10)

    answer = world.rollback(new, restore_sources=True)

    assert answer.restored == ()
    assert [(each.record_id, each.obstacle.code) for each in answer.blocked] == [
        (old.record_id, "restore.expired")
    ]


def test_a_merge_expires_with_the_first_of_its_sources(world: World) -> None:
    later = SOON + timedelta(days=1)
    for how, expires_at in (("at night", later), ("on Mondays", SOON)):
        _write_active(world, f"The shop uses canary releases {how}", expires_at=expires_at)

    (merge,) = world.proposals()

    assert merge.expires_at == SOON


def test_what_has_expired_is_not_merged(world: World) -> None:
    for how in ("at night", "on Mondays", "by hand"):
        _write_active(world, f"The shop uses canary releases {how}", expires_at=SOON)
    (merge,) = world.proposals()
    world.clock.advance(seconds=10)

    assert outcome(lambda: world.confirm(merge)) == "record.expired"
    assert world.operator.compact(ops.MergeRequest()) == ()
    assert world.proposals() == []


def test_a_merge_is_refused_when_one_of_its_sources_has_expired(world: World) -> None:
    for how in ("at night", "on Mondays"):
        _write_active(world, f"The shop uses canary releases {how}")
    (merge,) = world.proposals()
    source = world.record(merge.source.record_ids[0])
    _write(world, _expiring(source))
    world.clock.advance(seconds=10)
    before = world.tables()

    assert outcome(lambda: world.confirm(merge)) == "review.sources"
    assert world.tables() == before


def test_an_expired_finding_is_not_adopted(world: World) -> None:
    finding = world.fact("Pin the toolchain")
    _write(world, _expiring(finding))
    world.clock.advance(seconds=10)

    assert outcome(lambda: world.operator.radar_adopt(ops.AdoptRequest(finding_id=finding.record_id))) == (
        "record.expired"
    )


@pytest.mark.req("REC-6")
def test_the_next_start_tombstones_what_has_expired(world: World) -> None:
    waiting = world.propose("editor", "vim", expires_at=SOON)
    active = world.profile("shell", "zsh", expires_at=SOON)
    episode = world.episode(expires_at=SOON)
    lasting = world.profile("pager", "less")
    world.clock.advance(seconds=10)

    world.restart()

    for record in (waiting, active, episode):
        swept = world.record(record)
        assert (swept.state, swept.state_reason) == (State.TOMBSTONED, StateReason.EXPIRED)
        event = world.operator.history(record.record_id)[-1]
        assert (event.move, event.actor, event.at) == (Move.EXPIRE, "daemon", SOON)
    assert world.record(lasting).state is State.ACTIVE
    assert world.stored() == replayed(world.histories())


def test_a_sweep_takes_any_number(world: World) -> None:
    candidates = [fact(f"Fact {number} is so", scope=WORKSPACE, expires_at=SOON) for number in range(1_203)]
    _write(world, *(proposed(candidate) for candidate in candidates))
    world.clock.advance(seconds=10)

    world.restart()

    counts = world.operator.status().counts
    assert counts == {(candidates[0].layer, State.TOMBSTONED): 1_203}


@pytest.mark.req("REC-6")
def test_a_time_finer_than_a_millisecond_is_cut_before_it_is_answered(world: World) -> None:
    finer = SOON + timedelta(microseconds=1_999)

    made = [world.propose(expires_at=finer), world.episode(expires_at=finer)]

    assert [record.expires_at for record in made] == [SOON + timedelta(milliseconds=1)] * 2
    assert [world.record(record) for record in made] == made


@pytest.mark.req("REC-8")
@pytest.mark.parametrize("kind", [Kind.RUN_SUMMARY, Kind.FACT, Kind.SCRATCH])
def test_only_kinds_of_episodes_are_appended(world: World, kind: Kind) -> None:
    before = world.tables()

    assert outcome(lambda: world.episode(kind=kind)) == "episode.kind"
    assert world.tables() == before


def _inbox(world: World) -> list[str]:
    return [item.record.record_id for item in world.operator.review_list(ops.ReviewRequest()).items]


def _would(world: World, record: Record) -> Any:
    items = world.operator.review_list(ops.ReviewRequest()).items
    return next(item.outcome for item in items if item.record.record_id == record.record_id)


def _write(world: World, *changes: RecordChange) -> None:
    with world.parts.store.transaction() as tx:
        tx.write(changes)


def _write_active(world: World, summary: str, **fields: Any) -> Record:
    """A fact with an expiry, which no operation makes yet."""
    proposal = proposed(fact(summary, scope=WORKSPACE, **fields))
    _write(world, proposal, changed(proposal.record, Move.CONFIRM, publish_tier=PublishTier.ACTIVE))
    return world.record(proposal.record)


def _expiring(record: Record) -> RecordChange:
    return changed(record, expires_at=SOON)
