"""Working folders: what an agent's tools may touch, and the copies that child agents work in.

Every path is told relative to the folder. Nothing outside of it is read or written: no `..`, no absolute
path, no link that leads out, whoever made it and whenever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from runlore.domain.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from runlore.ports.stopping import Stop

CONFINED, UNCONFINED = "kernel", "none"
"""What keeps a command inside its folder."""


@dataclass(frozen=True, kw_only=True)
class FileText:
    """Some lines of a file. `first` is the number of the first, from 1; `lines` how many the file has."""

    path: str
    text: str
    first: int
    lines: int
    truncated: bool = False


@dataclass(frozen=True, kw_only=True)
class ObeyedChange:
    """What a command did to a file that another program obeys: `by` whom, and what, as a diff."""

    path: str
    by: str
    diff: str


@dataclass(frozen=True, kw_only=True)
class WithheldChanges:
    """Such changes, undone; `keep` makes them again, or raises Conflict (`workspace.obeyed`). `unseen` is
    where nobody could look, or what could not be undone, and why."""

    changes: tuple[ObeyedChange, ...]
    keep: Callable[[], None]
    unseen: str = ""


@dataclass(frozen=True, kw_only=True)
class ShellResult:
    """What a command came to. `exit_code` is None where it was ended: by its time, or because it was asked to
    stop. `output` is what it printed on both streams, its middle left out where it is long. `withheld` is
    what it did, or may have done, to files that other programs obey."""

    output: str
    exit_code: int | None
    timed_out: bool = False
    stopped: bool = False
    omitted: int = 0
    withheld: WithheldChanges | None = None


class Workspace(Protocol):
    """One folder. Errors: Invalid `workspace.path` (out of it, or none), NotFound `workspace.file`, Refused
    `workspace.kind` (no plain text file, too large), Conflict `workspace.edit`, Unavailable `workspace.full`
    (no space left, or read-only)."""

    @property
    def folder(self) -> str:
        """Where it is."""

    @property
    def confinement(self) -> str:
        """What keeps a command inside: `kernel`, or `none` where the system cannot."""

    def read(self, path: str, *, first: int = 1, lines: int | None = None) -> FileText:
        """Lines of a text file; of a folder, its names."""

    def write(self, path: str, text: str) -> bool:
        """Write a whole file, aside and renamed; whether it is new. Folders on the way are made."""

    def edit(self, path: str, old: str, new: str, *, everywhere: bool = False) -> int:
        """Replace a text that stands there once (or, `everywhere`, each time); how often it did.
        Conflict (`workspace.edit`) where it stands there never, or more than once."""

    def compare(self, path: str) -> Callable[[], WithheldChanges | None]:
        """Look at what other programs obey, before a file is written; the call undoes that, where they obey
        it."""

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
        """Run a command in bash, in the folder, without this process's secrets in its environment. It and
        all that it started end with its time, with `stop`, and with this process. What it did to files that
        other programs obey is undone; where it `may_set` git's settings, its routine in those stays."""


class Worktree(Protocol):
    """A copy of a working folder for one child agent."""

    @property
    def workspace(self) -> Workspace:
        """The copy as a workspace, at the place in it that the working folder is at in its repository."""

    @property
    def kind(self) -> str:
        """`worktree` of a repository, or a plain `copy`."""

    @property
    def remark(self) -> str:
        """What is not in it of what is in the folder, in a sentence; nothing where all is."""

    def diff(self, *, chars_max: int) -> str:
        """What was changed in it, as a unified diff; cut at its end where it is longer, and says so."""


class Workspaces(Protocol):
    """Opens working folders. Invalid (`workspace.folder`) where there is none."""

    @property
    def confinement(self) -> str:
        """What keeps commands inside their folders on this system."""

    def open(self, folder: str) -> Workspace:
        """A folder as it is."""

    def worktree(self, folder: str, skill_name: str, call_id: str) -> AbstractContextManager[Worktree]:
        """A copy under `.runlore-worktrees/<safe-skill-name>/<call_id>` of the folder, removed at the end
        whatever happens. Conflict (`worktree.exists`) where that is there, Refused (`worktree.large`) where
        a plain copy would be too large, Unavailable (`workspace.full`)."""

    def sweep(self, folder: str, *, is_alive: Callable[[str], bool]) -> tuple[str, ...]:
        """Remove copies that a process left behind when it died, by their call ids; those that went."""
