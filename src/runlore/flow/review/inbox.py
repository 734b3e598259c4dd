"""The inbox: what waits for review, with what a confirmation of it would do."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from runlore.domain import limits
from runlore.domain.publication import Consequences, consequences
from runlore.domain.record import Kind, Record, RecordId, State
from runlore.flow.surroundings import surroundings
from runlore.ports.store import RecordFilter, Records

Place: TypeAlias = tuple[str, str] | None


@dataclass(frozen=True, kw_only=True)
class ReviewItem:
    """A waiting record, what it would replace or repeat, and which other proposals want the same place."""

    record: Record
    outcome: Consequences
    rivals: tuple[RecordId, ...] = ()


def items(records: Records, waiting: Iterable[Record], now: datetime) -> tuple[ReviewItem, ...]:
    """The inbox's view of waiting records."""
    listed = tuple(waiting)
    rivals = _by_place(records, listed, now)
    return tuple(
        ReviewItem(
            record=record,
            outcome=consequences(record, surroundings(records, record, now), now),
            rivals=tuple(r for r in rivals.get(_place(record), ()) if r != record.record_id),
        )
        for record in listed
    )


def _by_place(records: Records, listed: tuple[Record, ...], now: datetime) -> dict[Place, list[RecordId]]:
    """Who wants which place, among all that waits in these scopes, on other pages too."""
    scopes = frozenset(record.scope for record in listed if record.kind is Kind.PREFERENCE)
    if not scopes:
        return {}
    where = RecordFilter(
        kinds=frozenset({Kind.PREFERENCE}), states=frozenset({State.CONSTRAINED}), scopes=scopes, now=now
    )
    found: dict[Place, list[RecordId]] = {}
    for record in records.page(where, limit=limits.REVIEW_RIVALS_MAX):
        found.setdefault(_place(record), []).append(record.record_id)
    return found


def _place(record: Record) -> Place:
    if record.kind is not Kind.PREFERENCE:
        return None
    return str(record.scope), str(record.metadata["profile_key"]).casefold()
