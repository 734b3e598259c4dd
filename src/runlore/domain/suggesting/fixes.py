"""What is a fix: a command that failed, and what put it right."""

from runlore.domain.detectors.error_recovery import AGAIN, APPROVED
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.recurring_failures import EDITED

BECAME = " -> "
FIXES = frozenset({Heuristic.ERROR_RECOVERY, Heuristic.USER_CORRECTION})


def is_fix(match: Match) -> bool:
    """Whether a match is about a command that took another's place: its first step, and its last."""
    return match.heuristic in FIXES


def is_approval(match: Match) -> bool:
    """Whether all it took was to run it outside of the sandbox."""
    return match.pattern.endswith(f"{BECAME}{APPROVED}")


def is_again(match: Match) -> bool:
    """Whether all it took was to run it once more."""
    return match.pattern.endswith(f"{BECAME}{AGAIN}")


def is_edited(match: Match) -> bool:
    """Whether an edit of what the error names put it right."""
    return match.pattern.endswith(f"{BECAME}{EDITED}")
