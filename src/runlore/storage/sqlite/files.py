"""The state root's folder and files: there, ours and private, or an error that says what is wrong.

The lock on a state root: one process at a time works embedded on it.

The kernel lets go of it when the process ends, however it ends. The file stays; only the lock counts.
"""

import fcntl
import os
import stat
import struct
import time
from contextlib import suppress

from runlore.domain import limits
from runlore.domain.errors import Corrupt, Invalid, Unavailable

LOCK_FILE = "lock"
_POLL_S = 0.02
_PID_BYTES_MAX = 20


class StateLock:
    """The held lock. A second one in the same process waits and is refused like any other."""

    def __init__(self, state_root: str, *, wait_s: float = limits.LOCK_WAIT_S) -> None:
        path = os.path.join(state_root, LOCK_FILE)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(self._file, 0o600)
            self._take(state_root, time.monotonic() + wait_s)
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            os.close(self._file)
            raise

    def release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _take(self, state_root: str, deadline: float) -> None:
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise self._lock_error(state_root) from None
                time.sleep(_POLL_S)
            else:
                return

    def _lock_error(self, state_root: str) -> Unavailable:
        pid = os.pread(self._file, _PID_BYTES_MAX, 0).decode(errors="replace").strip()
        holder = "this process itself" if pid == str(os.getpid()) else f"process {pid or '(unknown)'}"
        return Unavailable(
            f"{state_root} is in use by {holder}",
            code="store.locked",
            hint="wait for it to end, or end it; a running daemon is reached through its socket",
        )


DATABASE_FILE = "runlore.db"
DAMAGED_FOLDER = "damaged-logs"
DAMAGE_NOTE = ".txt"
_NOTES_MAX = 20
_NOTE_CHARS_MAX = 1_000
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600
_OTHERS = 0o077
# What tells a folder of ours from one that merely was named.
_OURS = (DATABASE_FILE, "config.toml", "lock")
_HEADER = struct.Struct(">16sH10xI")
_MAGIC = b"SQLite format 3\0"
_LARGEST_PAGE = 65_536


def prepare_state_root(state_root: str) -> str:
    if not state_root or "\0" in state_root:
        raise Invalid(
            f"the state root {state_root!r} is not a path",
            code="store.root",
            hint="name a folder with --home or RUNLORE_HOME",
        )
    path = os.path.abspath(state_root)
    try:
        if os.path.isdir(path):
            _make_private(path)
        else:
            os.makedirs(path, mode=_PRIVATE_FOLDER, exist_ok=True)
            os.chmod(path, _PRIVATE_FOLDER)
    except (OSError, ValueError) as error:
        raise unusable_root(path, error) from None
    return path


def prepare_database_file(path: str) -> None:
    """Make the file private before SQLite sees it (its log takes over the mode), and look at its header."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_FILE)
    except OSError as error:
        raise unusable_root(path, error) from None
    try:
        if stat.S_IMODE(os.fstat(file).st_mode) != _PRIVATE_FILE:
            os.fchmod(file, _PRIVATE_FILE)
        _check_header(path, file)
    except OSError as error:
        raise unusable_root(path, error) from None
    finally:
        os.close(file)


def damage_notes(state_root: str) -> tuple[str, ...]:
    """What is said of damaged logs, until somebody takes the notes away."""
    folder = os.path.join(state_root, DAMAGED_FOLDER)
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(DAMAGE_NOTE))[:_NOTES_MAX]
    except OSError:
        return ()
    notes = []
    for name in names:
        with suppress(OSError), open(os.path.join(folder, name), encoding="utf-8", errors="replace") as note:
            notes.append(note.read(_NOTE_CHARS_MAX).strip())
    return tuple(notes)


def delete_copies(state_root: str) -> None:
    """Delete the copies: they may hold what was forgotten. The notes stay."""
    folder = os.path.join(state_root, DAMAGED_FOLDER)
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if not name.endswith(DAMAGE_NOTE):
                os.unlink(os.path.join(folder, name))


def unusable_root(path: str, error: Exception) -> Unavailable:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Unavailable(
        f"the state root cannot be used: {path}: {reason}",
        code="store.root",
        hint="choose a folder that this user can write, with --home or RUNLORE_HOME",
    )


def _make_private(path: str) -> None:
    status = os.stat(path)
    if not stat.S_IMODE(status.st_mode) & _OTHERS:
        return
    names = os.listdir(path)
    if names and not any(name in names for name in _OURS):
        raise Invalid(
            f"{path} is open to others and holds files that are not Runlore's",
            code="store.root",
            hint=f"name a folder of its own, or make this one private: chmod 700 {path}",
        )
    os.chmod(path, _PRIVATE_FOLDER)


def _check_header(path: str, file: int) -> None:
    """A file that is cut off or something else is told before SQLite writes into it."""
    size = os.fstat(file).st_size
    if size == 0:
        return
    header = os.pread(file, _HEADER.size, 0)
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        raise _damage_error(path, "it is not a database")
    _, page_size, pages = _HEADER.unpack(header)
    wal = f"{path}-wal"
    # With a log beside it the file may rightly be shorter: the missing pages stand in the log.
    is_alone = not os.path.exists(wal) or os.path.getsize(wal) == 0
    if is_alone and pages * (page_size if page_size > 1 else _LARGEST_PAGE) > size:
        raise _damage_error(path, "its end is missing")


def _damage_error(path: str, what: str) -> Corrupt:
    return Corrupt(
        f"{path} is damaged: {what}",
        code="store.damaged",
        hint="nothing was written; restore the store from a backup or an export",
    )
