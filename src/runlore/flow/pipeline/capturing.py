"""Capturing a run: what it taught becomes candidates, behind its end and in nobody's way.

What a job does is read in a snapshot, asked of a model outside any transaction, and written in one: the
candidates, the receipt and the end of the job together, or nothing. Where a policy, the receipt or the run
itself moved meanwhile it is done again. Whatever dies in between leaves the job, which another takes over.
What needs no model never waits for one: labels are written at once, and the receipt stays pending.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import datetime, timedelta

from runlore.domain import limits
from runlore.domain.claims.subject import SemanticKey
from runlore.domain.errors import Invalid, Refused
from runlore.domain.lazy import dataclass
from runlore.domain.learning.extraction import SCHEMA, Dropped, Sieve, Sieved, Statement, document
from runlore.domain.learning.labels import find_labelled
from runlore.domain.learning.remember_requests import find_remember_requests
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.prompts.run_memory import Capture, CaptureState
from runlore.domain.record import (
    PROMPT_KINDS,
    Layer,
    Origin,
    Record,
    RecordId,
    StateReason,
    VerificationStatus,
)
from runlore.domain.records.admission import Draft, Stamp, admit
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.run import Run, RunId
from runlore.domain.runs.job import ASKED_LATER, Job, retry_at
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.taint import inherit
from runlore.domain.text.excerpt import excerpt
from runlore.flow.capture.semantic import (
    CaptureView,
    bare_summary_draft,
    echoes,
    get_pointer_state,
    input_ref,
    is_capturable,
    look,
    note_unlooked,
    own_words_drafts,
    statement_draft,
    summary_draft,
    terms_of_capture,
)
from runlore.flow.capture.session_lock import Beat, skip_beat
from runlore.flow.model_budget import LATER, MODEL_BUDGET, BudgetedModels, budget_renews_at
from runlore.flow.origins import record_outside, trace_text
from runlore.flow.publish.promote_tier import amend, note_support
from runlore.flow.queueing import queue_recurring
from runlore.flow.record.intake import Intake, propose_admitted
from runlore.ports.ids import Ids
from runlore.ports.model import ModelFailure, ModelPurpose, Question
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Store, Transaction

REASON = "captured from a run"
SAID = "said by the user"

# Without a model, or where it has no answer to this run, the labels are all there is. Anything else that
# goes wrong with a model may be mended: the job tries again, and at last says among the dead what is wrong.
FINAL = frozenset({"model.none", "model.question", "model.refused", "model.answer"})


@dataclass(frozen=True, kw_only=True)
class _Wait:
    """Why a model has to be asked once more. `is_failure` counts as an attempt, and comes again no earlier
    than failing jobs do."""

    reason: str
    until: datetime
    is_failure: bool = False


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What a run says, and what has to be waited for before all of it is known."""

    sieved: Sieved = field(default_factory=lambda: Sieved(dropped={}))
    wait: _Wait | None = None


@dataclass(frozen=True, kw_only=True)
class _Ready:
    """A draft, and the record that it would be."""

    draft: Draft
    record: Record


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    """All that a capture will write, before anything is."""

    sight: CaptureView
    found: _Found
    ready: Sequence[_Ready]
    own: Sequence[_Ready]
    dropped: Mapping[Dropped, int]

    @property
    def scopes(self) -> set[Scope]:
        session = Scope(ScopeKind.SESSION, self.sight.run.session_id)
        return {session, *(each.record.scope for each in (*self.ready, *self.own))}


@dataclass(frozen=True, kw_only=True)
class Capturing:
    """What captures runs. With `may_ask` false no model is asked, and what needs one is left for later."""

    store: Store
    memories: RunMemories
    asking: BudgetedModels
    ids: Ids
    may_ask: bool = True

    def capture(self, job: Job, beat: Beat = skip_beat) -> None:
        """Do one job; Conflict (`job.lost`) where another has taken it over, and then nothing is written."""
        run_id = RunId(job.subject)
        noted = None
        is_done = False
        while not is_done:
            beat()
            is_done, noted = self._attempt(run_id, job, beat)
        if noted is not None:
            # A copy for readers: whoever dies before this line leaves a receipt that the next start copies.
            self.memories.note_capture(run_id, noted)

    def _attempt(self, run_id: RunId, job: Job, beat: Beat) -> tuple[bool, CaptureState | None]:
        """Whether it is done, and the receipt that came of it; not done where something moved meanwhile."""
        with self.store.snapshot() as snapshot:
            sight = look(snapshot, run_id, self.asking.clock.now(), beat=beat)
        if sight is None:
            with self.store.transaction() as tx:
                tx.jobs.finish(job)
            return True, None
        prepared = self._prepare(sight, job)
        with self.store.transaction() as tx:
            # All scopes before the job: whoever forgets the run takes them in this order too.
            tx.lock(prepared.scopes)
            return (True, _state(prepared)) if self._finish(tx, job, prepared) else (False, None)

    def capture_together(self, jobs: Sequence[Job], beat: Beat = skip_beat) -> list[Job]:
        """Do jobs that no model is asked about in one transaction, one of each session: those that are left.
        What a run of the same session writes is to be seen by the next one."""
        sights: dict[SessionId, tuple[Job, CaptureView]] = {}
        with self.store.snapshot() as snapshot:
            for job in jobs:
                run = snapshot.runs.find(RunId(job.subject))
                if run is None or run.session_id in sights:
                    continue
                sight = look(snapshot, run.run_id, self.asking.clock.now(), beat=beat)
                if sight is not None and not sight.terms.learning.capture.semantic_candidates.model:
                    sights[run.session_id] = job, sight
        prepared = [(job, self._prepare(sight, job)) for job, sight in sights.values()]
        with self.store.transaction() as tx:
            tx.lock({scope for _, each in prepared for scope in each.scopes})
            done = {job.job_id: each for job, each in prepared if self._finish(tx, job, each)}
        for each in done.values():
            self.memories.note_capture(each.sight.run.run_id, _state(each))
        return [job for job in jobs if job.job_id not in done]

    def _prepare(self, sight: CaptureView, job: Job) -> _Prepared:
        if sight.wants_statements:
            found = self._find_statements(sight, job)
        else:
            found = _Found(sieved=_sieve(sight).result()) if sight.wants_own_words else _Found()
        now = self.asking.clock.now()
        said, dropped = own_words_drafts(sight)
        return _Prepared(
            sight=sight,
            found=found,
            ready=_drafts(sight, found.sieved.statements, now),
            own=_ready(said, now),
            dropped=dropped,
        )

    def _finish(self, tx: Transaction, job: Job, prepared: _Prepared) -> bool:
        """Write a capture and end its job; False, and nothing written, where something moved meanwhile. The
        caller has locked its scopes."""
        sight, found = prepared.sight, prepared.found
        run = tx.runs.find(sight.run.run_id)
        tx.jobs.check(job)
        now = self.asking.clock.now()
        if not _still(tx, run, sight, now):
            return False
        act = Act(actor=DAEMON, at=now, reason=REASON)
        traced = [_trace(tx, sight, each, now) for each in prepared.ready]
        self._write(tx, traced, act, ended_at=sight.run.finished_at)
        own = _not_proposed_before(tx, sight.run.run_id, prepared.own)
        self._write(tx, own, replace(act, reason=SAID))
        _note(tx, sight, _state(prepared), now)
        _close(tx, job, found.wait, now)
        _count(tx, found, prepared.dropped)
        if sight.is_heard:
            queue_recurring(tx, self.ids, sight.binding, now)
        return True

    def _find_statements(self, sight: CaptureView, job: Job) -> _Found:
        """What the user labels or asks to remember, and what a model adds to that; what was written before is
        not found again."""
        sieve = _sieve(sight)
        labels = sieve.kept
        if sight.has_labels_written:
            sieve = _sieve(sight, known=labels)
        wait = None if sieve.is_full else self._add_asked(sight, sieve, labels, job)
        sieve.drop(Dropped.ECHO, echoes(sight, sieve.kept))
        return _Found(sieved=sieve.result(), wait=wait)

    def _add_asked(
        self, sight: CaptureView, sieve: Sieve, labels: Sequence[Statement], job: Job
    ) -> _Wait | None:
        """Add what a model says. Its failing costs nothing of what is there; some of it is tried again."""
        policy = sight.terms.learning.capture.semantic_candidates
        is_set = bool(policy.model) or self.asking.models.is_configured
        if not is_set or not (sight.text.request.strip() or sight.text.outcome.strip()):
            return None
        now = self.asking.clock.now()
        if not self.may_ask:
            return _Wait(reason=ASKED_LATER, until=now + LATER)
        question = Question(
            purpose=ModelPurpose.EXTRACTION,
            document=document(
                sight.text,
                sight.memory,
                labels,
                cap=max(1, policy.max_candidates_per_run - len(labels)),
                personal=sight.terms.run_memory.redact_pii,
            ),
            schema=SCHEMA,
            model=policy.model,
            timeout_s=policy.timeout_s,
        )
        self.asking.hold_job(job, policy.timeout_s)
        try:
            reply = self.asking.ask(question, sight.terms.learning.model_budget)
        except ModelFailure as failure:
            if failure.code in FINAL:
                return None
            return _waiting_for(failure, now)
        sieve.add_answer(reply.output, sight.text)
        return None

    def _write(
        self, tx: Transaction, ready: Sequence[_Ready], act: Act, *, ended_at: datetime | None = None
    ) -> None:
        """Propose what is new; what a live record says already gets its evidence. What a user labels or asks
        to remember in a run that ended since people turned it down is proposed again."""
        intake = Intake(ids=self.ids, act=act, origin=Origin.DAEMON)
        for each in ready:
            if each.record.is_expired(act.at):
                continue
            known = find_equal_record(tx, each.record, act.at)
            if known is None:
                if not is_turned_down(tx, each.record, since=ended_at):
                    propose_admitted(tx, intake, each.record)
            else:
                note_said_again(tx, self.ids, known, each.record, at=act.at, is_wish=each.draft.is_own)


def note_said_again(
    tx: Transaction, ids: Ids, known: Record, new: Record, *, at: datetime, is_wish: bool = False
) -> None:
    """Note on a record that stands that a later run says the same. What was read from outside raises nothing,
    whoever says the same."""
    act = Act(actor=DAEMON, at=at, reason="a later run says the same")
    refs = new.evidence_refs
    if not new.provenance.tainted:
        note_support(tx, ids, known, act, origin=Origin.DAEMON, evidence=refs, is_wish=is_wish)
    elif (evidence := known.evidence_with(refs)) != known.evidence_refs:
        amend(tx, known, replace(known, evidence_refs=evidence), act)


def _sieve(sight: CaptureView, known: Sequence[Statement] = ()) -> Sieve:
    """What takes statements of a run, with those that its user makes; `known` ones were written before."""
    policy = sight.terms.learning.capture.semantic_candidates
    cap, personal = policy.max_candidates_per_run, sight.terms.run_memory.redact_pii
    if known:
        return Sieve(cap=max(0, cap - len(known)), personal=personal, known=known)
    sieve = Sieve(cap=cap, personal=personal)
    sieve.add_labels(
        (*find_labelled(sight.text.own_request), *find_remember_requests(sight.text.own_request))
    )
    return sieve


def _waiting_for(failure: ModelFailure, now: datetime) -> _Wait:
    reason = excerpt(redact_text(failure.sentence).text, limits.REASON_CHARS_MAX)
    if failure.code == MODEL_BUDGET:
        return _Wait(reason=reason, until=budget_renews_at(now))
    asked_s = min(failure.retry_after_s or 0, limits.JOB_BACKOFF_S_MAX)
    return _Wait(reason=reason, until=now + timedelta(seconds=asked_s), is_failure=True)


def _drafts(sight: CaptureView, statements: Sequence[Statement], now: datetime) -> list[_Ready]:
    """What is to be proposed. A draft that cannot be a record is left out: it must not sink the others."""
    summaries: list[_Ready] = []
    if sight.wants_summary:
        summaries = _ready([summary_draft(sight)], now) or _ready([bare_summary_draft(sight)], now)
    drafts = [statement_draft(sight, statement) for statement in statements]
    return [*summaries, *_ready(drafts, now)]


def _ready(drafts: Sequence[Draft], now: datetime) -> list[_Ready]:
    found: list[_Ready] = []
    for draft in drafts:
        with suppress(Invalid, Refused):
            found.append(_Ready(draft=draft, record=draft_record(draft, now)))
    return found


def draft_record(draft: Draft, now: datetime) -> Record:
    stamp = Stamp(record_id=RecordId("rec"), origin=Origin.DAEMON, created_by=DAEMON, at=now)
    return admit(draft, stamp)


def _trace(tx: Transaction, sight: CaptureView, ready: _Ready, now: datetime) -> _Ready:
    """A draft that is marked where its words were once read from outside, unless the user has said them."""
    draft = ready.draft
    is_said = draft.kind in PROMPT_KINDS and draft.evidence_refs == (input_ref(sight.run),)
    if draft.is_own or draft.provenance.tainted or is_said:
        return ready
    found = trace_text(tx, draft.summary)
    if not found.tainted:
        return ready
    marked = replace(draft, provenance=inherit((draft.provenance, found)))
    return _Ready(draft=marked, record=draft_record(marked, now))


def _not_proposed_before(tx: Transaction, run_id: RunId, own: Sequence[_Ready]) -> Sequence[_Ready]:
    """Those that were not proposed of this run before: what people have decided about one stays decided. One
    that was forgotten tells no longer what it was."""
    earlier = [each for each in tx.records.of_run(run_id) if each.kind in PROMPT_KINDS] if own else []
    if any(each.state_reason is StateReason.FORGOTTEN for each in earlier):
        return ()
    known = {each.summary for each in earlier}
    return [each for each in own if each.record.summary not in known]


def find_equal_record(tx: Transaction, new: Record, now: datetime) -> Record | None:
    """A live record of the same scope, kind and key that is no more tainted than a new one; what is active
    before what waits. No refuted one: another run that says it is for people to see. What waits is ours
    alone: neither a caller's candidate nor an operator's proposal stands in for what a user said."""
    if new.layer is Layer.EPISODIC:
        return None
    # Runs of several sessions may say it at once, and one of them is to be first.
    tx.lock({new.scope})
    subject = SemanticKey.parse(new.semantic_key).subject
    active = tx.records.matching_subject(new.scope, new.kind, subject)
    waiting = tx.records.waiting_subject(new.scope, new.kind, subject, limit=limits.SAME_SUBJECT_MAX)
    ours = (record for record in waiting if record.origin is Origin.DAEMON)
    for record in (*active, *ours):
        is_same = (
            record.semantic_key == new.semantic_key and record.proposal is None and not _is_refuted(record)
        )
        if is_same and not record.is_expired(now) and record.provenance.tainted <= new.provenance.tainted:
            return record
    return None


def is_turned_down(tx: Transaction, new: Record, *, since: datetime | None = None) -> bool:
    """Whether people rejected the same statement of the same scope, ever or since a moment: then another run
    does not bring it back. One that came from outside was rejected as that, and says nothing of the user's
    own word."""
    if new.layer is Layer.EPISODIC:
        return False
    subject = SemanticKey.parse(new.semantic_key).subject
    ended = tx.records.ended_subject(new.scope, new.kind, subject, limit=limits.SAME_SUBJECT_MAX)
    return any(
        record.state_reason is StateReason.REJECTED
        and record.semantic_key == new.semantic_key
        and record.provenance.tainted <= new.provenance.tainted
        and (since is None or tx.records.events(record.record_id)[-1].at >= since)
        for record in ended
    )


def _is_refuted(record: Record) -> bool:
    return record.verification_status is VerificationStatus.FAILED


def _still(tx: Transaction, run: Run | None, sight: CaptureView, now: datetime) -> bool:
    """Whether everything that was looked at is as it was: the run, its receipt, and what people allow."""
    return (
        run is not None
        and run == sight.run
        and terms_of_capture(tx, run) == sight.terms
        and is_capturable(run, sight.terms.run_memory, now)
        and tx.captures.get(run.run_id) == sight.noted
        and get_pointer_state(tx, run.run_id) is sight.pointed
    )


def _state(prepared: _Prepared) -> CaptureState:
    """The receipt. Where statements were taken once, giving the rest up completes it."""
    sight = prepared.sight
    if prepared.found.wait is not None:
        return CaptureState.PENDING
    is_begun = sight.noted is not None and sight.noted.state is not CaptureState.SKIPPED
    return CaptureState.COMPLETED if sight.wants_statements or is_begun else CaptureState.SKIPPED


def _note(tx: Transaction, sight: CaptureView, state: CaptureState, now: datetime) -> None:
    run = sight.run
    tx.captures.put(
        Capture(
            run_id=run.run_id,
            session_id=run.session_id,
            opened_at=run.opened_at,
            state=state,
            provenance=sight.own_provenance,
        )
    )
    if sight.heard is not None:
        record_outside(tx, run, sight.heard, now)
    note_unlooked(tx, sight.unlooked)
    tx.pointers.set_capture(run.run_id, state)


def _close(tx: Transaction, job: Job, wait: _Wait | None, now: datetime) -> None:
    if wait is None:
        tx.jobs.finish(job)
    elif wait.is_failure:
        again = retry_at(now, job.attempts)
        tx.jobs.fail(job, error=wait.reason, retry_at=None if again is None else max(again, wait.until))
    else:
        tx.jobs.postpone(job, until=wait.until, reason=wait.reason)


def _count(tx: Transaction, found: _Found, own: Mapping[Dropped, int]) -> None:
    """Count what was dropped, once: by whoever ends the capture, or listens to the run."""
    dropped = Counter(own) + Counter(found.sieved.dropped if found.wait is None else {})
    if dropped:
        tx.counters.add({f"capture.dropped_{why}_total": n for why, n in dropped.items()})
