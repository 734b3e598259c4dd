"""Confirm and reject: each one transaction, with everything it rests on checked again inside it."""

from dataclasses import replace
from datetime import datetime

from runlore.domain.admission import edited
from runlore.domain.audit import Act, Change, moved
from runlore.domain.errors import Conflict
from runlore.domain.publication import Consequences, confirmed, consequences, require
from runlore.domain.record import RECORD, Move, Record, RecordId, transition
from runlore.flow.surroundings import surroundings
from runlore.ports.store import Transaction


def confirm(
    tx: Transaction,
    candidate: Record,
    act: Act,
    *,
    summary: str | None = None,
    supersedes: RecordId | None = None,
    accept_untrusted: bool = False,
) -> Record:
    """Make a candidate active and retire what it replaces; a duplicate ends here and the original answers."""
    refuse_expired(candidate, act.at)
    transition(candidate, Move.CONFIRM)
    text = candidate if summary is None else edited(candidate, summary)
    outcome = consequences(text, surroundings(tx.records, text, act.at, named=supersedes), act.at)
    if outcome.duplicate_of is not None:
        ended = replace(candidate, duplicate_of=outcome.duplicate_of.record_id)
        tx.write([moved(candidate, Move.DUPLICATE, act, after=ended)])
        return outcome.duplicate_of
    require(text, outcome, accept_untrusted=accept_untrusted)
    after = confirmed(text, outcome, actor=act.actor, now=act.at)
    change = moved(candidate, Move.CONFIRM, act, after=after)
    tx.write([*_retired(outcome, change.record.record_id, act), change])
    return change.record


def reject(tx: Transaction, candidate: Record, act: Act) -> Record:
    """Tombstone a candidate."""
    refuse_expired(candidate, act.at)
    change = moved(candidate, Move.REJECT, act)
    tx.write([change])
    return change.record


def expect_revision(record: Record, expected: int | None) -> None:
    """Refuse to act on a record that has moved since the caller read it."""
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


def _retired(outcome: Consequences, successor: RecordId, act: Act) -> list[Change]:
    return [
        moved(record, Move.SUPERSEDE, act, after=replace(record, superseded_by=successor))
        for record in outcome.supersedes
    ]
