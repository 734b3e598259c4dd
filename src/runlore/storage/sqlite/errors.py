"""SQLite's errors as ours, and whether the store may still acknowledge writes after them."""

from collections.abc import Callable
from typing import TypeAlias

import apsw

from runlore.domain.errors import DISK_FULL, Corrupt, Invalid, RunloreError, Unavailable
from runlore.storage.sql.record_rows import unstorable

DriverError: TypeAlias = apsw.Error | UnicodeError | OverflowError
_STOPPING = frozenset({"store.io", "store.damaged", DISK_FULL})
DRIVER_ERRORS = (apsw.Error, UnicodeError, OverflowError)


class WriteHealth:
    """Whether writes may be acknowledged. After an I/O error nobody knows what has reached the disk; a full
    disk stops them too, until the writer has proven that there is room again."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.stopped: RunloreError | None = None

    def check(self) -> None:
        if self.stopped is not None:
            raise copy_error(self.stopped)

    def translate(self, error: DriverError) -> RunloreError:
        """The error to raise. An I/O error or damage also stops all further writes."""
        result = _translate(error, self._path)
        if result.code in _STOPPING:
            self.stopped = self.stopped or result
        return result

    @property
    def waits_for_room(self) -> bool:
        return self.stopped is not None and self.stopped.code == DISK_FULL


def copy_error(error: RunloreError) -> RunloreError:
    """An error to raise once more: each thread that is told gets its own, with its own traceback."""
    return type(error)(error.sentence, code=error.code, hint=error.hint)


def _translate(error: DriverError, path: str) -> RunloreError:
    for kinds, make in _KINDS:
        if isinstance(error, kinds):
            return make(error, path)
    return Unavailable(
        f"{path} could not be used: {error} ({type(error).__name__})",
        code="store.failed",
        hint="try again; when it happens again, report it with this text",
    )


def _io(error: DriverError, path: str) -> RunloreError:
    return Unavailable(
        f"{path} cannot be read or written: {error}",
        code="store.io",
        hint="look at the disk and the system log, then start again; what was acknowledged is on the disk",
    )


def _damage_error(error: DriverError, path: str) -> RunloreError:
    return Corrupt(
        f"{path} is damaged: {error}",
        code="store.damaged",
        hint="nothing was written; restore the store from a backup or an export",
    )


def _too_large(error: DriverError, _path: str) -> RunloreError:
    return Invalid(f"a value is too large: {error}", code="record.json", hint="use smaller numbers and texts")


def _lock_error(error: DriverError, path: str) -> RunloreError:
    return Unavailable(
        f"another program holds {path}: {error}",
        code="store.locked",
        hint="close the other program that has the file open, then try again",
    )


def _read_only(error: DriverError, path: str) -> RunloreError:
    return Unavailable(
        f"{path} cannot be written: {error}",
        code="store.read-only",
        hint="make the state root and its files writable for this user",
    )


def disk_full(path: str, *, has_reserve: bool) -> Unavailable:
    """The error for a disk that is nearly full: what is left is kept for taking things away, if anything."""
    meanwhile = "forgetting and revoking still work, from a reserve" if has_reserve else "reads go on"
    return Unavailable(
        f"the disk that holds {path} is full, or nearly; nothing was written",
        code=DISK_FULL,
        hint=f"free some space, and writing goes on by itself; until then {meanwhile}",
    )


def not_opened(path: str) -> Unavailable:
    """The error for a database that a full disk keeps from being opened: nobody reads it either."""
    return Unavailable(
        f"the disk that holds {path} is full, and the database needs a little room to be opened",
        code=DISK_FULL,
        hint="free some space, then start or ask again; what was acknowledged is on the disk",
    )


_KINDS: tuple[tuple[tuple[type[Exception], ...], Callable[[DriverError, str], RunloreError]], ...] = (
    ((UnicodeEncodeError,), lambda _error, _path: unstorable()),
    # Our statements are fixed, so one that does not fit means that the schema is not ours any more.
    (
        (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError, UnicodeDecodeError),
        _damage_error,
    ),
    ((apsw.IOError, apsw.CantOpenError), _io),
    ((OverflowError, apsw.TooBigError), _too_large),
    ((apsw.BusyError, apsw.LockedError), _lock_error),
    ((apsw.FullError,), lambda _error, path: disk_full(path, has_reserve=False)),
    ((apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError), _read_only),
)
