"""How much a suggestion promises, from 0 to 100, each part with its reason.

What speaks for a skill: it was seen in several sessions, its commands have a purpose (tests, builds,
releases), it is neither one command nor a whole afternoon. What speaks against it: commands that only move
things about, values and scripts of the moment. A fix is worth keeping where the command was what was wrong;
where a test failed and later passed, it was the code.

A match begins with enough points to be suggested. It is dropped only where something speaks against it:
knowing little about a command is not a reason.
"""

from collections.abc import Iterator, Sequence

from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import CommandKind, Outcome, StepCommand
from runlore.domain.detectors.recovery_texts import is_about_code, is_about_command, is_about_missing
from runlore.domain.suggesting.clean_run import is_pipeline
from runlore.domain.suggesting.condensing import form_of, key_of
from runlore.domain.suggesting.covering import PROCEDURES, STRENGTH, default_toolchain
from runlore.domain.suggesting.everyday import is_plain, task_of
from runlore.domain.suggesting.fixes import (
    does_more,
    is_fix,
    is_not_there,
    is_other_path,
    is_other_work,
    is_same_check,
    likeness,
)
from runlore.domain.suggesting.harm import goes_around, loosens, takes_away
from runlore.domain.suggesting.lines import Line
from runlore.domain.suggesting.one_off_values import is_momentary, is_own
from runlore.domain.suggesting.parameters import Written
from runlore.domain.suggesting.purposes import is_passing, is_sending, purposes_of
from runlore.domain.suggestion import Score, ScorePart

SCORE_MIN = 40
LONG_STEPS = 8
WHOLE_STEPS = 3
PAIR_SESSIONS, PAIR_WEIGHT = 4, 4
RELATED, CLOSE = 0.3, 0.6
DAYS_APART = 7
BEFORE_AND_AFTER = 2
JUMBLED = 2


def score_match(match: Match, written: Written) -> Score:
    parts = [part for part in _parts(match, written) if part.points]
    points = sum(part.points for part in parts)
    if match.heuristic is Heuristic.EXPLICIT_INSTRUCTION and points < SCORE_MIN:
        parts.append(ScorePart(reason="what the user asked for is not dropped", points=SCORE_MIN - points))
        points = SCORE_MIN
    return Score(points=max(0, min(100, points)), parts=tuple(parts))


def _parts(match: Match, written: Written) -> Iterator[ScorePart]:
    points, reason = STRENGTH[match.heuristic]
    yield ScorePart(reason=reason, points=points)
    yield from _score_frequency(match)
    lines = written.lines[-1:] if is_fix(match) else written.lines
    commands = [command for line in lines for command in line.commands if not command.is_looking]
    yield from _score_purpose(commands)
    if not is_fix(match):
        yield from _passing(commands, most=60 if match.heuristic is Heuristic.REPEATED_ACTION else 40)
    if is_fix(match):
        yield from _score_fix(match, written)
    elif match.heuristic in PROCEDURES:
        yield from _score_condensation(match, written)
    yield from _against(match, written)
    is_procedure = match.heuristic in PROCEDURES and not is_fix(match)
    yield from _momentary(written, each=6 if is_procedure else 15, script=20 if is_procedure else 35)


def _against(match: Match, written: Written) -> Iterator[ScorePart]:
    """What nobody should do because it was done once, or would do untold."""
    commands = _list_acting(written)
    if match.heuristic is not Heuristic.EXPLICIT_INSTRUCTION and any(map(goes_around, commands)):
        yield ScorePart(reason="it goes around what the project has set up", points=-30)
    if is_fix(match):
        between = [command for line in written.lines[1:] for command in line.commands]
        if any(map(loosens, between)):
            yield ScorePart(reason="it lets everybody write", points=-100)
        elif any(map(takes_away, between)):
            is_asked = match.heuristic is Heuristic.USER_CORRECTION
            reason = "it takes something away without a look at it"
            yield ScorePart(reason=reason, points=-60 if is_asked else -100)
        return
    pipelines = [line for line in written.lines if is_pipeline(line)]
    sends = any(command.verb == "push" for command in commands)
    if match.heuristic in PROCEDURES and pipelines and not sends:
        yield ScorePart(reason="it looks at a pipeline, and sends nothing to it", points=-30)
    elif match.heuristic is Heuristic.REPEATED_ACTION and pipelines:
        yield ScorePart(reason="it only looks at a pipeline", points=-40)
    if match.heuristic is Heuristic.REPEATED_ACTION and any(map(_is_unknown_task, commands)):
        yield ScorePart(reason="nothing says what the task is for", points=-15)
    if match.heuristic is Heuristic.MULTI_STEP and written.said_again >= JUMBLED and is_plain(commands):
        yield ScorePart(reason="everyday commands in no clear order", points=-25)
    if match.heuristic in PROCEDURES and all(map(is_sending, commands)):
        yield ScorePart(reason="every change is sent so", points=-40)


def _list_acting(written: Written) -> list[StepCommand]:
    return [command for line in written.lines for command in line.commands if not command.is_looking]


def _is_unknown_task(command: StepCommand) -> bool:
    purposes = purposes_of([command])
    return bool(task_of(command)) and (not purposes or purposes[0].verb == "run")


def _score_frequency(match: Match) -> Iterator[ScorePart]:
    """How often, where and for how long; the first time counts for nothing."""
    sessions = len({occurrence.session_id for occurrence in match.occurrences})
    times = sum(
        len(occurrence.steps) if match.heuristic is Heuristic.REPEATED_ACTION else 1
        for occurrence in match.occurrences
    )
    if sessions > 1:
        yield ScorePart(
            reason=f"seen in {sessions} sessions", points=min(25, 10 + 5 * (sessions.bit_length() - 2))
        )
    if times > sessions:
        yield ScorePart(reason=f"seen {times} times", points=min(10, 2 * (times - sessions).bit_length()))
    projects = {occurrence.project for occurrence in match.occurrences if occurrence.project}
    if len(projects) > 1:
        yield ScorePart(reason=f"seen in {len(projects)} projects", points=5)
    moments = [step.at for occurrence in match.occurrences for step in occurrence.steps]
    days = (max(moments) - min(moments)).days
    if days >= DAYS_APART:
        yield ScorePart(reason=f"seen over {days} days", points=5)
    known = [
        step.outcome is Outcome.SUCCEEDED
        for occurrence in match.occurrences
        for step in occurrence.steps
        if step.outcome in (Outcome.SUCCEEDED, Outcome.FAILED)
    ]
    if not is_fix(match) and known:
        share = sum(known) / len(known)
        yield ScorePart(reason=f"{share:.0%} of its calls succeeded", points=round(10 * (share - 0.5)))


def _score_purpose(commands: Sequence[StepCommand]) -> Iterator[ScorePart]:
    purposes = purposes_of(commands)
    for weight, most in ((2, 20), (1, 10)):
        told = [purpose.verb for purpose in purposes if purpose.weight == weight]
        if told:
            points = min(most, 5 * weight * len(told) + 5 * (weight - 1))
            yield ScorePart(reason=f"it has a purpose: {', '.join(told)}", points=points)


def _passing(commands: Sequence[StepCommand], *, most: int = 40) -> Iterator[ScorePart]:
    # Alone, what every project does with every change says nothing.
    is_alone = all(map(is_sending, commands))
    passing = [
        command
        for command in commands
        if (is_alone or is_passing(command)) and command.kind is not CommandKind.MOVING
    ]
    share = len(passing) / len(commands) if commands else 1.0
    yield ScorePart(reason=f"{share:.0%} of it only moves things about", points=-round(most * share))


def _score_condensation(match: Match, written: Written) -> Iterator[ScorePart]:
    forms = [form for line in written.lines for form in key_of(line)]
    steps = len(set(forms))
    sessions = len({occurrence.session_id for occurrence in match.occurrences})
    is_alone = match.heuristic is Heuristic.MULTI_STEP
    own = {form_of(command) for command in _list_acting(written) if not is_sending(command)}
    is_little = steps < WHOLE_STEPS or len(own) < 2
    if steps < 2:
        yield ScorePart(reason="it comes to one command", points=-40)
    elif is_little and written.left_out and is_alone and sessions == 1:
        yield ScorePart(reason="one session shows it, and most of that served the moment", points=-60)
    elif steps == 2 and (default_toolchain(forms) or (is_alone and is_plain(_list_acting(written)))):
        few = sessions < PAIR_SESSIONS
        yield ScorePart(reason="two everyday commands", points=-55 if few else -35)
    elif steps == 2 and sessions < PAIR_SESSIONS:
        purposes = purposes_of(command for line in written.lines for command in line.commands)
        is_clear = sum(purpose.weight for purpose in purposes) >= PAIR_WEIGHT
        yield ScorePart(reason="two commands that few sessions show", points=-10 if is_clear else -20)
    if steps >= WHOLE_STEPS and not any(map(_is_beside, written.lines)):
        yield ScorePart(reason="every step does something of its own", points=5)
    if steps > LONG_STEPS:
        yield ScorePart(reason=f"it takes {steps} different steps", points=-4 * (steps - LONG_STEPS))
    if written.left_out:
        share = written.left_out / (written.left_out + len(written.lines))
        yield ScorePart(reason=f"{share:.0%} of what was done served the moment", points=-round(25 * share))


def _is_beside(line: Line) -> bool:
    """Whether a line has anything in it that is not what the procedure is for."""
    return any(
        is_passing(command) and command.kind is not CommandKind.MOVING
        for command in line.commands
        if not command.is_looking
    )


def _score_fix(match: Match, written: Written) -> Iterator[ScorePart]:
    before, after = written.lines[0], written.lines[-1]
    alike = likeness(before, after)
    if alike >= CLOSE:
        yield ScorePart(reason="little was changed", points=10)
    if match.heuristic is Heuristic.USER_CORRECTION:
        return
    first = [occurrence.steps[0] for occurrence in match.occurrences]
    is_short = len(written.lines) == BEFORE_AND_AFTER
    if is_short and is_other_path(before, after, errors=[step.error for step in first]):
        yield ScorePart(reason="a path was mistyped", points=-80)
    is_other = is_other_work(before, after)
    if is_other and alike < RELATED:
        yield ScorePart(reason="the two commands have little in common", points=-30)
    # Where something was done between, it may have brought what the code needs.
    is_told = is_about_command if is_short else is_about_missing
    is_called_wrongly = any(is_not_there(step) or is_told(step.error) for step in first)
    if not is_called_wrongly:
        yield from _passing([command for command in after.commands if not command.is_looking])
    if any(map(is_not_there, first)):
        yield ScorePart(reason="the command could not be found", points=25)
    elif is_called_wrongly:
        yield ScorePart(reason="the error is about the command", points=15)
    elif is_same_check(before, after, is_about_code=any(is_about_code(step.error) for step in first)):
        yield ScorePart(reason="a check failed, and not its command", points=-40)
    if is_other:
        yield ScorePart(reason="the second command does another thing", points=-25)
    if does_more(before, after):
        yield ScorePart(reason="more was done than put right", points=-20)


def _momentary(written: Written, *, each: int, script: int) -> Iterator[ScorePart]:
    momentary = sum(
        is_momentary(command) for line in written.lines for command in line.commands if not command.is_looking
    )
    if momentary:
        yield ScorePart(reason="values of the moment", points=-min(24, each * momentary))
    own = sum(
        is_own(command) for line in written.lines for command in line.commands if not command.is_looking
    )
    if own:
        yield ScorePart(reason="programs of the moment", points=-min(40, 20 * own))
    whole = sum(line.is_script for line in written.lines)
    if whole:
        yield ScorePart(reason="scripts of the moment", points=-min(2 * script, script * whole))
