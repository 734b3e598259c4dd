"""One PostgreSQL transaction as the shared SQL sees it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import count
from time import monotonic

import psycopg
from psycopg import conninfo, errors
from psycopg_pool import PoolClosed, PoolTimeout

from runlore.domain.batches import into_batches
from runlore.domain.errors import (
    COMMIT_LOST,
    CONNECTION_LOST,
    DISK_FULL,
    UNREACHABLE,
    Corrupt,
    Invalid,
    RunloreError,
    Unavailable,
)
from runlore.storage.sql.record_rows import unstorable
from runlore.storage.sql.session import (
    IN_LIST_MAX,
    STREAM_ROWS,
    Dialect,
    Parameters,
    Row,
    Spoilable,
    SqlStatement,
)

DRIVER_ERRORS = (psycopg.Error, UnicodeError, OverflowError)
_TRY_AGAIN = (
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.LockNotAvailable,
    errors.QueryCanceled,
)
_TOO_LARGE = (errors.ProgramLimitExceeded, errors.NumericValueOutOfRange, OverflowError)
_DAMAGE = (errors.DataCorrupted, errors.IndexCorrupted, errors.UndefinedTable, errors.UndefinedColumn)
_LOST = (psycopg.OperationalError, psycopg.InterfaceError)


class ServerAddress:
    """What an address says about the server, without its secrets."""

    def __init__(self, url: str) -> None:
        try:
            parts = conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            # The driver's message quotes the part that it cannot read, which may be the password.
            raise Invalid(
                "the database URL cannot be read",
                code="store.url",
                hint="write it as postgresql://USER@HOST/DATABASE, special characters as %-escapes",
            ) from None
        self._password = str(parts.get("password") or "")
        host, port = parts.get("host") or "the local socket", parts.get("port") or 5432
        self.name = f"{parts.get('dbname') or parts.get('user') or 'the default database'} on {host}:{port}"

    def translate(self, error: Exception) -> RunloreError:
        if isinstance(error, UnicodeError | errors.UntranslatableCharacter | errors.CharacterNotInRepertoire):
            return unstorable()
        if isinstance(error, psycopg.DataError) and "NUL" in str(error):
            return unstorable()
        if isinstance(error, _TOO_LARGE):
            return Invalid(
                f"a value is too large: {self._redact(error)}",
                code="record.json",
                hint="use smaller numbers and texts",
            )
        if isinstance(error, _TRY_AGAIN):
            return self.busy(self._redact(error))
        return self._translate_other(error)

    def busy(self, why: str) -> Unavailable:
        return Unavailable(
            f"{self.name} is busy: {why}", code="store.busy", hint="try again; nothing was written"
        )

    def unreachable(self, error: Exception) -> Unavailable:
        return Unavailable(
            f"{self.name} cannot be reached: {self._redact(error)}",
            code=UNREACHABLE,
            hint="start the server, or correct RUNLORE_DATABASE_URL; what was acknowledged is kept",
        )

    def translate_in_transaction(self, error: Exception) -> RunloreError:
        """What went wrong with a statement. Where the connection was lost before the commit nothing was
        written: the server was stopped, or another process has ended a write that stood still."""
        told = self.translate(error)
        if told.code != UNREACHABLE:
            return told
        return Unavailable(
            f"the connection to {self.name} was lost: {self._redact(error)}",
            code=CONNECTION_LOST,
            hint="try again; nothing was written",
        )

    def translate_at_commit(self, error: Exception) -> RunloreError:
        """What went wrong with a commit: where the connection was lost nobody knows whether it was done."""
        told = self.translate(error)
        if told.code != UNREACHABLE:
            return told
        return Unavailable(
            f"the connection to {self.name} was lost at the commit: {self._redact(error)}",
            code=COMMIT_LOST,
            hint="it may be written or not: repeat the call with the same idempotency key, or read",
        )

    def _translate_other(self, error: Exception) -> RunloreError:
        if isinstance(error, errors.DiskFull | errors.OutOfMemory | errors.TooManyConnections):
            return Unavailable(
                f"{self.name} has no room left: {self._redact(error)}",
                code=DISK_FULL if isinstance(error, errors.DiskFull) else "store.busy",
                hint="free some on the server, then try again; nothing was written",
            )
        if isinstance(error, _DAMAGE):
            return Corrupt(
                f"{self.name} is damaged: {self._redact(error)}",
                code="store.damaged",
                hint="nothing was written; restore the database from a backup or an export",
            )
        if isinstance(error, errors.ReadOnlySqlTransaction | errors.InsufficientPrivilege):
            return Unavailable(
                f"{self.name} cannot be written: {self._redact(error)}",
                code="store.read-only",
                hint="name the primary server, and a role that owns the tables",
            )
        if isinstance(error, (*_LOST, PoolClosed, PoolTimeout)):
            return self.unreachable(error)
        return Unavailable(
            f"{self.name} answered with an error: {self._redact(error)} ({type(error).__name__})",
            code="store.server",
            hint="look at the server's log",
        )

    def _redact(self, error: Exception) -> str:
        text = " ".join(str(error).split())
        return text.replace(self._password, "***") if self._password else text


STALE_S = 1.0
_names = count()
# What is worth keeping of what a snapshot has answered: no page of a journal, nor what a long walk asks.
_KEPT_CHARS = 16_384
_KEPT_ANSWERS = 256


@cache
def to_driver_sql(sql: str) -> bytes:
    """The statement with the driver's placeholders. It is ours: values are always parameters."""
    return sql.replace("%", "%%").replace("?", "%s").encode()


def _is_small(rows: list[Row]) -> bool:
    texts = (value for row in rows for value in row if isinstance(value, str))
    return len(rows) <= 2 and sum(map(len, texts)) <= _KEPT_CHARS


class PostgresSession(Spoilable):
    """`sql.session.Session` on a connection whose transaction somebody else begins and ends."""

    def __init__(
        self, connection: psycopg.Connection, server: ServerAddress, dialect: Dialect, *, is_snapshot: bool
    ) -> None:
        self._connection = connection
        # In a snapshot the same question has the same answer, and the server is asked once.
        self._answers: dict[tuple[str, Parameters], list[Row]] | None = {} if is_snapshot else None
        self._server = server
        self.dialect = dialect
        self.rows_written = 0
        self._asked_at = monotonic()
        self._streams: set[psycopg.ServerCursor[Row]] = set()

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        asked = (sql, tuple(parameters))
        if self._answers and asked in self._answers:
            return [*self._answers[asked]]
        try:
            self._asked_at = monotonic()
            found = self._connection.execute(to_driver_sql(sql), parameters).fetchall()
        except DRIVER_ERRORS as error:
            raise self._server.translate_in_transaction(error) from error
        if self._answers is not None and len(self._answers) < _KEPT_ANSWERS and _is_small(found):
            self._answers[asked] = found
        return found

    def is_stale(self) -> bool:
        """Whether the server was last asked so long ago that others may have ended this session since."""
        return monotonic() - self._asked_at > STALE_S

    def stream(self, sql: str, parameters: Parameters = (), *, at_once: int = STREAM_ROWS) -> Iterator[Row]:
        cursor = self._connection.cursor(name=f"stream_{next(_names)}")
        cursor.itersize = at_once
        self._streams.add(cursor)
        try:
            yield from cursor.execute(to_driver_sql(sql), parameters)
        except DRIVER_ERRORS as error:
            raise self._server.translate_in_transaction(error) from error
        finally:
            self._close(cursor)

    def run(self, statements: Sequence[SqlStatement]) -> list[int]:
        cursors: list[psycopg.Cursor[Row] | None] = []
        try:
            self._asked_at = monotonic()
            with self._connection.pipeline():
                for sql, rows in statements:
                    self.rows_written += len(rows)
                    cursors.append(self._execute(to_driver_sql(sql), rows) if rows else None)
        except DRIVER_ERRORS as error:
            raise self._server.translate_in_transaction(error) from error
        return [0 if cursor is None else cursor.rowcount for cursor in cursors]

    def _execute(self, sql: bytes, rows: Sequence[Parameters]) -> psycopg.Cursor[Row]:
        if len(rows) == 1:
            return self._connection.execute(sql, rows[0], prepare=True)
        cursor = self._connection.cursor()
        cursor.executemany(sql, rows)
        return cursor

    def lock(self, numbers: Iterable[int]) -> None:
        """Advisory locks, which the server lets go of at the end of the transaction."""
        for chunk in into_batches(numbers, IN_LIST_MAX):
            values = ", ".join("(?::bigint)" for _ in chunk)
            self.rows(f"SELECT pg_advisory_xact_lock(number) FROM (VALUES {values}) AS n (number)", chunk)

    def make_room(self, *, freeing: bool) -> None:
        """The server looks after its own disk."""

    def end(self) -> None:
        """Close what is still being read: later it would be closed in somebody else's transaction."""
        for cursor in tuple(self._streams):
            self._close(cursor)

    def _close(self, cursor: psycopg.ServerCursor[Row]) -> None:
        if cursor in self._streams:
            self._streams.remove(cursor)
            # A transaction that has failed or was lost has taken the cursor along.
            with suppress(*DRIVER_ERRORS):
                cursor.close()
