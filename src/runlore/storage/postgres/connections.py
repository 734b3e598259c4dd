"""Connections to the server: how they are made, checked and kept, and how stuck ones are ended.

A session is stuck whose process stands still in the middle of a write while it keeps somebody out. Nothing
is asked of the server about it while every transaction is over within a moment.
"""

import logging
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import TupleRow
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool

from runlore.domain.errors import RunloreError, Unavailable
from runlore.storage import migrate
from runlore.storage.postgres.session import DRIVER_ERRORS, ServerAddress, to_driver_sql
from runlore.storage.sql.session import Dialect, Row

CONNECT_TIMEOUT_S = 3
CONNECTIONS_MAX = 8
CONNECTION_WAIT_S = 5.0
STATEMENT_TIMEOUT_MS = 30_000
# A daemon that was suspended in the middle of a write must not keep others out for long; whoever reads, an
# export to a slow disk perhaps, keeps nobody out.
IDLE_TIMEOUT_MS = 10_000
IDLE_READER_TIMEOUT_MS = 300_000
CHECK_AFTER_S = 1.0
OLDEST_SERVER = 130_000
_PRODUCT = "runlore"
# The sessions of one process have one name: where one of them stands still, the others do.
_APPLICATION = f"{_PRODUCT} {os.getpid()}-{secrets.token_hex(4)}"


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """How long others are waited for.

    Whoever waits for a lock outlasts a process that stands still with it: that one is ended before.
    """

    lock_ms: int = 12_000
    stuck_ms: int = 7_000
    look_s: float = 1.0


# The server's own limit is for whoever idles between two round trips, and it is off where the driver has
# sent a Flush behind the last of them, as it does when an answer had to be waited for. Within a round trip
# there is no limit at all. So whoever is kept out ends such a session, before the server can: with it go
# those of the same process that wait for a lock, or they would stand still with it one after the other.
_END_STUCK = """
    WITH ours AS (
        SELECT pid, application_name, wait_event_type,
            wait_event_type = 'Client' AND state IN ('active', 'idle in transaction')
            AND (backend_xid IS NOT NULL OR EXISTS (
                SELECT FROM pg_locks WHERE pg_locks.pid = activity.pid AND locktype = 'advisory' AND granted))
            AND clock_timestamp() - state_change > %s * interval '1 millisecond' AS is_stuck
        FROM pg_stat_activity AS activity
        WHERE datname = current_database() AND usename = current_user
            AND application_name LIKE %s AND pid <> pg_backend_pid()
    )
    SELECT pg_terminate_backend(pid) FROM ours
    WHERE is_stuck OR (
        wait_event_type = 'Lock' AND application_name <> %s
        AND application_name IN (SELECT application_name FROM ours WHERE is_stuck)
    )
"""

_SETTINGS = (
    f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}",
    f"SET idle_in_transaction_session_timeout = {IDLE_TIMEOUT_MS}",
    "SET client_encoding = 'UTF8'",
    # A commit that is not on the disk when it is acknowledged is no commit; what is stricter stays.
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'",
)
_PARAMETERS: dict[str, Any] = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "application_name": _APPLICATION,
}

# The pool logs lost connections, which an unconfigured program prints; the operation that meets one tells it.
logging.getLogger("psycopg").addHandler(logging.NullHandler())
_log = logging.getLogger(__name__)


class Connection(psycopg.Connection[TupleRow]):
    """A connection that knows when it was last used, in the seconds of `time.monotonic`."""

    used_at = 0.0

    def note_use(self) -> None:
        self.used_at = time.monotonic()


def connect(url: str, server: ServerAddress, patience: Timeouts | None = None) -> Connection:
    try:
        connection = Connection.connect(url, autocommit=True, **_PARAMETERS)
    except DRIVER_ERRORS as error:
        raise server.unreachable(error) from error
    try:
        _check_server(connection, server)
        _configure(connection, patience or Timeouts())
    except DRIVER_ERRORS as error:
        connection.close()
        raise server.translate(error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def make_pool(url: str, patience: Timeouts) -> ConnectionPool[Connection]:
    def configure(connection: psycopg.Connection[TupleRow]) -> None:
        _configure(connection, patience)

    return ConnectionPool(
        url,
        connection_class=Connection,
        kwargs=_PARAMETERS,
        # The first who asks makes the first one: whoever only just started would get two.
        min_size=0,
        max_size=CONNECTIONS_MAX,
        open=True,
        configure=configure,
        check=_check,
        timeout=CONNECTION_WAIT_S,
        # A failed attempt is given up soon: the next one who asks tries at once, and does not wait for it.
        reconnect_timeout=CONNECTION_WAIT_S,
        num_workers=2,
        name="runlore",
    )


def end_stuck(connection: Connection, patience: Timeouts) -> None:
    """End sessions of Runlore whose process stands still while it keeps others out."""
    asked = (patience.stuck_ms, f"{_PRODUCT} %", _APPLICATION)
    ended = connection.execute(_END_STUCK, asked).rowcount
    if ended:
        _log.warning("%d connections were ended whose processes had stopped in the middle of a write", ended)


def _configure(connection: psycopg.Connection[TupleRow], patience: Timeouts) -> None:
    autocommit = connection.autocommit
    connection.autocommit = True
    # One size for all numbers, or every size would be a statement of its own to the server.
    connection.adapters.register_dumper(int, Int8Dumper)
    for setting in (*_SETTINGS, f"SET lock_timeout = {patience.lock_ms}"):
        connection.execute(setting)
    connection.autocommit = autocommit


def _check(connection: Connection) -> None:
    """Ask before use whether the server is still there, unless it answered a moment ago."""
    if time.monotonic() - connection.used_at > CHECK_AFTER_S:
        ConnectionPool.check_connection(connection)


def _check_server(connection: Connection, server: ServerAddress) -> None:
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        raise Unavailable(
            f"{server.name} is PostgreSQL {version // 10_000}, and 13 or later is needed",
            code="store.unsupported",
            hint="update the server, or leave RUNLORE_DATABASE_URL out for SQLite",
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise Unavailable(
            f"{server.name} stores text as {encoding}, and UTF8 is needed",
            code="store.unsupported",
            hint="create the database with the encoding UTF8, from template0",
        )


class StuckSessions:
    """Has them ended by a thread with a connection of its own: all others may be waiting."""

    def __init__(self, connect: Callable[[], Connection], patience: Timeouts) -> None:
        self._connect = connect
        self._patience = patience
        self._lock = threading.Lock()
        self._began_at: dict[object, float] = {}
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    @contextmanager
    def watch(self) -> Iterator[None]:
        token = object()
        with self._lock:
            self._began_at[token] = time.monotonic()
            if self._thread is None:
                thread = threading.Thread(target=self._look, name="runlore-stuck-sessions", daemon=True)
                # Where there can be no thread, the server's own limits are left.
                with suppress(RuntimeError):
                    thread.start()
                    self._thread = thread
        try:
            yield
        finally:
            with self._lock:
                del self._began_at[token]

    def close(self) -> None:
        self._closed.set()

    def _look(self) -> None:
        while not self._closed.wait(self._patience.look_s):
            if self._is_anybody_waiting():
                # A server that cannot be asked now is asked again.
                with suppress(RunloreError, *DRIVER_ERRORS), closing(self._connect()) as connection:
                    end_stuck(connection, self._patience)

    def _is_anybody_waiting(self) -> bool:
        since = time.monotonic() - self._patience.look_s
        with self._lock:
            return any(began_at < since for began_at in self._began_at.values())


# Table, column, whether it is text, whether it may be NULL, and its place in the primary key (0: none).
COLUMNS = (
    "SELECT t.relname::text, c.attname::text, c.atttypid = 'text'::regtype, NOT c.attnotnull,"
    " COALESCE(array_position(k.conkey, c.attnum), 0)"
    " FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped"
    " LEFT JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype = 'p'"
    " WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace"
    ' ORDER BY t.relname COLLATE "C", c.attnum'
)
# Table and column, and the table and column that a value of it has to be found in.
REFERENCES = (
    "SELECT t.relname::text, c.attname::text, p.relname::text, q.attname::text FROM pg_constraint k"
    " JOIN pg_class t ON t.oid = k.conrelid JOIN pg_class p ON p.oid = k.confrelid"
    " JOIN pg_attribute c ON c.attrelid = k.conrelid AND c.attnum = k.conkey[1]"
    " JOIN pg_attribute q ON q.attrelid = k.confrelid AND q.attnum = k.confkey[1]"
    " WHERE k.contype = 'f' AND t.relnamespace = current_schema()::regnamespace"
    ' ORDER BY t.relname COLLATE "C", k.conname COLLATE "C"'
)
MIGRATION_WAIT_MS = 60_000
# Any number that no scope is likely to hash to; locks are per database.
_MIGRATION_LOCK = 0x52554E4C4F5245
_TEXT = re.compile(r"\bTEXT\b")

# Transactions that started earlier may commit later, so the cursor is the oldest that was still running.
_CHANGE = "pg_current_xact_id()::text::bigint"
_CURSOR = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
_STORE_ID = (
    "(SELECT value FROM store_meta WHERE name = 'store_id')"
    " || '-' || (SELECT oid FROM pg_database WHERE datname = current_database())"
)
# A restored or promoted server is another one, even where all else looks the same.
_CLUSTER = (
    " || '-' || (SELECT system_identifier FROM pg_control_system())"
    " || '-' || (SELECT timeline_id FROM pg_control_checkpoint())"
)
_MAY_SEE_CLUSTER = (
    "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')"
    " AND has_function_privilege('pg_control_checkpoint()', 'EXECUTE')"
)
_FROM_THE_FUTURE = (
    "SELECT GREATEST((SELECT max(change) FROM records), (SELECT max(change) FROM runs), 0)"
    " >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
)


def prepare(connection: Connection) -> Dialect:
    """Migrate under a lock; the expressions to use with this server."""
    connection.execute(f"SET lock_timeout = {MIGRATION_WAIT_MS}")
    connection.execute("SET statement_timeout = 0")
    connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
    try:
        target = PostgresTarget(connection)
        migrate.migrate(target, store_id=secrets.token_hex(16))
        _renumber_if_restored(target)
    finally:
        if not connection.broken:
            connection.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATION_LOCK,))
    may_see_cluster = connection.execute(_MAY_SEE_CLUSTER).fetchall()[0][0]
    store_id = _STORE_ID + (_CLUSTER if may_see_cluster else "")
    return Dialect(
        change=_CHANGE,
        position=f"SELECT {store_id}, {_CURSOR}",
        settled=_CURSOR,
        for_update=" FOR UPDATE",
        skip_locked=" FOR UPDATE SKIP LOCKED",
        columns=COLUMNS,
        references=REFERENCES,
        keeps_run_memories=True,
    )


def _renumber_if_restored(target: "PostgresTarget") -> None:
    """Numbers of another server's transactions mean nothing here: a dump that was restored starts over."""
    if not target.rows(_FROM_THE_FUTURE)[0][0]:
        return
    with target.transaction():
        target.rows("UPDATE records SET change = 0")
        target.rows("UPDATE runs SET change = 0")
        target.rows("DELETE FROM scope_departures")
        target.rows("UPDATE store_meta SET value = ? WHERE name = 'store_id'", secrets.token_hex(16))


class PostgresTarget:
    """`migrate.Target` on a PostgreSQL connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._connection.transaction():
            yield

    def has_table(self, name: str) -> bool:
        return bool(
            self.rows("SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?", name)
        )

    def rows(self, sql: str, *parameters: str | int) -> list[Row]:
        cursor = self._connection.execute(to_driver_sql(sql), parameters)
        return cursor.fetchall() if cursor.description else []

    def run(self, sql: str) -> None:
        """Text is compared byte by byte, as in SQLite, whatever the server's locale."""
        self._connection.execute(to_driver_sql(_TEXT.sub('TEXT COLLATE "C"', sql)))
