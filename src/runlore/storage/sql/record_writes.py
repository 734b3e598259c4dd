"""Writing changes with their events, and whole histories, and erasing what forgotten records said.

Nothing here commits. An error leaves the transaction unfit to be committed, which its owner sees to.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TypeAlias

from runlore.domain.batches import into_batches
from runlore.domain.errors import Conflict, Invalid, NotFound
from runlore.domain.lazy import dataclass
from runlore.domain.record import Record, RecordId, State
from runlore.domain.records import contracts
from runlore.domain.records.audit import RecordChange, RecordEvent
from runlore.domain.serialization.codec import Plain
from runlore.domain.timestamps import to_milliseconds
from runlore.storage.sql.record_rows import (
    BODY,
    CHECKSUM,
    EVENT_COLUMNS,
    MOVING_COLUMNS,
    STEADY_COLUMNS,
    base_of,
    event_row,
    event_values,
    is_base,
    moving_values,
    read_event,
    steady_values,
    to_json,
)
from runlore.storage.sql.session import (
    IN_LIST_MAX,
    Parameters,
    Row,
    SqlSession,
    SqlStatement,
    in_list,
)

History: TypeAlias = tuple[Record, Sequence[RecordEvent]]

# Changes are written in pieces, so that any number of them needs little memory and notices a full disk.
PIECE_CHANGES = 1_000

_INSERT_COLUMNS = ("record_id", *MOVING_COLUMNS, "moved_at_ms", "base_revision", *STEADY_COLUMNS)
_INSERT = (
    f"INSERT INTO records ({', '.join(_INSERT_COLUMNS)}, change)"
    f" VALUES ({in_list(_INSERT_COLUMNS)}, {{change}}) ON CONFLICT DO NOTHING"
)
_MOVE = (
    f"{', '.join(f'{column} = ?' for column in MOVING_COLUMNS)},"
    " moved_at_ms = CASE WHEN moved_at_ms > ? THEN moved_at_ms ELSE ? END,"
    " base_revision = COALESCE(?, base_revision), change = {change}"
    " WHERE record_id = ? AND revision = ?"
)
_UPDATE = f"UPDATE records SET {_MOVE}"
_UPDATE_ALL = f"UPDATE records SET {', '.join(f'{column} = ?' for column in STEADY_COLUMNS)}, {_MOVE}"
# A conflict here comes with one on the record, which is the one that is told.
_INSERT_EVENT = (
    f"INSERT INTO record_events ({', '.join(EVENT_COLUMNS)}) VALUES ({in_list(EVENT_COLUMNS)})"
    " ON CONFLICT DO NOTHING"
)
_INSERT_SOURCE = "INSERT INTO record_sources (source_id, record_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
# Numbers of transactions that run at once may come in any order.
_DEPART = (
    "INSERT INTO scope_departures (scope_kind, scope_id, change) VALUES (?, ?, {change})"
    " ON CONFLICT (scope_kind, scope_id) DO UPDATE SET change = CASE"
    " WHEN scope_departures.change > excluded.change THEN scope_departures.change ELSE excluded.change END"
)
_DELETE_SOURCE = "DELETE FROM record_sources WHERE source_id = ? AND record_id = ?"
_LATEST = (
    "SELECT r.record_id, r.revision, e.checksum FROM records r"
    " JOIN record_events e ON e.record_id = r.record_id AND e.revision = r.revision"
    " WHERE r.record_id IN ({ids})"
)
_STORED = f"SELECT {', '.join(EVENT_COLUMNS)} FROM record_events WHERE record_id = ? ORDER BY revision"
_ERASE = (
    "UPDATE record_events SET checksum = ?, actor = ?, reason = ?, changes = ?, body = ?"
    " WHERE record_id = ? AND revision = ?"
)


def write(session: SqlSession, changes: Iterable[RecordChange]) -> None:
    for piece in into_batches(changes, PIECE_CHANGES):
        for change in piece:
            contracts.check_record(change.record)
        session.make_room(freeing=all(change.record.state is State.TOMBSTONED for change in piece))
        _write_piece(session, piece)


def load(session: SqlSession, histories: Iterable[History]) -> None:
    for piece in into_batches(histories, PIECE_CHANGES):
        for history in piece:
            _check_history(*history)
        session.make_room(freeing=False)
        _load_piece(session, piece)


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What a write wanted of one record: where it had to be (0: nowhere), and where it would be now."""

    record_id: RecordId
    expected: int
    revision: int
    checksum: str


@dataclass(frozen=True, kw_only=True)
class _RecordWrite:
    """What a piece does to one record: all its changes in their order, told by the first and the last."""

    first: RecordChange
    last: RecordChange
    moved_at_ms: int
    base_revision: int | None

    def then(self, change: RecordChange) -> "_RecordWrite":
        record = change.record
        if record.revision != self.last.record.revision + 1:
            raise revision_conflict(
                record.record_id, expected=record.revision - 1, found=self.last.record.revision
            )
        return _RecordWrite(
            first=self.first,
            last=change,
            moved_at_ms=max(self.moved_at_ms, to_milliseconds(change.event.at)),
            base_revision=record.revision if is_base(record.revision) else self.base_revision,
        )

    @property
    def expected(self) -> int:
        """What the record's revision has to be; 0 when there must be no such record."""
        return self.first.record.revision - 1

    def insert_values(self) -> Parameters:
        return _insert_values(self.last.record, self.moved_at_ms)

    def update_values(self) -> Parameters:
        record = self.last.record
        moved = (self.moved_at_ms, self.moved_at_ms, self.base_revision)
        return (*moving_values(record), *moved, record.record_id, self.expected)

    def update_all_values(self) -> Parameters:
        return (*steady_values(self.last.record), *self.update_values())

    def is_steady(self) -> bool:
        """Whether all that `STEADY_COLUMNS` are made from is as it was."""
        before, after = self.first.before, self.last.record
        return before is not None and _steady(before) == _steady(after)

    def expectation(self) -> Expectation:
        return Expectation(
            record_id=self.last.record.record_id,
            expected=self.expected,
            revision=self.last.record.revision,
            checksum=str(event_values(self.last)[CHECKSUM]),
        )


def _write_piece(session: SqlSession, piece: Sequence[RecordChange]) -> None:
    steps = _steps(piece)
    old = [step for step in steps if step.expected]
    number = session.dialect.change
    statements = (
        (_with_change(_INSERT, number), [step.insert_values() for step in steps if not step.expected]),
        (_with_change(_UPDATE, number), [step.update_values() for step in old if step.is_steady()]),
        (
            _with_change(_UPDATE_ALL, number),
            [step.update_all_values() for step in old if not step.is_steady()],
        ),
        (_INSERT_EVENT, [event_values(change) for change in piece]),
        *_source_statements(steps),
        (_with_change(_DEPART, number), _departures(steps)),
    )
    counts = session.run(statements)
    if sum(counts[:3]) != len(steps) or counts[3] != len(piece):
        raise find_conflict(session, [step.expectation() for step in steps])


@cache
def _with_change(sql: str, change: str) -> str:
    return sql.format(change=change)


def _steps(piece: Sequence[RecordChange]) -> list[_RecordWrite]:
    steps: dict[RecordId, _RecordWrite] = {}
    for change in piece:
        step = steps.get(change.record.record_id)
        steps[change.record.record_id] = _first_step(change) if step is None else step.then(change)
    return list(steps.values())


def _first_step(change: RecordChange) -> _RecordWrite:
    revision = change.record.revision
    return _RecordWrite(
        first=change,
        last=change,
        moved_at_ms=to_milliseconds(change.event.at),
        base_revision=revision if is_base(revision) else None,
    )


def _steady(record: Record) -> tuple[object, ...]:
    source = record.source
    identity = (record.kind, record.scope, record.proposal, record.semantic_key, source.imported_from)
    return (*identity, source.run_id, source.session_id, record.created_at, record.metadata)


def _source_statements(steps: Sequence[_RecordWrite]) -> tuple[SqlStatement, SqlStatement]:
    """Which records were made from which: as a rule known at the beginning and never changed."""
    gone: list[Parameters] = []
    added: list[Parameters] = []
    for step in steps:
        record_id = step.last.record.record_id
        old = step.first.before.made_from if step.first.before else frozenset()
        new = step.last.record.made_from
        gone.extend((source_id, record_id) for source_id in sorted(old - new))
        added.extend((source_id, record_id) for source_id in sorted(new - old))
    return (_DELETE_SOURCE, gone), (_INSERT_SOURCE, added)


def _departures(steps: Sequence[_RecordWrite]) -> list[Parameters]:
    """The scopes that records are moved out of, in their order: nobody waits for who waits for them."""
    moves = ((step.first.before, step.last.record) for step in steps)
    left = {before.scope for before, after in moves if before is not None and before.scope != after.scope}
    return [(scope.kind.value, scope.id) for scope in sorted(left)]


def _insert_values(record: Record, moved_at_ms: int) -> Parameters:
    moved = (moved_at_ms, base_of(record.revision))
    return (record.record_id, *moving_values(record), *moved, *steady_values(record))


def _load_piece(session: SqlSession, piece: Sequence[History]) -> None:
    events = [list(_event_rows(history)) for _, history in piece]
    statements = (
        (
            _with_change(_INSERT, session.dialect.change),
            [_insert_values(record, _latest_ms(history)) for record, history in piece],
        ),
        (_INSERT_EVENT, [row for rows in events for row in rows]),
        (
            _INSERT_SOURCE,
            [(source_id, record.record_id) for record, _ in piece for source_id in sorted(record.made_from)],
        ),
    )
    if session.run(statements)[0] != len(piece):
        wanted = [
            Expectation(
                record_id=record.record_id,
                expected=0,
                revision=record.revision,
                checksum=str(rows[-1][CHECKSUM]),
            )
            for (record, _), rows in zip(piece, events, strict=True)
        ]
        raise find_conflict(session, wanted)


def _event_rows(events: Sequence[RecordEvent]) -> Iterator[Parameters]:
    plain: Plain = {}
    for event in events:
        plain.update(event.changes)
        body = to_json(plain) if is_base(event.revision) else None
        yield event_row(event, to_json(event.changes), body)


def _latest_ms(events: Sequence[RecordEvent]) -> int:
    return max(to_milliseconds(event.at) for event in events)


def _check_history(record: Record, events: Sequence[RecordEvent]) -> None:
    contracts.check_record(record)
    if [event.revision for event in events] != list(range(1, record.revision + 1)):
        raise Invalid(
            f"record {record.record_id} comes without all of its events",
            code="record.events",
            hint="load a record with its whole history",
        )


def find_conflict(session: SqlSession, wanted: Sequence[Expectation]) -> Conflict:
    """The first record whose revision, or the event that made it, is not what was written."""
    for chunk in into_batches(wanted, IN_LIST_MAX):
        ids = [each.record_id for each in chunk]
        found = {row[0]: row[1:] for row in session.rows(_LATEST.format(ids=in_list(ids)), ids)}
        for each in chunk:
            revision, checksum = found.get(each.record_id, (0, ""))
            if (revision, checksum) != (each.revision, each.checksum):
                return revision_conflict(each.record_id, expected=each.expected, found=revision)
    # The very same changes are there already.
    first = wanted[0]
    return revision_conflict(first.record_id, expected=first.expected, found=first.revision)


def revision_conflict(record_id: RecordId, *, expected: int, found: int) -> Conflict:
    if expected == 0:
        return Conflict(
            f"record {record_id} exists already",
            code="record.exists",
            hint="leave the id out, or import into an empty store",
        )
    was = f"revision {found}" if found else "no such record"
    return Conflict(
        f"record {record_id} has moved: revision {expected} was expected, {was} was found",
        code="record.moved",
        hint="read the record again and decide anew",
    )


def erase_events(session: SqlSession, record_id: RecordId, events: Sequence[RecordEvent]) -> None:
    """Replace stored events by their contentless versions, and the bases that were made from them.

    A row only ever gets shorter, and is overwritten where it stands. A row that grew could push its
    neighbours to another page, and SQLite leaves copies of their texts in the space that they left: in an
    earlier layout, whose rows grew, 1 text in 100 could still be read after it was erased.
    """
    erased = {event.revision: event for event in events}
    plain: Plain = {}
    rows = []
    for stored in session.rows(_STORED, (record_id,)):
        old = read_event(stored)
        event = erased.pop(old.revision, old)
        plain.update(event.changes)
        rows.append(_erasure_row(event, stored, plain))
    if erased:
        raise NotFound(
            f"record {record_id} has no event that made revision {min(erased)}",
            code="record.event-not-found",
            hint="erase the events that its history shows",
        )
    session.make_room(freeing=True)
    session.run([(_ERASE, rows)])


def _erasure_row(event: RecordEvent, stored: Row, plain: Plain) -> Parameters:
    body = None if stored[BODY] is None else to_json(plain)
    row = event_row(event, to_json(event.changes), body)
    return (*row[CHECKSUM:], event.record_id, event.revision)
