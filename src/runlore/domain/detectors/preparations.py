"""What stood before a step and does not count: settings of the shell and edits, by their programs alone.

What only serves the shell is not kept word for word, and is no part of any pattern. That it was there is told
with the step that follows it, so that nobody takes a procedure for the whole of what was done.
"""

from dataclasses import replace

from runlore.domain.detectors.mined import CommandKind, MinedRun, Outcome, Step, StepCommand

SETTINGS = frozenset({"source", ".", "export"})
"""Programs that set something for all commands behind them."""
BEFORE_MAX = 6


def is_setting(command: StepCommand) -> bool:
    """Whether it sets something in the shell for what comes behind it."""
    return command.is_looking and command.form in SETTINGS


def with_standing(run: MinedRun) -> MinedRun:
    """A run whose steps say what stood before them."""
    if not any(map(_stands, run.steps)):
        return run
    steps: list[Step] = []
    before: dict[str, None] = {}
    for step in run.steps:
        if not step.is_looking:
            steps.append(replace(step, before=tuple(before)[:BEFORE_MAX]) if before else step)
            before = {}
            continue
        if step.outcome is not Outcome.FAILED:
            before.update(dict.fromkeys(each.form for each in step.commands if _is_told(each)))
        steps.append(step)
    return replace(run, steps=tuple(steps))


def _stands(step: Step) -> bool:
    return step.is_looking and any(map(_is_told, step.commands))


def _is_told(command: StepCommand) -> bool:
    return is_setting(command) or command.kind is CommandKind.EDITING
