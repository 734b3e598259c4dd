"""One search over a view of the index: count the filtered set, weigh the terms, find the best of each part.

The scores are those of `domain.search.ranking`; here they are only reached without scoring every record.
A kernel leaves out most postings. Without one, lists that together cannot reach the floor are read only for
the rows that the others name. The answers are the same.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from runlore.domain.lazy import dataclass
from runlore.domain.record import RecordId
from runlore.domain.search.ranking import (
    EXACT,
    NEIGHBOURED_HITS,
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
from runlore.recall.kernel import BestRow, Kernel, load_kernel
from runlore.recall.keys import (
    DIGEST_BYTES,
    Impacts,
    Keys,
    Mask,
    Numbers,
    Points,
    Positions,
    digest,
    find,
    find_all,
    keys_of,
    term_digest,
)
from runlore.recall.neighbours import SessionOrder, has_sessions
from runlore.recall.segment import STATE_POINTS, Document, Postings, Segment, document_of, to_microseconds
from runlore.recall.visibility import LiveSegment, LruCache, Visible

# A list of a term of the query, with the term's rarity.
Weighed: TypeAlias = tuple[Postings, int]


def best_rows(mask: Mask, wanted: Sequence[Weighed], *, limit: int, floor: int) -> tuple[Positions, Points]:
    """Every row with at least `floor` points (and one) that is not below the `limit` best, with its points.

    Rows with the points of the last of the best are all returned: what breaks their tie is not known here.
    """
    by_worth = sorted(wanted, key=lambda each: each[0].impact_max * each[1] / each[0].rows.size)
    # What the first of the lists can give together: as long as that is below the floor, they are read last.
    gains = [*accumulate((postings.impact_max * weight for postings, weight in by_worth), initial=0)]
    open_ = max(0, bisect_left(gains, floor) - 1)
    if open_ == len(by_worth):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    points = _sum_up(by_worth[open_:], mask)
    best = (points >= max(1, floor - gains[open_])).nonzero()[0]
    found = points.take(best)
    for each in range(open_ - 1, -1, -1):
        postings, weight = by_worth[each]
        found += _impacts_at(postings, best, mask.size) * float(weight)
        able = (found >= floor - gains[each]).nonzero()[0]
        best, found = best.take(able), found.take(able)
    if best.size > limit:
        able = (found >= greatest(found, limit)).nonzero()[0]
        best, found = best.take(able), found.take(able)
    return best, found.astype(np.int32)


def _sum_up(wanted: Sequence[Weighed], mask: Mask) -> NDArray[Any]:
    rows = np.concatenate([postings.rows for postings, _ in wanted])
    gains = np.concatenate([postings.impacts for postings, _ in wanted]) * np.repeat(
        np.array([weight for _, weight in wanted], dtype=np.float64),
        [postings.rows.size for postings, _ in wanted],
    )
    # Sums of whole numbers below 2 ** 53 are exact.
    points: NDArray[Any] = np.bincount(rows, gains, minlength=mask.size)
    return points * mask


def _impacts_at(postings: Postings, rows: Positions, size: int) -> Points | Impacts:
    """The impacts in these rows: where there are many of them, the whole list is laid out."""
    if rows.size * _LOOKED_UP_COST < postings.rows.size:
        return postings.at(rows)
    laid_out = np.zeros(size, dtype=np.uint8)
    laid_out[postings.rows] = postings.impacts
    return laid_out.take(rows)


def points_at(rows: Positions, wanted: Sequence[Weighed]) -> Points:
    points = np.zeros(rows.size, dtype=np.int32)
    for postings, weight in wanted:
        points += postings.at(rows) * np.int32(weight)
    return points


def greatest(numbers: NDArray[Any], count: int) -> int:
    """The smallest of the `count` greatest numbers. There are at least as many."""
    return int(np.partition(numbers, numbers.size - count)[numbers.size - count])


# To look for a row in a list takes as long as to lay out so many postings.
_LOOKED_UP_COST = 16
# What sorts hits: the total and the time the other way round, then the id. The revision comes along, and what
# neighbours have added.
_Place: TypeAlias = tuple[int, int, RecordId, int, int]

KERNEL = load_kernel()
_FILTERS_KEPT = 8
_RECENCY_STEPS_MS = np.array(RECENCY_STEPS_MS, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexView:
    """All of the index at one moment: its parts, and the few documents that are in none of them yet."""

    parts: tuple[LiveSegment, ...] = ()
    tail: Mapping[RecordId, Document] = field(default_factory=dict)
    # What reads and makes the parts, where it was compiled.
    kernel: Kernel | None = KERNEL


def rank(
    view: IndexView,
    query: Query,
    *,
    where: RankFilter,
    limit: int,
    overlay: Overlay,
    relative_to: Collection | None = None,
) -> Ranking:
    documents = list(_documents(view, where, overlay))
    sections = list(_sections(view, query, where=where, overlay=overlay))
    collection = relative_to or _collection(query, documents, sections)
    if limit <= 0:
        return Ranking(hits=(), collection=collection)
    in_order = has_sessions([section.visible for section in sections], documents)
    depth = max(limit, NEIGHBOURED_HITS) if in_order else limit
    round_ = _Round(query=query, collection=collection, limit=depth, kernel=view.kernel)
    places: list[_Place] = round_.of_documents(documents)
    for section in sections:
        places = sorted(places)[:depth]
        floor = -places[-1][0] if len(places) == depth else 0
        places += round_.of_section(section, floor)
    places = sorted(places)[:depth]
    if in_order:
        order = SessionOrder(
            [(section.visible, section.terms) for section in sections], documents, query.terms
        )
        places = round_.with_neighbours(places, order)
    hits = [
        Hit(record_id, -total, revision, neighbours)
        for total, _, record_id, revision, neighbours in places[:limit]
    ]
    return Ranking(hits=tuple(hits), collection=collection)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Passing:
    """All that passes a filter, with what was seen of each part and of the tail.

    Parts that are gone are not held on to: they have the words of what was forgotten.
    """

    seen: tuple["ReferenceType[Visible]", ...]
    tail: frozenset[RecordId]
    ids: frozenset[RecordId]

    def holds(self, seen: Sequence[Visible], tail: frozenset[RecordId]) -> bool:
        is_same = len(seen) == len(self.seen) and all(
            known() is each for known, each in zip(self.seen, seen, strict=True)
        )
        return is_same and tail == self.tail


class PassingCache:
    """What passed the filters that were used last, for as long as the parts show the same rows."""

    def __init__(self) -> None:
        self._recent: LruCache[_Passing] = LruCache(_FILTERS_KEPT)

    def ids(self, view: IndexView, where: RankFilter) -> frozenset[RecordId]:
        key = (where.layers, where.kinds, where.states, where.scopes, where.include_sensitive)
        seen = tuple(part.visible(where) for part in view.parts)
        tail = frozenset(document.record.record_id for document in _documents(view, where, NO_OVERLAY))
        known = self._recent.get(key)
        if known is None or not known.holds(seen, tail):
            ids = tail.union(*map(_ids, seen))
            known = self._recent.keep(key, _Passing(seen=tuple(map(ref, seen)), tail=tail, ids=ids))
        return known.ids


def _ids(visible: Visible) -> Iterator[RecordId]:
    segment = visible.segment
    text, starts = segment.id_text.tobytes(), segment.id_start.tolist()
    for row in np.flatnonzero(visible.mask).tolist():
        yield RecordId(text[starts[row] : starts[row + 1]].decode("utf-8", "surrogatepass"))


class _Section(NamedTuple):
    """The rows of one part that are seen, the number there of each term of the query, or -1, in how many of
    those rows each stands, and whether any summary is the whole query."""

    visible: Visible
    terms: list[int]
    frequency: list[int]
    says_whole: bool


def _documents(view: IndexView, where: RankFilter, overlay: Overlay) -> Iterator[Document]:
    if not view.tail and overlay is NO_OVERLAY:
        return
    replaced = {record.record_id for record in overlay.records}
    for record_id, document in view.tail.items():
        hidden = record_id in overlay.hidden or record_id in replaced
        if not hidden and passes(document.record, where):
            yield document
    yield from (document_of(record) for record in overlay.records if passes(record, where))


def _sections(view: IndexView, query: Query, *, where: RankFilter, overlay: Overlay) -> Iterator[_Section]:
    """What is seen in the parts, the largest first: its best rows then spare work in the smaller ones."""
    digests = b"".join([*map(term_digest, query.terms), digest(query.whole)])
    replaced = (
        overlay.hidden.union(record.record_id for record in overlay.records)
        if overlay is not NO_OVERLAY
        else None
    )
    hidden = keys_of(map(digest, replaced)) if replaced else None
    for part in sorted(view.parts, key=_by_size):
        visible = part.visible(where)
        if hidden is not None:
            visible = _without(visible, hidden)
        if visible.size and view.kernel:
            looked_up = view.kernel.look_up(visible.segment, visible.places, digests, len(query.terms))
            yield _Section(visible, *looked_up)
        elif visible.size:
            yield _look_up(visible, digests)


def _by_size(part: LiveSegment) -> int:
    return -len(part.segment)


def _look_up(visible: Visible, digests: bytes) -> _Section:
    keys = keys_of([digests])
    terms: list[int] = find(visible.segment.term_key, keys[:, :-1]).tolist()
    frequency = [visible.frequency(term) if term >= 0 else 0 for term in terms]
    says_whole = bool(find_all(visible.segment.summary_key, digests[-DIGEST_BYTES:]).size)
    return _Section(visible, terms, frequency, says_whole)


def _without(visible: Visible, hidden: Keys) -> Visible:
    rows = visible.segment.rows_of(hidden)
    rows = rows[rows >= 0]
    return visible.without(rows) if rows.size else visible


def _collection(query: Query, documents: Sequence[Document], sections: Sequence[_Section]) -> Collection:
    frequency = dict.fromkeys(query.terms, 0)
    if sections:
        frequency = dict(zip(query.terms, sections[0].frequency, strict=True))
    for section in sections[1:]:
        for term, stands in zip(query.terms, section.frequency, strict=True):
            frequency[term] += stands
    for document in documents:
        for term in query.terms:
            frequency[term] += term in document.impacts
    newest = [to_milliseconds(document.record.created_at) for document in documents]
    newest += [section.visible.newest_at_us // 1000 for section in sections]
    size = len(documents) + sum(section.visible.size for section in sections)
    return Collection(size=size, newest_at_ms=max(newest, default=0), document_frequency=frequency)


class _Round:
    def __init__(self, *, query: Query, collection: Collection, limit: int, kernel: Kernel | None) -> None:
        self._query = query
        self._collection = collection
        self._limit = limit
        self._kernel = kernel
        frequency, size = collection.document_frequency, collection.size
        self._weights = [rarity(frequency[term], size) if frequency[term] else 0 for term in query.terms]

    def of_documents(self, documents: Sequence[Document]) -> list[_Place]:
        return [place for document in documents if (place := self._place_of(document)) is not None]

    def of_section(self, section: _Section, floor: int) -> list[_Place]:
        """The best rows of a part that reach a total of `floor`."""
        segment, visible = section.visible.segment, section.visible
        found: list[BestRow] = []
        if section.says_whole and (exact := self._exact_rows(visible)).size:
            points = points_at(exact, self._weigh(section))
            found = self._rows_of(segment, exact, EXACT + self._totals(segment, exact, points))
            visible = visible.without(exact)
        if self._kernel:
            found += self._kernel.find_best(
                segment,
                visible.places[0],
                section.terms,
                self._weights,
                newest_at_ms=self._collection.newest_at_ms,
                limit=self._limit,
                floor=floor,
            )
        else:
            points_min = -(-(floor - STATE_ACTIVE - RECENCY_MAX) // TOKEN_SCALE)
            rows, points = best_rows(visible.mask, self._weigh(section), limit=self._limit, floor=points_min)
            found += self._rows_of(segment, rows, self._totals(segment, rows, points))
        ids = segment.ids
        return [
            (
                -total,
                -created,
                RecordId(str(ids[start:end], "utf-8", "surrogatepass")),
                revision,
                0,
            )
            for total, _, created, revision, start, end in found
        ]

    def _weigh(self, section: _Section) -> list[Weighed]:
        return [
            (section.visible.segment.postings(term), weight)
            for term, weight in zip(section.terms, self._weights, strict=True)
            if term >= 0 and weight
        ]

    def _rows_of(self, segment: Segment, rows: Positions, totals: Numbers) -> list[BestRow]:
        """The best of the rows, as the kernel tells of them."""
        first = _first(rows, totals, self._limit)
        best = rows[first]
        columns = (
            *(totals[first], best, segment.created_at_us[best], segment.revision[best]),
            *(segment.id_start[best], segment.id_start[best + 1]),
        )
        return list(zip(*(each.tolist() for each in columns), strict=True))

    def with_neighbours(self, places: Sequence[_Place], order: SessionOrder) -> list[_Place]:
        """The hits in their order once the best have gained by those beside them in their sessions."""
        best = places[:NEIGHBOURED_HITS]
        gained = order.points([place[1:3] for place in best], self._weights)
        added = [
            (total - TOKEN_SCALE * points, created, record_id, revision, TOKEN_SCALE * points)
            for (total, created, record_id, revision, _), points in zip(best, gained, strict=True)
        ]
        return [*sorted(added), *places[NEIGHBOURED_HITS:]]

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
        return -total, -to_microseconds(record.created_at), record.record_id, record.revision, 0

    def _exact_rows(self, visible: Visible) -> Positions:
        if not self._query.whole:
            return np.zeros(0, dtype=np.int64)
        rows = visible.segment.rows_saying(digest(self._query.whole))
        return rows[visible.mask[rows]]

    def _totals(self, segment: Segment, rows: Positions, points: Points) -> Numbers:
        age_ms = self._collection.newest_at_ms - segment.created_at_us[rows] // 1000
        lost = _RECENCY_STEPS_MS.searchsorted(age_ms, "right")
        states = STATE_POINTS[segment.category[rows]]
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
