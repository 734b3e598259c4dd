"""What a person is told and asked about skills when a run of Runlore's own agent has ended (SKL-1, SKL-7).

The answer has been given by then, and nothing here changes how the run went.
"""

from contextlib import suppress
from datetime import datetime

import typer

from runlore.cli.agent.screen import Screen
from runlore.cli.failures import report
from runlore.cli.invocation import Invocation
from runlore.cli.skills.saving import save_asking
from runlore.client.connect import is_embedded
from runlore.daemon import answers
from runlore.domain.errors import NotFound, RunloreError
from runlore.domain.records.audit import DAEMON
from runlore.domain.run import RunId
from runlore.domain.skill import SkillEventKind
from runlore.domain.suggestion import StoredSuggestion
from runlore.domain.timestamps import truncate
from runlore.ports import operations as ops

# How long a command waits at a terminal, behind its answer, until a model has worded its findings.
LEARNS_S = 20.0
# Behind everything that a journal holds.
_NOTHING_MORE = 2**53


def tell_learned(call: Invocation, screen: Screen, ended: ops.RunEnded) -> None:
    late = [each.suggestion_id for each in ended.detected if each.became is ops.PatternOutcome.IMPROVING]
    if not late:
        return
    with call.operations() as operations:
        for found in _detected_patterns(operations, ended.view.run.run_id):
            if found.suggestion_id in late and found.became is not ops.PatternOutcome.IMPROVING:
                screen.became(found)
            elif found.suggestion_id in late:
                screen.note(f"What becomes of {found.name}: runlore skill log {found.name}")


def tell_earlier(
    call: Invocation, operations: ops.Operations, screen: Screen, ended: ops.RunEnded, *, since: datetime
) -> None:
    """Tell what a model's words about the findings of earlier runs came to since this command began: without
    a daemon nobody else does. The latest about each is told, unless this run's end tells it."""
    if call.as_json or not is_embedded(call.settings()):
        return
    told = {each.name for each in ended.detected if each.became is not ops.PatternOutcome.IMPROVING}
    for event in operations.skill_log(ops.SkillLogRequest()).items:
        if event.actor == DAEMON and event.at >= truncate(since) and event.name not in told:
            told.add(event.name)
            if event.kind is SkillEventKind.SAVED:
                screen.note(f"Saved the skill {event.name}, which an earlier run has shown", "green")
            elif event.kind is SkillEventKind.DECLINED:
                screen.note(f"Not saved: {event.name}, which an earlier run has shown: {event.reason}")


def ask_about_learned(call: Invocation, ended: ops.RunEnded) -> None:
    """Ask about each that waits for a person, as `runlore skill save` does. Whoever stops leaves the rest."""
    try:
        with call.operations() as operations:
            waiting = [
                stored
                for found in ended.detected
                if found.became is ops.PatternOutcome.WAITING
                and (stored := _find_waiting(operations, found.suggestion_id)) is not None
            ]
        if waiting:
            with suppress(typer.Exit):
                save_asking(call, tuple(waiting), accept=False)
    except RunloreError as error:
        report(error, as_json=False)


def _find_waiting(operations: ops.Operations, suggestion_id: str) -> StoredSuggestion | None:
    """A suggestion that still waits; somebody may have decided about it, or forgotten it."""
    with suppress(NotFound):
        stored = operations.get_suggestion(suggestion_id)
        return stored if stored.waits else None
    return None


def _detected_patterns(operations: ops.Operations, run_id: RunId) -> tuple[ops.DetectedPattern, ...]:
    for event in operations.follow_run(ops.FollowRun(run_id=run_id, after=_NOTHING_MORE)):
        if event.kind is ops.RunEventKind.END:
            return answers.read(ops.RunEnded, event.data).detected
    return ()
