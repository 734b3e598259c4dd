"""Crash-safe file writes: whoever dies on any line leaves the old file or the new one, whole.

Every layer above the ports may use it; it knows nothing of Runlore.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

PRIVATE_FILE = 0o600
_OPEN_ATTEMPTS = 8
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def atomic_write(path: str, content: bytes | Callable[[BinaryIO], object], *, durable: bool = True) -> None:
    """Write `path.new` for this user alone, sync it, rename it to `path`, sync the folder. `content` is
    all of it, or a function that writes it into the open file.

    What is not `durable` is not synced: after a power cut it may be lost, or empty.

    OSError leaves the file in place as it was; BlockingIOError where another process is writing it.
    """
    temporary, descriptor = _open_locked(path)
    try:
        with open(descriptor, "wb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    if durable:
        sync_folder(os.path.dirname(os.path.abspath(path)))


@contextmanager
def temporary_file(
    folder: int,
    name: str,
    content: bytes,
    *,
    mode: int = PRIVATE_FILE,
    prepare: Callable[[int], None] = lambda _file: None,
) -> Iterator[None]:
    """A synced file in an open folder, for the caller to rename; what was not renamed is removed at the end.

    This is `atomic_write` for folders that strangers write to as well: no link is followed, and what was
    looked at can be looked at again right before the rename. `prepare` is given the empty file. Sync the
    folder behind the rename.
    """
    file = os.open(name, _NEW, mode, dir_fd=folder)
    try:
        try:
            prepare(file)
            left = memoryview(content)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        finally:
            os.close(file)
        yield
    finally:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)


@contextmanager
def new_file(folder: str, prefix: str) -> Iterator[tuple[str, BinaryIO]]:
    """A file with a hidden name of its own, for this user alone, which the caller syncs and gives its name;
    what still has the hidden name is removed at the end. Sync the folder behind that.

    A crash leaves a half-written file that nobody asks for: those with the prefix are removed first, but for
    what somebody is still writing, who holds its lock.
    """
    for name in os.listdir(folder):
        if name.startswith(prefix):
            path = os.path.join(folder, name)
            with suppress(FileNotFoundError, BlockingIOError), open(path, "rb") as left:
                fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
    aside = os.path.join(folder, f"{prefix}{os.urandom(8).hex()}")
    with open(os.open(aside, _NEW, PRIVATE_FILE), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield aside, file
        finally:
            with suppress(OSError):
                os.unlink(aside)


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _open_locked(path: str) -> tuple[str, int]:
    """An empty file beside the path that only this process writes: a crash leaves one such file, not many."""
    temporary = f"{path}.new"
    for _ in range(_OPEN_ATTEMPTS):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(temporary) and os.path.samestat(os.fstat(descriptor), os.stat(temporary)):
                os.fchmod(descriptor, PRIVATE_FILE)
                os.ftruncate(descriptor, 0)
                return temporary, descriptor
        except BaseException:
            os.close(descriptor)
            raise
        # Another process has put its file in place between our opening and our locking it.
        os.close(descriptor)
    raise BlockingIOError(f"{temporary} is being written by another process")
