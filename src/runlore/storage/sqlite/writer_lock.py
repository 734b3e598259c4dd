"""The writer lock: a FIFO lock, handed to those who wait in the order in which they asked."""

import threading
from collections import deque
from collections.abc import Callable

from runlore.domain.errors import Unavailable


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
