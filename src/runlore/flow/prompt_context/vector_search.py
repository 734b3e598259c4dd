"""What is near a query in meaning, beside what its words find: which learnings, and by how much they gain.

Vectors add to what words say and open nothing: only what the same filter lets pass is looked at, and what
prompts may see is decided afterwards by the same rule as ever.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from runlore.domain.prompts.selection import Candidate
from runlore.domain.record import Record, RecordId
from runlore.domain.search.ranking import FusedHit, Similarities, WordHit, fuse

# So many of the nearest take part, and so many of those that words find: docs/decisions/0007.
NEAREST_MAX = 50


class VectorQuery(Protocol):
    """One query as a vector, beside the vectors of the learnings."""

    def similar(
        self, *, allowed: Collection[RecordId], also: Collection[RecordId], limit: int
    ) -> Similarities | None:
        """The nearest of those allowed, and the allowed ones of `also`; None where nothing is known of any,
        and then words decide alone."""
        ...


def gaining(
    hits: Sequence[WordHit], similar: Similarities, *, limit: int, at_most: Callable[[str], int]
) -> frozenset[RecordId]:
    """What no hit names and might still be among the best: it is to be read before it is placed.

    `at_most` tells what the words of something that is not among the hits can count at most.
    """
    known = {hit.key for hit in hits}
    sure = [hit.total for hit in fuse(hits, similar) if hit.key in known][:limit]
    floor = sure[-1] if len(sure) == limit else 0
    others = [WordHit(key=key, total=at_most(key)) for key in similar.of if key not in known]
    most = fuse([*hits, *(hit for hit in others if hit.total)], similar)
    return frozenset(RecordId(hit.key) for hit in most if hit.key not in known and hit.total >= floor)


def nearest_first(similar: Similarities, known: Collection[str]) -> list[RecordId]:
    """What is near and not known yet, as long as it is nearer than everything that is."""
    floor = max((value for key, value in similar.of.items() if key in known), default=None)
    nearer = [
        key for key, value in similar.of.items() if key not in known and (floor is None or value > floor)
    ]
    return [RecordId(key) for key in sorted(nearer, key=lambda key: (-similar.of[key], key))]


def among(similar: Similarities, keys: Collection[str]) -> Similarities:
    """The similarities of these alone. What is near by chance stays what it is."""
    return replace(similar, of={key: value for key, value in similar.of.items() if key in keys})


def fuse_candidates(
    candidates: Sequence[Candidate], others: Mapping[RecordId, Record], similar: Similarities
) -> list[Candidate]:
    """Candidates by words, in their order, and others without words: by both, best first.

    Candidates and others are what a prompt may see. What is near and neither of them is left out.
    """
    records = {**others, **{each.record.record_id: each.record for each in candidates}}
    hits = [WordHit(key=each.record.record_id, total=each.score or 0) for each in candidates]
    return [_candidate(hit, records[RecordId(hit.key)]) for hit in fuse(hits, among(similar, records.keys()))]


def by_id(records: Iterable[Record]) -> dict[RecordId, Record]:
    return {record.record_id: record for record in records}


def _candidate(hit: FusedHit, record: Record) -> Candidate:
    return Candidate(record=record, score=hit.total, meaning=hit.meaning)
