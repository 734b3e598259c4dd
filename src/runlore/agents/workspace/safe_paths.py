"""Ways through a folder that is held open: one name after the other, and never through a link.

A path is only ever taken apart, never handed to the system whole: whoever swaps a folder for a link, at
whatever moment, is told that a link stands there. Nothing here is particular to one operating system.
"""

import errno
import os
import stat
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from runlore.domain import limits
from runlore.domain.agent.obeyed_files import GIT, fold_name
from runlore.domain.errors import Invalid, NotFound, Refused, RunloreError, Unavailable
from runlore.domain.text.safe_text import escape

WORKTREES = ".runlore-worktrees"
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a pipe in place of a file would hold its reader for ever.
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_BYTES = 1024**2
# What a command that is not ours would be run from: settings, hooks, and the copies of other agents.
_NEVER_WRITTEN = frozenset({GIT, WORKTREES})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG})
_NOT_ALLOWED = frozenset({errno.EACCES, errno.EPERM})
# A link where a folder or a file was wanted: systems differ in what they say.
_LINKED = frozenset({errno.ELOOP, errno.EMLINK, errno.ENOTDIR})
_SHOWN_CHARS = 200


class OpenHandle:
    """A folder that is held open until nobody knows this any more."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._closed = weakref.finalize(self, os.close, handle)


def parts_of(path: str) -> tuple[str, ...]:
    """The names of a path below the folder; none for the folder itself. Invalid (`workspace.path`)."""
    if len(path) > limits.PATH_CHARS_MAX:
        raise _no_path(path, f"is longer than {limits.PATH_CHARS_MAX:,} characters")
    if path.startswith("/"):
        raise _no_path(path, "is not told from the working folder")
    if "\0" in path:
        raise _no_path(path, "holds a character that no name has")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise _no_path(path, "holds a character that no name has") from None
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in parts:
        raise _no_path(path, "leads upwards")
    return parts


def check_writable(parts: tuple[str, ...], installed: tuple[str, ...] = ()) -> None:
    """Refused (`workspace.kind`) for what git would run, and for what Runlore itself is `installed` in: the
    next start would run it, and nothing confines that. However the file system spells the names."""
    if installed and [*map(fold_name, parts[: len(installed)])] == [*map(fold_name, installed)]:
        raise Refused(
            f"what is in {escape('/'.join(installed))} is not written with this tool: Runlore runs from it",
            code="workspace.kind",
            hint="use the environment's own commands, such as pip, to change it",
        )
    for part in parts:
        if fold_name(part) in _NEVER_WRITTEN:
            raise Refused(
                f"what is in {escape(part)} is not written with this tool",
                code="workspace.kind",
                hint="use git commands for the repository's own files",
            )


@contextmanager
def folder_below(folder: int, parts: tuple[str, ...]) -> Iterator[int]:
    """A folder on the way down, opened name by name. OSError is passed on."""
    handle = os.dup(folder)
    try:
        for part in parts:
            below = os.open(part, FOLDER_FLAGS, dir_fd=handle)
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)


def read_bytes(folder: int, name: str, *, bytes_max: int) -> tuple[bytes, os.stat_result]:
    """A regular file in an opened folder, and what it was when it was read. OSError; Refused
    (`workspace.kind`) where it is something else, or larger."""
    # A device may do something when it is opened, so that it is looked at before.
    _check_regular(name, os.stat(name, dir_fd=folder, follow_symlinks=False))
    file = os.open(name, FILE_FLAGS, dir_fd=folder)
    try:
        status = os.fstat(file)
        _check_regular(name, status)
        content: list[bytes] = []
        left = bytes_max + 1
        while left and (piece := os.read(file, min(left, _READ_BYTES))):
            content.append(piece)
            left -= len(piece)
    finally:
        os.close(file)
    if not left:
        raise _not_text(name, f"is larger than {bytes_max:,} bytes")
    return b"".join(content), status


@contextmanager
def translate_errors(path: str, *, writing: bool = False) -> Iterator[None]:
    """Say what the operating system refused, and what to do about it."""
    try:
        yield
    except OSError as error:
        raise _translate(path, error, writing=writing) from error


def full(path: str, why: str) -> Unavailable:
    """What is said where nothing can be written."""
    return Unavailable(
        f"{_show(path)} cannot be written: {why}; it is as it was before",
        code="workspace.full",
        hint="free some space or make it writable, then try again",
    )


def _check_regular(name: str, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise _link_error(name)
    if not stat.S_ISREG(status.st_mode):
        raise _not_text(name, "is no regular file")


def _link_error(path: str) -> Invalid:
    return _no_path(path, "is or leads through a link or a file, and neither is followed")


def _not_text(name: str, why: str) -> Refused:
    return Refused(
        f"{_show(name)} {why}", code="workspace.kind", hint="this tool is for text files; use the shell"
    )


def _no_path(path: str, why: str) -> Invalid:
    return Invalid(
        f"the path {_show(path)} {why}",
        code="workspace.path",
        hint="name a file below the working folder, such as `src/main.py`",
    )


def _show(path: str) -> str:
    return escape(path[:_SHOWN_CHARS]) or "."


def _translate(path: str, error: OSError, *, writing: bool) -> RunloreError:
    number = error.errno or 0
    why = error.strerror or "the disk fails"
    if number in (errno.ENOENT, errno.ESTALE):
        return NotFound(
            f"there is no {_show(path)}", code="workspace.file", hint="list its folder to see what there is"
        )
    if number in _LINKED or number == errno.ENAMETOOLONG:
        return _link_error(path) if number in _LINKED else _no_path(path, "has too long a name in it")
    if number in (errno.EISDIR, errno.EEXIST, errno.ENXIO, errno.ENODEV, errno.ENOTEMPTY):
        return _not_text(path, "is no regular file")
    if number in _FULL or (writing and number in _NOT_ALLOWED):
        return full(path, why)
    if number in _NOT_ALLOWED:
        return _not_text(path, "cannot be read by this user")
    return Unavailable(
        f"{_show(path)} cannot be used: {why}",
        code="workspace.disk",
        hint="look at the disk, then try again",
    )
