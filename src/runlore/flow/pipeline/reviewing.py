"""Reviewing a candidate in the background: read, let go, ask the judge, then write what follows.

What is written is checked again in its transaction: the job is still ours, the record and the policy are
those that were read. Whoever dies before that has changed nothing, and whoever comes late changes nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from runlore.domain.claims.support import Support, support_of
from runlore.domain.errors import Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.policies.learning_policy import Action, LearningPolicy, Mode
from runlore.domain.policies.verdict import JudgeReview, Review, asks_the_judge, baseline
from runlore.domain.record import Move, PolicyDecision, Record, RecordId, VerificationStatus
from runlore.domain.records.agent_provenance import rests_on_agents_word
from runlore.domain.records.audit import DAEMON, Act, apply_record_move
from runlore.domain.records.publication import PublishTerms
from runlore.domain.runs.job import Job
from runlore.domain.serialization.codec import serialize
from runlore.flow.capture.provenance import conversation_provenance
from runlore.flow.capture.session_lock import Beat, skip_beat
from runlore.flow.model_budget import MODEL_BUDGET, BudgetedModels
from runlore.flow.neighbours import surroundings
from runlore.flow.publish.decide import end_as_duplicate, reject
from runlore.flow.publish.promote_tier import note_support
from runlore.flow.reactions import confirm_learning
from runlore.flow.review import automatic
from runlore.flow.review.automatic import (
    TIER_OF,
    Case,
    Opinion,
    act_reason,
    case_of,
    find_repeated,
    review,
    ruling,
)
from runlore.flow.review.verification import Sources, evidence_for, witnesses
from runlore.ports.clock import Clock
from runlore.ports.ids import Ids
from runlore.ports.model import ModelFailure
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Collections, Store, Transaction

# A policy that changes more often than this while one candidate is looked at lets the job wait.
ROUNDS_MAX = 5


@dataclass(frozen=True, kw_only=True)
class Reviewing:
    """Where candidates are, who judges them, and what they are verified against.

    With `may_ask` false no judge is asked, and what needs one is left for later.
    """

    store: Store
    memories: RunMemories
    asking: BudgetedModels
    clock: Clock
    ids: Ids
    may_ask: bool = True

    def review(self, record_id: RecordId, job: Job, beat: Beat = skip_beat) -> None:
        for _ in range(ROUNDS_MAX):
            if self._round(record_id, job, beat):
                return
        raise moving(record_id)

    def review_together(self, jobs: Sequence[Job], beat: Beat = skip_beat) -> list[Job]:
        """Do jobs that no judge is asked about in one transaction: those that are left."""
        now = self.clock.now()
        seen: list[tuple[Job, Case, Opinion]] = []
        with self.store.snapshot() as snapshot:
            for job in jobs:
                case = case_of(snapshot, RecordId(job.subject), now)
                opinion = None if case is None else self._form_opinion(snapshot, case, now, beat)
                if case is not None and opinion is not None and not _is_for_the_judge(case, opinion):
                    seen.append((job, case, opinion))
        with self.store.transaction() as tx:
            tx.lock({case.candidate.scope for _, case, _ in seen})
            done = {
                job.job_id
                for job, case, opinion in seen
                if self._write_outcome(tx, case.candidate.record_id, job, case=case, opinion=opinion)
            }
        return [job for job in jobs if job.job_id not in done]

    def _round(self, record_id: RecordId, job: Job, beat: Beat) -> bool:
        """One look and one attempt to write what follows; False where something moved in between."""
        now = self.clock.now()
        with self.store.snapshot() as snapshot:
            case = case_of(snapshot, record_id, now)
            seen = None if case is None else self._form_opinion(snapshot, case, now, beat)
        opinion = seen
        if case is not None and seen is not None and _is_for_the_judge(case, seen):
            if not self.may_ask:
                self.asking.leave_job(job)
                return True
            self.asking.hold_job(job, case.policy.judge.timeout_s)
            opinion = replace(seen, judge=self._judgement(case, seen))
        with self.store.transaction() as tx:
            return self._write_outcome(tx, record_id, job, case=case, opinion=opinion)

    def _form_opinion(self, collections: Collections, case: Case, now: datetime, beat: Beat) -> Opinion:
        candidate = case.candidate
        base = baseline(candidate, case.policy, now)
        is_asked, is_bold = asks_the_judge(base.action, case.policy), base.action is Action.PUBLISH_ACTIVE
        if is_asked and case.policy.mode is Mode.ENABLED:
            around = surroundings(collections.records, candidate, now)
            if find_repeated(base.action, candidate, around) is not None:
                return Opinion(baseline=base, repeats=True)
        if not (is_asked or is_bold):
            return Opinion(baseline=base)
        trusting = case.policy.publication.allow_api_origin_active_publication
        vouched = trusting and not rests_on_agents_word(candidate)
        sources = evidence_sources(self.memories, case.policy, beat)
        texts = evidence_for(collections, sources, candidate, vouched=vouched)
        return Opinion(
            baseline=base,
            support=support_of(candidate.summary, texts) if is_bold else Support.NONE,
            evidence=automatic.select_evidence(texts, redact_pii=case.redact_pii) if is_asked else (),
            witnesses=witnesses(collections, candidate),
        )

    def _judgement(self, case: Case, seen: Opinion) -> JudgeReview:
        try:
            reply = self.asking.ask(automatic.question(case, seen), case.policy.model_budget)
        except ModelFailure as failure:
            if failure.code == MODEL_BUDGET:
                raise
            return automatic.review_from_failure(case, failure, self.clock.now())
        return automatic.review_from_reply(seen.baseline, reply, self.clock.now())

    def _write_outcome(
        self,
        tx: Transaction,
        record_id: RecordId,
        job: Job,
        *,
        case: Case | None,
        opinion: Opinion | None,
    ) -> bool:
        if case is not None:
            tx.lock({case.candidate.scope})
        # Before the policy is read: whoever changes it queues its reviews behind this row.
        tx.jobs.check(job)
        now = self.clock.now()
        present = case_of(tx, record_id, now)
        if present is None:
            tx.jobs.finish(job)
            return True
        if present != case or opinion is None or not self._apply(tx, present, opinion, now):
            return False
        tx.jobs.finish(job)
        return True

    def _apply(self, tx: Transaction, case: Case, opinion: Opinion, now: datetime) -> bool:
        """Write what follows; False where what the candidate repeated is gone, so that it was not judged,
        or where a run that spoke for it has been forgotten since."""
        if opinion.witnesses is not None and opinion.witnesses != witnesses(tx, case.candidate):
            return False
        ruled = ruling(case, opinion, surroundings(tx.records, case.candidate, now), now)
        if opinion.repeats and ruled.twin is None:
            return False
        reviewed = review(case, opinion, ruled, now)
        if case.policy.mode is Mode.SHADOW:
            _keep(tx, case.candidate, reviewed, decision=None)
        elif ruled.twin is not None:
            self._end_as_twin(tx, case.candidate, ruled.twin, reviewed)
        else:
            _move(tx, case.candidate, ruled.action, reviewed, expires_at=opinion.baseline.expires_at)
        return True

    def _end_as_twin(self, tx: Transaction, candidate: Record, twin: Record, reviewed: Review) -> None:
        act = _act(reviewed, done=f"it repeats {twin.record_id}")
        end_as_duplicate(tx, candidate, twin, act, terms=_terms(reviewed))
        if not candidate.provenance.tainted:
            note_support(tx, self.ids, twin, act, origin=candidate.origin, evidence=candidate.support_refs)


def evidence_sources(memories: RunMemories, policy: LearningPolicy, beat: Beat = skip_beat) -> Sources:
    """Where evidence is looked for, by the witnesses of a policy. Runs that capture has not come to yet are
    read for where their words are from: it may be off, and what was never looked at could else not speak.
    Their journals may be long."""
    return Sources(
        memories=memories,
        accepted=frozenset(policy.publication.witnesses),
        conversation=partial(conversation_provenance, beat=beat),
    )


def moving(record_id: RecordId) -> Unavailable:
    return Unavailable(
        f"record {record_id} or the policy keeps changing while it is looked at",
        code="review.moving",
        hint="it is looked at again later",
    )


def _is_for_the_judge(case: Case, seen: Opinion) -> bool:
    return not seen.repeats and asks_the_judge(seen.baseline.action, case.policy)


def _move(
    tx: Transaction, candidate: Record, action: Action, reviewed: Review, *, expires_at: datetime | None
) -> None:
    if action is Action.MANUAL_REVIEW:
        _keep(tx, candidate, reviewed, decision=PolicyDecision.ESCALATED)
    elif action is Action.REJECT:
        reject(tx, candidate, _act(reviewed), terms=_terms(reviewed))
    else:
        is_active = action is Action.PUBLISH_ACTIVE
        terms = replace(
            _terms(reviewed),
            tier=TIER_OF[action],
            verification=VerificationStatus.VERIFIED if is_active else VerificationStatus.UNVERIFIED,
            expires_at=expires_at,
        )
        confirm_learning(tx, candidate, _act(reviewed), terms=terms)


def _keep(tx: Transaction, candidate: Record, reviewed: Review, *, decision: PolicyDecision | None) -> None:
    after = replace(
        candidate,
        policy_decision=decision,
        policy_actor=None if decision is None else DAEMON,
        automation_review=serialize(reviewed),
    )
    tx.write([apply_record_move(candidate, Move.AMEND, _act(reviewed), after=after)])


def _act(reviewed: Review, *, done: str = "") -> Act:
    return Act(actor=DAEMON, at=reviewed.reviewed_at, reason=act_reason(reviewed, done=done))


def _terms(reviewed: Review) -> PublishTerms:
    return PublishTerms(decision=PolicyDecision.AUTOMATIC, actor=DAEMON, review=serialize(reviewed))
