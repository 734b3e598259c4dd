"""An operator has a learning verified: its evidence is looked at, or their word stands for it (LRN-10)."""

from dataclasses import replace
from datetime import datetime

from runlore.domain.claims.rivals import Surroundings, are_known_to_hold, contradicts, neighbours
from runlore.domain.claims.support import Support
from runlore.domain.errors import Conflict, Refused
from runlore.domain.lazy import dataclass
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
from runlore.domain.records.audit import Act
from runlore.domain.records.contracts import check_record
from runlore.domain.records.publication import not_asked, raise_obstacles
from runlore.domain.records.visibility import hidden_because
from runlore.flow.neighbours import surroundings
from runlore.flow.pipeline.reviewing import evidence_sources
from runlore.flow.policies import learning_in_force
from runlore.flow.publish.decide import refuse_expired, stand_beside
from runlore.flow.publish.promote_tier import amend
from runlore.flow.review.verification import support_for
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Collections, Transaction


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
    tx.write(stand_beside(beside, record, act))
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


_UNVERIFIED = VerificationStatus.UNVERIFIED
