"""Opening runs: other agents' and Runlore's own, with the context that they are given, in one transaction."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial

from runlore.daemon.calls.access import keeps, own_session
from runlore.daemon.calls.idempotency import Call, Done, EarlierResult, IdempotentCalls
from runlore.daemon.calls.lookups import askable
from runlore.daemon.calls.requests import clean_text
from runlore.daemon.parts import Parts
from runlore.daemon.private_runs import PRIVATE_PREFIX
from runlore.daemon.runs.contexts import (
    ForgottenMeanwhile,
    gather_context,
    input_of,
    reached_scopes,
    sections_again,
    sections_now,
)
from runlore.daemon.runs.run_access import LONG_AGO, UnstoredRuns, new_run_id
from runlore.daemon.runs.run_ends import remembering
from runlore.domain import limits
from runlore.domain.access import Caller
from runlore.domain.errors import RunloreError, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.records.audit import Act
from runlore.domain.run import ProcessId, Run, RunId, RunStatus
from runlore.domain.runs.journal import Entry, text_of
from runlore.domain.session import Session, SessionId
from runlore.flow.capture.remember import build_counters, list_expired_runs, prune
from runlore.flow.capture.runs import open_run, require_open_session, require_same_run, require_unworked
from runlore.flow.capture.session_lock import session_turn
from runlore.flow.capture.sessions import CaptureOff, require_captured
from runlore.flow.lost_connections import repeat_if_lost
from runlore.flow.policies import current_run_memory
from runlore.flow.prompt_context.gathering import Input, PromptContext
from runlore.ports import operations as ops
from runlore.ports.store import Collections, Transaction

# How often what a run is given is gathered again because some of it was forgotten meanwhile.
_GATHERINGS_MAX = 8


def claim_nothing(_run_id: RunId) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A run as it was opened. One that was there already is not `is_new`: nothing is begun for it again.
    `skills` are those of the ones it was to be offered that were not held back."""

    view: ops.RunView
    session: Session
    is_new: bool
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Founding:
    """A session that is made with its first run, in one transaction: neither is ever there without the other.

    `session` is what it will be, and `asked_in` the stored session whose child it becomes, if any. `write`
    makes it, with whatever else has to be there before the run; it is told whether that is stored.
    """

    session: Session
    asked_in: SessionId | None
    write: Callable[[Transaction, Act, bool], None]


@dataclass(frozen=True, kw_only=True)
class RunOpening:
    """Opens runs for one caller. With an `executor` they are Runlore's own, worked by that process, one at a
    time in a session. `claim` is called before one that is new is opened, and may refuse it. Without
    `recovers` they are not told of the session's earlier runs. `skills` are the ids of those that one is to
    be offered."""

    parts: Parts
    caller: Caller
    executor: ProcessId | None = None
    claim: Callable[[RunId], None] = claim_nothing
    founding: Founding | None = None
    recovers: bool = True
    skills: tuple[str, ...] = ()

    @property
    def unstored(self) -> UnstoredRuns:
        return UnstoredRuns(runs=self.parts.private_runs, caller=self.caller)

    def open(self, request: ops.NewRun, call: Call) -> Opened:
        """Open a run, and give it its context where asked; under the call's key, once."""
        entry = input_of(request)
        session, captured = repeat_if_lost(partial(self._find, request), is_read=True)
        wanted = self._run_of(request, session)
        # What a run goes without is decided by its id, so that is there before what it is given.
        run_id = wanted.run_id or RunId(self.parts.ids.new("run", self.parts.clock.now()))
        for _ in range(_GATHERINGS_MAX):
            given = None
            if request.context:
                kept_as = run_id if captured else None
                gather = partial(self._gather_given, request, session, text_of(entry.body), kept_as)
                given = repeat_if_lost(gather, is_read=True)
            opening = _Opening(call=call, wanted=wanted, run_id=run_id, entry=entry, given=given)
            with suppress(ForgottenMeanwhile):
                if captured:
                    with suppress(CaptureOff):
                        return self._open_stored(opening, session)
                return self._open_unstored(opening, session)
        raise Unavailable(
            "what the run was to be given kept being forgotten", code="store.busy", hint="try again"
        )

    def _find(self, request: ops.NewRun) -> tuple[Session, bool]:
        """The session, and whether anything of it is kept."""
        with self.parts.store.snapshot() as snapshot:
            if self.founding is not None:
                session = self.founding.session
            else:
                session_id = SessionId(askable(request.session_id, "session"))
                session = own_session(snapshot, self.caller, session_id)
            return session, keeps(snapshot, session)

    def _gather_given(
        self, request: ops.NewRun, session: Session, text: str, run_id: RunId | None
    ) -> PromptContext:
        asked_in = session.session_id if self.founding is None else self.founding.asked_in
        asked = Input(
            session=session,
            scopes=reached_scopes(self.caller, session),
            text=text,
            model=request.model,
            prompt_tokens=request.prompt_tokens,
            run_id=run_id,
            recovers=self.recovers,
        )
        return gather_context(self.parts, self.caller, asked, asked_in=asked_in).offer(self.skills)

    def _open_stored(self, opening: "_Opening", session: Session) -> Opened:
        stale: tuple[RunId, ...] = ()
        is_new = False

        def do(tx: Transaction, act: Act) -> Done[ops.RunView]:
            nonlocal stale, is_new, session
            if self.founding is not None:
                self.founding.write(tx, act, True)
            session = session_turn(tx, opening.wanted.session_id)
            require_captured(tx, session)
            run_id = opening.run_id
            self.unstored.require_free(run_id, session.session_id)
            present = opening.present(tx, run_id)
            if present is not None:
                is_new = False
                return Done(opening.again(tx, present), name=run_id)
            sections = sections_now(tx, opening.given)
            self._require_free(tx, opening.wanted, act.at)
            self.claim(run_id)
            fresh = replace(opening.wanted, run_id=run_id, opened_at=act.at, active_at=act.at)
            run = open_run(tx, session, fresh, opening.entry)
            stale, is_new = self._take_effect(tx, run, opening.given), True
            return Done(ops.RunView(run=run, request=opening.text, sections=sections), name=run_id)

        def again(kept: EarlierResult) -> ops.RunView:
            return opening.again(kept.tx, kept.tx.runs.get(RunId(kept.name)))

        acting = IdempotentCalls(store=self.parts.store, clock=self.parts.clock, caller=self.caller)
        view = acting.perform(opening.call, do, again)
        self.parts.private_runs.drop(view.run.run_id)
        # The run is open, whatever becomes of these: a maintenance deletes what is left of them.
        with suppress(RunloreError):
            remembering(self.parts).drop(stale)
        return Opened(view=view, session=session, is_new=is_new, skills=opening.skills)

    def _open_unstored(self, opening: "_Opening", session: Session) -> Opened:
        wanted = opening.wanted
        if self.founding is not None:
            with self.parts.store.transaction() as tx:
                self.founding.write(tx, Act(actor=self.caller.actor, at=self.parts.clock.now()), False)
                session = tx.sessions.get(wanted.session_id)
        require_open_session(session)
        with self.parts.store.snapshot() as snapshot:
            present = opening.present(snapshot, wanted.run_id)
            if present is not None:
                return Opened(view=opening.again(snapshot, present), session=session, is_new=False)
            sections = sections_now(snapshot, opening.given)
            now = self.parts.clock.now()
            known = self.parts.private_runs.find(wanted.run_id)
            run_id = wanted.run_id or RunId(self.parts.ids.new(PRIVATE_PREFIX, now))
            if known is None:
                self._require_free(snapshot, wanted, now)
                self.claim(run_id)
        fresh = replace(wanted, run_id=run_id, opened_at=now, active_at=now)
        run = self.unstored.open(fresh)
        view = ops.RunView(run=run, request="", sections=sections, stored=False)
        return Opened(view=view, session=session, is_new=run is fresh, skills=opening.skills)

    def _take_effect(self, tx: Transaction, run: Run, given: PromptContext | None) -> tuple[RunId, ...]:
        """Keep the receipt, prune what leads to nothing any more, and count: the memories to delete."""
        expired = list_expired_runs(
            tx, run.session_id, current_run_memory(tx), self.parts.clock.earliest_now()
        )
        pruned = prune(tx, expired if given is None else (*expired, *given.unreadable))
        counters = build_counters(pruned_ttl_total=len(set(expired).intersection(pruned)))
        if given is not None:
            tx.runs.put_receipt(given.receipt(run.run_id, run.opened_at))
            counters.update(given.counters)
        if counters:
            tx.counters.add(counters)
        return pruned

    def _require_free(self, collections: Collections, wanted: Run, now: datetime) -> None:
        if self.executor is not None:
            require_unworked(collections, wanted.session_id, now)

    def _run_of(self, request: ops.NewRun, session: Session) -> Run:
        """The run that a request asks for; the time, the number and a missing id come with the act."""
        agent = clean_text("the agent", request.agent or "", limits.ID_CHARS_MAX)
        model = clean_text("the model", request.model or "", limits.MODEL_CHARS_MAX)
        return Run(
            run_id=RunId("") if request.run_id is None else new_run_id(request.run_id),
            session_id=session.session_id,
            status=RunStatus.RUNNING,
            agent=agent or session.agent,
            model=model or None,
            executor=self.executor,
            input_number=0,
            created_by=self.caller.actor,
            opened_at=LONG_AGO,
            active_at=LONG_AGO,
        )


@dataclass(frozen=True, kw_only=True)
class _Opening:
    """One run to open: what was called for, what it becomes, its id where it is stored, and what it is
    given."""

    call: Call
    wanted: Run
    run_id: RunId
    entry: Entry
    given: PromptContext | None

    @property
    def text(self) -> str:
        return text_of(self.entry.body)

    @property
    def skills(self) -> tuple[str, ...]:
        return () if self.given is None else self.given.skills

    def present(self, collections: Collections, run_id: RunId) -> Run | None:
        """The run that is stored already, where it is what is asked for once more."""
        present = collections.runs.find(run_id)
        if present is None:
            return None
        same = collections.journal.inputs([run_id]).get(run_id) == self.text
        return require_same_run(present, self.wanted, same_input=same)

    def again(self, collections: Collections, run: Run) -> ops.RunView:
        """The run as it is, with the sections that it was given; where there were none, those of now."""
        sections = None if self.given is None else sections_again(collections, run.run_id)
        if sections is None:
            sections = sections_now(collections, self.given)
        return replace(run_view(collections, run), sections=sections)


def run_view(collections: Collections, run: Run) -> ops.RunView:
    texts: Mapping[RunId, str] = collections.journal.inputs([run.run_id])
    return ops.RunView(run=run, request=texts.get(run.run_id, ""))
