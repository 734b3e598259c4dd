"""A few read-only connections, each in one read transaction at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import apsw

from runlore.domain.errors import Unavailable
from runlore.storage.sqlite.errors import DRIVER_ERRORS, WriteHealth
from runlore.storage.sqlite.session import SqliteSession, connect

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
