"""One daemon for each state root: the folder made ready, and the file that it keeps locked."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from runlore.daemon.process.sockets import running
from runlore.domain.lazy import LazyModule
from runlore.storage.sqlite.files import DATABASE_FILE, prepare_state_root

if TYPE_CHECKING:
    from runlore.storage.sqlite import disk_space
else:
    disk_space = LazyModule("runlore.storage.sqlite.disk_space")

LOCK_FILE = "daemon.lock"
_PID_BYTES_MAX = 20


def prepare_private_root(state_root: str) -> None:
    """Make a state root ready before anything is put into it: only an empty folder, or ours, can be.

    A start writes a little before it opens the store: on a full disk it does so in what the store holds free.
    """
    prepare_state_root(state_root)
    disk_space.DiskSpace(os.path.join(state_root, DATABASE_FILE)).spare()


def is_disk_full(state_root: str) -> bool:
    """Whether there is hardly a byte left on the disk that holds a state root."""
    return disk_space.DiskSpace(os.path.join(state_root, DATABASE_FILE)).is_used_up()


@contextmanager
def hold_daemon_lock(state_root: str) -> Iterator[None]:
    """One daemon for each state root, whichever database it uses. The kernel lets go when it dies."""
    prepare_private_root(state_root)
    path = os.path.join(state_root, LOCK_FILE)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(file, _PID_BYTES_MAX, 0).decode(errors="replace").strip()
            raise running(f"process {pid or '(unknown)'} serves {state_root}") from None
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(file)
