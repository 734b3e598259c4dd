"""What lies in the skill root, folder by folder. What has not changed since it was read is not read again."""

import os
import stat
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.errors import Invalid, Refused
from runlore.domain.guard.entry import without_secret
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.text.safe_text import escape
from runlore.ports.skill_files import FileStanding, FoundSkillFile, ReadSkill
from runlore.skill_files.folder import Folder
from runlore.skill_files.manifest import Manifest, digest_of

if TYPE_CHECKING:
    from runlore.domain.suggesting import naming
    from runlore.skill_files import front_matter
else:
    naming = LazyModule("runlore.domain.suggesting.naming")
    front_matter = LazyModule("runlore.skill_files.front_matter")
    skill_text = LazyModule("runlore.skill_files.front_matter")

FILE = "SKILL.md"
# What is kept of files in memory; the others are read each time.
_KEPT_CHARS_MAX = 32 * 1024**2
_SHOWN_CHARS = 80


@dataclass(frozen=True, kw_only=True)
class CachedFile:
    """A file as it was read: its state on disk, what it is recognised by, what it says."""

    state: tuple[int, ...]
    digest: str
    read: ReadSkill


class RootScan:
    """One look at all folders; `kept` is what the next one need not read. `settled_ns` is how old a change
    has to be for the next one to be told from it."""

    def __init__(self, before: Mapping[str, CachedFile], *, settled_ns: int) -> None:
        self.kept: dict[str, CachedFile] = {}
        self._before = before
        self._settled_ns = settled_ns
        self._left = _KEPT_CHARS_MAX

    def at(self, root: Folder, name: str, manifest: Manifest) -> FoundSkillFile | None:
        """What a folder holds; None where it is none of a skill."""
        state = self._file_state(root, name)
        known = self._before.get(name)
        if known is None or state is None or known.state != state:
            found = look_at(root, name, manifest)
            if found is None or found.read is None or state is None:
                return found
            known = CachedFile(state=state, digest=digest_of(found.read.text.encode()), read=found.read)
        self._left -= len(known.read.text)
        if self._left >= 0:
            self.kept[name] = known
        is_ours = known.digest in manifest.written.get(name, ())
        return _found_skill(name, manifest, known.read, is_ours=is_ours)

    def _file_state(self, root: Folder, name: str) -> tuple[int, ...] | None:
        """What tells one state of a file from another without opening it; None where it cannot be told."""
        folder, file = status_of(root, name), status_of(root, os.path.join(name, FILE))
        if folder is None or file is None:
            return None
        is_plain = stat.S_ISDIR(folder.st_mode) and stat.S_ISREG(file.st_mode)
        if not is_plain or time.time_ns() - file.st_ctime_ns < self._settled_ns:
            return None
        times = (file.st_mtime_ns, file.st_ctime_ns)
        return (folder.st_ino, folder.st_mode, file.st_ino, file.st_mode, file.st_size, *times)


def look_at(root: Folder, name: str, manifest: Manifest) -> FoundSkillFile | None:
    """What a folder holds; None where it is none of a skill. What is wrong with one skill stops no other."""
    standing = FileStanding.EDITED if name in manifest.written else FileStanding.FOREIGN
    try:
        content = file_of(root, name)
        if content is None:
            return _find_misnamed(root, name, standing)
        if manifest.knows(name, content):
            standing = FileStanding.OURS
        check_name(name)
        read = front_matter.read_skill(front_matter.decode_file(content), folder=name)
        if standing is not FileStanding.OURS:
            without_secret("the file", read.text)
        return _found_skill(name, manifest, read, is_ours=standing is FileStanding.OURS)
    except (Invalid, Refused) as error:
        problem = f"{error.sentence}; {error.hint}"
    except PermissionError:
        problem = "it cannot be read; make it readable for this user"
    return FoundSkillFile(folder=_printable(name), standing=standing, problem=problem)


def file_of(root: Folder, name: str) -> bytes | None:
    """The content of a skill's file, also where a process died while it removed it; None without one."""
    with root.child(name) as folder:
        if folder is None:
            return None
        content = folder.read(FILE, limits.SKILL_FILE_BYTES_MAX)
        return folder.read_away(FILE, limits.SKILL_FILE_BYTES_MAX) if content is None else content


def status_of(root: Folder, path: str) -> os.stat_result | None:
    """What is told of a name without opening it; None also where its folder is none."""
    try:
        return root.status(path)
    except (NotADirectoryError, PermissionError):
        return None


def check_name(name: str) -> None:
    """Names that are no skill's could lead out of the root, hide, or be no folder on other systems."""
    if naming.is_valid_name(name) and not naming.is_reserved(name):
        return
    better = f"{name}-skill" if naming.is_reserved(name) else naming.slug(name)
    hint = "use 1 to 64 small letters a-z, digits and single hyphens between them"
    if naming.is_valid_name(better) and not naming.is_reserved(better):
        hint = f"{hint}, such as `{better}`"
    raise Invalid(f"a skill cannot be called {_printable(name)!r}", code="skill.name", hint=hint)


def _found_skill(name: str, manifest: Manifest, read: ReadSkill, *, is_ours: bool) -> FoundSkillFile:
    standing = FileStanding.EDITED if name in manifest.written else FileStanding.FOREIGN
    return FoundSkillFile(
        folder=name,
        standing=FileStanding.OURS if is_ours else standing,
        read=read,
        written=manifest.written.get(name, ()),
        stored=manifest.stored.get(name),
    )


def _find_misnamed(root: Folder, name: str, standing: FileStanding) -> FoundSkillFile | None:
    """A file that some would take for a skill's, and most would not."""
    with root.child(name) as folder:
        if folder is None or folder.status(FILE.lower()) is None:
            return None
    problem = f"its file is called {FILE.lower()}; call it {FILE}"
    return FoundSkillFile(folder=_printable(name), standing=standing, problem=problem)


def _printable(name: str) -> str:
    return escape(name[:_SHOWN_CHARS])
