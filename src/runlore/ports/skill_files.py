"""Skill folders on disk: a projection of the skills, in which people may write too."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from runlore.domain.lazy import dataclass
from runlore.domain.taint import TRUSTED, Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runlore.domain.errors import RunloreError
    from runlore.domain.record import JsonObject
    from runlore.domain.skill import SkillDocument


class FileStanding(StrEnum):
    """Whose a skill's folder is: as it was last written here, changed by somebody since, or never ours."""

    OURS = "ours"
    EDITED = "edited"
    FOREIGN = "foreign"


@dataclass(frozen=True, kw_only=True)
class ReadSkill:
    """A SKILL.md that could be read, and what is odd about it. `provenance` is the file's own word: it may be
    believed where it taints, never where it clears."""

    document: SkillDocument
    text: str
    remarks: tuple[str, ...] = ()
    provenance: Provenance = TRUSTED


@dataclass(frozen=True, kw_only=True)
class StoredAs:
    """Where a file's text is stored: in which store, and, where somebody's own words are in it, in which
    revision of which skill. What Runlore has put together itself is written anew without that."""

    store: str
    skill_id: str = ""
    revision: int = 0


@dataclass(frozen=True, kw_only=True)
class FoundSkillFile:
    """A folder in the skill root. `read` is None where it is refused, and `problem` says why, in a line.
    `written` are the digests of what was last written here, as `manifest.digest_of` makes them, and `stored`
    says where that was stored; None where nobody said so."""

    folder: str
    standing: FileStanding
    read: ReadSkill | None = None
    problem: str = ""
    written: tuple[str, ...] = ()
    stored: StoredAs | None = None


@dataclass(frozen=True, kw_only=True)
class SkillFile:
    """A skill's file as it is to be, or as it was read; without a text there is to be none. One that
    `overrides` gives way to nobody's edit: only Runlore says what stands there."""

    name: str
    text: str | None
    stored: StoredAs | None = None
    overrides: bool = False


class SkillFiles(Protocol):
    """The skill root of the state folder."""

    def stamp(self) -> str:
        """A text that is another one after any change to any file here, without a look into the files; empty
        where the latest change is too young to be told from the next one, or where nothing can be told."""

    def scan(self) -> tuple[FoundSkillFile, ...]:
        """Every folder that holds a SKILL.md, by name; those that are refused with the reason."""

    def find(self, name: str) -> FoundSkillFile | None:
        """One folder; None where there is none."""

    def find_all(self, names: Sequence[str]) -> tuple[FoundSkillFile, ...]: ...

    def put(self, name: str, text: str) -> None:
        """Write a skill's file, whole or not at all. Conflict (`skill.file-edited`, `skill.file-foreign`)
        where the folder holds what somebody else wrote; Refused (`skill.link`) where anything is a link."""

    def put_all(self, files: Sequence[SkillFile]) -> Mapping[str, RunloreError]:
        """Write or remove many, each as `put` and `remove` do; what went wrong, by name."""

    def take(self, name: str, text: str | None = None) -> None:
        """Call what stands in a folder ours: it is in the store now as it is. With the `text` that was
        stored, Conflict (`skill.file-edited`) where somebody has changed the file since it was read: it is
        an edit of that text then."""

    def take_all(self, files: Sequence[SkillFile]) -> Mapping[str, RunloreError]:
        """Call many files ours, each as `take` does with its text; what went wrong, by name."""

    def remove(self, name: str) -> None:
        """Remove a skill's folder where it is as it was written; what people put beside the file stays."""

    def mirror(self, name: str, document: JsonObject) -> None:
        """Write a list for people to read, such as `.skipped.json`, in place of what it was."""

    def read_mirror(self, name: str) -> JsonObject | None:
        """What such a list says: None where there is none, and nothing where it cannot be read."""

    def read(self, text: str, *, folder: str = "") -> ReadSkill:
        """Read the text of a SKILL.md leniently; Invalid (`skill.document`) where it is none."""


class MountState(StrEnum):
    """What mounting did, or would do, with one skill in one folder."""

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    REPAIRED = "repaired"
    REMOVED = "removed"
    LEFT = "left"


@dataclass(frozen=True, kw_only=True)
class Mounted:
    """One skill in one folder where agents look; `reason` says why it was left alone, or what stays beside
    it. `keeps_text` where that is a text which was made of an earlier copy, and which somebody changed."""

    name: str
    folder: str
    state: MountState
    reason: str = ""
    keeps_text: bool = False


class SkillMounts(Protocol):
    """Managed copies in folders where agents look for skills. What Runlore did not write is never touched."""

    def sync(self, folder: str, skills: Mapping[str, str], *, dry_run: bool = False) -> tuple[Mounted, ...]:
        """Make the managed copies in a folder exactly these (name to file text): new ones written, drifted
        ones repaired, those that are no longer wanted removed, hand-written ones of the same name left."""

    def clear(self, folder: str, *, dry_run: bool = False) -> tuple[Mounted, ...]:
        """Remove every managed copy from a folder, and the folder itself where it was made for them."""

    def stamp(self, folder: str) -> str:
        """A text that is another one after any change to a copy, without a look into the files."""
