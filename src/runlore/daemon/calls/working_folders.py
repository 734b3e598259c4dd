"""Working folders: which project one belongs to, and whether what happens there may be captured.

Files are read, nothing is run: the folder may be a stranger's repository. What is read is bounded, and only
regular files are.
"""

import logging
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from runlore.domain import limits
from runlore.domain.errors import Invalid, NotFound
from runlore.domain.lazy import dataclass
from runlore.domain.project import (
    PROJECT_FILE,
    FolderBinding,
    FolderId,
    ProjectFile,
    folder_id,
    parse_project_file,
    project_id,
    project_name,
)
from runlore.domain.text.excerpt import excerpt
from runlore.domain.text.safe_text import is_storable
from runlore.regular_file import read_small

if TYPE_CHECKING:
    from runlore.ports.operations import Operations

Bindings: TypeAlias = Callable[[FolderId], FolderBinding | None]
"""What an operator has bound a folder to, by its id."""

_FILE_BYTES_MAX = 256 * 1024
_FOLDERS_MAX = 64
_WARNED_MAX, _TOLD_MAX = 1_000, 8
_warned: set[tuple[str, tuple[str, ...]]] = set()
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class WorkingFolder:
    """A folder in which an agent works, its project and what people call that, and whether capture is
    allowed there, or even `settled` to be by an operator."""

    path: str
    project: str
    capture: bool
    name: str = ""
    settled: bool = False


def working_folder(path: str, bound: Bindings = lambda _folder_id: None) -> WorkingFolder:
    """A folder by its git remote and by what it is `bound` to; it need not exist on this machine. What its
    project file proposes counts for nothing (SEC-2): the log says so where it is not bound."""
    if not os.path.isabs(path) or len(path) > limits.PATH_CHARS_MAX or not is_storable(path):
        raise Invalid(
            "the working folder is not an absolute path, or is too long",
            code="session.folder",
            hint="give the absolute path of the folder in which the agent works",
        )
    folder = os.path.realpath(path)
    root = _main_checkout(folder)
    bindings = [each for each in map(bound, map(folder_id, _bindable(folder))) if each is not None]
    named = next((each.project for each in bindings if each.project is not None), None)
    remote = None if root is None else _remote(root)
    project = named or project_id(remote=remote, repository_root=root, folder=folder)
    captures = all(each.capture is not False for each in bindings)
    name = project_name(project, root or folder)
    settled = any(each.capture is not None for each in bindings)
    return WorkingFolder(path=folder, project=project, capture=captures, name=name, settled=settled)


def is_bound(folder: str, bound: Bindings) -> bool:
    """Whether an operator has bound a folder, or one above it, to anything."""
    return any(bound(folder_id(each)) is not None for each in _bindable(folder))


def bindings_of(operations: "Operations") -> Bindings:
    """The bindings that whoever may ask these operations is told of."""

    def find_binding(folder_id: FolderId) -> FolderBinding | None:
        with suppress(NotFound):
            return operations.get_folder(folder_id)
        return None

    return find_binding


def proposal_of(folder: str) -> ProjectFile:
    """What a folder's project files propose: the nearest name, and a no of whoever says it on the way up."""
    root = repository_root(folder)
    files = list(_project_files(folder, root))
    name = next((file.name for file in files if file.name is not None), None)
    captures = all(file.capture for file in (*files, *_files_above(folder, root)))
    return ProjectFile(name=name, capture=captures)


def unbound_proposal(path: str, projects: Collection[str]) -> str:
    """What to tell whoever works in a folder whose files propose what nobody has bound it to; empty where
    they do not."""
    try:
        said = proposal_of(os.path.realpath(path))
    except Invalid as error:
        return error.sentence
    wants = [] if said.name is None or said.name in projects else [f"project = {said.name!r}"]
    wants += [] if said.capture else ["capture = false"]
    if not wants:
        return ""
    return (
        f"{PROJECT_FILE} says {' and '.join(wants)}, which counts for nothing: no operator has bound this"
        " folder to it. `runlore folder bind` does"
    )


def allows_capture(path: str | None, bound: Bindings) -> bool:
    """Whether a session's folder may be captured at present."""
    found = () if path is None else map(bound, map(folder_id, _bindable(path)))
    return all(each is None or each.capture is not False for each in found)


def take_warnings(folder: str) -> tuple[str, ...]:
    """What project files say of a folder without meaning anything, for whoever shows it to a person: it is
    not logged by this process any more."""
    warnings: list[str] = []
    with suppress(Invalid):
        for each in _upwards(os.path.realpath(folder)):
            _project_file(each, warn=warnings.append)
    return tuple(warnings)


def repository_root(folder: str) -> str | None:
    for each in _upwards(folder):
        if os.path.lexists(os.path.join(each, ".git")):
            return each
    return None


def _main_checkout(folder: str) -> str | None:
    """The root of a folder's repository; of a worktree that lies elsewhere, that of the repository it belongs
    to. Both have to say so: otherwise a folder could name any repository, to be told what is known of it."""
    root = repository_root(folder)
    pointer = None if root is None else _read(os.path.join(root, ".git"))
    if root is None or pointer is None:
        return root
    own = os.path.realpath(os.path.join(root, pointer.removeprefix("gitdir:").strip()))
    main, *names = own.rsplit(os.sep, 3)
    back = os.path.realpath(os.path.join(own, (_read(os.path.join(own, "gitdir")) or "").strip()))
    is_worktree = names[:2] == [".git", "worktrees"] and back == os.path.join(root, ".git")
    return main if is_worktree else root


def _bindable(folder: str) -> Iterator[str]:
    """The folders whose binding counts for this one, the nearest first."""
    yield from _upwards(folder)
    root, main = repository_root(folder), _main_checkout(folder)
    if main is not None and main != root:
        yield from _upwards(main)


def _upwards(folder: str) -> Iterator[str]:
    for _ in range(_FOLDERS_MAX):
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _project_files(folder: str, root: str | None) -> Iterator[ProjectFile]:
    """The nearest first, up to the repository's root; without one only the folder's own."""
    for each in _upwards(folder):
        file = _project_file(each)
        if file is not None:
            yield file
        if root is None or each == root:
            return


def _files_above(folder: str, root: str | None) -> Iterator[ProjectFile]:
    """Those that do not name the project, and may still say that nothing is captured."""
    top = os.path.dirname(root or folder)
    if top != (root or folder):
        yield from (file for file in map(_project_file, _upwards(top)) if file is not None)


def _project_file(folder: str, *, warn: Callable[[str], None] = _log.warning) -> ProjectFile | None:
    path = os.path.join(folder, PROJECT_FILE)
    text = _read(path)
    if text is not None:
        file = parse_project_file(text)
        if file.unknown and (path, file.unknown) not in _warned:
            warn(_warning(path, file.unknown))
        return file
    if os.path.lexists(path):
        raise Invalid(
            f"{path} is there and cannot be read",
            code="project-file.unreadable",
            hint="it may say that nothing is captured: make it readable, or remove it",
        )
    return None


def _warning(path: str, unknown: tuple[str, ...]) -> str:
    """The warning of keys that mean nothing, once while this process lives: the file is read with every
    event."""
    if len(_warned) < _WARNED_MAX:
        _warned.add((path, unknown))
    names = ", ".join(map(repr, unknown[:_TOLD_MAX]))
    return f"{path} has keys that mean nothing: {excerpt(names, 400)}; it knows project and capture"


def _remote(root: str) -> str | None:
    """The address of `origin`, else of the remote that the repository names first."""
    remotes = dict(_remotes(_read(os.path.join(_git_folder(root), "config")) or ""))
    return remotes.get("origin") or next(iter(remotes.values()), None)


def _git_folder(root: str) -> str:
    """Where the repository's configuration lies: a worktree only points to it."""
    git = os.path.join(root, ".git")
    pointer = None if os.path.isdir(git) else _read(git)
    if pointer is None or not pointer.startswith("gitdir:"):
        return git
    git = os.path.join(root, pointer.removeprefix("gitdir:").strip())
    common = _read(os.path.join(git, "commondir"))
    return git if common is None else os.path.join(git, common.strip())


def _remotes(config: str) -> Iterator[tuple[str, str]]:
    name = None
    for line in map(str.strip, config.splitlines()):
        if line.startswith("["):
            section = line.rstrip("]").removeprefix("[")
            is_remote = section.startswith('remote "')
            name = section.removeprefix('remote "').rstrip('"') if is_remote else None
        elif name is not None:
            key, equals, value = line.partition("=")
            if equals and key.strip().lower() == "url":
                yield name, value.strip().strip('"')


def _read(path: str) -> str | None:
    content = read_small(path, _FILE_BYTES_MAX, follow_links=True)
    return None if content is None else content.decode(errors="replace")
