"""`ports.workspaces.Workspaces` on this machine, and the copies that child agents work in.

A copy is a git worktree of the working folder's repository at its last commit, set apart from it; or a plain
copy where there is no repository with a commit, or git is not there. It is removed at the end, whatever is in
it by then; what a process that died left behind is swept.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from runlore.agents.workspace.allowed import allowed, is_within
from runlore.agents.workspace.copies import Copied, changes, copy_tree
from runlore.agents.workspace.git import OWN_REPOSITORY, Added, Git
from runlore.agents.workspace.opening import Granted, Held, LocalWorkspace, opened_workspace
from runlore.agents.workspace.places import Opened, Place, places, take
from runlore.agents.workspace.repository import Repository, exclude_copies, opened, repository_of
from runlore.agents.workspace.shell import Shell
from runlore.agents.workspace.walking import WORKTREES, folder_below, told
from runlore.domain import limits
from runlore.domain.errors import Invalid, RunloreError

_CUT = "\n[the rest of the diff is left out]\n"


class LocalWorkspaces:
    """Opens working folders. `readable` are further folders that commands may read, `kept_out` those that no
    agent may: the state root, above all. `local_sockets` lets commands speak to other processes."""

    def __init__(
        self,
        *,
        environment: Mapping[str, str] | None = None,
        readable: Iterable[str] = (),
        kept_out: Iterable[str] = (),
        local_sockets: bool = False,
        copy_files_max: int = limits.WORKTREE_COPY_FILES_MAX,
        copy_bytes_max: int = limits.WORKTREE_COPY_BYTES_MAX,
    ) -> None:
        own = dict(os.environ if environment is None else environment)
        readable, kept = tuple(readable), tuple(os.path.realpath(folder) for folder in kept_out)
        self._copy_files_max, self._copy_bytes_max = copy_files_max, copy_bytes_max
        self._kept_out = kept
        self._home = os.path.realpath(own.get("HOME") or os.path.expanduser("~"))

        def shell(folder: str = "") -> Shell:
            told = allowed(
                own, readable=readable, kept_out=kept, working_folder=folder, local_sockets=local_sockets
            )
            return Shell(told)

        self._shell = shell

    @property
    def confinement(self) -> str:
        """What keeps commands inside their folders on this system."""
        return self._shell().confinement

    def open(self, folder: str) -> LocalWorkspace:
        """A folder as it is. Invalid (`workspace.folder`) where there is none, or one that is kept out."""
        workspace = opened_workspace(folder, self._shell, home=self._home)
        for kept in self._kept_out:
            if is_within(kept, workspace.folder) or is_within(workspace.folder, kept):
                raise Invalid(
                    "the working folder holds Runlore's own files, or is one of them",
                    code="workspace.folder",
                    hint="work in a folder beside them, such as that of one project",
                )
        return workspace

    @contextmanager
    def worktree(self, folder: str, skill_name: str, call_id: str) -> Iterator["LocalWorktree"]:
        """A copy of a folder, removed at the end whatever happens; see the port for what it refuses."""
        original = self.open(folder)
        repository = self._repository(original)
        git = None if repository is None else Git(original.shell, repository)
        if repository is not None:
            exclude_copies(repository.common)
        top = Opened(handle=original.handle, path=original.folder)
        with told(WORKTREES, writing=True):
            place = take(top, skill_name, call_id)
        try:
            with told(WORKTREES, writing=True):
                made = self._made(original, place, repository, git)
            yield made
        finally:
            _remove(place, git)

    def sweep(self, folder: str, *, is_alive: Callable[[str], bool]) -> tuple[str, ...]:
        """Remove copies that a process left behind when it died, by their call ids; those that went."""
        original = self.open(folder)
        repository = self._repository(original)
        git = None if repository is None else Git(original.shell, repository)
        gone: list[str] = []
        for place in places(Opened(handle=original.handle, path=original.folder)):
            call_id = place.call_id
            if is_alive(call_id):
                place.close()
            elif _remove(place, git):
                gone.append(call_id)
        return tuple(sorted(gone))

    def _repository(self, original: LocalWorkspace) -> Repository | None:
        """The repository that copies are made of. That of a whole home folder is no business of a folder in
        it."""
        found = repository_of(original.folder)
        is_of_home = found is not None and found.top != original.folder and is_within(self._home, found.top)
        return None if is_of_home else found

    def _made(
        self, original: LocalWorkspace, place: Place, repository: Repository | None, git: Git | None
    ) -> "LocalWorktree":
        if repository is not None and git is not None:
            within = os.path.relpath(original.folder, repository.top)
            added = git.add(place, () if within == os.curdir else tuple(within.split("/")))
            if added is not None:
                apart = _apart(original.shell, repository, place, added)
                return LocalWorktree(apart, place, by_git=(git, added))
            git.forget(place)
            place.clear()
        held = Held(place.opened())
        granted = Granted(environment=_alone(place))
        workspace = LocalWorkspace(place.path, original.shell, held=held, granted=granted)
        copied = Copied(top=original.folder, files_max=self._copy_files_max, bytes_max=self._copy_bytes_max)
        copy_tree(original.handle, held.handle, copied)
        return LocalWorktree(workspace, place, by_copy=(original, copied))


class LocalWorktree:
    """A copy of a working folder for one child agent."""

    def __init__(
        self,
        workspace: LocalWorkspace,
        place: Place,
        *,
        by_git: tuple[Git, Added] | None = None,
        by_copy: tuple[LocalWorkspace, Copied] | None = None,
    ) -> None:
        self._workspace, self._place = workspace, place
        self._by_git, self._by_copy = by_git, by_copy

    @property
    def workspace(self) -> LocalWorkspace:
        """The copy as a workspace, at the place in it that the working folder is at in its repository."""
        return self._workspace

    @property
    def kind(self) -> str:
        """`worktree` of a repository, or a plain `copy`."""
        return "copy" if self._by_git is None else "worktree"

    @property
    def remark(self) -> str:
        """What is not in it of what is in the folder; nothing where all is."""
        if self._by_git is not None:
            git, added = self._by_git
            missing = git.uncommitted(added)
            told = "The copy is of the last commit; what was changed or is new since is not in it"
        else:
            missing = len(self.left_out)
            told = "Links that lead out of the folder, pipes and devices are not in the copy"
        return f"{told} ({missing:,} in all)." if missing else ""

    @property
    def left_out(self) -> tuple[str, ...]:
        """What of the folder is not in a plain copy: links that lead out of it, pipes, sockets, devices."""
        return () if self._by_copy is None else tuple(self._by_copy[1].left_out)

    def diff(self, *, chars_max: int) -> str:
        """What was changed in it, as a unified diff; cut at its end where it is longer, and says so."""
        with told("the copy"):
            if self._by_git is not None:
                git, added = self._by_git
                text = git.diff(added, self._place, chars_max=chars_max)
            else:
                text = self._copy_diff(chars_max)
        if len(text) <= chars_max:
            return text
        return text[: max(0, chars_max - len(_CUT))] + _CUT[:chars_max]

    def _copy_diff(self, chars_max: int) -> str:
        if self._by_copy is None:
            return ""
        original, copied = self._by_copy
        pieces: list[str] = []
        chars = 0
        for piece in changes(copied, source=original.handle, target=self._workspace.handle):
            pieces.append(piece)
            chars += len(piece)
            if chars > chars_max:
                break
        return "".join(pieces)


def _apart(shell: Shell, repository: Repository, place: Place, added: Added) -> LocalWorkspace:
    """The worktree as a workspace: commands write all of it and its own repository, and read the objects of
    the real one."""
    with opened(repository.common) as common, folder_below(common, ("objects",)) as handle:
        objects = Held(os.dup(handle))
    copy, own = Held(place.opened()), Held(place.opened_aside(OWN_REPOSITORY))
    return LocalWorkspace(
        os.path.join(place.path, *added.prefix),
        shell,
        held=Held(place.opened(*added.prefix)),
        granted=Granted(readable=(objects,), writable=(copy, own), environment=_alone(place)),
    )


def _alone(place: Place) -> dict[str, str]:
    """What keeps git from taking a copy for a part of the repository that it stands in."""
    return {"GIT_CEILING_DIRECTORIES": os.path.dirname(place.path)}


def _remove(place: Place, git: Git | None) -> bool:
    """Remove a copy, and what git keeps about it; whether it is gone. What cannot be removed now is swept
    later: the answer of the child agent is worth more than its copy's end."""
    try:
        place.remove()
        if git is not None:
            git.forget(place)
    except (OSError, RunloreError):
        return False
    finally:
        with suppress(OSError):
            place.close()
    return True
