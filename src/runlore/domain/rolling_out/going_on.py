"""What can be done next with a promoted skill, by where it stands and what speaks for it."""

from enum import StrEnum

from runlore.domain.rolling_out.proving import Unproven, counting, is_verified, unproven
from runlore.domain.rollout import PromotedSkill, RolloutStatus


class NextStep(StrEnum):
    """What whoever rolls it out would do."""

    TRY = "try it"
    VERIFY = "advance it to verified"
    SHOW = "advance it to canary"
    TRY_CANARY = "try it for a session of the canary"
    ACTIVATE = "advance it to active"
    REWRITE = "give it other words"
    REVOKE = "revoke it"
    ROLL_BACK = "put it back"
    PROMOTE = "promote it again"


def next_step(skill: PromotedSkill) -> NextStep:
    """The step that its evidence allows, or the one that brings the evidence it lacks."""
    results = counting(skill)
    was_active = any(event.to_status is RolloutStatus.ACTIVE for event in skill.events)
    missing = unproven(results)
    return {
        RolloutStatus.DRAFT: NextStep.VERIFY if is_verified(results) else NextStep.TRY,
        RolloutStatus.VERIFIED: NextStep.SHOW,
        RolloutStatus.CANARY: _PROVES.get(missing, NextStep.TRY_CANARY),
        RolloutStatus.ACTIVE: NextStep.REVOKE,
        RolloutStatus.REVOKED: NextStep.ROLL_BACK if was_active else NextStep.PROMOTE,
    }[skill.status]


_PROVES: dict[Unproven | None, NextStep] = {
    None: NextStep.ACTIVATE,
    Unproven.FAILED: NextStep.REWRITE,
}
