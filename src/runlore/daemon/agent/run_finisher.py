"""The end of a run that Runlore worked: its status, artifacts and memory, and what is learned at once.

It is written as soon as the store can be written; until then the run is owed its end.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from runlore.daemon.agent.provider_requests import SentRequests
from runlore.daemon.agent.run_opening import AGENT, OpenedRun
from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.parts import Parts
from runlore.daemon.runs.run_access import UnstoredRuns
from runlore.daemon.runs.run_ends import closing, remembering
from runlore.domain import limits
from runlore.domain.access import Caller, Role
from runlore.domain.errors import NotFound, RunloreError
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.records.audit import Act
from runlore.domain.run import Artifact, ArtifactId, MemoryState, Run, RunId, RunMove, RunStatus
from runlore.domain.runs.job import JobKind, JobState
from runlore.domain.session import SessionId
from runlore.domain.text.storable import make_storable
from runlore.flow.capture.approvals import WAITING
from runlore.flow.capture.consent import is_captured
from runlore.flow.capture.ending import RunEnding, check_ending, interruption
from runlore.flow.capture.runs import add_artifact, move_run
from runlore.flow.capture.session_lock import run_turn
from runlore.flow.provider_requests import may_keep
from runlore.flow.reactions import Closed, close_where
from runlore.flow.skills.rollouts import FINAL_OUTPUT
from runlore.ports.runner import AgentEnd, EndKind
from runlore.ports.store import Transaction

_DETECTING = frozenset({JobKind.DETECT})
# How many runs are looked at for skills behind one: its own, and what others have left.
_DETECTED_AT_ONCE = 4
_DETECTED_WITHIN_S = 2.0
_LOOK_S = 0.02
_log = logging.getLogger(__name__)


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
        told = check_ending(replace(ending, error=make_storable(ending.error)))
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
                told = RunEnding(status=ending.status, reason=ending.reason)
            if run.status in WAITING:
                run = move_run(tx, run, RunMove.RESUME, act.at)
            return closing(self._parts).close(tx, run, told, act)

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
        told = check_ending(replace(ending, error=make_storable(ending.error)))
        after = unstored.end(run, told.status, self._parts.clock.now())
        self._parts.private_runs.keep(replace(after, error=told.error, reason=told.reason))
        self._parts.agent.unkept.add(run.session_id, self._opened.text, end.text)
