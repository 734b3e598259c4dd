"""What can be done next with a promoted skill: the very step that its evidence allows."""

import pytest

from runlore.domain.errors import RunloreError
from runlore.domain.rollouts import (
    NextStep,
    advance_promoted,
    next_step,
    redefine_promoted,
    revoke_promoted,
)
from runlore.domain.skills.rollout import PromotedSkill, RolloutKind, RolloutStatus
from tests.domain.rollouts.rollouts import (
    ACTIVE,
    CANARY,
    DRAFT,
    IN_CANARY,
    REVOKED,
    VERIFIED,
    Walk,
    at_status,
    by,
    draft,
    learning,
    record,
    words,
)

pytestmark = pytest.mark.req("ROL-3", "ROL-4")
STEPS = {NextStep.VERIFY: VERIFIED, NextStep.SHOW: IN_CANARY, NextStep.ACTIVATE: ACTIVE}


def may_advance(skill: PromotedSkill, to: RolloutStatus) -> bool:
    """Whether a status can be reached from here."""
    sessions = (CANARY,) if to is IN_CANARY else None
    try:
        return advance_promoted(skill, to, act=by(900), sessions=sessions) is not skill
    except RunloreError:
        return False


def stages() -> list[tuple[PromotedSkill, NextStep]]:
    """A skill on its way, with what comes next each time."""
    verified, canary = Walk().to(VERIFIED), Walk().to(IN_CANARY)
    proven = record(draft(), 5, RolloutKind.VERIFICATION)
    seen = record(canary.skill, canary.tick(), RolloutKind.CANARY)
    failed = record(seen, canary.tick(), RolloutKind.CANARY, succeeds=False)
    rewritten = redefine_promoted(failed, words("Other."), source=learning(), act=by(200))
    return [
        (draft(), NextStep.TRY),
        (proven, NextStep.VERIFY),
        (verified.skill, NextStep.SHOW),
        (canary.skill, NextStep.TRY_CANARY),
        (seen, NextStep.ACTIVATE),
        (failed, NextStep.REWRITE),
        (rewritten, NextStep.TRY),
        (advance_promoted(proven, VERIFIED, act=by(300)), NextStep.SHOW),
        (at_status(ACTIVE).skill, NextStep.REVOKE),
        (at_status(REVOKED).skill, NextStep.ROLL_BACK),
        (revoke_promoted(draft(), by(400)), NextStep.PROMOTE),
    ]


@pytest.mark.parametrize("place", range(len(stages())))
def test_what_comes_next_is_told_and_can_be_done(place: int) -> None:
    skill, step = stages()[place]

    assert next_step(skill) is step
    if skill.status in (DRAFT, VERIFIED, IN_CANARY):
        later = {to for to in (VERIFIED, IN_CANARY, ACTIVE) if to is not skill.status}
        allowed = {to for to in later if may_advance(skill, to)}
        assert allowed == ({STEPS[step]} if step in STEPS else set())
