"""Databases for tests that want Runlore's tables, empty, and not a database made for them alone.

Making a database is most of what a short test would cost the server: it copies a thousand files, and the
first connection reads the whole catalogue. Here one is made once, by the store's own migrations, and lent to
one test after another. In between everybody is thrown out, all rows and the files they lay in go, and it gets
another name and another store id, so that whatever an earlier test has left behind finds nothing. One whose
tables are not what they were is not lent again.
"""

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from runlore.storage.open import open_store
from tests.postgres_server import PostgresServer
from tests.waiting import PATIENCE_S

PAUSE_S = 0.001
# Emptying a table changes none of this; whatever else a test may do to a table or to the database does.
_SHAPE = """
SELECT
  (SELECT (count(*), max(xmin::text::bigint))::text FROM pg_attribute),
  (SELECT (count(*), max(xmin::text::bigint))::text FROM pg_constraint),
  (SELECT (count(*), max(xmin::text::bigint))::text FROM pg_trigger),
  (SELECT (count(*), max(xmin::text::bigint))::text FROM pg_proc),
  (SELECT count(*) FROM pg_db_role_setting),
  (SELECT md5(string_agg((relname, relkind, relacl, reloptions, relrowsecurity)::text, '' ORDER BY oid))
     FROM pg_class WHERE relnamespace = 'public'::regnamespace),
  (SELECT string_agg((number, checksum)::text, '' ORDER BY number) FROM migrations),
  (SELECT count(*) FROM store_meta)
"""
_USED = """
SELECT relname FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0
  AND relname NOT IN ('migrations', 'store_meta')
"""
_THROW_OUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"


class PostgresPool:
    """The databases of one server that are lent again and again."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._free: list[tuple[str, tuple[object, ...]]] = []

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of a database with all tables and nothing in them, for one test."""
        name, shape = self._free.pop() if self._free else self._made()
        name = self._renamed(name)
        try:
            yield self._server.url(name)
        finally:
            if self._is_empty_again(name, shape):
                self._free.append((name, shape))
            else:
                self._server.drop_database(name)

    def _made(self) -> tuple[str, tuple[object, ...]]:
        name = self._server.make_database()
        open_store(database_url=self._server.url(name), state_root="/nonexistent").close()
        self._throw_out(name)
        with psycopg.connect(self._server.socket_url(name)) as connection:
            return name, connection.execute(_SHAPE.encode()).fetchall()[0]

    def _renamed(self, name: str) -> str:
        new_name = f"test_{secrets.token_hex(6)}"
        self._throw_out(name)
        self._server.execute(
            sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(name), sql.Identifier(new_name))
        )
        return new_name

    def _is_empty_again(self, name: str, shape: tuple[object, ...]) -> bool:
        """Empty it; false for one that is no longer what it was."""
        if not self._throw_out(name):
            return False
        try:
            with psycopg.connect(self._server.socket_url(name)) as connection:
                return self._emptied(connection, shape)
        except psycopg.Error:
            # Dropped, its tables dropped, or its server restarted: there is nothing to lend again.
            return False

    def _emptied(self, connection: psycopg.Connection, shape: tuple[object, ...]) -> bool:
        if connection.execute(_SHAPE.encode()).fetchall() != [shape]:
            return False
        if used := [sql.Identifier(str(name)) for (name,) in connection.execute(_USED.encode())]:
            connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(used)))
        connection.execute(
            "UPDATE store_meta SET value = %s WHERE name = 'store_id'", (secrets.token_hex(16),)
        )
        return True

    def _throw_out(self, name: str) -> bool:
        """End all connections to a database, whoever holds them; false when one does not go."""
        gives_up_at = time.monotonic() + PATIENCE_S
        pause = threading.Event()
        while self._server.execute(_THROW_OUT, name):
            if time.monotonic() > gives_up_at:
                return False
            pause.wait(PAUSE_S)
        return True
