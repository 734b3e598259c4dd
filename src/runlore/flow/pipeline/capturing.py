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
from runlore.domain.run import RunId
from runlore.domain.runs.job import ASKED_LATER, Job, JobId, retry_at
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.taint import inherit
from runlore.domain.text.excerpt import excerpt
from runlore.flow.capture.semantic import (
    CaptureView,
    Standing,
    bare_summary_draft,
    echoes,
    input_ref,
    look,
    note_unlooked,
    own_words_drafts,
    read_standings,
    statement_draft,
    summary_draft,
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
        while self.capture_together([job], beat):
            beat()

    def capture_together(self, jobs: Sequence[Job], beat: Beat = skip_beat) -> list[Job]:
        """Do jobs in one transaction, one of each session; several are of those that no model is asked about:
        those that are left. What a run of a session writes is to be seen by its next one."""
        sights = self._look(jobs, beat)
        prepared = {
            job.job_id: None if (sight := sights[job.job_id]) is None else self._prepare(sight, job)
            for job in jobs
            if job.job_id in sights
        }
        with self.store.transaction() as tx:
            # All scopes before the jobs: whoever forgets a run takes them in this order too.
            tx.lock({scope for each in prepared.values() if each is not None for scope in each.scopes})
            done = self._finish(tx, [job for job in jobs if job.job_id in prepared], prepared)
        found = [each for job in done if (each := prepared[job.job_id]) is not None]
        # A copy for readers: whoever dies before this line leaves receipts that the next start copies.
        self.memories.note_captures({each.sight.run.run_id: _state(each) for each in found})
        return [job for job in jobs if job not in done]

    def _look(self, jobs: Sequence[Job], beat: Beat) -> dict[JobId, CaptureView | None]:
        """What is captured of each job's run: None where there is nothing to capture, now or ever."""
        now = self.asking.clock.now()
        sights: dict[JobId, CaptureView | None] = {}
        sessions: set[SessionId] = set()
        with self.store.snapshot() as snapshot:
            standing = read_standings(snapshot, [RunId(job.subject) for job in jobs])
            for job in jobs:
                found = standing.get(RunId(job.subject))
                if found is None or not found.is_capturable(now):
                    sights[job.job_id] = None
                elif len(jobs) == 1 or not (found.run.session_id in sessions or found.may_ask_a_model):
                    sessions.add(found.run.session_id)
                    sights[job.job_id] = look(snapshot, found, beat=beat)
        return sights

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

    def _finish(
        self, tx: Transaction, jobs: Sequence[Job], prepared: Mapping[JobId, _Prepared | None]
    ) -> list[Job]:
        """Write captures and end their jobs: those that are done. Of one where something moved meanwhile
        nothing is written. The caller has locked their scopes."""
        if len(jobs) == 1:
            tx.jobs.check(jobs[0])
        else:
            jobs = tx.jobs.hold(jobs)
        now = self.asking.clock.now()
        found = [(job, each) for job in jobs if (each := prepared[job.job_id]) is not None]
        present = read_standings(tx, [each.sight.run.run_id for _, each in found])
        still = [(job, each) for job, each in found if _still(present, each.sight, now)]
        self._write_all(tx, [each for _, each in still], now)
        for job, each in still:
            if each.found.wait is not None:
                _wait_for(tx, job, each.found.wait, now)
        ended = [job for job, each in still if each.found.wait is None]
        nothing = [job for job in jobs if prepared[job.job_id] is None]
        tx.jobs.finish(*ended, *nothing)
        _count(tx, [each for _, each in still])
        return [*(job for job, _ in still), *nothing]

    def _write_all(self, tx: Transaction, captures: Sequence[_Prepared], now: datetime) -> None:
        act = Act(actor=DAEMON, at=now, reason=REASON)
        summaries: list[Record] = []
        knows_outside = not tx.outside_words.is_empty()
        for each in captures:
            sight = each.sight
            traced = [_trace(tx, sight, one, now) for one in each.ready] if knows_outside else each.ready
            # What only sums a run up stands beside nothing: it is written with that of the other runs.
            summaries += (one.record for one in traced if one.record.layer is Layer.EPISODIC)
            stated = [one for one in traced if one.record.layer is not Layer.EPISODIC]
            self._write(tx, stated, act, ended_at=sight.run.finished_at)
            own = _not_proposed_before(tx, sight.run.run_id, each.own)
            self._write(tx, own, replace(act, reason=SAID))
            if sight.heard is not None:
                record_outside(tx, sight.run, sight.heard, now)
                knows_outside |= bool(sight.heard.outside)
            note_unlooked(tx, sight.unlooked)
        intake = Intake(ids=self.ids, act=act, origin=Origin.DAEMON)
        propose_admitted(tx, intake, *(one for one in summaries if not one.is_expired(now)))
        tx.captures.put(*map(_receipt, captures))
        tx.pointers.set_capture({each.sight.run.run_id: _state(each) for each in captures})
        heard = [each.sight.binding for each in captures if each.sight.is_heard]
        for binding in {each.persona_id: each for each in heard}.values():
            queue_recurring(tx, self.ids, binding, now)

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


def _still(present: Mapping[RunId, Standing], sight: CaptureView, now: datetime) -> bool:
    """Whether everything that was looked at is as it was: the run, its receipt, and what people allow."""
    found = present.get(sight.run.run_id)
    return found is not None and found == sight.standing and found.is_capturable(now)


def _state(prepared: _Prepared) -> CaptureState:
    """The receipt. Where statements were taken once, giving the rest up completes it."""
    sight = prepared.sight
    if prepared.found.wait is not None:
        return CaptureState.PENDING
    is_begun = sight.noted is not None and sight.noted.state is not CaptureState.SKIPPED
    return CaptureState.COMPLETED if sight.wants_statements or is_begun else CaptureState.SKIPPED


def _receipt(prepared: _Prepared) -> Capture:
    run = prepared.sight.run
    return Capture(
        run_id=run.run_id,
        session_id=run.session_id,
        opened_at=run.opened_at,
        state=_state(prepared),
        provenance=prepared.sight.own_provenance,
    )


def _wait_for(tx: Transaction, job: Job, wait: _Wait, now: datetime) -> None:
    if wait.is_failure:
        again = retry_at(now, job.attempts)
        tx.jobs.fail(job, error=wait.reason, retry_at=None if again is None else max(again, wait.until))
    else:
        tx.jobs.postpone(job, until=wait.until, reason=wait.reason)


def _count(tx: Transaction, captures: Sequence[_Prepared]) -> None:
    """Count what was dropped, once: by whoever ends the capture, or listens to the run."""
    dropped: Counter[Dropped] = Counter()
    for each in captures:
        dropped.update(each.dropped)
        dropped.update(each.found.sieved.dropped if each.found.wait is None else {})
    if dropped:
        tx.counters.add({f"capture.dropped_{why}_total": n for why, n in dropped.items()})
