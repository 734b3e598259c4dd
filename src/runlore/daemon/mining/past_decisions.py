"""What was decided before about what `runlore learn` finds: saved as a skill already, or skipped for a while.

A dry run and a storing run tell it alike.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from runlore.daemon.clock import SystemClock
from runlore.domain import limits
from runlore.domain.policies.policy import PolicyName
from runlore.domain.policies.skills_policy import SkillCurationPolicy, skills_policy
from runlore.domain.record import JsonObject
from runlore.domain.skill import SuggestionId
from runlore.domain.skills import skips
from runlore.domain.suggestion import StoredSuggestion, Suggestion, SuggestionState
from runlore.domain.timestamps import format_time
from runlore.ports import operations as ops
from runlore.ports.operations.paging import paginate

_DECIDED = frozenset({SuggestionState.SAVED, SuggestionState.SKIPPED})


@dataclass(frozen=True, kw_only=True)
class PastDecision:
    """A pattern that is left alone: it is a skill already, under the name `saved_as`, or it was skipped,
    `until` a time or for good."""

    suggestion: Suggestion
    saved_as: str = ""
    until: datetime | None = None

    def to_plain(self) -> JsonObject:
        """As `--json` tells it."""
        return {
            "name": self.suggestion.name,
            "state": (SuggestionState.SAVED if self.saved_as else SuggestionState.SKIPPED).value,
            "saved_as": self.saved_as or None,
            "until": None if self.until is None else format_time(self.until),
        }

    def is_about(self, found: Suggestion) -> bool:
        """Whether a finding is this one, or a variant of it."""
        return self.suggestion.stands_for(found.pattern) or found.stands_for(self.suggestion.pattern)


@dataclass(frozen=True, kw_only=True)
class Queue:
    """What waits for somebody, the best first, and what was decided before."""

    waiting: tuple[StoredSuggestion, ...] = ()
    decided: tuple[PastDecision, ...] = ()


def decided_in(operations: ops.Operations) -> tuple[PastDecision, ...]:
    """All that was decided. What somebody took away again waits for nobody, and is none of it."""
    asked = ops.SuggestionsRequest(states=_DECIDED, limit=limits.LIST_LIMIT_MAX)
    stored = list(paginate(operations.list_suggestions, asked))
    if not stored:
        return ()
    names = dict(_saved_as(operations))
    policy = skills_policy(operations.get_policy(PolicyName.SKILLS).policy).curation
    return tuple(
        found
        for each in stored
        if (found := _to_past_decision(each, names.get(each.suggestion_id, ""), policy)) is not None
    )


def split_decided(
    found: Sequence[Suggestion], decided: Sequence[PastDecision]
) -> tuple[tuple[Suggestion, ...], tuple[PastDecision, ...]]:
    """Findings that would wait for somebody, and what of the others was decided before: seen as often as it
    will have been when they are stored."""
    counted = [_add_counts(each, again) for each in decided if (again := list(filter(each.is_about, found)))]
    return tuple(each for each in found if not any(one.is_about(each) for one in counted)), tuple(counted)


def _add_counts(decided: PastDecision, again: Sequence[Suggestion]) -> PastDecision:
    known = decided.suggestion
    times = max(known.times, *(each.times for each in again))
    sessions = max(known.sessions, *(each.sessions for each in again))
    return replace(decided, suggestion=replace(known, times=times, sessions=sessions))


def _to_past_decision(
    stored: StoredSuggestion, saved_as: str, policy: SkillCurationPolicy
) -> PastDecision | None:
    if stored.state is SuggestionState.SAVED:
        return PastDecision(suggestion=stored.suggestion, saved_as=saved_as) if saved_as else None
    skip = skips.skip_of(stored)
    now = SystemClock().now()
    if skip is not None and not skips.is_suppressed(skip, policy, now):
        # It waits again when it is seen the next time.
        return None
    until = None if skip is None else skips.lasts_until(skip, policy)
    return PastDecision(suggestion=stored.suggestion, until=until)


def _saved_as(operations: ops.Operations) -> Iterable[tuple[SuggestionId, str]]:
    """The skills that there are, by what they were learned from."""
    for skill in paginate(operations.list_skills, ops.SkillsRequest(limit=limits.LIST_LIMIT_MAX)):
        yield from ((learned.suggestion_id, skill.name) for learned in skill.learned_from)
