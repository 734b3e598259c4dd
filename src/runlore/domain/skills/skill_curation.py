"""Curation: what is done so that drafts do not pile up, decided by rules, and kept so that it can be
undone.

What a curation leaves a skill as, so that it can be told later whether it is still that.

Every write moves a skill one revision on, also one that puts it back, such as undoing what came since or
restoring what was deleted: it is the content that says whether anything has changed.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from types import MappingProxyType
from typing import NewType

from runlore.domain.errors import Conflict
from runlore.domain.json_form import Damage, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.records.audit import Act
from runlore.domain.skill import Skill, SkillId, SkillState

CurationId = NewType("CurationId", str)


def content_of(skill: Skill) -> str:
    """A digest of what a skill says, where it stands, and what it comes from; neither times nor usage."""
    said = (
        *(replace(skill.document, metadata={}), sorted(skill.document.metadata.items()), skill.text),
        *(skill.origin, skill.state, skill.merged_into, skill.provenance),
        *(skill.suggestion_id, skill.pattern, skill.also_from),
    )
    return blake2b(repr(said).encode(errors="surrogatepass"), digest_size=16).hexdigest()


class CurationKind(StrEnum):
    """Why a draft goes: its text is in another now, is another's, was skipped, or was not used for long."""

    MERGE = "merge"
    DROP = "drop"
    SKIPPED = "skipped"
    PRUNE = "prune"


@dataclass(frozen=True, kw_only=True)
class CurationAction:
    """One thing that is done: `gone` goes, `kept` takes its place where there is one, for a reason."""

    kind: CurationKind
    gone: SkillId
    gone_name: str
    kept: SkillId | None = None
    kept_name: str = ""
    reason: str = ""


@JsonForm(
    omit={"contents": MappingProxyType({})},
    pairs={"revisions": ("skill_id", "revision")},
    damage=Damage(thing="curation", code="skill.damaged", hint="restore the store from a backup"),
)
@dataclass(frozen=True, kw_only=True)
class Curation:
    """What one curation did. `before` are all skills that it touched as they were, `revisions` and `contents`
    what they became: it is undone by putting them back where they are still, or again, as they were left. A
    model's `comment` decides nothing."""

    curation_id: CurationId
    at: datetime
    actor: str
    actions: tuple[CurationAction, ...]
    before: tuple[Skill, ...]
    revisions: tuple[tuple[SkillId, int], ...]
    comment: str = ""
    undone_at: datetime | None = None
    undone_by: str = ""
    contents: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class CurationPlan:
    """What a curation would do. `before` are the skills that it touches as they are, `after` the same ones,
    in the same order, as they will be."""

    actions: tuple[CurationAction, ...] = ()
    before: tuple[Skill, ...] = ()
    after: tuple[Skill, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PutBack:
    """What people have put back by undoing, so that it is not done again by itself: the drafts of each of
    `apart` stay apart, and those `there` do not go."""

    apart: tuple[frozenset[SkillId], ...] = ()
    there: frozenset[SkillId] = frozenset()


NOTHING_PUT_BACK = PutBack()


def put_back(undone: Iterable[Curation]) -> PutBack:
    merged: dict[tuple[CurationId, SkillId], set[SkillId]] = {}
    there: set[SkillId] = set()
    for curation in undone:
        for action in curation.actions:
            if action.kept is None:
                there.add(action.gone)
            else:
                merged.setdefault((curation.curation_id, action.kept), {action.kept}).add(action.gone)
    return PutBack(apart=tuple(map(frozenset, merged.values())), there=frozenset(there))


def curation_of(plan: CurationPlan, curation_id: CurationId, act: Act, *, comment: str = "") -> Curation:
    """What is kept of a plan that is carried out."""
    return Curation(
        curation_id=curation_id,
        at=act.at,
        actor=act.actor,
        actions=plan.actions,
        before=plan.before,
        revisions=tuple((skill.skill_id, skill.revision) for skill in plan.after),
        comment=comment,
        contents={skill.skill_id: content_of(skill) for skill in plan.after},
    )


def undo_curation(
    curation: Curation, current: Mapping[SkillId, Skill], names: Mapping[str, SkillId]
) -> tuple[Skill, ...]:
    """The skills to write so that all is as it was before a curation, each one revision on from what it is.

    `current` are the skills that it touched as they are now, `names` those of all active ones. Conflict where
    it was undone before, where nothing of it is left, where one of the skills has been changed since, or
    where a name is taken.
    """
    if curation.undone_at is not None:
        raise Conflict(
            f"curation {curation.curation_id} was undone before",
            code="curation.undone",
            hint="`runlore skill curate` shows what would be done now",
        )
    if not curation.before:
        raise Conflict(
            f"what curation {curation.curation_id} changed has been forgotten since",
            code="curation.forgotten",
            hint="there is nothing left that could be put back",
        )
    revisions = dict(curation.revisions)
    ours = {skill.skill_id for skill in curation.before}
    for skill in curation.before:
        now = current.get(skill.skill_id)
        if now is None or (
            now.revision != revisions.get(skill.skill_id)
            and content_of(now) != curation.contents.get(skill.skill_id)
        ):
            raise _moved_conflict(curation, f"skill {skill.name} has been changed since")
        if skill.state is SkillState.ACTIVE and names.get(skill.name, skill.skill_id) not in ours:
            raise _moved_conflict(curation, f"another skill is called {skill.name} by now")
    return tuple(
        replace(skill, usage=current[skill.skill_id].usage, revision=current[skill.skill_id].revision + 1)
        for skill in curation.before
    )


def without(curation: Curation, forgotten: Collection[SkillId]) -> Curation:
    """What stays of a curation when skills that it touched are forgotten. A comment may quote any of them."""
    gone = frozenset(forgotten)
    return replace(
        curation,
        actions=tuple(each for each in curation.actions if each.gone not in gone and each.kept not in gone),
        before=tuple(skill for skill in curation.before if skill.skill_id not in gone),
        revisions=tuple(each for each in curation.revisions if each[0] not in gone),
        contents={key: digest for key, digest in curation.contents.items() if key not in gone},
        comment="",
    )


def _moved_conflict(curation: Curation, problem: str) -> Conflict:
    return Conflict(
        f"curation {curation.curation_id} cannot be undone: {problem}",
        code="curation.moved",
        hint="nothing was changed; undo the later change first, or mend the skills by hand",
    )
