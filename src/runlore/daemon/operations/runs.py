"""Runs: opened, noted, finished. Each is found through its session, which has to be the caller's own."""

from contextlib import suppress
from dataclasses import replace

from runlore.daemon.access import keeps, may_use, own_session
from runlore.daemon.acts import Call
from runlore.daemon.contexts import (
    ForgottenMeanwhile,
    given_to,
    input_of,
    sections_again,
    sections_now,
)
from runlore.daemon.lookups import askable
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.pages import cut, moment_and_id
from runlore.daemon.private_runs import PRIVATE_PREFIX
from runlore.daemon.requests import checked_limit, clean_text
from runlore.daemon.run_access import LONG_AGO, Unstored, new_run_id, own_artifact, own_run, own_run_turn
from runlore.daemon.run_ends import closing, remembering
from runlore.domain import limits
from runlore.domain.access import Role
from runlore.domain.audit import Act
from runlore.domain.contracts import check_text
from runlore.domain.errors import Invalid, Unavailable
from runlore.domain.injected import stripped
from runlore.domain.journal import Entry, text_of
from runlore.domain.record import Record
from runlore.domain.redaction import redacted
from runlore.domain.run import Artifact, ArtifactId, MemoryState, Run, RunId, RunStatus
from runlore.domain.session import Session, SessionId
from runlore.flow.capture.consent import CaptureOff, is_captured, require_captured
from runlore.flow.capture.ending import RunEnding, checked_ending, is_ended_so
from runlore.flow.capture.remember import Remembering, counted, expired_runs, prune
from runlore.flow.capture.runs import (
    add_artifact,
    open_run,
    require_open_run,
    require_open_session,
    require_same_run,
)
from runlore.flow.capture.turns import session_turn
from runlore.flow.policies import current_run_memory
from runlore.flow.project.given import Given
from runlore.flow.reactions import Closed, Closing
from runlore.flow.record.scratch import add_scratch, scratch_of, scratch_text
from runlore.ports import operations as ops
from runlore.ports.store import Collections, Transaction

# How often what a run is given is gathered again because some of it was forgotten meanwhile.
_GATHERINGS_MAX = 8


class RunActs(Bound):
    """Runs of other agents, their notes and what they leave behind."""

    @property
    def remembering(self) -> Remembering:
        """What writes run memories."""
        return remembering(self.parts)

    @property
    def closing(self) -> Closing:
        """What ends runs."""
        return closing(self.parts)

    @property
    def unstored(self) -> Unstored:
        """The runs of which nothing is stored."""
        return Unstored(runs=self.parts.private_runs, caller=self.caller)

    @operation
    def open_run(self, request: ops.NewRun) -> ops.RunView:
        """Open a run that another agent works, and give it its context where asked."""
        entry = input_of(request)
        session_id = SessionId(askable(request.session_id, "session"))
        with self.parts.store.snapshot() as snapshot:
            session = own_session(snapshot, self.caller, session_id)
            captured = keeps(snapshot, session)
        wanted = _run_of(request, session, self.caller.actor)
        for _ in range(_GATHERINGS_MAX):
            given = None
            if request.context:
                given = given_to(self.parts, self.caller, session, request, text=text_of(entry.body))
            with suppress(ForgottenMeanwhile):
                if captured:
                    with suppress(CaptureOff):
                        return self._open(request, wanted, entry, given)
                return self._open_unstored(session, wanted, entry, given)
        raise Unavailable(
            "what the run was to be given kept being forgotten", code="store.busy", hint="try again"
        )

    @operation
    def get_run(self, run_id: RunId) -> ops.RunView:
        """One run."""
        with self.parts.store.snapshot() as snapshot:
            unstored = self.unstored.find(snapshot, run_id)
            if unstored is not None:
                return _unstored_view(unstored)
            run, _ = own_run(snapshot, self.caller, run_id)
            return _view(snapshot, run)

    @operation
    def list_runs(self, request: ops.RunsRequest) -> ops.RunPage:
        """Runs, the newest first, each with the beginning of its request."""
        limit = checked_limit(request.limit, limits.LIST_LIMIT_MAX)
        place = moment_and_id(request.cursor)
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
        """A working record of the run; None where nothing is stored."""
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
        """A run's working records, oldest first."""
        with self.parts.store.snapshot() as snapshot:
            if self.unstored.find(snapshot, run_id) is not None:
                return ()
            run, _ = own_run(snapshot, self.caller, run_id)
            return scratch_of(snapshot.records, run.run_id)

    @operation
    def add_artifact(self, request: ops.NewArtifact) -> Artifact | None:
        """Keep a text of the run; None where nothing is stored."""
        name, text = _artifact_texts(request)
        if self.unstored.holds(self.parts.store, request.run_id):
            return None

        def do(tx: Transaction, act: Act) -> tuple[Artifact, str]:
            run, session = own_run_turn(tx, self.caller, request.run_id)
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
        """One artifact."""
        with self.parts.store.snapshot() as snapshot:
            return own_artifact(snapshot, self.caller, artifact_id)

    @operation
    def list_artifacts(self, run_id: RunId) -> ops.ArtifactPage:
        """A run's artifacts, oldest first, each with the beginning of its text."""
        with self.parts.store.snapshot() as snapshot:
            if self.unstored.find(snapshot, run_id) is not None:
                return ops.ArtifactPage(items=())
            run, _ = own_run(snapshot, self.caller, run_id)
            found = snapshot.runs.artifact_excerpts(run.run_id, chars_max=limits.LISTED_CHARS_MAX)
            return ops.ArtifactPage(items=found)

    @operation
    def finish_run(self, request: ops.RunEnd) -> ops.RunView:
        """End an external run. Its memory is there when this is answered."""
        ending = checked_ending(
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
            return _unstored_view(self.unstored.ended(unstored, ending.status, self.parts.clock.now()))
        closed = self._finish(request, ending)
        if closed.run.memory is MemoryState.PENDING:
            self.remembering.settle(closed.run.run_id, closed.job)
        with self.parts.store.snapshot() as snapshot:
            return _view(snapshot, snapshot.runs.get(closed.run.run_id))

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

    def _open(self, request: ops.NewRun, wanted: Run, entry: Entry, given: Given | None) -> ops.RunView:
        stale: tuple[RunId, ...] = ()

        def do(tx: Transaction, act: Act) -> tuple[ops.RunView, str]:
            nonlocal stale
            session = session_turn(tx, wanted.session_id)
            require_captured(tx, session)
            run_id = request.run_id or RunId(self.parts.ids.new("run", act.at))
            self.unstored.require_free(run_id, session.session_id)
            present = self._present(tx, run_id, wanted, entry)
            if present is not None:
                return self._again(tx, present, given), run_id
            sections = sections_now(tx, given)
            fresh = replace(wanted, run_id=run_id, opened_at=act.at, active_at=act.at)
            run = open_run(tx, session, fresh, entry)
            stale = _take_effect(tx, run, given)
            return ops.RunView(run=run, request=text_of(entry.body), sections=sections), run_id

        def again(tx: Transaction, run_id: str) -> ops.RunView:
            return self._again(tx, tx.runs.get(RunId(run_id)), given)

        call = Call(operation="open_run", request=request, key=request.idempotency_key)
        view = self.acting.perform_named(call, do, again)
        self.parts.private_runs.drop(view.run.run_id)
        self.remembering.drop(stale)
        return view

    def _present(self, collections: Collections, run_id: RunId, wanted: Run, entry: Entry) -> Run | None:
        """The run that is stored already, where it is what is asked for once more."""
        present = collections.runs.find(run_id)
        if present is None:
            return None
        same = collections.journal.inputs([run_id]).get(run_id) == text_of(entry.body)
        return require_same_run(present, wanted, same_input=same)

    def _again(self, collections: Collections, run: Run, given: Given | None) -> ops.RunView:
        """The run as it is, with the sections that it was given; where there were none, those of now."""
        sections = None if given is None else sections_again(collections, run.run_id)
        if sections is None:
            sections = sections_now(collections, given)
        return replace(_view(collections, run), sections=sections)

    def _open_unstored(self, session: Session, wanted: Run, entry: Entry, given: Given | None) -> ops.RunView:
        require_open_session(session)
        with self.parts.store.snapshot() as snapshot:
            present = self._present(snapshot, wanted.run_id, wanted, entry)
            if present is not None:
                return self._again(snapshot, present, given)
            sections = sections_now(snapshot, given)
        now = self.parts.clock.now()
        run_id = wanted.run_id or RunId(self.parts.ids.new(PRIVATE_PREFIX, now))
        run = self.unstored.opened(replace(wanted, run_id=run_id, opened_at=now, active_at=now))
        return replace(_unstored_view(run), sections=sections)

    def _may_see(self, collections: Collections, run: Run) -> bool:
        if self.caller.scopes is None and self.caller.role is not Role.AGENT:
            return True
        return may_use(self.caller, collections.sessions.get(run.session_id))


def _take_effect(tx: Transaction, run: Run, given: Given | None) -> tuple[RunId, ...]:
    """Keep the receipt, prune what leads to nothing any more, and count: the memories to delete."""
    expired = expired_runs(tx, run.session_id, current_run_memory(tx), run.opened_at)
    pruned = prune(tx, expired if given is None else (*expired, *given.unreadable))
    counters = counted(pruned_ttl_total=len(set(expired).intersection(pruned)))
    if given is not None:
        tx.runs.put_receipt(given.receipt(run.run_id, run.opened_at))
        counters.update(given.counters)
    if counters:
        tx.counters.add(counters)
    return pruned


def _run_of(request: ops.NewRun, session: Session, actor: str) -> Run:
    """The run that a request asks for; the time, the number and a missing id come with the act."""
    agent = clean_text("the agent", request.agent or "", limits.ID_CHARS_MAX)
    model = clean_text("the model", request.model or "", limits.MODEL_CHARS_MAX)
    return Run(
        run_id=RunId("") if request.run_id is None else new_run_id(request.run_id),
        session_id=session.session_id,
        status=RunStatus.RUNNING,
        agent=agent or session.agent,
        model=model or None,
        input_number=0,
        created_by=actor,
        opened_at=LONG_AGO,
        active_at=LONG_AGO,
    )


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
    return name, redacted(stripped(text)).text


def _view(collections: Collections, run: Run) -> ops.RunView:
    return ops.RunView(run=run, request=collections.journal.inputs([run.run_id]).get(run.run_id, ""))


def _unstored_view(run: Run) -> ops.RunView:
    return ops.RunView(run=run, request="", stored=False)
