"""What curation would do with the drafts, as a pure function (SKL-9).

In this order: what was skipped to the threshold goes; of drafts with the same body the oldest stays; drafts
that are about the same are merged into the oldest; what is stale goes, where the policy says so. Only drafts
are ever touched, and a tainted one never meets one that is not. Planning again on what comes of it plans
nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta
from functools import cache

from runlore.domain.audit import Act
from runlore.domain.lazy import dataclass
from runlore.domain.skill import Skill, SkillId, SkillMove
from runlore.domain.skill_curating.families import DoingsIn, Family, families_of
from runlore.domain.skill_curating.merging import is_suspicious, united
from runlore.domain.skill_curating.relations import doings_of, keywords_shared
from runlore.domain.skill_curation import (
    NOTHING_PUT_BACK,
    CurationAction,
    CurationKind,
    CurationPlan,
    PutBack,
)
from runlore.domain.skills_policy import SkillCurationPolicy
from runlore.domain.skips import Skip, is_suppressed

_NAMED_WORDS_MAX = 6


def planned(
    skills: Iterable[Skill],
    *,
    skips: Mapping[str, Skip],
    policy: SkillCurationPolicy,
    act: Act,
    put_back: PutBack = NOTHING_PUT_BACK,
) -> CurationPlan:
    """What would be done with skills. `skips` are those of the patterns that skills were learned from, and
    what was put back is left as it is.

    Whether it is done by itself is the caller's to ask of `auto_curate`.
    """
    drafts = {skill.skill_id: skill for skill in sorted(filter(is_curated, skills), key=age)}
    planning = _Planning(
        skips=skips,
        policy=policy,
        act=act,
        put_back=put_back,
        now=dict(drafts),
        doings_in=cache(doings_of),
    )
    # What was merged may be about the same as another one by now, or what did not fit may fit.
    while planning.step():
        pass
    touched = [skill_id for skill_id, skill in drafts.items() if planning.now[skill_id] != skill]
    return CurationPlan(
        actions=tuple(planning.actions),
        before=tuple(drafts[skill_id] for skill_id in touched),
        after=tuple(
            replace(planning.now[skill_id], revision=drafts[skill_id].revision + 1) for skill_id in touched
        ),
    )


def is_curated(skill: Skill) -> bool:
    """Whether curation may touch a skill: a draft that nobody has written in."""
    return skill.is_draft and not skill.text


def age(skill: Skill) -> tuple[datetime, SkillId]:
    """What the older of two is told by."""
    return skill.created_at, skill.skill_id


@dataclass(kw_only=True)
class _Planning:
    skips: Mapping[str, Skip]
    policy: SkillCurationPolicy
    act: Act
    put_back: PutBack
    now: dict[SkillId, Skill]
    doings_in: DoingsIn
    actions: list[CurationAction] = field(default_factory=list)
    unfit: set[tuple[SkillId, ...]] = field(default_factory=set)

    def step(self) -> bool:
        """Do once what there is to do; False where that is nothing."""
        done = len(self.actions)
        for skill in self._left():
            if skip := self._skipped(skill):
                times = "once" if skip.times == 1 else f"{skip.times} times"
                self._delete(
                    skill, CurationKind.SKIPPED, f"it was skipped {times}, last on {skip.at:%Y-%m-%d}"
                )
        for family in families_of(self._left(), self.doings_in, self.put_back.apart):
            if self.policy.auto_prune and all(map(self._is_stale, family.members)):
                self._prune(family)
            elif len(family.members) > 1:
                self._unite(family)
        return len(self.actions) > done

    def _left(self) -> list[Skill]:
        return [skill for skill in self.now.values() if is_curated(skill)]

    def _skipped(self, skill: Skill) -> Skip | None:
        """The latest skip of a draft of which all that it was learned from is suppressed."""
        if skill.skill_id in self.put_back.there:
            return None
        found = [self.skips.get(each.pattern) for each in skill.learned_from]
        told = [skip for skip in found if skip and is_suppressed(skip, self.policy, self.act.at)]
        return max(told, key=lambda skip: skip.at) if told and len(told) == len(found) else None

    def _is_stale(self, skill: Skill) -> bool:
        """Whether it was neither used nor written anew for long, nor put back."""
        if skill.skill_id in self.put_back.there:
            return False
        since = max(skill.usage.last_used_at or skill.created_at, skill.updated_at)
        return self.act.at - since > timedelta(days=self.policy.staleness_days)

    def _prune(self, family: Family) -> None:
        for skill in family.members:
            self._delete(
                skill, CurationKind.PRUNE, f"it was not used for more than {self.policy.staleness_days} days"
            )

    def _delete(self, skill: Skill, kind: CurationKind, reason: str) -> None:
        self.actions.append(
            CurationAction(kind=kind, gone=skill.skill_id, gone_name=skill.name, reason=reason)
        )
        self.now[skill.skill_id] = self._moved(skill, SkillMove.DELETE)

    def _unite(self, family: Family) -> None:
        kept, *gone = family.members
        ids = tuple(skill.skill_id for skill in family.members)
        merged = united(family.members)
        if ids in self.unfit or is_suspicious(merged):
            self.unfit.add(ids)
            return
        for skill in gone:
            kind = CurationKind.DROP if skill.skill_id in family.twins else CurationKind.MERGE
            self.actions.append(
                CurationAction(
                    kind=kind,
                    gone=skill.skill_id,
                    gone_name=skill.name,
                    kept=kept.skill_id,
                    kept_name=kept.name,
                    reason=self._reason(skill, family),
                )
            )
            moved = self._moved(skill, SkillMove.MERGE)
            self.now[skill.skill_id] = replace(moved, merged_into=kept.skill_id)
        self.now[kept.skill_id] = self._moved(merged, SkillMove.REWRITE)

    def _reason(self, skill: Skill, family: Family) -> str:
        if skill.skill_id in family.twins:
            return f"its text is that of {family.twins[skill.skill_id].name}"
        mine = self.doings_in(skill.document.body)
        for other in family.members:
            words = keywords_shared(mine, self.doings_in(other.document.body))
            if words and other is not skill:
                told = ", ".join(words[:_NAMED_WORDS_MAX])
                return f"it shares {told} with {other.name}, and half of what they run"
        return "it is about the same"

    def _moved(self, skill: Skill, move: SkillMove) -> Skill:
        return skill.moved(move, at=self.act.at, actor=self.act.actor)
