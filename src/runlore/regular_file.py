"""Reading what should be a file: nobody waits for a pipe that nobody writes to, no device is read, and a
link is not followed unless the caller says so.

Every layer above the ports may use it; it knows nothing of Runlore.
"""

import errno
import os
import stat
from io import BufferedReader

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class NotRegular(OSError):
    """What stands there is a pipe, a socket or a device."""


def open_regular(path: str, *, follow_links: bool = False) -> BufferedReader:
    """A regular file, open for reading; OSError where it cannot be opened, NotRegular where it is none."""
    opened = os.open(path, _FLAGS if follow_links else _FLAGS | os.O_NOFOLLOW)
    try:
        mode = os.fstat(opened).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode):
            raise NotRegular(errno.EINVAL, "it is not a regular file", path)
        return os.fdopen(opened, "rb")
    except BaseException:
        os.close(opened)
        raise


def read_small(path: str, bytes_max: int, *, follow_links: bool = False) -> bytes | None:
    """The first bytes of a regular file; None where there is none that can be read."""
    try:
        with open_regular(path, follow_links=follow_links) as file:
            return file.read(bytes_max)
    except OSError:
        return None
