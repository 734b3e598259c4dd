"""Reading records and histories by their ids or by a condition.

A record is read as its events from its last base on, so there is no second copy that could differ.
"""

from collections.abc import Iterable, Iterator, Sequence

from runlore.domain.record import Record, RecordId
from runlore.domain.records.audit import RecordEvent
from runlore.domain.text.storable import is_storable
from runlore.storage.sql.record_rows import EVENT_COLUMNS, read_full_histories, read_histories, read_records
from runlore.storage.sql.session import IN_LIST_MAX, SqlSession, SqlValue, chunks, in_list

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
