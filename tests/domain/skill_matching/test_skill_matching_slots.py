"""The slots of a turn: what is always there comes first, what is tainted never, and nothing comes twice."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.policies.skills_policy import SkillsPolicy
from runlore.domain.skill import Skill, SkillId, SkillOrigin, SkillState
from runlore.domain.skill_matching import SkillMatch, fill_slots
from runlore.domain.taint import TRUSTED, Provenance
from tests.domain.skill_matching.skill_documents import skill
from tests.fakes import START

pytestmark = pytest.mark.req("SKL-10")

TAINTED = Provenance(untrusted=True)


def kept(number: int, *, auto_load: bool = True, tainted: bool = False, deleted: bool = False) -> Skill:
    """A skill as it is in the store."""
    return Skill(
        skill_id=SkillId(f"s{number}"),
        document=replace(skill(f"skill-{number}"), auto_load=auto_load),
        origin=SkillOrigin.WRITTEN,
        state=SkillState.DELETED if deleted else SkillState.ACTIVE,
        provenance=TAINTED if tainted else TRUSTED,
        created_at=START,
        updated_at=START,
    )


def match_of(number: int) -> SkillMatch:
    """A match whose place is its number."""
    return SkillMatch(skill_id=SkillId(f"s{number}"), name=f"skill-{number}", score=1_000 - number)


skills = st.builds(
    kept, st.integers(0, 12), auto_load=st.booleans(), tainted=st.booleans(), deleted=st.booleans()
)
shelves = st.lists(skills, max_size=10, unique_by=lambda each: each.skill_id)
matches = st.lists(st.integers(0, 12), unique=True).map(
    lambda found: [match_of(each) for each in sorted(found)]
)


@given(matches, shelves, st.integers(0, 4), st.integers(0, 7))
def test_slots_are_filled_in_order_and_nothing_stands_in_two(
    found: list[SkillMatch], shelf: list[Skill], auto: int, lazy: int
) -> None:
    policy = SkillsPolicy(max_auto_load=auto, max_lazy_slots=lazy)
    turn = fill_slots(found, shelf, policy)

    wanted = [each for each in shelf if each.document.auto_load and each.is_usable]
    assert len(turn.auto_loaded) == min(auto, len(wanted))
    assert all(each in wanted for each in turn.auto_loaded)
    assert [each.name for each in turn.auto_loaded] == sorted(each.name for each in wanted)[:auto]
    there = {each.skill_id for each in turn.auto_loaded}
    assert list(turn.lazy) == [each for each in found if each.skill_id not in there][:lazy]


def test_five_lazy_ones_and_three_that_are_always_there_unless_the_policy_says_otherwise() -> None:
    turn = fill_slots(
        [match_of(number) for number in range(12)], [kept(number) for number in range(6)], SkillsPolicy()
    )

    assert [each.skill_id for each in turn.auto_loaded] == ["s0", "s1", "s2"]
    assert [each.skill_id for each in turn.lazy] == ["s3", "s4", "s5", "s6", "s7"]


def test_a_tainted_or_deleted_skill_is_never_always_there() -> None:
    shelf = [kept(0, tainted=True), kept(1, deleted=True), kept(2, auto_load=False), kept(3)]

    assert [each.name for each in fill_slots([], shelf, SkillsPolicy()).auto_loaded] == ["skill-3"]
