"""The inbox: what waits for review and what confirming it would do; and learnings to look at again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from runlore.domain import limits
from runlore.domain.errors import Corrupt
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.record import (
    REVIEWED_KINDS,
    WORTH,
    Kind,
    PolicyDecision,
    Proposal,
    PublishTier,
    Record,
    RecordId,
    State,
    VerificationStatus,
)
from runlore.domain.records.visibility import hidden_because
from runlore.domain.runs.job import JobState
from runlore.domain.scope import Scope
from runlore.domain.skill import SuggestionId
from runlore.domain.statements.ranks import Rank
from runlore.domain.suggestion import StoredSuggestion, SuggestionState
from runlore.domain.timestamps import format_time
from runlore.ports.store import Collections, RecordFilter, Records

if TYPE_CHECKING:
    from runlore.domain.claims import contradictions
    from runlore.domain.records import publication
    from runlore.domain.skills import repetition
    from runlore.flow import neighbours
else:
    contradictions = LazyModule("runlore.domain.claims.contradictions")
    publication = LazyModule("runlore.domain.records.publication")
    repetition = LazyModule("runlore.domain.skills.repetition")
    neighbours = LazyModule("runlore.flow.neighbours")

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


def list_held_and_due(
    records: Records, where: RecordFilter, now: datetime
) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """The learnings that stand before what waits: held back ones, then those due for revalidation."""
    held = _held_back(records, where)
    known = {record.record_id for record in held}
    found = records.revalidation_due(now, scopes=where.scopes, limit=limits.REVALIDATIONS_LISTED_MAX)
    asked = (record for record in found if where.kinds is None or record.kind in where.kinds)
    return held, tuple(record for record in asked if record.record_id not in known)


def count_waiting(collections: Collections, where: RecordFilter, now: datetime) -> int:
    """How many wait for a person, but for what runs ask: all that the inbox lists, by what it counts.
    Suggestions and jobs belong to no scope, and to whoever sees all of them."""
    held, due = list_held_and_due(collections.records, where, now)
    records = len(held) + len(due) + collections.records.count_lines(where)
    if where.scopes is not None:
        return records
    suggested = collections.suggestions.count().get(SuggestionState.WAITING, 0)
    return records - len(of_suggestions(collections, where)) + suggested + count_dead(collections)


def of_suggestions(collections: Collections, where: RecordFilter) -> dict[RecordId, Record]:
    """What waits and was proposed with a suggestion that waits: who decides on that decides on both, so that
    it is no item of its own, for whoever sees suggestions."""
    proposed = replace(where, proposals=frozenset({Proposal.EPISODES}))
    if where.scopes is not None or not collections.records.count_lines(proposed):
        return {}
    found: tuple[Record, ...] = ()
    # Where one is damaged, which doctor tells, what waits is still counted.
    with suppress(Corrupt):
        digests = [
            digest
            for stored in waiting_suggestions(collections)
            for kind in (Kind.PROCEDURE, Kind.FACT)
            for digest in repetition.digests_of(stored.suggestion, kind)
        ]
        found = collections.records.proposals_for(*digests)
    return {record.record_id: record for record in found if where.admits(record)}


def waiting_suggestions(
    collections: Collections, after: tuple[int, SuggestionId] | None = None
) -> Iterator[StoredSuggestion]:
    """The best first, behind a place."""
    while found := collections.suggestions.page(
        limit=limits.LIST_LIMIT_MAX, after=after, states=frozenset({SuggestionState.WAITING})
    ):
        yield from found
        after = (found[-1].suggestion.score.points, found[-1].suggestion_id)


def count_dead(collections: Collections) -> int:
    counted = collections.jobs.count()
    return sum(number for (_, state), number in counted.items() if state is JobState.DEAD)


@dataclass(frozen=True, kw_only=True)
class WaitingRecord:
    """A waiting record, what it would replace, repeat or clash with, and which other proposals want the same
    place."""

    record: Record
    outcome: publication.Consequences
    clashing: tuple[Record, ...] = ()
    rivals: tuple[RecordId, ...] = ()
    attention: tuple[str, ...] = ()


def due_items(learnings: Iterable[Record]) -> tuple[WaitingRecord, ...]:
    return tuple(
        WaitingRecord(record=record, outcome=publication.Consequences(), attention=_attention(record))
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
    return tuple(
        _held_item(record, neighbours.surroundings(records, record, now), now) for record in learnings
    )


def _held_item(record: Record, around: contradictions.Surroundings, now: datetime) -> WaitingRecord:
    against = [
        f": it contradicts {other.record_id}: {other.summary!r}"
        for other in contradictions.find_blocking_records(record, around)
    ]
    is_supported = record.verification_status is VerificationStatus.VERIFIED
    support = "supported by its evidence" if is_supported else "said again"
    return WaitingRecord(
        record=record,
        outcome=publication.Consequences(obstacles=publication.raise_obstacles(record, around, now)),
        clashing=_clashing(record, around, now),
        attention=(
            *(f"{support}, yet provisional{each}" for each in against or _NOTHING_AGAINST),
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
    worth = record.metadata.get(WORTH)
    if record.doubt:
        said.append(record.doubt)
    elif record.revalidate_at is not None and isinstance(worth, str):
        said.append(worth)
    elif record.revalidate_at is not None:
        said.append(f"due for revalidation since {format_time(record.revalidate_at)}")
    return tuple(said)


def _runs(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"


def items(records: Records, waiting: Iterable[Record], now: datetime) -> tuple[WaitingRecord, ...]:
    listed = tuple(waiting)
    others = _by_place(records, listed, now)
    return tuple(
        replace(
            foresee(records, record, now),
            rivals=tuple(r for r in others.get(_place(record), ()) if r != record.record_id),
        )
        for record in listed
    )


def foresee(records: Records, record: Record, now: datetime) -> WaitingRecord:
    """What confirming a candidate would do; who else wants its place is not looked for."""
    around = neighbours.surroundings(records, record, now)
    outcome = publication.consequences(record, around, now)
    replaced = {each.record_id for each in outcome.supersedes}
    clashing = (each for each in _clashing(record, around, now) if each.record_id not in replaced)
    attention = (record.doubt,) if record.doubt else ()
    return WaitingRecord(record=record, outcome=outcome, clashing=tuple(clashing), attention=attention)


def _clashing(record: Record, around: contradictions.Surroundings, now: datetime) -> tuple[Record, ...]:
    """What prompts see, and cannot hold together with it."""
    return tuple(
        each
        for each in contradictions.find_contradictions(record, around)
        if hidden_because(each, now) is None
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
