"""Reviewing a candidate in the background: read, let go, ask the judge, then write what follows.

What is written is checked again in its transaction: the job is still ours, the record and the policy are
those that were read. Whoever dies before that has changed nothing, and whoever comes late changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TypeAlias

from runlore.domain.claims.contradictions import Surroundings
from runlore.domain.claims.support import Support, support_of
from runlore.domain.errors import Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.policies.learning_policy import Action, LearningPolicy, Mode
from runlore.domain.policies.verdict import JudgeReview, Review, asks_the_judge, baseline
from runlore.domain.record import Move, PolicyDecision, Record, RecordId, VerificationStatus
from runlore.domain.records.agent_provenance import rests_on_agents_word
from runlore.domain.records.audit import DAEMON, Act, RecordChange, apply_record_move
from runlore.domain.records.publication import PublishTerms
from runlore.domain.runs.job import Job
from runlore.domain.serialization.codec import serialize
from runlore.flow.capture.provenance import conversation_provenance
from runlore.flow.capture.session_lock import Beat, skip_beat
from runlore.flow.model_budget import MODEL_BUDGET, BudgetedModels
from runlore.flow.neighbours import records_near, surroundings
from runlore.flow.publish.decide import end_as_duplicate, reject
from runlore.flow.publish.promote_tier import note_support
from runlore.flow.reactions import confirm_learning
from runlore.flow.review import automatic
from runlore.flow.review.automatic import (
    TIER_OF,
    Case,
    Opinion,
    ReviewRuling,
    act_reason,
    cases_of,
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
# A case, and what was found out about it.
Look: TypeAlias = tuple[Case, Opinion]


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
        looks = self._look(jobs, beat)
        ready = [job for job in jobs if job.subject not in looks or not _is_for_the_judge(looks[job.subject])]
        done = self._write_outcomes(ready, looks)
        return [job for job in jobs if job not in done]

    def _round(self, record_id: RecordId, job: Job, beat: Beat) -> bool:
        """One look and one attempt to write what follows; False where something moved in between."""
        looks = self._look([job], beat)
        look = looks.get(record_id)
        if look is not None and _is_for_the_judge(look):
            case, seen = look
            if not self.may_ask:
                self.asking.leave_job(job)
                return True
            self.asking.hold_job(job, case.policy.judge.timeout_s)
            looks[record_id] = (case, replace(seen, judge=self._judgement(case, seen)))
        return bool(self._write_outcomes([job], looks))

    def _look(self, jobs: Sequence[Job], beat: Beat) -> dict[str, Look]:
        """What there is to say of the candidates of jobs, where automation has to say anything."""
        now = self.clock.now()
        with self.store.snapshot() as snapshot:
            cases = cases_of(snapshot, _subjects(jobs), now)
            return {
                record_id: (case, self._form_opinion(snapshot, case, now, beat))
                for record_id, case in cases.items()
            }

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

    def _write_outcomes(self, jobs: Sequence[Job], looks: Mapping[str, Look]) -> list[Job]:
        """Write what follows, in one transaction: the jobs that are done; what the others are about moved."""
        done: list[Job] = []
        kept: list[RecordChange] = []
        with self.store.transaction() as tx:
            tx.lock({case.candidate.scope for case, _ in looks.values()})
            # Before the policy is read: whoever changes it queues its reviews behind these rows.
            if len(jobs) == 1:
                tx.jobs.check(jobs[0])
            else:
                jobs = tx.jobs.hold(jobs)
            now = self.clock.now()
            present = cases_of(tx, _subjects(jobs), now)
            near = records_near(tx.records, [case.candidate for case in present.values()])
            for job in jobs:
                case, look = present.get(RecordId(job.subject)), looks.get(job.subject)
                if case is not None:
                    if look is None or look[0] != case:
                        continue
                    around = surroundings(
                        tx.records, case.candidate, now, near=near.get(case.candidate.record_id)
                    )
                    outcome = _outcome(tx, look, around, now)
                    if outcome is None:
                        continue
                    change = _amendment(case, *outcome)
                    if change is None:
                        self._carry_out(tx, look, *outcome)
                        # What is around the next ones may be another now.
                        near = {}
                    else:
                        kept.append(change)
                done.append(job)
            tx.write(kept)
            tx.jobs.finish(*done)
        return done

    def _carry_out(self, tx: Transaction, look: Look, ruled: ReviewRuling, reviewed: Review) -> None:
        case, opinion = look
        if ruled.twin is not None:
            self._end_as_twin(tx, case.candidate, ruled.twin, reviewed)
        else:
            _move(tx, case.candidate, ruled.action, reviewed, expires_at=opinion.baseline.expires_at)

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


def _subjects(jobs: Sequence[Job]) -> list[RecordId]:
    return [RecordId(job.subject) for job in jobs]


def _is_for_the_judge(look: Look) -> bool:
    case, seen = look
    return not seen.repeats and asks_the_judge(seen.baseline.action, case.policy)


def _outcome(
    tx: Transaction, look: Look, around: Surroundings, now: datetime
) -> tuple[ReviewRuling, Review] | None:
    """What becomes of a candidate; None where what it repeated is gone, so that it was not judged, or where
    a run that spoke for it has been forgotten since."""
    case, opinion = look
    if opinion.witnesses is not None and opinion.witnesses != witnesses(tx, case.candidate):
        return None
    ruled = ruling(case, opinion, around, now)
    if opinion.repeats and ruled.twin is None:
        return None
    return ruled, review(case, opinion, ruled, now)


def _move(
    tx: Transaction, candidate: Record, action: Action, reviewed: Review, *, expires_at: datetime | None
) -> None:
    if action is Action.REJECT:
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


def _amendment(case: Case, ruled: ReviewRuling, reviewed: Review) -> RecordChange | None:
    """The candidate with its review, where that is all that follows."""
    is_shadow = case.policy.mode is Mode.SHADOW
    if not is_shadow and (ruled.twin is not None or ruled.action is not Action.MANUAL_REVIEW):
        return None
    after = replace(
        case.candidate,
        policy_decision=None if is_shadow else PolicyDecision.ESCALATED,
        policy_actor=None if is_shadow else DAEMON,
        automation_review=serialize(reviewed),
    )
    return apply_record_move(case.candidate, Move.AMEND, _act(reviewed), after=after)


def _act(reviewed: Review, *, done: str = "") -> Act:
    return Act(actor=DAEMON, at=reviewed.reviewed_at, reason=act_reason(reviewed, done=done))


def _terms(reviewed: Review) -> PublishTerms:
    return PublishTerms(decision=PolicyDecision.AUTOMATIC, actor=DAEMON, review=serialize(reviewed))
