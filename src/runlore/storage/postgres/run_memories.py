"""Run memories as rows, for daemons that share a server."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from runlore.domain.errors import Corrupt
from runlore.domain.prompts.run_memory import CaptureState, RunMemory
from runlore.domain.run import MemoryState, RunId
from runlore.domain.text.storable import is_storable
from runlore.ports.run_memories import Owed, Unreadable
from runlore.storage.postgres.session import PostgresSession
from runlore.storage.run_memory_body import body_of, checksum_of, is_unchanged, memory_of, unreadable
from runlore.storage.sql.jobs import SqlJobs
from runlore.storage.sql.policies import SqlPolicies
from runlore.storage.sql.session import IN_LIST_MAX, Row, SqlStatement, SqlValue, chunks, in_list

PAGE_ROWS = 500

# The lock holds off whoever prunes or forgets the run, and not those who only point to its row.
_STATE = "SELECT memory FROM runs WHERE run_id = ? FOR NO KEY UPDATE"
_PUT = (
    "INSERT INTO run_memories (run_id, checksum, body) VALUES (?, ?, ?)"
    " ON CONFLICT (run_id) DO UPDATE SET checksum = EXCLUDED.checksum, body = EXCLUDED.body"
)
_GET = "SELECT run_id, checksum, body FROM run_memories WHERE run_id IN ({ids})"
_PAGE = "SELECT run_id, checksum, body FROM run_memories WHERE run_id > ? ORDER BY run_id LIMIT ?"
_LOCKED = "SELECT run_id, checksum, body FROM run_memories WHERE run_id = ? FOR UPDATE"
_DELETE = "DELETE FROM run_memories WHERE run_id = ?"

Sessions = Callable[[], AbstractContextManager[PostgresSession]]


class TableRunMemories:
    """`ports.run_memories.RunMemories` in the table `run_memories`."""

    in_store = True

    def __init__(self, *, reading: Sessions, writing: Sessions) -> None:
        self._reading = reading
        self._writing = writing

    def put(self, memory: RunMemory, owed: Owed | None = None) -> None:
        row = _row(memory)
        with self._writing() as session:
            states = session.rows(_STATE, (memory.run_id,))
            if not states or states[0][0] != MemoryState.PENDING.value:
                return
            # Behind the lock: whoever puts after us, under a newer policy, waits and takes our place.
            if owed is None or is_unchanged(SqlPolicies(session), SqlJobs(session), owed):
                session.run([SqlStatement(sql=_PUT, rows=[row])])

    def note_capture(self, run_id: RunId, capture: CaptureState) -> None:
        if not is_storable(run_id):
            return
        with self._writing() as session:
            states = session.rows(_STATE, (run_id,))
            if not states or states[0][0] != MemoryState.STORED.value:
                return
            rows = session.rows(_LOCKED, (run_id,))
            found = _read(rows[0]) if rows else None
            if isinstance(found, RunMemory) and found.capture is not capture:
                session.run([SqlStatement(sql=_PUT, rows=[_row(found.with_capture(capture))])])

    def get(self, run_id: RunId) -> RunMemory | Unreadable | None:
        return self.get_many((run_id,)).get(run_id)

    def get_many(self, run_ids: tuple[RunId, ...]) -> dict[RunId, RunMemory | Unreadable]:
        found: dict[RunId, RunMemory | Unreadable] = {}
        wanted = dict.fromkeys(run_id for run_id in run_ids if is_storable(run_id))
        if not wanted:
            return found
        with self._reading() as session:
            for chunk in chunks(wanted, IN_LIST_MAX):
                for row in session.rows(_GET.format(ids=in_list(chunk)), chunk):
                    found[RunId(row[0])] = _read(row)
        return {run_id: found[run_id] for run_id in wanted if run_id in found}

    def delete(self, run_id: RunId) -> None:
        if not is_storable(run_id):
            return
        with self._writing() as session:
            session.run([SqlStatement(sql=_DELETE, rows=[(run_id,)])])

    def everything(self) -> Iterator[RunMemory | Unreadable]:
        """All rows, by run id, in pages of their own: no transaction is open while the caller works."""
        after = ""
        while True:
            with self._reading() as session:
                rows = session.rows(_PAGE, (after, PAGE_ROWS))
            yield from map(_read, rows)
            if len(rows) < PAGE_ROWS:
                return
            after = rows[-1][0]

    def fingerprint(self) -> str:
        """Nothing comes or goes here but by the store."""
        return ""

    def discard(self, found: Unreadable) -> bool:
        if found.run_id is None:
            return False
        with self._writing() as session:
            rows = session.rows(_LOCKED, (found.run_id,))
            if not rows or isinstance(_read(rows[0]), RunMemory):
                return False
            session.run([SqlStatement(sql=_DELETE, rows=[(found.run_id,)])])
        return True


def _row(memory: RunMemory) -> tuple[SqlValue, ...]:
    body = body_of(memory)
    return (memory.run_id, checksum_of(body), body.decode())


def _read(row: Row) -> RunMemory | Unreadable:
    run_id, checksum, body = row
    try:
        return memory_of(body.encode(), checksum=checksum, run_id=RunId(run_id))
    except Corrupt as error:
        return unreadable(RunId(run_id), f"run_memories: {run_id}", error)
