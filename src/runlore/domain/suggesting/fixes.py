"""What is a fix: a command that failed or was corrected, and what took its place."""

from collections import Counter
from dataclasses import replace

from runlore.domain.detectors.error_recovery import Remedy, remedy_of
from runlore.domain.detectors.match import Heuristic, Match, Occurrence

FIXES = frozenset({Heuristic.ERROR_RECOVERY, Heuristic.USER_CORRECTION})


def is_fix(match: Match) -> bool:
    """Whether a match is about a command that took another's place: its first step, and its last."""
    return match.heuristic in FIXES


def usual_remedy(match: Match) -> Remedy | None:
    """What mostly put a failure right, the latest of as many; None of what is no recovery."""
    if match.heuristic is not Heuristic.ERROR_RECOVERY:
        return None
    found = [remedy_of(each.steps) for each in reversed(match.occurrences)]
    return Counter(found).most_common(1)[0][0]


def shown_fix(match: Match) -> Occurrence:
    """The time of a fix that is told: the shortest shows best what was changed, of equally short ones the
    latest. An empty error tells nothing."""

    def rank(each: Occurrence) -> tuple[bool, int]:
        return not each.steps[0].error.strip(), len(each.steps[0].text) + len(each.steps[-1].text)

    return min(reversed(match.occurrences), key=rank)


def put_right_as_usual(match: Match) -> Match:
    """A match with those times alone that a failure was put right as it mostly is."""
    usual = usual_remedy(match)
    if usual is None:
        return match
    same = tuple(each for each in match.occurrences if remedy_of(each.steps) is usual)
    return replace(match, occurrences=same)
