"""What a failure was about: the command itself, or what it was run on."""

import re
from collections.abc import Sequence
from dataclasses import replace
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

# What says that a path leads nowhere.
_NO_PATH = re.compile(
    r"no such (?:file|dir|path|folder)|(?:does not|doesn't|did not) exist|not (?:found|exist)|cannot access"
    r"|(?:cannot|can't|could not|couldn't|unable to|failed to) (?:find|locate|open)"
    r"|ENOENT|no files? match|did not match any",
    re.IGNORECASE,
)
_PATH = re.compile(r"[/\\]|\.[A-Za-z][A-Za-z0-9]{0,7}$|^\.{1,2}$")
_PATTERN_ENDS = ("/...", "/**", "/*", "/")

FIXES = frozenset({Heuristic.ERROR_RECOVERY, Heuristic.USER_CORRECTION})
BECAME = " -> "


def is_fix(match: Match) -> bool:
    """Whether a match is about a command that took another's place: its first step, and its last."""
    if match.heuristic is Heuristic.CROSS_SESSION:
        return BECAME in match.pattern and all(len(each.steps) > 1 for each in match.occurrences)
    return match.heuristic in FIXES


def of_one_cause(match: Match) -> Match:
    """A fix with the occurrences that it answers: where a program was not found some of the times, those.
    Where one session is left, it is a recovery of that session."""
    if not is_fix(match):
        return match
    missing = tuple(each for each in match.occurrences if is_not_there(each.steps[0]))
    if not missing or len(missing) == len(match.occurrences):
        return match
    is_alone = len({each.session_id for each in missing}) == 1
    is_recovery = is_alone and match.heuristic is Heuristic.CROSS_SESSION
    heuristic = Heuristic.ERROR_RECOVERY if is_recovery else match.heuristic
    return replace(match, heuristic=heuristic, occurrences=missing)


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


def is_other_path(before: Line, after: Line, *, errors: Sequence[str]) -> bool:
    """Whether a path led nowhere, the errors say so of this very path, and nothing but it was changed: it was
    mistyped, and what is right another time is another path."""
    old, new = ([word.text for word in words_of(line.text)[:WORDS_MAX]] for line in (before, after))
    same = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    old, new = old[same:], new[same:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    if not same or not old or not new or any(word.startswith("-") for word in (*old, *new)):
        return False
    return all(map(_PATH.search, old)) and all(_misses(error, old) for error in errors)


def _misses(error: str, paths: Sequence[str]) -> bool:
    return _NO_PATH.search(error) is not None and any(_bare_path(path) in error for path in paths)


def _bare_path(path: str) -> str:
    end = next((end for end in _PATTERN_ENDS if path.endswith(end)), "")
    return path.removesuffix(end).removeprefix("./") or path


def likeness(before: Line, after: Line) -> float:
    """How much two lines have in common, from 0 to 1, counted in words."""
    old = [word.text for word in words_of(before.text)[:WORDS_MAX]]
    new = [word.text for word in words_of(after.text)[:WORDS_MAX]]
    return SequenceMatcher(None, old, new, autojunk=False).ratio()
