"""Looking again at a provisional learning when new support appears: it is raised, refuted, or stays (LRN-10).

The worker raises only what the policy in force would publish actively, by its rules and by what the judge
once said of it: new support verifies, it does not widen what automation may do.
"""

from dataclasses import replace
from datetime import datetime

from runlore.domain.claims.rivals import Surroundings, in_the_way, twin_of
from runlore.domain.claims.support import Support
from runlore.domain.lazy import dataclass
from runlore.domain.policies.learning_policy import Action, LearningPolicy
from runlore.domain.policies.verdict import baseline, review_of
from runlore.domain.record import PolicyDecision, Record, RecordId, VerificationStatus
from runlore.domain.records.agents_word import rests_on_agents_word
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.runs.job import Job
from runlore.flow.capture.session_lock import Beat, skip_beat
from runlore.flow.neighbours import surroundings
from runlore.flow.pipeline.reviewing import ROUNDS_MAX, evidence_sources, moving
from runlore.flow.policies import learning_in_force
from runlore.flow.publish.promote_tier import amend, escalate, is_raisable, may_raise, raise_tier
from runlore.flow.review.verification import support_for, witnesses
from runlore.ports.clock import Clock
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Collections, Store, Transaction


@dataclass(frozen=True, kw_only=True)
class Learning:
    """A provisional learning, and the policy that it is looked at under."""

    record: Record
    policy: LearningPolicy
    revision: int


@dataclass(frozen=True, kw_only=True)
class _Against:
    """Why a supported learning is not raised, and whether a person has to decide on it."""

    reason: str
    escalates: bool = True


@dataclass(frozen=True, kw_only=True)
class Verifying:
    """Where learnings are, and what they are verified against."""

    store: Store
    memories: RunMemories
    clock: Clock

    def verify(self, record_id: RecordId, job: Job, beat: Beat = skip_beat) -> None:
        for _ in range(ROUNDS_MAX):
            if self._round(record_id, job, beat):
                return
        raise moving(record_id)

    def _round(self, record_id: RecordId, job: Job, beat: Beat) -> bool:
        now = self.clock.now()
        with self.store.snapshot() as snapshot:
            learning = _provisional(snapshot, record_id, now)
            support = Support.NONE if learning is None else self._support(snapshot, learning, beat)
            heard = None if learning is None else witnesses(snapshot, learning.record)
        with self.store.transaction() as tx:
            if learning is not None:
                tx.lock({learning.record.scope})
            tx.jobs.check(job)
            now = self.clock.now()
            present = _provisional(tx, record_id, now)
            if present is not None:
                if present != learning or witnesses(tx, present.record) != heard:
                    return False
                _write(tx, present, support, now)
            tx.jobs.finish(job)
            return True

    def _support(self, collections: Collections, learning: Learning, beat: Beat) -> Support:
        if not may_raise(learning.record, learning.policy):
            return Support.NONE
        # A policy may trust callers; yet the runs that an agent names are its own, no witness of its word.
        trusting = learning.policy.publication.allow_api_origin_active_publication
        vouched = trusting and not rests_on_agents_word(learning.record)
        sources = evidence_sources(self.memories, learning.policy, beat)
        return support_for(collections, sources, learning.record, vouched=vouched)


def _provisional(collections: Collections, record_id: RecordId, now: datetime) -> Learning | None:
    record = collections.records.get_many([record_id]).get(record_id)
    policy, revision = learning_in_force(collections)
    if record is None or not is_raisable(record, now):
        return None
    return Learning(record=record, policy=policy, revision=revision)


def _write(tx: Transaction, learning: Learning, support: Support, now: datetime) -> None:
    record = learning.record
    told = f"policy revision {learning.revision}: "
    if not may_raise(record, learning.policy):
        _give_back(tx, record, _act(told + "automation does not look at it", now))
        return
    if support is not Support.SUPPORTED:
        status, said = _FOUND[support]
        if status is record.verification_status:
            return
        amend(tx, record, replace(record, verification_status=status), _act(told + said, now))
        return
    around = surroundings(tx.records, record, now)
    against = _against(learning, around, now)
    if against:
        after = replace(record, verification_status=VerificationStatus.VERIFIED)
        after = escalate(after) if against.escalates else after
        if after != record:
            amend(tx, record, after, _act(f"{told}supported, but {against.reason}", now))
        return
    raise_tier(
        tx,
        record,
        _act(f"{told}supported, and raised", now),
        verification=VerificationStatus.VERIFIED,
        decision=PolicyDecision.AUTOMATIC,
    )


def _give_back(tx: Transaction, record: Record, act: Act) -> None:
    """Give a learning that waits its status back: nobody has looked, so a person is told."""
    if record.verification_status is not VerificationStatus.PENDING:
        return
    told = (
        event.changes.get("verification_status") for event in reversed(tx.records.events(record.record_id))
    )
    earlier = next(
        (VerificationStatus(str(status)) for status in told if status not in _NOTHING_SAID), _UNVERIFIED
    )
    amend(tx, record, escalate(replace(record, verification_status=earlier)), act)


def _against(learning: Learning, around: Surroundings, now: datetime) -> _Against | None:
    """What keeps a supported learning provisional. Somebody has to be told, unless another one says it."""
    record = learning.record
    twin = twin_of(record, around)
    if baseline(record, learning.policy, now).action is not Action.PUBLISH_ACTIVE:
        return _Against(reason="the policy does not publish it actively")
    if not _is_judged_active(learning):
        return _Against(reason="the judge has not said that it may be active")
    if twin is not None:
        return _Against(reason=f"it repeats {twin.record_id}", escalates=False)
    for other in in_the_way(record, around):
        return _Against(reason=f"it contradicts {other.record_id}")
    return None


def _is_judged_active(learning: Learning) -> bool:
    reviewed = review_of(learning.record)
    judge = None if reviewed is None else reviewed.judge
    if judge is None:
        return not learning.policy.judge.enabled
    return judge.action is Action.PUBLISH_ACTIVE and not judge.failure


def _act(reason: str, at: datetime) -> Act:
    return Act(actor=DAEMON, at=at, reason=reason)


_UNVERIFIED = VerificationStatus.UNVERIFIED
_NOTHING_SAID = (None, VerificationStatus.PENDING.value)
_FOUND = {
    Support.NONE: (VerificationStatus.UNVERIFIED, "no support was found"),
    Support.CONTRADICTED: (VerificationStatus.FAILED, "its runs say the opposite"),
}
