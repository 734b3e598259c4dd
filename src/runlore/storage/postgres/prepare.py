"""Bringing a PostgreSQL database to the present schema, and finding out whether it was restored elsewhere."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from runlore.storage import migrate
from runlore.storage.postgres.connections import Connection
from runlore.storage.postgres.session import to_driver_sql
from runlore.storage.sql.session import Dialect, Row

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
