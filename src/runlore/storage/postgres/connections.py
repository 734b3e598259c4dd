"""Connections to the server: how they are made, checked and kept, and how stuck ones are ended.

A session is stuck whose process stands still in the middle of a write while it keeps somebody out. Nothing
is asked of the server about it while every transaction is over within a moment.
"""

import logging
import os
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
from runlore.storage.postgres.errors import DRIVER_ERRORS, ServerAddress

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
        """The server has answered just now."""
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
        min_size=1,
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
