"""Roll back and restore: what was active is retired, and what it replaced can come back.

Revoke: a learning is taken back, or all that pass a filter.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from runlore.domain.errors import Conflict
from runlore.domain.record import Move, Record, RecordId, transition
from runlore.domain.records.audit import Act, apply_record_move
from runlore.domain.records.publication import BlockedRecord, Obstacle, restore_obstacle
from runlore.flow.neighbours import replacements, surroundings
from runlore.flow.publish.decide import refuse_expired
from runlore.ports.operations import RollbackAnswer
from runlore.ports.store import Records, Transaction


def roll_back(tx: Transaction, record: Record, act: Act, *, restore_sources: bool = False) -> RollbackAnswer:
    """Tombstone an active record; with `restore_sources` what it replaced becomes active again."""
    refuse_expired(record, act.at)
    change = apply_record_move(record, Move.ROLLBACK, act)
    tx.write([change])
    restorable, blocked = replaced_by(tx.records, record.record_id, act.at)
    if not restore_sources:
        return RollbackAnswer(record=change.record, restorable=restorable, blocked=blocked)
    # All of them stood side by side when they were replaced, so none is in the way of another.
    restored = _restore(tx, restorable, act)
    return RollbackAnswer(record=change.record, restored=restored, blocked=blocked)


def replaced_by(
    records: Records, record_id: RecordId, now: datetime
) -> tuple[tuple[Record, ...], tuple[BlockedRecord, ...]]:
    """What a record had replaced: what can come back now, and what cannot and why."""
    seen = [(source, _obstacle(records, source, now)) for source in records.superseded_by(record_id)]
    return (
        tuple(source for source, obstacle in seen if obstacle is None),
        tuple(BlockedRecord(record=source, obstacle=why) for source, why in seen if why is not None),
    )


def restore(tx: Transaction, record: Record, act: Act) -> Record:
    """Make a superseded record active again, when nothing active replaces it."""
    transition(record, Move.RESTORE)
    obstacle = _obstacle(tx.records, record, act.at)
    if obstacle is not None:
        raise Conflict(obstacle.sentence, code=obstacle.code, hint=obstacle.hint)
    return _restore(tx, [record], act)[0]


def sweep(tx: Transaction, due: Sequence[Record], act: Act) -> tuple[Record, ...]:
    changes = [apply_record_move(record, Move.EXPIRE, act) for record in due]
    tx.write(changes)
    return tuple(change.record for change in changes)


def _restore(tx: Transaction, records: Sequence[Record], act: Act) -> tuple[Record, ...]:
    changes = [
        apply_record_move(record, Move.RESTORE, act, after=replace(record, superseded_by=None))
        for record in records
    ]
    tx.write(changes)
    return tuple(change.record for change in changes)


def _obstacle(records: Records, record: Record, now: datetime) -> Obstacle | None:
    around = surroundings(records, record, now)
    return restore_obstacle(record, around, replacements(records, record, now), now)


def revoke(tx: Transaction, records: Sequence[Record], act: Act) -> tuple[Record, ...]:
    """Tombstone learnings, all of them or none."""
    for record in records:
        refuse_expired(record, act.at)
    changes = [apply_record_move(record, Move.REVOKE, act) for record in records]
    tx.write(changes)
    return tuple(change.record for change in changes)
