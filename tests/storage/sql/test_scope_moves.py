"""A publication may move a record into another scope and change its kind: all that follows scopes notices.

A stamp stands for what a scope holds: the same stamp is never told of two contents. The reference is a plain
dictionary of records.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from runlore.domain.record import Kind, Layer, Move, Record, RecordId, Sensitivity, State
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.search.ranking import RankFilter
from runlore.ports.store import RecordFilter, Snapshot, Store, StorePosition
from runlore.recall import RankingIndex, Sizes
from tests.builders import ACME, act, changed, fact, preference, proposed
from tests.fakes import START
from tests.storage.places import Place, PostgresPlace, SqlitePlace, changes_since, ids, write

pytestmark = pytest.mark.req("REC-3", "LRN-13", "OPS-4")

SCOPES = (ACME, WORKSPACE, Scope(ScopeKind.SESSION, "s"), Scope(ScopeKind.SESSION, "o'?"))
LIMIT = 1_000
Content = frozenset[tuple[RecordId, int]]


def content(records: list[Record], scope: Scope) -> Content:
    """Which records a scope holds, at which revision."""
    return frozenset((record.record_id, record.revision) for record in records if record.scope == scope)


def looked_at(snapshot: Snapshot, scope: Scope) -> Content:
    """The same, as lists tell it."""
    lines = snapshot.records.lines(RecordFilter(scopes=frozenset({scope})), limit=LIMIT)
    return frozenset((line.record_id, line.revision) for line in lines)


class Movers(RuleBasedStateMachine):
    """Writes to a store and to a dictionary; a follower, a watcher of stamps and an index look on."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.records: dict[RecordId, Record] = {}
        self.at = START
        self.told: dict[tuple[Scope, int], Content] = {}
        self.last: dict[Scope, tuple[int, Content]] = {}
        self.index = RankingIndex(Sizes(tail_documents_max=2, segment_documents_max=4))
        self.position = StorePosition(store_id="", cursor=0)

    @rule(scopes=st.lists(st.sampled_from(SCOPES), min_size=1, max_size=3), likes=st.booleans())
    def propose(self, scopes: list[Scope], likes: bool) -> None:
        """Candidates come in, some of them at once."""
        self.at += timedelta(milliseconds=1)
        build = preference if likes else fact
        changes = [proposed(build(scope=scope, created_at=self.at)) for scope in scopes]
        write(self.store, *changes)
        self.records.update((change.record.record_id, change.record) for change in changes)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), scope=st.sampled_from(SCOPES), made=st.sampled_from((fact(), preference(), None)))
    def publish(self, data: st.DataObject, scope: Scope, made: Record | None) -> None:
        """Some of them are confirmed, elsewhere and as another kind."""
        chosen = data.draw(st.lists(st.sampled_from(self.waiting), min_size=1, max_size=2, unique=True))
        changes = []
        for record_id in chosen:
            record = self.records[record_id]
            names = ("kind", "layer", "metadata", "semantic_key") if made is not None else ()
            other = {name: getattr(made, name) for name in names}
            by = act(at=self.at)
            changes.append(changed(record, Move.CONFIRM, by=by, scope=scope, published_at=self.at, **other))
        write(self.store, *changes)
        self.records.update((change.record.record_id, change.record) for change in changes)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), through=st.sampled_from(SCOPES), to=st.sampled_from(SCOPES))
    def travel(self, data: st.DataObject, through: Scope, to: Scope) -> None:
        """Two moves of one record in one transaction: it never was in the middle for anybody."""
        record = self.records[data.draw(st.sampled_from(self.waiting))]
        first = changed(record, Move.AMEND, by=act(at=self.at), scope=through)
        second = changed(first.record, Move.CONFIRM, by=act(at=self.at), scope=to)
        write(self.store, first, second)
        self.records[record.record_id] = second.record

    @rule()
    def follow(self) -> None:
        """The index finds each record in the scope where it is, and nowhere else."""
        told, self.position = changes_since(self.store, self.position)
        self.index.apply(told)
        for scope in SCOPES:
            for layer in (Layer.SEMANTIC, Layer.PROFILE):
                where = RankFilter(scopes=frozenset({scope}), layers=frozenset({layer}), now=START)
                hits = self.index.search("the codename is editor", where=where, limit=LIMIT).hits
                expected = {
                    record.record_id
                    for record in self.records.values()
                    if record.scope == scope and record.layer is layer
                }
                assert {hit.record_id for hit in hits} == expected

    @rule(scope=st.sampled_from(SCOPES), kind=st.sampled_from((Kind.FACT, Kind.PREFERENCE)))
    def look_up(self, scope: Scope, kind: Kind) -> None:
        """What is looked for by scope and kind is found by those of now."""
        here = [each for each in self.records.values() if each.scope == scope and each.state is State.ACTIVE]
        with self.store.snapshot() as snapshot:
            profile = snapshot.records.active_profile(scope, "EDITOR")
            subject = "codename" if kind is Kind.FACT else "editor"
            found = snapshot.records.matching_subject(scope, kind, subject)
            live = snapshot.records.page(
                RecordFilter(scopes=frozenset({scope}), kinds=frozenset({kind})), limit=LIMIT
            )
        assert set(ids(profile)) == {each.record_id for each in here if each.kind is Kind.PREFERENCE}
        assert set(ids(found)) == {each.record_id for each in here if each.kind is kind}
        assert {each.record_id for each in live} == {
            each.record_id for each in self.records.values() if each.scope == scope and each.kind is kind
        }

    @invariant()
    def a_stamp_stands_for_one_content(self) -> None:
        """And changes only where something came, went or moved."""
        with self.store.snapshot() as snapshot:
            stamps = snapshot.records.stamps(SCOPES)
            for scope in SCOPES:
                assert looked_at(snapshot, scope) == content(list(self.records.values()), scope)
        for scope in SCOPES:
            held = content(list(self.records.values()), scope)
            assert (scope in stamps) == bool(held)
            if scope in stamps:
                stamp = stamps[scope]
                assert stamp is not None
                assert self.told.setdefault((scope, stamp), held) == held
                before = self.last.get(scope)
                assert before is None or (before[0] == stamp) == (before[1] == held)
                self.last[scope] = (stamp, held)

    @property
    def waiting(self) -> list[RecordId]:
        """The candidates, by id."""
        return sorted(each.record_id for each in self.records.values() if each.state is State.CONSTRAINED)

    def teardown(self) -> None:
        """Whatever happened, the store is sound."""
        assert self.store.problems() == ()


@pytest.mark.parametrize("examples", [8, pytest.param(40, marks=pytest.mark.soak)])
def test_lists_stamps_and_the_index_follow_whatever_is_published_elsewhere(
    place: Place, tmp_path: Path, examples: int
) -> None:
    opened: list[Store] = []

    class MoversHere(Movers):
        def __init__(self) -> None:
            opened.append(_empty(place, tmp_path / str(len(opened)), opened))
            super().__init__(opened[-1])

    run_state_machine_as_test(MoversHere, settings=settings(max_examples=examples, stateful_step_count=25))
    opened[-1].close()


def test_a_scope_that_nothing_has_left_keeps_its_stamp_while_others_are_left(store: Store) -> None:
    still, leaving, staying = proposed(fact(scope=ACME)), proposed(fact(scope=SCOPES[2])), proposed(fact())
    write(store, still, leaving, proposed(fact(scope=SCOPES[2])), staying)

    def stamps() -> dict[Scope, int | None]:
        with store.snapshot() as snapshot:
            return snapshot.records.stamps(SCOPES)

    before = stamps()
    write(store, changed(leaving.record, Move.CONFIRM, scope=WORKSPACE))
    after = stamps()

    assert after[ACME] == before[ACME]
    assert after[SCOPES[2]] != before[SCOPES[2]]
    assert after[SCOPES[2]] == after[WORKSPACE]


def test_a_departure_that_commits_late_is_never_hidden_by_an_earlier_stamp(
    postgres_place: PostgresPlace,
) -> None:
    store = postgres_place.open()
    session = SCOPES[2]
    early, late, third = (proposed(fact(scope=session)) for _ in range(3))
    write(store, early, late, third)
    seen: dict[int, Content] = {}

    def look() -> None:
        with store.snapshot() as snapshot:
            stamp = snapshot.records.stamps([session]).get(session)
            if stamp is not None:
                held = looked_at(snapshot, session)
                assert seen.setdefault(stamp, held) == held

    look()
    with store.transaction() as slow:
        # Its number is taken here, before that of the other one.
        slow.write([proposed(fact(scope=WORKSPACE))])
        write(store, changed(late.record, Move.CONFIRM, scope=WORKSPACE))
        look()
        slow.write([changed(early.record, Move.CONFIRM, scope=WORKSPACE)])
        look()
    look()
    with store.snapshot() as snapshot:
        assert snapshot.records.stamps([session])[session] is not None
        assert looked_at(snapshot, session) == {(third.record.record_id, 1)}
    assert len(seen) == 2


def test_stamps_stand_for_one_content_while_many_publish_at_once(store: Store) -> None:
    candidates = [[proposed(fact(scope=SCOPES[2 + number % 2])) for _ in range(20)] for number in range(4)]
    write(store, *(change for each in candidates for change in each))
    done = threading.Event()
    told: dict[tuple[Scope, int], Content] = {}

    def watch() -> int:
        looks = 0
        while not done.is_set() or looks == 0:
            with store.snapshot() as snapshot:
                stamps = snapshot.records.stamps(SCOPES)
                for scope, stamp in stamps.items():
                    if stamp is not None:
                        held = looked_at(snapshot, scope)
                        assert told.setdefault((scope, stamp), held) == held
            looks += 1
        return looks

    def publish(number: int) -> None:
        for turn, change in enumerate(candidates[number]):
            to = SCOPES[(number + turn) % 4]
            write(store, changed(change.record, Move.CONFIRM, scope=to))

    with ThreadPoolExecutor(6) as pool:
        watcher = pool.submit(watch)
        for work in [pool.submit(publish, number) for number in range(4)]:
            work.result()
        done.set()
        assert watcher.result() > 0

    with store.snapshot() as snapshot:
        for scope, stamp in snapshot.records.stamps(SCOPES).items():
            assert stamp is not None
            held = looked_at(snapshot, scope)
            assert told.get((scope, stamp), held) == held


def test_what_was_published_elsewhere_is_listed_where_it_was_then(store: Store) -> None:
    session, second = SCOPES[2], timedelta(seconds=1)
    candidate = proposed(preference(scope=session, sensitivity=Sensitivity.NORMAL))
    write(store, candidate)
    made = fact(scope=WORKSPACE)
    elsewhere = {name: getattr(made, name) for name in ("kind", "layer", "metadata", "scope", "semantic_key")}
    by = act(at=START + second)
    write(store, changed(candidate.record, Move.CONFIRM, by=by, published_at=by.at, **elsewhere))

    def listed(seconds: int, **asked: object) -> list[RecordId]:
        where = RecordFilter(**asked)  # type: ignore[arg-type]
        with store.snapshot() as snapshot:
            return ids(snapshot.records.page_as_of(where, START + seconds * second, limit=9))

    here, there = frozenset({session}), frozenset({WORKSPACE})
    one = [candidate.record.record_id]
    assert listed(0, scopes=here, layers=frozenset({Layer.PROFILE})) == one
    assert listed(0, scopes=there) == listed(0, published=True) == []
    assert listed(1, scopes=there, kinds=frozenset({Kind.FACT}), published=True) == one
    assert listed(1, scopes=here) == listed(1, kinds=frozenset({Kind.PREFERENCE})) == []


def _empty(place: Place, root: Path, opened: list[Store]) -> Store:
    if isinstance(place, PostgresPlace):
        store = opened[0] if opened else place.open()
        place.sql("TRUNCATE records, record_events, record_sources, scope_departures, answers")
        return store
    if opened:
        opened[-1].close()
    return SqlitePlace(root).open()
