"""The store on PostgreSQL, which several daemons may share."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Self

from psycopg import IsolationLevel
from psycopg_pool import ConnectionPool, PoolTimeout

from runlore.domain.errors import RunloreError, Unavailable
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
from runlore.storage.postgres.errors import DRIVER_ERRORS, ServerAddress
from runlore.storage.postgres.run_memories import TableRunMemories
from runlore.storage.postgres.session import PostgresSession
from runlore.storage.sql import health, positions
from runlore.storage.sql.session import Dialect
from runlore.storage.sql.transaction import SqlSnapshot, SqlTransaction

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
            try:
                if session.rows_written >= ANALYZE_AFTER_ROWS:
                    connection.execute(f"ANALYZE {', '.join(_LARGE)}")
                connection.commit()
            except DRIVER_ERRORS as error:
                raise self._server.translate(error) from error

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
        with self._session(IsolationLevel.REPEATABLE_READ, read_only=True) as (_, session):
            # The first statement is what fixes the snapshot.
            session.rows(_BEGIN_READING)
            yield session

    @contextmanager
    def _writing(self) -> Iterator[PostgresSession]:
        """A transaction for what is no collection of the store's; committed at its end."""
        with self._session(IsolationLevel.READ_COMMITTED, read_only=False) as (connection, session):
            yield session
            try:
                connection.commit()
            except DRIVER_ERRORS as error:
                raise self._server.translate(error) from error

    @contextmanager
    def _session(
        self, isolation: IsolationLevel, *, read_only: bool
    ) -> Iterator[tuple[Connection, PostgresSession]]:
        """A connection whose transaction is rolled back when nobody has committed it."""
        with nullcontext() if read_only else self._stuck.watch():
            connection = self._take_connection()
            session = PostgresSession(connection, self._server, self._dialect)
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
