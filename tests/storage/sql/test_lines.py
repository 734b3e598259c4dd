"""Lists without content say the same as lists with it, on both databases."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from runlore.domain.record import Kind, Layer, Move, Record, State
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.ports.store import RecordFilter, RecordLine, Store
from tests.builders import appended, changed, confirmed, episode, fact, preference, procedure, proposed
from tests.fakes import START

pytestmark = pytest.mark.req("PRJ-4", "OPS-4")

SCOPES = (WORKSPACE, Scope(ScopeKind.PROJECT, "acme"), Scope(ScopeKind.SESSION, "talk"))
NOW = START + timedelta(minutes=5)


@pytest.fixture
def records(store: Store) -> list[Record]:
    """Something of everything."""
    chance = Random(3)
    made: list[Record] = []
    with store.transaction() as tx:
        for number in range(60):
            made_up = chance.choice([fact(), preference(), procedure(), episode()])
            record = replace(
                made_up,
                scope=chance.choice(SCOPES),
                created_at=START + timedelta(seconds=chance.randrange(30)),
                expires_at=chance.choice([None, NOW, NOW + timedelta(milliseconds=1)]),
            )
            is_episode = record.layer is Layer.EPISODIC
            changes = [appended(record) if is_episode else proposed(record)]
            if not is_episode and number % 3:
                changes.append(confirmed(changes[0].record))
            tx.write(changes)
            made.append(changes[-1].record)
    return made


@pytest.mark.parametrize("now", [None, NOW])
@pytest.mark.parametrize("scopes", [None, frozenset(SCOPES[:2]), frozenset(SCOPES[2:]), frozenset()])
@pytest.mark.parametrize("states", [None, frozenset({State.ACTIVE})])
@pytest.mark.usefixtures("records")
@pytest.mark.sampled(every=3)
def test_lines_are_the_page_without_its_content(
    store: Store, now: object, scopes: frozenset[Scope] | None, states: frozenset[State] | None
) -> None:
    kinds = frozenset({Kind.FACT, Kind.SCAN, Kind.PREFERENCE})
    for asked in (None, kinds):
        where = RecordFilter(kinds=asked, states=states, scopes=scopes, now=NOW if now else None)
        with store.snapshot() as snapshot:
            for limit in (0, 1, 7, 100):
                page = snapshot.records.page(where, limit=limit)
                assert snapshot.records.lines(where, limit=limit) == tuple(map(_line, page))
            assert snapshot.records.count_lines(where) == len(page)
            for number, last in enumerate(page, start=1):
                place = (last.created_at, last.record_id)
                rest = snapshot.records.lines(where, limit=100, before=place)
                assert rest == tuple(map(_line, page[number:]))


def test_a_superseded_record_is_told_as_replaced(store: Store, records: list[Record]) -> None:
    old, new = [record for record in records if record.state is State.ACTIVE and record.kind is Kind.FACT][:2]
    replaced = changed(old, Move.SUPERSEDE, superseded_by=new.record_id).record
    with store.transaction() as tx:
        tx.write([changed(old, Move.SUPERSEDE, superseded_by=new.record_id)])

    with store.snapshot() as snapshot:
        lines = {line.record_id: line for line in snapshot.records.lines(RecordFilter(), limit=100)}

    assert lines[old.record_id] == _line(replaced)
    assert [line.record_id for line in lines.values() if line.is_replaced] == [old.record_id]


def test_a_scope_has_another_stamp_exactly_when_one_of_its_records_has_changed(
    store: Store, records: list[Record]
) -> None:
    unused = Scope(ScopeKind.PROJECT, "nobody")
    scopes = [*sorted({record.scope for record in records}), unused]

    def stamps() -> dict[Scope, int | None]:
        with store.snapshot() as snapshot:
            return snapshot.records.stamps(scopes)

    before = stamps()
    assert set(before) == set(scopes[:-1])
    assert None not in before.values()
    assert stamps() == before
    live = next(each for each in records if each.state is State.ACTIVE and each.kind is Kind.FACT)
    with store.transaction() as tx:
        tx.write([changed(live, Move.REVOKE)])
    after = stamps()
    assert {scope for scope in after if after[scope] != before[scope]} == {live.scope}
    with store.snapshot() as snapshot:
        assert snapshot.records.stamps([]) == {}
        many = [Scope(ScopeKind.PROJECT, f"p{number}") for number in range(250)]
        assert snapshot.records.stamps([*many, *scopes]) == after


def _line(record: Record) -> RecordLine:
    is_live = record.state in {State.ACTIVE, State.CONSTRAINED}
    return RecordLine(
        record_id=record.record_id,
        revision=record.revision,
        kind=record.kind,
        state=record.state,
        scope=record.scope,
        created_at=record.created_at,
        due_at=record.expires_at if is_live else None,
        is_replaced=record.superseded_by is not None,
    )
