"""The audit feed, read from where each act is kept: there is no second copy that could differ."""

from datetime import datetime
from heapq import merge
from itertools import islice

from runlore.domain.audit_feed import AuditEvent, AuditKind, AuditPlace
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql.columns import UNREADABLE, damage_error
from runlore.storage.sql.session import Row, SqlCollection

# For each kind, and where it stands. Each has an index by time, or is small.
_SOURCES = {
    AuditKind.BINDING: (
        "SELECT at_ms, session_id, number, 'bind', '', '' FROM journal WHERE type = 'binding' AND"
    ),
    AuditKind.POLICY: "SELECT at_ms, name, revision, 'put', actor, '' FROM policies WHERE",
    AuditKind.RECORD: "SELECT at_ms, record_id, revision, move, actor, reason FROM record_events WHERE",
    AuditKind.SKILL: (
        "SELECT at_ms, COALESCE(skill_id, suggestion_id, ''), number, kind, actor, '' FROM skill_events WHERE"
    ),
    AuditKind.TOKEN: (
        "SELECT at_ms, name, revision, act, actor, '' FROM"
        " (SELECT e.at_ms, t.name, e.revision, e.act, e.actor"
        " FROM token_events e JOIN tokens t ON t.token_id = e.token_id) e WHERE"
    ),
}
_PLACES = {
    AuditKind.BINDING: "at_ms, session_id, number",
    AuditKind.POLICY: "at_ms, name, revision",
    AuditKind.RECORD: "at_ms, record_id, revision",
    AuditKind.SKILL: "at_ms, COALESCE(skill_id, suggestion_id, ''), number",
    AuditKind.TOKEN: "at_ms, name, revision",
}


class SqlAudit(SqlCollection):
    """Acts in the order of their times; of the same time by kind, subject and number."""

    def page(
        self,
        *,
        limit: int,
        kinds: frozenset[AuditKind],
        since: datetime | None = None,
        after: AuditPlace | None = None,
    ) -> tuple[AuditEvent, ...]:
        """The oldest first, from a moment on, or behind an event."""
        pages = [self._of_kind(kind, limit, since, after) for kind in sorted(kinds or AuditKind)]
        return tuple(islice(merge(*pages, key=lambda event: event.place), limit))

    def _of_kind(
        self, kind: AuditKind, limit: int, since: datetime | None, after: AuditPlace | None
    ) -> list[AuditEvent]:
        conditions = ["at_ms >= ?"]
        parameters: list[int | str] = [0 if since is None else to_milliseconds(since)]
        if after is not None:
            at, last, subject, revision = after
            if kind == last:
                conditions.append(f"({_PLACES[kind]}) > (?, ?, ?)")
                parameters += [to_milliseconds(at), subject, revision]
            else:
                conditions.append("at_ms >= ?")
                parameters.append(to_milliseconds(at) + (kind < last))
        sql = f"{_SOURCES[kind]} {' AND '.join(conditions)} ORDER BY {_PLACES[kind]} LIMIT ?"
        return [_read(kind, row) for row in self._session.rows(sql, (*parameters, limit))]


def _read(kind: AuditKind, row: Row) -> AuditEvent:
    at_ms, subject, number, act, actor, reason = row
    try:
        return AuditEvent(
            kind=kind,
            subject=subject,
            revision=number,
            act=act,
            at=from_milliseconds(at_ms),
            actor=actor,
            reason=reason,
        )
    except UNREADABLE as error:
        raise damage_error(f"{kind} {subject} at {number}") from error
