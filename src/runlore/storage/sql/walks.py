"""Walks through records in the order of a list, newest first, which stop early."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias

from runlore.domain.lazy import dataclass
from runlore.domain.record import RecordId
from runlore.domain.timestamps import to_milliseconds
from runlore.ports.store import RecordFilter
from runlore.storage.sql import filters
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.session import SqlValue

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
