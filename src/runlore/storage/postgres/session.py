"""One PostgreSQL transaction as the shared SQL sees it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import count

import psycopg

from runlore.storage.postgres.errors import DRIVER_ERRORS, ServerAddress
from runlore.storage.sql.session import STREAM_ROWS, Dialect, Parameters, Row, Spoilable, SqlStatement

_names = count()


@cache
def to_driver_sql(sql: str) -> bytes:
    """The statement with the driver's placeholders. It is ours: values are always parameters."""
    return sql.replace("%", "%%").replace("?", "%s").encode()


class PostgresSession(Spoilable):
    """`sql.session.Session` on a connection whose transaction somebody else begins and ends."""

    def __init__(self, connection: psycopg.Connection, server: ServerAddress, dialect: Dialect) -> None:
        self._connection = connection
        self._server = server
        self.dialect = dialect
        self.rows_written = 0
        self._streams: set[psycopg.ServerCursor[Row]] = set()

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        try:
            return self._connection.execute(to_driver_sql(sql), parameters).fetchall()
        except DRIVER_ERRORS as error:
            raise self._server.translate(error) from error

    def stream(self, sql: str, parameters: Parameters = (), *, at_once: int = STREAM_ROWS) -> Iterator[Row]:
        cursor = self._connection.cursor(name=f"stream_{next(_names)}")
        cursor.itersize = at_once
        self._streams.add(cursor)
        try:
            yield from cursor.execute(to_driver_sql(sql), parameters)
        except DRIVER_ERRORS as error:
            raise self._server.translate(error) from error
        finally:
            self._close(cursor)

    def run(self, statements: Sequence[SqlStatement]) -> list[int]:
        cursors: list[psycopg.Cursor[Row] | None] = []
        try:
            with self._connection.pipeline():
                for statement in statements:
                    self.rows_written += len(statement.rows)
                    cursors.append(self._execute(statement) if statement.rows else None)
        except DRIVER_ERRORS as error:
            raise self._server.translate(error) from error
        return [0 if cursor is None else cursor.rowcount for cursor in cursors]

    def _execute(self, statement: SqlStatement) -> psycopg.Cursor[Row]:
        if len(statement.rows) == 1:
            return self._connection.execute(to_driver_sql(statement.sql), statement.rows[0], prepare=True)
        cursor = self._connection.cursor()
        cursor.executemany(to_driver_sql(statement.sql), statement.rows)
        return cursor

    def lock(self, numbers: Iterable[int]) -> None:
        """Advisory locks, which the server lets go of at the end of the transaction."""
        for number in numbers:
            self.rows("SELECT pg_advisory_xact_lock(?)", (number,))

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
