"""Journals: what agents report of their runs, and what can be read of it."""

from contextlib import suppress

from runlore.daemon.calls.access import own_session
from runlore.daemon.calls.idempotency import Call, Done
from runlore.daemon.calls.lookups import askable
from runlore.daemon.calls.requests import checked_limit, number_of
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.runs.run_access import UnstoredRuns, own_run, own_run_turn
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.records.audit import Act
from runlore.domain.run import RunId
from runlore.domain.runs.journal import Entry, JournalEvent
from runlore.domain.runs.journal_entry import checkpoint_entry, parse_entry
from runlore.domain.session import SessionId
from runlore.flow.capture.consent import CaptureOff, is_captured, require_captured
from runlore.flow.capture.runs import add_checkpoint, append_events, require_external
from runlore.flow.capture.session_lock import session_turn
from runlore.flow.capture.usage import usage_counters
from runlore.ports import operations as ops
from runlore.ports.store import Snapshot, Transaction

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
            return Done(answer=answer(number), name=session_id, number=number)

        def answer(number: int) -> ops.Appended:
            return ops.Appended(first_number=number, last_number=number)

        call = Call(operation="add_checkpoint", request=request, key=request.idempotency_key)
        with suppress(CaptureOff):
            return self.acting.perform_numbered(call, do, answer)
        return _NOT_STORED

    @operation
    def journal(self, request: ops.JournalRequest) -> ops.JournalPage:
        if (request.run_id is None) is (request.session_id is None):
            raise Invalid(
                "a journal is of one run or of one session",
                code="journal.of",
                hint="give either run_id or session_id",
            )
        limit = checked_limit(request.limit, limits.EVENTS_PER_CALL_MAX)
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
