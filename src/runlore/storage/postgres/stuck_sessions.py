"""Ending the sessions of processes that stand still in the middle of a write, while they keep somebody out.

Nothing is asked of the server while every transaction is over within a moment.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

from runlore.domain.errors import RunloreError
from runlore.storage.postgres.connections import Connection, Timeouts, end_stuck
from runlore.storage.postgres.errors import DRIVER_ERRORS


class StuckSessions:
    """Has them ended by a thread with a connection of its own: all others may be waiting."""

    def __init__(self, connect: Callable[[], Connection], patience: Timeouts) -> None:
        self._connect = connect
        self._patience = patience
        self._lock = threading.Lock()
        self._began_at: dict[object, float] = {}
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Around whatever may be kept out."""
        token = object()
        with self._lock:
            self._began_at[token] = time.monotonic()
            if self._thread is None:
                thread = threading.Thread(target=self._look, name="runlore-stuck-sessions", daemon=True)
                # Where there can be no thread, the server's own limits are left.
                with suppress(RuntimeError):
                    thread.start()
                    self._thread = thread
        try:
            yield
        finally:
            with self._lock:
                del self._began_at[token]

    def close(self) -> None:
        """Look no more."""
        self._closed.set()

    def _look(self) -> None:
        while not self._closed.wait(self._patience.look_s):
            if self._is_anybody_waiting():
                # A server that cannot be asked now is asked again.
                with suppress(RunloreError, *DRIVER_ERRORS), closing(self._connect()) as connection:
                    end_stuck(connection, self._patience)

    def _is_anybody_waiting(self) -> bool:
        since = time.monotonic() - self._patience.look_s
        with self._lock:
            return any(began_at < since for began_at in self._began_at.values())
