"""Finds the repository that a folder is in, by looking alone: no program is run, and no setting believed.

What a command in the folder could have written is not trusted: a `.git` that leads elsewhere counts only
where the place it leads to says so too, which nobody could write from inside.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from runlore.agents.workspace.permissions import is_within
from runlore.agents.workspace.safe_paths import FOLDER_FLAGS, WORKTREES, folder_below, read_bytes
from runlore.atomic_write import temporary_file
from runlore.domain.errors import RunloreError

_POINTER_BYTES_MAX = 8_192
_EXCLUDE_BYTES_MAX = 1024**2
_EXCLUDED = f"{WORKTREES}/"
WORKTREES_OF = "worktrees"
_TRIES = 5


@dataclass(frozen=True, kw_only=True)
class Repository:
    """Where a repository's files are (`top`), what git keeps for them (`git_dir`), and what it keeps for all
    of its worktrees (`common`)."""

    top: str
    git_dir: str
    common: str


def repository_of(folder: str) -> Repository | None:
    """The repository that a folder, told without links, is in; None where there is none that counts."""
    top = folder
    while True:
        pointer = os.path.join(top, ".git")
        try:
            status = os.lstat(pointer)
        except OSError:
            above = os.path.dirname(top)
            if above == top:
                return None
            top = above
            continue
        if stat.S_ISDIR(status.st_mode):
            return Repository(top=top, git_dir=pointer, common=pointer) if _is_git(pointer) else None
        return _linked_repository(top) if stat.S_ISREG(status.st_mode) else None


def records_of(common: str, copy: str) -> tuple[str, ...]:
    """The names of what git keeps about a worktree at a place; more than one where one was left behind."""
    found = []
    with suppress(OSError), open_folder(common) as top, folder_below(top, (WORKTREES_OF,)) as folder:
        for name in os.listdir(folder):
            if _pointer(folder, name, "gitdir") == os.path.join(copy, ".git"):
                found.append(name)
    return tuple(sorted(found))


def exclude_copies(common: str) -> None:
    """Keep the copies of child agents out of what git calls untracked: one line, added once. What cannot be
    read or written without following a link stays as it is."""
    with suppress(OSError, RunloreError), open_folder(common) as folder:
        with suppress(FileExistsError):
            os.mkdir("info", 0o777, dir_fd=folder)
        with folder_below(folder, ("info",)) as info:
            for _ in range(_TRIES):
                before = _exclude(info)
                if _EXCLUDED.encode() in before.splitlines():
                    return
                gap = b"" if before.endswith(b"\n") or not before else b"\n"
                if _replace_exclude(info, before, before + gap + _EXCLUDED.encode() + b"\n"):
                    return


@contextmanager
def open_folder(path: str) -> Iterator[int]:
    """A folder that is no link, held open."""
    handle = os.open(path, FOLDER_FLAGS)
    try:
        yield handle
    finally:
        os.close(handle)


def _linked_repository(top: str) -> Repository | None:
    """A worktree of a repository elsewhere, where that one knows of it."""
    with suppress(OSError), open_folder(top) as folder:
        told = _pointer(folder, "", ".git")
        if not told.startswith("gitdir: "):
            return None
        git_dir = os.path.realpath(os.path.join(top, told.removeprefix("gitdir: ")))
        above, common = os.path.dirname(git_dir), os.path.dirname(os.path.dirname(git_dir))
        # A repository inside of its own worktree is one that a command there made, and may change meanwhile.
        if os.path.basename(above) != WORKTREES_OF or is_within(common, top) or not _is_git(common):
            return None
        with open_folder(git_dir) as kept:
            knows = os.path.realpath(os.path.join(git_dir, _pointer(kept, "", "gitdir")))
            shares = os.path.realpath(os.path.join(git_dir, _pointer(kept, "", "commondir")))
        if knows == os.path.join(top, ".git") and shares == common:
            return Repository(top=top, git_dir=git_dir, common=common)
    return None


def _is_git(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "HEAD")) and all(
        os.path.isdir(os.path.join(folder, name)) for name in ("objects", "refs")
    )


def _pointer(folder: int, below: str, name: str) -> str:
    """What a small file says in its first line; nothing where it is none."""
    with suppress(OSError, RunloreError), folder_below(folder, (below,) if below else ()) as handle:
        content, _ = read_bytes(handle, name, bytes_max=_POINTER_BYTES_MAX)
        return os.fsdecode(content.partition(b"\n")[0])
    return ""


def _exclude(info: int) -> bytes:
    try:
        content, _ = read_bytes(info, "exclude", bytes_max=_EXCLUDE_BYTES_MAX)
    except FileNotFoundError:
        return b""
    return content


def _replace_exclude(info: int, before: bytes, after: bytes) -> bool:
    """Put a new list in place, where it is still the one that was read."""
    temporary = f"exclude.{secrets.token_hex(8)}"
    with temporary_file(info, temporary, after, mode=0o666):
        if _exclude(info) != before:
            return False
        os.rename(temporary, "exclude", src_dir_fd=info, dst_dir_fd=info)
        return True
