"""Failures that come back: the same program fails for the same cause in several sessions.

One failure may be an accident; the second one says that the next session will meet it too. So little is asked
of the remedy: it is how the same act came to succeed soon after, be it with other words, outside of the
sandbox, once more, or after an edit. What most of the failures were put right by is told. Tests and
builds fail because of the code of the moment, and a path that leads nowhere is another one the next time:
they never count. A linter's finding does where three sessions met the same rule.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from runlore.domain.detectors.command_acts import act_of
from runlore.domain.detectors.command_kinds import LOCAL_PROGRAMS
from runlore.domain.detectors.episodes import answers
from runlore.domain.detectors.error_recovery import (
    AGAIN,
    APPROVED,
    FIXES_MAX,
    STEPS_BETWEEN_MAX,
    acting_commands,
    cause_of,
    recovery_of,
    speaks,
)
from runlore.domain.detectors.mined import CommandKind, Outcome, Step, StepCommand
from runlore.domain.detectors.recovery_texts import is_about_code, is_about_command
from runlore.domain.detectors.tool_calls import EDIT

MET, EDITED, CHANGED = "met: ", "edited", "changed"
"""What the pattern of such a failure begins with, and what else may put it right."""
SESSIONS_MIN, RULE_SESSIONS_MIN = 2, 3
CAUSE_WORDS_MIN = 2
OTHER_WITHIN, NAME_CHARS_MIN = 3, 4
_NAME = re.compile(r"[\w-]{2,60}")
# A path that leads nowhere is another one the next time; nothing to do is no failure.
_OF_MOMENT = re.compile(
    r"no such file|does not exist|cannot access|is a directory|not a directory|nothing to commit"
    r"|no changes added|timed? ?out|deadline exceeded|pathspec|usage:",
    re.IGNORECASE,
)
# How linters and compilers name the rule that was broken: `(errcheck)`, `[arg-type]`, `TS2345`, `E501`.
_RULE = re.compile(r"\((?P<a>[a-z][\w-]{3,40})\)$|\[(?P<b>[a-z][a-z-]{3,40})\]$|\b(?P<c>[A-Z]{1,5}\d{3,5})\b")
# What a linter calls code that does not compile.
_NO_RULES = frozenset({"typecheck", "syntax", "compile"})
_PLACE = re.compile(r"^(?:\[[\w:.-]{1,40}\] )?\S{1,200}\.\w{1,6}:\d+:")
_FLAGS = re.compile(r"(?<![\w-])--?[a-z][\w-]*")


class Failure(NamedTuple):
    """What a failed call is known by among others: the program that failed, and why."""

    program: str
    cause: str


class PutRight(NamedTuple):
    """One time that a failure was put right: how, and the steps from what failed to what worked.
    `is_corrected` says that these alone show it, so that its session tells it as well."""

    kind: str
    run: int
    steps: tuple[Step, ...]
    is_corrected: bool = False
    session: int = 0


def failure_of(step: Step) -> Failure | None:
    """What a call failed with; None where that says nothing to anybody else."""
    commands = _meant_commands(step)
    if step.outcome is not Outcome.FAILED or not commands or any(map(answers, step.commands)):
        return None
    spoken = next((each for each in commands if speaks(each, step.error)), commands[-1])
    program = spoken.form.partition(" ")[0]
    rule = rule_of(step.error)
    if rule:
        return Failure(program, rule)
    if is_about_code(step.error) or _OF_MOMENT.search(step.error):
        return None
    cause = " ".join([cause_of(step.error), *_FLAGS.findall(step.error)[:2]])
    return Failure(program, cause) if len(cause.split()) >= CAUSE_WORDS_MIN else None


def _meant_commands(step: Step) -> list[StepCommand]:
    """The commands of a call that may be why it failed. What looks at files fails for any reason, but where
    the shell could not read the line itself."""
    commands = acting_commands(step)
    if "no matches found" in step.error:
        return commands
    return [each for each in commands if each.kind is not CommandKind.LOOKING or not _is_local(each)]


def _is_local(command: StepCommand) -> bool:
    return command.form.partition(" ")[0] in LOCAL_PROGRAMS


def rule_of(error: str) -> str:
    """The rule of a linter that was broken; empty where an error names none."""
    found = _RULE.search(error) if is_about_code(error) or _PLACE.match(error) else None
    rule = "" if found is None else next(filter(None, found.groups()))
    return "" if rule in _NO_RULES else rule


def recurring_failures(sessions: Sequence[Sequence[Sequence[Step]]]) -> Iterator[tuple[str, list[PutRight]]]:
    """The failures that several sessions met, each with its pattern and the times that it was put right in
    the way that was most usual. Each session is given as the steps of its runs."""
    met: dict[Failure, set[int]] = {}
    right: dict[Failure, list[PutRight]] = {}
    for number, runs in enumerate(sessions):
        steps = [(place, step) for place, run in enumerate(runs) for step in run]
        for at, (_, step) in enumerate(steps):
            failure = failure_of(step)
            if failure is not None:
                met.setdefault(failure, set()).add(number)
                if found := _remedy(step, steps[at + 1 :]):
                    right.setdefault(failure, []).append(found._replace(session=number))
    for failure, found_right in right.items():
        is_rule = any(rule_of(each.steps[0].error) for each in found_right)
        is_met_again = len(met[failure]) >= (RULE_SESSIONS_MIN if is_rule else SESSIONS_MIN)
        if is_met_again or any(map(_is_specific, found_right)):
            kinds = Counter(each.kind for each in found_right)
            kind = max(kinds, key=lambda each: (kinds[each], each))
            pattern = f"{MET}{failure.program} # {failure.cause} -> {kind}"
            yield pattern, [each for each in found_right if each.kind == kind]


def _remedy(failed: Step, later: Iterable[tuple[int, Step]]) -> PutRight | None:
    """How the same act came to succeed after a failure."""
    commands = _meant_commands(failed)
    acts = {act_of(each.form) for each in commands}
    texts = {each.text for each in commands}
    between: list[Step] = []
    edits: list[Step] = []
    other: PutRight | None = None
    for run, step in islice(later, 4 * STEPS_BETWEEN_MAX):
        edits += [step] if step.tool == EDIT else []
        doing = acting_commands(step)
        if step.outcome is Outcome.SUCCEEDED and acts & {act_of(each.form) for each in doing}:
            known = recovery_of(failed, between, step)
            if known is not None:
                kind = known.pattern.rpartition(" -> ")[2]
                return PutRight(kind if kind in (APPROVED, AGAIN) else CHANGED, run, known.steps, True)
            is_same = all(each.text in texts for each in doing)
            done = [each for each in between if _is_done(each, acts)] if is_same else []
            kind = EDITED if edits else AGAIN if is_same and not done else CHANGED
            shared = acts & {act_of(each.form) for each in doing}
            done = [each for each in edits if "\n" in each.text][:1] if edits else done[-FIXES_MAX:]
            return PutRight(kind, run, (_only(failed, shared), *done, _only(step, shared)))
        if other is None and len(between) < OTHER_WITHIN and _takes_place(step, commands):
            is_corrected = recovery_of(failed, between, step) is not None
            other = PutRight(CHANGED, run, (failed, step), is_corrected)
        between += [step] if doing else []
        if len(between) > STEPS_BETWEEN_MAX:
            break
    return other


def _takes_place(step: Step, failed: Sequence[StepCommand]) -> bool:
    """Whether a call that succeeded was made in a failed one's place: the same program was asked about the
    same thing, by a number or a name."""
    if step.outcome is not Outcome.SUCCEEDED or len(failed) > 1:
        return False
    asked = _names(failed[0])
    program = failed[0].form.partition(" ")[0]
    return any(
        each.form.partition(" ")[0] == program and asked & _names(each) for each in acting_commands(step)
    )


def _names(command: StepCommand) -> frozenset[str]:
    """What a command is about: the numbers and the names among its values."""
    values = command.values or command.text.split()[1:]
    return frozenset(
        name
        for value in values
        for name in _NAME.findall(value)
        if not name.isalpha() or len(name) >= NAME_CHARS_MIN
    )


def _only(step: Step, acts: set[str]) -> Step:
    """A call as if it were the last of its commands that does one of these acts; a pipeline stays whole."""
    doing = acting_commands(step)
    meant = next((each for each in reversed(doing) if act_of(each.form) in acts), None)
    if meant is None or len(doing) == 1 or "|" in step.text.replace("||", ""):
        return step
    return replace(step, text=meant.text, commands=(meant,))


def _is_done(step: Step, acts: set[str]) -> bool:
    """Whether a call between may be what put it right: it did something else, and succeeded."""
    done = [each for each in step.commands if each.kind is CommandKind.WORK]
    return step.outcome is Outcome.SUCCEEDED and any(act_of(each.form) not in acts for each in done)


def _is_specific(found: PutRight) -> bool:
    """Whether one session is enough: the error is about the command, and another one about the same thing, or
    one before it, put it right. What a corrected command put right is found at the end of its run already."""
    failed, *between, fixed = found.steps
    is_plain = "\n" not in f"{failed.text}{fixed.text}"
    if found.kind != CHANGED or found.is_corrected or not is_plain or not is_about_command(failed.error):
        return False
    is_about_same = any(_takes_place(fixed, [each]) for each in _meant_commands(failed))
    named = [word for word in failed.text.split() if word.startswith("-") and word in failed.error]
    is_kept = not named or {*failed.text.split()} - {*named} <= {*fixed.text.split()}
    return bool(between) or (is_about_same and is_kept)
