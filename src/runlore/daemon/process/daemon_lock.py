"""One daemon for each state root: the folder made ready, and the file that it keeps locked.

How a state root is without opening its store: who works on it, what was found damaged. Nothing heavy is
loaded for it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from runlore.daemon.process.sockets import running
from runlore.domain.errors import Unavailable
from runlore.domain.lazy import LazyModule
from runlore.storage.sqlite.files import DATABASE_FILE, LOCK_FILE, StateLock, damage_notes, prepare_state_root

if TYPE_CHECKING:
    from runlore.storage.sqlite import disk_space
else:
    disk_space = LazyModule("runlore.storage.sqlite.disk_space")


def lock_refusal(state_root: str) -> Unavailable | None:
    """The error that an embedded command would end with now; None where the state root is free.

    A database elsewhere has no such lock, and neither has a state root that nobody has used yet.
    """
    if not os.path.exists(os.path.join(state_root, LOCK_FILE)):
        return None
    try:
        StateLock(state_root, wait_s=0).release()
    except Unavailable as held:
        return held
    except OSError:
        # Whoever opens the store tells what is wrong with the folder.
        return None
    return None


def damage_found(state_root: str) -> tuple[str, ...]:
    """What starts have found damaged and nobody has taken note of yet."""
    return damage_notes(state_root)


def has_store(state_root: str, database_url: str | None) -> bool:
    """Whether something is kept for a state root already. Nothing is made by asking."""
    if database_url is not None:
        return os.path.isdir(state_root)
    return os.path.exists(os.path.join(state_root, DATABASE_FILE))


DAEMON_LOCK_FILE = "daemon.lock"
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
    path = os.path.join(state_root, DAEMON_LOCK_FILE)
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


@contextmanager
def daemon_lock_file(state_root: str) -> Iterator[int | None]:
    """The file that a daemon keeps locked from its first to its last moment, however it ends."""
    try:
        file = os.open(os.path.join(state_root, DAEMON_LOCK_FILE), os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        yield None
        return
    try:
        yield file
    finally:
        os.close(file)


def is_held(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(lock, fcntl.LOCK_UN)
    return False


def has_daemon(state_root: str) -> bool:
    """Whether a daemon runs, starts or ends: it holds its lock before and behind the store's."""
    with daemon_lock_file(state_root) as lock:
        return lock is not None and is_held(lock)
