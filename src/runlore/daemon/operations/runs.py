"""Runs: opened, noted, finished. Each is found through its session, which has to be the caller's own."""

from contextlib import suppress

from runlore.daemon.calls.access import may_use, own_session
from runlore.daemon.calls.idempotency import Call
from runlore.daemon.calls.lookups import askable
from runlore.daemon.calls.requests import checked_limit, clean_text, cut, place_of
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.runs.run_access import UnstoredRuns, new_run_id, own_artifact, own_run, own_run_turn
from runlore.daemon.runs.run_ends import closing, remembering
from runlore.daemon.runs.run_opening import RunOpening, run_view
from runlore.domain import limits
from runlore.domain.access import Role
from runlore.domain.errors import Invalid
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.record import Record
from runlore.domain.records.audit import Act
from runlore.domain.records.contracts import check_text
from runlore.domain.run import Artifact, ArtifactId, MemoryState, Run, RunId
from runlore.domain.session import SessionId
from runlore.flow.capture.consent import CaptureOff, is_captured, require_captured
from runlore.flow.capture.ending import RunEnding, check_ending, is_ended_so
from runlore.flow.capture.remember import Remembering
from runlore.flow.capture.runs import add_artifact, require_external, require_open_run
from runlore.flow.reactions import Closed, Closing
from runlore.flow.record.scratch import add_scratch, scratch_of, scratch_text
from runlore.ports import operations as ops
from runlore.ports.store import Collections, Transaction


class RunActs(Bound):
    """Runs of other agents, their notes and what they leave behind."""

    @property
    def remembering(self) -> Remembering:
        return remembering(self.parts)

    @property
    def closing(self) -> Closing:
        return closing(self.parts)

    @property
    def unstored(self) -> UnstoredRuns:
        return UnstoredRuns(runs=self.parts.private_runs, caller=self.caller)

    @operation
    def open_run(self, request: ops.NewRun) -> ops.RunView:
        call = Call(operation="open_run", request=request, key=request.idempotency_key)
        return RunOpening(parts=self.parts, caller=self.caller).open(request, call).view

    @operation
    def get_run(self, run_id: RunId) -> ops.RunView:
        with self.parts.store.snapshot() as snapshot:
            unstored = self.unstored.find(snapshot, run_id)
            if unstored is not None:
                return _unstored_view(unstored)
            run, _ = own_run(snapshot, self.caller, run_id)
            return run_view(snapshot, run)

    @operation
    def list_runs(self, request: ops.RunsRequest) -> ops.RunPage:
        limit = checked_limit(request.limit, limits.LIST_LIMIT_MAX)
        place = place_of(request.cursor)
        is_agent = self.caller.role is Role.AGENT
        session_id = None
        with self.parts.store.snapshot() as snapshot:
            if request.session_id is not None:
                session_id = SessionId(askable(request.session_id, "session"))
                own_session(snapshot, self.caller, session_id)
            found = snapshot.runs.page(
                limit=limit + 1,
                before=None if place is None else (place[0], RunId(place[1])),
                session_id=session_id,
                statuses=request.statuses or None,
                sessions_created_by=self.caller.actor if is_agent and session_id is None else None,
            )
            runs, cursor = cut(found, limit, lambda run: (run.opened_at, run.run_id))
            runs = tuple(run for run in runs if session_id is not None or self._may_see(snapshot, run))
            texts = snapshot.runs.request_excerpts(
                [run.run_id for run in runs], chars_max=limits.LISTED_CHARS_MAX
            )
        views = tuple(ops.RunView(run=run, request=texts.get(run.run_id, "")) for run in runs)
        return ops.RunPage(items=views, next_cursor=cursor)

    @operation
    def add_scratch(self, request: ops.NewScratch) -> Record | None:
        if self.unstored.holds(self.parts.store, request.run_id):
            return None
        text = scratch_text(request.text)

        def body(tx: Transaction, act: Act) -> tuple[Record, ...]:
            run, session = own_run_turn(tx, self.caller, request.run_id)
            require_captured(tx, session)
            require_open_run(run)
            tx.runs.touch(run.run_id, act.at)
            return (add_scratch(tx, self.intake(act), run, text),)

        call = Call(operation="add_scratch", request=request, key=request.idempotency_key)
        with suppress(CaptureOff):
            return self.write(call, body)[0]
        return None

    @operation
    def list_scratch(self, run_id: RunId) -> tuple[Record, ...]:
        with self.parts.store.snapshot() as snapshot:
            if self.unstored.find(snapshot, run_id) is not None:
                return ()
            run, _ = own_run(snapshot, self.caller, run_id)
            return scratch_of(snapshot.records, run.run_id)

    @operation
    def add_artifact(self, request: ops.NewArtifact) -> Artifact | None:
        name, text = _artifact_texts(request)
        if self.unstored.holds(self.parts.store, request.run_id):
            return None

        def do(tx: Transaction, act: Act) -> tuple[Artifact, str]:
            run, session = own_run_turn(tx, self.caller, request.run_id)
            require_external(run)
            require_captured(tx, session)
            artifact = Artifact(
                artifact_id=request.artifact_id or ArtifactId(self.parts.ids.new("art", act.at)),
                run_id=run.run_id,
                session_id=run.session_id,
                name=name,
                text=text,
                created_at=act.at,
            )
            kept = add_artifact(tx, run, artifact)
            return kept, kept.artifact_id

        def again(tx: Transaction, artifact_id: str) -> Artifact:
            return tx.runs.get_artifact(ArtifactId(artifact_id))

        call = Call(operation="add_artifact", request=request, key=request.idempotency_key)
        with suppress(CaptureOff):
            return self.acting.perform_named(call, do, again)
        return None

    @operation
    def get_artifact(self, artifact_id: ArtifactId) -> Artifact:
        with self.parts.store.snapshot() as snapshot:
            return own_artifact(snapshot, self.caller, artifact_id)

    @operation
    def list_artifacts(self, run_id: RunId) -> ops.ArtifactPage:
        with self.parts.store.snapshot() as snapshot:
            if self.unstored.find(snapshot, run_id) is not None:
                return ops.ArtifactPage(items=())
            run, _ = own_run(snapshot, self.caller, run_id)
            found = snapshot.runs.artifact_excerpts(run.run_id, chars_max=limits.LISTED_CHARS_MAX)
            return ops.ArtifactPage(items=found)

    @operation
    def finish_run(self, request: ops.RunEnd) -> ops.RunView:
        ending = check_ending(
            RunEnding(
                status=request.status,
                error=request.error,
                artifact_ids=request.artifact_ids,
                summarise_scratch=request.summarise_scratch,
            )
        )
        with self.parts.store.snapshot() as snapshot:
            unstored = self.unstored.find(snapshot, request.run_id)
        if unstored is not None:
            is_ended_so(unstored, ending)
            return _unstored_view(self.unstored.end(unstored, ending.status, self.parts.clock.now()))
        closed = self._finish(request, ending)
        if closed.run.memory is MemoryState.PENDING:
            self.remembering.settle(closed.run.run_id, closed.job)
        with self.parts.store.snapshot() as snapshot:
            return run_view(snapshot, snapshot.runs.get(closed.run.run_id))

    def _finish(self, request: ops.RunEnd, ending: RunEnding) -> Closed:
        def do(tx: Transaction, act: Act) -> tuple[Closed, str]:
            run, session = own_run_turn(tx, self.caller, request.run_id)
            if is_ended_so(run, ending):
                return Closed(run=run, job=None), run.run_id
            # What was reported before capture was turned off is remembered, and nothing that comes now.
            told = ending if is_captured(tx, session) else RunEnding(status=ending.status)
            return self.closing.close(tx, run, told, act), run.run_id

        def again(tx: Transaction, run_id: str) -> Closed:
            return Closed(run=tx.runs.get(RunId(run_id)), job=None)

        call = Call(operation="finish_run", request=request, key=request.idempotency_key)
        return self.acting.perform_named(call, do, again)

    def _may_see(self, collections: Collections, run: Run) -> bool:
        if self.caller.scopes is None and self.caller.role is not Role.AGENT:
            return True
        return may_use(self.caller, collections.sessions.get(run.session_id))


def _artifact_texts(request: ops.NewArtifact) -> tuple[str, str]:
    name = clean_text("the artifact's name", request.name, limits.TITLE_CHARS_MAX)
    text = check_text("the artifact", request.text)
    if not name:
        raise Invalid("the artifact has no name", code="artifact.name", hint="say what it is")
    if request.artifact_id is not None:
        new_run_id(RunId(request.artifact_id))
    if len(text.encode()) > limits.ARTIFACT_BYTES_MAX:
        raise Invalid(
            f"the artifact holds more than {limits.ARTIFACT_BYTES_MAX:,} bytes",
            code="artifact.size",
            hint="keep the part that matters, or several artifacts",
        )
    return name, redact_text(strip_injected(text)).text


def _unstored_view(run: Run) -> ops.RunView:
    return ops.RunView(run=run, request="", stored=False)
