"""How well a run went, in points from 0 to 100, from what is known of it without asking anybody.

`SIGNS` is the whole rule: what counts, how much, and why. A person's own word outweighs everything else.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum

from runlore.domain.lazy import dataclass
from runlore.domain.run import RunStatus

POINTS_MAX = 100


class SaidOutcome(StrEnum):
    """What a person or a program says of how a run went."""

    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What is known of how a run went. `refusals` are calls that the user refused in it; `corrected`: the
    next request of the session corrects it; `asked_again`: the same was asked for again within a day."""

    status: RunStatus
    calls: int = 0
    failed_calls: int = 0
    tokens: int = 0
    refusals: int = 0
    corrected: bool = False
    asked_again: bool = False
    helped: int = 0
    wrong: int = 0
    said: SaidOutcome | None = None


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How a run counts: its points once it is settled, how many of them each sign took away or gave back, and
    what somebody said of it."""

    points: int | None = None
    signs: Mapping[str, int] = field(default_factory=dict)
    said: SaidOutcome | None = None


@dataclass(frozen=True, kw_only=True)
class Sign:
    """One row: what is looked at, how many points it takes away, and why."""

    name: str
    costs: Callable[[RunFacts], int]
    rule: str
    why: str


_STATUS_COSTS = {RunStatus.FAILED: 60, RunStatus.INTERRUPTED: 40, RunStatus.CANCELLED: 40}

SIGNS = (
    Sign(
        name="status",
        costs=lambda facts: _STATUS_COSTS.get(facts.status, 0),
        rule="failed 60, interrupted or cancelled 40",
        why="The task was not done.",
    ),
    Sign(
        name="asked_again",
        costs=lambda facts: 30 * facts.asked_again,
        rule="30 where the same was asked for again within a day",
        why="People repeat what was not done right.",
    ),
    Sign(
        name="corrected",
        costs=lambda facts: 20 * facts.corrected,
        rule="20 where the next request corrects it",
        why="The user says that it went wrong.",
    ),
    Sign(
        name="refusals",
        costs=lambda facts: min(30, 15 * facts.refusals),
        rule="15 for each call that the user refused, at most 30",
        why="The agent was about to do something unwanted.",
    ),
    Sign(
        name="failed_calls",
        costs=lambda facts: 20 * facts.failed_calls // max(1, facts.calls),
        rule="20 times the share of calls that failed",
        why="Wrong commands are what memory is to spare.",
    ),
    Sign(
        name="calls",
        costs=lambda facts: min(20, facts.calls // 5),
        rule="1 for every five calls, at most 20",
        why="Fewer steps to the same end are better.",
    ),
    Sign(
        name="tokens",
        costs=lambda _facts: 0,
        rule="nothing",
        why="They are kept for people to see. Calls say the same, and agents report tokens differently.",
    ),
    Sign(
        name="feedback",
        costs=lambda facts: min(40, 20 * facts.wrong) - min(20, 10 * facts.helped),
        rule="20 for each learning called wrong in it, at most 40; each called helpful gives 10 back,"
        " at most 20",
        why="The run itself said so.",
    ),
)


def explain_outcome(facts: RunFacts) -> dict[str, int]:
    """How many points each sign took away; fewer than none are given back."""
    if facts.said is not None:
        return {}
    return {sign.name: cost for sign in SIGNS if (cost := sign.costs(facts))}


def score_outcome(facts: RunFacts) -> int:
    """The points of a run. What a person said of it decides alone."""
    if facts.said is not None:
        return POINTS_MAX if facts.said is SaidOutcome.GOOD else 0
    return max(0, min(POINTS_MAX, POINTS_MAX - sum(explain_outcome(facts).values())))
