"""Short workflows: two or three calls that are all a run did, in several runs alike (CAP-9).

`multi-step` begins at four calls, and `cross-session` looks when somebody asks for it. This is what can be
told as a run ends, by the measure of `cross-session`: as many runs have to show it as sessions have to there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf, isfinite

from runlore.domain.detectors.conversations import Conversation, last_event
from runlore.domain.detectors.cross_session_rows import Row, rows_of, telling_forms
from runlore.domain.detectors.match import Heuristic, Match, Occurrence, copy_of, make_occurrence
from runlore.domain.detectors.mined import MinedRun, Outcome
from runlore.domain.detectors.multi_step import STEPS_MIN

SESSIONS_MIN, SESSIONS_OF_LONG_MIN = 3, 2
LONG_COMMANDS_MIN, COMMANDS_MIN, TELLING_MIN = 4, 2, 2


def short_workflow(run: MinedRun) -> str:
    """The pattern of what a run did; empty where it failed, did more or less, or nothing of its own."""
    row = _row_of(run)
    return "" if row is None else " ; ".join(_forms(row))


def equal_runs(pattern: str, sessions: Iterable[Sequence[MinedRun]]) -> Match | None:
    """The runs of these sessions that did this and no more; None where too few did."""
    found: dict[object, Occurrence] = {}
    needed = 0.0
    for runs in sessions:
        conversation = Conversation(runs)
        for run in runs:
            row = _row_of(run)
            if row is not None and " ; ".join(_forms(row)) == pattern:
                needed = _count_needed(row)
                seen = replace(
                    make_occurrence(run, row.steps), provenance=conversation.read_by(last_event(row.steps))
                )
                # A session that goes on from another has its runs, too.
                found.setdefault(copy_of(row.steps) or run.run_id, seen)
    if not found or len(found) < needed:
        return None
    ordered = sorted(found.values(), key=lambda seen: (seen.steps[-1].at, seen.session_id))
    return Match(heuristic=Heuristic.CROSS_SESSION, pattern=pattern, occurrences=tuple(ordered))


def _row_of(run: MinedRun) -> Row | None:
    if any(step.outcome is Outcome.FAILED and not step.is_looking for step in run.steps):
        return None
    rows = tuple(rows_of([run]))
    if len(rows) != 1 or len(rows[0].steps) >= STEPS_MIN:
        return None
    forms = _forms(rows[0])
    is_one = len(set(forms)) == len(forms)
    return rows[0] if is_one and isfinite(_count_needed(rows[0])) else None


def _count_needed(row: Row) -> float:
    return sessions_needed(_forms(row), {form for step in row.steps for form in telling_forms(step)})


def sessions_needed(forms: Sequence[str], telling: set[str]) -> float:
    """How many sessions have to show a sequence; infinitely many where it is no procedure."""
    told = sum(form in telling for form in forms)
    if len(forms) < COMMANDS_MIN or told == 0:
        return inf
    if len(forms) >= LONG_COMMANDS_MIN:
        return SESSIONS_OF_LONG_MIN if told >= TELLING_MIN else SESSIONS_MIN
    return SESSIONS_MIN if told >= TELLING_MIN else inf


def _forms(row: Row) -> tuple[str, ...]:
    return tuple(form for step in row.forms for form in step)
