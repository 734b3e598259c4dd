"""Where a skill is written when it is exported: a new folder, or one that holds the same already."""

import os
import stat
from contextlib import suppress

from runlore.domain.errors import Conflict, Invalid, Unavailable

_FILE = "SKILL.md"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def write_skill(folder: str, name: str, text: str) -> tuple[str, bool]:
    """Write `folder/name/SKILL.md`; the path of it, and whether it was not there before. What stands there is
    never overwritten, and a link in the place of the skill's folder or file is never followed."""
    if not folder or "\0" in folder:
        raise Invalid(
            f"{folder!r:.300} is no path that there can be",
            code="export.path",
            hint="name a folder with --to",
        )
    target = os.path.join(os.path.abspath(folder), name)
    path = os.path.join(target, _FILE)
    try:
        os.makedirs(target, exist_ok=True)
        if os.path.islink(target):
            raise _exists(target, "is a link")
        opened = os.open(target, _FOLDER)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        return path, _write(opened, path, text.encode())
    finally:
        os.close(opened)


def _write(folder: int, path: str, content: bytes) -> bool:
    try:
        file = os.open(_FILE, _NEW, 0o644, dir_fd=folder)
    except FileExistsError:
        if not _is_same(folder, content):
            raise _exists(path, "is there already, and says something else") from None
        return False
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        return True
    except OSError as error:
        with suppress(OSError):
            os.unlink(_FILE, dir_fd=folder)
        raise _unwritable(path, error) from error


def _is_same(folder: int, content: bytes) -> bool:
    """The same text a second time is no conflict."""
    try:
        with os.fdopen(os.open(_FILE, _OLD, dir_fd=folder), "rb") as opened:
            is_file = stat.S_ISREG(os.fstat(opened.fileno()).st_mode)
            return is_file and opened.read(len(content) + 1) == content
    except OSError:
        return False


def _exists(path: str, what: str) -> Conflict:
    return Conflict(
        f"{path} {what}",
        code="export.exists",
        hint="move it away, or name another folder with --to",
    )


def _unwritable(path: str, error: OSError) -> Unavailable:
    return Unavailable(
        f"{path!r:.300} cannot be written: {error.strerror or error}",
        code="export.write",
        hint="name a folder that you may write to and that has room",
    )
