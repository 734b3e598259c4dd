"""The five heuristics over one session (SKL-2): what its last run shows, and what all of them show.

Each heuristic is a function of a session's runs in their order. It answers with the best match that ends in
the last of them, or with none; which one is the best is said where the heuristic is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from runlore.domain import limits
from runlore.domain.detectors.conversations import Conversation
from runlore.domain.detectors.error_recovery import all_recoveries, error_recovery
from runlore.domain.detectors.explicit_instruction import explicit_instruction
from runlore.domain.detectors.match import Heuristic, Match, Occurrence
from runlore.domain.detectors.mined import MinedRun
from runlore.domain.detectors.multi_step import multi_step
from runlore.domain.detectors.repeated_action import RepeatedActions, repeated_action
from runlore.domain.detectors.user_correction import user_correction
from runlore.domain.run import RunId

Detector: TypeAlias = Callable[[Sequence[MinedRun]], Match | None]

DETECTORS: tuple[Detector, ...] = (
    multi_step,
    error_recovery,
    user_correction,
    repeated_action,
    explicit_instruction,
)
"""In the order in which their findings are told."""

STEPS_MAX = 2_000
"""How many steps are looked at with one run, so that the time does not grow with the square of a session."""


def matches_of_run(session: Sequence[MinedRun]) -> tuple[Match, ...]:
    """What a session's last run shows: at most one match for each heuristic, each ending in that run."""
    conversation = Conversation(session)
    window = session[_window_start(session, len(session)) :]
    return tuple(conversation.mark_match(match) for match in _detect(window))


def matches_of_session(runs: Sequence[MinedRun]) -> tuple[Match, ...]:
    """What every run of a session shows: as if it were asked after each of them, equal patterns united. Of
    recoveries it is all, where a run alone tells one."""
    conversation = Conversation(runs)
    detectors = _over(runs)
    united: dict[tuple[Heuristic, str], list[Match]] = {}
    for end in range(1, len(runs) + 1):
        start = _window_start(runs, end)
        for detector in detectors:
            if match := detector(start, end):
                united.setdefault((match.heuristic, match.pattern), []).append(match)
    for match in all_recoveries(runs):
        united[match.heuristic, match.pattern] = [match]
    return tuple(conversation.mark_match(_unite(matches)) for matches in united.values())


def _over(runs: Sequence[MinedRun]) -> "tuple[Callable[[int, int], Match | None], ...]":
    """The detectors over rows of these runs, in their order, but for recoveries. Those that look at all of a
    row remember it."""

    def over(detector: Detector) -> Callable[[int, int], Match | None]:
        return lambda start, end: detector(runs[start:end])

    remembering: dict[Detector, Callable[[int, int], Match | None]] = {
        repeated_action: RepeatedActions(runs).match,
    }
    asked = (detector for detector in DETECTORS if detector is not error_recovery)
    return tuple(remembering.get(detector) or over(detector) for detector in asked)


def _window_start(runs: Sequence[MinedRun], end: int) -> int:
    """Where the runs begin that are looked at with the last of them: with all of any usual session."""
    start, steps = end, 0
    while start > max(0, end - limits.SESSION_RUNS_MINED_MAX):
        steps += len(runs[start - 1].steps)
        if steps > STEPS_MAX and start < end:
            break
        start -= 1
    return start


def _detect(window: Sequence[MinedRun]) -> list[Match]:
    if not window:
        return []
    found = (detector(window) for detector in DETECTORS)
    return [match for match in found if match is not None]


def _unite(matches: Sequence[Match]) -> Match:
    """One match of several of the same pattern. The latest says what was asked for and how it is called."""
    latest = matches[-1]
    # What repeats itself is told again with every run: the very same ones need no comparing.
    occurrences = {id(occurrence): occurrence for match in matches for occurrence in match.occurrences}
    return replace(latest, occurrences=remove_overlaps(occurrences.values()))


def remove_overlaps(occurrences: Iterable[Occurrence]) -> tuple[Occurrence, ...]:
    """Occurrences in the order of time, none of which shares a step with another: of two that do, the longer
    one stays, and of equally long ones the later."""
    ordered = sorted(occurrences, key=lambda found: (-len(found.steps), -_last_number(found)))
    taken: set[tuple[RunId, int]] = set()
    kept: list[Occurrence] = []
    for occurrence in ordered:
        places = {(step.run_id, step.number) for step in occurrence.steps} or {(occurrence.run_id, 0)}
        if not places & taken:
            taken |= places
            kept.append(occurrence)
    return tuple(sorted(kept, key=_last_number))


def _last_number(occurrence: Occurrence) -> int:
    return max((step.number for step in occurrence.steps), default=0)
