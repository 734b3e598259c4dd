"""The copies that child agents work in, noted while they are there: a start sweeps what the dead left behind.

A note is a file in the state root that its process holds locked: the kernel lets go of the lock when the
process ends, however it ends. Only a copy that is noted here is ever swept: in the same working folder there
may be those of another Runlore.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256

import orjson

from runlore.domain import limits
from runlore.domain.errors import RunloreError, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.run import RunId
from runlore.ports.workspaces import Workspaces

FOLDER = "worktrees"
_NOTE_BYTES_MAX = 8 * limits.PATH_CHARS_MAX
_NOTES_MAX = 1_000
_OPENED = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A copy: of which working folder, and for which call."""

    folder: str
    call_id: str


class CopyNotes:
    """The notes of a state root."""

    def __init__(self, state_root: str) -> None:
        self._folder = os.path.join(state_root, FOLDER)

    @contextmanager
    def keep_note(
        self, copy: Copy, run_id: RunId, *, is_left: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Keep a note while the copy of a run is there, and where it `is_left` at the end, for the next
        start; Unavailable (`worktree.note`) where none can be written."""
        path = os.path.join(self._folder, f"{sha256(run_id.encode()).hexdigest()}.json")
        try:
            held = self._write_note(path, copy)
        except OSError as error:
            raise Unavailable(
                f"a copy for a child agent cannot be noted in {self._folder}: {error.strerror}",
                code="worktree.note",
                hint="make room there, and see that Runlore may write to it",
            ) from error
        try:
            yield
        finally:
            # Removed before it is let go of: whoever can lock a note takes its process for dead.
            try:
                if not is_left():
                    with suppress(OSError):
                        os.unlink(path)
            finally:
                os.close(held)

    def sweep(self, workspaces: Workspaces) -> tuple[str, ...]:
        """Remove the copies of processes that died, by their call ids; those that went. What cannot be
        removed now stays noted."""
        gone: list[str] = []
        with ExitStack() as opened:
            notes = [note for name in self._names() if (note := self._open_note(name, opened)) is not None]
            alive = {note.copy for note in notes if note.is_held}
            for note in notes:
                if not note.is_held and (note.copy in alive or _is_swept(workspaces, note.copy, gone)):
                    with suppress(OSError):
                        os.unlink(note.path)
        return tuple(sorted(gone))

    def _write_note(self, path: str, copy: Copy) -> int:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        held = os.open(path, _OPENED | os.O_CREAT, 0o600)
        try:
            # Whoever sweeps just now may hold it for a moment: an empty note tells it nothing.
            fcntl.flock(held, fcntl.LOCK_EX)
            os.pwrite(held, orjson.dumps({"folder": copy.folder, "call_id": copy.call_id}), 0)
        except BaseException:
            os.close(held)
            raise
        return held

    def _open_note(self, name: str, opened: ExitStack) -> "_Note | None":
        """A note, locked until the end where its process is dead; None for what is none."""
        path = os.path.join(self._folder, name)
        try:
            file = os.open(path, _OPENED)
            opened.callback(os.close, file)
            copy = _read(file)
        except OSError:
            return None
        return None if copy is None else _Note(path=path, copy=copy, is_held=_is_held(file))

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self._folder))[:_NOTES_MAX]
        except OSError:
            return []


@dataclass(frozen=True, kw_only=True)
class _Note:
    path: str
    copy: Copy
    is_held: bool


def _is_held(file: int) -> bool:
    """Whether a living process holds a note; else it is ours from now on."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def _read(file: int) -> Copy | None:
    try:
        note = orjson.loads(os.pread(file, _NOTE_BYTES_MAX, 0))
    except ValueError:
        return None
    folder, call_id = (note.get("folder"), note.get("call_id")) if isinstance(note, dict) else (None, None)
    if not isinstance(folder, str) or not isinstance(call_id, str):
        return None
    return Copy(folder=folder, call_id=call_id)


def is_there(workspaces: Workspaces, copy: Copy) -> bool:
    """Whether a copy stands in its working folder; where that cannot be found out, it may."""
    found: list[str] = []

    def is_alive(call_id: str) -> bool:
        found.append(call_id)
        return True

    try:
        workspaces.sweep(copy.folder, is_alive=is_alive)
    except Unavailable:
        return True
    except RunloreError:
        # There is no such folder any more, or none that may be worked in.
        return False
    return copy.call_id in found


def _is_swept(workspaces: Workspaces, copy: Copy, gone: list[str]) -> bool:
    """Whether the note has done its work: the copy is gone, or its working folder is."""
    with suppress(RunloreError):
        gone += workspaces.sweep(copy.folder, is_alive=lambda call_id: call_id != copy.call_id)
    return not is_there(workspaces, copy)
