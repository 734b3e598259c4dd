"""The text of a suggestion: what it is for and when, its steps, what went wrong, how to see that it worked
(SKL-4, SKL-19).

Only what was seen is said: the words in which it was asked for, the failures that were met with what put them
right, the checks that were run. What takes something away is never how to see whether it worked.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

from runlore.domain import limits
from runlore.domain.detectors.command_acts import act_of
from runlore.domain.detectors.episodes import answers
from runlore.domain.detectors.error_recovery import (
    Remedy,
    acting_commands,
    changed_words,
    error_of,
    pin_command,
)
from runlore.domain.detectors.match import Heuristic, Match, Occurrence
from runlore.domain.detectors.mined import Outcome, Step, StepCommand
from runlore.domain.detectors.purpose_groups import SETTING
from runlore.domain.detectors.recovery_texts import is_about_code
from runlore.domain.detectors.tool_calls import EDIT
from runlore.domain.project import project_name
from runlore.domain.suggesting.fixes import is_fix, shown_fix, usual_remedy
from runlore.domain.suggesting.harm import harms, loosens, takes_away
from runlore.domain.suggesting.markdown import code_block, code_span, table_cell, visible
from runlore.domain.suggesting.parameters import Written
from runlore.domain.suggesting.private import without_machine, without_person
from runlore.domain.suggesting.purposes import CHECKING, PURPOSES, purpose_of
from runlore.domain.suggestion import Trigger
from runlore.domain.text.excerpt import excerpt

CHANGES_MAX, PITFALLS_MAX, ASKS_MAX, PROJECTS_MAX, NAMED_MAX = 6, 5, 3, 3, 4
ASK_CHARS_MAX, ERROR_CHARS_MAX, PARTS_CHARS_MAX = 90, 160, 160
COMMAND_LINES_MAX, COMMAND_CHARS_MAX, CHANGES_SHOWN_MAX = 20, 2_000, 2
NONE_MET = "None was met."
_REMEDIES = {
    Remedy.APPROVED: "ask for approval to run it outside of the sandbox, where it works as it is",
    Remedy.AGAIN: "wait until the other process has ended, and run the same command again",
    Remedy.EDITED: "put right what it names, in the same way in the other places, and run it again",
}
_VAGUE = re.compile(r"\?|\.\.|[^\w\s\x20-\x7f]{1}")
_SEEN = re.compile(r"^Seen (?:once|\d{1,9} times) in (?:one session|\d{1,9} sessions)", re.MULTILINE)
_SHELL = re.compile(r"^(?:/\S{0,40}/)?(?:(?:ba|z|da|k|fi)?sh|\(eval\)):(?: line)?(?: ?\d{1,6}:)? ")


def description_of(match: Match, written: Written) -> str:
    """What it is for, and when to use it."""
    text = without_person(f"{_summary(match, written)} {_when(match, written)}".strip())
    return excerpt(" ".join(visible(text).split()), limits.SKILL_DESCRIPTION_CHARS_MAX)


def trigger_of(match: Match, written: Written) -> Trigger:
    """The topic of what is done, and the verbs and the words that ask for it."""
    commands = _commands(written)
    meant = next((command for command in commands if purpose_of(command)), commands[0] if commands else None)
    verbs = [command.verb for command in commands if command.verb]
    words = [word.strip("/") for word in match.words]
    return Trigger(
        topic=visible(meant.topic) if meant else "shell",
        actions=tuple(map(visible, islice(dict.fromkeys([*words, *verbs]), 12))),
    )


def body_of(match: Match, written: Written, *, times: int, sessions: int) -> str:
    """The body in Markdown."""
    sections = (
        ("Overview", _overview(match, written, times=times, sessions=sessions)),
        ("Step-by-Step", _fix_steps(match, written) if is_fix(match) else _steps(written)),
        ("Common Pitfalls", _pitfalls(match, written)),
        ("Verification", _verification(match, written)),
    )
    lines: list[str] = []
    for title, section in sections:
        lines += [f"## {title}", "", *section, ""]
    return without_person("\n".join(lines).strip("\n")) + "\n"


def update_frequency(body: str, *, times: int, sessions: int) -> str:
    """A body that says how often its pattern was seen by now."""
    return _SEEN.sub(_often(times, sessions), body, count=1)


def _overview(match: Match, written: Written, *, times: int, sessions: int) -> Iterator[str]:
    yield f"{_summary(match, written)} {_when(match, written)}".strip()
    yield ""
    projects = _projects(match)
    where = f", in {join_words(list(map(code_span, projects)))}" if projects else ""
    yield f"{_often(times, sessions)}{where}."
    if written.parameters:
        yield ""
        yield "Fill in:"
        yield ""
        for parameter in written.parameters:
            examples = ", ".join(map(code_span, parameter.examples))
            example = f"such as {examples}" if examples else "a text of your own"
            yield f"- {code_span(f'<{parameter.name}>')}: {example}"


def _summary(match: Match, written: Written) -> str:
    if match.heuristic is Heuristic.USER_CORRECTION:
        return f"The user's rule for {code_span(_short(written.commands[0]))}: {_rule(match)}"
    if is_fix(match):
        failed = _list_confined(match) or f"{code_span(_short(written.commands[0]))} fails"
        return f"What to do when {failed}{_why(match)}: {_remedy(match, written)}."
    names = [_name(step.text) for step in written.steps if step.is_command and step.is_always]
    names_once = list(dict.fromkeys(names))
    more = [f"{len(names_once) - NAMED_MAX} more"] if len(names_once) > NAMED_MAX else []
    done = join_words([*map(code_span, names_once[:NAMED_MAX]), *more])
    purpose = visible(" ".join(word.strip("/") for word in match.words))
    if match.pattern.startswith(SETTING):
        setting = match.pattern.removeprefix(SETTING).partition(" ")[0]
        given = (word for text in written.commands for word in text.split() if word.startswith(f"{setting}="))
        setting = next(given, setting)
        return f"Run {done} with {code_span(setting)}."
    return f"The usual steps for “{purpose}”: {done}." if purpose else f"Run {done}."


def _list_confined(match: Match) -> str:
    """The commands that a sandbox kept from their work, where it was several."""
    if usual_remedy(match) is not Remedy.APPROVED:
        return ""
    acts = list(dict.fromkeys(_pinned_act(each.steps[0]) for each in reversed(match.occurrences)))[:NAMED_MAX]
    return f"{join_words(list(map(code_span, acts)))} fail in the sandbox" if len(acts) > 1 else ""


def _pinned_act(step: Step) -> str:
    """What the command does that an error is of."""
    return act_of(pin_command(acting_commands(step), error_of(step)).form).replace(" <url>", "")


def _remedy(match: Match, written: Written) -> str:
    remedy = _REMEDIES.get(usual_remedy(match) or Remedy.CHANGED)
    if remedy:
        return remedy
    done = ", then ".join(code_span(_short(command)) for command in written.commands[1:])
    return f"run {done}{' instead' if len(written.commands) == 2 else ''}"


def _when(match: Match, written: Written) -> str:
    """When to use it: what is asked, or what is met, and where."""
    projects = _projects(match)
    where = f" in {join_words(projects)}" if projects else ""
    if match.heuristic is Heuristic.USER_CORRECTION:
        return f"Use it whenever this is about to be run{where}."
    if is_fix(match):
        return f"Use it when this error is met{where}." if _find_error(match) else ""
    asks = _asks(match)
    if asks:
        requests = " or ".join(f"“{ask}”" for ask in asks[:2])
        return f"Use it when the user asks something like {requests}{where}."
    verbs = filter(None, map(purpose_of, _commands(written)))
    doings = list(dict.fromkeys(PURPOSES[verb] for verb in verbs))
    return f"Use it when {join_words(doings[:3])}{where}." if doings else ""


def _asks(match: Match) -> list[str]:
    """How it was asked for: short requests with most of the words, the latest first."""
    found: dict[str, int] = {}
    for occurrence in reversed(match.occurrences):
        if occurrence.request is None:
            continue
        ask = " ".join(occurrence.request.own.split())
        if 2 < len(ask) <= ASK_CHARS_MAX and not _is_private(ask):
            # A question, or what trails off, asks for it less plainly.
            has = sum(word in ask.lower() for word in match.words)
            found.setdefault(visible(ask), has - bool(_VAGUE.search(ask)) if has else 0)
    ranked = sorted(found, key=lambda ask: (-found[ask], len(ask), ask))
    return [ask for ask in ranked if found[ask] > 0][:ASKS_MAX]


def _is_private(ask: str) -> bool:
    return "http" in ask or "@" in ask or without_person(ask) != ask


def _projects(match: Match) -> list[str]:
    """The projects where it was seen; none where that are many, or one is not known."""
    names = {each.project_name or project_name(each.project) for each in match.occurrences}
    return sorted(map(visible, names)) if len(names) <= PROJECTS_MAX and all(names) else []


def _often(times: int, sessions: int) -> str:
    often = "once" if times == 1 else f"{times} times"
    where = "one session" if sessions == 1 else f"{sessions} sessions"
    return f"Seen {often} in {where}"


def _rule(match: Match) -> str:
    """What the user said, in their words."""
    said = " ".join((match.request.own if match.request else "").split())
    return f"“{visible(excerpt(said, limits.PREVIEW_CHARS_MAX))}”"


def _why(match: Match) -> str:
    error = _find_error(match)
    return f" with {code_span(error)}" if error else ""


def _find_error(match: Match) -> str:
    """The error that a fix answers, without the shell's own name before it."""
    is_rule = match.heuristic is Heuristic.USER_CORRECTION
    return "" if is_rule else _clean_error(error_of(shown_fix(match).steps[0]).strip())


def _clean_error(error: str) -> str:
    return _SHELL.sub("", excerpt(without_machine(" ".join(error.split())), ERROR_CHARS_MAX))


def _steps(written: Written) -> Iterator[str]:
    for number, step in enumerate(written.steps[: limits.SUGGESTION_COMMANDS_MAX], start=1):
        before = "" if step.is_always else "Where it is called for: "
        if step.is_command:
            yield from _write_step(number, step.text, before=before)
        else:
            yield f"{number}. {before}{step.text}."


def _fix_steps(match: Match, written: Written) -> Iterator[str]:
    if match.heuristic is Heuristic.USER_CORRECTION:
        yield f"1. Before running {code_span(_short(written.commands[0]))}, follow the rule: {_rule(match)}"
        yield from _write_step(2, written.commands[-1], before="As it was done then: ")
        return
    if usual_remedy(match) in _REMEDIES:
        yield f"1. {_remedy(match, written)[0].upper()}{_remedy(match, written)[1:]}:"
        yield ""
        yield f"   {code_span(_short(written.commands[-1]))}"
        yield from _changes(match)
        return
    for number, command in enumerate(written.commands[1:], start=1):
        yield from _write_step(number, command, before="Run ")
    yield ""
    yield "| Before | After |"
    yield "| --- | --- |"
    done = ", then ".join(table_cell(_short(command)) for command in written.commands[1:])
    yield f"| {table_cell(_short(written.commands[0]))} | {done} |"
    changes = word_changes(written.commands[0], written.commands[-1])
    if changes:
        yield ""
        yield f"What changed: {changes}."


def _changes(match: Match) -> Iterator[str]:
    """What edits put it right, the latest of each session first."""
    edits = (step for each in reversed(match.occurrences) for step in each.steps if step.tool == EDIT)
    changes = list(dict.fromkeys(step.text.partition("\n")[2] for step in edits))
    for change in changes[:CHANGES_SHOWN_MAX]:
        yield ""
        yield "   As it was done:"
        yield ""
        yield from code_block(without_machine(change), language="diff", indent="   ")


def word_changes(before: str, after: str) -> str:
    """What changed between two commands, in words; empty where nothing differs."""
    changes = []
    for old, new in changed_words(before, after)[:CHANGES_MAX]:
        if old and new:
            changes.append(f"{code_span(old)} became {code_span(new)}")
        else:
            changes.append(f"{code_span(new)} was added" if new else f"{code_span(old)} was taken away")
    return ", ".join(changes)


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
    failures = list(islice(_describe_failures(match, written), PITFALLS_MAX))
    warned = list(dict.fromkeys(_warnings(match, written)))
    for line in (*failures, *warned):
        yield f"- {line}"
    if not failures and not warned:
        yield f"- {NONE_MET}"


def _describe_failures(match: Match, written: Written) -> Iterator[str]:
    """What failed on the way, what most met first, with what worked in its place."""
    if is_fix(match):
        error = _find_error(match)
        if error:
            yield f"{code_span(_short(written.commands[0]))} fails with {code_span(error)}."
        if usual_remedy(match) is Remedy.APPROVED:
            others = {_clean_error(error_of(each.steps[0])): each.steps[0] for each in match.occurrences}
            for other, step in reversed(others.items()):
                if other not in ("", error):
                    yield f"{code_span(_pinned_act(step))} fails with {code_span(other)}."
            return
        also = shown_fix(match).steps[0].more.splitlines()
        if match.heuristic is Heuristic.ERROR_RECOVERY and also:
            yield f"It also prints {join_words([code_span(_clean_error(line)) for line in also])}."
        return
    known = {command.form for command in _commands(written)}
    met: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for occurrence in match.occurrences:
        for failed, remedy in _failures(occurrence, known):
            error = _clean_error(failed.error)
            shown[error] = f"{code_span(_excerpt_command(failed, known))} failed: {code_span(error)}.{remedy}"
            met[error] += 1
    yield from (shown[error] for error, _ in met.most_common())


def _failures(occurrence: Occurrence, known: set[str]) -> Iterator[tuple[Step, str]]:
    """The failed calls of commands that are told, and what worked in their place."""
    for at, step in enumerate(occurrence.steps):
        ours = {command.form for command in step.commands} & known
        is_met = step.outcome is Outcome.FAILED and ours and step.error and not is_about_code(step.error)
        if not is_met or any(map(answers, step.commands)):
            continue
        later = (each for each in occurrence.steps[at + 1 :] if each.outcome is Outcome.SUCCEEDED)
        worked = next((each for each in later if ours & {command.form for command in each.commands}), None)
        told = "" if worked is None else _excerpt_command(worked, ours)
        is_other = (
            bool(told) and told != _excerpt_command(step, ours) and "\N{HORIZONTAL ELLIPSIS}" not in told
        )
        yield step, f" {code_span(told)} worked." if is_other else ""


def _excerpt_command(step: Step, forms: set[str]) -> str:
    """The command of a call that is meant, and not its neighbours."""
    command = next(each for each in reversed(step.commands) if each.form in forms)
    return excerpt(" ".join(command.text.split()), PARTS_CHARS_MAX)


def _warnings(match: Match, written: Written) -> Iterator[str]:
    """Steps that take something away or open it to everybody, as they are told."""
    for step in written.steps[1 if is_fix(match) else 0 :]:
        commands = step.line.commands if step.line is not None else ()
        command = code_span(_short(step.text))
        if any(map(takes_away, commands)):
            yield f"{command} takes away what cannot be had back: look at it first."
        elif any(map(loosens, commands)):
            yield f"{command} lets everybody write there: look for what is really needed first."


def _verification(match: Match, written: Written) -> Iterator[str]:
    if is_fix(match):
        error = _find_error(match)
        gone = f", without {code_span(error)}" if error else ""
        is_harmful = written.lines and any(map(harms, written.lines[-1].commands))
        shown = "The same command" if is_harmful else code_span(_short(written.commands[-1]))
        yield f"{shown} should exit with code 0{gone}."
        return
    done = [
        step
        for step in reversed(written.steps)
        if step.is_command and step.is_always and not any(map(harms, step.line.commands if step.line else ()))
    ]
    check = next((step for step in done if step.line and any(map(_checks, step.line.commands))), None)
    if done and done[0] is not check:
        yield f"- {code_span(_short(done[0].text))} should end without an error and show the outcome."
    if check is not None:
        yield f"- {code_span(_short(check.text))} should exit with code 0."
    if not done:
        yield "Look whether what was to go is gone, and nothing else."


def _checks(command: StepCommand) -> bool:
    return purpose_of(command) in CHECKING and not harms(command)


def _commands(written: Written) -> list[StepCommand]:
    return [command for line in written.lines for command in line.commands]


def _name(text: str) -> str:
    """The first words of a command: what it does."""
    words = [word for word in text.removeprefix("env ").split() if "=" not in word or word.startswith("-")]
    before_flags = takewhile(lambda word: not word.startswith("-"), words[1:4])
    plain = [word for word in before_flags if word[0].isalpha() and "/" not in word and "<" not in word]
    return " ".join([*words[:1], *plain[:2]])


def join_words(words: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _short(command: str) -> str:
    return excerpt(" ".join(command.split()), limits.PREVIEW_CHARS_MAX)


def _bound_command(command: str) -> str:
    lines = excerpt(command.strip(), COMMAND_CHARS_MAX).split("\n")
    return "\n".join([*lines[:COMMAND_LINES_MAX], "…"] if len(lines) > COMMAND_LINES_MAX else lines)
