"""One SQLite connection as the shared SQL sees it."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

import apsw

from runlore.domain.errors import Unavailable
from runlore.storage.sql.session import STREAM_ROWS, Dialect, Parameters, Row, Spoilable, SqlStatement
from runlore.storage.sqlite.disk_space import DiskSpace
from runlore.storage.sqlite.errors import DRIVER_ERRORS, WriteHealth

# Table, column, whether it is text, whether it may be NULL, and its place in the primary key (0: none).
COLUMNS = (
    "SELECT t.name, c.name, c.type = 'TEXT', c.\"notnull\" = 0, c.pk"
    " FROM sqlite_schema t, pragma_table_info(t.name) c"
    " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY t.name, c.cid"
)
# Table and column, and the table and column that a value of it has to be found in.
REFERENCES = (
    'SELECT t.name, r."from", r."table", r."to" FROM sqlite_schema t, pragma_foreign_key_list(t.name) r'
    " WHERE t.type = 'table' ORDER BY t.name, r.id"
)
LATEST_CHANGE = (
    "max((SELECT COALESCE(max(change), 0) FROM records), (SELECT COALESCE(max(change), 0) FROM runs))"
)
DIALECT = Dialect(
    change="current_change()",
    position=(f"SELECT (SELECT value FROM store_meta WHERE name = 'store_id'), (SELECT {LATEST_CHANGE} + 1)"),
    # Whoever writes is alone, so no number is overtaken.
    settled=str(2**63 - 1),
    for_update="",
    skip_locked="",
    columns=COLUMNS,
    references=REFERENCES,
    keeps_run_memories=False,
)
_CONNECTION_PRAGMAS = (
    "foreign_keys = ON",
    "secure_delete = ON",
    "synchronous = FULL",
    "fullfsync = ON",
    "checkpoint_fullfsync = ON",
    "wal_autocheckpoint = 0",
    # What a sort or a rolled-back step holds would otherwise reach a file in a shared folder.
    "temp_store = MEMORY",
    "trusted_schema = OFF",
    "cell_size_check = ON",
    "cache_size = -8192",
)
BUSY_TIMEOUT_MS = 5_000


def connect(path: str, *, writing: bool) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READWRITE if writing else apsw.SQLITE_OPEN_READONLY
    connection = apsw.Connection(path, flags=flags)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        for pragma in _CONNECTION_PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


class SqliteSession(Spoilable):
    """`sql.session.Session` on a connection whose transaction somebody else begins and ends."""

    dialect = DIALECT

    def __init__(
        self, connection: apsw.Connection, health: WriteHealth, room: DiskSpace | None = None
    ) -> None:
        self._connection = connection
        self._health = health
        self._room = room
        self._streams: set[apsw.Cursor] = set()

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except DRIVER_ERRORS as error:
            raise self._health.translate(error) from error

    def stream(
        self,
        sql: str,
        parameters: Parameters = (),
        *,
        at_once: int = STREAM_ROWS,  # noqa: ARG002 - SQLite hands over one row at a time.
    ) -> Iterator[Row]:
        cursor = self._connection.cursor()
        self._streams.add(cursor)
        try:
            yield from cursor.execute(sql, parameters)
        except DRIVER_ERRORS as error:
            raise self._health.translate(error) from error
        finally:
            self._streams.discard(cursor)
            cursor.close()

    def run(self, statements: Sequence[SqlStatement]) -> list[int]:
        counts = []
        try:
            for sql, rows in statements:
                before = self._connection.total_changes()
                if rows:
                    self._connection.executemany(sql, rows)
                counts.append(self._connection.total_changes() - before)
        except DRIVER_ERRORS as error:
            raise self._health.translate(error) from error
        return counts

    def lock(self, numbers: Iterable[int]) -> None:
        """Nothing to do: whoever writes to SQLite is alone."""

    def make_room(self, *, freeing: bool) -> None:
        if self._room is not None:
            self._room.make(freeing=freeing)

    def end(self) -> None:
        """Close what is still being read, so that the connection can be used for something else."""
        for cursor in tuple(self._streams):
            cursor.close()
        self._streams.clear()


READERS_MAX = 8
READER_WAIT_S = 5.0


class ReaderPool:
    """Connections for snapshots, made when first needed and kept."""

    def __init__(self, path: str, health: WriteHealth) -> None:
        self._path = path
        self._health = health
        self._free = threading.BoundedSemaphore(READERS_MAX)
        self._idle: list[apsw.Connection] = []
        self._is_closed = False

    @contextmanager
    def session(self) -> Iterator[SqliteSession]:
        if not self._free.acquire(timeout=READER_WAIT_S):
            raise Unavailable(
                f"{READERS_MAX} others are reading already",
                code="store.busy",
                hint="try again when a running export or search has ended",
            )
        try:
            connection = self._begin()
            session = SqliteSession(connection, self._health)
            try:
                yield session
            finally:
                session.end()
                self._end(connection)
        finally:
            self._free.release()

    def close(self) -> None:
        """Close what is idle; what is in use closes when it is given back."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    def _begin(self) -> apsw.Connection:
        connection = self._idle_one()
        try:
            connection = connection or connect(self._path, writing=False)
            connection.execute("BEGIN")
            # The first read is what fixes the snapshot.
            connection.execute("SELECT 1 FROM store_meta LIMIT 1").fetchall()
        except DRIVER_ERRORS as error:
            if connection is not None:
                connection.close()
            raise self._health.translate(error) from error
        return connection

    def _idle_one(self) -> apsw.Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _end(self, connection: apsw.Connection) -> None:
        with suppress(*DRIVER_ERRORS):
            connection.execute("ROLLBACK")
            if not self._is_closed:
                self._idle.append(connection)
                return
        connection.close()
