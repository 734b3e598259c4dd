"""Curation (SKL-9): drafts are kept from piling up by rules, in one transaction that can be undone.

Files follow the rows afterwards. Only drafts are touched; what a person wrote, brought in or vouched for
never is.
"""

from collections.abc import Sequence

from runlore.domain import limits
from runlore.domain.errors import NotFound
from runlore.domain.records.audit import Act
from runlore.domain.skill import Skill, SkillEvent, SkillEventKind, SkillState
from runlore.domain.skill_curating import plan_curation
from runlore.domain.skills.skill_curation import (
    Curation,
    CurationId,
    CurationKind,
    CurationPlan,
    PutBack,
    curation_of,
    put_back,
    undo_curation,
)
from runlore.domain.skills.skips import Skip, skip_of
from runlore.domain.suggestion import SuggestionState
from runlore.flow.policies import current_skills
from runlore.flow.skills.deciding import unskip
from runlore.flow.skills.names import refuse_promoted
from runlore.flow.skills.saving import Saving, log
from runlore.flow.skills.suggestion_lock import every_suggestion
from runlore.ports.store import Collections, Transaction

# So many of the curations that people have undone are heeded, the newest.
UNDONE_HEEDED_MAX = 200
_SKIPPED = frozenset({SuggestionState.SKIPPED})
_LOGGED = {
    CurationKind.MERGE: SkillEventKind.MERGED,
    CurationKind.DROP: SkillEventKind.DROPPED,
    CurationKind.SKIPPED: SkillEventKind.DELETED,
    CurationKind.PRUNE: SkillEventKind.PRUNED,
}


def look(collections: Collections, act: Act, *, by_itself: bool = False) -> CurationPlan:
    """What curation would do now. What people have undone is not done again `by_itself`."""
    skills = collections.skills.active()
    return plan_curation(
        skills,
        skips=_skips(collections, [skill for skill in skills if skill.is_draft]),
        policy=current_skills(collections).curation,
        act=act,
        put_back=put_back(collections.curations.list_undone(limit=UNDONE_HEEDED_MAX))
        if by_itself
        else PutBack(),
    )


def apply(tx: Transaction, plan: CurationPlan, saving: Saving, *, comment: str = "") -> Curation | None:
    """Do what was planned; None where that is nothing. Conflict (`skill.moved`) where a skill has changed
    since it was looked at, and then nothing is written."""
    if not plan.actions:
        return None
    act = saving.act
    curation = curation_of(plan, CurationId(saving.ids.new("cur", act.at)), act, comment=comment)
    _write(tx, plan.before, plan.after)
    tx.curations.insert(curation)
    for action in plan.actions:
        tx.skills.log(
            SkillEvent(
                kind=_LOGGED[action.kind],
                name=action.gone_name,
                actor=act.actor,
                at=act.at,
                reason=action.reason[: limits.REASON_CHARS_MAX],
                skill_id=action.gone,
            )
        )
    return curation


def undo(tx: Transaction, curation_id: CurationId | None, act: Act) -> Curation:
    """Put back what a curation did, the newest that was not undone unless one is named.

    NotFound (`curation.not-found`), Conflict (`curation.undone`, `curation.moved`, `curation.forgotten`)
    where it cannot be; then nothing is changed. Curations that came behind it have to be undone before it.
    """
    curation = tx.curations.latest() if curation_id is None else tx.curations.get(curation_id)
    if curation is None:
        raise NotFound(
            "there is no curation that could be undone",
            code="curation.not-found",
            hint="`runlore skill curate` shows what would be done now",
        )
    current = {skill.skill_id: skill for skill in _current(tx, curation)}
    names = {
        skill.name: found.skill_id
        for skill in curation.before
        if (found := tx.skills.find(skill.name)) is not None
    }
    back = undo_curation(curation, current, names)
    for skill in back:
        if skill.state is SkillState.ACTIVE and current[skill.skill_id].state is not SkillState.ACTIVE:
            refuse_promoted(tx, skill.name)
    _write(tx, list(current.values()), back)
    tx.curations.mark_undone(curation.curation_id, actor=act.actor, at=act.at)
    for skill in back:
        if skill.state is not current[skill.skill_id].state:
            unskip(tx, skill, act)
            log(tx, skill, SkillEventKind.RESTORED, act, reason=act.reason or "a curation was undone")
    return tx.curations.get(curation.curation_id)


def _skips(collections: Collections, drafts: Sequence[Skill]) -> dict[str, Skip]:
    """The skips of the patterns that drafts were learned from, by what each draft knows them as."""
    skipped = {
        each.suggestion_id: skip
        for each in every_suggestion(collections, states=_SKIPPED)
        if (skip := skip_of(each)) is not None
    }
    return {
        learned.pattern: skipped[learned.suggestion_id]
        for draft in drafts
        for learned in draft.learned_from
        if learned.suggestion_id in skipped
    }


def _current(tx: Transaction, curation: Curation) -> list[Skill]:
    found: list[Skill] = []
    for skill in curation.before:
        try:
            found.append(tx.skills.get(skill.skill_id))
        except NotFound:
            continue
    return found


def _write(tx: Transaction, before: Sequence[Skill], after: Sequence[Skill]) -> None:
    """Write skills in the order of their ids: whoever else locks some of them does it in this order too."""
    revisions = {skill.skill_id: skill.revision for skill in before}
    for skill in sorted(after, key=lambda each: each.skill_id):
        tx.skills.update(skill, expected_revision=revisions[skill.skill_id])
