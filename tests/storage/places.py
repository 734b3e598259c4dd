"""Where a store lies in a test, so that it can be opened, closed and opened again."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import apsw
import psycopg

from runlore.domain.record import Record, RecordId
from runlore.domain.records.audit import RecordChange, RecordEvent
from runlore.ports.store import Store, StorePosition
from runlore.storage.open import open_store
from runlore.storage.sqlite.store import SqliteStore


class Place(Protocol):
    """One database, of whichever kind."""

    def open(self) -> Store:
        """Open it; what is still open at the end of the test is closed."""
        ...

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement behind the store's back."""
        ...

    def close(self) -> None:
        """Close all stores that were opened here."""
        ...


class SqlitePlace:
    """A state root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._stores: list[Store] = []

    @property
    def file(self) -> Path:
        """The database file."""
        return self.root / "runlore.db"

    def open(self) -> SqliteStore:
        """Open the state root."""
        store = open_store(database_url=None, state_root=str(self.root))
        assert isinstance(store, SqliteStore)
        self._stores.append(store)
        return store

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement on the file."""
        connection = apsw.Connection(str(self.file))
        try:
            return [tuple(row) for row in connection.execute(statement)]
        finally:
            connection.close()

    def close(self) -> None:
        """Close all stores that were opened here."""
        while self._stores:
            self._stores.pop().close()


class PostgresPlace:
    """A database of a server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._stores: list[Store] = []
        self._behind: psycopg.Connection | None = None

    def open(self) -> Store:
        """Open the database."""
        store = open_store(database_url=self.url, state_root="/nonexistent")
        self._stores.append(store)
        return store

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement on a connection of our own, kept for the next one."""
        if self._behind is None or self._behind.closed:
            self._behind = psycopg.connect(self.url, autocommit=True)
        cursor = self._behind.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        """Close all stores that were opened here."""
        if self._behind is not None:
            self._behind.close()
        while self._stores:
            self._stores.pop().close()


def write(store: Store, *changes: RecordChange) -> None:
    """Write changes in one transaction."""
    with store.transaction() as tx:
        tx.write(changes)


def read(store: Store, record_id: RecordId) -> Record:
    """One record as it is stored."""
    with store.snapshot() as snapshot:
        return snapshot.records.get(record_id)


def history(store: Store, record_id: RecordId) -> tuple[RecordEvent, ...]:
    """One record's events."""
    with store.snapshot() as snapshot:
        return snapshot.records.events(record_id)


def stored(store: Store) -> list[Record]:
    """All records, by id."""
    with store.snapshot() as snapshot:
        return [record for record, _ in snapshot.records.everything()]


def changes_since(store: Store, position: StorePosition) -> tuple[list[Record], StorePosition]:
    """What a follower is told, and where it stands afterwards."""
    with store.snapshot() as snapshot:
        return list(snapshot.records.changed_since(position)), snapshot.records.position()


def ids(records: Iterable[Record]) -> list[RecordId]:
    """The records' ids, in their order."""
    return [record.record_id for record in records]
