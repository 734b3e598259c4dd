"""Skips: counted, suppressing from the threshold on, expired after the days of the policy, and cleared."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.errors import Conflict
from runlore.domain.policies.skills_policy import SkillCurationPolicy
from runlore.domain.skills.skips import (
    Skip,
    is_expired,
    is_suppressed,
    mark_saved,
    reset,
    sighting,
    skip_of,
    skip_suggestion,
)
from runlore.domain.suggestion import StoredSuggestion, SuggestionMove, SuggestionState
from tests.builders import act
from tests.fakes import START
from tests.storage.skill_values import stored

pytestmark = pytest.mark.req("SKL-6")

POLICY = SkillCurationPolicy()
WAITING, SAVED, SKIPPED = SuggestionState.WAITING, SuggestionState.SAVED, SuggestionState.SKIPPED
DAY = timedelta(days=1)


def after(days: float) -> datetime:
    """A moment so many days later."""
    return START + timedelta(days=days)


def once_skipped() -> StoredSuggestion:
    """A suggestion that was skipped at the start."""
    return skip_suggestion(stored(1), POLICY, act(at=START, actor="ada"))


def test_one_skip_suppresses_by_default_and_expires_after_thirty_days() -> None:
    told = Skip(times=1, at=START)

    assert is_suppressed(told, POLICY, START)
    assert is_suppressed(told, POLICY, after(30))
    assert not is_suppressed(told, POLICY, after(30) + timedelta(milliseconds=1))
    assert not is_suppressed(None, POLICY, START)


def test_with_zero_days_a_skip_is_for_ever() -> None:
    policy = SkillCurationPolicy(skip_reset_days=0)

    assert is_suppressed(Skip(times=1, at=START), policy, after(36_500))


@given(
    times=st.integers(1, 5),
    threshold=st.integers(1, 5),
    days=st.integers(0, 60),
    age_ms=st.integers(-DAY // timedelta(milliseconds=1), 90 * 86_400_000),
)
def test_suppressed_is_what_the_four_numbers_say(times: int, threshold: int, days: int, age_ms: int) -> None:
    policy = SkillCurationPolicy(skip_threshold=threshold, skip_reset_days=days)
    now = START + timedelta(milliseconds=age_ms)
    told = Skip(times=times, at=START)

    assert is_expired(told, policy, now) is (days != 0 and age_ms > days * 86_400_000)
    assert is_suppressed(told, policy, now) is (times >= threshold and not is_expired(told, policy, now))


@pytest.mark.parametrize("state", SuggestionState)
def test_a_skip_counts_from_every_state_with_who_and_when(state: SuggestionState) -> None:
    before = stored(1, state=state)
    again = skip_suggestion(before, POLICY, act(at=after(1), actor="ada"))

    assert again == replace(
        before,
        state=SKIPPED,
        state_actor="ada",
        skipped_at=after(1),
        times_skipped=1,
        updated_at=after(1),
        revision=2,
    )
    assert skip_of(again) == Skip(times=1, at=after(1))


def test_skips_add_up_until_they_expire_and_begin_again_then() -> None:
    policy = SkillCurationPolicy(skip_threshold=2)
    first = skip_suggestion(stored(1), policy, act(at=START))
    second = skip_suggestion(first, policy, act(at=after(30)))
    third = skip_suggestion(second, policy, act(at=after(61)))

    assert [each.times_skipped for each in (first, second, third)] == [1, 2, 1]
    assert not is_suppressed(skip_of(first), policy, START)
    assert is_suppressed(skip_of(second), policy, after(31))
    assert not is_suppressed(skip_of(third), policy, after(61))


def test_what_was_skipped_below_the_threshold_waits_again_when_it_is_seen() -> None:
    policy = SkillCurationPolicy(skip_threshold=2)
    once = skip_suggestion(stored(1), policy, act(at=START))

    assert sighting(once, policy, START) is SuggestionMove.RETURN
    assert sighting(skip_suggestion(once, policy, act(at=START)), policy, START) is SuggestionMove.SEE_AGAIN


def test_what_is_suppressed_is_only_seen_again_until_its_skip_expires() -> None:
    once = once_skipped()

    assert sighting(once, POLICY, after(30)) is SuggestionMove.SEE_AGAIN
    assert sighting(once, POLICY, after(31)) is SuggestionMove.RETURN
    assert sighting(once, SkillCurationPolicy(skip_reset_days=0), after(999)) is SuggestionMove.SEE_AGAIN


@pytest.mark.parametrize("state", [WAITING, SAVED])
def test_what_was_not_skipped_is_seen_again_as_it_is(state: SuggestionState) -> None:
    known = replace(once_skipped(), state=state)

    assert sighting(known, POLICY, after(99)) is SuggestionMove.SEE_AGAIN
    assert sighting(stored(1, state=state), POLICY, after(99)) is SuggestionMove.SEE_AGAIN


def test_what_nobody_knows_the_time_of_stays_skipped() -> None:
    assert skip_of(stored(1, state=SKIPPED)) is None
    assert sighting(stored(1, state=SKIPPED), POLICY, after(999)) is SuggestionMove.SEE_AGAIN


def test_a_reset_clears_the_count_and_lets_it_wait() -> None:
    cleared = reset(once_skipped(), act(at=after(2), actor="eve"))

    assert (cleared.state, cleared.state_actor, cleared.revision) == (WAITING, "eve", 3)
    assert (cleared.skipped_at, cleared.times_skipped, skip_of(cleared)) == (None, 0, None)
    assert reset(replace(once_skipped(), state=WAITING), act(at=START)).times_skipped == 0


def test_what_became_a_skill_cannot_be_reset() -> None:
    with pytest.raises(Conflict) as refused:
        reset(stored(1, state=SAVED), act())
    assert refused.value.code == "suggestion.move"


def test_whoever_saves_what_was_skipped_has_not_skipped_it() -> None:
    made = mark_saved(once_skipped(), act(at=after(2), actor="eve"))

    assert (made.state, made.state_actor, made.revision) == (SAVED, "eve", 3)
    assert skip_of(made) is None
    with pytest.raises(Conflict):
        mark_saved(made, act())
