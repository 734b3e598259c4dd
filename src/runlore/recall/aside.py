"""Writing a file of the index: aside, synced, and put in place at once, so that it is whole or as it was."""

import fcntl
import os
from collections.abc import Callable
from typing import BinaryIO

_OPEN_ATTEMPTS = 8


def put_in_place(path: str, write: Callable[[BinaryIO], None]) -> None:
    """Write aside, sync, rename, sync the folder. OSError leaves the file in place as it was."""
    aside, descriptor = _open_aside(path)
    try:
        with open(descriptor, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            os.rename(aside, path)
    except BaseException:
        os.unlink(aside)
        raise
    _sync_folder(path)


def _open_aside(path: str) -> tuple[str, int]:
    """An empty file beside the path that only this process writes: a crash leaves one such file, not many."""
    aside = f"{path}.new"
    for _ in range(_OPEN_ATTEMPTS):
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(aside) and os.path.samestat(os.fstat(descriptor), os.stat(aside)):
                os.fchmod(descriptor, 0o600)
                os.ftruncate(descriptor, 0)
                return aside, descriptor
        except BaseException:
            os.close(descriptor)
            raise
        # Another process has put its file in place between our opening and our locking it.
        os.close(descriptor)
    raise BlockingIOError(f"{aside} is being written by another process")


def _sync_folder(path: str) -> None:
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
