"""Working a run: the loop in the caller's thread, everything journalled before the next thing happens, and an
end whatever happens.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from runlore.agents.loop import AgentLoop
from runlore.daemon.agent.journal_writer import JournalWriter
from runlore.daemon.agent.provider_requests import SentRequests
from runlore.daemon.agent.run_finisher import RunFinisher, end_unbegun
from runlore.daemon.agent.run_opening import OpenedRun
from runlore.daemon.own_runs.live_events import Live
from runlore.daemon.own_runs.service import RunSlot
from runlore.daemon.parts import Parts
from runlore.domain.agent.agent_profile import AgentLimits
from runlore.domain.errors import RunloreError
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.run import RunStatus
from runlore.flow.capture.ending import RunEnding, interruption
from runlore.ports.runner import AgentEnd, AgentTask, EndKind, Gate, Tool
from runlore.ports.stopping import Stop

UNEXPECTED = "an unexpected error ended it; the log tells more"
_log = logging.getLogger(__name__)


def cancelled_ending() -> RunEnding:
    """The end of a run that somebody has stopped."""
    return RunEnding(status=RunStatus.CANCELLED)


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """One run to work: with which tools, behind which gate, within which limits, by which models.

    `if_stopped` says how it ends where the stop was set: cancelled, or interrupted with a reason. `leaves` is
    asked when the loop is over, before the run ends: further artifacts by their names, such as a diff.
    """

    opened: OpenedRun
    tools: tuple[Tool, ...]
    gate: Gate
    limits: AgentLimits
    model: str
    fallback_model: str = ""
    learn: bool = True
    if_stopped: Callable[[], RunEnding] = cancelled_ending
    leaves: Callable[[], Mapping[str, str]] = dict


class RunWorker:
    """Works runs, each in its caller's thread."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def work(self, assignment: Assignment, *, stop: Stop, live: Live) -> AgentEnd:
        """Work a run to its end. When this returns, the run has ended, its memory is there and what follows
        is queued; where the store cannot be written, it ends once it can. Keeps the artifacts
        `request-first.json`, `request-last.json` and `final_output`."""
        opened = assignment.opened
        journal = JournalWriter(self._parts, opened, live)
        finishing = RunFinisher(self._parts, opened, journal.requests, learn=assignment.learn)
        task = AgentTask(
            instructions=opened.instructions,
            messages=opened.messages,
            model=assignment.model,
            fallback_model=assignment.fallback_model,
            limits=assignment.limits,
        )
        end = AgentEnd(kind=EndKind.STOPPED)
        ending = interruption(UNEXPECTED)
        if opened.stored:
            live.grew(opened.run.input_number)
        try:
            end = AgentLoop(self._parts.chat, self._parts.clock).run(
                task, assignment.tools, gate=assignment.gate, listener=journal, stop=stop
            )
            ending = ending_of(end, assignment)
        except RunloreError as error:
            # What it did could not be written down, so it must not do more.
            _log.warning("run %s cannot go on: %s", opened.run.run_id, error.with_code)
            ending = interruption(f"it could not be journalled: {error.sentence}")
        except Exception:
            # Whatever it was, the run ends, and nobody waits for it for ever.
            _log.exception("run %s failed", opened.run.run_id)
        finally:
            live.answer = "" if opened.stored else redact_text(end.text).text
            leaving = _collect_artifacts(assignment)
            if opened.stored:
                self._parts.agent.free_session(opened.run.run_id)
            finishing.finish(end, ending, leaving=leaving)
        return end


@contextmanager
def ended_anyway(parts: Parts, opened: OpenedRun) -> Iterator[None]:
    """Around what is done between opening a run and working it: where that fails, the run ends here."""
    try:
        yield
    except BaseException as error:
        finishing = RunFinisher(parts, opened, SentRequests(parts, opened.run), learn=False)
        finishing.finish(AgentEnd(kind=EndKind.STOPPED), interruption(_error_sentence(error)), leaving={})
        raise


@contextmanager
def begun_or_ended(parts: Parts, place: RunSlot) -> Iterator[None]:
    """Around opening a run and starting its thread: whatever fails behind the commit, no run is left open
    that nobody works."""
    try:
        yield
    except BaseException as error:
        if place.run_id is not None and not parts.agent.is_working(place.run_id):
            end_unbegun(parts, place.run_id, place.session_id, _error_sentence(error))
        raise


def ending_of(end: AgentEnd, assignment: Assignment) -> RunEnding:
    """How a run ends whose agent came to its end."""
    if end.kind is EndKind.ANSWERED:
        return RunEnding(status=RunStatus.COMPLETED)
    if end.kind is EndKind.STOPPED:
        return assignment.if_stopped()
    if end.kind is EndKind.OUT_OF_TIME:
        return interruption(f"its time was over: {assignment.limits.seconds_max:g} seconds")
    if end.kind is EndKind.OUT_OF_TURNS:
        return RunEnding(
            status=RunStatus.FAILED, error=f"{assignment.limits.turns_max} turns did not lead to an answer"
        )
    failure = end.failure
    told = "the model failed" if failure is None else f"{failure.sentence} [{failure.code}]\n{failure.hint}"
    return RunEnding(status=RunStatus.FAILED, error=told.strip())


def _error_sentence(error: BaseException) -> str:
    return error.sentence if isinstance(error, RunloreError) else UNEXPECTED


def _collect_artifacts(assignment: Assignment) -> Mapping[str, str]:
    """What a run leaves behind besides its answer; its end is worth more than that."""
    try:
        return assignment.leaves()
    except RunloreError as error:
        _log.warning("run %s leaves less than it might: %s", assignment.opened.run.run_id, error.with_code)
    except Exception:
        # Whatever it was, the run ends.
        _log.exception("run %s leaves less than it might", assignment.opened.run.run_id)
    return {}
