"""Skips (SKL-6): how often a suggestion was skipped, for how long that counts, and what becomes of it then.

A skip belongs to the pattern: a suggestion that gets another name stays skipped.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from runlore.domain.lazy import dataclass
from runlore.domain.policies.skills_policy import SkillCurationPolicy
from runlore.domain.records.audit import Act
from runlore.domain.suggestion import SUGGESTION, StoredSuggestion, SuggestionMove, SuggestionState


@dataclass(frozen=True, kw_only=True)
class Skip:
    """How often something was skipped, and when last."""

    times: int
    at: datetime


def skip_of(stored: StoredSuggestion) -> Skip | None:
    if stored.skipped_at is None or stored.times_skipped < 1:
        return None
    return Skip(times=stored.times_skipped, at=stored.skipped_at)


def lasts_until(skip: Skip, policy: SkillCurationPolicy) -> datetime | None:
    """Until when a skip counts; None where it always does, as with a `skip_reset_days` of 0."""
    return skip.at + timedelta(days=policy.skip_reset_days) if policy.skip_reset_days > 0 else None


def is_expired(skip: Skip, policy: SkillCurationPolicy, now: datetime) -> bool:
    """Whether a skip does not count any more: it is older than `skip_reset_days`. With 0 none ever is."""
    until = lasts_until(skip, policy)
    return until is not None and now > until


def is_suppressed(skip: Skip | None, policy: SkillCurationPolicy, now: datetime) -> bool:
    """Whether something was skipped often enough, and not too long ago, to be left alone."""
    return skip is not None and skip.times >= policy.skip_threshold and not is_expired(skip, policy, now)


def skip_suggestion(stored: StoredSuggestion, policy: SkillCurationPolicy, act: Act) -> StoredSuggestion:
    """The suggestion after one more skip. Those that have expired do not count with it."""
    skip = skip_of(stored)
    counting = 0 if skip is None or is_expired(skip, policy, act.at) else skip.times
    after = _after(stored, SuggestionMove.SKIP, act)
    return replace(after, skipped_at=act.at, times_skipped=counting + 1)


def reset(stored: StoredSuggestion, act: Act) -> StoredSuggestion:
    return replace(_after(stored, SuggestionMove.RESET, act), skipped_at=None, times_skipped=0)


def mark_saved(stored: StoredSuggestion, act: Act) -> StoredSuggestion:
    """The suggestion as a skill was made of it: whoever wants it has not skipped it."""
    return replace(_after(stored, SuggestionMove.SAVE, act), skipped_at=None, times_skipped=0)


def sighting(stored: StoredSuggestion, policy: SkillCurationPolicy, now: datetime) -> SuggestionMove:
    """What seeing a suggestion again is: it waits again where it was skipped and is not suppressed now. One
    of which nobody knows when it was skipped stays so."""
    skip = skip_of(stored)
    is_over = skip is not None and not is_suppressed(skip, policy, now)
    is_back = is_over and stored.state is SuggestionState.SKIPPED
    return SuggestionMove.RETURN if is_back else SuggestionMove.SEE_AGAIN


def _after(stored: StoredSuggestion, move: SuggestionMove, act: Act) -> StoredSuggestion:
    return replace(
        stored,
        state=SUGGESTION.after(stored.state, move, name=stored.suggestion.name),
        state_actor=act.actor,
        updated_at=act.at,
        revision=stored.revision + 1,
    )
