"""The ranking index in memory: immutable segments and a small tail, replaced as one when something changes.

A search works on the view it found when it began and takes no lock; changes take turns under one lock and end
with one assignment. So a search sees all of a change or nothing of it, and never waits for a merge.

From several segments to one, without the rows that no longer live.

Terms and rows keep their order, so postings are merged a range of terms at a time: memory stays bounded.
"""

import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import accumulate, islice, pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from runlore.domain.lazy import dataclass
from runlore.domain.record import Record, RecordId
from runlore.domain.search.ranking import Collection, RankFilter, analyse_query
from runlore.domain.text.analysis import forget_words
from runlore.ports.index import NO_OVERLAY, Overlay, Ranking
from runlore.recall import snapshot
from runlore.recall.building import SegmentBuilder, Vocabulary, seal
from runlore.recall.kernel import Kernel
from runlore.recall.keys import (
    Impacts,
    Keys,
    Mask,
    Numbers,
    Positions,
    Rows,
    digest,
    keys_of,
    term_digest,
    unite,
)
from runlore.recall.search import KERNEL, IndexView, PassingCache, rank
from runlore.recall.segment import (
    Segment,
    document_of,
    group_postings,
    impact_maxima,
    order_of_ties,
    pick_texts,
    sorted_keys,
)
from runlore.recall.visibility import LiveSegment

Scalar = TypeVar("Scalar", bound=np.generic)

_POSTINGS_AT_ONCE = 1 << 20
_RECORDS_AT_ONCE = 1024


def merge_segments(segments: Sequence[Segment], keep: Sequence[Mask]) -> Segment:
    """One segment of the kept rows of all. They are at least one, and distinct by id."""
    merge = _Merge(segments, keep)
    id_text, id_start = merge.ids()
    id_key, id_row = merge.keys((each.id_key, each.id_row) for each in segments)
    summary_key, summary_row = merge.keys((each.summary_key, each.summary_row) for each in segments)
    scope_key, scope = merge.scopes()
    session_key, session = merge.sessions()
    expiry_at_us, expiry_row = merge.expiry()
    term_key, term_start, posting_row, posting_impact = merge.postings()
    return Segment(
        id_text=id_text,
        id_start=id_start,
        id_key=id_key,
        id_row=id_row,
        summary_key=summary_key,
        summary_row=summary_row,
        scope_key=scope_key,
        scope=scope,
        session_key=session_key,
        session=session,
        category=merge.column(each.category for each in segments),
        created_at_us=merge.column(each.created_at_us for each in segments),
        revision=merge.column(each.revision for each in segments),
        expiry_at_us=expiry_at_us,
        expiry_row=expiry_row,
        term_key=term_key,
        term_start=term_start,
        term_impact_max=impact_maxima(term_start, posting_impact),
        posting_row=posting_row,
        posting_impact=posting_impact,
    )


class _Merge:
    """Where each kept row of each segment goes, and the columns of the result."""

    def __init__(self, segments: Sequence[Segment], keep: Sequence[Mask]) -> None:
        self._segments = segments
        self._kept = [np.flatnonzero(mask) for mask in keep]
        self._ends = list(accumulate(rows.size for rows in self._kept))
        self._order = self._order_of_ties()
        self._new_rows = self._renumber()

    def column(self, columns: Iterable[NDArray[Scalar]]) -> NDArray[Scalar]:
        kept = [column[rows] for column, rows in zip(columns, self._kept, strict=True)]
        return np.concatenate(kept)[self._order]

    def keys(self, indexes: Iterable[tuple[Keys, Rows]]) -> tuple[Keys, Rows]:
        keys, rows = [], []
        for (key, row), new in zip(indexes, self._new_rows, strict=True):
            number = new[row]
            keys.append(key[:, number >= 0])
            rows.append(number[number >= 0].astype(np.uint32))
        return sorted_keys(np.concatenate(keys, axis=1), np.concatenate(rows))

    def ids(self) -> tuple[NDArray[np.uint8], Numbers]:
        texts = np.concatenate([each.id_text for each in self._segments])
        offsets = np.cumsum([0] + [each.id_text.size for each in self._segments])[:-1]
        starts = self.column(
            each.id_start[:-1] + at for each, at in zip(self._segments, offsets, strict=True)
        )
        lengths = self.column(np.diff(each.id_start) for each in self._segments)
        return pick_texts(texts, starts, lengths), np.concatenate(([0], np.cumsum(lengths)))

    def scopes(self) -> tuple[Keys, Rows]:
        keys, places = unite([each.scope_key for each in self._segments])
        scope = self.column(place[each.scope] for each, place in zip(self._segments, places, strict=True))
        used, numbers = np.unique(scope, return_inverse=True)
        return keys[:, used], numbers.astype(np.uint32)

    def sessions(self) -> tuple[Keys, Rows]:
        """The same of sessions, whose number 0 is none."""
        keys, places = unite([each.session_key for each in self._segments])
        numbers = [np.append(0, place + 1) for place in places]
        session = self.column(
            number[each.session] for each, number in zip(self._segments, numbers, strict=True)
        )
        used = np.unique(np.append(0, session))
        return keys[:, used[1:] - 1], np.searchsorted(used, session).astype(np.uint32)

    def expiry(self) -> tuple[Numbers, Rows]:
        times = np.concatenate([each.expiry_at_us for each in self._segments])
        rows = np.concatenate(
            [new[each.expiry_row] for each, new in zip(self._segments, self._new_rows, strict=True)]
        )
        times, rows = times[rows >= 0], rows[rows >= 0]
        order = np.lexsort((rows, times))
        return times[order], rows[order].astype(np.uint32)

    def postings(self) -> tuple[Keys, Numbers, Rows, Impacts]:
        keys, places = unite([each.term_key for each in self._segments])
        counts = np.zeros(keys.shape[1], dtype=np.int64)
        for each, place in zip(self._segments, places, strict=True):
            counts[place] += np.diff(each.term_start)
        row, impact = np.empty(counts.sum(), dtype=np.uint32), np.empty(counts.sum(), dtype=np.uint8)
        start, filled = np.zeros(counts.size + 1, dtype=np.int64), 0
        for first, end in pairwise(_term_ranges(counts)):
            starts, rows, impacts = self._postings_between(places, first, end)
            start[first : end + 1] = starts + filled
            row[filled : filled + rows.size], impact[filled : filled + rows.size] = rows, impacts
            filled += rows.size
        used = np.flatnonzero(np.diff(start))
        # Copied, so that what was not filled is not kept.
        return (
            np.ascontiguousarray(keys[:, used]),
            np.append(start[used], filled),
            row[:filled].copy(),
            impact[:filled].copy(),
        )

    def _postings_between(
        self, places: Sequence[Positions], first: int, end: int
    ) -> tuple[Numbers, Rows, Impacts]:
        """The postings of a range of terms, which are neighbours in every segment too."""
        terms, rows, impacts = [], [], []
        for each, place, new in zip(self._segments, places, self._new_rows, strict=True):
            here = slice(*np.searchsorted(place, (first, end)))
            start = each.term_start[here.start : here.stop + 1]
            row = new[each.posting_row[start[0] : start[-1]]]
            kept = np.flatnonzero(row >= 0)
            terms.append(np.repeat(place[here] - first, np.diff(start))[kept])
            rows.append(row[kept])
            impacts.append(each.posting_impact[start[0] : start[-1]][kept])
        term, row, impact = np.concatenate(terms), np.concatenate(rows), np.concatenate(impacts)
        return group_postings(term, row, impact, terms=end - first, in_runs=True)

    def _order_of_ties(self) -> Positions:
        created = np.concatenate(
            [each.created_at_us[rows] for each, rows in zip(self._segments, self._kept, strict=True)]
        )
        return order_of_ties(created, self._id_at)

    def _id_at(self, position: int) -> RecordId:
        at = bisect_right(self._ends, position)
        before = self._ends[at - 1] if at else 0
        return self._segments[at].record_id(int(self._kept[at][position - before]))

    def _renumber(self) -> list[Positions]:
        """For each segment, the new number of each row; -1 for a row that is not kept."""
        place = np.empty(self._order.size, dtype=np.int64)
        place[self._order] = np.arange(self._order.size)
        places = np.split(place, self._ends[:-1])
        new_rows = []
        for each, rows, new in zip(self._segments, self._kept, places, strict=True):
            numbers = np.full(len(each), -1, dtype=np.int64)
            numbers[rows] = new
            new_rows.append(numbers)
        return new_rows


def _term_ranges(counts: Numbers) -> list[int]:
    """Cut the terms where about so many postings lie between two cuts."""
    filled = np.concatenate(([0], np.cumsum(counts)))
    cuts = np.searchsorted(filled, np.arange(0, int(filled[-1]), _POSTINGS_AT_ONCE))
    return [int(cut) for cut in np.unique(np.append(cuts, counts.size))]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """When documents become a segment, and segments one. Small numbers let small tests meet every case."""

    tail_documents_max: int = 128
    # Building a segment takes as much memory again. One with more than half of this is merged with no other.
    segment_documents_max: int = 1 << 17
    # With so many distinct words of a kind, what was read becomes a segment sooner.
    segment_chunks_max: int = 1 << 18
    # A segment is merged into when those after it have grown to this share of it.
    merge_share: int = 8


DEFAULT_SIZES = Sizes()


@dataclass(frozen=True, eq=False)
class FrozenIndex:
    """One view, which no change touches. Implements `ports.index.Searchable`."""

    view: IndexView
    passing_kept: PassingCache = field(default_factory=PassingCache)

    def search(
        self,
        query: str,
        *,
        where: RankFilter,
        limit: int,
        overlay: Overlay = NO_OVERLAY,
        relative_to: Collection | None = None,
    ) -> Ranking:
        return rank(
            self.view,
            analyse_query(query),
            where=where,
            limit=limit,
            overlay=overlay,
            relative_to=relative_to,
        )

    def passing(self, where: RankFilter) -> frozenset[RecordId]:
        return self.passing_kept.ids(self.view, where)


class RankingIndex:
    """Implements `ports.index.Index`."""

    def __init__(
        self,
        sizes: Sizes = DEFAULT_SIZES,
        *,
        parts: Sequence[LiveSegment] = (),
        kernel: Kernel | None = KERNEL,
    ) -> None:
        self._sizes = sizes
        self._view = IndexView(parts=tuple(parts), kernel=kernel)
        self._passing_kept = PassingCache()
        self._changing = threading.Lock()
        self._saving = threading.Lock()

    def apply(self, records: Iterable[Record]) -> None:
        """Insert or replace. Many records at once become segments, which are merged at the end."""
        remaining, tail_max = iter(records), self._sizes.tail_documents_max
        vocabulary = Vocabulary(self._view.kernel)
        with self._changing:
            while batch := list(islice(remaining, tail_max + 1)):
                if len(self._view.tail.keys() | {each.record_id for each in batch}) <= tail_max:
                    self._view = self._with_documents(batch)
                    continue
                self._view = self._with_segment(self._read(batch, remaining, vocabulary))
                if self._view.kernel:
                    self._view.kernel.give_back_memory()
                if vocabulary.size >= self._sizes.segment_chunks_max:
                    vocabulary = Vocabulary(self._view.kernel)
            self._view = replace(self._view, parts=_settle(self._view.parts, self._sizes))

    def _read(
        self, first: Sequence[Record], following: Iterator[Record], vocabulary: Vocabulary
    ) -> SegmentBuilder:
        """The tail, and as many of the records as one segment takes."""
        builder = SegmentBuilder(vocabulary)
        builder.add([*(each.record for each in self._view.tail.values()), *first])
        while (room := self._sizes.segment_documents_max - len(builder)) > 0 and (
            some := list(islice(following, min(room, _RECORDS_AT_ONCE)))
        ):
            builder.add(some)
            if vocabulary.size >= self._sizes.segment_chunks_max:
                break
        return builder

    def search(
        self,
        query: str,
        *,
        where: RankFilter,
        limit: int,
        overlay: Overlay = NO_OVERLAY,
        relative_to: Collection | None = None,
    ) -> Ranking:
        return rank(
            self._view,
            analyse_query(query),
            where=where,
            limit=limit,
            overlay=overlay,
            relative_to=relative_to,
        )

    def passing(self, where: RankFilter) -> frozenset[RecordId]:
        return self._passing_kept.ids(self._view, where)

    def freeze(self) -> "FrozenIndex":
        return FrozenIndex(self._view, self._passing_kept)

    def erase(self, record_ids: Iterable[RecordId]) -> None:
        """Rebuild what holds any version of these records without them, replaced versions included."""
        gone = set(record_ids)
        keys = keys_of(map(digest, gone))
        with self._changing:
            parts = []
            for part in self._view.parts:
                rows = part.segment.rows_of(keys)
                rows = rows[rows >= 0]
                kept = part.without(rows) if rows.size else part
                if kept.live_size:
                    parts.append(_compact(kept) if rows.size else part)
            tail = {key: document for key, document in self._view.tail.items() if key not in gone}
            self._view = replace(self._view, parts=tuple(parts), tail=tail)
            forget_words()
            term_digest.cache_clear()

    def save(self, path: str, stamp: str) -> None:
        with self._saving:
            with self._changing:
                if self._view.tail:
                    sealed = LiveSegment.whole(
                        seal([each.record for each in self._view.tail.values()], self._view.kernel)
                    )
                    self._view = replace(self._view, parts=(*self._view.parts, sealed), tail={})
                view = self._view
            snapshot.save(path, view.parts, stamp)

    def __len__(self) -> int:
        view = self._view
        return sum(part.live_size for part in view.parts) + len(view.tail)

    def _with_documents(self, records: Sequence[Record]) -> IndexView:
        newest: dict[RecordId, Record] = {}
        for record in records:
            in_tail = self._view.tail.get(record.record_id)
            held = newest.get(record.record_id, in_tail.record if in_tail else None)
            if held is None or record.revision >= held.revision:
                newest[record.record_id] = record
        ids = list(newest)
        revisions = np.array([record.revision for record in newest.values()], dtype=np.int64)
        parts, is_newer = _without_replaced(self._view.parts, keys_of(map(digest, ids)), revisions)
        documents = {ids[at]: document_of(newest[ids[at]]) for at in np.flatnonzero(is_newer).tolist()}
        return replace(self._view, parts=parts, tail={**self._view.tail, **documents})

    def _with_segment(self, builder: SegmentBuilder) -> IndexView:
        """Also in place of the tail, which was read first."""
        rows, keys, revisions = builder.newest()
        parts, is_newer = _without_replaced(self._view.parts, keys, revisions)
        if is_newer.any():
            parts = (*parts, LiveSegment.whole(builder.finish(rows[is_newer], keys[:, is_newer])))
        return replace(self._view, parts=parts, tail={})


def load_index(path: str, sizes: Sizes = DEFAULT_SIZES) -> tuple[RankingIndex, str] | None:
    """An index from its snapshot, with the stamp it was saved under. None when it has to be rebuilt."""
    loaded = snapshot.load(path)
    if loaded is None:
        return None
    parts, stamp = loaded
    return RankingIndex(sizes, parts=parts), stamp


def _without_replaced(
    parts: Sequence[LiveSegment], keys: Keys, revisions: Numbers
) -> tuple[tuple[LiveSegment, ...], Mask]:
    """The parts without what these versions replace, and which of those are not older than what is held."""
    is_newer = np.ones(revisions.size, dtype=np.bool_)
    kept = []
    for part in parts:
        rows = part.segment.rows_of(keys)
        here = np.flatnonzero(rows >= 0)
        here = here[part.live[rows[here]]]
        is_older = revisions[here] < part.segment.revision[rows[here]]
        is_newer[here[is_older]] = False
        replaced = rows[here[~is_older]]
        kept.append(part.without(replaced) if replaced.size else part)
    return tuple(kept), is_newer


def _settle(parts: Sequence[LiveSegment], sizes: Sizes) -> tuple[LiveSegment, ...]:
    """The parts without those that are empty, with the small ones merged and the half-dead ones made anew."""
    large: list[LiveSegment] = []
    small: list[LiveSegment] = []
    for part in parts:
        if part.live_size:
            (large if part.live_size * 2 > sizes.segment_documents_max else small).append(part)
    first = _first_to_merge([part.live_size for part in small], sizes.merge_share)
    settled = [_compact(part) if part.live_size * 2 < len(part.segment) else part for part in small[:first]]
    for group in _groups(small[first:], sizes.segment_documents_max):
        settled.append(_merge(group))
    return (*large, *settled)


def _groups(parts: Sequence[LiveSegment], documents_max: int) -> list[list[LiveSegment]]:
    """Neighbours that are to be one part each."""
    groups: list[list[LiveSegment]] = []
    for part in parts:
        if groups and sum(each.live_size for each in groups[-1]) + part.live_size <= documents_max:
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def _merge(parts: Sequence[LiveSegment]) -> LiveSegment:
    return LiveSegment.whole(merge_segments([part.segment for part in parts], [part.live for part in parts]))


def _first_to_merge(sizes: Sequence[int], share: int) -> int:
    """The first of the parts that those after it have grown up to; it is merged with all of them."""
    following = list(accumulate(reversed(sizes), initial=0))[-2::-1]
    grown = (
        at for at, (size, after) in enumerate(zip(sizes, following, strict=True)) if size < after * share
    )
    return next(grown, len(sizes))


def _compact(part: LiveSegment) -> LiveSegment:
    return _merge([part])
