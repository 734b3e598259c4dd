"""Which rows of a segment a search may see, kept for the next search with the same filter.

A segment never changes, so what its rows are is asked once for each filter. What is kept serves later
searches too: rows that have ceased to live since are taken out of it, and nothing is counted anew.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import cache, cached_property, lru_cache
from typing import Generic, TypeVar

import numpy as np

from runlore.domain.lazy import dataclass
from runlore.domain.record import Record, RecordId
from runlore.domain.scope import WORKSPACE
from runlore.domain.search.ranking import RankFilter, passes
from runlore.recall.keys import Counts, Mask, Positions, digest, find, keys_of
from runlore.recall.segment import CATEGORIES, Segment, to_microseconds

Kept = TypeVar("Kept")

_FILTERS_KEPT = 8
_CATEGORIES_KEPT = 64
# With more rows taken out than this, counting anew costs less than looking each of them up.
_REMOVED_MAX = 1024
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class LruCache(Generic[Kept]):
    """The answers used last, for threads that may all ask at once."""

    def __init__(self, entries_max: int) -> None:
        self._entries_max = entries_max
        self._entries: OrderedDict[Hashable, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Kept | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def keep(self, key: Hashable, answer: Kept) -> Kept:
        with self._lock:
            self._entries[key] = answer
            self._entries.move_to_end(key)
            while len(self._entries) > self._entries_max:
                self._entries.popitem(last=False)
        return answer


@dataclass(frozen=True, kw_only=True, eq=False)
class Visible:
    """The rows that a search sees, and in how many of them a term stands, counted when first asked.

    Counts are shared with what it was made from: they are those before the rows in `removed` were taken out.
    """

    segment: Segment
    mask: Mask
    size: int
    live_size: int
    removed: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # One more than the count of each term, 0 where it was not counted.
    counts: Counts

    @cached_property
    def newest_at_us(self) -> int:
        """Rows are in the order of their age, so the first that is seen is the newest. There is one."""
        return int(self.segment.created_at_us[np.argmax(self.mask)])

    def frequency(self, term: int) -> int:
        postings = self.segment.postings(term)
        gone = int(np.count_nonzero(postings.at(self.removed))) if self.removed.size else 0
        if not self.counts[term]:
            self.counts[term] = np.count_nonzero(self.mask.take(postings.rows)) + gone + 1
        return int(self.counts[term]) - 1 - gone

    @cached_property
    def places(self) -> tuple[int, int, int, int]:
        """Where the kernel finds the mask, the counts and the rows that have gone, and how many have."""
        return self.mask.ctypes.data, self.counts.ctypes.data, self.removed.ctypes.data, self.removed.size

    def without(self, rows: Positions, *, live_size: int | None = None) -> "Visible":
        gone = np.unique(rows[self.mask[rows]])
        mask = self.mask.copy()
        mask[gone] = False
        removed = np.concatenate((self.removed, gone))
        shares_counts = removed.size <= _REMOVED_MAX
        return Visible(
            segment=self.segment,
            mask=mask,
            size=self.size - gone.size,
            live_size=self.live_size if live_size is None else live_size,
            removed=removed if shares_counts else np.zeros(0, dtype=np.int64),
            counts=self.counts if shares_counts else np.zeros(self.counts.size, dtype=np.int32),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class LiveSegment:
    """A segment with the rows of it that live. Fewer of them make another part, which shares what is kept."""

    segment: Segment
    live: Mask
    live_size: int
    _passing: LruCache[Mask] = field(default_factory=lambda: LruCache(_FILTERS_KEPT))
    _visible: LruCache[Visible] = field(default_factory=lambda: LruCache(_FILTERS_KEPT))

    @classmethod
    def whole(cls, segment: Segment) -> "LiveSegment":
        return cls(segment=segment, live=np.ones(len(segment), dtype=np.bool_), live_size=len(segment))

    def without(self, rows: Positions) -> "LiveSegment":
        live = self.live.copy()
        live[rows] = False
        return replace(self, live=live, live_size=int(np.count_nonzero(live)))

    def visible(self, where: RankFilter) -> Visible:
        expired = int(self.segment.expiry_at_us.searchsorted(to_microseconds(where.now), "right"))
        filter_key = (where.layers, where.kinds, where.states, where.scopes, where.include_sensitive)
        key = (filter_key, expired)
        kept = self._visible.get(key)
        if kept is None:
            return self._visible.keep(key, self._see(where, filter_key, expired))
        if kept.live_size > self.live_size:
            ended = np.flatnonzero(kept.mask & ~self.live)
            return self._visible.keep(key, kept.without(ended, live_size=self.live_size))
        # Parts only ever lose rows: with fewer than ours, it was kept by a later search than this one.
        return kept if kept.live_size == self.live_size else self._see(where, filter_key, expired)

    def _see(self, where: RankFilter, filter_key: Hashable, expired: int) -> Visible:
        passing = self._passing.get(filter_key)
        if passing is None:
            passing = self._passing.keep(filter_key, _passing(self.segment, where))
        mask = passing & self.live
        mask[self.segment.expiry_row[:expired]] = False
        size = int(np.count_nonzero(mask))
        counts = np.zeros(self.segment.term_key.shape[1], dtype=np.int32)
        return Visible(segment=self.segment, mask=mask, size=size, live_size=self.live_size, counts=counts)


def _passing(segment: Segment, where: RankFilter) -> Mask:
    """The rows that pass by what they are, whatever lives or has expired."""
    anywhere = RankFilter(
        layers=where.layers,
        kinds=where.kinds,
        states=where.states,
        include_sensitive=where.include_sensitive,
        now=_LONG_AGO,
    )
    mask = _categories(anywhere)[segment.category]
    if where.scopes is None:
        return mask
    scopes = keys_of(digest(str(scope)) for scope in where.scopes)
    wanted = np.zeros(segment.scope_key.shape[1], dtype=np.bool_)
    found = find(segment.scope_key, scopes)
    wanted[found[found >= 0]] = True
    return mask & wanted[segment.scope]


@lru_cache(_CATEGORIES_KEPT)
def _categories(anywhere: RankFilter) -> Mask:
    """Which categories pass. Many sessions ask for the same ones, each in scopes of its own."""
    return np.array([passes(record, anywhere) for record in _examples()])


@cache
def _examples() -> tuple[Record, ...]:
    """One record of each category, so that `passes` stays the only rule."""
    return tuple(
        Record(
            record_id=RecordId("example"),
            layer=layer,
            kind=kind,
            state=state,
            scope=WORKSPACE,
            summary="",
            sensitivity=sensitivity,
            created_by="",
            created_at=_LONG_AGO,
        )
        for layer, kind, state, sensitivity in CATEGORIES
    )
