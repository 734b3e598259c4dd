"""The journals, numbered from 1 without gaps in each session, in SQL that both databases run.

Whoever appends moves the session's `next_number` first, and so waits for whoever is appending: what is rolled
back takes its numbers along, and the next one gets them.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from runlore.domain import limits
from runlore.domain.run import RunId
from runlore.domain.runs.journal import Entry, EventType, JournalEvent, is_continuing, text_of
from runlore.domain.session import SessionId
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql import columns
from runlore.storage.sql.journal_rows import COLUMNS, EMPTY, checksum, read, row_of, stored_body
from runlore.storage.sql.session import Parameters, SqlCollection, SqlValue, id_chunks, in_list, writing
from runlore.storage.sql.sessions import not_found

# Bodies are emptied in pieces, so that any number of them needs little memory.
PIECE_EVENTS = 1_000
_REPLIES_AT_ONCE = 8

_MOVE = (
    "UPDATE sessions SET next_number = next_number + ?, journal_bytes = journal_bytes + ?,"
    " active_at_ms = CASE WHEN active_at_ms > ? THEN active_at_ms ELSE ? END"
    " WHERE session_id = ? RETURNING next_number"
)
_INSERT = f"INSERT INTO journal ({', '.join(COLUMNS)}) VALUES ({in_list(COLUMNS)})"
_ALL = ", ".join(COLUMNS)
_RANGE = f"SELECT {_ALL} FROM journal WHERE session_id = ? AND number BETWEEN ? AND ? ORDER BY number"
_HEADS = ", ".join(COLUMNS[:6])
_NEXT = "number > ? ORDER BY number LIMIT ?"
_INPUTS = (
    f"SELECT {', '.join(f'e.{column}' for column in COLUMNS)} FROM runs r"
    " JOIN journal e ON e.session_id = r.session_id AND e.number = r.input_number WHERE r.run_id IN ({ids})"
)
_REPLIES = (
    f"SELECT {_ALL} FROM journal WHERE run_id = ? AND type = 'assistant_message' AND number < ?"
    " ORDER BY number DESC LIMIT ?"
)
_HAS = "SELECT 1 FROM journal WHERE run_id = ? AND type = ? LIMIT 1"
_ERASE = "UPDATE journal SET bytes = 0, checksum = ?, body = ? WHERE session_id = ? AND number = ?"
_SHRINK = "UPDATE sessions SET journal_bytes = journal_bytes - ? WHERE session_id = ?"
_OLD_CHECKPOINT = "type = 'checkpoint' AND bytes > 0 AND at_ms < ?"
_TAKEN = "SELECT COALESCE(sum(e.bytes), 0) FROM journal e WHERE e.session_id = s.session_id"
_MISCOUNTED = (
    f"SELECT s.session_id FROM sessions s WHERE s.journal_bytes <> ({_TAKEN}) ORDER BY s.session_id LIMIT ?"
)
_LOCKED = "SELECT session_id FROM sessions WHERE session_id = ?"
_RECOUNT = f"UPDATE sessions AS s SET journal_bytes = ({_TAKEN}) WHERE s.session_id = ?"
_SIZES = (
    "SELECT r.run_id, r.finished_at_ms, e.bytes FROM (SELECT run_id, sum(bytes) AS bytes FROM journal"
    " WHERE run_id IS NOT NULL GROUP BY run_id) e JOIN runs r ON r.run_id = e.run_id"
    " WHERE e.bytes > 0 AND r.finished_at_ms IS NOT NULL ORDER BY r.finished_at_ms, r.run_id"
)
_LAST_NUMBER = 2**63 - 1
_LONG_AGO_MS = -(2**62)


class SqlJournal(SqlCollection):
    """The journals, numbered from 1 without gaps in each session."""

    @writing
    def append(
        self,
        session_id: SessionId,
        run_id: RunId | None,
        entries: Sequence[Entry],
        at: datetime | Sequence[datetime],
    ) -> int:
        """Append entries and move the session's `next_number`: the first number. Also when runs of the
        session are parallel, on any number of daemons, there is no gap and no number twice. `at` is the time
        of all of them, or of each."""
        columns.check_storable(session_id, run_id)
        self._session.make_room(freeing=False)
        moments = [at] if isinstance(at, datetime) else at
        latest = max(map(to_milliseconds, moments), default=_LONG_AGO_MS)
        times = [latest] * len(entries) if isinstance(at, datetime) else list(map(to_milliseconds, at))
        bodies = [stored_body(entry) for entry in entries]
        total = sum(length for _, length in bodies)
        moved = self._session.rows(_MOVE, (len(entries), total, latest, latest, session_id))
        if not moved:
            raise not_found(session_id)
        first = int(moved[0][0]) - len(entries)
        rows = [
            row_of(entry, place=(session_id, number, run_id), at_ms=at_ms, body=body)
            for number, (entry, at_ms, body) in enumerate(
                zip(entries, times, bodies, strict=True), start=first
            )
        ]
        self._execute(_INSERT, *rows)
        return first

    def range(self, session_id: SessionId, first: int, last: int) -> tuple[JournalEvent, ...]:
        bounds = (max(first, 1), min(last, _LAST_NUMBER))
        return tuple(map(read, self._rows(_RANGE, session_id, *bounds)))

    def page(
        self,
        *,
        session_id: SessionId | None = None,
        run_id: RunId | None = None,
        after: int = 0,
        limit: int,
    ) -> tuple[JournalEvent, ...]:
        """The events of a session or a run behind a number, in order; fewer than `limit` where their bodies
        are large, never none while there are some."""
        condition, names = _of(session_id, run_id)
        if limit <= 0:
            return ()
        # What a page holds is decided before any body is read.
        sql = f"SELECT number, bytes FROM journal WHERE {condition} AND {_NEXT}"
        last, room = 0, limits.JOURNAL_PAGE_BYTES_MAX
        for number, length in self._rows(sql, *names, after, limit):
            if last and length > room:
                break
            last, room = number, room - length
        if not last:
            return ()
        sql = f"SELECT {_ALL} FROM journal WHERE {condition} AND number > ? AND number <= ? ORDER BY number"
        return tuple(map(read, self._session.rows(sql, (*names, after, last))))

    def inputs(self, run_ids: Sequence[RunId]) -> dict[RunId, str]:
        events = map(read, self._rows_of(_INPUTS, run_ids))
        return {event.run_id: text_of(event.body) for event in events if event.run_id is not None}

    def short_inputs(self, run_ids: Sequence[RunId], *, bytes_max: int) -> dict[RunId, JournalEvent]:
        """The input of each run whose body takes no more bytes than that; longer ones are not read."""
        found: dict[RunId, JournalEvent] = {}
        for chunk in id_chunks(run_ids):
            sql = f"{_INPUTS.format(ids=in_list(chunk))} AND e.bytes <= ?"
            for event in map(read, self._session.rows(sql, (*chunk, bytes_max))):
                if event.run_id is not None:
                    found[event.run_id] = event
        return found

    def latest_text(self, run_id: RunId) -> str:
        """The text of a run's last assistant message that has one, with those that it continues; empty where
        there is none."""
        before, later = _LAST_NUMBER, ""
        while before:
            events = [read(row) for row in self._rows(_REPLIES, run_id, before, _REPLIES_AT_ONCE)]
            for event in events:
                if text := text_of(event.body):
                    later = text + later
                    if not is_continuing(event.body):
                        return later
            before = events[-1].number if events else 0
        return later

    def has(self, run_id: RunId, kind: EventType) -> bool:
        """Whether there is an event of this type in a run, emptied or not."""
        return bool(self._rows(_HAS, run_id, kind.value))

    @writing
    def erase_run(self, run_id: RunId) -> int:
        """Empty the bodies of a run's events; numbers, types and times stay: how many there were."""
        return self._erase("run_id = ?", run_id)

    @writing
    def erase_session(self, session_id: SessionId) -> int:
        return self._erase("session_id = ?", session_id)

    @writing
    def erase_checkpoints(self, session_id: SessionId, before: datetime) -> int:
        return self._erase(f"session_id = ? AND {_OLD_CHECKPOINT}", session_id, to_milliseconds(before))

    def sessions_with_checkpoints(self, before: datetime) -> tuple[SessionId, ...]:
        """The sessions with a checkpoint from before a moment that still says something, by id."""
        sql = f"SELECT DISTINCT session_id FROM journal WHERE {_OLD_CHECKPOINT} ORDER BY session_id"
        return tuple(SessionId(row[0]) for row in self._session.rows(sql, (to_milliseconds(before),)))

    def count(self, *, session_id: SessionId | None = None, run_id: RunId | None = None) -> int:
        """How many events of a session or a run still say something, damaged ones included."""
        condition, names = _of(session_id, run_id)
        return self._number(f"SELECT count(*) FROM journal WHERE {condition} AND bytes > 0", *names)

    def sizes(self) -> Iterator[tuple[RunId, datetime, int]]:
        """Terminal runs with the end and the bytes of their journal that is not empty, oldest first."""
        for run_id, finished_at_ms, length in self._session.stream(_SIZES):
            yield RunId(run_id), from_milliseconds(finished_at_ms), int(length)

    def bytes(self) -> int:
        return self._number("SELECT COALESCE(sum(journal_bytes), 0) FROM sessions")

    def find_miscounted(self, *, limit: int) -> tuple[SessionId, ...]:
        """Sessions, by id, of which `bytes` counts something else than their bodies take."""
        return tuple(SessionId(row[0]) for row in self._session.rows(_MISCOUNTED, (max(limit, 0),)))

    @writing
    def recount(self, session_id: SessionId) -> None:
        """Count a session's bytes anew, from its events; they are derived."""
        # Whoever appends or erases moves this row too, and has ended when the next statement looks.
        if self._lock(_LOCKED, session_id) is not None:
            self._execute(_RECOUNT, (session_id,))

    def _erase(self, condition: str, *values: SqlValue) -> int:
        """A body only ever gets shorter, where it stands: see `record_writes.erase_events`.

        The rows are ours from the moment they are read: what another empties meanwhile is not counted here.
        """
        sql = f"SELECT {_HEADS} FROM journal WHERE {condition} AND bytes > 0 AND {_NEXT}"
        sql += self._session.dialect.for_update
        erased, after = 0, 0
        while heads := self._rows(sql, *values, after, PIECE_EVENTS):
            self._session.make_room(freeing=True)
            freed: dict[str, int] = {}
            for head in heads:
                freed[head[0]] = freed.get(head[0], 0) + head[5]
            shrunk = [(length, session_id) for session_id, length in freed.items()]
            self._run((_SHRINK, shrunk), (_ERASE, [_erasure_row(head) for head in heads]))
            erased += len(heads)
            after = heads[-1][1]
        return erased


def _of(session_id: SessionId | None, run_id: RunId | None) -> tuple[str, tuple[str, ...]]:
    assert session_id is not None or run_id is not None, "a page is of a session or of a run"
    if run_id is None:
        return "session_id = ?", (str(session_id),)
    if session_id is None:
        return "run_id = ?", (run_id,)
    # Whatever keeps databases off the session's index: the run's is the shorter walk.
    return "run_id = ? AND session_id || '' = ?", (run_id, session_id)


def _erasure_row(head: tuple[SqlValue, ...]) -> Parameters:
    session_id, number, *_ = head
    return (checksum((*head[:5], 0), EMPTY), EMPTY, session_id, number)
