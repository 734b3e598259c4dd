"""The text of a suggestion: what it is for, its steps, what went wrong, how to see that it worked (SKL-4).

What changed between two commands, word by word.

How to see that a procedure worked: by the checks at its end, else by its last step that does something,
and of a deployment by what shows that it runs.

A check proves what was done before it: what only prepares the outcome does not prove it. Sending a change is
no outcome, pushing the tag of a version is one. What takes something away is never how to see that: nobody
should run it to find out.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice

from runlore.domain import limits
from runlore.domain.detectors.cross_session_rows import act_of
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import CommandKind, Outcome, Step, StepCommand
from runlore.domain.project import project_name
from runlore.domain.suggesting.clean_run import is_lister, is_pipeline, only_looks, verbs_of
from runlore.domain.suggesting.condensing import form_of
from runlore.domain.suggesting.everyday import task_of
from runlore.domain.suggesting.fixes import is_fix, is_not_there
from runlore.domain.suggesting.goals import goal_of
from runlore.domain.suggesting.harm import harms, loosens, takes_away
from runlore.domain.suggesting.lines import Line, lines_of
from runlore.domain.suggesting.markdown import code_block, code_span, table_cell, visible
from runlore.domain.suggesting.omissions import describe_omissions, settings_told
from runlore.domain.suggesting.one_off_values import is_focused
from runlore.domain.suggesting.parameters import Written
from runlore.domain.suggesting.private import without_machine, without_person
from runlore.domain.suggesting.purposes import PURPOSES, is_sending, purpose_of
from runlore.domain.suggesting.settings import folders_to_make, has_throw_away_setting
from runlore.domain.suggestion import Trigger
from runlore.domain.text.excerpt import excerpt

_DEPLOYING = frozenset({"deploy", "restart"})
_ANSWERING = frozenset({"verify", "request", "test"})
WORDS_MAX = 200
CHANGES_MAX = 6
COMMAND_LINES_MAX = 20
COMMAND_CHARS_MAX = 2_000
PITFALLS_MAX = 5
NAMED_COMMANDS_MAX = 4
PROJECTS_TOLD_MAX = 3
ERROR_CHARS_MAX = 160
BEFORE_AND_AFTER = 2
CHECKS_TOLD_MAX = 8
BY_NAME = " by their names"
CUT = "…"
_SEEN = re.compile(r"^Seen (?:once|\d{1,9} times) in (?:one session|\d{1,9} sessions)", re.MULTILINE)
_SHELL = re.compile(r"^(?:/\S{0,40}/)?(?:ba|z|da|k|fi)?sh:(?: line)?(?: ?\d{1,6}:)? ")


def checking_places(written: Written, *, is_fix: bool) -> list[int]:
    """The places of the steps that say whether it worked; none where each takes something away."""
    safe = [at for at, line in enumerate(written.lines) if not any(map(harms, line.commands))]
    if is_fix:
        return safe[-1:] if safe[-1:] == [len(written.lines) - 1] else []
    core = [at for at in safe if written.is_always(at)]
    if goal_of(_list_acting(written.core)) == PURPOSES["deploy"].goal:
        return _of_deployment(written, core)
    done = [at for at in core if _does_something(written.lines[at]) or pushes_version(written, at)]
    outcome = max((at for at in done if not _is_check(written.lines[at])), default=-1)
    return [at for at in done if at > outcome] or done[-1:] or core[-1:] or safe[-1:]


def pushes_version(written: Written, place: int) -> bool:
    """Whether a step pushes a version that it, or a step before it, has tagged."""
    acts = [[act_of(command.form) for command in line.commands] for line in written.lines[: place + 1]]
    return "git push" in acts[place] and any("git tag" in line for line in acts)


def last_check(written: Written, before: int) -> int | None:
    """The last check that is always done before a step."""
    places = (at for at in range(before - 1, -1, -1) if written.is_always(at))
    return next((at for at in places if _is_check(written.lines[at])), None)


def _of_deployment(written: Written, core: Sequence[int]) -> list[int]:
    """What asks whether it runs, behind what deploys it; without that, the last step that deploys."""
    deploying = [at for at in core if verbs_of(written.lines[at]) & _DEPLOYING]
    asking = [at for at in core if verbs_of(written.lines[at]) & _ANSWERING]
    behind = [at for at in asking if not deploying or at > deploying[-1]]
    return behind[-1:] if behind else deploying[-1:] or list(core[-1:])


def _is_check(line: Line) -> bool:
    """Whether a line says if something is as it should be."""
    purposes = [purpose for command in line.commands if (purpose := purpose_of(command))]
    is_listing = only_looks(line) and any(purpose.verb == "format" for purpose in purposes)
    return is_listing or any(purpose.checks for purpose in purposes)


def _does_something(line: Line) -> bool:
    """Whether there is anything to prove in a line, or by it: it neither looks around, serves the shell or
    prints, nor does it only send the change that was made."""
    works = [each for each in line.commands if each.kind is CommandKind.WORK and not each.is_looking]
    return _is_check(line) or not (is_pipeline(line) or all(map(is_sending, works)))


def _list_acting(lines: Sequence[Line]) -> list[StepCommand]:
    return [command for line in lines for command in line.commands if not command.is_looking]


def changed_words(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """The words that were replaced, added or taken away: what stood there, and what stands there now."""
    return tuple(_diff(before.split()[:WORDS_MAX], after.split()[:WORDS_MAX]))


def word_changes(before: str, after: str) -> str:
    """The same in words; empty where nothing differs."""
    told = []
    for old, new in changed_words(before, after)[:CHANGES_MAX]:
        if old and new:
            told.append(f"{code_span(old)} became {code_span(new)}")
        else:
            told.append(f"{code_span(new)} was added" if new else f"{code_span(old)} was taken away")
    return ", ".join(told)


def _diff(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if kind != "equal":
            yield " ".join(old[old_from:old_to]), " ".join(new[new_from:new_to])


def description_of(match: Match, written: Written) -> str:
    """One or two sentences: what it is for, and when to use it."""
    told = without_person(f"{_summary(match, written)} {_when(match, written)}")
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
    return without_person("\n".join(lines).strip("\n")) + "\n"


def _overview(match: Match, written: Written, *, times: int, sessions: int) -> Iterator[str]:
    yield _what(match, written)
    yield ""
    yield _describe_evidence(match, times=times, sessions=sessions)
    for sentence in describe_omissions(match, written):
        yield ""
        yield sentence
    if written.parameters:
        yield ""
        yield "Fill in:"
        yield ""
        for parameter in written.parameters:
            examples = ", ".join(map(code_span, parameter.examples))
            told = f"such as {examples}" if examples else "a text of your own"
            yield f"- {code_span(f'<{parameter.name}>')}: {told}"


def _summary(match: Match, written: Written) -> str:
    names = _names(_commands(written, written.core))
    if match.heuristic is Heuristic.USER_CORRECTION:
        before, after = (code_span(_short(written.commands[at])) for at in (0, -1))
        return f"Run {after} rather than {before}."
    if is_fix(match):
        return f"How to go on when {code_span(_short(written.commands[0]))} fails{_why(match)}."
    if match.heuristic is Heuristic.REPEATED_ACTION:
        told = _short(written.commands[-1])
        # A command that had to be cut is told by its form.
        return f"Run {names if told.endswith(CUT) else code_span(told)}."
    goal = goal_of(_commands(written, written.core))
    return f"How to {goal}: {names}." if goal and len(written.core) > 1 else _what(match, written)


def _what(match: Match, written: Written) -> str:
    """What is done: of a fix what failed and what worked, of a procedure how many steps it has."""
    if match.heuristic in (Heuristic.USER_CORRECTION, Heuristic.REPEATED_ACTION):
        return _summary(match, written)
    if is_fix(match):
        done = ", then ".join(code_span(_short(command)) for command in written.commands[1:])
        instead = " instead" if len(written.commands) == BEFORE_AND_AFTER else ""
        return f"Where {code_span(_short(written.commands[0]))} fails{_why(match)}, run {done}{instead}."
    commands = _commands(written, written.core)
    steps, goal = len(written.core), goal_of(commands)
    if steps < BEFORE_AND_AFTER:
        return f"Run {_names(commands)}."
    more = len(written.lines) - steps
    told = f"A procedure to {goal}, in {steps} steps" if goal else f"A procedure of {steps} steps"
    told = f"{told} and {more} where called for" if more else told
    return f"{told}: {_names(commands)}."


def _why(match: Match) -> str:
    error = _find_error(match)
    return f" with {code_span(error)}" if error else ""


def _find_error(match: Match) -> str:
    """The error that a fix answers: the latest that was told, without the shell's own name before it."""
    told = (each.steps[0].error for each in reversed(match.occurrences) if each.steps[0].error.strip())
    error = without_machine(" ".join(next(told, "").split()))
    return _SHELL.sub("", excerpt(error, ERROR_CHARS_MAX))


def _when(match: Match, written: Written) -> str:
    doings = list(dict.fromkeys(_doings(written)))
    if match.heuristic is Heuristic.USER_CORRECTION:
        return "The user asked for this instead."
    if not doings:
        topic = trigger_of(written).topic
        return f"Use it when working with {topic}." if topic else ""
    return f"Use it when {_join_words(doings)}."


def _describe_evidence(match: Match, *, times: int, sessions: int) -> str:
    projects = {
        each.project: each.project_name or project_name(each.project)
        for each in match.occurrences
        if each.project
    }
    named = sorted(set(projects.values()))
    among = (
        f", in {_join_words([code_span(name) for name in named])}"
        if 0 < len(projects) <= PROJECTS_TOLD_MAX and all(named)
        else ""
    )
    return f"{_often(times, sessions)}{among}."


def _often(times: int, sessions: int) -> str:
    often = "once" if times == 1 else f"{times} times"
    where = "one session" if sessions == 1 else f"{sessions} sessions"
    return f"Seen {often} in {where}"


def update_frequency(body: str, *, times: int, sessions: int) -> str:
    """A body that says how often its pattern was seen by now."""
    return _SEEN.sub(_often(times, sessions), body, count=1)


def _steps(match: Match, written: Written) -> Iterator[str]:
    if is_fix(match):
        yield from _fix(written)
        return
    settings = list(settings_told(match, written))
    for place, setting in settings:
        when = f"Before step {place + 1}" if place else "Before you begin"
        yield f"{when}: {code_span(_short(setting))}"
        yield ""
    for place, command in enumerate(written.commands[: limits.SUGGESTION_COMMANDS_MAX]):
        note = written.note(place)
        yield from _write_step(place + 1, command, before=f"{note}: " if note else "")


def _fix(written: Written) -> Iterator[str]:
    before, after = written.commands[0], written.commands[-1]
    folders = folders_to_make(written.lines[-1], after)
    steps = [f"mkdir -p {' '.join(folders)}"] if folders else []
    for number, command in enumerate([*steps, *written.commands[1:]], start=1):
        yield from _write_step(number, command, before="Run ")
    done = ", then ".join(table_cell(_short(command)) for command in written.commands[1:])
    yield ""
    yield "| Before | After |"
    yield "| --- | --- |"
    yield f"| {table_cell(_short(before))} | {done} |"
    changes = word_changes(before, after)
    if changes:
        yield ""
        yield f"What changed: {changes}."


def _write_step(number: int, command: str, *, before: str = "") -> Iterator[str]:
    start = f"{number}. "
    text = _bound_command(command)
    if "\n" in text:
        yield f"{start}{before.rstrip(': ') or 'Run'}:"
        yield ""
        yield from code_block(text, language="sh", indent=" " * len(start))
    else:
        yield f"{start}{before}{code_span(text)}"


def _pitfalls(match: Match, written: Written) -> Iterator[str]:
    failed = [
        step
        for occurrence in reversed(match.occurrences)
        for step in occurrence.steps
        if step.outcome is Outcome.FAILED
        and (not is_fix(match) or is_not_there(step) is is_not_there(occurrence.steps[0]))
    ]
    told: dict[str, None] = {}
    for step in failed:
        told.setdefault(_failure(step), None)
    if match.heuristic is Heuristic.USER_CORRECTION and not failed:
        told.setdefault(f"{code_span(_short(written.commands[0]))} is not what the user wants here.", None)
    for line in islice(told, PITFALLS_MAX):
        yield f"- {line}"
    if is_fix(match) and _names_folders(written):
        yield "- The folders that its settings name have to be there before."
    warned = list(dict.fromkeys(_warnings(match, written)))
    for warning in warned:
        yield f"- {warning}"
    if not told and not (warned and len(written.commands) == 1):
        yield f"- {_advise_on_failure(match, written)}"


def _warnings(match: Match, written: Written) -> Iterator[str]:
    """Steps that take something away or open it to everybody, as they are told."""
    first = 1 if is_fix(match) else 0
    for line, command in list(zip(written.lines, written.commands, strict=True))[first:]:
        told = code_span(_short(command))
        if any(map(takes_away, line.commands)):
            yield f"{told} takes away what cannot be had back: look at it first."
        elif any(map(loosens, line.commands)):
            yield f"{told} lets everybody write there: look for what is really needed first."


def _names_folders(written: Written) -> bool:
    """Whether settings name folders that no step makes."""
    line, told = written.lines[-1], written.commands[-1]
    return has_throw_away_setting(line) and not folders_to_make(line, told)


def _failure(step: Step) -> str:
    exit_code = "" if step.exit_code is None else f" with exit code {step.exit_code}"
    error = f": {code_span(without_machine(step.error))}" if step.error.strip() else "."
    (line,) = lines_of([step])
    return f"{code_span(_short(line.text))} failed{exit_code}{error}"


def _advise_on_failure(match: Match, written: Written) -> str:
    """What is to be done about failures where none is among the evidence. What failed around it is not known,
    so nothing is said about that."""
    steps = [step for occurrence in match.occurrences for step in occurrence.steps]
    unknown = sum(step.outcome is not Outcome.SUCCEEDED for step in steps)
    told = f" {unknown} of {len(steps)} calls told no result." if unknown else ""
    if len(written.commands) == 1:
        return f"What to do where it fails was not seen.{told}"
    return f"Stop at the first step that fails.{told}"


def _verification(match: Match, written: Written) -> Iterator[str]:
    checking = checking_places(written, is_fix=is_fix(match))
    last = checking[-1] if checking else -1
    pipelines = [place for place, line in enumerate(written.lines) if is_pipeline(line) and not is_fix(match)]
    watched = pipelines[-1] if pipelines and pipelines[-1] > last else None
    if watched is not None and not written.note(watched):
        yield _watching(written, watched)
        return
    yield from _should(written, checking)
    check = last_check(written, last) if last >= 0 and pushes_version(written, last) else None
    if check is not None:
        proof = code_span(_short(written.commands[check]))
        yield ""
        yield f"That proves that the version is out; that it works is proved by {proof}."
    if watched is not None:
        yield ""
        yield f"After a push: {_watching(written, watched)}"


def _should(written: Written, checking: Sequence[int]) -> Iterator[str]:
    if not checking:
        yield "Look whether what was to go is gone, and nothing else."
        return
    listing = [at for at in checking if all(map(is_lister, written.lines[at].commands))]
    texts = [_bound_command(written.commands[at]) for at in checking if at not in listing]
    told = [code_span(text) for text in dict.fromkeys(texts) if "\n" not in text][-CHECKS_TOLD_MAX:]
    if len(told) > 1:
        yield f"Each of these should exit with code 0: {_join_words(told)}."
    elif told:
        yield f"{told[0]} should exit with code 0."
    elif texts:
        yield "The last step should exit with code 0."
    for place, at in enumerate(listing):
        if place or texts:
            yield ""
        listed = code_span(_bound_command(written.commands[at]))
        yield f"{listed} should print nothing: it lists what is not as it should be."


def _watching(written: Written, place: int) -> str:
    return f"{code_span(_bound_command(written.commands[place]))} should tell of no check that failed."


def _commands(written: Written, lines: Sequence[Line] | None = None) -> list[StepCommand]:
    shown = written.lines if lines is None else lines
    return [command for line in shown for command in line.commands if not command.is_looking]


def _doings(written: Written) -> Iterator[str]:
    """What doing it is called; a task that has no known verb is called by its name."""
    for command in _commands(written, written.core):
        purpose, task = purpose_of(command), task_of(command)
        if task and (purpose is None or purpose.verb == "run"):
            yield f"running the task {code_span(task)}"
        elif purpose is not None:
            yield f"{purpose.doing}{BY_NAME if purpose.verb == 'test' and is_focused(command) else ''}"


def _names(commands: Sequence[StepCommand]) -> str:
    forms = list(dict.fromkeys(map(form_of, commands)))
    told = [code_span(form) for form in forms[:NAMED_COMMANDS_MAX]]
    more = len(forms) - len(told)
    return _join_words([*told, f"{more} more"] if more > 0 else told)


def _join_words(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _short(command: str) -> str:
    return excerpt(" ".join(command.split()), limits.PREVIEW_CHARS_MAX)


def _bound_command(command: str) -> str:
    lines = excerpt(command.strip(), COMMAND_CHARS_MAX).split("\n")
    return "\n".join([*lines[:COMMAND_LINES_MAX], "…"] if len(lines) > COMMAND_LINES_MAX else lines)
