"""May a record enter a prompt? One function decides, and says why not."""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum

from runlore.domain.record import (
    PROMPT_KINDS,
    REVIEWED_KINDS,
    Kind,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    State,
    VerificationStatus,
)

PLANNING_KINDS = PROMPT_KINDS | {Kind.PROCEDURE}


class Hidden(StrEnum):
    """Why a record stays out of prompts, in the order in which the reasons are asked."""

    SUPERSEDED = "superseded"
    TOMBSTONED = "tombstoned"
    CONSTRAINED = "waiting for review"
    SHADOWED = "being superseded"
    EXPIRED = "expired"
    KIND = "not a kind that prompts get"
    SENSITIVE = "sensitive"
    PROVISIONAL = "provisional tier"
    FAILED = "verification failed"
    ESCALATED = "escalated to an operator"
    UNVERIFIED = "published automatically and not verified"
    TAINTED = "from an untrusted source and not yet accepted"
    OVERRULED = "a narrower scope answers the same question"


def hidden_because(
    record: Record,
    now: datetime,
    *,
    shadowed: Collection[RecordId] = (),
    overruled: Collection[RecordId] = (),
) -> Hidden | None:
    """The first reason that keeps a record out of prompts, or None when it is visible.

    `shadowed` names the records that a live record already says it supersedes, while the link back is
    still being written; `overruled` those whose question a narrower scope answers, for who sees both.
    """
    return (
        _hidden_by_state(record, now, shadowed)
        or _hidden_by_review(record, PROMPT_KINDS)
        or (Hidden.OVERRULED if record.record_id in overruled else None)
    )


def hidden_from_planning(
    record: Record,
    now: datetime,
    *,
    shadowed: Collection[RecordId] = (),
    overruled: Collection[RecordId] = (),
) -> Hidden | None:
    """The same for the context of a task, which knows approved procedures too."""
    return (
        _hidden_by_state(record, now, shadowed)
        or _hidden_by_review(record, PLANNING_KINDS)
        or (Hidden.OVERRULED if record.record_id in overruled else None)
    )


def leaves_empty(new: Record, old: Record, now: datetime) -> Hidden | None:
    """Why prompts and plans would get nothing in the place of `old` if `new` replaced it, now or when it has
    expired before `old` would; None where they would, and where they do not get `old` either."""
    if hidden_from_planning(old, now) is not None:
        return None
    ends_first = new.expires_at is not None and (old.expires_at is None or new.expires_at < old.expires_at)
    return hidden_from_planning(new, now) or (Hidden.EXPIRED if ends_first else None)


def _hidden_by_state(record: Record, now: datetime, shadowed: Collection[RecordId]) -> Hidden | None:
    is_expired = record.is_expired(now)
    # What waits no more is not in the list of what waits: it is hidden by its end or by its kind.
    is_waiting = record.state is State.CONSTRAINED and record.kind in REVIEWED_KINDS and not is_expired
    is_replaced = record.superseded_by is not None or record.record_id in shadowed
    return (
        (record.state is State.SUPERSEDED and Hidden.SUPERSEDED)
        or (record.state is State.TOMBSTONED and Hidden.TOMBSTONED)
        or (is_waiting and Hidden.CONSTRAINED)
        or (record.state is State.ACTIVE and is_replaced and Hidden.SHADOWED)
        or (is_expired and Hidden.EXPIRED)
        or None
    )


def _hidden_by_review(record: Record, kinds: frozenset[Kind]) -> Hidden | None:
    decision, status = record.policy_decision, record.verification_status
    is_checked = decision is not PolicyDecision.AUTOMATIC or status is VerificationStatus.VERIFIED
    return (
        (record.kind not in kinds and Hidden.KIND)
        or (record.sensitivity is Sensitivity.SENSITIVE and Hidden.SENSITIVE)
        or (record.publish_tier is not PublishTier.ACTIVE and Hidden.PROVISIONAL)
        or (status is VerificationStatus.FAILED and Hidden.FAILED)
        or (decision is PolicyDecision.ESCALATED and Hidden.ESCALATED)
        or (not is_checked and Hidden.UNVERIFIED)
        or (record.provenance.tainted and Hidden.TAINTED)
        or None
    )
