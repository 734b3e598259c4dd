"""What is found in the folders of skills, and what is written into them (`skill_files/`)."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from runlore.domain.lazy import dataclass
from runlore.domain.taint import TRUSTED, Provenance

if TYPE_CHECKING:
    from runlore.domain.skill import SkillDocument


class FileStanding(StrEnum):
    """Whose a skill's folder is: as it was last written here, changed by somebody since, or never ours."""

    OURS = "ours"
    EDITED = "edited"
    FOREIGN = "foreign"


# The list of what is skipped, for people to read.
SKIPPED_NAME = ".skipped.json"


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
