"""Equal runs (CAP-9): runs of several sessions that did the same in the same order, as a run ends.

A row of `multi-step` is supported as soon as another session has it too. Two or three calls are a short
workflow where they are all that a run did and nothing failed; three sessions have to show one.
"""

from collections.abc import Iterable, Sequence

from runlore.domain.detectors.conversations import Conversation
from runlore.domain.detectors.match import Heuristic, Match, make_occurrence
from runlore.domain.detectors.mined import MinedRun, Outcome
from runlore.domain.detectors.multi_step import STEPS_MIN, multi_step

SHORT_MIN = 2


def workflow_of(run: MinedRun) -> Match | None:
    """What a run did from its beginning to its end, as far as it could be a procedure."""
    return multi_step([run]) or short_workflow(run)


def short_workflow(run: MinedRun) -> Match | None:
    """The two or three calls that are all a run did."""
    steps = tuple(step for step in run.steps if not step.is_looking)
    forms = dict.fromkeys(step.form for step in steps)
    is_short = SHORT_MIN <= len(forms) == len(steps) < STEPS_MIN
    if not is_short or any(step.outcome is not Outcome.SUCCEEDED for step in steps):
        return None
    occurrence = make_occurrence(run, steps)
    return Match(heuristic=Heuristic.CROSS_SESSION, pattern=" ; ".join(forms), occurrences=(occurrence,))


def equal_runs(pattern: str, sessions: Iterable[Sequence[MinedRun]]) -> list[Match]:
    """The runs of these sessions that did this."""
    found: list[Match] = []
    for runs in sessions:
        conversation = Conversation(runs)
        same = (workflow_of(run) for run in runs)
        found += [conversation.mark_match(each) for each in same if each and each.pattern == pattern]
    return found
