"""What is supported well enough to be suggested (SKL-14), and what is new (SKL-18).

Procedures, repeats and corrections need several sessions, or the user's own word. A fix may rest on one
where error and remedy are specific: the program says itself what is wrong with the call, and what was changed
can be told without values of the moment; what the error tells itself is worth a skill where several sessions
met it. What everybody runs untold, what a task file tells, and what only
looks is no skill; three tasks of the project in a longer row that three sessions show are one.
"""

import re
from collections.abc import Sequence

from runlore.domain import limits
from runlore.domain.detectors.command_acts import act_of
from runlore.domain.detectors.command_kinds import NEVER_COUNTING
from runlore.domain.detectors.error_recovery import (
    Remedy,
    cause_of,
    changed_words,
    error_of,
    is_unread,
    leads_nowhere,
    remedy_of,
    rule_of,
    speaks,
)
from runlore.domain.detectors.match import PROCEDURES, Heuristic, Match
from runlore.domain.detectors.mined import CommandKind, Step
from runlore.domain.detectors.purpose_groups import ASKED, SETTING, is_reading, is_telling
from runlore.domain.detectors.recovery_texts import is_about_code, is_about_command
from runlore.domain.detectors.toolchains import is_everyday, is_task
from runlore.domain.suggesting.fixes import put_right_as_usual
from runlore.domain.suggesting.harm import bypasses_checks, loosens, takes_away
from runlore.domain.suggesting.one_off_values import is_temporary
from runlore.domain.suggesting.plans import plan_steps

SESSIONS_MIN = 2
TASKS_MIN = 3
AGAIN_MIN = 3
ERROR_WORDS_MIN = 2
_QUOTES = str.maketrans("", "", "`'\"")
_WORD = re.compile(r"[a-z][a-z0-9_-]+")


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


def is_repeated_work(match: Match) -> bool:
    """Whether it is remembered as a procedure though it is no skill (CAP-9): so many runs of several sessions
    did the same, in more than one step or for the same request, and did more than keep their changes."""
    is_whole = match.heuristic in PROCEDURES and not match.pattern.startswith((ASKED, SETTING))
    if not is_whole or is_supported(match):
        return False
    runs = {occurrence.run_id for occurrence in match.occurrences}
    is_repeated = len(runs) >= limits.REPEATED_RUNS_MIN and count_sessions(match) >= SESSIONS_MIN
    commands = (each for step in match.occurrences[-1].steps for each in step.commands if not each.is_looking)
    return is_repeated and any(
        each.kind is CommandKind.WORK and not (each.topic == "git" and is_everyday(each)) for each in commands
    )


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
        # What each task does, the project tells; not that it is these, one after the other.
        tasks = {act.key for act in acts if act.command is not None and is_task(act.command)}
        is_row = match.heuristic is Heuristic.MULTI_STEP and len(tasks) >= TASKS_MIN
        return is_row and count_sessions(match) > SESSIONS_MIN
    if match.heuristic is Heuristic.REPEATED_ACTION:
        return count_sessions(match) > SESSIONS_MIN and not is_reading(telling[0].key)
    if any(not is_reading(act.key) for act in telling):
        return len(plan) > 1 or telling[0].command is None
    return len([step for step in plan if not step.is_prose]) > 1 and bool(
        match.words or not match.pattern.startswith(ASKED)
    )


def _is_specific_fix(match: Match) -> bool:
    usual = put_right_as_usual(match).occurrences
    error = error_of(usual[-1].steps[0])
    remedy = remedy_of(usual[-1].steps)
    sessions = count_sessions(match)
    if any(_is_unsafe(step) for each in usual for step in each.steps[1:]):
        return False
    if rule_of(error):
        return remedy is Remedy.EDITED and sessions > SESSIONS_MIN
    if remedy is Remedy.AGAIN:
        return len(usual) >= AGAIN_MIN
    if remedy is Remedy.CHANGED and _is_of_moment(*usual[-1].steps):
        return False
    if sessions >= SESSIONS_MIN or remedy is Remedy.APPROVED:
        return True
    failed = usual[-1].steps[0].commands
    is_spoken = is_about_command(error) or any(speaks(each, error) for each in failed)
    # An error of the code that was put right without an edit was the command's.
    is_specific = is_spoken or is_about_code(error) or remedy is Remedy.PREPARED
    is_specific &= len(cause_of(error).split()) >= ERROR_WORDS_MIN
    return is_specific and not is_told_by_error(usual[-1].steps)


def is_told_by_error(steps: Sequence[Step]) -> bool:
    """Whether what put it right stands in the error, where everybody reads it, or is that something went."""
    told = f"{steps[0].error}\n{steps[0].more}".translate(_QUOTES)
    if is_unread(steps[0].error):
        # It repeats the line, whose words only needed quotes.
        return False
    if remedy_of(steps) is Remedy.PREPARED:
        acts = {act_of(each.form) for step in steps[1:-1] for each in step.commands if not each.is_looking}
        return all(_stands_in(act, told) for act in acts)
    come = [word for _, new in changed_words(steps[0].text, steps[-1].text) for word in new.split()]
    return all(_stands_in(word.translate(_QUOTES), told) for word in come)


def _stands_in(words: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(words)}(?![\w-])", text) is not None


def _is_of_moment(failed: Step, worked: Step) -> bool:
    """Whether only a path was mistyped, or something was looked for elsewhere."""
    error = error_of(failed)
    if is_unread(error):
        return False
    is_more = any(new.startswith("-") for _, new in changed_words(failed.text, worked.text))
    return _looks_locally(failed) or (leads_nowhere(error) and not is_more)


def _looks_locally(step: Step) -> bool:
    return all(
        command.kind is CommandKind.LOOKING and command.form.partition(" ")[0] in NEVER_COUNTING
        for command in step.commands
    )


def _is_unsafe(step: Step) -> bool:
    return any(
        takes_away(command)
        or loosens(command)
        or bypasses_checks(command)
        or any(map(is_temporary, command.values[:1]))
        for command in step.commands
    )
