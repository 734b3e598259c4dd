"""The inbox: what waits for review, with what a confirmation of it would do."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from runlore.domain.publication import Consequences, consequences
from runlore.domain.record import Kind, Record, RecordId
from runlore.flow.surroundings import surroundings
from runlore.ports.store import Records


@dataclass(frozen=True, kw_only=True)
class ReviewItem:
    """A waiting record, what it would replace or repeat, and which other proposals want the same place."""

    record: Record
    outcome: Consequences
    rivals: tuple[RecordId, ...] = ()


def items(records: Records, waiting: Iterable[Record], now: datetime) -> tuple[ReviewItem, ...]:
    """The inbox's view of waiting records."""
    listed = tuple(waiting)
    return tuple(
        ReviewItem(
            record=record,
            outcome=consequences(record, surroundings(records, record, now), now),
            rivals=_rivals(record, listed),
        )
        for record in listed
    )


def _rivals(record: Record, listed: tuple[Record, ...]) -> tuple[RecordId, ...]:
    place = _place(record)
    if place is None:
        return ()
    return tuple(r.record_id for r in listed if r.record_id != record.record_id and _place(r) == place)


def _place(record: Record) -> tuple[str, str] | None:
    if record.kind is not Kind.PREFERENCE:
        return None
    return str(record.scope), str(record.metadata["profile_key"]).casefold()
