"""The same act again: what was done before, with the same result, is answered as it stands (SUR-7).

Each function tells whether a record is already what an act would make of it. Where it is not, the act goes on
and meets the table of moves, which says no.
"""

from collections.abc import Sequence
from datetime import datetime

from runlore.domain.record import Move, PublishTier, Record, RecordId, State, StateReason
from runlore.domain.records.admission import Edits, apply_edits
from runlore.ports.store import Records

_NOTHING = Edits()


def ended_before(record: Record, reason: StateReason) -> bool:
    return record.state is State.TOMBSTONED and record.state_reason is reason


def restored_before(records: Records, record: Record) -> bool:
    return record.state is State.ACTIVE and records.events(record.record_id)[-1].move is Move.RESTORE


def published_before(
    records: Records,
    record: Record,
    edits: Edits,
    *,
    now: datetime,
    tier: PublishTier = PublishTier.ACTIVE,
    supersedes: RecordId | None = None,
    standing: bool | None = None,
) -> Record | None:
    """What a candidate was published as, where that is what is asked for; the original of a duplicate."""
    if ended_before(record, StateReason.DUPLICATE):
        original = records.get_many(_ids(record.duplicate_of)).get(record.duplicate_of or record.record_id)
        is_told = (
            original is not None
            and original.state is State.ACTIVE
            and not (standing and not original.standing)
        )
        return original if is_told else None
    if record.state is not State.ACTIVE or record.published_at is None or record.is_expired(now):
        return None
    replaced = {each.record_id for each in records.superseded_by(record.record_id)}
    if not replaced.issuperset(_ids(supersedes)) or record.publish_tier is not tier:
        return None
    if standing not in (None, record.standing):
        return None
    return record if edits == _NOTHING or apply_edits(record, edits, now=now) == record else None


def superseded_before(
    records: Records, old: Record, edits: Edits, *, now: datetime, tier: PublishTier
) -> Record | None:
    """What a learning was superseded by, where that says what is asked for."""
    if old.state is not State.SUPERSEDED:
        return None
    new = records.get_many(_ids(old.superseded_by)).get(old.superseded_by or old.record_id)
    return None if new is None else published_before(records, new, edits, now=now, tier=tier)


def _ids(record_id: RecordId | None) -> Sequence[RecordId]:
    return [] if record_id is None else [record_id]
