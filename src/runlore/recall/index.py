"""The ranking index in memory: immutable segments and a small tail, replaced as one when something changes.

A search works on the view it found when it began and takes no lock; changes take turns under one lock and end
with one assignment. So a search sees all of a change or nothing of it, and never waits for a merge.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import accumulate, islice

import numpy as np

from runlore.domain.lazy import dataclass
from runlore.domain.record import Record, RecordId
from runlore.domain.search.ranking import Collection, RankFilter, analyse_query
from runlore.domain.text.analysis import forget_words
from runlore.ports.index import NO_OVERLAY, Overlay, Ranking
from runlore.recall import snapshot
from runlore.recall.keys import digest, keys_of, order_of, term_digest
from runlore.recall.search import IndexView, PassingCache, rank
from runlore.recall.segment_builder import Document, document_of, seal
from runlore.recall.segment_merge import merge_segments
from runlore.recall.visibility import LiveSegment


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """When documents become a segment, and segments one. Small numbers let small tests meet every case."""

    tail_documents_max: int = 128
    batch_documents_max: int = 16_384
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
        """The best records of the filtered set that match."""
        return rank(
            self.view,
            analyse_query(query),
            where=where,
            limit=limit,
            overlay=overlay,
            relative_to=relative_to,
        )

    def passing(self, where: RankFilter) -> frozenset[RecordId]:
        """Every record of the filtered set."""
        return self.passing_kept.ids(self.view, where)


class RankingIndex:
    """Implements `ports.index.Index`."""

    def __init__(self, sizes: Sizes = DEFAULT_SIZES, *, parts: Sequence[LiveSegment] = ()) -> None:
        self._sizes = sizes
        self._view = IndexView(parts=tuple(parts))
        self._passing_kept = PassingCache()
        self._changing = threading.Lock()
        self._saving = threading.Lock()

    def apply(self, records: Iterable[Record]) -> None:
        """Insert or replace. Many records at once are sealed in batches and merged at the end."""
        remaining = iter(records)
        with self._changing:
            while batch := list(islice(remaining, self._sizes.batch_documents_max)):
                self._view = self._with(batch)
            self._view = IndexView(parts=_settle(self._view.parts, self._sizes), tail=self._view.tail)

    def search(
        self,
        query: str,
        *,
        where: RankFilter,
        limit: int,
        overlay: Overlay = NO_OVERLAY,
        relative_to: Collection | None = None,
    ) -> Ranking:
        """The best records of the filtered set that match."""
        return FrozenIndex(self._view).search(
            query, where=where, limit=limit, overlay=overlay, relative_to=relative_to
        )

    def passing(self, where: RankFilter) -> frozenset[RecordId]:
        """Every record of the filtered set."""
        return self._passing_kept.ids(self._view, where)

    def freeze(self) -> "FrozenIndex":
        """The index as it is now."""
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
            self._view = IndexView(parts=tuple(parts), tail=tail)
            forget_words()
            term_digest.cache_clear()

    def save(self, path: str, stamp: str) -> None:
        """Write a snapshot aside and put it in place at once."""
        with self._saving:
            with self._changing:
                if self._view.tail:
                    sealed = LiveSegment.whole(seal(list(self._view.tail.values())))
                    self._view = IndexView(parts=(*self._view.parts, sealed))
                view = self._view
            snapshot.save(path, view.parts, stamp)

    def __len__(self) -> int:
        view = self._view
        return sum(part.live_size for part in view.parts) + len(view.tail)

    def _with(self, batch: Sequence[Record]) -> IndexView:
        """The view after a batch: what it replaces is gone, what it holds is there."""
        newest: dict[RecordId, Record] = {}
        for record in batch:
            in_tail = self._view.tail.get(record.record_id)
            held = newest.get(record.record_id, in_tail.record if in_tail else None)
            if held is None or record.revision >= held.revision:
                newest[record.record_id] = record
        parts = _without_replaced(self._view.parts, newest)
        documents = {record_id: document_of(record) for record_id, record in newest.items()}
        tail: dict[RecordId, Document] = {**self._view.tail, **documents}
        if len(tail) <= self._sizes.tail_documents_max:
            return IndexView(parts=parts, tail=tail)
        return IndexView(parts=(*parts, LiveSegment.whole(seal(list(tail.values())))))


def load_index(path: str, sizes: Sizes = DEFAULT_SIZES) -> tuple[RankingIndex, str] | None:
    """An index from its snapshot, with the stamp it was saved under. None when it has to be rebuilt."""
    loaded = snapshot.load(path)
    if loaded is None:
        return None
    parts, stamp = loaded
    return RankingIndex(sizes, parts=parts), stamp


def _without_replaced(
    parts: Sequence[LiveSegment], newest: dict[RecordId, Record]
) -> tuple[LiveSegment, ...]:
    """The parts without what `newest` replaces; a record that is older than what is held leaves `newest`."""
    ids = list(newest)
    keys = keys_of(map(digest, ids))
    # Sorted keys are found several times faster.
    order = order_of(keys)
    keys, ids = keys[:, order], [ids[at] for at in order.tolist()]
    revisions = np.array([newest[record_id].revision for record_id in ids], dtype=np.int64)
    kept = []
    for part in parts:
        rows = part.segment.rows_of(keys)
        here = np.flatnonzero(rows >= 0)
        here = here[part.live[rows[here]]]
        is_older = revisions[here] < part.segment.revision[rows[here]]
        for at in here[is_older].tolist():
            del newest[ids[at]]
        replaced = rows[here[~is_older]]
        kept.append(part.without(replaced) if replaced.size else part)
    return tuple(kept)


def _settle(parts: Sequence[LiveSegment], sizes: Sizes) -> tuple[LiveSegment, ...]:
    """The parts without those that are empty, with the small ones merged and the half-dead ones made anew."""
    living = [part for part in parts if part.live_size]
    first = _first_to_merge([part.live_size for part in living], sizes.merge_share)
    kept = [_compact(part) if part.live_size * 2 < len(part.segment) else part for part in living[:first]]
    last = living[first:]
    if not last:
        return tuple(kept)
    return (
        *kept,
        LiveSegment.whole(merge_segments([part.segment for part in last], [part.live for part in last])),
    )


def _first_to_merge(sizes: Sequence[int], share: int) -> int:
    """The first of the parts that those after it have grown up to; it is merged with all of them."""
    following = list(accumulate(reversed(sizes), initial=0))[-2::-1]
    grown = (
        at for at, (size, after) in enumerate(zip(sizes, following, strict=True)) if size < after * share
    )
    return next(grown, len(sizes))


def _compact(part: LiveSegment) -> LiveSegment:
    return LiveSegment.whole(merge_segments([part.segment], [part.live]))
