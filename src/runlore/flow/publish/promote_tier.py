"""Raising a provisional learning: by an operator, or by the worker when new support appears (LRN-10)."""

from dataclasses import replace
from datetime import datetime

from runlore.domain import limits
from runlore.domain.errors import Conflict, Refused
from runlore.domain.policies.learning_policy import Mode
from runlore.domain.record import (
    PROMPT_KINDS,
    RECORD,
    EvidenceRef,
    Move,
    Origin,
    PolicyDecision,
    PublishTier,
    Record,
    VerificationStatus,
)
from runlore.domain.records.audit import Act, apply_record_move
from runlore.domain.records.publication import raise_obstacles
from runlore.domain.runs.job import JobKind
from runlore.flow.neighbours import surroundings
from runlore.flow.policies import current_learning
from runlore.flow.publish.decide import refuse_expired
from runlore.flow.queueing import queue
from runlore.ports.ids import Ids
from runlore.ports.store import Transaction


def is_raisable(record: Record, now: datetime) -> bool:
    return (
        record.publish_tier is PublishTier.PROVISIONAL
        and RECORD.allows(record.state, Move.REVOKE)
        and not record.is_expired(now)
    )


def raise_tier(
    tx: Transaction,
    record: Record,
    act: Act,
    *,
    verification: VerificationStatus,
    decision: PolicyDecision,
    evidence: tuple[EvidenceRef, ...] = (),
    revalidate_at: datetime | None = None,
) -> Record:
    """Give a learning the active tier. The caller holds its scope's lock.

    Conflict where something that prompts see says the same or contradicts it; Refused where it is tainted.
    """
    refuse_expired(record, act.at)
    if record.provenance.tainted:
        raise Refused(
            f"record {record.record_id} comes from outside and nobody has accepted it",
            code="review.untrusted",
            hint="propose it again as a candidate, and confirm that with --accept-untrusted",
        )
    for obstacle in raise_obstacles(record, surroundings(tx.records, record, act.at), act.at):
        raise Conflict(obstacle.sentence, code=obstacle.code, hint=obstacle.hint)
    after = replace(
        record,
        publish_tier=PublishTier.ACTIVE,
        verification_status=verification,
        policy_decision=decision,
        policy_actor=act.actor,
        evidence_refs=with_evidence(record, evidence),
        revalidate_at=revalidate_at or record.revalidate_at,
    )
    return amend(tx, record, after, act)


def amend(tx: Transaction, record: Record, after: Record, act: Act) -> Record:
    """Write what a verification found out; the state stays."""
    change = apply_record_move(record, Move.AMEND, act, after=after)
    tx.write([change])
    return change.record


def note_support(
    tx: Transaction, ids: Ids, record: Record, act: Act, *, origin: Origin, evidence: tuple[EvidenceRef, ...]
) -> Record:
    """Add evidence that something else brought to a provisional learning, and have it looked at where
    automation is enabled: elsewhere nobody would look, and what was found before stands.

    What a caller of the API named as evidence never counts for what Runlore captured itself.
    """
    refs = with_evidence(record, evidence)
    trusted = origin is Origin.DAEMON or record.origin is Origin.API
    if not trusted or refs == record.evidence_refs or not is_raisable(record, act.at):
        return record
    if record.kind not in PROMPT_KINDS or record.provenance.tainted:
        return record
    after = replace(record, evidence_refs=refs)
    if current_learning(tx).mode is Mode.ENABLED:
        after = replace(after, verification_status=VerificationStatus.PENDING)
        queue(tx, ids, JobKind.VERIFY, [record.record_id], at=act.at)
    return amend(tx, record, after, act)


def with_evidence(record: Record, evidence: tuple[EvidenceRef, ...]) -> tuple[EvidenceRef, ...]:
    """A record's evidence and more, each once, as many as a record may have."""
    return tuple(dict.fromkeys((*record.evidence_refs, *evidence)))[: limits.EVIDENCE_REFS_MAX]
