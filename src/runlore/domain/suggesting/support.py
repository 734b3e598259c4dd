"""What is supported well enough to be suggested (SKL-14), and what is new (SKL-18).

Procedures, repeats and corrections need several sessions, or the user's own word. A fix may rest on one
where error and remedy are specific: the program says itself what is wrong with the call, and what was changed
can be told without values of the moment. What everybody runs untold, what a task file tells, and what only
looks is no skill.
"""

import re

from runlore.domain.detectors.asked import ASKED, SETTING, is_reading, is_telling
from runlore.domain.detectors.command_kinds import LOCAL_PROGRAMS
from runlore.domain.detectors.error_recovery import cause_of, changed_words, speaks
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import CommandKind, Step
from runlore.domain.detectors.recovery_texts import is_about_code, is_about_command
from runlore.domain.detectors.recurring_failures import MET
from runlore.domain.suggesting.fixes import is_again, is_approval
from runlore.domain.suggesting.harm import goes_around, loosens, takes_away
from runlore.domain.suggesting.one_off_values import is_temporary
from runlore.domain.suggesting.plans import plan_steps

SESSIONS_MIN = 2
AGAIN_MIN = 3
ERROR_WORDS_MIN = 2
BEFORE_AND_AFTER = 2
_GLOB, _QUOTES = "no matches found:", re.compile(r"['\"]")
_WORD = re.compile(r"[a-z][a-z0-9_-]+")
# A path that leads nowhere is another one the next time.
_NO_PATH = re.compile(
    r"no such file|does not exist|cannot access|is a directory|not a directory", re.IGNORECASE
)


def count_sessions(match: Match) -> int:
    """How many sessions show a match."""
    return len({occurrence.session_id for occurrence in match.occurrences})


def is_supported(match: Match) -> bool:
    """Whether enough was seen, by enough sessions, for somebody to be asked about it."""
    if match.heuristic is Heuristic.EXPLICIT_INSTRUCTION:
        return True
    if match.heuristic is Heuristic.ERROR_RECOVERY:
        return _is_specific_fix(match)
    if match.heuristic is Heuristic.USER_CORRECTION:
        return _is_said_of_command(match)
    is_short = match.heuristic is Heuristic.CROSS_SESSION and not match.pattern.startswith((ASKED, SETTING))
    return count_sessions(match) >= SESSIONS_MIN + is_short and _is_procedure(match)


def _is_said_of_command(match: Match) -> bool:
    """Whether the user's words are about the very command: they have a word in which it was changed."""
    said = frozenset(_WORD.findall((match.request.own if match.request else "").lower()))
    before, after = match.occurrences[-1].steps[0], match.occurrences[-1].steps[-1]
    changed = (word for pair in changed_words(before.text, after.text) for word in pair)
    return any(word in said for each in changed for word in _WORD.findall(each.lower()))


def _is_procedure(match: Match) -> bool:
    """Whether it is more than what anybody runs untold, and more than one look at a server."""
    plan = plan_steps(match)
    if match.pattern.startswith(SETTING):
        return bool(plan)
    acts = [step.acts[-1] for step in plan if step.is_always]
    telling = [act for act in acts if is_telling(act)]
    if not telling:
        return False
    if match.heuristic is Heuristic.REPEATED_ACTION:
        return count_sessions(match) > SESSIONS_MIN and not is_reading(telling[0].key)
    if any(not is_reading(act.key) for act in telling):
        return len(plan) > 1 or telling[0].command is None
    return len([step for step in plan if not step.is_prose]) > 1 and bool(
        match.words or not match.pattern.startswith(ASKED)
    )


def _is_specific_fix(match: Match) -> bool:
    seen = match.occurrences[-1]
    failed, worked = seen.steps[0], seen.steps[-1]
    is_short = len(seen.steps) <= BEFORE_AND_AFTER
    if match.pattern.startswith(MET):
        is_other_glob = _GLOB in failed.error and not _has_glob(failed, worked)
        return not is_other_glob and not any(map(_is_unsafe, seen.steps[1:]))
    if len(cause_of(failed.error).split()) < ERROR_WORDS_MIN:
        return False
    if is_again(match):
        return len(match.occurrences) >= AGAIN_MIN
    if _is_of_moment(failed, worked, is_short=is_short) or any(map(_is_unsafe, seen.steps[1:])):
        return False
    if is_approval(match) or (is_short and is_about_code(failed.error)):
        return is_approval(match)
    is_spoken = is_about_command(failed.error) or any(speaks(each, failed.error) for each in failed.commands)
    return is_spoken or count_sessions(match) >= SESSIONS_MIN or not is_short


def _is_of_moment(failed: Step, worked: Step, *, is_short: bool) -> bool:
    """Whether only a path was mistyped, or something was looked for elsewhere; a glob has to be the same."""
    if _GLOB in failed.error:
        return not _has_glob(failed, worked)
    is_lost = _NO_PATH.search(failed.error) is not None and not _adds_flag(failed, worked)
    return is_short and (is_lost or _looks_locally(failed))


def _has_glob(failed: Step, worked: Step) -> bool:
    return failed.error.rpartition(_GLOB)[2].strip() in _QUOTES.sub("", worked.text)


def _looks_locally(step: Step) -> bool:
    return all(
        command.kind is CommandKind.LOOKING and command.form.partition(" ")[0] in LOCAL_PROGRAMS
        for command in step.commands
    )


def _adds_flag(failed: Step, worked: Step) -> bool:
    return any(new.startswith("-") for _, new in changed_words(failed.text, worked.text))


def _is_unsafe(step: Step) -> bool:
    return any(
        takes_away(command)
        or loosens(command)
        or goes_around(command)
        or any(map(is_temporary, command.values[:1]))
        for command in step.commands
    )
