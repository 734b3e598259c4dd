"""Roll back and restore: what was active is retired, and what it replaced can come back."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from runlore.domain.audit import Act, moved
from runlore.domain.errors import Conflict
from runlore.domain.lazy import dataclass
from runlore.domain.publication import BlockedRecord, Obstacle, restore_obstacle
from runlore.domain.record import Move, Record, RecordId, transition
from runlore.flow.publish.decide import refuse_expired
from runlore.flow.surroundings import replacements, surroundings
from runlore.ports.store import Records, Transaction


@dataclass(frozen=True, kw_only=True)
class RolledBack:
    """The tombstone, what it had replaced that can come back, what came back, and what cannot and why."""

    record: Record
    restorable: tuple[Record, ...] = ()
    restored: tuple[Record, ...] = ()
    blocked: tuple[BlockedRecord, ...] = ()


def roll_back(tx: Transaction, record: Record, act: Act, *, restore_sources: bool = False) -> RolledBack:
    """Tombstone an active record; with `restore_sources` what it replaced becomes active again."""
    refuse_expired(record, act.at)
    change = moved(record, Move.ROLLBACK, act)
    tx.write([change])
    restorable, blocked = replaced_by(tx.records, record.record_id, act.at)
    if not restore_sources:
        return RolledBack(record=change.record, restorable=restorable, blocked=blocked)
    # All of them stood side by side when they were replaced, so none is in the way of another.
    restored = _restored(tx, restorable, act)
    return RolledBack(record=change.record, restored=restored, blocked=blocked)


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
    return _restored(tx, [record], act)[0]


def sweep(tx: Transaction, due: Sequence[Record], act: Act) -> tuple[Record, ...]:
    """Tombstone what has expired."""
    changes = [moved(record, Move.EXPIRE, act) for record in due]
    tx.write(changes)
    return tuple(change.record for change in changes)


def _restored(tx: Transaction, records: Sequence[Record], act: Act) -> tuple[Record, ...]:
    changes = [
        moved(record, Move.RESTORE, act, after=replace(record, superseded_by=None)) for record in records
    ]
    tx.write(changes)
    return tuple(change.record for change in changes)


def _obstacle(records: Records, record: Record, now: datetime) -> Obstacle | None:
    around = surroundings(records, record, now)
    return restore_obstacle(record, around, replacements(records, record, now), now)
