"""What a failure was about: the command itself, or what it was run on."""

import re
from difflib import SequenceMatcher

from runlore.domain.detectors.cross_session_rows import act_of
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import Step
from runlore.domain.suggesting.lines import Line
from runlore.domain.suggesting.purposes import purposes_of
from runlore.domain.suggesting.words import words_of

WORDS_MAX = 200
# What a shell answers with for a program that it does not find.
NOT_FOUND = 127
_NOT_THERE = re.compile(r"command not found|: not found$|is not recogni[sz]ed as", re.IGNORECASE)
# What finds something wrong with the code, and not with how it is called.
_OF_CODE = frozenset({"test", "lint", "typecheck", "build", "format", "scan"})
# What is done to put something else right.
_REMEDIES = frozenset({"format", "install", "update", "generate", "migrate", "configure", "create"})

FIXES = frozenset({Heuristic.ERROR_RECOVERY, Heuristic.USER_CORRECTION})
BECAME = " -> "


def is_fix(match: Match) -> bool:
    """Whether a match is about a command that took another's place: its first step, and its last."""
    if match.heuristic is Heuristic.CROSS_SESSION:
        return BECAME in match.pattern and all(len(each.steps) > 1 for each in match.occurrences)
    return match.heuristic in FIXES


def is_not_there(step: Step) -> bool:
    """Whether a program could not be found at all."""
    return step.exit_code == NOT_FOUND or _NOT_THERE.search(step.error) is not None


def is_same_check(before: Line, after: Line, *, is_about_code: bool) -> bool:
    """Whether the two check the same code: then the failure was a finding, and no mistake in the line. What
    builds may fail for other reasons, unless the error says that it is the code."""
    of_code = _OF_CODE if is_about_code else _OF_CODE - {"build"}
    checks = {purpose for purpose in purposes_of(before.commands) if purpose.verb in of_code}
    return bool(checks & set(purposes_of(after.commands)))


def is_other_work(before: Line, after: Line) -> bool:
    """Whether the second line does another thing than the first, and none that puts things right. What
    another program runs (`mise exec -- go test`) is the same, and so is what one program does."""
    done = [act_of(command.form).split() for command in before.commands if not command.is_looking]
    then = [act_of(command.form).split() for command in after.commands if not command.is_looking]
    purposes = {purpose.verb for purpose in purposes_of(after.commands)}
    is_same = any(_is_same_act(one, other) for one in done for other in then)
    topics = {command.topic for command in before.commands if not command.is_looking}
    verbs = {command.verb for command in before.commands if not command.is_looking} - {""}
    is_kind = any(
        command.topic in topics and (command.verb in verbs or not verbs)
        for command in after.commands
        if not command.is_looking
    )
    return not is_same and not is_kind and not purposes & _REMEDIES


def _is_same_act(one: list[str], other: list[str]) -> bool:
    short, long = sorted((one, other), key=len)
    return bool(short) and (short == long[: len(short)] or short == long[-len(short) :])


def does_more(before: Line, after: Line) -> bool:
    """Whether the second line does something beside what the first one did."""
    done = {command.form.split()[0] for command in before.commands if not command.is_looking}
    then = {command.form.split()[0] for command in after.commands if not command.is_looking}
    return bool(then - done) and bool(then & done)


def likeness(before: Line, after: Line) -> float:
    """How much two lines have in common, from 0 to 1, counted in words."""
    old = [word.text for word in words_of(before.text)[:WORDS_MAX]]
    new = [word.text for word in words_of(after.text)[:WORDS_MAX]]
    return SequenceMatcher(None, old, new, autojunk=False).ratio()
