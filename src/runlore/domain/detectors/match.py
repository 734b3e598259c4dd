"""What a detector has found, before it is written up as a suggestion."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from runlore.domain.detectors.mined import MinedRun, Step, UserRequest
from runlore.domain.lazy import dataclass
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.taint import TRUSTED, Provenance


class Heuristic(StrEnum):
    """The detectors, in the order in which their findings are told."""

    MULTI_STEP = "multi-step"
    ERROR_RECOVERY = "error-recovery"
    USER_CORRECTION = "user-correction"
    REPEATED_ACTION = "repeated-action"
    EXPLICIT_INSTRUCTION = "explicit-instruction"
    CROSS_SESSION = "cross-session"


PROCEDURES = frozenset({Heuristic.CROSS_SESSION, Heuristic.MULTI_STEP})
"""Those that find several steps in order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence:
    """One time that the pattern was seen: its steps in order, and what the conversation had read by then.

    For a recovery or a correction the first step is what went wrong and the last one what worked. `request`
    is what was asked, where that tells what the pattern is for.
    """

    session_id: SessionId
    run_id: RunId
    project: str
    steps: tuple[Step, ...]
    provenance: Provenance = TRUSTED
    project_name: str = ""
    request: UserRequest | None = None


def make_occurrence(run: MinedRun, steps: tuple[Step, ...]) -> Occurrence:
    """One time that a pattern was seen, which ends in this run."""
    return Occurrence(
        session_id=run.session_id,
        run_id=run.run_id,
        project=run.project,
        project_name=run.project_name,
        steps=steps,
    )


Copy: TypeAlias = tuple[tuple[datetime, str, str], ...]
"""What steps have in common with their copies in other sessions: when they were, what they ran, and the ids
of their calls where the time does not tell them."""


def copy_of(steps: Sequence[Step]) -> Copy | None:
    """What the copies of these steps are known by; None where they cannot be told from other steps: a time to
    the second may be that of two sessions at once, and one time for all steps is that of their file. There
    only ids that each call has for itself tell."""
    is_timed = any(step.at.microsecond for step in steps)
    if is_timed and (len(steps) == 1 or len({step.at for step in steps}) > 1):
        return tuple((step.at, step.text, "") for step in steps)
    if all(step.call for step in steps):
        return tuple((step.at, step.text, step.call) for step in steps)
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """A pattern that was found. `pattern` is the same for the same pattern whatever it comes to be called:
    it is made of normal forms, and never of values. The latest occurrence comes last. `words` are those in
    which it is asked for, `variants` other patterns that it may be found under another time."""

    heuristic: Heuristic
    pattern: str
    occurrences: tuple[Occurrence, ...]
    request: UserRequest | None = None
    asked_name: str = ""
    words: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
