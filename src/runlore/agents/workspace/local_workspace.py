"""`ports.workspaces.Workspace` on this machine: a folder held open, its files, and commands in it.

The file tools never write into `.git`. Commands do, where it is in the folder: git could not commit
otherwise; what git and other programs obey there is closed or put back (`obeyed_guard`). Where a repository's
files are outside of the folder, a command may read them, and write what a commit needs only if the folder is
a worktree that the repository knows of; never its settings and hooks.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from runlore.agents.workspace.files import WorkspaceFiles
from runlore.agents.workspace.obeyed_guard import ObeyedGuard
from runlore.agents.workspace.permissions import is_within
from runlore.agents.workspace.repository import Repository, repository_of
from runlore.agents.workspace.safe_paths import FOLDER_FLAGS, OpenHandle, folder_below
from runlore.agents.workspace.shell import Command, CommandLimits, CommandRunner
from runlore.domain.errors import Invalid
from runlore.ports.stopping import Stop
from runlore.ports.workspaces import FileText, ShellResult, WithheldChanges

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
        self, folder: str, shell: CommandRunner, *, held: OpenHandle, granted: ExtraAccess, own: bool = True
    ) -> None:
        """Its `own` folder is somebody's; a copy that is thrown away is not."""
        self._folder = folder
        self._held, self._granted = held, granted
        self._guards = _guards(folder, held, granted) if own else []
        self._files = WorkspaceFiles(held.handle, installed=_find_installation(folder))
        self._shell = shell

    @property
    def shell(self) -> CommandRunner:
        """What runs its commands."""
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
        withheld: list[WithheldChanges | None] = []
        try:
            result = self._shell.run(asked, bounds)
        finally:
            withheld += [guard.put_back(seen, may_set=may_set) for guard, seen in before]
        return replace(result, withheld=_join(withheld), is_compared=all(seen.is_whole for _, seen in before))


def _guards(folder: str, held: OpenHandle, granted: ExtraAccess) -> list[ObeyedGuard]:
    """What looks after the folder, and after what git keeps of it elsewhere."""
    elsewhere = granted.git_dir
    own = [ObeyedGuard(held, folder)]
    return own if elsewhere is None else [*own, ObeyedGuard(*elsewhere, is_git=True)]


def _join(withheld: Sequence[WithheldChanges | None]) -> WithheldChanges | None:
    some = [each for each in withheld if each is not None]

    def keep() -> None:
        for each in some:
            each.keep()

    changes = tuple(change for each in some for change in each.changes)
    return WithheldChanges(changes=changes, keep=keep) if some else None


def open_workspace(folder: str, shell: Callable[[str], CommandRunner], *, home: str) -> LocalWorkspace:
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
    return LocalWorkspace(path, shell(path), held=held, granted=_grant_repository(path, home))


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
