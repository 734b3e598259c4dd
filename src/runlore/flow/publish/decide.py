"""Confirm and reject: each one transaction, with everything it rests on checked again inside it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from runlore.domain.errors import Conflict
from runlore.domain.record import RECORD, Move, Record, RecordId, transition
from runlore.domain.records.admission import Edits, apply_edits
from runlore.domain.records.audit import Act, RecordChange, apply_record_move
from runlore.domain.records.contracts import check_standing
from runlore.domain.records.publication import (
    BY_HAND,
    Consequences,
    PublishTerms,
    apply_confirmation,
    consequences,
    require,
)
from runlore.flow.neighbours import surroundings
from runlore.ports.store import Transaction

_AS_IT_IS = Edits()


def confirm(
    tx: Transaction,
    candidate: Record,
    act: Act,
    *,
    terms: PublishTerms | None = None,
    edits: Edits | None = None,
    supersedes: RecordId | None = None,
    accept_untrusted: bool = False,
) -> Record:
    """Make a candidate active and retire what it replaces; a duplicate ends here and the original answers.

    The caller holds the locks of the candidate's scope, and of the one that the edits name.
    """
    on = terms or BY_HAND
    refuse_expired(candidate, act.at)
    transition(candidate, Move.CONFIRM)
    text = candidate if edits is None or edits == _AS_IT_IS else apply_edits(candidate, edits, now=act.at)
    around = surroundings(tx.records, text, act.at, named=supersedes)
    outcome = consequences(text, around, act.at, terms=on)
    if outcome.duplicate_of is not None:
        end_as_duplicate(tx, candidate, outcome.duplicate_of, act, terms=terms)
        return set_standing(
            tx, outcome.duplicate_of, act, standing=bool(on.standing or outcome.duplicate_of.standing)
        )
    require(text, outcome, terms=on, accept_untrusted=accept_untrusted)
    after = apply_confirmation(text, outcome, actor=act.actor, now=act.at, terms=on)
    change = apply_record_move(candidate, Move.CONFIRM, act, after=after)
    published = change.record
    tx.write(
        [
            *_retire(outcome, published.record_id, act),
            *stand_beside(outcome.both_hold, published, act),
            change,
        ]
    )
    return published


def set_standing(tx: Transaction, record: Record, act: Act, *, standing: bool) -> Record:
    """Have a rule in every prompt of its scope from now on, or no longer; nothing where it is so already."""
    refuse_expired(record, act.at)
    if record.standing is standing:
        return record
    if standing:
        check_standing(record)
    change = apply_record_move(record, Move.AMEND, act, after=replace(record, standing=standing))
    tx.write([change])
    return change.record


def stand_beside(others: Sequence[Record], record: Record, act: Act) -> list[RecordChange]:
    """The events on those that a reviewer said hold together with a record, which names them too."""
    return [
        apply_record_move(
            other, Move.AMEND, act, after=replace(other, both_hold=(*other.both_hold, record.record_id))
        )
        for other in others
    ]


def end_as_duplicate(
    tx: Transaction, candidate: Record, original: Record, act: Act, *, terms: PublishTerms | None = None
) -> Record:
    """Tombstone a candidate that says what a learning says already."""
    ended = replace(_with_review(candidate, act, terms), duplicate_of=original.record_id)
    change = apply_record_move(candidate, Move.DUPLICATE, act, after=ended)
    tx.write([change])
    return change.record


def reject(tx: Transaction, candidate: Record, act: Act, *, terms: PublishTerms | None = None) -> Record:
    """Tombstone a candidate; `terms` tell of a decision that was not an operator's."""
    refuse_expired(candidate, act.at)
    change = apply_record_move(candidate, Move.REJECT, act, after=_with_review(candidate, act, terms))
    tx.write([change])
    return change.record


def expect_revision(record: Record, expected: int | None) -> None:
    if expected is not None and record.revision != expected:
        raise Conflict(
            f"record {record.record_id} is at revision {record.revision}, not {expected}",
            code="record.revision",
            hint="read it again, and decide on what it says now",
        )


def refuse_expired(record: Record, now: datetime) -> None:
    """Refuse to decide on a record that the next sweep takes away: for readers it is gone already."""
    if record.is_expired(now) and RECORD.allows(record.state, Move.EXPIRE):
        raise Conflict(
            f"record {record.record_id} has expired",
            code="record.expired",
            hint="propose it again with a later expires_at",
        )


def _retire(outcome: Consequences, successor: RecordId, act: Act) -> list[RecordChange]:
    return [
        apply_record_move(record, Move.SUPERSEDE, act, after=replace(record, superseded_by=successor))
        for record in outcome.supersedes
    ]


def _with_review(candidate: Record, act: Act, terms: PublishTerms | None) -> Record:
    if terms is None:
        return candidate
    return replace(
        candidate,
        policy_decision=terms.decision,
        policy_actor=terms.actor or act.actor,
        automation_review=terms.review or candidate.automation_review,
    )
