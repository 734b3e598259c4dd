"""Keeps commands from leaving behind what other programs execute or obey by themselves (SEC-1).

Where the kernel can, git's own settings and hooks are closed while a command runs. All else of the table is
compared: what is in the folder before a command, and after it and all that it started have ended. What
differs is put back at once, and given to whoever may decide that it stays.
"""

import difflib
import os
import secrets
import stat
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum

from runlore.agents.workspace.copies import remove_tree
from runlore.agents.workspace.permissions import is_within
from runlore.agents.workspace.safe_paths import OpenHandle, folder_below, read_bytes
from runlore.atomic_write import temporary_file
from runlore.domain import limits
from runlore.domain.agent import obeyed_files as table
from runlore.domain.errors import Conflict, RunloreError
from runlore.domain.text.safe_text import escape
from runlore.ports.workspaces import ObeyedChange, WithheldChanges

_CLOSED_MAX = 128
# How often what is put back is looked for again, where a command made more than one look holds.
_ROUNDS_MAX = 20
_GIT = "git"
_Parts = tuple[str, ...]


class _Kind(Enum):
    """What a folder is: one of the project's, one of git's, one of further folders of git's, or one in which
    all is obeyed."""

    PLAIN = 1
    GIT = 2
    NESTED = 3
    OBEYED = 4


@dataclass(frozen=True, kw_only=True)
class ObeyedFile:
    """A file as it was. Of one that is too large to be kept, `content` is None and `stamp` tells it."""

    mode: int
    owner: tuple[int, int]
    content: bytes | None
    stamp: tuple[int, ...] = ()


# What a file was, and what it became.
_Change = tuple[ObeyedFile | None, ObeyedFile | None]


@dataclass(kw_only=True)
class ObeyedSnapshot:
    """All files of a folder that are obeyed; those that obeyed files and links name besides, by the program
    that obeys them; what the kernel can close, and whether all of it or only against being moved away."""

    files: dict[_Parts, ObeyedFile] = field(default_factory=dict)
    folders: set[_Parts] = field(default_factory=set)
    named: dict[_Parts, str] = field(default_factory=dict)
    closed: dict[_Parts, bool] = field(default_factory=dict)
    is_whole: bool = True


class ObeyedGuard:
    """The obeyed files below one folder that is held open; of git's own kind where it `is_git`."""

    def __init__(self, held: OpenHandle, path: str, *, is_git: bool = False) -> None:
        self._held, self._path, self._is_git = held, path, is_git

    def look(self, before: ObeyedSnapshot | None = None) -> ObeyedSnapshot:
        """What is there now, also in the places that were named `before`."""
        known = before or ObeyedSnapshot()
        walk = _Walk(self._held.handle, self._path, known.named)
        return walk.walk(_Kind.GIT if self._is_git else _Kind.PLAIN, known=known.files)

    def closable(self, before: ObeyedSnapshot) -> list[tuple[str, bool]]:
        """The paths that the kernel is asked to close, the outer first; told from the folder, or where that
        is one of git's, whole."""
        top = self._path if self._is_git else ""
        some = sorted(before.closed.items())[:_CLOSED_MAX]
        return [(os.path.join(top, *parts), is_whole) for parts, is_whole in some if parts]

    def put_back(
        self, before: ObeyedSnapshot, *, may_set: bool = False
    ) -> tuple[WithheldChanges | None, bool]:
        """Undo what has changed since; what that was, and whether all could be compared. Where a command
        `may_set` git's settings, what it does to them by routine stays."""
        changed: dict[_Parts, _Change] = {}
        for _ in range(_ROUNDS_MAX):
            after = self.look(before)
            found = self._undo(before, after, may_set=may_set)
            changed = {**found, **changed}
            if after.is_whole or not found:
                break
        is_compared = before.is_whole and after.is_whole
        if not changed:
            return None, is_compared
        named = {**after.named, **before.named}
        told = tuple(_describe(path, *change, named=named) for path, change in sorted(changed.items()))
        return WithheldChanges(changes=told, keep=lambda: self._keep(changed)), is_compared

    def _undo(self, before: ObeyedSnapshot, after: ObeyedSnapshot, *, may_set: bool) -> dict[_Parts, _Change]:
        """Put back what has changed in one look."""
        paths = sorted(
            path
            for path in {*before.files, *after.files}
            if before.files.get(path) != after.files.get(path)
            and not (may_set and _is_covered(path, before, after))
        )
        # What is new goes first, the inner before the outer: it may stand where a folder has to be again.
        new = [path for path in reversed(paths) if path not in before.files]
        for path in (*new, *(path for path in paths if path in before.files)):
            self._put(path, before.files.get(path))
        for folder in sorted(after.folders - before.folders, reverse=True):
            with suppress(OSError), folder_below(self._held.handle, folder[:-1]) as above:
                os.rmdir(folder[-1], dir_fd=above)
        return {path: (before.files.get(path), after.files.get(path)) for path in paths}

    def _keep(self, changed: Mapping[_Parts, _Change]) -> None:
        """Let changes stay after all. Conflict (`workspace.obeyed`) where somebody has changed more since."""
        now = self.look(ObeyedSnapshot(named=dict.fromkeys(changed, _GIT)))
        for path, (before, after) in changed.items():
            if now.files.get(path) != before or (after is not None and after.content is None):
                raise Conflict(
                    f"{_format_path(path)} has changed since, or is too large: it stays as it is now",
                    code="workspace.obeyed",
                    hint="make the change again, or leave it to the person",
                )
        for path, (_, after) in sorted(changed.items()):
            self._put(path, after)

    def _put(self, path: _Parts, file: ObeyedFile | None) -> None:
        """Let a file be as it was. What cannot be written stays, and the next comparison tells it again."""
        with suppress(OSError, RunloreError):
            if file is None:
                with folder_below(self._held.handle, path[:-1]) as above:
                    _remove(above, path[-1])
            elif file.content is not None:
                self._make_folders(path[:-1])
                with folder_below(self._held.handle, path[:-1]) as above:
                    _write(above, path[-1], file)

    def _make_folders(self, parts: _Parts) -> None:
        """The folders on the way, in place of whatever stands there by now."""
        for depth, name in enumerate(parts):
            with folder_below(self._held.handle, parts[:depth]) as above:
                with suppress(FileNotFoundError):
                    status = os.stat(name, dir_fd=above, follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        if status.st_mode & stat.S_IRWXU != stat.S_IRWXU:
                            os.chmod(name, stat.S_IMODE(status.st_mode) | stat.S_IRWXU, dir_fd=above)
                        continue
                    os.unlink(name, dir_fd=above)
                os.mkdir(name, 0o777, dir_fd=above)


class _Walk:
    """One look through a folder, the nearest folders first: what is beyond the limit is far away."""

    def __init__(self, handle: int, path: str, named: Mapping[_Parts, str]) -> None:
        self._handle, self._path = handle, path
        self._found = ObeyedSnapshot(named=dict(named))
        self._waiting: deque[tuple[_Parts, _Kind]] = deque()
        self._entries_left, self._bytes_left = limits.OBEYED_ENTRIES_MAX, limits.OBEYED_BYTES_MAX
        self._seen: set[tuple[_Parts, _Kind]] = set()

    def walk(self, kind: _Kind, *, known: Collection[_Parts]) -> ObeyedSnapshot:
        found = self._found
        self._waiting.append(((), kind))
        for parts in sorted(found.named):
            self._look_at(parts)
        while self._waiting and found.is_whole:
            folder = self._waiting.popleft()
            if folder not in self._seen:
                self._seen.add(folder)
                self._look_into(*folder)
        for path in () if found.is_whole else known:
            self._look_at(path)
        return found

    def _look_into(self, parts: _Parts, kind: _Kind) -> None:
        with suppress(OSError), folder_below(self._handle, parts) as folder:
            with os.scandir(folder) as listed:
                entries = list(self._count(listed))
            names = {entry.name for entry in entries}
            marks = {_Kind.PLAIN: table.GIT_FOLDERS, _Kind.NESTED: ({"HEAD"},)}.get(kind, ())
            if any(names >= each for each in marks):
                self._waiting.append((parts, _Kind.GIT))
            if kind is _Kind.GIT:
                self._found.closed[parts] = False
            if kind is _Kind.OBEYED:
                self._found.folders.add(parts)
            for entry in entries:
                self._take(entry, (*parts, entry.name), kind, folder=folder)

    def _count(self, listed: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
        for entry in listed:
            self._entries_left -= 1
            if self._entries_left < 0 or len(self._found.files) > limits.OBEYED_FILES_MAX:
                self._found.is_whole = False
                return
            yield entry

    def _take(self, entry: os.DirEntry[str], path: _Parts, kind: _Kind, *, folder: int) -> None:
        """Note a name in a folder, and what is to be looked into behind it."""
        name, is_folder = table.fold_name(entry.name), entry.is_dir(follow_symlinks=False)
        above = table.fold_name(path[-2]) if len(path) > 1 else ""
        if kind is _Kind.PLAIN and entry.is_symlink():
            self._follow(path)
        if kind is _Kind.GIT and name == table.GIT_REBASE:
            self._look_at((*path, table.GIT_TODO))
        if kind is _Kind.NESTED or name in table.SKIPPED:
            below = _Kind.NESTED if kind is _Kind.NESTED else None
        elif kind is _Kind.GIT and name not in table.GIT_OBEYED:
            below = _Kind.NESTED if name in table.GIT_NESTED else None
        elif kind is _Kind.PLAIN and is_folder and name == table.GIT:
            below = _Kind.GIT
        elif (kind is _Kind.PLAIN and table.obeyed_name(above, name, is_folder=is_folder) is None) or (
            is_folder and (above, name) == table.PROJECTS_IN
        ):
            below = _Kind.PLAIN
        else:
            below = _Kind.OBEYED
            if not entry.is_symlink() and (kind is _Kind.GIT or name == table.GIT):
                self._found.closed[path] = True
            if not is_folder and not path[-1].endswith(".sample"):
                self._read(path, folder, entry.stat(follow_symlinks=False))
        if is_folder and below is not None:
            self._waiting.append((path, below))

    def _follow(self, path: _Parts) -> None:
        """Look into a folder that is skipped by its name, where a link leads to it."""
        place = self._inside(os.path.realpath(os.path.join(self._path, *path)))
        if not table.SKIPPED.isdisjoint(map(table.fold_name, place)):
            self._waiting.append((place, _Kind.PLAIN))

    def _look_at(self, path: _Parts, *, whole_folders: bool = True) -> None:
        """Note what is at a place that something names."""
        with suppress(OSError), folder_below(self._handle, path[:-1]) as folder:
            status = os.stat(path[-1], dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                self._read(path, folder, status)
            elif whole_folders:
                self._waiting.append((path, _Kind.OBEYED))

    def _read(self, path: _Parts, folder: int, status: os.stat_result) -> None:
        content: bytes | None = None
        stamp: tuple[int, ...] = ()
        if stat.S_ISLNK(status.st_mode):
            content = os.fsencode(os.readlink(path[-1], dir_fd=folder))
            self._name(os.path.realpath(os.path.join(self._path, *path)), by=path)
        elif stat.S_ISREG(status.st_mode) and status.st_size <= self._bytes_left:
            with suppress(OSError, RunloreError):
                content, _ = read_bytes(folder, path[-1], bytes_max=limits.WORKSPACE_FILE_BYTES_MAX)
                self._bytes_left -= len(content)
        if content is None:
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        elif not table.is_obeyed_content(path[-1], content):
            return
        owner = (status.st_uid, status.st_gid)
        self._found.files[path] = ObeyedFile(mode=status.st_mode, owner=owner, content=content, stamp=stamp)
        if content and stat.S_ISREG(status.st_mode):
            for place in table.named_paths(path, content):
                self._name(os.path.join(self._path, place), by=path)
            for place in table.named_files(path, content):
                self._name(os.path.join(self._path, place), by=path, whole_folders=False)

    def _name(self, place: str, *, by: _Parts, whole_folders: bool = True) -> None:
        """Note a place that is obeyed because an obeyed file names it."""
        path, named = self._inside(os.path.normpath(place)), self._found.named
        if path and path not in named:
            named[path] = table.obeyed_by(by) or named.get(by, _GIT)
            self._look_at(path, whole_folders=whole_folders)

    def _inside(self, place: str) -> _Parts:
        """The names that lead to a place from the folder; none where it is no place in there."""
        is_inside = place != self._path and is_within(place, self._path)
        return tuple(os.path.relpath(place, self._path).split("/")) if is_inside else ()


def _is_covered(path: _Parts, before: ObeyedSnapshot, after: ObeyedSnapshot) -> bool:
    """Whether a change belongs to a command that may write git's settings: its routine in files of git, and
    what a new worktree or clone brings along."""
    old, new = before.files.get(path), after.files.get(path)
    names = [table.fold_name(part) for part in path]
    is_of_git = table.GIT in names or any(path[: len(top)] == top for top in after.closed if top)
    if is_of_git:
        content = None if new is None else new.content
        return table.is_routine(path, None if old is None else old.content, content)
    tops = (path[:depth] for depth in range(1, len(path)))
    return any(_has_git(after, top) and not _has_git(before, top) for top in tops)


def _has_git(found: ObeyedSnapshot, top: _Parts) -> bool:
    return (*top, table.GIT) in found.closed


def _remove(above: int, name: str) -> None:
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            remove_tree(above, name)
        else:
            os.unlink(name, dir_fd=above)


def _write(above: int, name: str, file: ObeyedFile) -> None:
    """Put a file or a link in the place of what is there, whole or not at all."""
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            remove_tree(above, name)
    temporary = f".runlore-{secrets.token_hex(8)}.new"
    if stat.S_ISLNK(file.mode):
        os.symlink(os.fsdecode(file.content or b""), temporary, dir_fd=above)
        os.rename(temporary, name, src_dir_fd=above, dst_dir_fd=above)
        return

    def prepare(opened: int) -> None:
        with suppress(PermissionError):
            os.fchown(opened, *file.owner)
        os.fchmod(opened, stat.S_IMODE(file.mode))

    with temporary_file(above, temporary, file.content or b"", prepare=prepare):
        os.rename(temporary, name, src_dir_fd=above, dst_dir_fd=above)
    os.fsync(above)


def _describe(
    path: _Parts, before: ObeyedFile | None, after: ObeyedFile | None, *, named: Mapping[_Parts, str]
) -> ObeyedChange:
    old, new = (_lines(file) for file in (before, after))
    name = "/".join(path)
    diff = "\n".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm="", n=1))
    return ObeyedChange(path=_format_path(path), by=table.obeyed_by(path) or named.get(path, _GIT), diff=diff)


def _lines(file: ObeyedFile | None) -> list[str]:
    if file is None:
        return []
    if file.content is None:
        return ["(too large to be shown or put back)"]
    text = file.content[: limits.OBEYED_SHOWN_CHARS_MAX].decode(errors="replace")
    kind = "(a link to) " if stat.S_ISLNK(file.mode) else ""
    shown = [escape(kind + line) for line in text.expandtabs(4).splitlines()]
    return [*shown, "(executable)"] if file.mode & 0o111 and not kind else shown


def _format_path(path: _Parts) -> str:
    return escape("/".join(path))
