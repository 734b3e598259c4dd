"""Where skills and suggestions stand: every move from every state, and who may be touched or seen."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest

from runlore.domain.errors import Conflict
from runlore.domain.skill import (
    SKILL,
    LearnedFrom,
    Quality,
    Skill,
    SkillMove,
    SkillOrigin,
    SkillState,
    SuggestionId,
)
from runlore.domain.suggestion import SUGGESTION, SuggestionMove, SuggestionState
from runlore.domain.taint import TRUSTED, Provenance
from tests.fakes import START
from tests.storage.kept_skills import documented, kept

pytestmark = pytest.mark.req("SKL-8")

LATER = START + timedelta(days=1)
ACTIVE, MERGED, DELETED = SkillState.ACTIVE, SkillState.MERGED, SkillState.DELETED
WAITING, SAVED, SKIPPED = SuggestionState.WAITING, SuggestionState.SAVED, SuggestionState.SKIPPED
# Where each move leads from each state, in the order of the states; None is nowhere.
SKILL_MOVES: dict[SkillMove, tuple[SkillState | None, ...]] = {
    SkillMove.REWRITE: (ACTIVE, None, None),
    SkillMove.EDIT: (ACTIVE, None, None),
    SkillMove.ACCEPT: (ACTIVE, None, None),
    SkillMove.MERGE: (MERGED, None, None),
    SkillMove.DELETE: (DELETED, None, None),
    SkillMove.RESTORE: (None, ACTIVE, ACTIVE),
}
SUGGESTION_MOVES: dict[SuggestionMove, tuple[SuggestionState | None, ...]] = {
    SuggestionMove.SEE_AGAIN: (WAITING, SAVED, SKIPPED),
    SuggestionMove.SAVE: (SAVED, None, SAVED),
    SuggestionMove.SKIP: (SKIPPED, SKIPPED, SKIPPED),
    SuggestionMove.RETURN: (None, None, WAITING),
    SuggestionMove.RESET: (WAITING, None, WAITING),
}


@pytest.mark.parametrize(("state", "move"), list(itertools.product(SkillState, SkillMove)))
def test_every_move_of_a_skill_leads_where_the_table_says_or_is_a_conflict(
    state: SkillState, move: SkillMove
) -> None:
    expected = SKILL_MOVES[move][list(SkillState).index(state)]
    skill = kept(1, state=state, revision=4)

    if expected is None:
        with pytest.raises(Conflict) as refused:
            skill.apply_move(move, at=LATER, actor="ada")
        assert refused.value.code == "skill.move"
        assert not SKILL.allows(state, move)
    else:
        after = skill.apply_move(move, at=LATER, actor="ada")
        assert after == replace(skill, state=expected, state_actor="ada", updated_at=LATER, revision=5)


@pytest.mark.req("SKL-6")
@pytest.mark.parametrize(("state", "move"), list(itertools.product(SuggestionState, SuggestionMove)))
def test_every_move_of_a_suggestion_leads_where_the_table_says_or_is_a_conflict(
    state: SuggestionState, move: SuggestionMove
) -> None:
    expected = SUGGESTION_MOVES[move][list(SuggestionState).index(state)]

    if expected is None:
        with pytest.raises(Conflict) as refused:
            SUGGESTION.after(state, move, name="it")
        assert refused.value.code == "suggestion.move"
    else:
        assert SUGGESTION.after(state, move, name="it") is expected


@pytest.mark.req("SKL-7")
def test_a_suggestion_can_be_saved_from_wherever_it_waits_or_was_skipped() -> None:
    reachable, last = {WAITING}, set[SuggestionState]()
    while reachable != last:
        last = set(reachable)
        reachable |= {after for (before, _), after in SUGGESTION.table.items() if before in last}
    assert reachable == set(SuggestionState)


@pytest.mark.req("SKL-9")
@pytest.mark.parametrize(
    ("state", "origin", "quality"), list(itertools.product(SkillState, SkillOrigin, Quality))
)
def test_a_draft_is_active_learned_and_says_so(
    state: SkillState, origin: SkillOrigin, quality: Quality
) -> None:
    skill = kept(1, documented(quality=quality), state=state, origin=origin)

    assert skill.is_draft is (
        (state, origin, quality) == (SkillState.ACTIVE, SkillOrigin.LEARNED, Quality.DRAFT)
    )


@pytest.mark.req("TNT-2")
@pytest.mark.parametrize("state", SkillState)
@pytest.mark.parametrize("untrusted", [False, True])
@pytest.mark.parametrize("needs_review", [False, True])
def test_only_what_is_active_and_not_tainted_may_reach_a_prompt(
    state: SkillState, untrusted: bool, needs_review: bool
) -> None:
    skill = kept(1, state=state, provenance=Provenance(untrusted=untrusted, needs_review=needs_review))

    assert skill.is_usable is (state is SkillState.ACTIVE and not untrusted and not needs_review)


def test_a_skill_knows_all_that_it_was_learned_from_each_once_its_own_first() -> None:
    own, other = (
        LearnedFrom(suggestion_id=SuggestionId("sug_01"), pattern="pattern 1"),
        LearnedFrom(suggestion_id=SuggestionId("sug_02"), pattern="p"),
    )
    assert kept(1).learned_from == (own,)
    assert kept(1, also_from=(other, own)).learned_from == (own, other)
    assert kept(1, suggestion_id=None, also_from=(other,)).learned_from == (other,)
    assert written().learned_from == ()


def written() -> Skill:
    """A skill that a person wrote."""
    return kept(1, origin=SkillOrigin.WRITTEN, suggestion_id=None, pattern="", provenance=TRUSTED)
