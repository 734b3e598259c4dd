"""The topology index of run memories, in SQL that both databases run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

import orjson

from runlore.domain.batches import into_batches
from runlore.domain.prompts.run_memory import CaptureState, Pointer
from runlore.domain.run import RunId
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.domain.text.safe_text import is_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.ports.store import PointerCounts
from runlore.storage.sql import columns
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.session import Parameters, Row, SqlCollection, SqlValue, in_list, writing

# Each scope is a walk of its own in the index.
SCOPE_WALKS_MAX = 32
PIECE_POINTERS = 1_000

_COLUMNS = ("run_id", "session_id", "captured_at_ms", "capture", "scopes")
_ALL = ", ".join(_COLUMNS)
_FOUND = f"SELECT {_ALL} FROM run_pointers"
_NEWEST_FIRST = "ORDER BY captured_at_ms DESC, run_id DESC"
_OLDEST_FIRST = "ORDER BY captured_at_ms, run_id"
_RUNS_OF_SESSION = (
    f"SELECT run_id, captured_at_ms FROM run_pointers WHERE session_id = ? {_NEWEST_FIRST} LIMIT ?"
)
_PUT = (
    f"INSERT INTO run_pointers ({_ALL}) VALUES ({in_list(_COLUMNS)}) ON CONFLICT (run_id) DO UPDATE SET"
    f" {', '.join(f'{column} = excluded.{column}' for column in _COLUMNS[1:])}"
)
_PUT_SCOPE = (
    "INSERT INTO run_pointer_scopes (scope_kind, scope_id, captured_at_ms, run_id) VALUES (?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)
_DELETE = "DELETE FROM run_pointers WHERE run_id = ?"
_DELETE_SCOPES = "DELETE FROM run_pointer_scopes WHERE run_id = ?"
_SET_CAPTURE = "UPDATE run_pointers SET capture = ? WHERE run_id = ?"
_COUNT = (
    "SELECT count(DISTINCT session_id), count(*),"
    " (SELECT count(*) FROM (SELECT DISTINCT scope_kind, scope_id FROM run_pointer_scopes) d),"
    " (SELECT count(*) FROM run_pointers WHERE capture = 'pending')"
    " FROM run_pointers"
)


class SqlPointers(SqlCollection):
    """The topology index: where run memories are, by session and by scope."""

    def of_session(self, session_id: SessionId, *, limit: int) -> tuple[Pointer, ...]:
        """The newest first (`captured_at`, then run id, descending)."""
        return self._where("session_id = ?", _NEWEST_FIRST, limit, session_id)

    def runs_of_session(self, session_id: SessionId, *, limit: int) -> tuple[tuple[RunId, datetime], ...]:
        """Only which runs those are and when they were captured, in the same order."""
        rows = self._rows(_RUNS_OF_SESSION, session_id, max(limit, 0))
        return tuple((run_id, from_milliseconds(captured_at_ms)) for run_id, captured_at_ms in rows)

    def of_scopes(
        self,
        scopes: Iterable[Scope],
        *,
        limit: int,
        before: tuple[datetime, RunId] | None = None,
    ) -> tuple[Pointer, ...]:
        """Those that any of the scopes saw, once each, the newest first."""
        if limit <= 0:
            return ()
        found: set[tuple[int, RunId]] = set()
        for chunk in into_batches(dict.fromkeys(scopes), SCOPE_WALKS_MAX):
            sql, parameters = _walks(chunk, limit, before)
            found.update(
                (captured_at_ms, RunId(run_id)) for captured_at_ms, run_id in self._rows(sql, *parameters)
            )
        newest = [run_id for _, run_id in sorted(found, reverse=True)[:limit]]
        return tuple(self.get_many(newest).values())

    def get_many(self, run_ids: Sequence[RunId]) -> dict[RunId, Pointer]:
        rows = self._rows_of(f"{_FOUND} WHERE run_id IN ({{ids}})", run_ids)
        found = {pointer.run_id: pointer for pointer in map(_read, rows)}
        return {run_id: found[run_id] for run_id in run_ids if run_id in found}

    def everything(self) -> Iterator[Pointer]:
        """All pointers, by run id, streamed."""
        return map(_read, self._session.stream(f"{_FOUND} ORDER BY run_id"))

    def list_expired(self, before: datetime, *, limit: int) -> tuple[Pointer, ...]:
        """Those captured earlier than a moment, the oldest first."""
        return self._where("captured_at_ms < ?", _OLDEST_FIRST, limit, to_milliseconds(before))

    def pending(self, *, limit: int) -> tuple[Pointer, ...]:
        """Those whose semantic capture is owed, the oldest first."""
        return self._where("capture = 'pending'", _OLDEST_FIRST, limit)

    def list_skipped(
        self, *, limit: int, session_id: SessionId | None = None, since: datetime | None = None
    ) -> tuple[Pointer, ...]:
        """Those whose semantic capture was skipped, the oldest first; for a backfill."""
        asked = Condition().also("capture = 'skipped'").narrow("session_id = ?", session_id)
        asked = asked.narrow("captured_at_ms >= ?", columns.milliseconds(since))
        return self._where(asked.sql, _OLDEST_FIRST, limit, *asked.parameters)

    @writing
    def put(self, pointers: Iterable[Pointer]) -> None:
        """Write pointers, each in place of an earlier one of its run."""
        for piece in into_batches(pointers, PIECE_POINTERS):
            self._session.make_room(freeing=False)
            latest = {pointer.run_id: pointer for pointer in piece}.values()
            self._run(
                (_DELETE_SCOPES, [(pointer.run_id,) for pointer in latest]),
                (_PUT, [_values(pointer) for pointer in latest]),
                (_PUT_SCOPE, [row for pointer in latest for row in _scopes(pointer)]),
            )

    @writing
    def set_capture(self, states: Mapping[RunId, CaptureState]) -> None:
        self._session.make_room(freeing=False)
        self._execute(_SET_CAPTURE, *((capture.value, run_id) for run_id, capture in sorted(states.items())))

    @writing
    def delete(self, run_ids: Sequence[RunId]) -> None:
        """Delete pointers; those that are not there are passed over."""
        rows = [(run_id,) for run_id in dict.fromkeys(run_ids) if is_storable(run_id)]
        if not rows:
            return
        self._session.make_room(freeing=True)
        self._run((_DELETE_SCOPES, rows), (_DELETE, rows))

    def count(self) -> PointerCounts:
        sessions, runs, scopes, pending = self._rows(_COUNT)[0]
        return PointerCounts(sessions=sessions, runs=runs, scopes=scopes, pending=pending)

    def _where(self, condition: str, order: str, limit: int, *parameters: SqlValue) -> tuple[Pointer, ...]:
        sql = f"{_FOUND} WHERE {condition} {order} LIMIT ?"
        return tuple(map(_read, self._rows(sql, *parameters, max(limit, 0))))


def _walks(
    scopes: Sequence[Scope], limit: int, before: tuple[datetime, RunId] | None
) -> tuple[str, Parameters]:
    """The newest of each scope, from one walk through its index each."""
    condition = "scope_kind = ? AND scope_id = ?"
    place: tuple[SqlValue, ...] = ()
    if before is not None:
        condition += " AND (captured_at_ms, run_id) < (?, ?)"
        place = (to_milliseconds(before[0]), before[1])
    walk = f"SELECT captured_at_ms, run_id FROM run_pointer_scopes WHERE {condition} {_NEWEST_FIRST} LIMIT ?"
    parts = [f"SELECT * FROM ({walk}) w{number}" for number, _ in enumerate(scopes)]
    values = [value for scope in scopes for value in (scope.kind.value, scope.id, *place, limit)]
    return " UNION ALL ".join(parts), values


def _values(pointer: Pointer) -> Parameters:
    columns.check_storable(pointer.run_id, pointer.session_id)
    scopes = orjson.dumps([str(scope) for scope in pointer.scope_keys]).decode()
    return (*columns.values_of(pointer, _COLUMNS[:-1]), scopes)


def _scopes(pointer: Pointer) -> Iterator[Parameters]:
    captured_at_ms = to_milliseconds(pointer.captured_at)
    for scope in dict.fromkeys(pointer.scope_keys):
        yield (scope.kind.value, scope.id, captured_at_ms, pointer.run_id)


@lru_cache(maxsize=1_024)
def _scope_keys(scopes: str) -> tuple[Scope, ...]:
    """The pointers of a session mostly name the same scopes."""
    return tuple(map(Scope.parse, orjson.loads(scopes)))


def _read(row: Row) -> Pointer:
    with columns.Readable(f"the pointer to run {row[0]}"):
        scopes = _scope_keys(row[-1])
        return Pointer(scope_keys=scopes, **columns.fields_of(Pointer, _COLUMNS[:-1], row))
