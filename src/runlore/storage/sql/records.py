"""The records, as the port asks for them, in SQL that both databases run.

A record is read as its events from its last base on, so there is no second copy that could differ. Headers
(`RecordLine`) are read from an index alone, nothing is replayed. In a page as of a past moment, only what
has moved since is replayed from its events. A record's place in a list is that of its beginning, which no
move changes, so that the list is walked in its order and stops early.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from runlore.domain.batches import into_batches
from runlore.domain.errors import NotFound
from runlore.domain.lazy import LazyModule
from runlore.domain.record import PROMPT_KINDS, Kind, Layer, Record, RecordId, State
from runlore.domain.records import audit
from runlore.domain.records.audit import RecordEvent, replay
from runlore.domain.run import RunId
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.text.safe_text import is_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.ports.store import RecordFilter, RecordLine, StorePosition
from runlore.storage.sql import filters, positions
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.record_rows import (
    EVENT_COLUMNS,
    digest,
    read_full_histories,
    read_histories,
    read_records,
)
from runlore.storage.sql.session import (
    IN_LIST_MAX,
    Row,
    SqlCollection,
    SqlSession,
    SqlValue,
    id_chunks,
    in_list,
)
from runlore.storage.sql.walks import merge_walks, sorted_walk, walk

if TYPE_CHECKING:
    from runlore.domain.claims import subject as claims
else:
    claims = LazyModule("runlore.domain.claims.subject")

_IN_SCOPE = "r.scope_kind = ? AND r.scope_id = ?"
_CANDIDATES_MIN = 64
_SUBJECTS_AT_ONCE = 50
Subject: TypeAlias = tuple[Scope, Kind, str]
_OF_SUBJECT = (
    "SELECT record_id FROM records WHERE state = 'active'"
    " AND scope_kind = ? AND scope_id = ? AND kind = ? AND subject = ?"
)
_EXISTED = (
    "EXISTS (SELECT 1 FROM record_events e"
    " WHERE e.record_id = records.record_id AND e.revision = 1 AND e.at_ms <= ?)"
)
_CONTESTED = Condition(
    terms=(
        "subject IS NOT NULL AND EXISTS (SELECT 1 FROM records o WHERE o.scope_kind = records.scope_kind"
        " AND o.scope_id = records.scope_id AND o.kind = records.kind AND o.subject = records.subject"
        " AND o.state = 'active' AND o.record_id <> records.record_id)",
    )
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
    """The records and their histories, inside one transaction or snapshot."""

    def get(self, record_id: RecordId) -> Record:
        found = records_by_id(self._session, (record_id,))
        if record_id not in found:
            raise _not_found(record_id)
        return found[record_id]

    def get_many(self, record_ids: Sequence[RecordId]) -> dict[RecordId, Record]:
        return records_by_id(self._session, record_ids)

    def events(self, record_id: RecordId) -> tuple[RecordEvent, ...]:
        """A record's history, oldest first; NotFound when the id names nothing."""
        found = histories_by_id(self._session, (record_id,))
        if record_id not in found:
            raise _not_found(record_id)
        return found[record_id]

    def events_of_many(self, record_ids: Sequence[RecordId]) -> dict[RecordId, tuple[RecordEvent, ...]]:
        return histories_by_id(self._session, record_ids)

    def page(
        self, where: RecordFilter, *, limit: int, before: tuple[datetime, RecordId] | None = None
    ) -> tuple[Record, ...]:
        """The newest first (`created_at`, then `record_id`, both descending), after a place in that order."""
        if limit <= 0 or filters.asks_for_nothing(where):
            return ()
        walks = [walk(part, before=before, limit=limit) for part in filters.walks(where)]
        if not walks:
            return ()
        merged = merge_walks(walks, limit=limit)
        order = "f.created_at_ms DESC, f.record_id DESC"
        return records_of(self._session, merged.sql, merged.parameters, order=order)

    def page_contested(self, where: RecordFilter, *, limit: int) -> tuple[Record, ...]:
        """The newest that pass and have an active record of their scope, kind and subject beside them."""
        if filters.asks_for_nothing(where):
            return ()
        found = walk(where, before=None, limit=limit, also=_CONTESTED)
        order = "f.created_at_ms DESC, f.record_id DESC"
        return records_of(self._session, found.sql, found.parameters, order=order)

    def page_as_of(
        self,
        where: RecordFilter,
        moment: datetime,
        *,
        limit: int,
        before: tuple[datetime, RecordId] | None = None,
    ) -> tuple[Record, ...]:
        """The same as it would have answered at a past moment, from the events."""
        if limit <= 0 or filters.asks_for_nothing(where):
            return ()
        return page_as_of(self._session, where, moment, limit=limit, before=before)

    def lines(
        self, where: RecordFilter, *, limit: int, before: tuple[datetime, RecordId] | None = None
    ) -> tuple[RecordLine, ...]:
        """The newest first, as `page`, without what the records say."""
        return list_headers(self._session, where, limit=limit, before=before)

    def count_lines(self, where: RecordFilter) -> int:
        return count_headers(self._session, where)

    def stamps(self, scopes: Sequence[Scope]) -> dict[Scope, int | None]:
        """The number of the latest change in each of the scopes that has records; one that is published into
        another scope counts as a change of both. None where a lower number may still be committed."""
        return scope_stamps(self._session, scopes)

    def moved_since(self, moment: datetime) -> tuple[RecordId, ...]:
        sql = "SELECT record_id FROM records WHERE moved_at_ms > ? ORDER BY record_id"
        return tuple(RecordId(row[0]) for row in self._session.rows(sql, (to_milliseconds(moment),)))

    def matching_subject(self, scope: Scope, kind: Kind, subject: str) -> tuple[Record, ...]:
        return self.matching_subjects([(scope, kind, subject)]).get((scope, kind, subject), ())

    def matching_subjects(self, asked: Collection[Subject]) -> dict[Subject, tuple[Record, ...]]:
        """The same of several at once; what nothing matches is left out."""
        found: dict[Subject, list[Record]] = {}
        for chunk in into_batches(dict.fromkeys(asked), _SUBJECTS_AT_ONCE):
            # Look-ups one by one, for an OR over an index is more than a planner can be trusted with.
            looked_up = " UNION ALL ".join([_OF_SUBJECT] * len(chunk))
            values = [
                (scope.kind.value, scope.id, kind.value, digest(subject)) for scope, kind, subject in chunk
            ]
            for record in self._where(f"r.record_id IN ({looked_up})", *chain.from_iterable(values)):
                subject = claims.SemanticKey.parse(record.semantic_key or "").subject
                found.setdefault((record.scope, record.kind, subject), []).append(record)
        return {subject: tuple(records) for subject, records in found.items()}

    def about_subjects(self, scope: Scope, subjects: Collection[str]) -> tuple[Record, ...]:
        """The active records of a scope, of the kinds that prompts get, that are about one of these."""
        found: list[Record] = []
        kinds = sorted(kind.value for kind in PROMPT_KINDS)
        for chunk in into_batches(map(digest, subjects), IN_LIST_MAX):
            condition = (
                f"r.state = 'active' AND {_IN_SCOPE} AND r.kind IN ({in_list(kinds)})"
                f" AND r.subject IN ({in_list(chunk)})"
            )
            found += self._where(condition, scope.kind.value, scope.id, *kinds, *chunk)
        return tuple(found)

    def waiting_subject(self, scope: Scope, kind: Kind, subject: str, *, limit: int) -> tuple[Record, ...]:
        """The newest candidates of a scope and kind whose semantic key has this subject, newest first."""
        return self._newest_of_subject("constrained", (scope, kind, subject), limit)

    def ended_subject(self, scope: Scope, kind: Kind, subject: str, *, limit: int) -> tuple[Record, ...]:
        """The same of those that are tombstoned."""
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
        return records_of(self._session, found, asked, order=order)

    def active_profile(self, scope: Scope, profile_key: str) -> tuple[Record, ...]:
        """The active profile records of a scope with this key, ignoring case."""
        condition = f"r.state = 'active' AND {_IN_SCOPE} AND r.profile_key = ?"
        return self._where(condition, scope.kind.value, scope.id, digest(profile_key.casefold()))

    def superseded_by(self, record_id: RecordId) -> tuple[Record, ...]:
        return self._where("r.state = 'superseded' AND r.superseded_by = ?", record_id)

    def derived_from(self, record_id: RecordId) -> tuple[Record, ...]:
        """The records made from this one (`source.record_ids`), whatever their state."""
        derived = "SELECT s.record_id FROM record_sources s WHERE s.source_id = ?"
        return self._where(f"r.record_id IN ({derived})", record_id)

    def of_run(self, run_id: RunId) -> tuple[Record, ...]:
        # As two look-ups, for an OR over two indexes is more than a planner can be trusted with.
        """The records made from a run (`source.run_id`, `made_from`), whatever their state, oldest first."""
        found = (
            "SELECT record_id FROM records WHERE source_run = ?"
            " UNION SELECT record_id FROM record_sources WHERE source_id = ?"
        )
        return self._oldest_first(f"r.record_id IN ({found})", run_id, run_id)

    def of_session(self, session_id: SessionId) -> tuple[Record, ...]:
        # As two look-ups, for an OR over two indexes is more than a planner can be trusted with.
        """The records made from a session (`source.session_id`) or scoped to it, whatever their state."""
        found = (
            "SELECT record_id FROM records WHERE source_session = ?"
            " UNION SELECT record_id FROM records WHERE scope_kind = 'session' AND scope_id = ?"
        )
        return self._oldest_first(f"r.record_id IN ({found})", session_id, session_id)

    def proposals_for(self, *digests_of_sources: str) -> tuple[Record, ...]:
        """The proposals made for sets of sources (`metadata.sources_digest`), whatever their state."""
        found: list[Record] = []
        for chunk in into_batches(map(digest, dict.fromkeys(digests_of_sources)), IN_LIST_MAX):
            found += self._where(f"r.sources_digest IN ({in_list(chunk)})", *chunk)
        return tuple(found)

    def find_imported(self, imported_from: Sequence[str]) -> dict[str, RecordId]:
        """Which of these origins were imported already, and as what (the first, where there are several)."""
        origins = {digest(origin): origin for origin in imported_from}
        found: dict[str, RecordId] = {}
        for chunk in into_batches(origins, IN_LIST_MAX):
            condition = f"imported_from IN ({in_list(chunk)})"
            sql = (
                f"SELECT imported_from, min(record_id) FROM records WHERE {condition} GROUP BY imported_from"
            )
            found.update((origins[row[0]], RecordId(row[1])) for row in self._session.rows(sql, chunk))
        return found

    def revalidation_due(
        self, now: datetime, *, scopes: frozenset[Scope] | None = None, limit: int
    ) -> tuple[Record, ...]:
        """Active records whose `revalidate_at` has come and that have not expired, the earliest first."""
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
        return records_of(self._session, due, (*asked.parameters, limit), order=order)

    def list_due(self, now: datetime, *, limit: int) -> tuple[Record, ...]:
        """Live records whose `expires_at` has come, the earliest first."""
        due = (
            "SELECT record_id, due_at_ms FROM records WHERE due_at_ms IS NOT NULL AND due_at_ms <= ?"
            " ORDER BY due_at_ms, record_id LIMIT ?"
        )
        order = "f.due_at_ms, f.record_id"
        return records_of(self._session, due, (to_milliseconds(now), limit), order=order)

    def count(self) -> dict[tuple[Layer, State], int]:
        rows = self._session.rows("SELECT state, layer, count(*) FROM records GROUP BY state, layer")
        return {(Layer(layer), State(state)): number for state, layer, number in rows}

    def learning_began_at(self) -> datetime | None:
        """When the first learning was put to use, as far as records still say."""
        sql = "SELECT min(published_at_ms) FROM records WHERE published_at_ms IS NOT NULL"
        first = self._session.rows(sql)[0][0]
        return None if first is None else from_milliseconds(first)

    def changed_since(self, position: StorePosition) -> Iterator[Record]:
        """Every record that changed after a position (all of them from cursor 0), streamed."""
        return records_changed(self._session, position.cursor)

    def count_changed(self, cursor: int, *, most: int) -> int:
        """How many records changed in or after a change number (all from 0), counted up to `most`."""
        sql = "SELECT count(*) FROM (SELECT 1 FROM records WHERE change >= ? LIMIT ?) c"
        return int(self._session.rows(sql, (cursor, most))[0][0])

    def position(self) -> StorePosition:
        """Where a follower stands that has seen everything in this snapshot."""
        return positions.position(self._session)

    def everything(self) -> Iterator[tuple[Record, tuple[RecordEvent, ...]]]:
        """All records with their histories, by `record_id`, streamed."""
        return ((replay(history), history) for history in all_histories(self._session))

    def _oldest_first(self, condition: str, *parameters: str) -> tuple[Record, ...]:
        if not all(map(is_storable, parameters)):
            return ()
        order = "r.created_at_ms, r.record_id"
        return records_where(self._session, condition, parameters, order=order)

    def _where(self, condition: str, *parameters: SqlValue) -> tuple[Record, ...]:
        return records_where(self._session, condition, parameters)


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
        # Ids with their place and whether they have moved: all that can be on the page, in its order.
        moment_ms = to_milliseconds(moment)
        still = Condition().also("moved_at_ms <= ?", moment_ms)
        moved = Condition().also("moved_at_ms > ?", moment_ms).also(_EXISTED, moment_ms)
        walks = [
            walk(part, limit=wanted, before=before, also=still, more=", 0 AS has_moved")
            for part in filters.walks(where)
        ]
        # What has moved may have been anything then, so it is asked for without a filter.
        walks.append(sorted_walk(moved, limit=wanted, before=before, more=", 1 AS has_moved"))
        merged = merge_walks(walks, limit=wanted)
        candidates = session.rows(merged.sql, merged.parameters)
        page.extend(_then(session, where, moment, candidates))
        if len(candidates) < wanted:
            break
        before = (from_milliseconds(candidates[-1][1]), RecordId(candidates[-1][0]))
    return tuple(page[:limit])


def _then(
    session: SqlSession, where: RecordFilter, moment: datetime, candidates: Sequence[Row]
) -> Iterator[Record]:
    histories = histories_by_id(session, [RecordId(row[0]) for row in candidates if row[2]])
    records = records_by_id(session, [RecordId(row[0]) for row in candidates if not row[2]])
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
    walks = [walk(part, before=before, limit=limit, more=_COLUMNS) for part in parts]
    if not walks:
        return ()
    merged = merge_walks(walks, limit=limit)
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
    for chunk in into_batches(scopes, _SCOPES_AT_ONCE):
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
    for chunk in into_batches(filter(is_storable, wanted), IN_LIST_MAX):
        records = records_where(session, f"r.record_id IN ({in_list(chunk)})", chunk)
        found.update((record.record_id, record) for record in records)
    return {record_id: found[record_id] for record_id in wanted if record_id in found}


def histories_by_id(
    session: SqlSession, record_ids: Iterable[RecordId]
) -> dict[RecordId, tuple[RecordEvent, ...]]:
    found: dict[RecordId, tuple[RecordEvent, ...]] = {}
    for chunk in id_chunks(record_ids):
        condition = f"e.record_id IN ({in_list(chunk)})"
        sql = f"SELECT {_EVENT} FROM record_events e WHERE {condition} ORDER BY e.record_id, e.revision"
        found.update((history[0].record_id, history) for history in read_histories(session.rows(sql, chunk)))
    return found


def all_histories(session: SqlSession) -> Iterator[tuple[RecordEvent, ...]]:
    join = "r LEFT JOIN record_events e ON e.record_id = r.record_id"
    sql = f"{_ROWS} records {join} ORDER BY r.record_id, e.revision"
    return read_full_histories(session.stream(sql))
