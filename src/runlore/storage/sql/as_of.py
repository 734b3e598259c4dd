"""Lists as they were at a past moment.

What has not moved since is as it is now; only what has moved is replayed from its events. A record's place in
a list is that of its beginning, which no move changes, so the list is walked in its order and stops early.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from runlore.domain import audit
from runlore.domain.record import Record, RecordId
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.ports.store import RecordFilter
from runlore.storage.sql import filters, listing, record_queries
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.session import IN_LIST_MAX, Row, SqlSession

_CANDIDATES_MIN = 64
_EXISTED = (
    "EXISTS (SELECT 1 FROM record_events e"
    " WHERE e.record_id = records.record_id AND e.revision = 1 AND e.at_ms <= ?)"
)


def page_as_of(
    session: SqlSession,
    where: RecordFilter,
    moment: datetime,
    *,
    limit: int,
    before: tuple[datetime, RecordId] | None,
) -> tuple[Record, ...]:
    """A page as it would have been answered at a moment."""
    page: list[Record] = []
    while len(page) < limit:
        wanted = min(max(limit - len(page), _CANDIDATES_MIN), IN_LIST_MAX)
        candidates = _candidates(session, where, moment, before=before, limit=wanted)
        page.extend(_then(session, where, moment, candidates))
        if len(candidates) < wanted:
            break
        before = (from_milliseconds(candidates[-1][1]), RecordId(candidates[-1][0]))
    return tuple(page[:limit])


def _candidates(
    session: SqlSession,
    where: RecordFilter,
    moment: datetime,
    *,
    before: tuple[datetime, RecordId] | None,
    limit: int,
) -> list[Row]:
    """Ids with their place and whether they have moved: all that can be on the page, in its order."""
    moment_ms = to_milliseconds(moment)
    still = Condition().also("moved_at_ms <= ?", moment_ms)
    moved = Condition().also("moved_at_ms > ?", moment_ms).also(_EXISTED, moment_ms)
    walks = [
        listing.walk(part, limit=limit, before=before, also=still, more=", 0 AS has_moved")
        for part in filters.walks(where)
    ]
    # What has moved may have been anything then, so it is asked for without a filter.
    walks.append(listing.sorted_walk(moved, limit=limit, before=before, more=", 1 AS has_moved"))
    merged = listing.merge_walks(walks, limit=limit)
    return session.rows(merged.sql, merged.parameters)


def _then(
    session: SqlSession, where: RecordFilter, moment: datetime, candidates: Sequence[Row]
) -> Iterator[Record]:
    histories = record_queries.histories_by_id(session, [RecordId(row[0]) for row in candidates if row[2]])
    records = record_queries.records_by_id(session, [RecordId(row[0]) for row in candidates if not row[2]])
    for row in candidates:
        record_id = RecordId(row[0])
        if record_id in histories:
            replayed = audit.as_of(histories[record_id], moment)
            if replayed is not None and where.admits(replayed):
                yield replayed
        elif record_id in records:
            yield records[record_id]
