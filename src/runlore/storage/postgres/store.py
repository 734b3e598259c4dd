"""The store on PostgreSQL, which several daemons may share; run memories are rows there."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Self

from psycopg import IsolationLevel
from psycopg_pool import ConnectionPool, PoolTimeout

from runlore.domain.batches import into_batches
from runlore.domain.errors import CONNECTION_LOST, Corrupt, RunloreError, Unavailable
from runlore.domain.prompts.run_memory import CaptureState, RunMemory
from runlore.domain.run import MemoryState, RunId
from runlore.domain.text.safe_text import is_storable
from runlore.ports.run_memories import MemoryTerms, Unreadable
from runlore.ports.store import Snapshot, StorePosition, Transaction
from runlore.storage import migrate
from runlore.storage.postgres.connections import (
    CONNECTIONS_MAX,
    IDLE_READER_TIMEOUT_MS,
    Connection,
    StuckSessions,
    Timeouts,
    connect,
    make_pool,
    prepare,
)
from runlore.storage.postgres.session import DRIVER_ERRORS, PostgresSession, ServerAddress
from runlore.storage.run_memory_body import body_of, checksum_of, is_unchanged, memory_of, unreadable
from runlore.storage.sql import health, positions
from runlore.storage.sql.jobs import SqlJobs
from runlore.storage.sql.policies import SqlPolicies
from runlore.storage.sql.session import IN_LIST_MAX, Dialect, Row, SqlValue, in_list, rows_of
from runlore.storage.sql.transaction import SqlSnapshot, SqlTransaction

PAGE_ROWS = 500

# The lock holds off whoever prunes or forgets the run, and not those who only point to its row.
_STATE = "SELECT memory FROM runs WHERE run_id = ? FOR NO KEY UPDATE"
_STORED = (
    "SELECT run_id, memory FROM runs WHERE run_id IN ({ids}) AND memory = 'stored' ORDER BY run_id"
    " FOR NO KEY UPDATE"
)
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

    def put(self, memory: RunMemory, owed: MemoryTerms | None = None) -> None:
        row = _row(memory)
        with self._writing() as session:
            states = session.rows(_STATE, (memory.run_id,))
            if not states or states[0][0] != MemoryState.PENDING.value:
                return
            # Behind the lock: whoever puts after us, under a newer policy, waits and takes our place.
            if owed is None or is_unchanged(SqlPolicies(session), SqlJobs(session), owed):
                session.run([(_PUT, [row])])

    def note_captures(self, states: Mapping[RunId, CaptureState]) -> None:
        if not any(map(is_storable, states)):
            return
        with self._writing() as session:
            stored = {run_id for run_id, _ in rows_of(session, _STORED, states)}
            found = [_read(row) for row in rows_of(session, _GET + " FOR UPDATE", stored)]
            noted = [each for each in found if isinstance(each, RunMemory)]
            changed = [each for each in noted if each.capture is not states[each.run_id]]
            session.run([(_PUT, [_row(each.with_capture(states[each.run_id])) for each in changed])])

    def get(self, run_id: RunId) -> RunMemory | Unreadable | None:
        return self.get_many((run_id,)).get(run_id)

    def get_many(self, run_ids: tuple[RunId, ...]) -> dict[RunId, RunMemory | Unreadable]:
        found: dict[RunId, RunMemory | Unreadable] = {}
        wanted = dict.fromkeys(run_id for run_id in run_ids if is_storable(run_id))
        if not wanted:
            return found
        with self._reading() as session:
            for chunk in into_batches(wanted, IN_LIST_MAX):
                for row in session.rows(_GET.format(ids=in_list(chunk)), chunk):
                    found[RunId(row[0])] = _read(row)
        return {run_id: found[run_id] for run_id in wanted if run_id in found}

    def delete(self, run_id: RunId) -> None:
        if not is_storable(run_id):
            return
        with self._writing() as session:
            session.run([(_DELETE, [(run_id,)])])

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
            session.run([(_DELETE, [(found.run_id,)])])
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


_CLOSE_WAIT_S = 5.0
_BEGIN_READING = f"SELECT set_config('idle_in_transaction_session_timeout', '{IDLE_READER_TIMEOUT_MS}', true)"
# After an import the server would plan for empty tables until its own housekeeping comes by.
ANALYZE_AFTER_ROWS = 10_000
_LARGE = ("records", "record_events", "runs", "journal", "texts")
_ERASED_FROM = ("record_events", "records", "record_sources", "journal", "texts", "run_memories")


class PostgresStore:
    """One database of a server."""

    def __init__(self, url: str, server: ServerAddress, dialect: Dialect, patience: Timeouts) -> None:
        self._url = url
        self._server = server
        self._dialect = dialect
        self._patience = patience
        self._pool: ConnectionPool[Connection] = make_pool(url, patience)
        self._stuck = StuckSessions(lambda: connect(url, server), patience)
        self._is_open = True
        self._here = threading.local()

    @classmethod
    def open(cls, url: str, patience: Timeouts | None = None) -> Self:
        server = ServerAddress(url)
        connection = connect(url, server)
        try:
            dialect = prepare(connection)
        except DRIVER_ERRORS as error:
            raise server.translate(error) from error
        finally:
            connection.close()
        return cls(url, server, dialect, patience or Timeouts())

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A write transaction. What it read is checked again by revisions and by `lock`."""
        with self._session(IsolationLevel.READ_COMMITTED, read_only=False) as (connection, session):
            transaction = SqlTransaction(session)
            yield transaction
            transaction.check()
            if session.rows_written >= ANALYZE_AFTER_ROWS:
                session.run([(f"ANALYZE {', '.join(_LARGE)}", [()])])
            self._commit(connection, session)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        with self._reading() as session:
            yield SqlSnapshot(session)

    def run_memories(self) -> TableRunMemories:
        return TableRunMemories(reading=self._reading, writing=self._writing)

    @property
    def is_shared(self) -> bool:
        return True

    def is_current(self, position: StorePosition) -> bool:
        with self._reading() as session:
            return positions.is_current(session, position)

    def commits_here(self) -> int:
        return getattr(self._here, "commits", 0)

    def scrub(self) -> None:
        """Give the space of erased rows back for new ones; the docs say what the server still holds."""
        self._check_open()
        connection = connect(self._url, self._server)
        try:
            connection.execute("SET statement_timeout = 0")
            for table in _ERASED_FROM:
                connection.execute(f"VACUUM {table}")
        except DRIVER_ERRORS as error:
            raise self._server.translate(error) from error
        finally:
            connection.close()

    def problems(self) -> tuple[str, ...]:
        """What our checksums find wrong; the server looks after its own pages."""
        with self._reading() as session:
            return health.problems(session)

    def refusal(self) -> RunloreError | None:
        return None

    def description(self) -> dict[str, str | int]:
        with self._reading() as session:
            version, size, fsync = session.rows(
                "SELECT current_setting('server_version'), pg_database_size(current_database()),"
                " current_setting('fsync')"
            )[0]
        return {
            "engine": "postgresql",
            "version": version,
            "schema": migrate.load_migrations()[-1].number,
            "location": self._server.name,
            "bytes": size,
            "writes": "ready" if fsync == "on" else "ready, but the server does not sync them (fsync is off)",
        }

    def close(self) -> None:
        self._is_open = False
        self._stuck.close()
        self._pool.close(timeout=_CLOSE_WAIT_S)

    @contextmanager
    def _reading(self) -> Iterator[PostgresSession]:
        with ExitStack() as stack:
            try:
                session = self._begin_reading(stack)
            except Unavailable as error:
                if error.code != CONNECTION_LOST:
                    raise
                stack.close()
                session = self._begin_reading(stack)
            yield session

    def _begin_reading(self, stack: ExitStack) -> PostgresSession:
        opened = self._session(IsolationLevel.REPEATABLE_READ, read_only=True)
        _, session = stack.enter_context(opened)
        # The first statement is what fixes the snapshot, and says whether the server is still there.
        session.rows(_BEGIN_READING)
        return session

    @contextmanager
    def _writing(self) -> Iterator[PostgresSession]:
        """A transaction for what is no collection of the store's; committed at its end."""
        with self._session(IsolationLevel.READ_COMMITTED, read_only=False) as (connection, session):
            yield session
            self._commit(connection, session)

    def _commit(self, connection: Connection, session: PostgresSession) -> None:
        """Whoever stood still has been ended by others: that is found out before the commit, where it is
        certain that nothing was written, and not by it."""
        if session.is_stale():
            session.rows("SELECT 1")
        try:
            connection.commit()
        except DRIVER_ERRORS as error:
            raise self._server.translate_at_commit(error) from error
        self._here.commits = self.commits_here() + 1

    @contextmanager
    def _session(
        self, isolation: IsolationLevel, *, read_only: bool
    ) -> Iterator[tuple[Connection, PostgresSession]]:
        """A connection whose transaction is rolled back when nobody has committed it."""
        with nullcontext() if read_only else self._stuck.watch():
            connection = self._take_connection()
            session = PostgresSession(connection, self._server, self._dialect, is_snapshot=read_only)
            try:
                connection.isolation_level = isolation
                connection.read_only = read_only
                yield connection, session
            finally:
                session.end()
                self._give_back(connection)

    def _take_connection(self) -> Connection:
        self._check_open()
        try:
            try:
                return self._pool.getconn()
            except PoolTimeout:
                if not self._is_full():
                    raise
                # Whoever has them may wait for a process that stands still, and is helped before long.
                return self._pool.getconn(self._patience.lock_ms / 1_000)
        except PoolTimeout as error:
            raise self._no_connection(error) from error
        except DRIVER_ERRORS as error:
            raise self._server.translate(error) from error

    def _give_back(self, connection: Connection) -> None:
        try:
            connection.rollback()
            connection.note_use()
        except DRIVER_ERRORS:
            # A lost connection has no transaction left; the pool replaces it.
            connection.close()
        self._pool.putconn(connection)

    def _no_connection(self, error: PoolTimeout) -> Unavailable:
        if self._is_full():
            return self._server.busy(f"all {CONNECTIONS_MAX} connections are in use")
        return self._server.unreachable(error)

    def _is_full(self) -> bool:
        return self._pool.get_stats().get("pool_size", 0) >= CONNECTIONS_MAX

    def _check_open(self) -> None:
        if not self._is_open:
            raise Unavailable("the store is closed", code="store.closed", hint="open it again")
