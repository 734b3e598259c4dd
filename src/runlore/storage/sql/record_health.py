"""Whether every record's events are as they were written, and its row is what they lead to."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import orjson

from runlore.domain.audit import RecordEvent, replay
from runlore.domain.codec import Plain
from runlore.domain.errors import RunloreError
from runlore.domain.record import Record
from runlore.domain.timestamps import to_milliseconds
from runlore.storage.sql.record_rows import (
    BODY,
    EVENT_COLUMNS,
    MOVING_COLUMNS,
    STEADY_COLUMNS,
    base_of,
    is_base,
    moving_values,
    read_event,
    steady_values,
)
from runlore.storage.sql.session import Row, SqlSession, SqlValue

_LOOKED_UP = ("record_id", *MOVING_COLUMNS, "moved_at_ms", "base_revision", *STEADY_COLUMNS)
_WIDTH = len(_LOOKED_UP)
_SELECTED = ", ".join([*(f"r.{name}" for name in _LOOKED_UP), *(f"e.{name}" for name in EVENT_COLUMNS)])
# LEFT, so that a record without any event is seen.
_ALL = (
    f"SELECT {_SELECTED} FROM records r LEFT JOIN record_events e ON e.record_id = r.record_id"
    " ORDER BY r.record_id, e.revision"
)
_SOURCES = "SELECT record_id, source_id FROM record_sources ORDER BY record_id, source_id"


def problems(session: SqlSession) -> Iterator[str]:
    """What is wrong with the records, one history at a time."""
    sources = _Sources(session.stream(_SOURCES))
    for record_id, rows in groupby(session.stream(_ALL), key=itemgetter(0)):
        yield from _of_record(list(rows), sources.of(record_id))


class _Sources:
    """What each record was made from, read along with the records."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._groups = groupby(rows, key=itemgetter(0))
        self._next: tuple[str, set[str]] | None = None
        self._advance()

    def of(self, record_id: str) -> set[str]:
        """The sources of a record; records are asked for in their order."""
        while self._next is not None and self._next[0] < record_id:
            self._advance()
        return self._next[1] if self._next is not None and self._next[0] == record_id else set()

    def _advance(self) -> None:
        found = next(self._groups, None)
        self._next = None if found is None else (found[0], {row[1] for row in found[1]})


def _of_record(rows: Sequence[Row], sources: set[str]) -> Iterator[str]:
    looked_up = rows[0][:_WIDTH]
    events: list[RecordEvent] = []
    damaged = [_event(row[_WIDTH:], events) for row in rows if row[_WIDTH] is not None]
    yield from filter(None, damaged)
    if any(damaged):
        return
    if not events:
        yield f"record {looked_up[0]} has no events"
        return
    try:
        record = replay(events)
    except RunloreError as error:
        yield error.sentence
        return
    yield from _differences(looked_up, record, events)
    if sources != record.made_from:
        yield f"record {record.record_id}: what it was made from does not agree with its events"
    yield from _bases(rows, events)


def _event(row: Row, events: list[RecordEvent]) -> str:
    """Read an event into a list, or tell what is wrong with it."""
    try:
        events.append(read_event(row))
    except RunloreError as error:
        return error.sentence
    return ""


def _differences(looked_up: Row, record: Record, events: Sequence[RecordEvent]) -> Iterator[str]:
    times = (max(to_milliseconds(event.at) for event in events), base_of(record.revision))
    expected: tuple[SqlValue, ...] = (
        record.record_id,
        *moving_values(record),
        *times,
        *steady_values(record),
    )
    names = [
        name for name, found, right in zip(_LOOKED_UP, looked_up, expected, strict=True) if found != right
    ]
    if names:
        yield f"record {looked_up[0]}: {', '.join(names)} in its row do not agree with its events"


def _bases(rows: Sequence[Row], events: Sequence[RecordEvent]) -> Iterator[str]:
    plain: Plain = {}
    for row, event in zip(rows, events, strict=True):
        plain.update(event.changes)
        body = row[_WIDTH + BODY]
        if (body is not None) != is_base(event.revision) or (body and orjson.loads(body) != plain):
            yield (
                f"record {event.record_id}: the copy kept at revision {event.revision} is not what its"
                " events lead to"
            )
