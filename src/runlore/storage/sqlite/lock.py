"""The lock on a state root: one process at a time works embedded on it.

The kernel lets go of it when the process ends, however it ends. The file stays; only the lock counts.
"""

import fcntl
import os
import time

from runlore.domain import limits
from runlore.domain.errors import Unavailable

LOCK_FILE = "lock"
_POLL_S = 0.02
_PID_BYTES_MAX = 20


class StateLock:
    """The held lock. A second one in the same process waits and is refused like any other."""

    def __init__(self, state_root: str, *, wait_s: float = limits.LOCK_WAIT_S) -> None:
        path = os.path.join(state_root, LOCK_FILE)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(self._file, 0o600)
            self._take(state_root, time.monotonic() + wait_s)
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            os.close(self._file)
            raise

    def release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _take(self, state_root: str, deadline: float) -> None:
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise self._lock_error(state_root) from None
                time.sleep(_POLL_S)
            else:
                return

    def _lock_error(self, state_root: str) -> Unavailable:
        pid = os.pread(self._file, _PID_BYTES_MAX, 0).decode(errors="replace").strip()
        holder = "this process itself" if pid == str(os.getpid()) else f"process {pid or '(unknown)'}"
        return Unavailable(
            f"{state_root} is in use by {holder}",
            code="store.locked",
            hint="wait for it to end, or end it; a running daemon is reached through its socket",
        )
