"""Revoke: a learning is taken back, or all that pass a filter."""

from collections.abc import Sequence

from runlore.domain.audit import Act, moved
from runlore.domain.record import Move, Record
from runlore.flow.publish.decide import refuse_expired
from runlore.ports.store import Transaction


def revoke(tx: Transaction, records: Sequence[Record], act: Act) -> tuple[Record, ...]:
    """Tombstone learnings, all of them or none."""
    for record in records:
        refuse_expired(record, act.at)
    changes = [moved(record, Move.REVOKE, act) for record in records]
    tx.write(changes)
    return tuple(change.record for change in changes)
