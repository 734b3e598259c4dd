"""Connections to the server: how they are made, checked and kept."""

import logging
import time
from typing import Any

import psycopg
from psycopg.rows import TupleRow
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool

from runlore.domain.errors import Unavailable
from runlore.storage.postgres.errors import DRIVER_ERRORS, Server

CONNECT_TIMEOUT_S = 3
CONNECTIONS_MAX = 8
CONNECTION_WAIT_S = 5.0
STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 5_000
# A daemon that was suspended in the middle of a write must not keep others out for long; whoever reads, an
# export to a slow disk perhaps, keeps nobody out.
IDLE_TIMEOUT_MS = 10_000
IDLE_READER_TIMEOUT_MS = 300_000
CHECK_AFTER_S = 1.0
OLDEST_SERVER = 130_000
_APPLICATION = "runlore"

# The server's own limit is for whoever idles between two round trips. Within one it waits for what comes next
# without any limit, whatever rows are locked: such a session has to be ended by others.
_END_STUCK = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND usename = current_user AND application_name = %s"
    " AND state = 'active' AND wait_event_type = 'Client' AND backend_xid IS NOT NULL"
    " AND clock_timestamp() - state_change > %s * interval '1 millisecond'"
)

_SETTINGS = (
    f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}",
    f"SET lock_timeout = {LOCK_TIMEOUT_MS}",
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


def connect(url: str, server: Server) -> Connection:
    """A connection of its own, with our settings, to a server that we can work with."""
    try:
        connection = Connection.connect(url, autocommit=True, **_PARAMETERS)
    except DRIVER_ERRORS as error:
        raise server.unreachable(error) from error
    try:
        _check_server(connection, server)
        _configure(connection)
    except DRIVER_ERRORS as error:
        connection.close()
        raise server.translated(error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def make_pool(url: str) -> ConnectionPool[Connection]:
    """A few kept connections, made again when the server was away."""
    return ConnectionPool(
        url,
        connection_class=Connection,
        kwargs=_PARAMETERS,
        min_size=1,
        max_size=CONNECTIONS_MAX,
        open=True,
        configure=_configure,
        check=_check,
        timeout=CONNECTION_WAIT_S,
        # A failed attempt is given up soon: the next one who asks tries at once, and does not wait for it.
        reconnect_timeout=CONNECTION_WAIT_S,
        num_workers=2,
        name="runlore",
    )


def end_stuck(connection: Connection) -> None:
    """End our sessions whose process has stopped in the middle of a round trip that has written already."""
    ended = connection.execute(_END_STUCK, (_APPLICATION, IDLE_TIMEOUT_MS)).rowcount
    connection.commit()
    if ended:
        _log.warning("%d connections were ended whose processes had stopped in the middle of a write", ended)


def _configure(connection: psycopg.Connection[TupleRow]) -> None:
    autocommit = connection.autocommit
    connection.autocommit = True
    # One size for all numbers, or every size would be a statement of its own to the server.
    connection.adapters.register_dumper(int, Int8Dumper)
    for setting in _SETTINGS:
        connection.execute(setting)
    connection.autocommit = autocommit


def _check(connection: Connection) -> None:
    """Ask before use whether the server is still there, unless it answered a moment ago."""
    if time.monotonic() - connection.used_at > CHECK_AFTER_S:
        ConnectionPool.check_connection(connection)


def _check_server(connection: Connection, server: Server) -> None:
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
            hint="create the database with: createdb --encoding=UTF8 --template=template0 NAME",
        )
