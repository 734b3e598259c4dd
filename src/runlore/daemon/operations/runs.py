"""Runs: opened, noted, finished. Each is found through its session, which has to be the caller's own."""

from contextlib import suppress
from dataclasses import replace
from functools import partial

from runlore.daemon.calls.access import may_use, own_session
from runlore.daemon.calls.idempotency import Call, Done, EarlierResult
from runlore.daemon.calls.lookups import askable
from runlore.daemon.calls.requests import check_limit, clean_text, cursor_at, cut_page, number_of, read_cursor
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
from runlore.domain.runs.journal import Entry, JournalEvent
from runlore.domain.runs.journal_entry import checkpoint_entry, parse_entry
from runlore.domain.session import SessionId
from runlore.flow.capture.ending import RunEnding, check_ending, is_ended_so
from runlore.flow.capture.remember import Remembering
from runlore.flow.capture.runs import (
    add_artifact,
    add_checkpoint,
    append_events,
    require_external,
    require_open_run,
    usage_counters,
)
from runlore.flow.capture.session_lock import session_turn
from runlore.flow.capture.sessions import CaptureOff, is_captured, require_captured
from runlore.flow.lost_connections import repeat_if_lost
from runlore.flow.reactions import Closed, Closing
from runlore.flow.record.intake import add_scratch, scratch_of, scratch_text
from runlore.ports import operations as ops
from runlore.ports.store import Collections, Snapshot, Transaction

_NOT_STORED = ops.Appended(first_number=None, last_number=None, stored=False)


class JournalActs(Bound):
    """Appending to journals, and reading them."""

    @property
    def unstored(self) -> UnstoredRuns:
        return UnstoredRuns(runs=self.parts.private_runs, caller=self.caller)

    @operation
    def append_events(self, request: ops.NewEvents) -> ops.Appended:
        entries = _to_entries(request)
        if self.unstored.holds(self.parts.store, request.run_id):
            return _NOT_STORED
        with self.parts.store.transaction() as tx:
            run, session = own_run_turn(tx, self.caller, request.run_id)
            require_external(run)
            if not is_captured(tx, session):
                return _NOT_STORED
            at = self.parts.clock.now()
            numbers = append_events(tx, run, entries, first_number=request.first_number, at=at)
            if not numbers.repeated:
                learned = usage_counters(tx, run, entries, first=numbers.first, families=self.parts.families)
                if learned:
                    tx.counters.add(learned)
        return ops.Appended(first_number=numbers.first, last_number=numbers.last)

    @operation
    def add_checkpoint(self, request: ops.NewCheckpoint) -> ops.Appended:
        entry = checkpoint_entry(request.text)
        session_id = SessionId(askable(request.session_id, "session"))
        with self.parts.store.snapshot() as snapshot:
            own_session(snapshot, self.caller, session_id)

        def do(tx: Transaction, act: Act) -> Done[ops.Appended]:
            session = session_turn(tx, session_id)
            require_captured(tx, session)
            number = add_checkpoint(tx, session, entry, act.at)
            # Under the session's name, so that it goes when the session is forgotten.
            return Done(answer(number), numbers={session_id: number})

        def answer(number: int) -> ops.Appended:
            return ops.Appended(first_number=number, last_number=number)

        call = Call(operation="add_checkpoint", request=request, key=request.idempotency_key)
        with suppress(CaptureOff):
            return self.acting.perform(call, do, lambda kept: answer(kept.numbers[session_id]))
        return _NOT_STORED

    @operation
    def journal(self, request: ops.JournalRequest) -> ops.JournalPage:
        if (request.run_id is None) is (request.session_id is None):
            raise Invalid(
                "a journal is of one run or of one session",
                code="journal.of",
                hint="give either run_id or session_id",
            )
        limit = check_limit(request.limit, limits.EVENTS_PER_CALL_MAX)
        after = number_of(request.cursor)
        if request.run_id is not None and self.unstored.holds(self.parts.store, request.run_id):
            return ops.JournalPage(items=())
        with self.parts.store.snapshot() as snapshot:
            run_id, session_id, start = self._resolve_journal(snapshot, request)
            after = max(after, start)
            found = snapshot.journal.page(session_id=session_id, run_id=run_id, after=after, limit=limit + 1)
            items = found[:limit]
            more = len(found) > limit or _has_more(snapshot, run_id, session_id, items)
        return ops.JournalPage(items=items, next_cursor=str(items[-1].number) if more else None)

    def _resolve_journal(
        self, snapshot: Snapshot, request: ops.JournalRequest
    ) -> tuple[RunId | None, SessionId | None, int]:
        if request.run_id is not None:
            run, session = own_run(snapshot, self.caller, request.run_id)
            asked: tuple[RunId | None, SessionId | None] = (run.run_id, None)
        else:
            session_id = SessionId(askable(request.session_id or "", "session"))
            session = own_session(snapshot, self.caller, session_id)
            asked = (None, session_id)
        start = (session.checkpoint_number or 1) - 1 if request.since_checkpoint else 0
        return *asked, start


def _to_entries(request: ops.NewEvents) -> tuple[Entry, ...]:
    if not 1 <= len(request.events) <= limits.EVENTS_PER_CALL_MAX:
        raise Invalid(
            f"there are {len(request.events)} events, outside 1 to {limits.EVENTS_PER_CALL_MAX}",
            code="events.count",
            hint="append at least one event, and long histories in several calls",
        )
    first = request.first_number
    if first is not None and (isinstance(first, bool) or not 1 <= first < 2**62):
        raise Invalid(
            "first_number is not a number of a journal",
            code="journal.first-number",
            hint="numbers begin with 1; leave it out to append behind the last one",
        )
    return tuple(parse_entry(event) for event in request.events)


def _has_more(
    snapshot: Snapshot,
    run_id: RunId | None,
    session_id: SessionId | None,
    items: tuple[JournalEvent, ...],
) -> bool:
    """A page may be short because its bodies are large."""
    if not items:
        return False
    return bool(snapshot.journal.page(session_id=session_id, run_id=run_id, after=items[-1].number, limit=1))


class RunActs(JournalActs):
    """Runs of other agents, their notes and what they leave behind."""

    @property
    def remembering(self) -> Remembering:
        return remembering(self.parts)

    @property
    def closing(self) -> Closing:
        return closing(self.parts)

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
            return replace(run_view(snapshot, run), outcome=snapshot.outcomes.find(run.run_id))

    @operation
    def list_runs(self, request: ops.RunsRequest) -> ops.RunPage:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        is_agent = self.caller.role is Role.AGENT
        session_id = None
        with self.parts.store.snapshot() as snapshot:
            if request.session_id is not None:
                session_id = SessionId(askable(request.session_id, "session"))
                own_session(snapshot, self.caller, session_id)
            found = snapshot.runs.page(
                limit=limit + 1,
                before=read_cursor(request.cursor, RunId),
                session_id=session_id,
                given=request.given,
                statuses=request.statuses or None,
                sessions_created_by=self.caller.actor if is_agent and session_id is None else None,
            )
            runs, cursor = cut_page(found, limit, lambda run: cursor_at(run.opened_at, run.run_id))
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

        def do(tx: Transaction, act: Act) -> Done[Artifact]:
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
            return Done(kept, name=kept.artifact_id)

        def again(kept: EarlierResult) -> Artifact:
            return kept.tx.runs.get_artifact(ArtifactId(kept.name))

        call = Call(operation="add_artifact", request=request, key=request.idempotency_key)
        with suppress(CaptureOff):
            return self.acting.perform(call, do, again)
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
        view = self.end_run(request)
        self.parts.backlog.wait()
        return view

    def end_run(self, request: ops.RunEnd) -> ops.RunView:
        """The same for a hook, whose agent waits for it: it never waits for others' runs."""
        ending = check_ending(
            RunEnding(
                status=request.status,
                error=request.error,
                artifact_ids=request.artifact_ids,
                summarise_scratch=request.summarise_scratch,
            )
        )
        return repeat_if_lost(partial(self._end, request, ending))

    def _end(self, request: ops.RunEnd, ending: RunEnding) -> ops.RunView:
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
        def do(tx: Transaction, act: Act) -> Done[Closed]:
            run, session = own_run_turn(tx, self.caller, request.run_id)
            if request.outcome is not None:
                tx.outcomes.put(run.run_id, run.opened_at, request.outcome)
            if is_ended_so(run, ending):
                return Done(Closed(run=run, job=None), name=run.run_id)
            # What was reported before capture was turned off is remembered, and nothing that comes now.
            stored_ending = ending if is_captured(tx, session) else RunEnding(status=ending.status)
            return Done(self.closing.close(tx, run, stored_ending, act), name=run.run_id)

        def again(kept: EarlierResult) -> Closed:
            return Closed(run=kept.tx.runs.get(RunId(kept.name)), job=None)

        call = Call(operation="finish_run", request=request, key=request.idempotency_key)
        return self.acting.perform(call, do, again)

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
