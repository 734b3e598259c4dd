"""A search without an index: every record is looked at.

For a store of few records that takes less than loading an index, and what an index is made with.
"""

from collections.abc import Iterable

from runlore.domain.record import Record, RecordId
from runlore.domain.search.ranking import Collection, RankFilter, analyse_query, passes, score_of
from runlore.domain.timestamps import to_milliseconds
from runlore.flow.project.record_cache import Analysed
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
        hits = [
            Hit(record_id=each.record.record_id, total=score.total, revision=each.record.revision)
            for each in sorted(found, key=_by_age)
            if (score := score_of(each.record, asked, collection, impacts=each.impacts)) is not None
        ]
        hits.sort(key=lambda hit: -hit.total)
        return Ranking(hits=tuple(hits[:limit]), collection=collection)

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


def _by_age(each: Analysed) -> tuple[int, RecordId]:
    return -to_milliseconds(each.record.created_at), each.record.record_id
