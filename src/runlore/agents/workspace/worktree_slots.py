"""The places that copies for child agents stand at: `.runlore-worktrees/<skill>/<call>` of a working folder.

Beside each copy is a folder of the same name with `.aside` at its end, out of the child's reach: who the copy
is for, and what is kept to compare it with. A place is taken by making that folder, which one can do only.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from runlore.agents.workspace.copies import remove_tree
from runlore.agents.workspace.safe_paths import FOLDER_FLAGS, NEW_FLAGS, WORKTREES, folder_below, read_bytes
from runlore.domain import limits
from runlore.domain.errors import Conflict, RunloreError
from runlore.domain.suggesting.naming import slug

_ASIDE = ".aside"
_CALL = "call"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z")
_DIGEST_CHARS = 12
_TRIES = 20


@dataclass(frozen=True, kw_only=True)
class OpenFolder:
    """A working folder that is held open, and where it is."""

    handle: int
    path: str


class WorktreeSlot:
    """One place: the opened folder of its skill, and its name there. The paths are what git is told."""

    def __init__(self, folder: OpenFolder, skill: str, name: str) -> None:
        """Of a working folder; OSError where the skill's folder is not there."""
        self._folder, self._skill, self.name = folder.handle, skill, name
        self.path = os.path.join(folder.path, WORKTREES, skill, name)
        self.aside_path = self.path + _ASIDE
        with folder_below(folder.handle, (WORKTREES, skill)) as handle:
            self.handle = os.dup(handle)

    @property
    def aside_name(self) -> str:
        """The name of the folder beside the copy."""
        return self.name + _ASIDE

    @property
    def call_id(self) -> str:
        """Whose it is; its own name where that is not told."""
        with suppress(OSError, RunloreError), folder_below(self.handle, (self.aside_name,)) as aside:
            content, _ = read_bytes(aside, _CALL, bytes_max=4 * limits.PATH_CHARS_MAX)
            return content.decode(errors="replace")
        return self.name

    def open(self, *below: str) -> int:
        """The copy, or what is below it, for whoever closes it. OSError where a link is on the way."""
        with folder_below(self.handle, (self.name, *below)) as handle:
            return os.dup(handle)

    def open_aside(self, *below: str) -> int:
        """The folder beside it, or what is below that, for whoever closes it."""
        with folder_below(self.handle, (self.aside_name, *below)) as handle:
            return os.dup(handle)

    def make_aside(self, name: str) -> int:
        with folder_below(self.handle, (self.aside_name,)) as aside:
            os.mkdir(name, 0o700, dir_fd=aside)
            return os.open(name, FOLDER_FLAGS, dir_fd=aside)

    def remove_aside(self, name: str) -> None:
        with folder_below(self.handle, (self.aside_name,)) as aside:
            remove_tree(aside, name)

    def clear(self) -> None:
        """Remove what is in the copy, and leave the place taken."""
        remove_tree(self.handle, self.name)
        os.mkdir(self.name, 0o700, dir_fd=self.handle)

    def remove(self) -> None:
        remove_tree(self.handle, self.name)
        remove_tree(self.handle, self.aside_name)

    def close(self) -> None:
        """Let go of it; folders above the copy that are empty by now go."""
        os.close(self.handle)
        with suppress(OSError), folder_below(self._folder, (WORKTREES,)) as top:
            os.rmdir(self._skill, dir_fd=top)
        with suppress(OSError):
            os.rmdir(WORKTREES, dir_fd=self._folder)


def take_slot(folder: OpenFolder, skill_name: str, call_id: str) -> WorktreeSlot:
    """Make and take a place; Conflict (`worktree.exists`) where it is taken. OSError."""
    skill, name = slug(skill_name) or "skill", safe_call_id(call_id)
    for _ in range(_TRIES):
        # Whoever leaves a place removes empty folders, perhaps just now.
        with suppress(FileNotFoundError):
            place = _make_slot(folder, skill, name)
            try:
                _occupy(place, call_id)
            except BaseException:
                place.close()
                raise
            return place
    raise _taken_conflict(name)


def list_slots(folder: OpenFolder) -> Iterator[WorktreeSlot]:
    """The places that are taken in a working folder, for whoever closes them."""
    with suppress(OSError), folder_below(folder.handle, (WORKTREES,)) as top:
        for skill in _folders(top):
            with suppress(OSError), folder_below(top, (skill,)) as handle:
                for name in sorted({one.removesuffix(_ASIDE) for one in _folders(handle)}):
                    yield WorktreeSlot(folder, skill, name)


def safe_call_id(call_id: str) -> str:
    """A name for a folder: the id itself where it is one, else what is left of it with its digest."""
    if len(call_id) <= limits.WORKTREE_CALL_ID_CHARS_MAX and _PLAIN.match(call_id):
        return call_id
    digest = sha256(call_id.encode(errors="surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{slug(call_id, 40) or 'call'}-{digest}"


def _make_slot(folder: OpenFolder, skill: str, name: str) -> WorktreeSlot:
    with suppress(FileExistsError):
        os.mkdir(WORKTREES, 0o700, dir_fd=folder.handle)
    with folder_below(folder.handle, (WORKTREES,)) as top, suppress(FileExistsError):
        os.mkdir(skill, 0o700, dir_fd=top)
    return WorktreeSlot(folder, skill, name)


def _occupy(place: WorktreeSlot, call_id: str) -> None:
    try:
        os.mkdir(place.aside_name, 0o700, dir_fd=place.handle)
    except FileExistsError:
        raise _taken_conflict(place.name) from None
    try:
        os.mkdir(place.name, 0o700, dir_fd=place.handle)
        with folder_below(place.handle, (place.aside_name,)) as aside:
            new_file(aside, _CALL, call_id.encode(errors="replace"))
    except FileExistsError:
        remove_tree(place.handle, place.aside_name)
        raise _taken_conflict(place.name) from None
    except BaseException:
        place.remove()
        raise


def new_file(folder: int, name: str, content: bytes) -> None:
    """Write a small file that was not there."""
    file = os.open(name, NEW_FLAGS, 0o600, dir_fd=folder)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(file, left) :]
    finally:
        os.close(file)


def _folders(handle: int) -> list[str]:
    names = sorted(os.listdir(handle))
    return [
        name for name in names if stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode)
    ]


def _taken_conflict(name: str) -> Conflict:
    return Conflict(
        f"there is a copy for the call {name} already",
        code="worktree.exists",
        hint="call again with another id; what a process left behind is swept when the daemon starts",
    )
