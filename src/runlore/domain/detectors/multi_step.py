"""`multi-step` (SKL-2): four or more successful shell calls in a row.

One call is one step, however many commands are joined in it by `&&`: they show in the body. A failed call
ends the row. What neither counts nor breaks: other tools, calls that only look around, edit or serve the
shell, and calls that were refused or of whose outcome nothing is known.

A row stays within the last run, where the user has asked for one thing; it begins in an earlier run only
where that part of it alone would be too short. Where the work begins anew after something was committed or
pushed, the rows before and behind are two. Of several rows the longest wins, then the one of most distinct
forms, then the most recent. A call that is made again at once is told once, and a row of one form only is no
procedure: it is a repeated action.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from runlore.domain.detectors.match import Heuristic, Match, make_occurrence
from runlore.domain.detectors.mined import MinedRun, Outcome, Step

STEPS_MIN = 4
FORMS_MIN = 2

_DELIVERING = frozenset({"commit", "push"})


def multi_step(session: Sequence[MinedRun]) -> Match | None:
    """The best row of steps that ends in the last run."""
    if not session or not any(step.has_worked for step in session[-1].steps):
        return None
    last = session[-1]
    rows = _ending(session)
    shortened = [_drop_retries(row) for row in rows]
    rows = [row for row in shortened if len({step.form for step in row}) >= FORMS_MIN]
    if not rows:
        return None
    best = max(rows, key=lambda row: (len(row), len({step.form for step in row}), row[-1].number))
    occurrence = make_occurrence(last, tuple(best))
    # The same thing done with other values is one thing of the pattern.
    pattern = " ; ".join(form for form, _ in groupby(step.form for step in best))
    return Match(heuristic=Heuristic.MULTI_STEP, pattern=pattern, occurrences=(occurrence,))


def _ending(session: Sequence[MinedRun]) -> list[list[Step]]:
    """The rows of the last run; where it has none, those that begin before it and end in it."""
    last = session[-1]
    rows = list(_pieces(last.steps))
    steps = list(last.steps)
    for run in reversed(session[:-1]):
        if rows or any(_pieces(run.steps)):
            # What the earlier run shows by itself was told when it ended.
            break
        steps = [*run.steps, *steps]
        rows = [row for row in _pieces(steps) if row[-1].run_id == last.run_id]
        if any(map(_breaks, run.steps)):
            # No row reaches over it.
            break
    return rows


def _pieces(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """The rows that are long enough, each where it begins anew taken apart; pieces that are too short stay
    with the one behind them."""
    for row in _rows(steps):
        if len(row) < STEPS_MIN:
            continue
        pieces = list(_split_restarts(row))
        whole = [piece for piece in pieces if len(piece) >= STEPS_MIN]
        yield from whole or [_last_of(pieces)]


def _rows(steps: Iterable[Step]) -> Iterator[list[Step]]:
    row: list[Step] = []
    for step in steps:
        if step.is_looking:
            continue
        if step.has_worked:
            row.append(step)
        elif _breaks(step):
            yield row
            row = []
    yield row


def _breaks(step: Step) -> bool:
    return step.outcome is Outcome.FAILED and not step.is_looking


def _split_restarts(row: Sequence[Step]) -> Iterator[list[Step]]:
    piece: list[Step] = []
    forms: set[str] = set()
    for step in row:
        if piece and _delivers(piece[-1]) and step.form in forms and not _delivers(step):
            yield piece
            piece, forms = [], set()
        piece.append(step)
        forms.add(step.form)
    yield piece


def _last_of(pieces: Sequence[list[Step]]) -> list[Step]:
    steps: list[Step] = []
    for piece in reversed(pieces):
        steps = [*piece, *steps]
        if len(steps) >= STEPS_MIN:
            break
    return steps


def _delivers(step: Step) -> bool:
    return any(command.verb in _DELIVERING and not command.is_looking for command in step.commands)


def _drop_retries(row: Sequence[Step]) -> list[Step]:
    """The row without calls that were made again at once: the last of them stays."""
    return [step for at, step in enumerate(row) if at + 1 == len(row) or _does(step) != _does(row[at + 1])]


def _does(step: Step) -> list[str]:
    return [command.text for command in step.commands if not command.is_looking]
