"""`ports.workspaces.Workspace` on this machine: a folder held open, its files, and commands in it.

The file tools never write into `.git`. Commands do, where it is in the folder: git could not commit
otherwise; what git and other programs obey there is closed or put back (`obeyed_guard`). Where a repository's
files are outside of the folder, a command may read them, and write what a commit needs only if the folder is
a worktree that the repository knows of; never its settings and hooks.
"""

import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice

from runlore.agents.workspace.git import Repository, repository_of
from runlore.agents.workspace.obeyed_guard import ObeyedGuard
from runlore.agents.workspace.permissions import is_within
from runlore.agents.workspace.safe_paths import (
    FOLDER_FLAGS,
    OpenHandle,
    check_writable,
    folder_below,
    full,
    parts_of,
    read_bytes,
    translate_errors,
)
from runlore.agents.workspace.shell import Command, CommandLimits, CommandRunner
from runlore.atomic_write import temporary_file
from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, Refused
from runlore.domain.text.safe_text import escape
from runlore.ports.stopping import Stop
from runlore.ports.workspaces import FileText, ShellResult, WithheldChanges

_NEW_FILE, _NEW_FOLDER = 0o666, 0o777
_NOBODY_WRITES = 0o222
_Check = Callable[[int, str], None]


# Where the system knows no way to pass through a folder without reading it, it is read.
_PASSING_FLAGS = FOLDER_FLAGS | getattr(os, "O_PATH", 0)
_WRITTEN_BY_COMMITS = ("objects", "refs", "logs")


@dataclass(frozen=True, kw_only=True)
class ExtraAccess:
    """What commands may touch besides their working folder, and what they are told besides; what git keeps
    of the folder alone."""

    readable: tuple[OpenHandle, ...] = ()
    writable: tuple[OpenHandle, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    git_dir: tuple[OpenHandle, str] | None = None


class LocalWorkspace:
    """One folder that was opened once: what takes its name later is another one."""

    def __init__(
        self,
        folder: str,
        shell: CommandRunner,
        *,
        held: OpenHandle,
        granted: ExtraAccess,
        guarded: int | None = None,
    ) -> None:
        """How many names of it are `guarded`; none of a copy that is thrown away."""
        self._folder = folder
        self._held, self._granted = held, granted
        self._guards = _guards(folder, held, granted, guarded) if guarded is not None else []
        self._files = WorkspaceFiles(held.handle, installed=_find_installation(folder))
        self._shell = shell

    @property
    def shell(self) -> CommandRunner:
        return self._shell

    @property
    def handle(self) -> int:
        """The folder as it was opened, as long as this is there."""
        return self._held.handle

    @property
    def folder(self) -> str:
        """Where it is, without links."""
        return self._folder

    @property
    def confinement(self) -> str:
        return self._shell.confinement

    def read(self, path: str, *, first: int = 1, lines: int | None = None) -> FileText:
        return self._files.read(path, first=first, lines=lines)

    def write(self, path: str, text: str) -> bool:
        return self._files.write(path, text)

    def edit(self, path: str, old: str, new: str, *, everywhere: bool = False) -> int:
        """Replace a text that stands there once (or, `everywhere`, each time); how often it did."""
        return self._files.edit(path, old, new, everywhere=everywhere)

    def compare(self, path: str) -> Callable[[], WithheldChanges | None]:
        """Look at what other programs obey, before a file is written; the call undoes that, where they obey
        it. What git keeps elsewhere no file tool reaches."""
        before = [(guard, guard.look()) for guard in self._guards[:1]]
        touched = [each for each in before if each[0].touches(each[1], parts_of(path))]
        return lambda: _join([guard.put_back(seen) for guard, seen in touched])

    def run(
        self,
        command: str,
        *,
        timeout_s: float,
        stop: Stop,
        output_chars_max: int,
        on_output: Callable[[str], None] | None = None,
        may_set: bool = False,
    ) -> ShellResult:
        """Run a command in bash, in the folder. All that it started ends when it does, and what it did to
        files that other programs obey is undone then."""
        before = [(guard, guard.look()) for guard in self._guards]
        asked = Command(
            argv=["bash", "--noprofile", "--norc", "-c", command],
            folder=self.handle,
            readable=[held.handle for held in self._granted.readable],
            writable=[self.handle, *(held.handle for held in self._granted.writable)],
            environment=self._granted.environment,
            closed=[] if may_set else [each for guard, seen in before for each in guard.closable(seen)],
        )
        bounds = CommandLimits(
            timeout_s=timeout_s, stop=stop, output_chars_max=output_chars_max, on_output=on_output
        )
        compared: list[WithheldChanges | None] = []
        try:
            result = self._shell.run(asked, bounds)
        finally:
            compared += [guard.put_back(seen, may_set=may_set) for guard, seen in before]
        return replace(result, withheld=_join(compared))


def _guards(folder: str, held: OpenHandle, granted: ExtraAccess, names_max: int) -> list[ObeyedGuard]:
    """What looks after the folder, and after what git keeps of it elsewhere."""
    elsewhere = granted.git_dir
    own = [ObeyedGuard(held, folder, names_max=names_max)]
    return own if elsewhere is None else [*own, ObeyedGuard(*elsewhere, names_max=names_max, is_git=True)]


def _join(withheld: Sequence[WithheldChanges | None]) -> WithheldChanges | None:
    some = [each for each in withheld if each is not None]

    def keep() -> None:
        for each in some:
            each.keep()

    changes = tuple(change for each in some for change in each.changes)
    unseen = next((each.unseen for each in some if each.unseen), "")
    return WithheldChanges(changes=changes, unseen=unseen, keep=keep) if some else None


def open_workspace(
    folder: str,
    shell: Callable[[str], CommandRunner],
    *,
    home: str,
    guarded: int = limits.OBEYED_NAMES_MAX,
) -> LocalWorkspace:
    """A folder as it is, told without links, and what runs commands there. Invalid (`workspace.folder`) where
    there is none, or a link is on the way by now: whoever works above it may have put that there."""
    try:
        path = os.path.normpath(folder)
        held = OpenHandle(_handle(path))
    except (OSError, ValueError) as error:
        raise Invalid(
            "the working folder is not there, cannot be read, or is reached by a link",
            code="workspace.folder",
            hint="name a folder that this user can read and write, in a new session where it was moved",
        ) from error
    granted = _grant_repository(path, home)
    return LocalWorkspace(path, shell(path), held=held, granted=granted, guarded=guarded)


def _handle(path: str) -> int:
    """A folder, opened name by name from the top; those above it need not be readable."""
    if not os.path.isabs(path):
        raise ValueError(path)
    *above, name = path.split("/")[1:]
    handle = os.open("/", _PASSING_FLAGS)
    try:
        for part in above:
            below = os.open(part, _PASSING_FLAGS, dir_fd=handle)
            os.close(handle)
            handle = below
        return os.open(name or ".", FOLDER_FLAGS, dir_fd=handle)
    finally:
        os.close(handle)


def _find_installation(folder: str) -> tuple[str, ...]:
    """The names that lead to the environment that this program runs in, where that is in the folder."""
    prefix = os.path.realpath(sys.prefix)
    is_inside = prefix != folder and is_within(prefix, folder)
    return tuple(os.path.relpath(prefix, folder).split("/")) if is_inside else ()


def _grant_repository(folder: str, home: str) -> ExtraAccess:
    """What git needs of a repository whose files are not in the folder."""
    repository = repository_of(folder)
    if repository is None or is_within(repository.common, folder) or is_within(home, repository.top):
        # What is kept of a whole home folder is no business of one folder in it.
        return ExtraAccess()
    with suppress(OSError):
        common = OpenHandle(os.open(repository.common, FOLDER_FLAGS))
        is_own = repository.git_dir != repository.common and repository.top == folder
        if not is_own:
            return ExtraAccess(readable=(common,))
        writable = _for_commits(repository, common)
        return ExtraAccess(readable=(common,), writable=writable, git_dir=(writable[0], repository.git_dir))
    return ExtraAccess()


def _for_commits(repository: Repository, common: OpenHandle) -> tuple[OpenHandle, ...]:
    held = [OpenHandle(os.open(repository.git_dir, FOLDER_FLAGS))]
    for name in _WRITTEN_BY_COMMITS:
        with suppress(OSError), folder_below(common.handle, (name,)) as handle:
            held.append(OpenHandle(os.dup(handle)))
    return tuple(held)


class WorkspaceFiles:
    """The files below a folder that is held open by whoever asks. What is `installed` there is only read."""

    def __init__(self, folder: int, *, installed: tuple[str, ...] = ()) -> None:
        self._folder = folder
        self._installed = installed

    def read(self, path: str, *, first: int = 1, lines: int | None = None) -> FileText:
        if first < 1 or (lines is not None and lines < 1):
            raise Invalid(
                "lines are counted from 1",
                code="workspace.lines",
                hint="ask from line 1 on, for at least one",
            )
        parts = parts_of(path)
        with translate_errors(path):
            if not parts or self._is_folder(parts):
                with folder_below(self._folder, parts) as handle:
                    return _names(path, handle, first, lines)
            with folder_below(self._folder, parts[:-1]) as handle:
                content, _ = read_bytes(handle, parts[-1], bytes_max=limits.WORKSPACE_FILE_BYTES_MAX)
        return _choose_lines(path, _decode(path, content), first, lines)

    def write(self, path: str, text: str) -> bool:
        """Write a whole file; whether it is new. Folders on the way are made."""
        content = _encode(path, text)
        with translate_errors(path, writing=True), self._make_parents(path) as (handle, name):
            return _put(handle, name, content, check=_no_check)

    def edit(self, path: str, old: str, new: str, *, everywhere: bool = False) -> int:
        """Replace a text that stands there once, or `everywhere` each time; how often it did."""
        parts = _file_parts(path)
        check_writable(parts, self._installed)
        with translate_errors(path, writing=True), folder_below(self._folder, parts[:-1]) as handle:
            name = parts[-1]
            content, before = read_bytes(handle, name, bytes_max=limits.WORKSPACE_FILE_BYTES_MAX)
            text = _decode(path, content)
            times = _times(path, text, old, everywhere=everywhere)
            # Many places and a long text would come to more than there is memory for.
            if len(text) + times * (len(new) - len(old)) > limits.WORKSPACE_FILE_BYTES_MAX:
                raise _too_large(path)
            changed = _encode(path, text.replace(old, new))

            def check(folder: int, name: str) -> None:
                if _stamp(os.stat(name, dir_fd=folder, follow_symlinks=False)) != _stamp(before):
                    raise _edit_conflict(path, "was changed by somebody else in the meantime")

            _put(handle, name, changed, check=check)
            return times

    def _is_folder(self, parts: tuple[str, ...]) -> bool:
        with folder_below(self._folder, parts[:-1]) as handle:
            return stat.S_ISDIR(os.stat(parts[-1], dir_fd=handle, follow_symlinks=False).st_mode)

    @contextmanager
    def _make_parents(self, path: str) -> Iterator[tuple[int, str]]:
        """The folder of a file and its name there. Folders that were made for it go again if it fails."""
        parts = _file_parts(path)
        check_writable(parts, self._installed)
        handle = os.dup(self._folder)
        above: list[tuple[int, str]] = []
        try:
            for part in parts[:-1]:
                below, is_new = _enter(handle, part)
                if is_new:
                    above.append((handle, part))
                else:
                    os.close(handle)
                handle = below
            yield handle, parts[-1]
        except BaseException:
            for folder, part in reversed(above):
                with suppress(OSError):
                    os.rmdir(part, dir_fd=folder)
            raise
        finally:
            for folder in (handle, *(folder for folder, _ in above)):
                os.close(folder)


def _enter(folder: int, name: str) -> tuple[int, bool]:
    """A folder in a folder, made where it is missing; whether it was."""
    is_new = False
    with suppress(FileExistsError):
        os.mkdir(name, _NEW_FOLDER, dir_fd=folder)
        is_new = True
    try:
        with folder_below(folder, (name,)) as handle:
            return os.dup(handle), is_new
    except OSError:
        if is_new:
            with suppress(OSError):
                os.rmdir(name, dir_fd=folder)
        raise


def _put(folder: int, name: str, content: bytes, *, check: _Check) -> bool:
    """Put a file in place, whole or not at all; whether it is new there. `check` is asked right before."""
    before = _stat_replaced(folder, name)
    temporary = f".runlore-{secrets.token_hex(8)}.new"

    def prepare(file: int) -> None:
        if before is not None:
            _keep_owner_and_mode(file, before)

    with temporary_file(folder, temporary, content, mode=_NEW_FILE, prepare=prepare):
        check(folder, name)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)
    return before is None


def _stat_replaced(folder: int, name: str) -> os.stat_result | None:
    """What would be replaced; None where nothing is there."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise Invalid(
            f"{escape(name)} is a link, and links are not followed",
            code="workspace.path",
            hint="write to the file that it leads to, or remove it in the shell",
        )
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{escape(name)} is no regular file", code="workspace.kind", hint="choose another name")
    if not status.st_mode & _NOBODY_WRITES:
        raise full(name, "it is read-only")
    return status


def _keep_owner_and_mode(file: int, before: os.stat_result) -> None:
    now = os.fstat(file)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        # Only the superuser gives files away; anybody else's new file is their own.
        with suppress(PermissionError):
            os.fchown(file, before.st_uid, before.st_gid)
    os.fchmod(file, stat.S_IMODE(before.st_mode) & 0o777)


def _no_check(folder: int, name: str) -> None:
    """A whole file may take the place of any other."""


def _file_parts(path: str) -> tuple[str, ...]:
    parts = parts_of(path)
    if not parts or path.endswith("/"):
        raise Invalid(
            "this names a folder, not a file",
            code="workspace.path",
            hint="name a file, such as `src/main.py`",
        )
    return parts


def _names(path: str, handle: int, first: int, lines: int | None) -> FileText:
    """The names in a folder, a line each: folders end with `/`, links with `@`, what is no file with `=`."""
    with os.scandir(handle) as entries:
        some = list(islice(entries, limits.WORKSPACE_NAMES_MAX + 1))
    names = sorted(f"{escape(entry.name)}{_sign(entry)}\n" for entry in some[: limits.WORKSPACE_NAMES_MAX])
    chosen = _choose_lines(path, "".join(names), first, lines)
    return replace(chosen, truncated=chosen.truncated or len(some) > limits.WORKSPACE_NAMES_MAX)


def _sign(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "@"
    if entry.is_dir(follow_symlinks=False):
        return "/"
    return "" if entry.is_file(follow_symlinks=False) else "="


def _choose_lines(path: str, text: str, first: int, lines: int | None) -> FileText:
    """The lines asked for, no more of them than are shown at once; at least a part of the first."""
    whole = text.split("\n")
    ended = [f"{line}\n" for line in whole[:-1]] + ([whole[-1]] if whole[-1] else [])
    wanted = ended[first - 1 : None if lines is None else first - 1 + lines]
    kept: list[str] = []
    left = limits.WORKSPACE_READ_CHARS_MAX
    for line in wanted:
        if len(line) > left:
            if not kept:
                kept.append(line[:left])
            return FileText(path=path, text="".join(kept), first=first, lines=len(ended), truncated=True)
        kept.append(line)
        left -= len(line)
    return FileText(path=path, text="".join(kept), first=first, lines=len(ended))


def _times(path: str, text: str, old: str, *, everywhere: bool) -> int:
    at = text.find(old) if old else -1
    if at < 0:
        raise _edit_conflict(path, "does not hold this text" if old else "cannot be searched for no text")
    # Places that overlap count too: it would not be clear which of them is meant.
    if not everywhere and text.find(old, at + 1) >= 0:
        raise _edit_conflict(path, f"holds this text more than once ({text.count(old)} times)")
    return text.count(old)


def _edit_conflict(path: str, why: str) -> Conflict:
    return Conflict(
        f"{escape(path)} {why}",
        code="workspace.edit",
        hint="read the file again, and give enough of it to name one place, spaces and line ends included",
    )


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _decode(path: str, content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise _no_text(path)
    return text


def _encode(path: str, text: str) -> bytes:
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise _no_text(path) from None
    if "\0" in text:
        raise _no_text(path)
    if len(content) > limits.WORKSPACE_FILE_BYTES_MAX:
        raise _too_large(path)
    return content


def _too_large(path: str) -> Refused:
    return Refused(
        f"{escape(path)} would be larger than {limits.WORKSPACE_FILE_BYTES_MAX:,} bytes",
        code="workspace.kind",
        hint="write less at once, or make the file with the shell",
    )


def _no_text(path: str) -> Refused:
    return Refused(
        f"{escape(path)} is not plain text in UTF-8",
        code="workspace.kind",
        hint="this tool is for text files; use the shell",
    )
