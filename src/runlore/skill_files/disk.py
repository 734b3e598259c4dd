"""The calls to the operating system that skill folders are made with: few, so that a test can fail each one.

Names are relative to an opened folder, and no call follows a link in its last part.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from runlore.domain.lazy import LazyModule

if TYPE_CHECKING:
    import ctypes
else:
    ctypes = LazyModule("ctypes")

_POLL_S = 0.02
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a pipe in place of a file would hold its reader for ever.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
_NO_REPLACE, _EXCHANGE = 1, 2
_NOT_THERE = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP})


class Disk:
    """Files and folders as the operating system gives them. OSError is passed on."""

    def open_folder(self, name: str, *, within: int | None = None) -> int:
        return os.open(name, _FOLDER, dir_fd=within)

    def open_file(self, name: str, *, within: int) -> int:
        """Whatever stands there and is no link, to be looked at before it is read."""
        return os.open(name, _READ, dir_fd=within)

    def new_file(self, name: str, *, within: int, mode: int = PRIVATE_FILE) -> int:
        return os.open(name, _NEW, mode, dir_fd=within)

    def status(self, name: str, *, within: int | None = None) -> os.stat_result:
        """What a name is, itself and not what it leads to."""
        return os.stat(name, dir_fd=within, follow_symlinks=False)

    def write(self, file: int, content: bytes) -> int:
        return os.write(file, content)

    def sync(self, file: int) -> None:
        os.fsync(file)

    def rename(self, name: str, other: str, *, within: int) -> None:
        os.rename(name, other, src_dir_fd=within, dst_dir_fd=within)

    def exchange(self, name: str, other: str, *, within: int) -> bool:
        """Swap two files of a folder at one moment; where the system cannot, move the first over the other,
        which is gone then: False."""
        if self._rename(name, other, within=within, flag=_EXCHANGE):
            return True
        self.rename(name, other, within=within)
        return False

    def place(self, name: str, other: str, *, within: int) -> None:
        """Move a file to a name that nothing has; FileExistsError. Where the system cannot look and move at
        one moment, over what came there just now."""
        if not self._rename(name, other, within=within, flag=_NO_REPLACE):
            self.rename(name, other, within=within)

    def remove_file(self, name: str, *, within: int) -> None:
        os.unlink(name, dir_fd=within)

    def make_folder(self, name: str, *, within: int | None = None, mode: int = PRIVATE_FOLDER) -> None:
        os.mkdir(name, mode, dir_fd=within)

    def remove_folder(self, name: str, *, within: int | None = None) -> None:
        os.rmdir(name, dir_fd=within)

    def lock(self, folder: int, *, shared: bool, wait_s: float) -> bool:
        """Lock a folder among processes and threads until it is closed; False where others kept it."""
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(folder, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(_POLL_S)
            else:
                return True

    def _rename(self, name: str, other: str, *, within: int, flag: int) -> bool:
        """Whether the system knows how; OSError where it does and may not."""
        rename = _rename_with_flags()
        if rename is None:
            return False
        if rename(within, os.fsencode(name), within, os.fsencode(other), flag) == 0:
            return True
        number = ctypes.get_errno()
        if number in _NOT_THERE:
            return False
        raise OSError(number, os.strerror(number), other)


@cache
def _rename_with_flags() -> Callable[..., int] | None:
    """Linux alone has this call, and not on every file system."""
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
