"""The records, as the port asks for them, in SQL that both databases run.

Headers (`RecordLine`) are read from an index alone, nothing is replayed. In a page as of a past moment, only
what has moved since is replayed from its events. A record's place in a list is that of its beginning, which
no move changes, so that the list is walked in its order and stops early.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from runlore.domain.errors import NotFound
from runlore.domain.record import PROMPT_KINDS, Kind, Layer, Record, RecordId, State
from runlore.domain.records import audit
from runlore.domain.records.audit import RecordEvent, replay
from runlore.domain.run import RunId
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.text.storable import is_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.ports.store import RecordFilter, RecordLine, StorePosition
from runlore.storage.sql import filters, positions, record_queries
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.record_rows import digest
from runlore.storage.sql.session import IN_LIST_MAX, Row, SqlCollection, SqlSession, SqlValue, chunks, in_list

_IN_SCOPE = "r.scope_kind = ? AND r.scope_id = ?"
_CANDIDATES_MIN = 64
_EXISTED = (
    "EXISTS (SELECT 1 FROM record_events e"
    " WHERE e.record_id = records.record_id AND e.revision = 1 AND e.at_ms <= ?)"
)
_COLUMNS = ", revision, kind, state, scope_kind, scope_id, due_at_ms, superseded_by"

_LATEST = "(SELECT max(change) FROM records WHERE scope_kind = ? AND scope_id = ?)"
_LATEST_DEPARTURE = "(SELECT max(change) FROM scope_departures)"
_DEPARTURES = "SELECT scope_kind, scope_id, change FROM scope_departures WHERE {scopes}"
# So many columns a database answers in one row, and more.
_SCOPES_AT_ONCE = 100

_KINDS = {kind.value: kind for kind in Kind}
_STATES = {state.value: state for state in State}


class SqlRecords(SqlCollection):
    """`ports.store.Records` on one session."""

    def get(self, record_id: RecordId) -> Record:
        found = record_queries.records_by_id(self._session, (record_id,))
        if record_id not in found:
            raise _not_found(record_id)
        return found[record_id]

    def get_many(self, record_ids: Sequence[RecordId]) -> dict[RecordId, Record]:
        return record_queries.records_by_id(self._session, record_ids)

    def events(self, record_id: RecordId) -> tuple[RecordEvent, ...]:
        found = record_queries.histories_by_id(self._session, (record_id,))
        if record_id not in found:
            raise _not_found(record_id)
        return found[record_id]

    def events_of_many(self, record_ids: Sequence[RecordId]) -> dict[RecordId, tuple[RecordEvent, ...]]:
        return record_queries.histories_by_id(self._session, record_ids)

    def page(
        self, where: RecordFilter, *, limit: int, before: tuple[datetime, RecordId] | None = None
    ) -> tuple[Record, ...]:
        if limit <= 0 or filters.asks_for_nothing(where):
            return ()
        walks = [record_queries.walk(part, before=before, limit=limit) for part in filters.walks(where)]
        if not walks:
            return ()
        merged = record_queries.merge_walks(walks, limit=limit)
        order = "f.created_at_ms DESC, f.record_id DESC"
        return record_queries.records_of(self._session, merged.sql, merged.parameters, order=order)

    def page_as_of(
        self,
        where: RecordFilter,
        moment: datetime,
        *,
        limit: int,
        before: tuple[datetime, RecordId] | None = None,
    ) -> tuple[Record, ...]:
        if limit <= 0 or filters.asks_for_nothing(where):
            return ()
        return page_as_of(self._session, where, moment, limit=limit, before=before)

    def lines(
        self, where: RecordFilter, *, limit: int, before: tuple[datetime, RecordId] | None = None
    ) -> tuple[RecordLine, ...]:
        return list_headers(self._session, where, limit=limit, before=before)

    def count_lines(self, where: RecordFilter) -> int:
        return count_headers(self._session, where)

    def stamps(self, scopes: Sequence[Scope]) -> dict[Scope, int | None]:
        return scope_stamps(self._session, scopes)

    def moved_since(self, moment: datetime) -> tuple[RecordId, ...]:
        sql = "SELECT record_id FROM records WHERE moved_at_ms > ? ORDER BY record_id"
        return tuple(RecordId(row[0]) for row in self._session.rows(sql, (to_milliseconds(moment),)))

    def matching_subject(self, scope: Scope, kind: Kind, subject: str) -> tuple[Record, ...]:
        condition = f"r.state = 'active' AND {_IN_SCOPE} AND r.kind = ? AND r.subject = ?"
        return self._where(condition, scope.kind.value, scope.id, kind.value, digest(subject))

    def about_subjects(self, scope: Scope, subjects: Collection[str]) -> tuple[Record, ...]:
        found: list[Record] = []
        kinds = sorted(kind.value for kind in PROMPT_KINDS)
        for chunk in chunks(map(digest, subjects), IN_LIST_MAX):
            condition = (
                f"r.state = 'active' AND {_IN_SCOPE} AND r.kind IN ({in_list(kinds)})"
                f" AND r.subject IN ({in_list(chunk)})"
            )
            found += self._where(condition, scope.kind.value, scope.id, *kinds, *chunk)
        return tuple(found)

    def waiting_subject(self, scope: Scope, kind: Kind, subject: str, *, limit: int) -> tuple[Record, ...]:
        return self._newest_of_subject("constrained", (scope, kind, subject), limit)

    def ended_subject(self, scope: Scope, kind: Kind, subject: str, *, limit: int) -> tuple[Record, ...]:
        return self._newest_of_subject("tombstoned", (scope, kind, subject), limit)

    def _newest_of_subject(
        self, state: str, about: tuple[Scope, Kind, str], limit: int
    ) -> tuple[Record, ...]:
        scope, kind, subject = about
        found = (
            "SELECT r.record_id, r.created_at_ms FROM records r"
            f" WHERE r.state = '{state}' AND {_IN_SCOPE} AND r.kind = ? AND r.subject = ?"
            " ORDER BY r.created_at_ms DESC, r.record_id DESC LIMIT ?"
        )
        asked = (scope.kind.value, scope.id, kind.value, digest(subject), limit)
        order = "f.created_at_ms DESC, f.record_id DESC"
        return record_queries.records_of(self._session, found, asked, order=order)

    def active_profile(self, scope: Scope, profile_key: str) -> tuple[Record, ...]:
        condition = f"r.state = 'active' AND {_IN_SCOPE} AND r.profile_key = ?"
        return self._where(condition, scope.kind.value, scope.id, digest(profile_key.casefold()))

    def superseded_by(self, record_id: RecordId) -> tuple[Record, ...]:
        return self._where("r.state = 'superseded' AND r.superseded_by = ?", record_id)

    def derived_from(self, record_id: RecordId) -> tuple[Record, ...]:
        derived = "SELECT s.record_id FROM record_sources s WHERE s.source_id = ?"
        return self._where(f"r.record_id IN ({derived})", record_id)

    def of_run(self, run_id: RunId) -> tuple[Record, ...]:
        # As two look-ups, for an OR over two indexes is more than a planner can be trusted with.
        found = (
            "SELECT record_id FROM records WHERE source_run = ?"
            " UNION SELECT record_id FROM record_sources WHERE source_id = ?"
        )
        return self._oldest_first(f"r.record_id IN ({found})", run_id, run_id)

    def of_session(self, session_id: SessionId) -> tuple[Record, ...]:
        # As two look-ups, for an OR over two indexes is more than a planner can be trusted with.
        found = (
            "SELECT record_id FROM records WHERE source_session = ?"
            " UNION SELECT record_id FROM records WHERE scope_kind = 'session' AND scope_id = ?"
        )
        return self._oldest_first(f"r.record_id IN ({found})", session_id, session_id)

    def proposals_for(self, digest_of_sources: str) -> tuple[Record, ...]:
        return self._where("r.sources_digest = ?", digest(digest_of_sources))

    def find_imported(self, imported_from: Sequence[str]) -> dict[str, RecordId]:
        """Which of these origins were imported already, and as what (the first, where there are several)."""
        origins = {digest(origin): origin for origin in imported_from}
        found: dict[str, RecordId] = {}
        for chunk in chunks(origins, IN_LIST_MAX):
            condition = f"imported_from IN ({in_list(chunk)})"
            sql = (
                f"SELECT imported_from, min(record_id) FROM records WHERE {condition} GROUP BY imported_from"
            )
            found.update((origins[row[0]], RecordId(row[1])) for row in self._session.rows(sql, chunk))
        return found

    def revalidation_due(
        self, now: datetime, *, scopes: frozenset[Scope] | None = None, limit: int
    ) -> tuple[Record, ...]:
        where = RecordFilter(scopes=scopes, now=now)
        if limit <= 0 or filters.asks_for_nothing(where):
            return ()
        asked = filters.condition(where).also(
            "revalidate_at_ms IS NOT NULL AND revalidate_at_ms <= ?", to_milliseconds(now)
        )
        due = (
            f"SELECT record_id, revalidate_at_ms FROM records WHERE {asked.sql}"
            " ORDER BY revalidate_at_ms, record_id LIMIT ?"
        )
        order = "f.revalidate_at_ms, f.record_id"
        return record_queries.records_of(self._session, due, (*asked.parameters, limit), order=order)

    def due(self, now: datetime, *, limit: int) -> tuple[Record, ...]:
        due = (
            "SELECT record_id, due_at_ms FROM records WHERE due_at_ms IS NOT NULL AND due_at_ms <= ?"
            " ORDER BY due_at_ms, record_id LIMIT ?"
        )
        order = "f.due_at_ms, f.record_id"
        return record_queries.records_of(self._session, due, (to_milliseconds(now), limit), order=order)

    def count(self) -> dict[tuple[Layer, State], int]:
        rows = self._session.rows("SELECT state, layer, count(*) FROM records GROUP BY state, layer")
        return {(Layer(layer), State(state)): number for state, layer, number in rows}

    def changed_since(self, position: StorePosition) -> Iterator[Record]:
        return record_queries.records_changed(self._session, position.cursor)

    def position(self) -> StorePosition:
        return positions.position(self._session)

    def everything(self) -> Iterator[tuple[Record, tuple[RecordEvent, ...]]]:
        return ((replay(history), history) for history in record_queries.all_histories(self._session))

    def _oldest_first(self, condition: str, *parameters: str) -> tuple[Record, ...]:
        if not all(map(is_storable, parameters)):
            return ()
        order = "r.created_at_ms, r.record_id"
        return record_queries.records_where(self._session, condition, parameters, order=order)

    def _where(self, condition: str, *parameters: SqlValue) -> tuple[Record, ...]:
        return record_queries.records_where(self._session, condition, parameters)


def _not_found(record_id: RecordId) -> NotFound:
    return NotFound(
        f"there is no record {record_id!r}",
        code="record.not-found",
        hint="`runlore memory list` shows the ids",
    )


def page_as_of(
    session: SqlSession,
    where: RecordFilter,
    moment: datetime,
    *,
    limit: int,
    before: tuple[datetime, RecordId] | None,
) -> tuple[Record, ...]:
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
        record_queries.walk(part, limit=limit, before=before, also=still, more=", 0 AS has_moved")
        for part in filters.walks(where)
    ]
    # What has moved may have been anything then, so it is asked for without a filter.
    walks.append(record_queries.sorted_walk(moved, limit=limit, before=before, more=", 1 AS has_moved"))
    merged = record_queries.merge_walks(walks, limit=limit)
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


def list_headers(
    session: SqlSession,
    where: RecordFilter,
    *,
    limit: int,
    before: tuple[datetime, RecordId] | None = None,
) -> tuple[RecordLine, ...]:
    if limit <= 0 or filters.asks_for_nothing(where):
        return ()
    parts = filters.walks(where)
    walks = [record_queries.walk(part, before=before, limit=limit, more=_COLUMNS) for part in parts]
    if not walks:
        return ()
    merged = record_queries.merge_walks(walks, limit=limit)
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


def count_headers(session: SqlSession, where: RecordFilter) -> int:
    if filters.asks_for_nothing(where):
        return 0
    asked = filters.condition(where)
    sql = f"SELECT count(*) FROM records WHERE {asked.sql}"
    return int(session.rows(sql, asked.parameters)[0][0])


def scope_stamps(session: SqlSession, scopes: Sequence[Scope]) -> dict[Scope, int | None]:
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
