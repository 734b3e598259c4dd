"""Skills where agents look for them: copies put into folders, kept up to date, and taken away again.

Whoever puts them there reads the skills through the operations, so that those of a Runlore elsewhere can be
mounted too. `mount_notes` says which folders there are, and every later change brings them up to date.
"""

import logging
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256

from runlore import __version__
from runlore.daemon.skills.mount_notes import Mount, MountNotes
from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, NotFound, RunloreError, Unavailable
from runlore.domain.guard import first_secret
from runlore.domain.lazy import dataclass
from runlore.domain.skill import Skill
from runlore.flow.skills.library import add_doubts, list_doubts, render_skill
from runlore.flow.skills.machines import note_mounts, read_mounts
from runlore.ports.operations import LibraryOperations, SkillsRequest
from runlore.ports.operations.paging import paginate
from runlore.ports.skill_files import Mounted
from runlore.ports.store import Collections, Store
from runlore.skill_files.locations import files_beside, mount_folders
from runlore.skill_files.mount_lists import MountLists
from runlore.skill_files.mounts import FolderMounts
from runlore.skill_files.root import FOLDER
from runlore.storage.sqlite.files import prepare_state_root

_log = logging.getLogger(__name__)
_REPOSITORY = (".git", ".hg", ".jj", ".svn")


@dataclass(frozen=True, kw_only=True)
class MountReport:
    """What became of the copies in all folders, and of which folders nothing could be made."""

    items: tuple[Mounted, ...] = ()
    problems: tuple[tuple[str, RunloreError], ...] = ()


class MountManager:
    """The mounts of one Runlore, as this state root knows them. `source` is its address, if it has one.

    Whoever mounts, unmounts or brings up to date has the turn among all processes of the state root, so that
    nobody goes by a note that another is taking out.
    """

    def __init__(self, state_root: str, *, source: str = "", lists: MountLists | None = None) -> None:
        self._root = state_root
        self._notes = MountNotes(state_root)
        self._lists = lists or MountLists(state_root)
        self._source = source.rstrip("/")
        self._mounts = FolderMounts(self._lists)

    @property
    def machine(self) -> str:
        """What this machine is called; another state root on it is another one."""
        digest = sha256(os.path.realpath(self._root).encode(errors="surrogateescape")).hexdigest()
        return f"{socket.gethostname()}-{digest[:8]}"

    def folders(self) -> tuple[str, ...]:
        """Where its skills are mounted."""
        return tuple(each.folder for each in self._notes.all() if each.source == self._source)

    def mount(
        self, folders: Iterable[str], skills: Mapping[str, str], *, dry_run: bool = False
    ) -> tuple[Mounted, ...]:
        """Make the copies in these folders exactly these skills (name to file text), and note them."""
        named = tuple(dict.fromkeys(folders))
        # Whatever cannot be mounted is told before the first file is written.
        planned = self._plan(named, skills)
        if dry_run:
            return planned
        with self._turn():
            self._plan(named, skills)
            self._notes.change(added=[self._mount_of(folder) for folder in named])
            return tuple(each for folder in named for each in self._mounts.sync(folder, skills))

    def unmount(self, folders: Iterable[str], *, dry_run: bool = False) -> tuple[Mounted, ...]:
        """Take every copy out of these folders; one that was mounted and whose project is gone is only
        forgotten."""
        named = tuple(dict.fromkeys(folders))
        if not named:
            return ()
        for folder in named:
            self._refuse_anothers(folder)
        if dry_run:
            return tuple(each for folder in named for each in self._clear_folder(folder, dry_run=True))
        removed: list[Mounted] = []
        with self._turn():
            for folder in named:
                removed.extend(self._clear_folder(folder, dry_run=False))
                self._notes.change(removed=[self._mount_of(folder)])
        return tuple(removed)

    def refresh(self, skills: Mapping[str, str], *, dry_run: bool = False) -> MountReport:
        """Bring every folder up to date, or tell what would be done. One that cannot be is told, and stays
        noted."""
        if not self.folders():
            return MountReport()
        if dry_run:
            return self._sync_all(skills, dry_run=True)
        with self._turn():
            return self._sync_all(skills, dry_run=False)

    def stamps(self) -> tuple[str, ...]:
        """How each folder stands, without a look into its files; empty where that cannot be told."""
        return tuple(map(self._stamp, self.folders()))

    def last_seen(self) -> str:
        """What was noted when all folders were up to date the last time."""
        return self._lists.last_seen()

    def note_seen(self, seen: str) -> None:
        """Note that all folders are up to date."""
        self._lists.note_seen(seen)

    def _sync_all(self, skills: Mapping[str, str], *, dry_run: bool) -> MountReport:
        items: list[Mounted] = []
        problems: list[tuple[str, RunloreError]] = []
        for folder in self.folders():
            try:
                items.extend(self._mounts.sync(folder, skills, dry_run=dry_run))
            except RunloreError as error:
                problems.append((folder, error))
        return MountReport(items=tuple(items), problems=tuple(problems))

    def _plan(self, folders: Iterable[str], skills: Mapping[str, str]) -> tuple[Mounted, ...]:
        planned: list[Mounted] = []
        for folder in folders:
            self._refuse_anothers(folder)
            planned.extend(self._mounts.sync(folder, skills, dry_run=True))
        return tuple(planned)

    def _clear_folder(self, folder: str, *, dry_run: bool) -> tuple[Mounted, ...]:
        try:
            return self._mounts.clear(folder, dry_run=dry_run)
        except NotFound:
            if folder not in self.folders():
                raise
            return ()

    def _stamp(self, folder: str) -> str:
        try:
            return self._mounts.stamp(folder)
        except RunloreError:
            return ""

    @contextmanager
    def _turn(self) -> Iterator[None]:
        prepare_state_root(self._root)
        with self._lists.turn():
            yield

    def _mount_of(self, folder: str) -> Mount:
        return Mount(folder=folder, source=self._source)

    def _refuse_anothers(self, folder: str) -> None:
        """A folder holds the skills of one Runlore: those of two would take each other's away."""
        others = [each for each in self._notes.all() if each.folder == folder and each.source != self._source]
        if others:
            source = others[0].source
            whose = f"of the Runlore at {source}" if source else "of this state root"
            raise Conflict(
                f"the skills {whose} are mounted in {folder}",
                code="skill.mount-taken",
                hint=f"`runlore skill unmount{f' --url {source}' if source else ''}` takes them away first",
            )


class MountFollower:
    """Brings the mounts of a state root up to date when its skills or the copies have changed, whoever
    changed them."""

    def __init__(self, store: Store, state_root: str) -> None:
        self._store = store
        self._mounting = MountManager(state_root)
        self._told: frozenset[str] = frozenset()

    def follow(self) -> None:
        """Look, and write where anything is new. What could not be written is logged once, and tried again
        the next time."""
        try:
            problems = self.catch_up().problems
        except RunloreError as failure:
            problems = (("the folders of agents", failure),)
        failures = frozenset(f"{folder}: {problem.sentence}" for folder, problem in problems)
        for problem in sorted(failures - self._told):
            _log.warning("the skills in a folder are not up to date: %s", problem)
        self._told = failures

    def catch_up(self) -> MountReport:
        """Look, and write where anything is new."""
        self._note_folders()
        if not self._mounting.folders():
            return MountReport()
        with self._store.snapshot() as snapshot:
            # Taken before the look: what somebody changes meanwhile is seen by the next one.
            seen = self._fingerprint(snapshot)
            if seen and seen == self._mounting.last_seen():
                return MountReport()
            skills = tuple(add_doubts(snapshot, snapshot.skills.active()))
        refreshed = self._mounting.refresh(files_of(skills))
        if seen and not refreshed.problems:
            self._mounting.note_seen(seen)
        return refreshed

    def look(self) -> MountReport:
        """What would be done, and where nothing could be."""
        return self._mounting.refresh(self.files(), dry_run=True)

    def repair(self) -> MountReport:
        """Bring every folder up to date, however it stands."""
        return self._mounting.refresh(self.files())

    def files(self) -> dict[str, str]:
        """The file of every skill that is mounted; nothing where none is."""
        if not self._mounting.folders():
            return {}
        with self._store.snapshot() as snapshot:
            return files_of(add_doubts(snapshot, snapshot.skills.active()))

    def copies_left(self, name: str) -> tuple[str, ...]:
        """Where copies of a skill that is out of use may still be, once those of this machine have gone."""
        done = self.repair()
        here = [each.folder for each in done.items if each.name == name and each.keeps_text]
        here += [folder for folder, _ in done.problems]
        with self._store.snapshot() as snapshot:
            elsewhere = read_mounts(snapshot)
        elsewhere.pop(self._mounting.machine, None)
        return (*here, *(f"{machine}: {each}" for machine, folders in elsewhere.items() for each in folders))

    def _note_folders(self) -> None:
        """Tell those who share the store where copies are here."""
        machine, folders = self._mounting.machine, self._mounting.folders()[: limits.MOUNT_FOLDERS_MAX]
        with self._store.snapshot() as snapshot:
            is_noted = read_mounts(snapshot).get(machine, ()) == folders
        if not is_noted:
            with self._store.transaction() as tx:
                note_mounts(tx, machine, folders)

    def forget(self, before: Mapping[str, str]) -> None:
        """Take away the copies of what was forgotten, which had these files before. Unavailable
        (`skill.copy-left`) says that one had to stay, for somebody wanted its words gone."""
        after = self.files()
        gone = {name for name, text in before.items() if after.get(name) != text}
        if not gone:
            return
        done = self._mounting.refresh(after)
        left = [f"{problem.sentence}; {folder} is not up to date" for folder, problem in done.problems]
        left += [
            f"in {each.folder}, {each.name}: {each.reason}"
            for each in done.items
            if each.name in gone and each.keeps_text
        ]
        if left:
            raise Unavailable(
                f"the content is erased, and a mounted copy had to stay: {left[0]}",
                code="skill.copy-left",
                hint="remove it yourself, then: runlore skill mount",
            )

    def _fingerprint(self, snapshot: Collections) -> str:
        """How skills and copies stand; empty where that cannot be told."""
        stamps = self._mounting.stamps()
        if not all(stamps):
            return ""
        store = snapshot.records.position().store_id
        doubts = list_doubts(snapshot)
        facts = (__version__, store, snapshot.skills.stamp(), doubts, self._mounting.folders(), stamps)
        return sha256(repr(facts).encode(errors="surrogateescape")).hexdigest()


def folders_of(base: str, agents: Sequence[str] = ()) -> tuple[str, ...]:
    """The folders below a home or a project in which these agents find skills; without names, all agents."""
    return mount_folders(base, agents)


def repository_of(folder: str) -> str | None:
    """The repository that a folder lies in."""
    while True:
        if any(os.path.exists(os.path.join(folder, mark)) for mark in _REPOSITORY):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def usable_skills(operations: LibraryOperations) -> dict[str, str]:
    """The file of every skill that an agent may have, by name."""
    return files_of(paginate(operations.list_skills, SkillsRequest(limit=limits.LIST_LIMIT_MAX)))


def files_of(skills: Iterable[Skill]) -> dict[str, str]:
    """The file of each of these that an agent may have, by name."""
    return {skill.name: _file_of(skill) for skill in skills if skill.is_usable}


def list_uncopied_files(state_root: str, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """What lies beside the SKILL.md of these skills in the skill root, and is in no copy, by name."""
    beside = {name: files_beside(os.path.join(state_root, FOLDER, name)) for name in names}
    return {name: files for name, files in beside.items() if files}


def _file_of(skill: Skill) -> str:
    """A skill as it is given out. One that cannot be written keeps no other from coming or going: without a
    text it is not copied, and an older copy of it goes. So it is with one that holds a secret."""
    try:
        text = render_skill(skill)
    except Invalid:
        return ""
    return "" if _holds_secret(text) else text


@lru_cache(maxsize=4_096)
def _holds_secret(text: str) -> bool:
    return first_secret(text) is not None
