"""Search: the index ranks, the store answers, and the score comes with its parts.

The index follows the store inside the same snapshot that the answer is read from, so what is acknowledged
is found by the next search.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from runlore.domain.audit import as_of as as_of_events
from runlore.domain.errors import Corrupt
from runlore.domain.ranking import Collection, Query, RankFilter, Score, analysed, score_of
from runlore.domain.record import Record, RecordId, StateReason
from runlore.ports.index import NO_OVERLAY, Hit, Index, Overlay, Ranking
from runlore.ports.store import Position, Records


@dataclass(frozen=True, kw_only=True)
class Found:
    """A record that matches, with its score and the score's parts."""

    record: Record
    score: Score


@dataclass(frozen=True, kw_only=True)
class CaughtUp:
    """Where the index stands now, how many records it was told, and whether some of them were forgotten."""

    position: Position
    told: int
    forgot: bool


def catch_up(index: Index, records: Records, since: Position) -> CaughtUp:
    """Bring the index to where this snapshot stands.

    Of a record that was forgotten, here or by another daemon, the words go too. Its tombstone stays, for it
    still counts among the stale records of a search.
    """
    told = 0
    forgotten: list[Record] = []

    def counted() -> Iterator[Record]:
        nonlocal told
        for record in records.changed_since(since):
            told += 1
            if record.state_reason is StateReason.FORGOTTEN:
                forgotten.append(record)
            yield record

    index.apply(counted())
    # What is told from the beginning never had the words.
    if forgotten and since.cursor:
        index.erase([record.record_id for record in forgotten])
        index.apply(forgotten)
    return CaughtUp(position=records.position(), told=told, forgot=bool(forgotten))


def search(
    index: Index, records: Records, query: str, *, where: RankFilter, limit: int, as_of: datetime | None
) -> tuple[Found, ...]:
    """The best matches of a query, now or as they would have been found at a past moment."""
    past = _past_versions(records, as_of) if as_of is not None else {}
    overlay = NO_OVERLAY
    if past:
        versions = tuple(record for record in past.values() if record is not None)
        overlay = Overlay(hidden=frozenset(past), records=versions)
    ranking = index.search(query, where=where, limit=limit, overlay=overlay)
    found = dict(records.get_many([hit.record_id for hit in ranking.hits]))
    found.update({i: record for i, record in past.items() if record is not None and i in found})
    return _explained(ranking, found, query)


def _past_versions(records: Records, moment: datetime) -> dict[RecordId, Record | None]:
    """What has moved since, as it was then: None for what did not exist yet."""
    histories = records.events_of_many(records.moved_since(moment))
    return {record_id: as_of_events(events, moment) for record_id, events in histories.items()}


def _explained(ranking: Ranking, found: dict[RecordId, Record], query: str) -> tuple[Found, ...]:
    asked = analysed(query)
    return tuple(_part(hit, found.get(hit.record_id), asked, ranking.collection) for hit in ranking.hits)


def _part(hit: Hit, record: Record | None, query: Query, collection: Collection) -> Found:
    score = None if record is None else score_of(record, query, collection)
    if record is None or score is None or score.total != hit.total:
        raise Corrupt(
            f"the index ranks record {hit.record_id} by something else than what is stored",
            code="index.differs",
            hint="the index is rebuilt from the store by itself; search again",
        )
    return Found(record=record, score=score)
