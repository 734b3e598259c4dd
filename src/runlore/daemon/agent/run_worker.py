"""Working a run: the loop in the caller's thread, everything journalled before the next thing happens, and an
end whatever happens: status, artifacts and memory, and what is learned at once.

The end is written as soon as the store can be written; until then the run is owed its end.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from runlore.agents.loop import AgentLoop
from runlore.daemon.agent.journal_writer import JournalWriter, SentRequests
from runlore.daemon.agent.run_opening import AGENT, OpenedRun
from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.own_runs.live_events import Live
from runlore.daemon.own_runs.service import RunSlot
from runlore.daemon.parts import Parts
from runlore.daemon.runs.run_access import UnstoredRuns
from runlore.daemon.runs.run_ends import closing, remembering
from runlore.domain import limits
from runlore.domain.access import Caller, Role
from runlore.domain.agent.agent_profile import AgentLimits
from runlore.domain.errors import NotFound, RunloreError
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.records.audit import Act
from runlore.domain.run import Artifact, ArtifactId, MemoryState, Run, RunId, RunMove, RunStatus
from runlore.domain.runs.job import JobKind, JobState
from runlore.domain.session import SessionId
from runlore.domain.text.safe_text import make_storable
from runlore.flow.capture.approvals import WAITING
from runlore.flow.capture.ending import RunEnding, check_ending, interruption
from runlore.flow.capture.runs import add_artifact, may_keep, move_run
from runlore.flow.capture.session_lock import run_turn
from runlore.flow.capture.sessions import is_captured
from runlore.flow.reactions import Closed, close_where
from runlore.flow.skills.rollouts import FINAL_OUTPUT
from runlore.ports.runner import AgentEnd, AgentTask, EndKind, Gate, Tool
from runlore.ports.stopping import Stop
from runlore.ports.store import Transaction

_DETECTING = frozenset({JobKind.DETECT})
# How many runs are looked at for skills behind one: its own, and what others have left.
_DETECTED_AT_ONCE = 4
_DETECTED_WITHIN_S = 2.0
_LOOK_S = 0.02


def end_unbegun(parts: Parts, run_id: RunId, session_id: SessionId, reason: str) -> None:
    """End a run that was opened, as far as it was, and is worked by nobody: now, or as soon as that can be
    written. Nothing is raised."""

    def is_ours(_tx: Transaction, run: Run) -> bool:
        # Another one of this id is the very reason why ours could not be opened.
        return (run.executor, run.session_id) == (parts.process_id, session_id)

    def end() -> None:
        with suppress(NotFound):
            close_where(remembering(parts), closing(parts), run_id, interruption(reason), still=is_ours)

    try:
        end()
    except Exception:
        # What kept it from being begun may keep it from being ended too, for a while.
        _log.exception("run %s was not begun, and is owed its end", run_id)
        parts.agent.owe(run_id, end)


class RunFinisher:
    """Ends one run, once."""

    def __init__(self, parts: Parts, opened: OpenedRun, requests: SentRequests, *, learn: bool) -> None:
        self._parts = parts
        self._opened = opened
        self._requests = requests
        self._learn = learn

    def finish(self, end: AgentEnd, ending: RunEnding, *, leaving: Mapping[str, str]) -> None:
        """End it now, or as soon as that can be written, with what it leaves behind by name. Nothing is
        raised."""
        run = self._opened.run
        if not self._opened.stored:
            self._end_unstored(end, ending)
            return
        try:
            self._end(end, ending, leaving)
        except RunloreError as error:
            _log.warning("run %s is owed its end: %s", run.run_id, error.with_code)
            self._parts.agent.owe(run.run_id, lambda: self._end(end, ending, leaving))
        except Exception:
            # A run must not stay open because of a mistake of ours; the sweep ends it with this process.
            _log.exception("run %s could not be ended", run.run_id)
            self._parts.agent.owe(run.run_id, lambda: self._end(end, ending, leaving))

    def _end(self, end: AgentEnd, ending: RunEnding, leaving: Mapping[str, str]) -> None:
        texts = dict(leaving)
        if end.kind is EndKind.ANSWERED:
            texts[FINAL_OUTPUT] = end.text
        closed = self._close(ending, texts)
        if closed is None:
            return
        if closed.run.memory is MemoryState.PENDING:
            remembering(self._parts).settle(closed.run.run_id, closed.job)
        if self._learn:
            self._detect(closed.run)

    def _detect(self, run: Run) -> None:
        """Look for skills at once; where another worker was faster, wait a moment for what it finds."""
        do_due_jobs(self._parts, kinds=_DETECTING, limit=_DETECTED_AT_ONCE)
        until = time.monotonic() + _DETECTED_WITHIN_S
        while time.monotonic() < until:
            with self._parts.store.snapshot() as snapshot:
                job = snapshot.jobs.find(JobKind.DETECT, run.run_id)
            if job is None or job.state is not JobState.LEASED:
                return
            self._parts.agent.rest(_LOOK_S)

    def _close(self, ending: RunEnding, texts: Mapping[str, str]) -> Closed | None:
        """Its end, in one transaction; None where somebody else has ended it, or it is gone."""
        checked = check_ending(replace(ending, error=make_storable(ending.error)))
        act = Act(actor=AGENT, at=self._parts.clock.now(), reason=ending.reason)
        # Made before the transaction, for it takes a while to clean them.
        kept = [*self._requests.artifacts_to_keep(act.at), *self._artifacts(texts, act)]
        with self._parts.store.transaction() as tx:
            try:
                run, session = run_turn(tx, self._opened.run.run_id)
            except NotFound:
                return None
            if run.is_terminal:
                return None
            if is_captured(tx, session):
                present = {each.name for each in tx.runs.artifact_excerpts(run.run_id, chars_max=1)}
                for artifact in kept:
                    if artifact.name not in present and may_keep(tx, run, artifact):
                        add_artifact(tx, run, artifact)
            else:
                # What came before capture was turned off is remembered, and nothing that comes now.
                checked = RunEnding(status=ending.status, reason=ending.reason)
            if run.status in WAITING:
                run = move_run(tx, run, RunMove.RESUME, act.at)
            return closing(self._parts).close(tx, run, checked, act)

    def _artifacts(self, texts: Mapping[str, str], act: Act) -> Iterator[Artifact]:
        run = self._opened.run
        for name, text in texts.items():
            clean = redact_text(strip_injected(make_storable(text))).text
            yield Artifact(
                artifact_id=ArtifactId(self._parts.ids.new("art", act.at)),
                run_id=run.run_id,
                session_id=run.session_id,
                name=name,
                text=clean.encode()[: limits.ARTIFACT_BYTES_MAX].decode(errors="ignore"),
                created_at=act.at,
            )

    def _end_unstored(self, end: AgentEnd, ending: RunEnding) -> None:
        run = self._parts.private_runs.find(self._opened.run.run_id) or self._opened.run
        if run.is_terminal:
            return
        if run.status in WAITING:
            run = replace(run, status=RunStatus.RUNNING)
        agent = Caller(actor=AGENT, role=Role.AGENT)
        unstored = UnstoredRuns(runs=self._parts.private_runs, caller=agent)
        checked = check_ending(replace(ending, error=make_storable(ending.error)))
        after = unstored.end(run, checked.status, self._parts.clock.now())
        self._parts.private_runs.keep(replace(after, error=checked.error, reason=checked.reason))
        self._parts.agent.unkept.add(run.session_id, self._opened.text, end.text)


UNEXPECTED = "an unexpected error ended it; the log tells more"
_log = logging.getLogger(__name__)


def cancelled_ending() -> RunEnding:
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
    error = "the model failed" if failure is None else f"{failure.sentence} [{failure.code}]\n{failure.hint}"
    return RunEnding(status=RunStatus.FAILED, error=error.strip())


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
