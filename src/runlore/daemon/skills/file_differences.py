"""Where the files of skills and their rows say different things, and what that is."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256

from runlore.domain.lazy import dataclass
from runlore.domain.skill import Skill, SkillOrigin
from runlore.flow.skills.catalogue import skill_id_of
from runlore.flow.skills.library import text_of
from runlore.ports.skill_files import FileStanding, FoundSkillFile, ReadSkill, StoredAs


class FileDifference(StrEnum):
    """What is different about a skill's file and its row."""

    MISSING = "missing"
    STALE = "stale"
    LEFT_OVER = "left-over"
    UNTAKEN = "untaken"
    EDITED = "edited"
    FOREIGN = "foreign"
    CUT = "cut"
    CONTESTED = "contested"
    TAKEN = "taken"
    REFUSED = "refused"
    UNLISTED = "unlisted"


# The row is right, and the file follows it.
FILE_FOLLOWS = frozenset({FileDifference.MISSING, FileDifference.STALE, FileDifference.LEFT_OVER})
# Somebody has written a file, and the row follows it.
ROW_FOLLOWS = frozenset({FileDifference.EDITED, FileDifference.FOREIGN})
# Nothing is done: a person has to look, and may say which of the two stands.
LEFT_ALONE = frozenset(
    {FileDifference.CUT, FileDifference.CONTESTED, FileDifference.TAKEN, FileDifference.REFUSED}
)


@dataclass(frozen=True, kw_only=True)
class Differing:
    """A skill whose file and row differ. `read` is what the file says, where it can be read; `written` are
    the digests of what it was before somebody wrote it, and `store` is that of the row. What `overrides` is
    made right whoever has changed it."""

    name: str
    difference: FileDifference
    row: Skill | None = None
    read: ReadSkill | None = None
    problem: str = ""
    written: tuple[str, ...] = ()
    store: str = ""
    overrides: bool = False

    @property
    def message(self) -> str:
        said = _TOLD[self.difference].format(name=self.name)
        return f"{said}: {self.problem}" if self.problem else said

    @property
    def hint(self) -> str:
        """What to do about it: only what helps with this one."""
        hint = _HINTS.get(self.difference, _REPAIR)
        if self.difference is FileDifference.REFUSED and self.row is not None:
            hint = _REFUSED_AND_STORED
        return hint.format(name=self.name)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What a store has: the active skills by name, any of an id, whatever its state, and the names that
    promoted skills have, mounted or not."""

    store: str
    active: Mapping[str, Skill]
    known: Callable[[str], Skill | None]
    promoted: Container[str] = frozenset()

    def is_beyond(self, stored: StoredAs) -> bool:
        """Whether a skill has moved on from where a file's text was stored. It has not where the store is an
        older one than the file, such as one that was put back from a copy."""
        skill = self.known(stored.skill_id)
        return skill is not None and skill.revision > stored.revision


def stored_as(skill: Skill, store: str) -> StoredAs:
    """Where the text of a skill's file is stored: what Runlore has learned it can put together again."""
    if skill.origin is SkillOrigin.LEARNED:
        return StoredAs(store=store)
    if skill.origin is SkillOrigin.PROMOTED:
        # Whose file it is has to be known when it is gone; what it says its record says.
        return StoredAs(store=store, skill_id=skill.skill_id)
    return StoredAs(store=store, skill_id=skill.skill_id, revision=skill.revision)


def differences(found: Sequence[FoundSkillFile], rows: Rows) -> Iterator[Differing]:
    """All of them, the files first, by name."""
    for each in found:
        row = rows.active.get(each.folder)
        difference = _difference(each, row, rows)
        if difference is not None:
            yield Differing(
                name=each.folder,
                difference=difference,
                row=row,
                read=each.read,
                problem=each.problem,
                written=each.written,
                store=rows.store,
                overrides=_is_promoted(each),
            )
    there = {each.folder for each in found}
    for name in sorted(rows.active.keys() - there):
        yield Differing(name=name, difference=FileDifference.MISSING, row=rows.active[name])


def _difference(found: FoundSkillFile, row: Skill | None, rows: Rows) -> FileDifference | None:
    if found.read is None:
        return FileDifference.REFUSED
    # What another store has promoted is no hand-written skill of this one.
    if found.folder in rows.promoted or (row is None and _is_promoted(found)):
        return _of_promoted(found, row, rows)
    standing = _standing(found, row, rows)
    if row is None:
        return _WITHOUT_A_ROW[standing]
    if found.read.text == text_of(row):
        is_noted = found.standing is FileStanding.OURS and found.stored == stored_as(row, rows.store)
        return None if is_noted else FileDifference.UNTAKEN
    if standing is FileStanding.OURS:
        return FileDifference.STALE
    return _of_changed(found, found.read, row, standing=standing)


def _of_changed(
    found: FoundSkillFile, read: ReadSkill, row: Skill, *, standing: FileStanding
) -> FileDifference:
    """What is different about a file that is not as it was written here, and not what its row says."""
    if standing is FileStanding.EDITED and is_cut(read, row):
        return FileDifference.CUT
    is_written_elsewhere = row.origin is SkillOrigin.WRITTEN and digest_of(text_of(row)) not in found.written
    # Where it is foreign it is another skill than the one that has this name.
    is_contested = standing is FileStanding.FOREIGN or is_written_elsewhere
    return FileDifference.CONTESTED if is_contested else FileDifference.EDITED


def is_cut(read: ReadSkill, skill: Skill) -> bool:
    """Whether a file holds the beginning of a skill's text and nothing else: somebody may have shortened it,
    and so may a disk. Many editors leave the end of the last line out: that is neither."""
    whole = text_of(skill)
    return whole.startswith(read.text) and whole.rstrip() != read.text.rstrip()


def _of_promoted(found: FoundSkillFile, row: Skill | None, rows: Rows) -> FileDifference | None:
    """What is different about the file of a name that a promoted skill has: nothing there is ever taken in.

    What was written for the skill is made right, whoever has changed it; anything else is somebody else's.
    """
    assert found.read is not None, "what cannot be read is refused before"
    if row is not None and found.read.text == text_of(row):
        is_noted = found.standing is FileStanding.OURS and found.stored == stored_as(row, rows.store)
        return None if is_noted else FileDifference.UNTAKEN
    if not _is_promoted(found) or found.folder not in rows.promoted:
        return FileDifference.TAKEN
    return FileDifference.LEFT_OVER if row is None else FileDifference.STALE


def _is_promoted(found: FoundSkillFile) -> bool:
    """Whether a file was written here for the promoted skill of its name."""
    is_listed = found.standing is not FileStanding.FOREIGN
    return is_listed and found.stored is not None and found.stored.skill_id == skill_id_of(found.folder)


def _standing(found: FoundSkillFile, row: Skill | None, rows: Rows) -> FileStanding:
    """Whose a file is for this store: nobody's words in it are lost that no row has."""
    stored, is_as_written = found.stored, found.standing is FileStanding.OURS
    if stored is None or stored.store != rows.store:
        # What Runlore put together for another store gives way to the skill that has its name here.
        gives_way = is_as_written and stored is not None and not stored.skill_id and row is not None
        return FileStanding.OURS if gives_way else FileStanding.FOREIGN
    if not is_as_written or not stored.skill_id or rows.is_beyond(stored):
        return found.standing
    if row is not None and digest_of(text_of(row)) in found.written:
        # A process has died while it wrote what the row says.
        return FileStanding.OURS
    is_its_skill = row is not None and row.skill_id == stored.skill_id
    return FileStanding.EDITED if is_its_skill else FileStanding.FOREIGN


def digest_of(text: str) -> str:
    """What a file is recognised by, as in the list of what was written."""
    return sha256(text.encode()).hexdigest()


_WITHOUT_A_ROW = {
    FileStanding.OURS: FileDifference.LEFT_OVER,
    FileStanding.EDITED: FileDifference.EDITED,
    FileStanding.FOREIGN: FileDifference.FOREIGN,
}
_TOLD = {
    FileDifference.MISSING: "the file of skill {name} is missing",
    FileDifference.STALE: "the file of skill {name} is not what the skill says by now",
    FileDifference.LEFT_OVER: "the file of skill {name} is still there, and the skill is gone",
    FileDifference.UNTAKEN: "the file of skill {name} is not in the list of what was written",
    FileDifference.EDITED: "the file of skill {name} was edited, and has not been read in yet",
    FileDifference.FOREIGN: "the file of skill {name} was put there, and has not been read in yet",
    FileDifference.CUT: "the file of skill {name} ends before the skill does (changed, or damaged?),"
    " and was not read in",
    FileDifference.CONTESTED: "the file of skill {name} and the stored skill were both written by somebody",
    FileDifference.TAKEN: "the file of skill {name} is somebody's, and the name is a promoted skill's",
    FileDifference.REFUSED: "the file of skill {name} is refused",
    FileDifference.UNLISTED: "{name} is not what is skipped by now",
}
_REPAIR = "`runlore doctor --repair` reads in what was written by hand, and writes the rest"
_KEEP_STORED = "`runlore skill settle {name} --keep stored` writes the stored text again"
_SETTLE = f"`runlore skill settle {{name}} --keep file` takes the file as it is, {_KEEP_STORED}"
_REFUSED_AND_STORED = f"mend the file, or {_KEEP_STORED}"
_HINTS = {
    FileDifference.CUT: _SETTLE,
    FileDifference.CONTESTED: f"{_SETTLE}; or give the folder another name",
    FileDifference.TAKEN: "give the folder another name, or remove it: what is promoted has its own file",
    FileDifference.REFUSED: "mend the file, or move its folder away",
}
