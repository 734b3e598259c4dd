"""Opening the store that the settings name: SQLite in the state root, or PostgreSQL by its URL."""

import os

from runlore.domain.errors import Invalid, Unavailable
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Store
from runlore.storage.run_memories import FOLDER, FileRunMemories
from runlore.storage.sqlite.store import SqliteStore

_SCHEMES = ("postgresql://", "postgres://")


def open_store(*, database_url: str | None, state_root: str) -> Store:
    if not database_url:
        return SqliteStore.open(state_root)
    if not database_url.startswith(_SCHEMES):
        raise Invalid(
            "the database URL is not one of PostgreSQL",
            code="store.url",
            hint="write it as postgresql://USER@HOST/DATABASE, or leave it out for SQLite",
        )
    try:
        from runlore.storage.postgres.store import PostgresStore
    except ImportError as error:
        raise Unavailable(
            f"the PostgreSQL driver is not installed: {error}",
            code="store.driver",
            hint="`make up` brings it along; elsewhere: pip install 'psycopg[binary,pool]'",
        ) from None
    return PostgresStore.open(database_url)


def open_run_memories(*, store: Store, state_root: str) -> RunMemories:
    """Where run memories are kept beside a store: its table where daemons share it, else files."""
    if not isinstance(store, SqliteStore):
        from runlore.storage.postgres.store import PostgresStore

        if isinstance(store, PostgresStore):
            return store.run_memories()
    return FileRunMemories(os.path.join(os.path.abspath(state_root), FOLDER), snapshots=store.snapshot)
