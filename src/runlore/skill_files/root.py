"""The skill root: one folder for each skill, written by Runlore, and by people too.

`.written.json` says what was last written here, so that a file is as it was written (ours), was changed by
somebody since (edited), or never was ours (foreign). It is written before a file is put in place and names
both the old and the new one, and again afterwards: whenever the process dies, what it wrote itself is ours.
Where the list is lost, all files are foreign until the one who asks finds them equal to what the store has,
and takes them. It also says where each text is stored, for whoever compares the two.

A file is read again when its size, its times or its place on the disk are others; what changed just now is
read each time.
"""

import json
import os
import stat
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, NotFound, Refused, RunloreError, Unavailable
from runlore.domain.guard.entry import without_secret
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.record import JsonObject
from runlore.ports.skill_files import SKIPPED_NAME, FoundSkillFile, ReadSkill, SkillFile, StoredAs
from runlore.skill_files.disk import PRIVATE_FOLDER, Disk
from runlore.skill_files.folder import Folder, errors_of, open_folder
from runlore.skill_files.manifest import Manifest, read_manifest, write_manifest
from runlore.skill_files.root_scan import FILE, CachedFile, RootScan, check_name, file_of, look_at, status_of

if TYPE_CHECKING:
    from runlore.skill_files import front_matter
else:
    skill_text = LazyModule("runlore.skill_files.front_matter")
    front_matter = LazyModule("runlore.skill_files.front_matter")

FOLDER = "skills"
WRITTEN = ".written.json"
_MIRROR_BYTES_MAX = 8 * 1024**2
_NO_ROOT = "none"
# A folder that cannot be written fails for every skill alike: so many are tried.
_FAILURES_MAX = 3
# Some file systems keep times in steps of two seconds: a change within one could not be told.
_TOO_YOUNG_NS = 2_000_000_000


@dataclass(frozen=True, kw_only=True)
class _Change:
    """A file that becomes another one, or goes where `content` is None."""

    file: SkillFile
    content: bytes | None
    before: bytes | None

    @property
    def either(self) -> tuple[bytes, ...]:
        """What a crash may leave in place."""
        return tuple(each for each in (self.before, self.content) if each is not None)


class SkillRoot:
    """The skill root of the state folder, made when there is something to write."""

    def __init__(
        self,
        state_root: str,
        *,
        disk: Disk | None = None,
        folders_max: int = limits.SKILL_FOLDERS_MAX,
        bytes_max: int = limits.SKILL_FOLDERS_BYTES_MAX,
        settled_ns: int = _TOO_YOUNG_NS,
    ) -> None:
        self._path = os.path.join(os.path.abspath(state_root), FOLDER)
        self._disk = disk or Disk()
        self._folders_max, self._bytes_max = folders_max, bytes_max
        self._settled_ns = settled_ns
        self._kept: Mapping[str, CachedFile] = {}

    def stamp(self) -> str:
        """A text that is another one after any change to any file here, without a look into the files; empty
        where the latest change is too young to be told from the next one, or where nothing can be told."""
        with self._open_root() as root:
            if root is None:
                return _NO_ROOT
            seen, newest = sha256(), 0
            for name in root.names(self._folders_max):
                for path in (name, os.path.join(name, FILE)):
                    status = status_of(root, path)
                    if status is not None:
                        newest = max(newest, status.st_ctime_ns)
                        identity = (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns)
                        seen.update(f"{path!r}{identity}{status.st_ctime_ns}\n".encode())
        return "" if time.time_ns() - newest < self._settled_ns else seen.hexdigest()

    def scan(self) -> tuple[FoundSkillFile, ...]:
        """Every folder that holds a SKILL.md, by name; those that are refused with the reason."""
        with self._open_root() as root:
            if root is None:
                return ()
            manifest = read_manifest(root, WRITTEN)
            # What begins with a dot is a list of ours, or nobody's skill.
            names = [name for name in root.names(self._folders_max) if not name.startswith(".")]
            found: list[FoundSkillFile] = []
            left = self._bytes_max
            look = RootScan(self._kept, settled_ns=self._settled_ns)
            for name in names:
                one = look.at(root, name, manifest)
                if one is not None:
                    found.append(one)
                    left -= 0 if one.read is None else len(one.read.text)
                if left < 0:
                    raise _too_much(self._path, self._bytes_max)
            self._kept = look.kept
            return tuple(found)

    def find(self, name: str) -> FoundSkillFile | None:
        return next(iter(self.find_all([name])), None)

    def find_all(self, names: Sequence[str]) -> tuple[FoundSkillFile, ...]:
        for name in names:
            check_name(name)
        with self._open_root() as root:
            if root is None:
                return ()
            manifest = read_manifest(root, WRITTEN)
            found = (look_at(root, name, manifest) for name in names)
            return tuple(one for one in found if one is not None)

    def put(self, name: str, text: str) -> None:
        """Write a skill's file, whole or not at all. Conflict (`skill.file-edited`, `skill.file-foreign`)
        where the folder holds what somebody else wrote; Refused (`skill.link`) where anything is a link."""
        _raise_any(self.put_all([SkillFile(name=name, text=text)]))

    def remove(self, name: str) -> None:
        """Remove a skill's folder where it is as it was written; what people put beside the file stays."""
        _raise_any(self.put_all([SkillFile(name=name, text=None)]))

    def take(self, name: str, text: str | None = None) -> None:
        """Call what stands in a folder ours: it is in the store now as it is. With the `text` that was
        stored, Conflict (`skill.file-edited`) where somebody has changed the file since it was read: it is
        an edit of that text then."""
        _raise_any(self.take_all([SkillFile(name=name, text=text)]))

    def put_all(self, files: Sequence[SkillFile]) -> Mapping[str, RunloreError]:
        """Write or remove many, with the list written once before and once behind them; what went wrong, by
        name."""
        contents, refused = _check_files(files)
        if not contents:
            return refused
        is_removing = all(file.text is None for file in files)
        try:
            with self._open_root(shared=False) if is_removing else self._changing() as root:
                if root is not None:
                    wanted = [(file, contents[file.name]) for file in files if file.name in contents]
                    self._change_all(root, wanted, refused)
        except RunloreError as error:
            return {file.name: refused.get(file.name, error) for file in files}
        return refused

    def take_all(self, files: Sequence[SkillFile]) -> Mapping[str, RunloreError]:
        """Call many ours, with the list written once. What was changed since it was read is an edit of it."""
        contents, refused = _check_files(files)
        if not contents:
            return refused
        try:
            with self._changing() as root:
                taken: dict[str, tuple[bytes, ...]] = {}
                for name, stored in contents.items():
                    with _noting(name, refused):
                        self._bring_back(root, name)
                        content = file_of(root, name)
                        if content is None:
                            raise _missing(name)
                        taken[name] = (content if stored is None else stored,)
                        if content not in taken[name]:
                            raise _not_ours(name, is_edited=True)
                manifest = read_manifest(root, WRITTEN)
                _list(root, manifest, manifest.with_files(taken, _stored_as(files, taken)))
        except RunloreError as error:
            return {file.name: refused.get(file.name, error) for file in files}
        return refused

    def mirror_skips(self, document: JsonObject) -> None:
        """Write the list of what is skipped for people to read, in place of what it was."""
        content = (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()
        with self._changing() as root:
            root.write(SKIPPED_NAME, content)

    def read_mirrored_skips(self) -> JsonObject | None:
        """What that list says: None where there is none, and nothing where it cannot be read."""
        with self._open_root() as root:
            if root is None or root.status(SKIPPED_NAME) is None:
                return None
            try:
                document = json.loads(root.read(SKIPPED_NAME, _MIRROR_BYTES_MAX) or b"")
            except (Invalid, Refused, ValueError, RecursionError):
                return {}
        return document if isinstance(document, dict) else {}

    def read(self, text: str, *, folder: str = "") -> ReadSkill:
        """Read the text of a SKILL.md leniently; Invalid (`skill.document`) where it is none."""
        return front_matter.read_skill(without_secret("the skill", text), folder=folder)

    def _change_all(
        self, root: Folder, wanted: Sequence[tuple[SkillFile, bytes | None]], refused: dict[str, RunloreError]
    ) -> None:
        manifest = read_manifest(root, WRITTEN)
        changes: dict[str, _Change] = {}
        for file, content in wanted:
            with _noting(file.name, refused), errors_of(self._path):
                self._bring_back(root, file.name)
                before = self._ours(root, file, manifest, wanted=content)
                changes[file.name] = _Change(file=file, content=content, before=before)
        written = {name: each for name, each in changes.items() if each.content is not None}
        # Whichever of the two a crash leaves in place is known to be ours.
        either = {name: each.either for name, each in written.items()}
        pending = _list(
            root,
            manifest,
            manifest.with_files(either, _stored_as([each.file for each in written.values()], either)),
        )
        done: dict[str, tuple[bytes, ...]] = {}
        failures: list[RunloreError] = []
        for name, each in changes.items():
            if len(failures) >= _FAILURES_MAX:
                refused[name] = failures[-1]
                continue
            with _noting(name, refused), errors_of(self._path):
                self._change(root, name, each, is_listed=name in manifest.written)
                done[name] = () if each.content is None else (each.content,)
            failures += [error] if isinstance(error := refused.get(name), Unavailable) else []
        _list(
            root,
            pending,
            pending.with_files(done, {n: pending.stored[n] for n in done if n in pending.stored}),
        )

    @staticmethod
    def _change(root: Folder, name: str, change: _Change, *, is_listed: bool) -> None:
        if change.content is not None:
            root.make(name)
        with root.child(name) as folder:
            is_done = folder is None and change.content is None
            if folder is not None:
                folder.remove_aside(FILE)
                is_done = _has_become(folder, change)
        if not is_done:
            raise _not_ours(name, is_edited=folder is not None)
        if change.content is None and is_listed:
            root.remove_empty(name)

    @staticmethod
    def _bring_back(root: Folder, name: str) -> None:
        """Whatever a process was about to remove when it died is there again, to be looked at first."""
        with root.child(name) as folder:
            if folder is not None:
                folder.bring_back(FILE)

    @staticmethod
    def _ours(root: Folder, file: SkillFile, manifest: Manifest, *, wanted: bytes | None) -> bytes | None:
        """What stands in a folder, where it may be replaced; None where nothing does; else Conflict."""
        content = file_of(root, file.name)
        if content is None or content == wanted or manifest.knows(file.name, content):
            return content
        is_edited = file.name in manifest.written
        if file.overrides and is_edited:
            return content
        raise _not_ours(file.name, is_edited=is_edited)

    @contextmanager
    def _changing(self) -> Iterator[Folder]:
        """The root, made where it is missing, with everybody else kept out."""
        with errors_of(self._path):
            self._make_root()
        with self._open_root(shared=False) as root:
            if root is None:
                raise _missing(FOLDER)
            yield root

    def _make_root(self) -> None:
        try:
            self._disk.make_folder(self._path)
        except FileExistsError:
            return
        parent = os.open(os.path.dirname(self._path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._disk.sync(parent)
        finally:
            os.close(parent)

    @contextmanager
    def _open_root(self, *, shared: bool = True) -> Iterator[Folder | None]:
        """The root, locked; None where there is none yet. A link in its place is refused."""
        with errors_of(self._path), open_folder(self._disk, self._path) as root:
            if root is not None:
                root.lock(shared=shared)
                if not shared and stat.S_IMODE(os.fstat(root.handle).st_mode) != PRIVATE_FOLDER:
                    os.fchmod(root.handle, PRIVATE_FOLDER)
            yield root


def _has_become(folder: Folder, change: _Change) -> bool:
    """Make the change; False where somebody else made one meanwhile."""
    if change.before == change.content:
        return True
    if change.content is not None:
        return folder.replace(FILE, change.content, before=change.before)
    return change.before is None or folder.take_away(FILE, before=change.before)


def _check_files(
    files: Sequence[SkillFile],
) -> tuple[dict[str, bytes | None], dict[str, RunloreError]]:
    """What files are to hold, and which may not, before anything is opened for them."""
    contents: dict[str, bytes | None] = {}
    refused: dict[str, RunloreError] = {}
    for file in files:
        with _noting(file.name, refused):
            check_name(file.name)
            contents[file.name] = None if file.text is None else _encode(file.text)
    return contents, refused


@contextmanager
def _noting(name: str, refused: dict[str, RunloreError]) -> Iterator[None]:
    """What goes wrong with one file stops no other."""
    try:
        yield
    except RunloreError as error:
        refused[name] = error


def _raise_any(refused: Mapping[str, RunloreError]) -> None:
    for error in refused.values():
        raise error


def _stored_as(files: Sequence[SkillFile], among: Container[str]) -> dict[str, StoredAs]:
    return {file.name: file.stored for file in files if file.stored is not None and file.name in among}


def _list(root: Folder, before: Manifest, after: Manifest) -> Manifest:
    """Have the list say something else, where it does."""
    if after != before:
        write_manifest(root, WRITTEN, after)
    return after


def _encode(text: str) -> bytes:
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise Invalid(
            "the text of a skill holds a character that no file can keep",
            code="skill.document",
            hint="remove halves of surrogate pairs",
        ) from None
    if len(content) > limits.SKILL_FILE_BYTES_MAX:
        raise front_matter.too_large("the text of a skill", limits.SKILL_FILE_BYTES_MAX)
    return content


def _not_ours(name: str, *, is_edited: bool) -> Conflict:
    if is_edited:
        return Conflict(
            f"the file of skill {name} was changed by somebody since it was written",
            code="skill.file-edited",
            hint="the change is kept: read the skill in as it is, or move the file away",
        )
    return Conflict(
        f"the folder of skill {name} holds what somebody else wrote",
        code="skill.file-foreign",
        hint="read it in as it is, give the new skill another name, or move the folder away",
    )


def _missing(name: str) -> NotFound:
    return NotFound(
        f"there is no file of skill {name}",
        code="skill.file-missing",
        hint="it may have been moved or removed",
    )


def _too_much(path: str, bytes_max: int) -> Refused:
    return Refused(
        f"the skills in {path} have more than {bytes_max:,} bytes together",
        code="skill.folder-size",
        hint="move what is not used elsewhere",
    )
