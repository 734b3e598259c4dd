"""Raising a provisional learning: by an operator, or by the worker when new support appears (LRN-10)."""

from dataclasses import replace
from datetime import datetime

from runlore.domain.errors import Conflict, Refused
from runlore.domain.policies.learning_policy import LearningPolicy, Mode
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
from runlore.domain.records.audit import DAEMON, Act, apply_record_move
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
    )
    return amend(tx, record, after, act)


def amend(tx: Transaction, record: Record, after: Record, act: Act) -> Record:
    """Write what a verification found out; the state stays."""
    return tx.write([apply_record_move(record, Move.AMEND, act, after=after)])[0]


def may_raise(record: Record, policy: LearningPolicy) -> bool:
    """Whether automation may raise it at all: never procedures, tainted ones, nor API callers' unasked."""
    trusted = record.origin is Origin.DAEMON or policy.publication.allow_api_origin_active_publication
    return (
        policy.mode is Mode.ENABLED
        and record.kind in PROMPT_KINDS
        and not record.provenance.tainted
        and trusted
    )


def escalate(record: Record) -> Record:
    """The same learning, before a person: it stands in the review list until they decide."""
    return replace(record, policy_decision=PolicyDecision.ESCALATED, policy_actor=DAEMON)


def note_support(
    tx: Transaction,
    ids: Ids,
    record: Record,
    act: Act,
    *,
    origin: Origin,
    evidence: tuple[EvidenceRef, ...],
    is_wish: bool = False,
) -> Record:
    """Note that somebody else says what a record says. A provisional learning is looked at again; where
    automation may not raise it, or the user wishes it kept, it is escalated. What came from outside says it
    for nobody: the caller leaves that out.

    What a caller of the API named as evidence never counts for what Runlore captured itself.
    """
    refs = record.evidence_with(evidence)
    trusted = origin is Origin.DAEMON or record.origin is Origin.API
    after = replace(record, evidence_refs=refs) if trusted else record
    if record.kind not in PROMPT_KINDS or record.provenance.tainted:
        return record
    if refs != record.evidence_refs and is_raisable(record, act.at):
        is_looked_at = trusted and may_raise(record, current_learning(tx))
        if is_wish or not is_looked_at:
            after = escalate(after)
        if is_looked_at:
            after = replace(after, verification_status=VerificationStatus.PENDING)
            queue(tx, ids, JobKind.VERIFY, [record.record_id], at=act.at)
    return record if after == record else amend(tx, record, after, act)
