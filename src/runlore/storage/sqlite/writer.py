"""The one writer, with group commit: transactions that wait for each other share one sync of the disk.

The first transaction of a batch begins it; each further one runs in a savepoint of its own. Whoever ends
without anybody waiting, or fills the batch, commits it for all. Nobody is told of success before that commit
has succeeded, and nobody of an error either, who may have seen what is not committed yet.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import apsw

from runlore.domain.errors import RunloreError, Unavailable
from runlore.storage.sql.transaction import SqlTransaction
from runlore.storage.sqlite.disk_space import DiskSpace
from runlore.storage.sqlite.errors import DRIVER_ERRORS, WriteHealth, copy_error, disk_full
from runlore.storage.sqlite.session import LATEST_CHANGE, SqliteSession, connect


class FifoLock:
    """A FIFO lock. Python's own lock has neither an order nor a way to see who waits."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_taken = False

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def acquire(self, *, wait_s: float, when_interrupted: Callable[[], None]) -> None:
        """Wait for the lock; Unavailable when it is not free in time.

        A wait that an exception ends may hold the lock already: then `when_interrupted` has to release it.
        """
        with self._mutex:
            if not self._is_taken:
                self._is_taken = True
                return
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append(gate)
        try:
            came = gate.acquire(timeout=wait_s)
        except BaseException:
            if not self._withdraw(gate):
                when_interrupted()
            raise
        if not came and self._withdraw(gate):
            raise Unavailable(
                f"the store was busy for {wait_s:g} seconds with the writes of others",
                code="store.busy",
                hint="try again when the running import or compaction has ended",
            )

    def release(self) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False

    def _withdraw(self, gate: threading.Lock) -> bool:
        """Leave the line; False when the lock was handed over at the last moment."""
        with self._mutex:
            if gate in self._waiting:
                self._waiting.remove(gate)
                return True
            return False


BATCH_MEMBERS_MAX = 64
BATCH_S_MAX = 0.02
TURN_WAIT_S = 30.0
CHECKPOINT_PAGES = 2_000
# How often it is tried whether a full disk has room again, and for how much: a page or two may fit into what
# the log has already, which is no room for what people write.
RETRY_S = 0.5
PROOF_BYTES = 256 * 1024


class _Batch:
    def __init__(self) -> None:
        self.members = 1
        self._failure: RunloreError | None = None
        self._ends_by: float | None = None
        self._has_ended = False
        # Whoever commits does not wait, so there is nothing to wait for until somebody leaves before the end.
        self._end: threading.Event | None = None

    def may_grow(self) -> bool:
        """Whether another transaction may join: who has finished must not wait for ever to be told."""
        now = time.monotonic()
        if self._ends_by is None:
            self._ends_by = now + BATCH_S_MAX
            self._end = threading.Event()
        return self.members < BATCH_MEMBERS_MAX and now < self._ends_by

    def end(self, failure: RunloreError | None) -> None:
        self._failure = failure
        self._has_ended = True
        if self._end is not None:
            self._end.set()

    def wait(self) -> None:
        if not self._has_ended:
            assert self._end is not None
            self._end.wait()
        if self._failure is not None:
            raise copy_error(self._failure)


class Writer:
    """The write connection and its batches. Everything but waiting happens with the lock held."""

    def __init__(self, connection: apsw.Connection, health: WriteHealth, room: DiskSpace) -> None:
        self._connection = connection
        self._health = health
        self._room = room
        self._lock = FifoLock()
        self._batch: _Batch | None = None
        self._thread: int | None = None
        latest = connection.execute(f"SELECT {LATEST_CHANGE}").fetchall()
        self._change = cast("int", latest[0][0])
        self._log_pages = 0
        self._checkpoint_at_pages = CHECKPOINT_PAGES
        self._retried_at = 0.0
        self.transactions = 0
        self.commits = 0
        self._set_up(connection)

    @contextmanager
    def transaction(self) -> Iterator[SqlTransaction]:
        """A write transaction, durable when the context has ended without an error."""
        self._check_not_inside()
        batch = self._join()
        session = SqliteSession(self._connection, self._health, self._room)
        transaction = SqlTransaction(session)
        try:
            yield transaction
            transaction.check()
        except BaseException:
            self._leave(batch, session, kept=False)
            batch.wait()
            raise
        self._leave(batch, session, kept=True)
        batch.wait()

    @property
    def waiting(self) -> int:
        return self._lock.waiting

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock outside of any batch: for what SQLite does not do inside a transaction."""
        self._check_not_inside()
        self._lock.acquire(wait_s=TURN_WAIT_S, when_interrupted=self._release)
        try:
            if self._batch is not None:
                self._commit(self._batch)
            yield
        finally:
            self._lock.release()

    def truncate_log(self) -> None:
        with self.alone():
            try:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                raise Unavailable(
                    "somebody still reads what was erased from the log",
                    code="store.busy",
                    hint="scrub again when the running export or search has ended",
                ) from None
            except apsw.FullError:
                # Nothing is lost by it: what is committed stays in the log.
                raise disk_full(self._connection.filename, has_reserve=False) from None
            except DRIVER_ERRORS as error:
                raise self._health.translate(error) from error

    def close(self) -> None:
        with self.alone():
            self._connection.close()

    def _check_not_inside(self) -> None:
        assert self._thread != threading.get_ident(), "inside a transaction of the same thread"

    def _join(self) -> _Batch:
        self._lock.acquire(wait_s=TURN_WAIT_S, when_interrupted=self._release)
        try:
            if self._health.waits_for_room and self._batch is None:
                self._reopen()
            self._health.check()
            batch = self._begin() if self._batch is None else self._enter(self._batch)
        except DRIVER_ERRORS as error:
            failure = self._health.translate(error)
            self._release()
            raise failure from error
        except BaseException:
            self._release()
            raise
        self._thread = threading.get_ident()
        self.transactions += 1
        return batch

    def _reopen(self) -> None:
        """Go on with a new connection once a write of it has reached the disk again."""
        now = time.monotonic()
        if now - self._retried_at < RETRY_S:
            return
        self._retried_at = now
        self._room.spare()
        connection = connect(self._connection.filename, writing=True)
        try:
            connection.execute("INSERT OR REPLACE INTO store_meta VALUES ('room', ?)", ("." * PROOF_BYTES,))
            connection.execute("DELETE FROM store_meta WHERE name = 'room'")
        except BaseException as error:
            connection.close()
            if isinstance(error, apsw.FullError):
                return
            raise
        self._connection.close()
        self._connection = connection
        self._set_up(connection)
        self._health.stopped = None

    def _set_up(self, connection: apsw.Connection) -> None:
        connection.create_scalar_function("current_change", self._current_change, 0)
        connection.set_wal_hook(self._note_log_pages)

    def _begin(self) -> _Batch:
        self._connection.execute("BEGIN IMMEDIATE")
        self._change += 1
        self._batch = _Batch()
        return self._batch

    def _enter(self, batch: _Batch) -> _Batch:
        self._connection.execute("SAVEPOINT member")
        batch.members += 1
        return batch

    def _leave(self, batch: _Batch, session: SqliteSession, *, kept: bool) -> None:
        """End one member's part; the first one of a batch has no savepoint, for it is alone in it."""
        self._thread = None
        try:
            session.end()
            if not kept:
                self._undo(batch)
            elif batch.members > 1:
                self._connection.execute("RELEASE member")
        except DRIVER_ERRORS as error:
            self._abandon(batch, self._health.translate(error))
        finally:
            self._release()

    def _undo(self, batch: _Batch) -> None:
        if batch.members == 1:
            self._abandon(batch, None)
        elif self._connection.in_transaction:
            self._connection.execute("ROLLBACK TO member")
            self._connection.execute("RELEASE member")
        else:
            # Some errors make SQLite roll everything back, what the others have written included.
            self._abandon(batch, self._health.stopped or _interruption())

    def _release(self) -> None:
        """Let the next one into the batch, or commit it when nobody waits or enough have joined."""
        try:
            if self._batch is not None and not (self._lock.waiting and self._batch.may_grow()):
                self._commit(self._batch)
        finally:
            self._lock.release()

    def _commit(self, batch: _Batch) -> None:
        failure: RunloreError | None = _interruption()
        try:
            self._health.check()
            self._connection.execute("COMMIT")
            self.commits += 1
            failure = None
        except DRIVER_ERRORS as error:
            failure = self._health.translate(error)
        except RunloreError as error:
            failure = error
        finally:
            self._abandon(batch, failure)
        self._checkpoint_when_due()

    def _abandon(self, batch: _Batch, failure: RunloreError | None) -> None:
        self._batch = None
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except DRIVER_ERRORS as error:
            failure = failure or self._health.translate(error)
        finally:
            batch.end(failure)

    def _current_change(self, *_: object) -> int:
        return self._change

    def _note_log_pages(self, _connection: apsw.Connection, _database: str, pages: int) -> int:
        if pages < self._log_pages:
            self._checkpoint_at_pages = CHECKPOINT_PAGES
        self._log_pages = pages
        return apsw.SQLITE_OK

    def _checkpoint_when_due(self) -> None:
        """Copy the log into the database once in a while, after the members have been told."""
        if self._log_pages < self._checkpoint_at_pages:
            return
        # While somebody reads an old state the log cannot start over; it is looked at again much later.
        self._checkpoint_at_pages = self._log_pages + CHECKPOINT_PAGES
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.FullError:
            # What is committed is safe in the log, and new writes are refused by the missing room.
            return
        except DRIVER_ERRORS as error:
            self._health.translate(error)


def _interruption() -> Unavailable:
    return Unavailable(
        "the write was interrupted before it was known to be on the disk",
        code="store.interrupted",
        hint="look whether it is there; with the same idempotency key it can be sent again",
    )
