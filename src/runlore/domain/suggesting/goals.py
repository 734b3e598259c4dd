"""What a procedure is for, in words, where the kinds of its steps tell it."""

from collections.abc import Sequence

from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.suggesting.purposes import PURPOSES, is_passing, purpose_of

CHECKED = "check a change"
SET_UP = "set up a project"
PUBLISHED = "publish what was built"
_CHECKING = frozenset({"test", "lint", "typecheck", "build", "format", "scan"})
# What may stand beside checks: what they need, and where the work goes.
_BESIDE = frozenset({"install", "generate", "push", "review", "integrate"})
# Of several, what comes first here is what the others are for.
_FIRST = (
    "release",
    "deploy",
    "verify",
    "migrate",
    "clone",
    "seed",
    "restart",
    "worktree",
    "bisect",
    "benchmark",
)
_THEN = ("plan", "create", "generate", "update")
SEVERAL = 2


def goal_of(commands: Sequence[StepCommand]) -> str:
    """What commands are for together; empty where nothing tells it."""
    done = [command for command in commands if command.kind is CommandKind.WORK]
    purposes = [purpose_of(command) for command in done if not is_passing(command) or purpose_of(command)]
    verbs = {purpose.verb for purpose in purposes if purpose}
    is_sent = any(purpose_of(command) is PURPOSES["push"] and command.topic != "git" for command in done)
    if is_sent and "restart" in verbs and verbs.isdisjoint(_FIRST[: _FIRST.index("restart")]):
        # What is restarted behind a push runs what was pushed.
        return PURPOSES["deploy"].goal
    first = next((PURPOSES[verb].goal for verb in _FIRST if verb in verbs), "")
    if first:
        return first
    if is_sent:
        return PUBLISHED
    checks = verbs & _CHECKING
    if all(purposes) and checks and verbs <= _CHECKING | _BESIDE:
        is_prepared = not verbs.isdisjoint({"install", "generate"})
        if not is_prepared or len(checks) >= SEVERAL:
            return CHECKED
        if "install" in verbs:
            return SET_UP
    return next((PURPOSES[verb].goal for verb in _THEN if verb in verbs), "")
