"""Bound folders, looked at for what learnings say of them (VAL-5): files are read, and nothing of the
folder's own is run. A link is not followed, and only so much of a file is read."""

import os
import stat
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
from runlore.domain.suggesting.already_documented import TASK_FILES
from runlore.domain.worth.staleness import (
    PIN_FILE,
    PIN_FOLDER,
    TOOL_FILES,
    VERSION_FILES,
    Anchor,
    AnchorKind,
    cut_version,
    find_tasks,
    find_versions,
    has_flag,
)
from runlore.flow.capture.sessions import find_binding
from runlore.flow.pipeline.repeating import remember_saved, scopes_to_remember, workspace_turn
from runlore.flow.skills.library import suggestion_of
from runlore.flow.skills.saving import Saving
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.flow.staleness import FolderChanges, FolderState, find_changes, last_sighting, note_changes
from runlore.ports.store import Collections

_SESSIONS_LOOKED_AT = 1_000
_PIN_FILES_MAX = 50
_READ_BYTES_MAX = 8 * 1024**2
_GIT_TIMEOUT_S = 10
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
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

    def look(self, anchor: Anchor) -> str | None:
        """The same words where it is as the text says, another version, or None."""
        if anchor.kind is AnchorKind.PATH:
            return anchor.name if os.path.lexists(os.path.join(self._top, anchor.name)) else None
        if anchor.kind is AnchorKind.TASK:
            return anchor.name if anchor.name in self._tasks else None
        if anchor.kind is AnchorKind.FLAG:
            return anchor.name if has_flag(self._text(anchor.of) or "", anchor.name) else None
        found = {cut_version(version, anchor.name) for version in self._versions.get(anchor.of, ())}
        return anchor.name if anchor.name in found else max(found, default=None)

    @cached_property
    def _tasks(self) -> frozenset[str]:
        files = [name for name in _list_names(self._top) if name.lower() in TASK_FILES]
        return frozenset().union(*(find_tasks(name, self._text(name) or "") for name in files))

    @cached_property
    def _versions(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for file in (*VERSION_FILES, *TOOL_FILES, *self._pin_files):
            for package, version in find_versions(file, self._text(file) or ""):
                found.setdefault(package, set()).add(version)
        return found

    @property
    def _pin_files(self) -> list[str]:
        inside = [name for name in _list_names(os.path.join(self._top, PIN_FOLDER)) if name.endswith(".txt")]
        found = [name for name in _list_names(self._top) if PIN_FILE.fullmatch(name)]
        return [*found, *(f"{PIN_FOLDER}/{name}" for name in inside)][:_PIN_FILES_MAX]


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
    try:
        handle = os.open(path, _READ)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with os.fdopen(os.dup(handle), "rb") as file:
            return file.read(_READ_BYTES_MAX).decode(errors="replace")
    finally:
        os.close(handle)
