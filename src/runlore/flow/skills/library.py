"""The library: skills that people bring in, write, edit, vouch for, take away and bring back (SKL-8, TNT-2).

The row is the authority: files follow it. Every act is one transaction with a line in the log; the caller has
the turn.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.errors import Conflict, NotFound, Refused
from runlore.domain.lazy import LazyModule
from runlore.domain.prompts.injected import MAY_BE_OVER
from runlore.domain.record import RecordId
from runlore.domain.records.audit import Act
from runlore.domain.skill import (
    Quality,
    Skill,
    SkillDocument,
    SkillEventKind,
    SkillId,
    SkillMove,
    SkillOrigin,
    SkillState,
)
from runlore.domain.skill_document import render_document
from runlore.domain.suggestion import StoredSuggestion
from runlore.domain.taint import Provenance
from runlore.flow.skills.names import is_free, names_of, refuse_promoted
from runlore.ports.skill_files import ReadSkill
from runlore.ports.store import Collections, Transaction

if TYPE_CHECKING:
    from runlore.flow.skills import deciding, skill_provenance
    from runlore.flow.skills import saving as skill_saving
else:
    deciding = LazyModule("runlore.flow.skills.deciding")
    skill_saving = LazyModule("runlore.flow.skills.saving")
    skill_provenance = LazyModule("runlore.flow.skills.skill_provenance")

_DOUBTFUL = "doubtful skills"
_PAGE = limits.LIST_LIMIT_MAX
_GONE = frozenset(SkillState) - {SkillState.ACTIVE}


def skill_named(collections: Collections, name_or_id: str) -> Skill:
    """The active skill of a name, else the skill of an id; NotFound (`skill.not-found`)."""
    return collections.skills.find(name_or_id) or collections.skills.get(SkillId(name_or_id))


def get_deleted_skill(collections: Collections, name_or_id: str) -> Skill:
    """A skill by its id, or the latest that had a name and went; NotFound (`skill.not-found`)."""
    with suppress(NotFound):
        return collections.skills.get(SkillId(name_or_id))
    return find_latest_deleted(collections, name_or_id) or skill_named(collections, name_or_id)


def find_latest_deleted(collections: Collections, name: str) -> Skill | None:
    named = (skill for skill in skills_in_states(collections, _GONE) if skill.name == name)
    return max(named, key=lambda skill: (skill.updated_at, skill.skill_id), default=None)


def suggestion_of(collections: Collections, skill: Skill) -> StoredSuggestion | None:
    with suppress(NotFound):
        return None if skill.suggestion_id is None else collections.suggestions.get(skill.suggestion_id)
    return None


def text_of(skill: Skill) -> str:
    """The text of a skill's file in the skill root: as somebody wrote it, else as Runlore writes it."""
    return skill.text or render_document(skill.document, skill.provenance)


def render_skill(skill: Skill) -> str:
    """A skill as it goes out to agents and other folders, and as it is read by whoever vouches for it: always
    as Runlore writes it. It passes the validator, and nothing stands in it that is not shown."""
    text = render_document(skill.document, skill.provenance)
    if not skill.doubt:
        return text
    # What stands for Runlore's own word is not counted against the skill's length.
    body = skill.document.body
    return f"{text.removesuffix(body)}> This skill {skill.doubt}.\n\n{body}"


def add_doubts(collections: Collections, skills: Iterable[Skill]) -> Iterator[Skill]:
    """The skills, each with what of it may no longer hold, as long as its procedure waits for that."""
    doubts = list_doubts(collections)
    for skill in skills:
        doubt = doubts.get(skill.skill_id)
        yield replace(skill, doubt=f"{MAY_BE_OVER}: {doubt}") if doubt else skill


def list_doubts(collections: Collections) -> Mapping[SkillId, str]:
    """What may no longer hold of which skills."""
    doubtful = read_doubtful(collections)
    records = collections.records.get_many(list(set(doubtful.values()))) if doubtful else {}
    found = ((skill_id, records.get(record_id)) for skill_id, record_id in doubtful.items())
    return {skill_id: record.doubt for skill_id, record in found if record is not None and record.doubt}


def read_doubtful(collections: Collections) -> Mapping[SkillId, RecordId]:
    """The skills that name what their repository has no longer, with the procedures that they wait as."""
    noted = collections.counters.note(_DOUBTFUL)
    return {} if noted is None else json.loads(noted)


def note_doubtful(tx: Transaction, skills: Mapping[SkillId, RecordId]) -> None:
    if skills != read_doubtful(tx):
        tx.counters.set_note(_DOUBTFUL, json.dumps(skills))


def import_skill(
    tx: Transaction, read: ReadSkill, saving: "skill_saving.Saving", *, source: str, name: str | None = None
) -> Skill:
    """Bring in somebody's skill, tainted until it is accepted. It is written anew, so that its file says so
    and says nothing else than is read. A taken name gets a number; what is there already is not brought in
    again."""
    wanted = name or read.document.name
    for taken in names_of(wanted):
        known = tx.skills.find(taken)
        if known is not None and _is_import_of(read, known):
            return replace(known, was_there_before=True)
        if is_free(tx, taken):
            break
    document = replace(read.document, name=taken, quality=Quality.IMPORTED)
    skill = replace(
        _new(document, saving),
        origin=SkillOrigin.IMPORTED,
        provenance=skill_provenance.imported_provenance(read, source),
    )
    _check(skill)
    tx.skills.insert(skill)
    skill_saving.log(
        tx, skill, SkillEventKind.IMPORTED, saving.act, reason=saving.act.reason or f"from {source}"
    )
    return skill


def take_in(
    tx: Transaction,
    read: ReadSkill,
    saving: "skill_saving.Saving",
    *,
    known: Skill | None,
    written: Collection[str] = (),
    suspects: Mapping[str, Provenance] = MappingProxyType({}),
) -> Skill:
    """Make a skill of a file that somebody wrote or edited: it is hand-written from then on.

    What looks suspicious, or says of itself that it comes from outside, waits for a person. An edit clears
    nothing, also where the skill is gone by now. Where the file says what the skill says, nothing changes.
    `written` are the digests of what the file was before: where the skill has become another one since by a
    merge, what was merged into it is a skill of its own again. `suspects` are what `suspects_among` tells.
    """
    act = saving.act
    refuse_promoted(tx, read.document.name if known is None else known.name)
    if known is None or known.state is not SkillState.ACTIVE:
        provenance = skill_provenance.local_provenance(read, known, suspects)
        skill = replace(_new(read.document, saving), text=read.text, provenance=provenance)
        _check(skill)
        tx.skills.insert(skill)
        skill_saving.log(tx, skill, SkillEventKind.WRITTEN, act)
        return skill
    before = text_of(known)
    if before == read.text:
        return known
    edited = replace(
        known.apply_move(SkillMove.EDIT, at=act.at, actor=act.actor),
        document=replace(read.document, name=known.name),
        text=read.text,
        origin=SkillOrigin.WRITTEN,
        provenance=skill_provenance.local_provenance(read, known),
    )
    _check(edited)
    tx.skills.update(edited, expected_revision=known.revision)
    skill_saving.log(tx, edited, SkillEventKind.EDITED, act)
    if written and sha256(before.encode()).hexdigest() not in written:
        _take_apart(tx, edited, act)
    return edited


def every_skill(collections: Collections) -> Iterator[Skill]:
    return skills_in_states(collections, frozenset(SkillState))


def accept(
    tx: Transaction, skill: Skill, act: Act, *, force: bool, expected_revision: int | None = None
) -> Skill:
    """Clear a skill's taint after reading it; a clean one stays as it is. Without `force` one that has words
    from outside is Refused (`skill.tainted`), and so is one that somebody wrote into its file where nobody
    says which revision was read. Conflict (`skill.moved`) where it is at another one. Its sources stay."""
    provenance = skill.provenance
    if expected_revision is not None and skill.revision != expected_revision:
        raise Conflict(
            f"skill {skill.name} is at revision {skill.revision} by now: it was changed since it was read",
            code="skill.moved",
            hint=f"`runlore skill accept {skill.name}` shows what it says; read it, and decide anew",
        )
    if not provenance.tainted:
        return skill
    is_read = force and (skill.origin is not SkillOrigin.WRITTEN or expected_revision is not None)
    if not is_read and (provenance.untrusted or provenance.sources):
        option = f"--force --expected-revision {skill.revision}"
        raise skill_saving.taint_error(f"skill {skill.name}", provenance.sources, option)
    moved = skill.apply_move(SkillMove.ACCEPT, at=act.at, actor=act.actor)
    accepted = replace(moved, provenance=provenance.clear())
    if not skill.text:
        accepted = replace(accepted, document=replace(skill.document, quality=Quality.ACCEPTED))
    tx.skills.update(accepted, expected_revision=skill.revision)
    skill_saving.log(tx, accepted, SkillEventKind.ACCEPTED, act)
    return accepted


def delete(tx: Transaction, skill: Skill, act: Act) -> Skill:
    """Take a skill away; one that is gone stays so. It can be restored. A promoted one is Refused."""
    if skill.state is not SkillState.ACTIVE:
        return skill
    if skill.origin is SkillOrigin.PROMOTED:
        raise _by_its_record(skill, f"`runlore skill rollout revoke {skill.name}` takes it out of use")
    gone = skill.apply_move(SkillMove.DELETE, at=act.at, actor=act.actor)
    tx.skills.update(gone, expected_revision=skill.revision)
    skill_saving.log(tx, gone, SkillEventKind.DELETED, act)
    return gone


def restore(tx: Transaction, skill: Skill, act: Act) -> Skill:
    """Bring a skill back that was deleted or merged; Conflict (`skill.exists`) where its name is taken. A
    promoted one is Refused."""
    if skill.state is SkillState.ACTIVE:
        return skill
    if skill.origin is SkillOrigin.PROMOTED:
        raise _by_its_record(skill, f"`runlore skill rollout rollback {skill.name}` puts it back")
    refuse_promoted(tx, skill.name)
    back = replace(skill.apply_move(SkillMove.RESTORE, at=act.at, actor=act.actor), merged_into=None)
    tx.skills.update(back, expected_revision=skill.revision)
    deciding.unskip(tx, back, act)
    skill_saving.log(tx, back, SkillEventKind.RESTORED, act)
    return back


def _by_its_record(skill: Skill, hint: str) -> Refused:
    return Refused(
        f"skill {skill.name} was promoted from a procedure, and is there for as long as that says so",
        code="skill.promoted",
        hint=hint,
    )


def _take_apart(tx: Transaction, kept: Skill, act: Act) -> None:
    """Bring back what was merged into a skill and does not stand in its words any more."""
    said = set(_lines(kept.document.body))
    for skill in tuple(skills_in_states(tx, frozenset({SkillState.MERGED}))):
        is_lost = skill.merged_into == kept.skill_id and not said.issuperset(_lines(skill.document.body))
        if is_lost and tx.skills.find(skill.name) is None and skill.name not in tx.promotions.names():
            restore(tx, skill, replace(act, reason=f"{kept.name} was edited without it"))


def _lines(text: str) -> Iterator[str]:
    # A merge puts headings below others: what they say stays.
    return (line.lstrip("#").strip() for line in text.splitlines())


def _is_import_of(read: ReadSkill, known: Skill) -> bool:
    """Whether a skill is this very file, brought in before, and nobody's by now."""
    document = replace(read.document, name=known.name, quality=known.document.quality)
    return known.origin is SkillOrigin.IMPORTED and known.document == document


def skills_in_states(collections: Collections, states: frozenset[SkillState]) -> Iterator[Skill]:
    after: SkillId | None = None
    while page := collections.skills.page(limit=_PAGE, after=after, states=states):
        yield from page
        after = page[-1].skill_id


def _check(skill: Skill) -> None:
    """Raise Invalid where a skill could not be given out: it is refused before it is stored."""
    render_skill(skill)


def _new(document: SkillDocument, saving: "skill_saving.Saving") -> Skill:
    act = saving.act
    return Skill(
        skill_id=SkillId(saving.ids.new("skl", act.at)),
        document=document,
        origin=SkillOrigin.WRITTEN,
        state_actor=act.actor,
        created_at=act.at,
        updated_at=act.at,
    )
