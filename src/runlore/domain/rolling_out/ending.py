"""Taking a promoted skill out of use, putting an earlier one back, and forgetting what it said (ROL-7)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from runlore.domain.audit import Act
from runlore.domain.errors import Conflict, Refused
from runlore.domain.record import Record
from runlore.domain.rolling_out.defining import check_source, checked_reason
from runlore.domain.rolling_out.moving import moved
from runlore.domain.rolling_out.proving import require_proven
from runlore.domain.rollout import (
    ROLLOUT,
    Canary,
    PromotedSkill,
    RolloutMove,
    RolloutStatus,
)

# A number and how the skill stood then.
Snapshot: TypeAlias = tuple[int, PromotedSkill]


def revoked(skill: PromotedSkill, act: Act) -> PromotedSkill:
    """A promoted skill out of use; one that was revoked before stays as it is.

    What follows from the learning's end has to say so in words of its own: a reason that looks like a secret
    is refused, and nothing is revoked then.
    """
    reason = checked_reason(act.reason)
    if skill.status is RolloutStatus.REVOKED:
        return skill
    changed = replace(skill, canary=Canary(), revoked_reason=reason)
    return moved(skill, RolloutMove.REVOKE, act, after=changed, reason=reason)


def rollback_target(skill: PromotedSkill, history: Sequence[Snapshot]) -> PromotedSkill:
    """The newest snapshot that was active; Conflict where the table has no such move, or where there is none
    (`promoted.no-snapshot`). Its `source_record_id` names the learning that still has to stand."""
    ROLLOUT.after(skill.status, RolloutMove.ROLL_BACK, name=skill.name)
    active = [(number, each) for number, each in history if each.status is RolloutStatus.ACTIVE]
    if not active:
        raise Conflict(
            f"promoted skill {skill.name} was never active: there is nothing to go back to",
            code="promoted.no-snapshot",
            hint="advance it step by step instead",
        )
    return max(active, key=lambda snapshot: snapshot[0])[1]


def rolled_back(
    skill: PromotedSkill, history: Sequence[Snapshot], *, source: Record | None, act: Act
) -> PromotedSkill:
    """A promoted skill as its newest active snapshot was, with all that has happened since in its events.

    Refused where the snapshot's learning no longer stands (`promoted.source`), and where a canary of the same
    words has failed since (`promoted.failed`).
    """
    reason = checked_reason(act.reason)
    target = rollback_target(skill, history)
    _require_source(target, source, act)
    own = tuple(each for each in skill.evidence if each.fingerprint == target.fingerprint)
    require_proven(target, own)
    changed = replace(target, evidence=skill.evidence, created_at=skill.created_at)
    return moved(skill, RolloutMove.ROLL_BACK, act, after=changed, reason=reason)


def _require_source(target: PromotedSkill, source: Record | None, act: Act) -> None:
    problem = ""
    if source is None or source.record_id != target.source_record_id:
        problem = f"learning {target.source_record_id} is not there"
    else:
        try:
            check_source(source, act.at)
        except Refused as refused:
            problem = refused.sentence
    if problem:
        raise Refused(
            f"promoted skill {target.name} cannot go back: {problem}",
            code="promoted.source",
            hint="restore the learning, or promote one that stands",
        )
