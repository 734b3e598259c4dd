"""Lists: their order, their filters, their places, and how they were in the past."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import product

import pytest

from runlore.domain.record import (
    Kind,
    Layer,
    Move,
    PolicyDecision,
    Proposal,
    PublishTier,
    Record,
    RecordId,
    State,
)
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.ports.store import RecordFilter, Store
from tests.builders import (
    ACME,
    act,
    appended,
    changed,
    confirmed,
    episode,
    fact,
    preference,
    procedure,
    proposed,
)
from tests.fakes import START
from tests.storage.places import ids, write

SECOND = timedelta(seconds=1)
ALL = RecordFilter()


def _page(store: Store, where: RecordFilter = ALL, *, limit: int = 100) -> list[RecordId]:
    with store.snapshot() as snapshot:
        return ids(snapshot.records.page(where, limit=limit))


@pytest.mark.req("REC-9")
def test_a_list_has_the_newest_first_and_then_the_greater_id(store: Store) -> None:
    records = [fact(created_at=START + number // 2 * SECOND) for number in range(6)]
    write(
        store,
        *(proposed(record) for record in (records[3], records[0], records[5], *records[1:3], records[4])),
    )

    assert _page(store) == [records[number].record_id for number in (5, 4, 3, 2, 1, 0)]


@pytest.mark.req("REC-9")
def test_pages_follow_each_other_without_a_gap_or_a_repetition(store: Store) -> None:
    records = [fact(created_at=START + number // 3 * SECOND) for number in range(50)]
    write(store, *(proposed(record) for record in records))

    walked: list[Record] = []
    with store.snapshot() as snapshot:
        while page := snapshot.records.page(
            ALL, limit=7, before=(walked[-1].created_at, walked[-1].record_id) if walked else None
        ):
            assert len(page) <= 7
            walked.extend(page)

    assert ids(walked) == [record.record_id for record in reversed(records)]


@pytest.mark.req("REC-1", "REC-3", "SCO-1")
def test_each_filter_leaves_out_what_it_does_not_ask_for(store: Store) -> None:
    persona = Scope(ScopeKind.PERSONA, "ann")
    waiting = fact()
    dedup = procedure(proposal=Proposal.DEDUP, scope=WORKSPACE)
    taste = preference(scope=persona)
    scanned = episode(scope=Scope(ScopeKind.PROJECT, "other"))
    write(store, proposed(waiting), proposed(dedup), proposed(taste), appended(scanned))
    write(store, confirmed(proposed(taste).record))

    def asked(**fields: object) -> set[RecordId]:
        return set(_page(store, RecordFilter(**fields)))  # type: ignore[arg-type]

    assert asked(layers=frozenset({Layer.SEMANTIC, Layer.PROFILE})) == {waiting.record_id, taste.record_id}
    assert asked(kinds=frozenset({Kind.SCAN})) == {scanned.record_id}
    assert asked(states=frozenset({State.ACTIVE})) == {taste.record_id, scanned.record_id}
    assert asked(proposals=frozenset({Proposal.DEDUP, Proposal.RADAR})) == {dedup.record_id}
    assert asked(scopes=frozenset({ACME, persona})) == {waiting.record_id, taste.record_id}
    assert asked(scopes=frozenset({WORKSPACE})) == {dedup.record_id}
    assert asked(scope_kinds=frozenset({ScopeKind.PROJECT})) == {waiting.record_id, scanned.record_id}
    assert asked(scope_kinds=frozenset({ScopeKind.PERSONA}), scopes=frozenset({ACME})) == set()
    assert asked(scope_kinds=frozenset()) == set()
    assert asked(scopes=frozenset({ACME}), states=frozenset({State.ACTIVE})) == set()
    assert asked(layers=frozenset()) == set()


@pytest.mark.req("SCO-1")
def test_any_number_of_scopes_can_be_asked_for_at_once(store: Store) -> None:
    scopes = [Scope(ScopeKind.PROJECT, f"p{number}") for number in range(100)]
    records = [fact(scope=scope, created_at=START + number * SECOND) for number, scope in enumerate(scopes)]
    write(store, *(proposed(record) for record in records), proposed(fact(scope=WORKSPACE)))
    newest = [record.record_id for record in reversed(records)]

    assert _page(store, RecordFilter(scopes=frozenset(scopes[:5])), limit=3) == newest[95:98]
    assert _page(store, RecordFilter(scopes=frozenset({*scopes, ACME}))) == newest


@pytest.mark.req("LRN-11")
def test_live_records_leave_a_list_at_the_millisecond_they_expire(store: Store) -> None:
    expiring, rejected = fact(expires_at=START + SECOND), fact(expires_at=START + SECOND)
    write(store, proposed(expiring), proposed(rejected))
    write(store, changed(proposed(rejected).record, Move.REJECT))
    just_before = START + SECOND - timedelta(milliseconds=1)

    assert set(_page(store, RecordFilter(now=just_before))) == {expiring.record_id, rejected.record_id}
    assert _page(store, RecordFilter(now=START + SECOND)) == [rejected.record_id]
    assert set(_page(store)) == {expiring.record_id, rejected.record_id}


@pytest.mark.req("PRJ-5", "LRN-9")
@pytest.mark.parametrize("published", [False, True])
def test_what_was_decided_on_learnings_can_be_asked_for_and_names_ignore_case(
    store: Store, published: bool
) -> None:
    names = (None, "Ada", "ada lovelace", "Straße")
    learnings: list[Record] = []
    for tier, decision, actor, rule in product((None, *PublishTier), (None, *PolicyDecision), names, names):
        change = proposed(fact())
        review = None if rule is None else {"rule": rule}
        decided = changed(
            change.record,
            Move.CONFIRM,
            publish_tier=tier,
            policy_decision=decision,
            policy_actor=actor,
            automation_review=review,
            published_at=None if tier is None else START,
        )
        write(store, change, decided)
        learnings.append(decided.record)

    def check(found: Iterable[Record], **fields: object) -> None:
        where = RecordFilter(published=published, **fields)  # type: ignore[arg-type]
        expected = {each.record_id for each in found if each.published_at or not published}
        with store.snapshot() as snapshot:
            assert set(ids(snapshot.records.page(where, limit=999))) == expected
            assert set(ids(snapshot.records.page_as_of(where, START + SECOND, limit=999))) == expected
            assert {line.record_id for line in snapshot.records.lines(where, limit=999)} == expected
            assert snapshot.records.count_lines(where) == len(expected)

    check(learnings)
    for tiers in (frozenset(PublishTier), frozenset({PublishTier.PROVISIONAL})):
        check((each for each in learnings if each.publish_tier in tiers), tiers=tiers)
    some = frozenset({PolicyDecision.AUTOMATIC, PolicyDecision.ESCALATED})
    check((each for each in learnings if each.policy_decision in some), decisions=some)
    for asked, name in (("ADA", "Ada"), ("strasse", "Straße"), ("Ada Lovelace", "ada lovelace"), ("", "?")):
        check((each for each in learnings if each.policy_actor == name), actor=asked)
        check((each for each in learnings if each.automation_review == {"rule": name}), rule=asked)


@pytest.mark.req("LRN-13")
def test_what_is_to_be_looked_at_again_is_active_due_and_not_expired_the_earliest_first(store: Store) -> None:
    moments = (None, START, START + SECOND, START + 2 * SECOND, START + 3 * SECOND)
    learnings: list[Record] = []
    for number, (due, expires, scope) in enumerate(product(moments, moments, (ACME, WORKSPACE))):
        change = proposed(fact(revalidate_at=due, expires_at=expires, scope=scope))
        write(store, change)
        learnings.append(change.record)
        for move in ((), (Move.CONFIRM,), (Move.CONFIRM, Move.REVOKE))[number % 3]:
            change = changed(learnings[-1], move)
            write(store, change)
            learnings[-1] = change.record

    for now, scopes in product(
        (START + n * SECOND for n in range(4)), (None, frozenset({ACME}), frozenset())
    ):
        with store.snapshot() as snapshot:
            found = snapshot.records.revalidation_due(now, scopes=scopes, limit=100)
            some = snapshot.records.revalidation_due(now, scopes=scopes, limit=3)
        waiting = [
            (each.revalidate_at, each.record_id, each)
            for each in learnings
            if each.state is State.ACTIVE and each.revalidate_at is not None and each.revalidate_at <= now
            if each.expires_at is None or each.expires_at > now
            if scopes is None or each.scope in scopes
        ]
        assert list(found) == [record for *_, record in sorted(waiting)]
        assert some == found[:3]


@pytest.mark.req("REC-9")
def test_a_list_of_the_past_shows_what_was_there_as_it_was(store: Store) -> None:
    early, late = proposed(fact("The codename is Atlas")), proposed(fact(created_at=START + 5 * SECOND))
    write(store, early, late)
    renamed = changed(early.record, by=act(at=START + 2 * SECOND), summary="The codename is Nova")
    write(store, renamed)
    write(store, confirmed(renamed.record, at=START + 4 * SECOND))

    def then(seconds: int, where: RecordFilter = ALL) -> list[tuple[str, State]]:
        with store.snapshot() as snapshot:
            page = snapshot.records.page_as_of(where, START + seconds * SECOND, limit=10)
        return [(record.summary, record.state) for record in page]

    assert then(-1) == []
    assert then(0) == [("The codename is Atlas", State.CONSTRAINED)]
    assert then(2) == then(3) == [("The codename is Nova", State.CONSTRAINED)]
    assert then(4) == [("The codename is Nova", State.ACTIVE)]
    assert then(3, RecordFilter(states=frozenset({State.ACTIVE}))) == []
    assert then(4, RecordFilter(states=frozenset({State.CONSTRAINED}))) == []
    assert [state for _, state in then(9)] == [State.CONSTRAINED, State.ACTIVE]


@pytest.mark.req("REC-9")
def test_pages_of_the_past_follow_each_other(store: Store) -> None:
    records = [proposed(fact(created_at=START + number * SECOND)) for number in range(300)]
    write(store, *records)
    moment = START + 400 * SECOND
    write(store, *(confirmed(change.record, at=moment + SECOND) for change in records[::2]))

    walked: list[Record] = []
    with store.snapshot() as snapshot:
        while page := snapshot.records.page_as_of(
            RecordFilter(states=frozenset({State.CONSTRAINED})),
            moment,
            limit=90,
            before=(walked[-1].created_at, walked[-1].record_id) if walked else None,
        ):
            walked.extend(page)

    assert walked == [change.record for change in reversed(records)]


@pytest.mark.req("REC-9")
def test_what_moved_since_a_moment_is_told_even_when_the_clock_went_back(store: Store) -> None:
    still, moved = proposed(fact()), proposed(fact(created_at=START + 9 * SECOND))
    write(store, still, moved)
    write(store, confirmed(moved.record, at=START + SECOND))

    with store.snapshot() as snapshot:
        assert snapshot.records.moved_since(START + 5 * SECOND) == (moved.record.record_id,)
        assert snapshot.records.moved_since(START + 9 * SECOND) == ()
