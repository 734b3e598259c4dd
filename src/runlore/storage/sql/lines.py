"""Lists of which records there are, without what they say: read from an index alone, nothing is replayed."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from runlore.domain.record import Kind, RecordId, State
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.timestamps import from_milliseconds
from runlore.ports.store import RecordFilter, RecordLine
from runlore.storage.sql import filters, listing
from runlore.storage.sql.session import SqlSession, chunks

_COLUMNS = ", revision, kind, state, scope_kind, scope_id, due_at_ms, superseded_by"

_LATEST = "(SELECT max(change) FROM records WHERE scope_kind = ? AND scope_id = ?)"
_LATEST_DEPARTURE = "(SELECT max(change) FROM scope_departures)"
_DEPARTURES = "SELECT scope_kind, scope_id, change FROM scope_departures WHERE {scopes}"
# So many columns a database answers in one row, and more.
_SCOPES_AT_ONCE = 100

_KINDS = {kind.value: kind for kind in Kind}
_STATES = {state.value: state for state in State}


def lines(
    session: SqlSession,
    where: RecordFilter,
    *,
    limit: int,
    before: tuple[datetime, RecordId] | None = None,
) -> tuple[RecordLine, ...]:
    """The newest first, after a place in that order."""
    if limit <= 0 or filters.asks_for_nothing(where):
        return ()
    parts = filters.walks(where)
    walks = [listing.walk(part, before=before, limit=limit, more=_COLUMNS) for part in parts]
    if not walks:
        return ()
    merged = listing.merge_walks(walks, limit=limit)
    scopes: dict[tuple[str, str], Scope] = {}
    found = []
    for row in session.rows(merged.sql, merged.parameters):
        record_id, created_at_ms, revision, kind, state, scope_kind, scope_id, due_at_ms, replaced = row
        scope = scopes.get((scope_kind, scope_id))
        if scope is None:
            scope = scopes[scope_kind, scope_id] = Scope(ScopeKind(scope_kind), scope_id)
        due_at = None if due_at_ms is None else from_milliseconds(due_at_ms)
        created_at = from_milliseconds(created_at_ms)
        what = (_KINDS[kind], _STATES[state], scope)
        found.append(RecordLine(record_id, revision, *what, created_at, due_at, replaced is not None))
    return tuple(found)


def count(session: SqlSession, where: RecordFilter) -> int:
    """How many there are."""
    if filters.asks_for_nothing(where):
        return 0
    asked = filters.condition(where)
    sql = f"SELECT count(*) FROM records WHERE {asked.sql}"
    return int(session.rows(sql, asked.parameters)[0][0])


def stamps(session: SqlSession, scopes: Sequence[Scope]) -> dict[Scope, int | None]:
    """The latest change of each scope that has records; None where an earlier one may still come."""
    found: dict[Scope, int | None] = {}
    for chunk in chunks(scopes, _SCOPES_AT_ONCE):
        parameters = [part for scope in chunk for part in (scope.kind.value, scope.id)]
        sql = f"SELECT {session.dialect.settled}, {_LATEST_DEPARTURE}, {', '.join([_LATEST] * len(chunk))}"
        settled, departure, *latest = session.rows(sql, parameters)[0]
        changes = {scope: change for scope, change in zip(chunk, latest, strict=True) if change is not None}
        if departure is not None:
            earlier = {scope: change for scope, change in changes.items() if change < departure}
            changes |= _departures(session, earlier)
        found |= {scope: change if change < settled else None for scope, change in changes.items()}
    return found


def _departures(session: SqlSession, changes: Mapping[Scope, int]) -> dict[Scope, int]:
    """The changes of these scopes, with the latest departure where that is later than all that is left."""
    if not changes:
        return {}
    term, *parameters = filters.scope_term(frozenset(changes))
    found = dict(changes)
    for scope_kind, scope_id, departure in session.rows(_DEPARTURES.format(scopes=term), parameters):
        scope = Scope(ScopeKind(scope_kind), scope_id)
        found[scope] = max(found[scope], departure)
    return found
