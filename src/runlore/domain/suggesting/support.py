"""What is supported well enough to be suggested (SKL-14), and what is new (SKL-18).

Procedures, repeats and corrections need several sessions, or the user's own word. A fix may rest on one where
error and remedy are specific: the program says itself what is wrong with the call, and what was changed can be told
without values of the moment. What everybody runs untold, what a task file tells, and what only looks is no skill.
"""

import re

from runlore.domain.detectors.asked import ASKED, SETTING, is_reading, is_telling
from runlore.domain.detectors.command_kinds import LOCAL_PROGRAMS
from runlore.domain.detectors.error_recovery import cause_of, changed_words, speaks
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import CommandKind, Step
from runlore.domain.detectors.recovery_texts import is_about_code, is_about_command
from runlore.domain.suggesting.fixes import is_again, is_approval
from runlore.domain.suggesting.harm import goes_around, loosens, takes_away
from runlore.domain.suggesting.one_off_values import is_temporary
from runlore.domain.suggesting.plans import plan_steps

SESSIONS_MIN = 2
AGAIN_MIN = 3
ERROR_WORDS_MIN = 2
BEFORE_AND_AFTER = 2
FEW_STEPS_MIN = 3
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
    if count_sessions(match) < SESSIONS_MIN:
        return False
    if match.heuristic is Heuristic.USER_CORRECTION:
        return True
    return _is_procedure(match)


def _is_procedure(match: Match) -> bool:
    """Whether it is more than what anybody runs untold, and more than one look at a server."""
    plan = plan_steps(match)
    if match.pattern.startswith(SETTING):
        return bool(plan)
    acts = [step.acts[-1] for step in plan if step.is_always]
    telling = [act for act in acts if is_telling(act)]
    if match.heuristic is Heuristic.REPEATED_ACTION or not telling:
        return False
    if any(not is_reading(act.key) for act in telling):
        is_little = len(plan) < FEW_STEPS_MIN and count_sessions(match) <= SESSIONS_MIN
        return not is_little and (len(plan) > 1 or telling[0].command is None)
    return len([step for step in plan if not step.is_prose]) > 1 and bool(
        match.words or not match.pattern.startswith(ASKED)
    )


def _is_specific_fix(match: Match) -> bool:
    seen = match.occurrences[-1]
    failed, worked = seen.steps[0], seen.steps[-1]
    if len(cause_of(failed.error).split()) < ERROR_WORDS_MIN:
        return False
    if is_again(match):
        return len(match.occurrences) >= AGAIN_MIN
    is_lost = (_looks_locally(failed) and len(seen.steps) <= BEFORE_AND_AFTER) or (
        _NO_PATH.search(failed.error) and not _adds_flag(failed, worked)
    )
    if (is_lost and not _is_of_shell(failed.error)) or any(_is_unsafe(step) for step in seen.steps[1:]):
        return False
    if is_approval(match):
        return True
    if is_about_code(failed.error) and len(seen.steps) <= BEFORE_AND_AFTER:
        return False
    is_spoken = is_about_command(failed.error) or any(speaks(each, failed.error) for each in failed.commands)
    return is_spoken or count_sessions(match) >= SESSIONS_MIN or len(seen.steps) > BEFORE_AND_AFTER


def _looks_locally(step: Step) -> bool:
    return all(
        command.kind is CommandKind.LOOKING and command.form.partition(" ")[0] in LOCAL_PROGRAMS
        for command in step.commands
    )


def _is_of_shell(error: str) -> bool:
    return "no matches found" in error


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
