"""The difference that a record makes: runs that were given it against runs from which it was held back.

Each run's points, less what its group's earlier runs lead one to expect, are weighted by the known share
that is held back. The mean of that is the effect, whatever the runs were about: the hash decided, nothing
else. That is so in the order in which runs were opened; in the order in which they end it is not, where what
is given makes them longer or shorter. So a run waits for all that were opened before it.

The interval is an empirical-Bernstein confidence sequence (Howard, Ramdas, McAuliffe and Sekhon, 2021) for
the mean so far, also of an effect that changes. It holds at all times at once, so looking often costs
nothing, and stopping when one likes what one sees does no harm.
"""

import math
from collections.abc import Iterable
from enum import StrEnum

from runlore.domain.lazy import dataclass
from runlore.domain.worth.outcome import POINTS_MAX

REVOKE = ": revoke it?"
"""What a sentence about something harmful ends with, as long as it is in use."""
# How often the interval may ever miss the truth, for one record.
ERROR_RATE = 0.05
# Fewer runs than this without it say nothing, whatever the interval.
HELD_MIN = 10
# So many runs' worth of doubt in the expectation for a group, and in the mean.
_PRIOR_RUNS = 4
_PRIOR_MEAN = 0.7
# What is staked on each run, as parts of the most that can be, and the share that each has: a large stake
# finds a large effect in few runs, a small one a small effect in many.
_STAKES = tuple((0.8 * 2.0**-each, 1 / ((each + 1) * (each + 2))) for each in range(16))
# How often the place of a limit is halved: to less than a thousandth of a point.
_HALVINGS = 24


class Worth(StrEnum):
    """What can be said of a record's worth."""

    HELPS = "helps"
    HARMS = "harms"
    NO_DIFFERENCE = "no difference seen yet"
    TOO_FEW = "too few runs"


@dataclass(frozen=True, kw_only=True)
class TrialRun:
    """One run that would have been given a record or a skill: whether it was held back, and from which
    share of runs, 0 where there was no lot; whether the run used it; how it went, None until that is
    settled. `group` is whose runs it is compared with."""

    source_id: str = ""
    held_back: bool
    percent: int
    points: int | None
    group: str = ""
    used: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Effect:
    """The difference in points, and the interval in which it lies."""

    given: int
    held_back: int
    difference: float
    low: float
    high: float

    @property
    def worth(self) -> Worth:
        if self.held_back < HELD_MIN:
            return Worth.TOO_FEW
        if self.low > 0:
            return Worth.HELPS
        return Worth.HARMS if self.high < 0 else Worth.NO_DIFFERENCE

    @property
    def sentence(self) -> str:
        """What a person is told of an effect that is sure; empty for any other."""
        least, most = sorted((abs(round(self.low)), abs(round(self.high))))
        runs = f"in {self.given:,} runs with it and {self.held_back:,} without"
        if self.worth is Worth.HARMS:
            return f"runs go worse with it, by {least} to {most} of 100 points, {runs}{REVOKE}"
        if self.worth is Worth.HELPS:
            return f"runs go better with it, by {least} to {most} of 100 points, {runs}: let it stand in all?"
        return ""


def estimate_effect(runs: Iterable[TrialRun], *, error_rate: float = ERROR_RATE) -> Effect:
    """The effect of a record on runs, in the order in which they were opened, up to the first that is not
    settled. Runs from which nothing could have been held back say nothing."""
    given = held_back = 0
    total = deviation = mean = reach = 0.0
    groups: dict[str, tuple[float, int]] = {}
    for run in runs:
        if not run.percent:
            continue
        if run.points is None:
            break
        share, points = run.percent / 100, run.points / POINTS_MAX
        before, count = groups.get(run.group, (0.0, 0))
        expected = (_PRIOR_MEAN * _PRIOR_RUNS + before) / (_PRIOR_RUNS + count)
        groups[run.group] = before + points, count + 1
        value = (points - expected) * (-1 / share if run.held_back else 1 / (1 - share))
        # No value lies further than this below or above what is expected of it.
        reach = max(reach, 1 / share + 1)
        total += value
        deviation += (value - mean) ** 2
        given, held_back = given + (not run.held_back), held_back + run.held_back
        mean += (max(-1.0, min(1.0, value)) - mean) / (given + held_back + _PRIOR_RUNS)
    number = given + held_back
    if not number:
        return Effect(given=0, held_back=0, difference=0, low=-POINTS_MAX, high=POINTS_MAX)
    bound = math.log(2 / error_rate)
    low = _find_limit(total, number, deviation, reach=reach, bound=bound)
    high = -_find_limit(-total, number, deviation, reach=reach, bound=bound)
    return Effect(
        given=given,
        held_back=held_back,
        difference=POINTS_MAX * max(low, min(high, total / number)),
        low=POINTS_MAX * low,
        high=POINTS_MAX * high,
    )


def _find_limit(total: float, number: int, deviation: float, *, reach: float, bound: float) -> float:
    """Below which mean so far the effect does not lie: what was staked on its being higher than that has
    grown beyond the bound."""
    stakes = [
        (part / reach, penalty_of(part / reach, reach) * deviation - math.log(share))
        for part, share in _STAKES
    ]

    def is_refuted(mean: float) -> bool:
        grown = [step * (total - number * mean) - penalty for step, penalty in stakes]
        most = max(grown)
        return most + math.log(sum(math.exp(each - most) for each in grown)) > bound

    low, high = -1.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return low


def penalty_of(step: float, reach: float) -> float:
    """What a squared deviation costs: enough that exp(step * (value - its mean) - penalty * deviation**2) is
    1 at most in the mean, of any value that is never further than `reach` from what it is compared with."""
    scaled = step * reach
    return (-math.log1p(-scaled) - scaled) / reach**2
