"""What was seen of other words says nothing of these: neither for them nor against them."""

import pytest

from runlore.domain.rollouts import counting, redefine_promoted, roll_back_promoted, unproven_because
from runlore.domain.skills.rollout import RolloutKind
from tests.domain.rollouts.rollouts import (
    ACTIVE,
    DRAFT,
    IN_CANARY,
    REVOKED,
    at_status,
    by,
    learning,
    record,
    words,
)


@pytest.mark.req("ROL-4", "ROL-5", "ROL-7")
def test_words_that_replace_those_whose_canary_has_failed_become_active_and_come_back() -> None:
    walk = at_status(IN_CANARY)
    walk.keep(record(walk.skill, walk.tick(), RolloutKind.CANARY, succeeds=False))

    walk.keep(redefine_promoted(walk.skill, words("Do it better."), source=learning(), act=by(walk.tick())))
    assert (walk.skill.status, counting(walk.skill)) == (DRAFT, ())
    assert walk.to(ACTIVE).skill.status is ACTIVE
    assert unproven_because(walk.skill) is None

    walk.to(REVOKED)
    back = roll_back_promoted(walk.skill, walk.history, source=learning(), act=by(walk.tick()))
    assert (back.status, back.definition.instructions) == (ACTIVE, "Do it better.")
    assert [each.success for each in back.evidence] == [True, False, True, True], "none is ever removed"
