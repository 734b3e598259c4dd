"""Looking again at a provisional learning when new support appears: it is raised, refuted, or stays (LRN-10).

The worker raises only what the policy in force would publish actively, by its rules and by what the judge
once said of it: new support verifies, it does not widen what automation may do.

An operator has a learning verified too: its evidence is looked at, or their word stands for it.
"""

from dataclasses import replace
from datetime import datetime

from runlore.domain.claims.contradictions import (
    Surroundings,
    are_known_to_hold,
    contradicts,
    find_blocking_records,
    find_duplicate,
    neighbours,
)
from runlore.domain.claims.support import Support
from runlore.domain.errors import Conflict, Refused
from runlore.domain.lazy import dataclass
from runlore.domain.policies.learning_policy import Action, LearningPolicy
from runlore.domain.policies.verdict import baseline, review_of
from runlore.domain.record import (
    EvidenceRef,
    Move,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    VerificationStatus,
    transition,
)
from runlore.domain.records.agent_provenance import rests_on_agents_word
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.records.contracts import check_record
from runlore.domain.records.publication import not_asked, raise_obstacles
from runlore.domain.records.visibility import hidden_because
from runlore.domain.runs.job import Job
from runlore.flow.capture.session_lock import Beat, skip_beat
from runlore.flow.neighbours import surroundings
from runlore.flow.pipeline.reviewing import ROUNDS_MAX, evidence_sources, moving
from runlore.flow.policies import learning_in_force
from runlore.flow.publish.decide import link_both_hold, refuse_expired
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
    prefix = f"policy revision {learning.revision}: "
    if not may_raise(record, learning.policy):
        _give_back(tx, record, _act(prefix + "automation does not look at it", now))
        return
    if support is not Support.SUPPORTED:
        status, said = _FOUND[support]
        if status is record.verification_status:
            return
        amend(tx, record, replace(record, verification_status=status), _act(prefix + said, now))
        return
    around = surroundings(tx.records, record, now)
    against = _against(learning, around, now)
    if against:
        after = replace(record, verification_status=VerificationStatus.VERIFIED)
        after = escalate(after) if against.escalates else after
        if after != record:
            amend(tx, record, after, _act(f"{prefix}supported, but {against.reason}", now))
        return
    raise_tier(
        tx,
        record,
        _act(f"{prefix}supported, and raised", now),
        verification=VerificationStatus.VERIFIED,
        decision=PolicyDecision.AUTOMATIC,
    )


def _give_back(tx: Transaction, record: Record, act: Act) -> None:
    """Give a learning that waits its status back: nobody has looked, so a person is told."""
    if record.verification_status is not VerificationStatus.PENDING:
        return
    reason = (
        event.changes.get("verification_status") for event in reversed(tx.records.events(record.record_id))
    )
    earlier = next(
        (VerificationStatus(str(status)) for status in reason if status not in _NOTHING_SAID), _UNVERIFIED
    )
    amend(tx, record, escalate(replace(record, verification_status=earlier)), act)


def _against(learning: Learning, around: Surroundings, now: datetime) -> _Against | None:
    """What keeps a supported learning provisional. Somebody has to be told, unless another one says it."""
    record = learning.record
    twin = find_duplicate(record, around)
    if baseline(record, learning.policy, now).action is not Action.PUBLISH_ACTIVE:
        return _Against(reason="the policy does not publish it actively")
    if not _is_judged_active(learning):
        return _Against(reason="the judge has not said that it may be active")
    if twin is not None:
        return _Against(reason=f"it repeats {twin.record_id}", escalates=False)
    for other in find_blocking_records(record, around):
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


@dataclass(frozen=True, kw_only=True)
class Vouching:
    """What an operator brings to a verification."""

    evidence: tuple[EvidenceRef, ...] = ()
    on_my_word: bool = False
    revalidate_at: datetime | None = None
    both_hold: tuple[RecordId, ...] = ()


def gather_support(
    collections: Collections, memories: RunMemories, record: Record, vouching: Vouching
) -> Support:
    policy, _ = learning_in_force(collections)
    sources = evidence_sources(memories, policy)
    return support_for(collections, sources, _with_evidence(record, vouching), vouched=True)


def verify(tx: Transaction, record: Record, act: Act, *, support: Support, vouching: Vouching) -> Record:
    """Write what was found. Support and the operator's word raise a provisional learning and answer a
    revalidation; what contradicts it makes it fail; what finds nothing leaves it as it is."""
    refuse_expired(record, act.at)
    transition(record, Move.AMEND)
    _refuse_tainted(record)
    around = surroundings(tx.records, record, act.at)
    beside = _beside(record, around, vouching)
    after = _after(_with_evidence(record, vouching), act, support, vouching)
    after = replace(after, both_hold=(*after.both_hold, *(other.record_id for other in beside)))
    check_record(after)
    if hidden_because(record, act.at) is not None and hidden_because(after, act.at) is None:
        for obstacle in raise_obstacles(record, around, act.at, both_hold=vouching.both_hold):
            raise Conflict(obstacle.sentence, code=obstacle.code, hint=obstacle.hint)
    tx.write(link_both_hold(beside, record, act))
    return record if after == record else amend(tx, record, after, act)


def _beside(record: Record, around: Surroundings, vouching: Vouching) -> tuple[Record, ...]:
    """The learnings that the operator says hold too; one that is known to already is not told again."""
    known = {other.record_id: other for other in neighbours(record, around)}
    asked = tuple(known.get(record_id) for record_id in dict.fromkeys(vouching.both_hold))
    for named, other in zip(dict.fromkeys(vouching.both_hold), asked, strict=True):
        if other is None or not (contradicts(record, other) or are_known_to_hold(record, other)):
            obstacle = not_asked(record, named, "does not contradict")
            raise Conflict(obstacle.sentence, code=obstacle.code, hint=obstacle.hint)
    return tuple(other for other in asked if other is not None and contradicts(record, other))


def _after(record: Record, act: Act, support: Support, vouching: Vouching) -> Record:
    due_at = vouching.revalidate_at or record.revalidate_at
    if support is not Support.SUPPORTED and not vouching.on_my_word:
        is_refuted = support is Support.CONTRADICTED
        status = VerificationStatus.FAILED if is_refuted else record.verification_status
        return replace(record, verification_status=status, revalidate_at=due_at)
    return replace(
        record,
        publish_tier=PublishTier.ACTIVE,
        verification_status=_status(record, support),
        policy_decision=PolicyDecision.MANUAL,
        policy_actor=act.actor,
        revalidate_at=None if due_at is not None and due_at <= act.at else due_at,
    )


def _status(record: Record, support: Support) -> VerificationStatus:
    """Support verifies. A word is no evidence, but takes away what an earlier look has found."""
    if support is Support.SUPPORTED:
        return VerificationStatus.VERIFIED
    is_verified = record.verification_status is VerificationStatus.VERIFIED
    return VerificationStatus.VERIFIED if is_verified and support is Support.NONE else _UNVERIFIED


def _with_evidence(record: Record, vouching: Vouching) -> Record:
    evidence = tuple(dict.fromkeys((*record.evidence_refs, *vouching.evidence)))
    return replace(record, evidence_refs=evidence)


def _refuse_tainted(record: Record) -> None:
    if record.provenance.tainted:
        named = ", ".join(record.provenance.sources) or "an unnamed source"
        raise Refused(
            f"record {record.record_id} comes from outside and nobody has accepted it: {named}",
            code="review.untrusted",
            hint="revoke it, or supersede it by what you have read with --accept-untrusted",
        )
