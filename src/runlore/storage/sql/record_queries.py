"""Reading records and histories by their ids or by a condition.

A record is read as its events from its last base on, so there is no second copy that could differ.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

from runlore.domain.lazy import dataclass
from runlore.domain.record import Record, RecordId
from runlore.domain.records.audit import RecordEvent
from runlore.domain.text.storable import is_storable
from runlore.domain.timestamps import to_milliseconds
from runlore.ports.store import RecordFilter
from runlore.storage.sql import filters
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.record_rows import EVENT_COLUMNS, read_full_histories, read_histories, read_records
from runlore.storage.sql.session import IN_LIST_MAX, SqlSession, SqlValue, chunks, in_list

NEWEST_FIRST = "created_at_ms DESC, record_id DESC"
Place: TypeAlias = tuple[datetime, RecordId]
_ALL = Condition()


@dataclass(frozen=True, kw_only=True)
class Walk:
    """A query that finds `record_id` and `created_at_ms`, and more where asked, in the order of a list."""

    sql: str
    parameters: tuple[SqlValue, ...]


def walk(
    where: RecordFilter, *, limit: int, before: Place | None, also: Condition = _ALL, more: str = ""
) -> Walk:
    asked = filters.condition(where).and_also(_after(before, "created_at_ms")).and_also(also)
    return _walk(asked, limit=limit, more=more, order=NEWEST_FIRST)


def sorted_walk(asked: Condition, *, limit: int, before: Place | None, more: str = "") -> Walk:
    """What another condition finds, sorted afterwards; the sum keeps databases off the list's index."""
    asked = asked.and_also(_after(before, "created_at_ms + 0"))
    return _walk(asked, limit=limit, more=more, order="created_at_ms + 0 DESC, record_id DESC")


def merge_walks(walks: Sequence[Walk], *, limit: int) -> Walk:
    """Walks that overlap nowhere as one."""
    if len(walks) == 1:
        return walks[0]
    parts = " UNION ALL ".join(
        f"SELECT * FROM ({each.sql}) AS walk{number}" for number, each in enumerate(walks)
    )
    parameters = tuple(value for each in walks for value in each.parameters)
    return Walk(sql=f"{parts} ORDER BY {NEWEST_FIRST} LIMIT ?", parameters=(*parameters, limit))


def _walk(asked: Condition, *, limit: int, more: str, order: str) -> Walk:
    columns = f"record_id, created_at_ms{more}"
    sql = f"SELECT {columns} FROM records WHERE {asked.sql} ORDER BY {order} LIMIT ?"
    return Walk(sql=sql, parameters=(*asked.parameters, limit))


def _after(before: Place | None, created_at_ms: str) -> Condition:
    if before is None:
        return _ALL
    created_at, record_id = before
    return _ALL.also(f"({created_at_ms}, record_id) < (?, ?)", to_milliseconds(created_at), record_id)


_EVENT = ", ".join(f"e.{column}" for column in EVENT_COLUMNS)
_ROWS = f"SELECT {_EVENT}, r.record_id, r.revision FROM"
# LEFT, so that a record whose events are gone is found to be damaged, and not just absent.
_EVENTS = "LEFT JOIN record_events e ON e.record_id = r.record_id AND e.revision >= r.base_revision"


def records_where(
    session: SqlSession, condition: str, parameters: Sequence[SqlValue], *, order: str = "r.record_id"
) -> tuple[Record, ...]:
    sql = f"{_ROWS} records r {_EVENTS} WHERE {condition} ORDER BY {order}, e.revision"
    return tuple(read_records(session.rows(sql, parameters)))


def records_of(
    session: SqlSession, found: str, parameters: Sequence[SqlValue], *, order: str
) -> tuple[Record, ...]:
    """The records whose ids a subquery `f` has found, in an order of its columns."""
    source = f"({found}) f JOIN records r ON r.record_id = f.record_id {_EVENTS}"
    sql = f"{_ROWS} {source} ORDER BY {order}, e.revision"
    return tuple(read_records(session.rows(sql, parameters)))


def records_changed(session: SqlSession, cursor: int) -> Iterator[Record]:
    sql = f"{_ROWS} records r {_EVENTS} WHERE r.change >= ? ORDER BY r.change, r.record_id, e.revision"
    return read_records(session.stream(sql, (cursor,)))


def records_by_id(session: SqlSession, record_ids: Iterable[RecordId]) -> dict[RecordId, Record]:
    wanted = dict.fromkeys(record_ids)
    found: dict[RecordId, Record] = {}
    for chunk in chunks(filter(is_storable, wanted), IN_LIST_MAX):
        records = records_where(session, f"r.record_id IN ({in_list(chunk)})", chunk)
        found.update((record.record_id, record) for record in records)
    return {record_id: found[record_id] for record_id in wanted if record_id in found}


def histories_by_id(
    session: SqlSession, record_ids: Iterable[RecordId]
) -> dict[RecordId, tuple[RecordEvent, ...]]:
    found: dict[RecordId, tuple[RecordEvent, ...]] = {}
    for chunk in chunks(filter(is_storable, dict.fromkeys(record_ids)), IN_LIST_MAX):
        condition = f"e.record_id IN ({in_list(chunk)})"
        sql = f"SELECT {_EVENT} FROM record_events e WHERE {condition} ORDER BY e.record_id, e.revision"
        found.update((history[0].record_id, history) for history in read_histories(session.rows(sql, chunk)))
    return found


def all_histories(session: SqlSession) -> Iterator[tuple[RecordEvent, ...]]:
    join = "r LEFT JOIN record_events e ON e.record_id = r.record_id"
    sql = f"{_ROWS} records {join} ORDER BY r.record_id, e.revision"
    return read_full_histories(session.stream(sql))
