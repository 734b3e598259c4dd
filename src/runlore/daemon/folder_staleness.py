"""Bound folders, looked at for what learnings say of them (VAL-5): files are read, and nothing of the
folder's own is run. A link is not followed, and only so much of a file is read."""

import os
import subprocess
from collections.abc import Iterator
from datetime import datetime
from functools import cache, cached_property, partial

from runlore.agents.workspace.git import SAFELY, Repository, repository_of
from runlore.daemon.calls.working_folders import is_bound, working_folder
from runlore.daemon.parts import Parts
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.project import FolderId, folder_id
from runlore.domain.record import RecordId
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.worth.staleness import (
    TOOL_FILES,
    VERSION_FILES,
    Anchor,
    AnchorKind,
    find_tasks,
    find_versions,
    has_flag,
    has_symbol,
    has_tasks,
    is_pin_file,
    look_at_version,
)
from runlore.flow.capture.sessions import find_binding
from runlore.flow.pipeline.repeating import remember_saved, scopes_to_remember, workspace_turn
from runlore.flow.skills.library import suggestion_of
from runlore.flow.skills.saving import Saving
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.flow.staleness import FolderChanges, FolderState, find_changes, last_sighting, note_changes
from runlore.ports.store import Collections
from runlore.regular_file import read_small

_SESSIONS_LOOKED_AT = 1_000
_PIN_FILES_MAX = 100
_TREE_MAX = 50_000
_PASSED = frozenset({"node_modules", "venv", "site-packages", "target", "dist", "build", "__pycache__"})
_READ_BYTES_MAX = 8 * 1024**2
_GIT_TIMEOUT_S = 10
# Nothing is fetched, whatever the repository's settings say.
_OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_TERMINAL_PROMPT": "0"}


def note_staleness(parts: Parts) -> int:
    """Look at every bound folder that sessions worked in: how many learnings a person has to look at. A skill
    that has no procedure which could wait for that gets one."""
    now = parts.clock.earliest_now()
    found = _find(parts, now)
    unrecorded = [each for each in found.skills if each.record_id is None]
    for each in unrecorded:
        with parts.store.transaction() as tx:
            stored = suggestion_of(tx, each.skill)
            workspace_turn(tx, *scopes_to_remember(tx, stored))
            suggestions_turn(tx)
            act = Act(actor=DAEMON, at=now, reason=each.change.what)
            remember_saved(tx, each.skill, stored, Saving(ids=parts.ids, act=act), is_reviewed=False)
    return note_changes(parts.store, _find(parts, now) if unrecorded else found, now)


def find_stale(parts: Parts) -> Iterator[tuple[RecordId | str, str]]:
    """The learnings and skills that name what their folder has no longer, each by the id that it is decided
    on by or by its name, and what that is. Nothing is written."""
    found = _find(parts, parts.clock.earliest_now())
    for record_id, change in found.changed.items():
        if change.what:
            yield record_id, change.what
    for each in found.skills:
        if each.change.what:
            yield f"skill {each.skill.name}", each.change.what


def _find(parts: Parts, now: datetime) -> FolderChanges:
    folders = tuple(_list_folders(parts))
    with parts.store.snapshot() as snapshot:
        return find_changes(snapshot, folders, now)


def _list_folders(parts: Parts) -> Iterator[FolderState]:
    """The bound folders in which sessions worked, each repository once, from its own folder."""
    with parts.store.snapshot() as snapshot:
        tops = dict(_list_tops(snapshot))
        commits = {name: last_sighting(snapshot, name).commit for name in tops}
    for name, (top, project) in tops.items():
        repository = repository_of(top)
        commit = "" if repository is None else _head(repository)
        ahead = _count_ahead(repository, commits[name], commit) if repository is not None else 0
        yield FolderState(
            folder_id=name, project=project, look=FolderView(top).look, commit=commit, ahead=ahead
        )


def _list_tops(collections: Collections) -> Iterator[tuple[FolderId, tuple[str, str]]]:
    bindings = partial(find_binding, collections)
    known: set[str] = set()
    for session in collections.sessions.page(limit=_SESSIONS_LOOKED_AT):
        path = session.working_folder
        if path is None or path in known or not os.path.isdir(path):
            continue
        known.add(path)
        try:
            folder = working_folder(path, bindings)
        except Invalid:
            continue
        if is_bound(folder.path, bindings):
            repository = repository_of(folder.path)
            top = folder.path if repository is None else repository.top
            yield folder_id(top), (top, folder.project)


def _head(repository: Repository) -> str:
    return _ask_git(repository, "rev-parse", "--verify", "-q", "HEAD^{commit}")


def _count_ahead(repository: Repository, since: str, commit: str) -> int | None:
    """How many commits lie between two; None where the later does not go on from the earlier."""
    if not since or since == commit:
        return 0
    if _ask_git(repository, "merge-base", since, commit) != since:
        return None
    return int(_ask_git(repository, "rev-list", "--count", f"{since}..{commit}") or 0)


def _ask_git(repository: Repository, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *SAFELY, f"--git-dir={repository.git_dir}", *arguments],
            env={"PATH": os.defpath, "HOME": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **_OFFLINE},
            cwd=repository.git_dir,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=_GIT_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


class FolderView:
    """What a folder has of what texts name. Each file is read at most once."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._text = cache(partial(_read, top))
        self._tasks = cache(self._find_tasks)

    def look(self, anchor: Anchor) -> str | None:
        """The same words where it is as the text says, another version, or None."""
        if anchor.kind is AnchorKind.VERSION:
            return look_at_version(anchor, self._versions.get(anchor.of, ()))
        return anchor.name if self._has(anchor) else None

    def _has(self, anchor: Anchor) -> bool:
        if anchor.kind is AnchorKind.TASK:
            return anchor.name in self._tasks(anchor.of)
        if anchor.kind is AnchorKind.FLAG:
            return has_flag(self._text(anchor.of) or "", anchor.name)
        if anchor.kind is AnchorKind.SYMBOL:
            return has_symbol(self._text(anchor.of) or "", anchor.name)
        if anchor.of:
            # Where there is more than is looked through, nothing can be told to be gone.
            return anchor.name in self._names or len(self._tree) >= _TREE_MAX
        return self._has_path(anchor.name)

    def _has_path(self, path: str) -> bool:
        if os.path.lexists(os.path.join(self._top, path)):
            return True
        if "/" in path:
            return False
        if "." not in path:
            return any(name.partition(".")[0] == path for name in _list_names(self._top))
        module = path.replace(".", "/")
        places = (f"{base}{module}{ending}" for base in ("", "src/") for ending in ("", ".py"))
        return any(os.path.lexists(os.path.join(self._top, place)) for place in places)

    def _find_tasks(self, folder: str) -> frozenset[str]:
        files = [name for name in _list_names(os.path.join(self._top, folder)) if has_tasks(name)]
        texts = ((name, self._text(f"{folder}/{name}" if folder else name)) for name in files)
        return frozenset().union(*(find_tasks(name, text or "") for name, text in texts))

    @cached_property
    def _versions(self) -> dict[str, set[tuple[str, str]]]:
        found: dict[str, set[tuple[str, str]]] = {}
        pins = [path for path in self._tree if is_pin_file(path)][:_PIN_FILES_MAX]
        for file in (*VERSION_FILES, *TOOL_FILES, *pins):
            for package, sign, version in find_versions(file, self._text(file) or ""):
                found.setdefault(package, set()).add((sign, version))
        return found

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(path.rpartition("/")[2] for path in self._tree)

    @cached_property
    def _tree(self) -> list[str]:
        """The paths of files, folder by folder from the top, a bounded number."""
        found: list[str] = []
        for folder, folders, names in os.walk(self._top):
            folders[:] = sorted(each for each in folders if each not in _PASSED and each[0] != ".")
            inside = os.path.relpath(folder, self._top)
            found += names if inside == os.curdir else [f"{inside}/{name}" for name in sorted(names)]
            if len(found) >= _TREE_MAX:
                break
        return found


def _list_names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _read(top: str, name: str) -> str | None:
    path = os.path.join(top, name)
    is_link = os.path.realpath(path) != os.path.join(os.path.realpath(top), os.path.normpath(name))
    if len(name) > limits.PATH_CHARS_MAX or is_link:
        return None
    content = read_small(path, _READ_BYTES_MAX)
    return None if content is None else content.decode(errors="replace")
