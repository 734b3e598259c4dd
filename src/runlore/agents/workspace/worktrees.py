"""`ports.workspaces.Workspaces` on this machine, and the copies that child agents work in.

A copy is a git worktree of the working folder's repository at its last commit, set apart from it; or a plain
copy where there is no repository with a commit, or git is not there. It is removed at the end, whatever is in
it by then; what a process that died left behind is swept.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from runlore.agents.workspace.copies import Copied, changes, copy_tree
from runlore.agents.workspace.git import (
    OWN_REPOSITORY,
    AddedWorktree,
    Git,
    Repository,
    exclude_copies,
    open_folder,
    repository_of,
)
from runlore.agents.workspace.local_workspace import ExtraAccess, LocalWorkspace, open_workspace
from runlore.agents.workspace.permissions import build_permissions, is_within
from runlore.agents.workspace.safe_paths import WORKTREES, OpenHandle, folder_below, translate_errors
from runlore.agents.workspace.shell import CommandRunner
from runlore.agents.workspace.worktree_slots import OpenFolder, WorktreeSlot, list_slots, take_slot
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
        guarded_names_max: int = limits.OBEYED_NAMES_MAX,
    ) -> None:
        own = dict(os.environ if environment is None else environment)
        readable, kept = tuple(readable), tuple(os.path.realpath(folder) for folder in kept_out)
        self._copy_files_max, self._copy_bytes_max = copy_files_max, copy_bytes_max
        self._guarded_names_max = guarded_names_max
        self._kept_out = kept
        self._home = os.path.realpath(own.get("HOME") or os.path.expanduser("~"))

        def shell(folder: str = "") -> CommandRunner:
            permissions = build_permissions(
                own, readable=readable, kept_out=kept, working_folder=folder, local_sockets=local_sockets
            )
            return CommandRunner(permissions)

        self._shell = shell

    @property
    def confinement(self) -> str:
        return self._shell().confinement

    def open(self, folder: str) -> LocalWorkspace:
        """A folder as it is. Invalid (`workspace.folder`) where there is none, or one that is kept out."""
        guarded = self._guarded_names_max
        workspace = open_workspace(folder, self._shell, home=self._home, guarded=guarded)
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
        top = OpenFolder(handle=original.handle, path=original.folder)
        with translate_errors(WORKTREES, writing=True):
            place = take_slot(top, skill_name, call_id)
        try:
            with translate_errors(WORKTREES, writing=True):
                made = self._make_worktree(original, place, repository, git)
            yield made
        finally:
            _remove(place, git)

    def sweep(self, folder: str, *, is_alive: Callable[[str], bool]) -> tuple[str, ...]:
        original = self.open(folder)
        repository = self._repository(original)
        git = None if repository is None else Git(original.shell, repository)
        gone: list[str] = []
        for place in list_slots(OpenFolder(handle=original.handle, path=original.folder)):
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

    def _make_worktree(
        self, original: LocalWorkspace, place: WorktreeSlot, repository: Repository | None, git: Git | None
    ) -> "LocalWorktree":
        if repository is not None and git is not None:
            within = os.path.relpath(original.folder, repository.top)
            added = git.add(place, () if within == os.curdir else tuple(within.split("/")))
            if added is not None:
                apart = _apart(original.shell, repository, place, added)
                return LocalWorktree(apart, place, by_git=(git, added))
            git.forget(place)
            place.clear()
        held = OpenHandle(place.open())
        granted = ExtraAccess(environment=_alone(place))
        workspace = LocalWorkspace(place.path, original.shell, held=held, granted=granted)
        copied = Copied(top=original.folder, files_max=self._copy_files_max, bytes_max=self._copy_bytes_max)
        copy_tree(original.handle, held.handle, copied)
        return LocalWorktree(workspace, place, by_copy=(original, copied))


class LocalWorktree:
    """A copy of a working folder for one child agent."""

    def __init__(
        self,
        workspace: LocalWorkspace,
        place: WorktreeSlot,
        *,
        by_git: tuple[Git, AddedWorktree] | None = None,
        by_copy: tuple[LocalWorkspace, Copied] | None = None,
    ) -> None:
        self._workspace, self._place = workspace, place
        self._by_git, self._by_copy = by_git, by_copy

    @property
    def workspace(self) -> LocalWorkspace:
        return self._workspace

    @property
    def kind(self) -> str:
        return "copy" if self._by_git is None else "worktree"

    @property
    def remark(self) -> str:
        """What is not in it of what is in the folder; nothing where all is."""
        if self._by_git is not None:
            git, added = self._by_git
            missing = git.count_uncommitted(added)
            remark = "The copy is of the last commit; what was changed or is new since is not in it"
        else:
            missing = len(self.left_out)
            remark = "Links that lead out of the folder, pipes and devices are not in the copy"
        return f"{remark} ({missing:,} in all)." if missing else ""

    @property
    def left_out(self) -> tuple[str, ...]:
        """What of the folder is not in a plain copy: links that lead out of it, pipes, sockets, devices."""
        return () if self._by_copy is None else tuple(self._by_copy[1].left_out)

    def diff(self, *, chars_max: int) -> str:
        with translate_errors("the copy"):
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


def _apart(
    shell: CommandRunner, repository: Repository, place: WorktreeSlot, added: AddedWorktree
) -> LocalWorkspace:
    """The worktree as a workspace: commands write all of it and its own repository, and read the objects of
    the real one."""
    with open_folder(repository.common) as common, folder_below(common, ("objects",)) as handle:
        objects = OpenHandle(os.dup(handle))
    copy, own = OpenHandle(place.open()), OpenHandle(place.open_aside(OWN_REPOSITORY))
    return LocalWorkspace(
        os.path.join(place.path, *added.prefix),
        shell,
        held=OpenHandle(place.open(*added.prefix)),
        granted=ExtraAccess(readable=(objects,), writable=(copy, own), environment=_alone(place)),
    )


def _alone(place: WorktreeSlot) -> dict[str, str]:
    """What keeps git from taking a copy for a part of the repository that it stands in."""
    return {"GIT_CEILING_DIRECTORIES": os.path.dirname(place.path)}


def _remove(place: WorktreeSlot, git: Git | None) -> bool:
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
