"""Where the page is written: whole or not at all, and for this user alone."""

import os
import secrets
import stat
import tempfile

from runlore.atomic_write import temporary_file
from runlore.domain.errors import Invalid, Unavailable

_TEMPORARY_PREFIX = ".runlore-report-"


def check_place(path: str) -> None:
    """Refuse a place where no page can be written, before the work is done that fills it."""
    folder = os.path.dirname(_target(path))
    try:
        with tempfile.NamedTemporaryFile(prefix=_TEMPORARY_PREFIX, dir=folder):
            pass
    except OSError as error:
        raise _unwritable(path, error) from error


def write_page(path: str, page: str) -> str:
    target = _target(path)
    folder = os.path.dirname(target)
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            temporary = f"{_TEMPORARY_PREFIX}{secrets.token_hex(8)}"
            with temporary_file(opened, temporary, page.encode("utf-8", errors="backslashreplace")):
                os.rename(temporary, target, src_dir_fd=opened)
            os.fsync(opened)
        finally:
            os.close(opened)
    except OSError as error:
        raise _unwritable(path, error) from error
    return target


def _target(path: str) -> str:
    """The file that a path names; a link is followed, and only a file is replaced."""
    if not path or "\0" in path:
        raise _no_file(path, "is no path that there can be")
    target = os.path.realpath(path)
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        if path.endswith(os.sep):
            raise _no_file(path, "is a folder that does not exist") from None
        return target
    except OSError as error:
        raise _unwritable(path, error) from error
    if stat.S_ISDIR(mode):
        raise _no_file(path, "is a folder")
    if not stat.S_ISREG(mode):
        raise _no_file(path, "is not a regular file")
    return target


def _no_file(path: str, problem: str) -> Invalid:
    return Invalid(
        f"{path!r:.300} {problem}; no report was written",
        code="report.path",
        hint="name a file, such as --report report.html",
    )


def _unwritable(path: str, error: OSError) -> Unavailable:
    return Unavailable(
        f"no report can be written to {path!r:.300}: {error.strerror or error}",
        code="report.write",
        hint="name a file in a folder that you may write to and that has room",
    )
