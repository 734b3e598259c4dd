"""One search over a view of the index: count the filtered set, weigh the terms, find the best of each part.

The scores are those of `domain.search.ranking`; here they are only reached without scoring every record.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias
from weakref import ReferenceType, ref

import numpy as np

from runlore.domain.lazy import dataclass
from runlore.domain.record import RecordId
from runlore.domain.search.ranking import (
    EXACT,
    RECENCY_MAX,
    RECENCY_STEPS_MS,
    STATE_ACTIVE,
    TOKEN_SCALE,
    Collection,
    Query,
    RankFilter,
    passes,
    rarity,
    recency,
    state_points,
)
from runlore.domain.timestamps import to_milliseconds
from runlore.ports.index import NO_OVERLAY, Hit, Overlay, Ranking
from runlore.recall.arrays import Keys, Numbers, Points, Positions
from runlore.recall.keys import digest, find, keys_of, term_digest
from runlore.recall.segment import CATEGORIES, Segment
from runlore.recall.segment_builder import Document, document_of, to_microseconds
from runlore.recall.top_rows import TermPostings, best_rows, greatest, points_at
from runlore.recall.visibility import LiveSegment, LruCache, Visible

# What sorts hits: the total and the time the other way round, then the id. The revision comes along.
_Place: TypeAlias = tuple[int, int, RecordId, int]

_STATE_POINTS = np.array([state_points(state) for _, _, state, _ in CATEGORIES], dtype=np.int64)
_FILTERS_KEPT = 8
_RECENCY_STEPS_MS = np.array(RECENCY_STEPS_MS, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexView:
    """All of the index at one moment: its parts, and the few documents that are in none of them yet."""

    parts: tuple[LiveSegment, ...] = ()
    tail: Mapping[RecordId, Document] = field(default_factory=dict)


def rank(
    view: IndexView,
    query: Query,
    *,
    where: RankFilter,
    limit: int,
    overlay: Overlay,
    relative_to: Collection | None = None,
) -> Ranking:
    """The best of the filtered set."""
    documents = list(_documents(view, where, overlay))
    sections = list(_sections(view, query, where=where, overlay=overlay))
    collection = relative_to or _collection(query, documents, sections)
    round_ = _Round(query=query, collection=collection, limit=limit)
    places: list[_Place] = round_.of_documents(documents) if limit > 0 else []
    for section in sections if limit > 0 else []:
        places = sorted(places)[:limit]
        floor = -places[-1][0] if len(places) == limit else 0
        places += round_.of_section(section, floor)
    hits = tuple(
        Hit(record_id=record_id, total=-total, revision=revision)
        for total, _, record_id, revision in sorted(places)[:limit]
    )
    return Ranking(hits=hits, collection=collection)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Passing:
    """All that passes a filter, with what was seen of each part and of the tail.

    Parts that are gone are not held on to: they have the words of what was forgotten.
    """

    seen: tuple["ReferenceType[Visible]", ...]
    tail: frozenset[RecordId]
    ids: frozenset[RecordId]

    def holds(self, seen: Sequence[Visible], tail: frozenset[RecordId]) -> bool:
        """Whether this is what is seen now."""
        is_same = len(seen) == len(self.seen) and all(
            known() is each for known, each in zip(self.seen, seen, strict=True)
        )
        return is_same and tail == self.tail


class PassingCache:
    """What passed the filters that were used last, for as long as the parts show the same rows."""

    def __init__(self) -> None:
        self._recent: LruCache[_Passing] = LruCache(_FILTERS_KEPT)

    def ids(self, view: IndexView, where: RankFilter) -> frozenset[RecordId]:
        """The ids of the filtered set."""
        key = (where.layers, where.kinds, where.states, where.scopes, where.include_sensitive)
        seen = tuple(part.visible(where) for part in view.parts)
        tail = frozenset(document.record.record_id for document in _documents(view, where, NO_OVERLAY))
        known = self._recent.get(key)
        if known is None or not known.holds(seen, tail):
            ids = tail.union(*map(_ids, seen))
            known = self._recent.keep(key, _Passing(seen=tuple(map(ref, seen)), tail=tail, ids=ids))
        return known.ids


def _ids(visible: Visible) -> Iterator[RecordId]:
    """The ids of the rows that are seen."""
    segment = visible.segment
    text, starts = segment.id_text.tobytes(), segment.id_start.tolist()
    for row in np.flatnonzero(visible.mask).tolist():
        yield RecordId(text[starts[row] : starts[row + 1]].decode("utf-8", "surrogatepass"))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Section:
    """The rows of one part that are seen, and the number there of each term of the query, or -1."""

    visible: Visible
    terms: list[int]


def _documents(view: IndexView, where: RankFilter, overlay: Overlay) -> Iterator[Document]:
    """What is seen outside the parts."""
    replaced = {record.record_id for record in overlay.records}
    for record_id, document in view.tail.items():
        hidden = record_id in overlay.hidden or record_id in replaced
        if not hidden and passes(document.record, where):
            yield document
    yield from (document_of(record) for record in overlay.records if passes(record, where))


def _sections(view: IndexView, query: Query, *, where: RankFilter, overlay: Overlay) -> Iterator[_Section]:
    """What is seen in the parts, the largest first: its best rows then spare work in the smaller ones."""
    terms = keys_of(map(term_digest, query.terms))
    hidden = keys_of(map(digest, overlay.hidden.union(record.record_id for record in overlay.records)))
    for part in sorted(view.parts, key=lambda each: -len(each.segment)):
        visible = _without(part.visible(where), hidden)
        if visible.size:
            yield _Section(visible=visible, terms=find(part.segment.term_key, terms).tolist())


def _without(visible: Visible, hidden: Keys) -> Visible:
    if not hidden.size:
        return visible
    rows = visible.segment.rows_of(hidden)
    rows = rows[rows >= 0]
    return visible.without(rows) if rows.size else visible


def _collection(query: Query, documents: Sequence[Document], sections: Sequence[_Section]) -> Collection:
    frequency = dict.fromkeys(query.terms, 0)
    for document in documents:
        for term in query.terms:
            frequency[term] += term in document.impacts
    for section in sections:
        for term, number in zip(query.terms, section.terms, strict=True):
            frequency[term] += section.visible.frequency(number) if number >= 0 else 0
    newest = [to_milliseconds(document.record.created_at) for document in documents]
    newest += [section.visible.newest_at_us() // 1000 for section in sections]
    size = len(documents) + sum(section.visible.size for section in sections)
    return Collection(size=size, newest_at_ms=max(newest, default=0), document_frequency=frequency)


class _Round:
    """One query against one collection."""

    def __init__(self, *, query: Query, collection: Collection, limit: int) -> None:
        self._query = query
        self._collection = collection
        self._limit = limit
        self._whole = digest(query.whole)
        self._weights = [
            rarity(frequency, collection.size) if frequency else 0
            for frequency in map(collection.document_frequency.__getitem__, query.terms)
        ]

    def of_documents(self, documents: Sequence[Document]) -> list[_Place]:
        """Every document that matches."""
        return [place for document in documents if (place := self._place_of(document)) is not None]

    def of_section(self, section: _Section, floor: int) -> list[_Place]:
        """The best rows of a part that reach a total of `floor`."""
        segment, visible = section.visible.segment, section.visible
        wanted = [
            TermPostings.of(postings, weight)
            for term, weight in zip(section.terms, self._weights, strict=True)
            if term >= 0 and weight
            for postings in segment.lists(term)
        ]
        exact = self._exact_rows(visible)
        if exact.size:
            visible = visible.without(exact)
        points_min = -(-(floor - STATE_ACTIVE - RECENCY_MAX) // TOKEN_SCALE)
        rows, points = best_rows(visible.mask, wanted, limit=self._limit, floor=points_min)
        totals = self._totals(segment, rows, points)
        if exact.size:
            exact_totals = EXACT + self._totals(segment, exact, points_at(exact, wanted))
            rows, totals = np.concatenate((exact, rows)), np.concatenate((exact_totals, totals))
        first = _first(rows, totals, self._limit)
        best = rows[first]
        columns = (totals[first], segment.created_at_us[best], best, segment.revision[best])
        return [
            (-total, -created, segment.record_id(row), revision)
            for total, created, row, revision in zip(*(each.tolist() for each in columns), strict=True)
        ]

    def _place_of(self, document: Document) -> _Place | None:
        record = document.record
        exact = EXACT if self._query.whole and document.whole == self._query.whole else 0
        impacts = document.impacts
        points = sum(
            weight * impacts.get(term, 0)
            for term, weight in zip(self._query.terms, self._weights, strict=True)
        )
        if not (exact or points):
            return None
        age_ms = self._collection.newest_at_ms - to_milliseconds(record.created_at)
        total = exact + TOKEN_SCALE * points + state_points(record.state) + recency(age_ms)
        return -total, -to_microseconds(record.created_at), record.record_id, record.revision

    def _exact_rows(self, visible: Visible) -> Positions:
        if not self._query.whole:
            return np.zeros(0, dtype=np.int64)
        rows = visible.segment.rows_saying(self._whole)
        return rows[visible.mask[rows]]

    def _totals(self, segment: Segment, rows: Positions, points: Points) -> Numbers:
        age_ms = self._collection.newest_at_ms - segment.created_at_us[rows] // 1000
        lost = np.searchsorted(_RECENCY_STEPS_MS, age_ms, "right")
        states = _STATE_POINTS[segment.category[rows]]
        return TOKEN_SCALE * points.astype(np.int64) + states + (RECENCY_MAX - lost)


def _first(rows: Positions, totals: Numbers, limit: int) -> Positions:
    """The positions of the `limit` greatest totals; of one total, those of the smallest rows."""
    if rows.size <= limit:
        return np.arange(rows.size)
    last = greatest(totals, limit)
    above, level = np.flatnonzero(totals > last), np.flatnonzero(totals == last)
    missing = limit - above.size
    if level.size > missing:
        level = level[np.argpartition(rows[level], missing - 1)[:missing]]
    return np.concatenate((above, level))
