"""The store on SQLite: `runlore.db` in the state root. A file of another program is left alone."""

import os
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Self

import apsw

from runlore.domain.errors import Corrupt, RunloreError, Unavailable
from runlore.domain.lazy import LazyModule
from runlore.ports.store import Snapshot, StorePosition, Transaction
from runlore.storage import migrate
from runlore.storage.sql import positions
from runlore.storage.sql.session import Row, SqlSession
from runlore.storage.sql.transaction import SqlSnapshot
from runlore.storage.sqlite import files
from runlore.storage.sqlite.damaged_log import copy_if_damaged, read_committed_frames
from runlore.storage.sqlite.disk_space import DiskSpace
from runlore.storage.sqlite.errors import DRIVER_ERRORS, WriteHealth, not_opened
from runlore.storage.sqlite.files import StateLock
from runlore.storage.sqlite.session import ReaderPool, connect
from runlore.storage.sqlite.writer import Writer

if TYPE_CHECKING:
    from runlore.storage.sql import health
else:
    health = LazyModule("runlore.storage.sql.health")

APPLICATION_ID = 0x524C4F52  # "RLOR"
LOG_BYTES_KEPT = 16 * 1024**2


class SqliteStore:
    """One database file, open for this process alone."""

    def __init__(
        self, path: str, writer: Writer, health: WriteHealth, *, lock: StateLock, room: DiskSpace
    ) -> None:
        self._path = path
        self._room = room
        self._health = health
        self._lock = lock
        self._writer = writer
        self._readers = ReaderPool(path, health)
        self._is_open = True

    @classmethod
    def open(cls, state_root: str) -> Self:
        root = files.prepare_state_root(state_root)
        path = os.path.join(root, files.DATABASE_FILE)
        health = WriteHealth(path)
        with ExitStack() as undo:
            try:
                lock = StateLock(root)
            except OSError as error:
                raise files.unusable_root(os.path.join(root, "lock"), error) from None
            undo.callback(lock.release)
            files.prepare_database_file(path)
            room = DiskSpace(path)
            claim = read_committed_frames(path)
            try:
                connection = connect(path, writing=True)
                undo.callback(connection.close)
                copy_if_damaged(path, connection, claim)
                prepare(path, connection)
                writer = Writer(connection, health, room)
            except DRIVER_ERRORS as error:
                failure = health.translate(error)
                is_full = isinstance(failure, Unavailable) and room.is_used_up()
                raise not_opened(path) if is_full else failure from error
            undo.pop_all()
        return cls(path, writer, health, lock=lock, room=room)

    def transaction(self) -> AbstractContextManager[Transaction]:
        self._check_open()
        return self._writer.transaction()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        self._check_open()
        with self._readers.session() as session:
            yield SqlSnapshot(session)

    @property
    def is_shared(self) -> bool:
        return False

    def is_current(self, position: StorePosition) -> bool:
        self._check_open()
        with self._readers.session() as session:
            return positions.is_current(session, position)

    def commits_here(self) -> int:
        return 0

    def scrub(self) -> None:
        """Cut the log to nothing: in the database itself what was erased is overwritten already."""
        self._check_open()
        files.delete_copies(os.path.dirname(self._path))
        self._writer.truncate_log()

    def problems(self) -> tuple[str, ...]:
        """What SQLite and our checksums find wrong, and what was found damaged at a start."""
        self._check_open()
        with self._readers.session() as session:
            return (*self._damage(), *health.problems(session, _integrity))

    def refusal(self) -> RunloreError | None:
        return self._health.stopped or self._room.refusal()

    def description(self) -> dict[str, str | int]:
        self._check_open()
        refusal, damage = self.refusal(), self._damage()
        is_stopped = self._health.stopped is not None
        return {
            "engine": "sqlite",
            "version": apsw.sqlite_lib_version(),
            "schema": migrate.load_migrations()[-1].number,
            "location": self._path,
            "bytes": sum(_size(self._path + suffix) for suffix in ("", "-wal")),
            "writes": "ready"
            if refusal is None
            else f"{'stopped' if is_stopped else 'refused'}: {refusal.sentence}",
            "transactions": self._writer.transactions,
            "commits": self._writer.commits,
            "waiting": self._writer.waiting,
            **({"damage": "; ".join(damage)} if damage else {}),
        }

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._readers.close()
        try:
            self._writer.close()
        finally:
            self._lock.release()

    def _damage(self) -> tuple[str, ...]:
        return files.damage_notes(os.path.dirname(self._path))

    def _check_open(self) -> None:
        if not self._is_open:
            raise Unavailable("the store is closed", code="store.closed", hint="open it again")


def _integrity(session: SqlSession) -> Iterator[str]:
    for row in session.rows(f"PRAGMA integrity_check({health.PROBLEMS_MAX})"):
        if row[0] != "ok":
            yield f"SQLite: {row[0]}"


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


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
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def has_table(self, name: str) -> bool:
        return bool(self.rows("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", name))

    def rows(self, sql: str, *parameters: str | int) -> list[Row]:
        return self._connection.execute(sql, parameters).fetchall()

    def run(self, sql: str) -> None:
        self._connection.execute(sql.replace("/* clustered */", "WITHOUT ROWID")).fetchall()
