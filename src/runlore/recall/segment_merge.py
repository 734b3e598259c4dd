"""From several segments to one, without the rows that no longer live.

Terms and rows keep their order, so postings are merged a range of terms at a time: memory stays bounded.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from runlore.domain.record import RecordId
from runlore.recall.arrays import Impacts, Keys, Mask, Numbers, Positions, Rows
from runlore.recall.keys import unite
from runlore.recall.segment import Segment
from runlore.recall.segment_builder import group_postings, impact_maxima, sorted_keys

Scalar = TypeVar("Scalar", bound=np.generic)

_POSTINGS_AT_ONCE = 1 << 22
_ROWS_AT_ONCE = 1 << 16


def merge_segments(segments: Sequence[Segment], keep: Sequence[Mask]) -> Segment:
    """One segment of the kept rows of all. They are at least one, and distinct by id."""
    merge = _Merge(segments, keep)
    id_text, id_start = merge.ids()
    id_key, id_row = merge.keys((each.id_key, each.id_row) for each in segments)
    summary_key, summary_row = merge.keys((each.summary_key, each.summary_row) for each in segments)
    scope_key, scope = merge.scopes()
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
        """A column of the result, from those of the segments."""
        kept = [column[rows] for column, rows in zip(columns, self._kept, strict=True)]
        return np.concatenate(kept)[self._order]

    def keys(self, indexes: Iterable[tuple[Keys, Rows]]) -> tuple[Keys, Rows]:
        """The keys of kept rows, sorted, with the rows' new numbers."""
        keys, rows = [], []
        for (key, row), new in zip(indexes, self._new_rows, strict=True):
            number = new[row]
            keys.append(key[:, number >= 0])
            rows.append(number[number >= 0].astype(np.uint32))
        return sorted_keys(np.concatenate(keys, axis=1), np.concatenate(rows))

    def ids(self) -> tuple[NDArray[np.uint8], Numbers]:
        """The ids' text, one after the other."""
        texts = np.concatenate([each.id_text for each in self._segments])
        offsets = np.cumsum([0] + [each.id_text.size for each in self._segments])[:-1]
        starts = self.column(
            each.id_start[:-1] + at for each, at in zip(self._segments, offsets, strict=True)
        )
        lengths = self.column(np.diff(each.id_start) for each in self._segments)
        pieces = [_texts(texts, starts[some], lengths[some]) for some in _slices(starts.size)]
        return np.concatenate(pieces), np.concatenate(([0], np.cumsum(lengths)))

    def scopes(self) -> tuple[Keys, Rows]:
        """The scopes that kept rows have, and each row's."""
        keys, places = unite([each.scope_key for each in self._segments])
        scope = self.column(place[each.scope] for each, place in zip(self._segments, places, strict=True))
        used, numbers = np.unique(scope, return_inverse=True)
        return keys[:, used], numbers.astype(np.uint32)

    def expiry(self) -> tuple[Numbers, Rows]:
        """When kept rows expire, soonest first."""
        times = np.concatenate([each.expiry_at_us for each in self._segments])
        rows = np.concatenate(
            [new[each.expiry_row] for each, new in zip(self._segments, self._new_rows, strict=True)]
        )
        times, rows = times[rows >= 0], rows[rows >= 0]
        order = np.lexsort((rows, times))
        return times[order], rows[order].astype(np.uint32)

    def postings(self) -> tuple[Keys, Numbers, Rows, Impacts]:
        """The terms that kept rows have, with their postings."""
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
        return keys[:, used], np.append(start[used], filled), row[:filled].copy(), impact[:filled].copy()

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
        """The kept rows of all segments, the newest first, and of one moment by id."""
        created = np.concatenate(
            [each.created_at_us[rows] for each, rows in zip(self._segments, self._kept, strict=True)]
        )
        order = np.argsort(-created, kind="stable")
        created = created[order]
        edges = np.concatenate(([0], np.flatnonzero(np.diff(created)) + 1, [created.size]))
        tied = np.flatnonzero(np.diff(edges) > 1)
        if len(self._segments) > 1:
            for first, end in zip(edges[tied].tolist(), edges[tied + 1].tolist(), strict=True):
                order[first:end] = sorted(order[first:end].tolist(), key=self._id_at)
        return order

    def _id_at(self, position: int) -> RecordId:
        """The id at a position among the kept rows of all segments."""
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


def _texts(texts: NDArray[np.uint8], starts: Numbers, lengths: Numbers) -> NDArray[np.uint8]:
    """Pieces of a text, one after the other."""
    ends = np.cumsum(lengths)
    return texts[np.repeat(starts - ends + lengths, lengths) + np.arange(int(ends[-1]))]


def _slices(size: int) -> Iterator[slice]:
    return (slice(first, first + _ROWS_AT_ONCE) for first in range(0, size, _ROWS_AT_ONCE))
