"""The inbox: what waits for review and what confirming it would do; and learnings to look at again."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from runlore.domain import limits
from runlore.domain.claims.rivals import Surroundings, in_the_way
from runlore.domain.lazy import dataclass
from runlore.domain.record import (
    REVIEWED_KINDS,
    Kind,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    State,
    VerificationStatus,
)
from runlore.domain.records.publication import Consequences, consequences, raise_obstacles
from runlore.domain.scope import Scope
from runlore.domain.statements.ranks import Rank
from runlore.domain.timestamps import format_time
from runlore.flow.neighbours import surroundings
from runlore.ports.store import RecordFilter, Records

Place: TypeAlias = tuple[str, str] | None


def waiting_for_review(
    now: datetime, *, kinds: frozenset[Kind] = frozenset(), scopes: frozenset[Scope] | None = None
) -> RecordFilter:
    """Which records wait for a decision; those of some kinds or scopes where these are named."""
    return RecordFilter(
        kinds=kinds or REVIEWED_KINDS, states=frozenset({State.CONSTRAINED}), scopes=scopes, now=now
    )


def without_folded(where: RecordFilter) -> RecordFilter:
    """Those of them that are shown at once."""
    return replace(where, ranks=frozenset({None, Rank.FIRST}))


def only_folded(where: RecordFilter) -> RecordFilter:
    """Those of them that wait folded under the others."""
    return replace(where, ranks=frozenset({Rank.FOLDED}))


def standing_first(
    records: Records, where: RecordFilter, now: datetime
) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """The learnings that stand before what waits: held back ones, then those due for revalidation."""
    held = _held_back(records, where)
    known = {record.record_id for record in held}
    found = records.revalidation_due(now, scopes=where.scopes, limit=limits.REVALIDATIONS_LISTED_MAX)
    asked = (record for record in found if where.kinds is None or record.kind in where.kinds)
    return held, tuple(record for record in asked if record.record_id not in known)


def count_waiting(records: Records, now: datetime) -> int:
    """How many the list of what waits for review holds: the one count that every surface shows."""
    where = waiting_for_review(now)
    held, due = standing_first(records, where, now)
    return len(held) + len(due) + records.count_lines(where)


@dataclass(frozen=True, kw_only=True)
class WaitingRecord:
    """A waiting record, what it would replace or repeat, and which other proposals want the same place."""

    record: Record
    outcome: Consequences
    rivals: tuple[RecordId, ...] = ()
    attention: tuple[str, ...] = ()


def due_items(learnings: Iterable[Record]) -> tuple[WaitingRecord, ...]:
    return tuple(
        WaitingRecord(record=record, outcome=Consequences(), attention=_attention(record))
        for record in learnings
    )


def _held_back(records: Records, where: RecordFilter) -> tuple[Record, ...]:
    """The provisional learnings that were escalated and not refuted since, the newest first."""
    escalated = replace(
        where,
        states=frozenset({State.ACTIVE}),
        tiers=frozenset({PublishTier.PROVISIONAL}),
        decisions=frozenset({PolicyDecision.ESCALATED}),
    )
    found = records.page(escalated, limit=limits.REVALIDATIONS_LISTED_MAX)
    return tuple(each for each in found if each.verification_status is not VerificationStatus.FAILED)


def held_items(records: Records, learnings: Iterable[Record], now: datetime) -> tuple[WaitingRecord, ...]:
    """Their view: what each contradicts, and what keeps it from being raised."""
    return tuple(_held_item(record, surroundings(records, record, now), now) for record in learnings)


def _held_item(record: Record, around: Surroundings, now: datetime) -> WaitingRecord:
    against = [
        f": it contradicts {other.record_id}: {other.summary!r}" for other in in_the_way(record, around)
    ]
    is_supported = record.verification_status is VerificationStatus.VERIFIED
    told = "supported by its evidence" if is_supported else "said again"
    return WaitingRecord(
        record=record,
        outcome=Consequences(obstacles=raise_obstacles(record, around, now)),
        attention=(
            *(f"{told}, yet provisional{each}" for each in against or _NOTHING_AGAINST),
            *_attention(record),
        ),
    )


_NOTHING_AGAINST = ("",)


def _attention(record: Record) -> tuple[str, ...]:
    """Why somebody should look at a learning."""
    wrong, helped = record.feedback.wrong, record.feedback.helped
    said = []
    if wrong:
        said.append(f"called wrong in {_runs(wrong)}{f', helped in {_runs(helped)}' if helped else ''}")
    if record.revalidate_at is not None:
        said.append(f"due for revalidation since {format_time(record.revalidate_at)}")
    return tuple(said)


def _runs(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"


def items(records: Records, waiting: Iterable[Record], now: datetime) -> tuple[WaitingRecord, ...]:
    listed = tuple(waiting)
    rivals = _by_place(records, listed, now)
    return tuple(
        WaitingRecord(
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
