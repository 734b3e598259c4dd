"""One search over a view of the index: count the filtered set, weigh the terms, find the best of each part.

The scores are those of `domain.search.ranking`; here they are only reached without scoring every record.

The best rows of one segment: exact, and without looking at most of its postings.

Lists are taken by the most they can give for their length, which is about the rarest first. Once all that the
remaining lists could give together is less than what the last of the best rows has for sure (`floor`), no
unseen row can come in: the remaining lists are then read only at the rows that can still reach the floor.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import accumulate
from typing import TypeAlias
from weakref import ReferenceType, ref

import numpy as np

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
from runlore.recall.keys import (
    Impacts,
    Keys,
    Mask,
    Numbers,
    Points,
    Positions,
    digest,
    find,
    keys_of,
    term_digest,
)
from runlore.recall.neighbours import SessionOrder, has_sessions
from runlore.recall.segment import CATEGORIES, Document, Postings, Segment, document_of, to_microseconds
from runlore.recall.visibility import LiveSegment, LruCache, Visible

# A list this long is worth a look at whether it has to be read at all.
_LONG_LIST = 4096
# Up to so many rows and postings, summing them all up costs less than finding out which can be left out.
_SUMMED_MAX = 1 << 16
# How many of the seen rows are followed to the end to raise the floor, and among how many they are chosen.
_LEADERS_PER_HIT = 2
_LEADERS_FROM = 1 << 14
_LISTS_A_LEADER = 4
# From this share of all rows on, a sum over the whole column is faster than one over a list of rows.
_WHOLE_COLUMN_SHARE = 12


@dataclass(frozen=True, slots=True, eq=False)
class TermPostings:
    """A list of a term of the query, with the term's rarity and the most that a row can gain by it."""

    postings: Postings
    weight: int
    gain_max: int

    @classmethod
    def of(cls, postings: Postings, weight: int) -> "TermPostings":
        return cls(postings, weight, weight * postings.impact_max)

    @property
    def length(self) -> int:
        return self.postings.rows.size

    def gains_at(self, rows: Positions) -> Points:
        return self.postings.at(rows) * np.int32(self.weight)


def best_rows(
    mask: Mask, wanted: Sequence[TermPostings], *, limit: int, floor: int, summed_max: int = _SUMMED_MAX
) -> tuple[Positions, Points]:
    """Every row with at least `floor` points (and one) that is not below the `limit` best, with its points.

    Rows with the points of the last of the best are all returned: what breaks their tie is not known here.
    With no more rows and postings than `summed_max` all of them are summed up.
    """
    if sum(each.gain_max for each in wanted) < max(1, floor):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    if sum(each.length for each in wanted) + mask.size <= summed_max:
        return _sum_lists(mask, wanted, limit=limit, floor=max(1, floor))
    ordered = sorted(wanted, key=lambda each: (each.gain_max << 32) // each.length, reverse=True)
    contest = _TopRows(mask, ordered, limit=limit, floor=max(1, floor))
    return contest.decide(contest.gather())


def _sum_lists(
    mask: Mask, wanted: Sequence[TermPostings], *, limit: int, floor: int
) -> tuple[Positions, Points]:
    """The same by reading every list to its end, in one go: where there is little, nothing costs less."""
    rows = np.concatenate([each.postings.rows for each in wanted])
    gains = np.concatenate([each.postings.impacts for each in wanted]) * np.repeat(
        np.array([each.weight for each in wanted], dtype=np.float64), [each.length for each in wanted]
    )
    # Sums of whole numbers below 2 ** 53 are exact.
    points = np.bincount(rows, gains, minlength=mask.size)
    points *= mask
    best = (points >= floor).nonzero()[0]
    found = points.take(best)
    if best.size > limit:
        able = (found >= greatest(found, limit)).nonzero()[0]
        best, found = best.take(able), found.take(able)
    return best, found.astype(np.int32)


def points_at(rows: Positions, wanted: Sequence[TermPostings]) -> Points:
    points = np.zeros(rows.size, dtype=np.int32)
    for each in wanted:
        points += each.gains_at(rows)
    return points


def greatest(numbers: Points | Numbers, count: int) -> int:
    """The smallest of the `count` greatest numbers. There are at least as many."""
    return int(np.partition(numbers, numbers.size - count)[numbers.size - count])


class _TopRows:
    def __init__(self, mask: Mask, wanted: Sequence[TermPostings], *, limit: int, floor: int) -> None:
        self._mask = mask
        self._wanted = wanted
        self._limit = limit
        gains = [each.gain_max for each in reversed(wanted)]
        # What the lists from each one on can give together.
        self._rest = [*accumulate(gains, initial=0)][::-1]
        self._points = np.zeros(mask.size, dtype=np.int32)
        self._seen: list[Positions] = []
        self._followed = 0
        self._saw_all = False
        self._leaders = np.zeros(0, dtype=np.int64)
        self._leader_points_min = 1
        self._floor = floor

    def gather(self) -> int:
        """Read whole lists until no unseen row can reach the floor; how many were read."""
        for step, each in enumerate(self._wanted):
            if each.length > _LONG_LIST:
                self._raise_floor(step)
            if self._rest[step] < self._floor:
                return step
            column = each.postings.column
            if column is not None and each.length * _WHOLE_COLUMN_SHARE > column.size:
                self._add_column(column, each.weight)
            else:
                self._add_list(each)
        return len(self._wanted)

    def decide(self, step: int) -> tuple[Positions, Points]:
        """Read the remaining lists at the rows that can still reach the floor."""
        self._raise_floor(step)
        rows, points = self._seen_rows(self._floor - self._rest[step])
        rest = self._rest[step]
        # Columns first: they cost least, and leave fewer rows to look for in the lists.
        for each in sorted(self._wanted[step:], key=lambda each: each.postings.column is None):
            able = np.flatnonzero(points >= self._floor - rest)
            rows, points = rows.take(able), points.take(able)
            points += each.gains_at(rows)
            rest -= each.gain_max
        if points.size > self._limit:
            self._floor = max(self._floor, greatest(points, self._limit))
        best = np.flatnonzero(points >= self._floor)
        return rows.take(best), points.take(best)

    def _add_list(self, each: TermPostings) -> None:
        rows = each.postings.rows.astype(np.int64)
        visible = np.flatnonzero(self._mask.take(rows))
        rows = rows.take(visible)
        gains = each.postings.impacts.take(visible).astype(np.int32)
        gains *= np.int32(each.weight)
        gains += self._points.take(rows)
        self._points[rows] = gains
        self._seen.append(rows)

    def _add_column(self, column: Impacts, weight: int) -> None:
        gains = (column * self._mask).astype(np.int32)
        gains *= np.int32(weight)
        self._points += gains
        self._saw_all = True
        self._follow(np.flatnonzero(self._points >= self._leader_points_min)[:_LEADERS_FROM])

    def _follow(self, rows: Positions) -> None:
        """Keep the rows with the most points so far. Missing some is no fault: the floor only stays lower."""
        count = self._limit * _LEADERS_PER_HIT
        points = self._points.take(rows)
        able = np.flatnonzero(points >= self._leader_points_min)[:_LEADERS_FROM]
        rows, points = rows.take(able), points.take(able)
        # A row stands here once for each list that was read.
        wide = count * _LISTS_A_LEADER
        if rows.size > wide:
            rows = rows.take(np.argpartition(points, rows.size - wide)[rows.size - wide :])
        self._leaders = np.unique(np.concatenate((self._leaders, rows)))
        if self._leaders.size > count:
            points = self._points.take(self._leaders)
            most = np.argpartition(points, points.size - count)[points.size - count :]
            self._leaders = self._leaders.take(most)
            self._leader_points_min = max(1, int(points.take(most).min()))

    def _raise_floor(self, step: int) -> None:
        """What the leaders have when all lists are read is a floor for the best."""
        if self._followed < len(self._seen):
            self._follow(np.concatenate(self._seen[self._followed :]))
            self._followed = len(self._seen)
        if self._leaders.size >= self._limit:
            points = self._points.take(self._leaders)
            points += points_at(self._leaders, self._wanted[step:])
            self._floor = max(self._floor, greatest(points, self._limit))

    def _seen_rows(self, points_min: int) -> tuple[Positions, Points]:
        """The rows seen so far that have at least so many points, each once."""
        points_min = max(1, points_min)
        if self._saw_all:
            rows = np.flatnonzero(self._points >= points_min)
            return rows, self._points.take(rows)
        rows_seen, points_seen = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        for rows in self._seen:
            points = self._points.take(rows)
            able = np.flatnonzero(points >= points_min)
            rows_seen.append(rows.take(able))
            points_seen.append(points.take(able))
            # So that a row that stands in a later list too is not taken twice.
            self._points[rows_seen[-1]] = 0
        return np.concatenate(rows_seen), np.concatenate(points_seen)


# What sorts hits: the total and the time the other way round, then the id. The revision comes along, and what
# neighbours have added.
_Place: TypeAlias = tuple[int, int, RecordId, int, int]

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
    documents = list(_documents(view, where, overlay))
    sections = list(_sections(view, query, where=where, overlay=overlay))
    collection = relative_to or _collection(query, documents, sections)
    if limit <= 0:
        return Ranking(hits=(), collection=collection)
    in_order = has_sessions([section.visible for section in sections], documents)
    depth = max(limit, NEIGHBOURED_HITS) if in_order else limit
    round_ = _Round(query=query, collection=collection, limit=depth)
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
    hits = tuple(
        Hit(record_id=record_id, total=-total, revision=revision, neighbours=neighbours)
        for total, _, record_id, revision, neighbours in places[:limit]
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


@dataclass(frozen=True, kw_only=True, eq=False)
class _Section:
    """The rows of one part that are seen, and the number there of each term of the query, or -1."""

    visible: Visible
    terms: list[int]


def _documents(view: IndexView, where: RankFilter, overlay: Overlay) -> Iterator[Document]:
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
            (-total, -created, segment.record_id(row), revision, 0)
            for total, created, row, revision in zip(*(each.tolist() for each in columns), strict=True)
        ]

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
        rows = visible.segment.rows_saying(self._whole)
        return rows[visible.mask[rows]]

    def _totals(self, segment: Segment, rows: Positions, points: Points) -> Numbers:
        age_ms = self._collection.newest_at_ms - segment.created_at_us[rows] // 1000
        lost = _RECENCY_STEPS_MS.searchsorted(age_ms, "right")
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
