"""Bringing a SQLite file to the present schema; a file of another program is left alone."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from runlore.domain.errors import Corrupt
from runlore.storage import migrate
from runlore.storage.sql.session import Row

APPLICATION_ID = 0x524C4F52  # "RLOR"
LOG_BYTES_KEPT = 16 * 1024**2


def prepare(path: str, connection: apsw.Connection) -> None:
    """Migrate the file. Nobody else does so meanwhile: the state root is locked."""
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()[0][0]
    application = connection.execute("PRAGMA application_id").fetchall()[0][0]
    if tables and application != APPLICATION_ID:
        raise Corrupt(
            f"{path} is a database, but not one of Runlore's",
            code="store.foreign",
            hint="move the file away, or choose another state root",
        )
    if not tables:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}").fetchall()
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES_KEPT}").fetchall()
    migrate.migrate(SqliteTarget(connection), store_id=secrets.token_hex(16))


class SqliteTarget:
    """`migrate.Target` on a SQLite connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def has_table(self, name: str) -> bool:
        """Whether a table is there."""
        return bool(self.rows("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", name))

    def rows(self, sql: str, *parameters: str | int) -> list[Row]:
        """All rows of a query."""
        return self._connection.execute(sql, parameters).fetchall()

    def run(self, sql: str) -> None:
        """Run the statements of a file."""
        self._connection.execute(sql.replace("/* clustered */", "WITHOUT ROWID")).fetchall()
