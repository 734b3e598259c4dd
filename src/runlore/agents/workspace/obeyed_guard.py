"""Keeps commands from leaving behind what other programs execute or obey by themselves (SEC-1).

Where the kernel can, git's own settings and hooks are closed while a command runs. All else of the table is
compared: what is in the folder before a command, and after it and all that it started have ended. What
differs is put back at once, and given to whoever may decide that it stays; so is where nobody could look.
"""

import difflib
import errno
import os
import secrets
import stat
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum

from runlore.agents.workspace.copies import open_up, remove_tree
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
_SHOWN_PARTS = 8
_ENTERED = stat.S_IRUSR | stat.S_IXUSR
_GIT = "git"
_GIT_MARKS = frozenset(table.fold_name(name) for names in table.GIT_FOLDERS for name in names)
# Nothing is there, or nothing that can be reached by that name.
_NOTHING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
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
    that obeys them; what the kernel can close, and whether all of it or only against being moved away; the
    folders of this user that it may not read; the first place where nobody could look, and why."""

    files: dict[_Parts, ObeyedFile] = field(default_factory=dict)
    folders: set[_Parts] = field(default_factory=set)
    named: dict[_Parts, str] = field(default_factory=dict)
    closed: dict[_Parts, bool] = field(default_factory=dict)
    shut: set[_Parts] = field(default_factory=set)
    unseen: str = ""


class ObeyedGuard:
    """The obeyed files below one folder that is held open; of git's own kind where it `is_git`."""

    def __init__(
        self,
        held: OpenHandle,
        path: str,
        *,
        is_git: bool = False,
        names_max: int = limits.OBEYED_NAMES_MAX,
    ) -> None:
        self._held, self._path, self._is_git, self._names_max = held, path, is_git, names_max

    def look(self, before: ObeyedSnapshot | None = None) -> ObeyedSnapshot:
        """What is there now, also in the places that were named `before`."""
        known = before or ObeyedSnapshot()
        walk = _Walk(self._held.handle, self._path, known.named, names_max=self._names_max)
        return walk.walk(_Kind.GIT if self._is_git else _Kind.PLAIN, known=known.files)

    def closable(self, before: ObeyedSnapshot) -> list[tuple[str, bool]]:
        """The paths that the kernel is asked to close, the outer first; told from the folder, or where that
        is one of git's, whole."""
        top = self._path if self._is_git else ""
        some = sorted(before.closed.items())[:_CLOSED_MAX]
        return [(os.path.join(top, *parts), is_whole) for parts, is_whole in some if parts]

    def touches(self, seen: ObeyedSnapshot, parts: _Parts) -> bool:
        """Whether a file that is written may be obeyed for where it is, as far as was `seen`: in a folder of
        git's, or one that it makes such a folder of; named by another; or where nobody could look."""
        folded = [table.fold_name(part) for part in parts]
        places = {tuple(map(table.fold_name, path)) for path in (*seen.named, *seen.closed) if path}
        return (
            bool(seen.unseen)
            or () in seen.closed
            or not _GIT_MARKS.isdisjoint(folded)
            or any(tuple(folded[:depth]) in places for depth in range(1, len(parts) + 1))
        )

    def put_back(self, before: ObeyedSnapshot, *, may_set: bool = False) -> WithheldChanges | None:
        """Undo what has changed since; what that was, and where it cannot be told. Where a command `may_set`
        git's settings, what it does to them by routine stays."""
        changed: dict[_Parts, _Change] = {}
        for _ in range(_ROUNDS_MAX):
            after = self.look(before)
            opened = self._open_up(after.shut - before.shut)
            found, left = self._undo(before, after, may_set=may_set)
            changed = {**found, **changed}
            if not opened and not (after.unseen and found):
                break
        unseen = before.unseen or after.unseen
        if left:
            unseen = f"{_format_path(left[0])} (it could not be put back)"
        if not changed and not unseen:
            return None
        named = {**after.named, **before.named}
        told = tuple(_describe(path, *change, named=named) for path, change in sorted(changed.items()))
        return WithheldChanges(changes=told, unseen=unseen, keep=lambda: self._keep(changed))

    def _open_up(self, folders: Collection[_Parts]) -> bool:
        """Let this user into folders again that a command has shut; whether into any."""
        opened = False
        for parts in sorted(folders):
            with suppress(OSError):
                if parts:
                    with folder_below(self._held.handle, parts[:-1]) as above:
                        open_up(above, parts[-1])
                else:
                    os.fchmod(self._held.handle, stat.S_IRWXU)
                opened = True
        return opened

    def _undo(
        self, before: ObeyedSnapshot, after: ObeyedSnapshot, *, may_set: bool
    ) -> tuple[dict[_Parts, _Change], list[_Parts]]:
        """Put back what has changed in one look; that, and what of it could not be put back."""
        paths = sorted(
            path
            for path in {*before.files, *after.files}
            if before.files.get(path) != after.files.get(path)
            and not (may_set and _is_covered(path, before, after))
        )
        # What is new goes first, the inner before the outer: it may stand where a folder has to be again.
        new = [path for path in reversed(paths) if path not in before.files]
        order = (*new, *(path for path in paths if path in before.files))
        left = [path for path in order if not self._put(path, before.files.get(path))]
        for folder in sorted(after.folders - before.folders, reverse=True):
            with suppress(OSError), folder_below(self._held.handle, folder[:-1]) as above:
                os.rmdir(folder[-1], dir_fd=above)
        return {path: (before.files.get(path), after.files.get(path)) for path in paths}, left

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

    def _put(self, path: _Parts, file: ObeyedFile | None) -> bool:
        """Let a file be as it was; whether that was possible."""
        with suppress(OSError, RunloreError):
            self._make_folders(path[:-1])
            with folder_below(self._held.handle, path[:-1]) as above:
                if file is None:
                    _remove(above, path[-1])
                elif file.content is not None:
                    _write(above, path[-1], file)
            return file is None or file.content is not None
        return False

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

    def __init__(self, handle: int, path: str, named: Mapping[_Parts, str], *, names_max: int) -> None:
        self._handle, self._path = handle, path
        self._found = ObeyedSnapshot(named=dict(named))
        self._waiting: deque[tuple[_Parts, _Kind]] = deque()
        self._names_max, self._names, self._bytes_left = names_max, 0, limits.OBEYED_BYTES_MAX
        self._is_over = False
        self._seen: set[tuple[_Parts, _Kind]] = set()

    def walk(self, kind: _Kind, *, known: Collection[_Parts]) -> ObeyedSnapshot:
        found = self._found
        self._waiting.append(((), kind))
        for parts in sorted(found.named):
            self._look_at(parts)
        while self._waiting and not self._is_over:
            folder = self._waiting.popleft()
            if folder not in self._seen:
                self._seen.add(folder)
                self._look_into(*folder)
        for path in known if self._is_over else ():
            self._look_at(path)
        return found

    @contextmanager
    def _looking(self, parts: _Parts) -> Iterator[None]:
        """Whatever keeps a place from being looked at is told, unless nothing is there."""
        try:
            yield
        except PermissionError:
            self._note_shut(parts)
        except Exception as error:
            # Whatever a folder is made to have fail here is asked about: nothing hides behind it.
            if not isinstance(error, OSError) or error.errno not in _NOTHING:
                self._miss(parts, "it cannot be looked at")

    def _miss(self, parts: _Parts, why: str) -> None:
        self._found.unseen = self._found.unseen or f"{_format_path(parts[:_SHOWN_PARTS]) or '.'} ({why})"

    def _note_shut(self, parts: _Parts) -> None:
        """The folders on the way that this user may not read. What is another's, and cannot be entered, no
        command of this user has changed."""
        mode = os.fstat(self._handle).st_mode
        if mode & _ENTERED != _ENTERED:
            self._found.shut.add(())
            self._miss((), "it may not be read")
        for depth, name in enumerate(parts):
            with suppress(OSError), folder_below(self._handle, parts[:depth]) as above:
                if os.access(name, os.R_OK | os.X_OK, dir_fd=above):
                    continue
                is_own = os.stat(name, dir_fd=above, follow_symlinks=False).st_uid == os.geteuid()
                if is_own:
                    self._found.shut.add(parts[: depth + 1])
                if is_own or os.access(name, os.X_OK, dir_fd=above):
                    self._miss(parts[: depth + 1], "it may not be read")

    def _look_into(self, parts: _Parts, kind: _Kind) -> None:
        if len(parts) > limits.OBEYED_DEPTH_MAX:
            self._miss(parts, f"more than {limits.OBEYED_DEPTH_MAX} folders deep")
            return
        with self._looking(parts), folder_below(self._handle, parts) as folder:
            with os.scandir(folder) as listed:
                entries = list(self._count(listed, parts))
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

    def _count(self, listed: Iterator[os.DirEntry[str]], parts: _Parts) -> Iterator[os.DirEntry[str]]:
        for entry in listed:
            self._names += 1
            if self._names > self._names_max or len(self._found.files) > limits.OBEYED_FILES_MAX:
                self._is_over = True
                self._miss(parts, f"more than {self._names_max:,} names in all")
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
        place = self._inside(_resolve(os.path.join(self._path, *path)))
        if not table.SKIPPED.isdisjoint(map(table.fold_name, place)):
            self._waiting.append((place, _Kind.PLAIN))

    def _look_at(self, path: _Parts, *, whole_folders: bool = True) -> None:
        """Note what is at a place that something names."""
        with self._looking(path[:-1]), folder_below(self._handle, path[:-1]) as folder:
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
            self._name(os.path.join(self._path, *path), by=path)
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
        """Note a place that is obeyed because an obeyed file names it, and where links lead from it."""
        named = self._found.named
        if "\0" in place:
            return
        for path in {self._inside(os.path.normpath(place)), self._inside(_resolve(place))} - {(), by}:
            if path not in named and len(path) <= limits.OBEYED_DEPTH_MAX:
                named[path] = table.obeyed_by(by) or named.get(by, _GIT)
                self._look_at(path, whole_folders=whole_folders)

    def _inside(self, place: str) -> _Parts:
        """The names that lead to a place from the folder; none where it is no place in there."""
        is_inside = place != self._path and is_within(place, self._path)
        return tuple(os.path.relpath(place, self._path).split("/")) if is_inside else ()


def _resolve(place: str) -> str:
    """A place without links. Where no system would follow them, or no name is like this, the place itself."""
    try:
        return os.path.realpath(place)
    except (OSError, ValueError, RecursionError):
        return place


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
