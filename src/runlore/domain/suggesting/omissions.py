"""What a procedure leaves out, said in words: nobody should take it for the whole of what was done."""

from collections import Counter
from collections.abc import Iterator

from runlore.domain import limits
from runlore.domain.detectors.cross_session_rows import act_of
from runlore.domain.detectors.match import Match, Occurrence
from runlore.domain.detectors.mined import CommandKind, Outcome, Step, StepCommand
from runlore.domain.detectors.preparations import SETTINGS, is_setting
from runlore.domain.suggesting.covering import PROCEDURES
from runlore.domain.suggesting.fixes import is_fix
from runlore.domain.suggesting.harm import harms
from runlore.domain.suggesting.markdown import code_span
from runlore.domain.suggesting.parameters import Written
from runlore.domain.suggesting.purposes import purpose_of
from runlore.domain.text.excerpt import excerpt

OF_THE_MOMENT = "What only served the moment (edits, commits, scripts made up for once) is left out."
LEAD_TOLD_MAX = 2
SETTINGS_TOLD_MAX = 4
_CHANGING = frozenset({CommandKind.WORK, CommandKind.FILES})


def describe_omissions(match: Match, written: Written) -> Iterator[str]:
    """Sentences about what was done and is not told."""
    if is_fix(match) or match.heuristic not in PROCEDURES:
        return
    if written.left_out or _changes_untold(match, written):
        yield OF_THE_MOMENT
    for command in _taken_away_before(match, written):
        told = code_span(excerpt(" ".join(command.split()), limits.PREVIEW_CHARS_MAX))
        yield f"{told} stood before it and is left out: it takes away what cannot be had back."
    programs = _settings_alone(match)
    if programs:
        named = ", ".join(map(code_span, programs))
        yield f"Settings of the shell ({named}) are left out: see that yours are right."


def settings_told(match: Match, written: Written) -> Iterator[tuple[int, str]]:
    """Settings of the shell that the calls of the steps made most of the times, each with the place of the
    first step that it stood before."""
    if is_fix(match):
        return
    seen: Counter[str] = Counter()
    latest: dict[str, str] = {}
    places: dict[str, int] = {}
    for occurrence in match.occurrences:
        found: dict[str, int] = {}
        for setting, place in _settings(occurrence, written):
            key = _kind_of_setting(setting)
            latest[key] = setting.text
            found[key] = min(place, found.get(key, place))
        seen.update(found.keys())
        places.update({key: min(place, places.get(key, place)) for key, place in found.items()})
    told = [key for key, times in seen.items() if 2 * times > len(match.occurrences)]
    for key in sorted(told, key=lambda key: places[key])[:SETTINGS_TOLD_MAX]:
        yield places[key], latest[key]


def _settings(occurrence: Occurrence, written: Written) -> Iterator[tuple[StepCommand, int]]:
    for step in occurrence.steps:
        settings: list[StepCommand] = []
        for command in step.commands:
            if is_setting(command):
                settings.append(command)
            elif settings and not command.is_looking and (place := _place(command, written)) is not None:
                yield from ((setting, place) for setting in settings)
                settings = []


def _kind_of_setting(command: StepCommand) -> str:
    """What makes two settings the same one: the variable that they set, or the file that they read."""
    return command.text.partition("=")[0]


def _place(command: StepCommand, written: Written) -> int | None:
    """Where a command is told without what stood before it."""
    act = act_of(command.form)
    for place, line in enumerate(written.lines):
        if not line.whole and any(act_of(each.form) == act for each in line.commands):
            return place
    return None


def _settings_alone(match: Match) -> tuple[str, ...]:
    """The programs of settings that stood in calls of their own, before a step of most of the times."""
    seen = Counter(
        program
        for occurrence in match.occurrences
        for program in {each for step in occurrence.steps for each in step.before if each in SETTINGS}
    )
    return tuple(sorted(program for program, times in seen.items() if 2 * times > len(match.occurrences)))


def _changes_untold(match: Match, written: Written) -> bool:
    told = {act_of(command.form) for line in written.lines for command in line.commands}
    return any(
        _changes(step, told) or (place > 0 and not SETTINGS.issuperset(step.before))
        for occurrence in match.occurrences
        for place, step in enumerate(occurrence.steps)
    )


def _changes(step: Step, told: set[str]) -> bool:
    return any(
        act_of(command.form) not in told and _is_changing(command)
        for command in step.commands
        if step.outcome is not Outcome.FAILED
    )


def _is_changing(command: StepCommand) -> bool:
    purpose = purpose_of(command)
    is_check = purpose is not None and (purpose.checks or purpose.verb == "format")
    return command.kind is CommandKind.EDITING or (command.kind in _CHANGING and not is_check)


def _taken_away_before(match: Match, written: Written) -> tuple[str, ...]:
    told = {command.text for line in written.lines for command in line.commands}
    found = dict.fromkeys(
        command.text
        for occurrence in reversed(match.occurrences)
        for step in occurrence.lead
        if step.outcome is not Outcome.FAILED
        for command in step.commands
        if harms(command) and command.text not in told
    )
    return tuple(found)[:LEAD_TOLD_MAX]
