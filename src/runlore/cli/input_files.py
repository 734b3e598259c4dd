"""Files and folders that an option names; files are read whole up to a limit, `-` from standard input."""

import errno
import os
import stat
import sys
from collections.abc import Callable
from typing import TypeAlias

from runlore.cli.terminal import say
from runlore.domain.errors import Invalid

# Makes the error of a sentence and a hint, under the code of whoever asked for the file.
Refused: TypeAlias = Callable[[str, str], Invalid]

_OPENED = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def bytes_of(
    path: str, *, mib_max: int, too_large: str, refused: Refused, follow_links: bool = True
) -> bytes:
    """What a file holds. Of what is endless no more is read than tells that it is too large, and for what is
    no file, such as a pipe that nobody writes to, nobody waits."""
    most = mib_max << 20
    try:
        if path == "-":
            content = sys.stdin.buffer.read(most + 1)
        else:
            file = os.open(path, _OPENED if follow_links else _OPENED | os.O_NOFOLLOW)
            with os.fdopen(file, "rb") as opened:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise refused(f"{path} is not a file", "name a file, or - for standard input")
                content = opened.read(most + 1)
    except OSError as error:
        if error.errno == errno.ELOOP and not follow_links:
            raise refused(f"{path} is a link", "name the file itself, if you trust it") from error
        raise refused(f"{path} cannot be read: {error.strerror}", "check the path") from error
    if len(content) > most:
        raise refused(f"{path} is larger than {mib_max} MiB", too_large)
    return content


def folder_of(path: str) -> str:
    """The whole path of a folder of this machine. What its project file says without meaning anything is told
    here: a daemon would tell it only to its log."""
    from runlore.daemon.calls.working_folders import take_warnings

    folder = os.path.abspath(os.path.expanduser(path))
    for warning in take_warnings(folder):
        say(warning, "yellow", on_stderr=True)
    return folder


def text_of(path: str, *, mib_max: int, too_large: str, refused: Refused, follow_links: bool = True) -> str:
    content = bytes_of(path, mib_max=mib_max, too_large=too_large, refused=refused, follow_links=follow_links)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise refused(f"{path} is not a text in UTF-8", "write it again with a text editor") from None
