"""Where the page is written: aside first, private, synced, and then in its place, whole or not at all."""

import os
import stat
import tempfile
from contextlib import suppress

from runlore.domain.errors import Invalid, Unavailable

_ASIDE_PREFIX = ".runlore-report-"


def check_place(path: str) -> None:
    """Refuse a place where no page can be written, before the work is done that fills it."""
    folder = os.path.dirname(_target(path))
    try:
        with tempfile.NamedTemporaryFile(prefix=_ASIDE_PREFIX, dir=folder):
            pass
    except OSError as error:
        raise _unwritable(path, error) from error


def write_page(path: str, page: str) -> str:
    """Write the page in place of what was there; where it lies."""
    target = _target(path)
    folder = os.path.dirname(target)
    try:
        handle, aside = tempfile.mkstemp(prefix=_ASIDE_PREFIX, dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(page.encode("utf-8", errors="backslashreplace"))
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(aside)
            raise
        _sync(folder)
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


def _sync(folder: str) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


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
