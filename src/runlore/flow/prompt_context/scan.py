"""A search without an index: every record is looked at.

For a store of few records that takes less than loading an index, and what an index is made with.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from runlore.domain.record import Record, RecordId
from runlore.domain.search.ranking import (
    NEIGHBOUR_TENTHS,
    NEIGHBOURED_HITS,
    TOKEN_SCALE,
    Collection,
    Query,
    RankFilter,
    analyse_query,
    neighbour_points,
    passes,
    rarity,
    score_of,
    session_of,
)
from runlore.domain.timestamps import to_milliseconds
from runlore.flow.prompt_context.scope_view import Analysed
from runlore.ports.index import NO_OVERLAY, Hit, Overlay, Ranking


class RecordScan:
    """The records of a snapshot, ranked one by one. Implements `ports.index.Searchable`."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = {record.record_id: Analysed(record) for record in records}

    def search(
        self,
        query: str,
        *,
        where: RankFilter,
        limit: int,
        overlay: Overlay = NO_OVERLAY,
        relative_to: Collection | None = None,
    ) -> Ranking:
        asked = analyse_query(query)
        shown = {key: each for key, each in self._records.items() if key not in overlay.hidden}
        shown |= {record.record_id: Analysed(record) for record in overlay.records}
        found = [each for each in shown.values() if passes(each.record, where)]
        collection = relative_to or _collection(found, asked.terms)
        found.sort(key=_by_age)
        scored = [
            (each, score)
            for each in found
            if (score := score_of(each.record, asked, collection, impacts=each.impacts)) is not None
        ]
        scored.sort(key=lambda each: -each[1].total)
        gained = _gain_by_neighbours(
            found, [each for each, _ in scored[:NEIGHBOURED_HITS]], asked, collection
        )
        hits = [
            Hit(
                record_id=each.record.record_id,
                total=score.total + gained.get(each.record.record_id, 0),
                revision=each.record.revision,
                neighbours=gained.get(each.record.record_id, 0),
            )
            for each, score in scored
        ]
        order = {each.record.record_id: place for place, each in enumerate(found)}
        best = sorted(hits[:NEIGHBOURED_HITS], key=lambda hit: (-hit.total, order[hit.record_id]))
        return Ranking(hits=(*best, *hits[NEIGHBOURED_HITS:])[:limit], collection=collection)

    def passing(self, where: RankFilter) -> frozenset[RecordId]:
        return frozenset(key for key, each in self._records.items() if passes(each.record, where))


def _collection(found: list[Analysed], terms: tuple[str, ...]) -> Collection:
    return Collection(
        size=len(found),
        newest_at_ms=max((to_milliseconds(each.record.created_at) for each in found), default=0),
        document_frequency={
            term: sum(term in each.impacts.summary or term in each.impacts.metadata for each in found)
            for term in terms
        },
    )


def _gain_by_neighbours(
    found: list[Analysed], hits: list[Analysed], asked: Query, collection: Collection
) -> dict[RecordId, int]:
    """What the hits gain by those beside them in their sessions. `found` is all that is seen, by age."""
    weights = {
        term: rarity(frequency, collection.size)
        for term in asked.terms
        if (frequency := collection.document_frequency[term])
    }
    sessions: dict[str, list[Analysed]] = defaultdict(list)
    for each in found:
        if (session := session_of(each.record)) is not None:
            sessions[session].append(each)
    gained: dict[RecordId, int] = {}
    for hit in hits:
        if (session := session_of(hit.record)) is not None:
            order = sessions[session]
            place = order.index(hit)
            beside = [
                (distance, _gains(order[at], weights))
                for distance in range(1, len(NEIGHBOUR_TENTHS) + 1)
                for at in (place - distance, place + distance)
                if 0 <= at < len(order)
            ]
            points = neighbour_points(_gains(hit, weights), beside)
            gained[hit.record.record_id] = TOKEN_SCALE * points
    return gained


def _gains(each: Analysed, weights: Mapping[str, int]) -> list[int]:
    summary, metadata = each.impacts.summary, each.impacts.metadata
    return [weight * (summary.get(term, 0) + metadata.get(term, 0)) for term, weight in weights.items()]


def _by_age(each: Analysed) -> tuple[int, RecordId]:
    return -to_milliseconds(each.record.created_at), each.record.record_id
