"""The text of a suggestion: what it is for, its steps, what went wrong, how to see that it worked (SKL-4)."""

from collections.abc import Iterator, Sequence
from itertools import islice

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import Outcome, Step, StepCommand
from runlore.domain.excerpt import excerpt
from runlore.domain.project import project_name
from runlore.domain.suggesting.changes import word_changes
from runlore.domain.suggesting.covering import PROCEDURES
from runlore.domain.suggesting.fixes import is_fix
from runlore.domain.suggesting.lines import lines_of
from runlore.domain.suggesting.markdown import code_block, code_span, table_cell, visible
from runlore.domain.suggesting.parameters import Written
from runlore.domain.suggesting.purposes import Purpose, purpose_of
from runlore.domain.suggestion import Trigger

COMMAND_LINES_MAX = 20
COMMAND_CHARS_MAX = 2_000
PITFALLS_MAX = 5
NAMED_COMMANDS_MAX = 4
PROJECTS_TOLD_MAX = 3


def description_of(match: Match, written: Written, *, times: int, sessions: int) -> str:
    """One or two sentences: what it does, and when to use it."""
    what = _summary(match, written)
    told = f"{what} {_when(match, written)} {_seen(match, times=times, sessions=sessions)}"
    return excerpt(" ".join(visible(told).split()), limits.SKILL_DESCRIPTION_CHARS_MAX)


def trigger_of(written: Written) -> Trigger:
    """The topic of the first command that has a purpose, and the verbs of all of them."""
    commands = _commands(written)
    meant = next((command for command in commands if purpose_of(command)), commands[0] if commands else None)
    purposes = [purpose.verb for command in commands if (purpose := purpose_of(command))]
    verbs = [command.verb for command in commands if command.verb]
    return Trigger(
        topic=visible(meant.topic) if meant else "shell",
        actions=tuple(map(visible, islice(dict.fromkeys([*verbs, *purposes]), 12))),
    )


def body_of(match: Match, written: Written, *, times: int, sessions: int) -> str:
    """The body in Markdown, at most 500 lines of it."""
    sections = (
        ("Overview", _overview(match, written, times=times, sessions=sessions)),
        ("Step-by-Step", _steps(match, written)),
        ("Common Pitfalls", _pitfalls(match, written)),
        ("Verification", _verification(match, written)),
    )
    lines: list[str] = []
    for title, section in sections:
        lines += [f"## {title}", "", *section, ""]
    return "\n".join(lines).strip("\n") + "\n"


def _overview(match: Match, written: Written, *, times: int, sessions: int) -> Iterator[str]:
    yield f"{_summary(match, written)} {_when(match, written)}"
    yield ""
    yield _seen(match, times=times, sessions=sessions)
    if written.left_out and match.heuristic in PROCEDURES:
        yield ""
        yield "What only served the moment (edits, commits, scripts made up for once) is left out."
    if written.parameters:
        yield ""
        yield "Fill in:"
        yield ""
        for parameter in written.parameters:
            examples = ", ".join(map(code_span, parameter.examples))
            yield f"- {code_span(f'<{parameter.name}>')}: such as {examples}"


def _summary(match: Match, written: Written) -> str:
    names = _names(_commands(written))
    if match.heuristic is Heuristic.USER_CORRECTION:
        before, after = (code_span(_short(written.commands[at])) for at in (0, -1))
        return f"Run {after} rather than {before}."
    if is_fix(match):
        return f"How to go on when {code_span(_short(written.commands[0]))} fails."
    if match.heuristic is Heuristic.REPEATED_ACTION:
        return f"Run {names}."
    steps = len(written.commands)
    return f"A procedure of {steps} steps: {names}." if steps > 1 else f"Run {names}."


def _when(match: Match, written: Written) -> str:
    doings = list(dict.fromkeys(purpose.doing for purpose in _purposes(written)))
    if match.heuristic is Heuristic.USER_CORRECTION:
        return "The user asked for this instead."
    if not doings:
        topic = trigger_of(written).topic
        return f"Use it when working with {topic}." if topic else ""
    return f"Use it when {_listed(doings)}."


def _seen(match: Match, *, times: int, sessions: int) -> str:
    projects = {
        each.project: each.project_name or project_name(each.project)
        for each in match.occurrences
        if each.project
    }
    named = sorted(set(projects.values()))
    often = "once" if times == 1 else f"{times} times"
    where = "one session" if sessions == 1 else f"{sessions} sessions"
    among = (
        f", in {_listed([code_span(name) for name in named])}"
        if 0 < len(projects) <= PROJECTS_TOLD_MAX and all(named)
        else ""
    )
    return f"Seen {often} in {where}{among}."


def _steps(match: Match, written: Written) -> Iterator[str]:
    if is_fix(match):
        yield from _fix(written)
        return
    for number, command in enumerate(written.commands[: limits.SUGGESTION_COMMANDS_MAX], start=1):
        yield from _numbered(number, command)


def _fix(written: Written) -> Iterator[str]:
    before, after = written.commands[0], written.commands[-1]
    for number, command in enumerate(written.commands[1:], start=1):
        yield from _numbered(number, command, before="Run ")
    done = ", then ".join(table_cell(_short(command)) for command in written.commands[1:])
    yield ""
    yield "| Before | After |"
    yield "| --- | --- |"
    yield f"| {table_cell(_short(before))} | {done} |"
    changes = word_changes(before, after)
    if changes:
        yield ""
        yield f"What changed: {changes}."


def _numbered(number: int, command: str, *, before: str = "") -> Iterator[str]:
    start = f"{number}. "
    text = _bounded(command)
    if "\n" in text:
        yield f"{start}{before or 'Run'}:".replace("Run :", "Run:")
        yield ""
        yield from code_block(text, language="sh", indent=" " * len(start))
    else:
        yield f"{start}{before}{code_span(text)}"


def _pitfalls(match: Match, written: Written) -> Iterator[str]:
    failed = [
        (step, occurrence.steps[index + 1 :])
        for occurrence in reversed(match.occurrences)
        for index, step in enumerate(occurrence.steps)
        if step.outcome is Outcome.FAILED
    ]
    told: dict[str, None] = {}
    for step, _ in failed:
        told.setdefault(_failure(step), None)
    if match.heuristic is Heuristic.USER_CORRECTION and not failed:
        told.setdefault(f"{code_span(_short(written.commands[0]))} is not what the user wants here.", None)
    for line in islice(told, PITFALLS_MAX):
        yield f"- {line}"
    if not told:
        yield f"- No step failed in what was seen ({_listed(_outcomes(match))})."


def _failure(step: Step) -> str:
    exit_code = "" if step.exit_code is None else f" with exit code {step.exit_code}"
    error = f": {code_span(step.error)}" if step.error.strip() else "."
    (line,) = lines_of([step])
    return f"{code_span(_short(line.text))} failed{exit_code}{error}"


def _outcomes(match: Match) -> list[str]:
    steps = [step for occurrence in match.occurrences for step in occurrence.steps]
    succeeded = sum(step.outcome is Outcome.SUCCEEDED for step in steps)
    unknown = len(steps) - succeeded
    return [f"{succeeded} calls succeeded", *([f"{unknown} told no result"] if unknown else [])]


def _verification(match: Match, written: Written) -> Iterator[str]:
    checking = [
        told
        for told, line in zip(written.commands, written.lines, strict=True)
        if any((purpose := purpose_of(command)) and purpose.checks for command in line.commands)
    ]
    last = checking[-1] if checking and not is_fix(match) else written.commands[-1]
    text = _bounded(last)
    if "\n" in text:
        yield "The last step should exit with code 0."
    else:
        yield f"{code_span(text)} should exit with code 0."


def _commands(written: Written) -> list[StepCommand]:
    return [command for line in written.lines for command in line.commands if not command.is_looking]


def _purposes(written: Written) -> list[Purpose]:
    return [purpose for command in _commands(written) if (purpose := purpose_of(command))]


def _names(commands: Sequence[StepCommand]) -> str:
    forms = list(dict.fromkeys(command.form for command in commands))
    told = [code_span(form) for form in forms[:NAMED_COMMANDS_MAX]]
    more = len(forms) - len(told)
    return _listed([*told, f"{more} more"] if more > 0 else told)


def _listed(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _short(command: str) -> str:
    return excerpt(" ".join(command.split()), limits.PREVIEW_CHARS_MAX)


def _bounded(command: str) -> str:
    lines = excerpt(command.strip(), COMMAND_CHARS_MAX).split("\n")
    return "\n".join([*lines[:COMMAND_LINES_MAX], "…"] if len(lines) > COMMAND_LINES_MAX else lines)
