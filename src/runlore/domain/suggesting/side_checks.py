"""Single commands that belong to a procedure of their project: an everyday check of one file or folder.

What a project's runner lets a tool check (`mise exec -- shellcheck <file>`) says little alone. Where the
project has a procedure that checks its code, it is a step of that, with when it is done.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from posixpath import splitext

from runlore.domain.detectors.cross_session_rows import act_of
from runlore.domain.detectors.match import Heuristic, Match, Occurrence
from runlore.domain.detectors.mined import StepCommand
from runlore.domain.suggesting.clean_run import CHECKS, verbs_of
from runlore.domain.suggesting.everyday import checks_one_place
from runlore.domain.suggesting.markdown import code_span
from runlore.domain.suggesting.notes import sent_by
from runlore.domain.suggesting.parameters import Written, write_units
from runlore.domain.suggesting.purposes import purpose_of

BESIDE_MAX = 3
BESIDE_SEEN_MAX = 3


def is_beside(match: Match, written: Written) -> bool:
    """Whether a match is a single check that a procedure of its project could tell as well."""
    commands = _list_acting(written)
    is_single = match.heuristic is Heuristic.REPEATED_ACTION and len(written.units) == 1
    return is_single and len(commands) == 1 and checks_one_place(commands[0])


def is_of_file_at_hand(match: Match, written: Written) -> bool:
    """Whether one session checked its files over and over: that says what was worked on, and no more. Tests
    are another thing: which of them to run is worth knowing."""
    is_told_once = len({occurrence.session_id for occurrence in match.occurrences}) == 1
    return is_told_once and is_beside(match, written) and _checked_verb(written) != "test"


def can_take(written: Written) -> bool:
    """Whether a procedure checks code, so that another check belongs to it."""
    return any(verbs_of(line) & CHECKS for line in written.core)


def with_checks(written: Written, checks: Sequence[Written]) -> Written:
    """A procedure with the checks that it does not tell yet, in front of what sends the work out."""
    told = {act_of(command.form) for command in _list_acting(written)}
    news = [
        check for check in checks if not told.intersection(act_of(each.form) for each in _list_acting(check))
    ]
    if not news or not written.units:
        return written
    sending = (at for at, line in enumerate(written.lines) if sent_by(line))
    place = next(sending, len(written.lines))
    notes = [written.note(at) for at in range(len(written.lines))]
    units = [
        *written.units[:place],
        *(unit for check in news for unit in check.units),
        *written.units[place:],
    ]
    return replace(
        write_units(
            units,
            left_out=written.left_out,
            notes=[*notes[:place], *(_when(check) for check in news), *notes[place:]],
        ),
        said_again=written.said_again,
    )


def in_order(occurrences: Iterable[Occurrence]) -> tuple[Occurrence, ...]:
    """Occurrences, the latest last."""
    return tuple(
        sorted(
            occurrences,
            key=lambda each: (
                each.steps[-1].at,
                each.session_id,
                each.steps[-1].number,
                each.steps[0].number,
            ),
        )
    )


def _checked_verb(check: Written) -> str:
    purpose = purpose_of(_list_acting(check)[0])
    return purpose.verb if purpose else ""


def _when(check: Written) -> str:
    (command,) = _list_acting(check)
    purpose = purpose_of(command)
    values = [
        value
        for unit in check.units
        for line in unit.lines
        for each in line.commands
        for value in each.values
    ]
    kinds = {splitext(value)[1] for value in values}
    kind = kinds.pop() if len(kinds) == 1 else ""
    what = f" of {code_span(kind)} files" if kind else ""
    return f"For {purpose.doing}{what}" if purpose else "At times"


def _list_acting(written: Written) -> list[StepCommand]:
    return [command for line in written.lines for command in line.commands if not command.is_looking]
