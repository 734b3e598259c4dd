"""Search: the index ranks, the store answers, and the score comes with its parts.

The index follows the store inside the same snapshot that the answer is read from, so what is acknowledged
is found by the next search.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import cached_property

from runlore.domain.errors import Corrupt
from runlore.domain.lazy import dataclass
from runlore.domain.record import Record, RecordId
from runlore.domain.records.audit import as_of as as_of_events
from runlore.domain.search.ranking import (
    Collection,
    FusedHit,
    Query,
    RankFilter,
    Score,
    WordHit,
    analyse_query,
    fuse,
    score_of,
)
from runlore.domain.timestamps import to_milliseconds
from runlore.flow.prompt_context.feeds import Feed
from runlore.flow.prompt_context.scope_view import Analysed, RecordCache, ViewCache
from runlore.flow.prompt_context.vector_search import NEAREST_MAX, VectorQuery, gaining
from runlore.ports.index import NO_OVERLAY, Hit, Index, Overlay, Ranking, Searchable
from runlore.ports.store import RecordFilter, RecordLine, Records, Snapshot, StorePosition

TOLD_KEPT_MAX = 1_000


@dataclass(frozen=True, kw_only=True)
class FoundRecord:
    """A record that matches, with its score and the score's parts."""

    record: Record
    score: Score


Synced = frozenset[tuple[RecordId, int]]


@dataclass(frozen=True, kw_only=True)
class CaughtUp:
    """Where the index stands now, what it was told last, and whether words of something forgotten went."""

    position: StorePosition
    told: int
    latest: Synced
    forgot: bool


def catch_up(
    index: Index, feed: Feed, snapshot: Snapshot, since: StorePosition, *, latest: Synced
) -> CaughtUp:
    """Bring the index to where this snapshot stands.

    Of what was forgotten, here or by another daemon, the words go too; what the feed tells of it stays. What
    was told the last time, `latest`, may be told again and is passed over.
    """
    told = 0
    again: dict[tuple[RecordId, int], None] = {}
    forgotten: list[Record] = []

    def count_changes() -> Iterator[Record]:
        nonlocal told
        for change in feed.changes(snapshot, since):
            version = (change.record.record_id, change.record.revision)
            if len(again) < TOLD_KEPT_MAX:
                again[version] = None
            if version in latest:
                continue
            told += 1
            if change.is_forgotten:
                forgotten.append(change.record)
            yield change.record

    index.apply(count_changes())
    # What is told from the beginning never had the words.
    if forgotten and since.cursor:
        index.erase([record.record_id for record in forgotten])
        index.apply(forgotten)
    return CaughtUp(
        position=snapshot.records.position(), told=told, latest=frozenset(again), forgot=bool(forgotten)
    )


class Past:
    """A past moment: the versions of then of everything that has moved since, None for what was not there.

    They are read when first asked for: an answer that needs no index needs none of them.
    """

    def __init__(self, records: Records, moment: datetime) -> None:
        self._records = records
        self.moment = moment

    @cached_property
    def versions(self) -> Mapping[RecordId, Record | None]:
        histories = self._records.events_of_many(self._records.moved_since(self.moment))
        return {record_id: as_of_events(events, self.moment) for record_id, events in histories.items()}

    @cached_property
    def overlay(self) -> Overlay:
        versions = tuple(record for record in self.versions.values() if record is not None)
        return Overlay(hidden=frozenset(self.versions), records=versions)


class IndexWanted(Exception):
    """The answer needs the index: it is read once more, from a snapshot that the index stands at."""


@dataclass(frozen=True, kw_only=True)
class SearchSnapshot:
    """One snapshot, the index as it stands there, and what was read last; now or at a past moment.

    `near` is the query as a vector. The past has none: vectors are of what is live now. Where the index
    `is_partial`, it is still being built, and what it knows in another revision is not found.
    """

    snapshot: Snapshot
    kept: RecordCache = field(default_factory=RecordCache)
    views: ViewCache = field(default_factory=ViewCache)
    searchable: Searchable | None = None
    past: Past | None = None
    near: VectorQuery | None = None
    is_partial: bool = False

    @property
    def records(self) -> Records:
        return self.snapshot.records

    @property
    def index(self) -> Searchable:
        """The index. Where it is not at hand the whole answer is asked for once more, with it."""
        if self.searchable is None:
            raise IndexWanted
        return self.searchable

    def with_vectors(self, near: VectorQuery | None) -> "SearchSnapshot":
        return self if near is None else replace(self, near=near)

    def at(self, moment: datetime | None) -> "SearchSnapshot":
        if moment is None:
            return self
        return replace(self, past=Past(self.records, moment), near=None)

    def page(self, where: RecordFilter, *, limit: int) -> tuple[Record, ...]:
        if self.past is None:
            lines = self.records.lines(where, limit=limit)
            return tuple(each.record for each in self.of_lines(lines))
        return self.records.page_as_of(where, self.past.moment, limit=limit)

    def of_lines(self, lines: tuple[RecordLine, ...]) -> list[Analysed]:
        found = self._load_analysed({line.record_id: line.revision for line in lines})
        return [found[line.record_id] for line in lines if line.record_id in found]

    def ranking(
        self, query: str, *, where: RankFilter, limit: int, relative_to: Collection | None = None
    ) -> Ranking:
        overlay = NO_OVERLAY if self.past is None else self.past.overlay
        return self.index.search(query, where=where, limit=limit, overlay=overlay, relative_to=relative_to)

    def search(self, query: str, *, where: RankFilter, limit: int) -> tuple[FoundRecord, ...]:
        """The best matches of a query, by its words and, where it has a vector, by its meaning."""
        if self.near is not None:
            found = self._near(self.near, query, where=where, limit=limit)
            if found is not None:
                return found
        return self.explain(self.ranking(query, where=where, limit=limit), query)

    def explain(self, ranking: Ranking, query: str) -> tuple[FoundRecord, ...]:
        if self.is_partial:
            ranking = replace(ranking, hits=tuple(self._present(ranking.hits)))
        found = self._load_analysed({hit.record_id: hit.revision for hit in ranking.hits})
        return explain_ranking(ranking, found, analyse_query(query))

    def _present(self, hits: Sequence[Hit]) -> Iterator[Hit]:
        """Those of which the snapshot has the revision that the index knows."""
        versions = {} if self.past is None else self.past.versions
        stored = self.records.get_many([hit.record_id for hit in hits])
        for hit in hits:
            record = versions.get(hit.record_id) or stored.get(hit.record_id)
            if record is not None and record.revision == hit.revision:
                yield hit

    def newest(self, record_ids: Iterable[RecordId]) -> dict[RecordId, Analysed]:
        wanted = list(record_ids)
        read = self.records.get_many(wanted) if wanted else {}
        return {
            record_id: self.kept.get(record_id, record.revision) or self.kept.keep(record)
            for record_id, record in read.items()
        }

    def _near(
        self, near: VectorQuery, query: str, *, where: RankFilter, limit: int
    ) -> tuple[FoundRecord, ...] | None:
        """The best by both; None where nothing is known about meaning."""
        deep = max(limit, NEAREST_MAX)
        ranking = self.ranking(query, where=where, limit=deep)
        also = [hit.record_id for hit in ranking.hits]
        similar = near.similar(allowed=self.index.passing(where), also=also, limit=NEAREST_MAX)
        if similar is None:
            return None
        hits = [WordHit(key=hit.record_id, total=hit.total) for hit in ranking.hits]
        asked = analyse_query(query)
        if len(hits) == deep:
            # Beyond the last hit there are others with words; those that matter are scored one by one.
            last = hits[-1].total
            beyond = gaining(hits, similar, limit=limit, at_most=lambda _: last)
            hits += _word_hits(self.newest(beyond).values(), asked, ranking.collection)
        best = fuse(hits, similar, limit=limit)
        by_words = {hit.record_id: hit for hit in ranking.hits}
        wanted = [RecordId(hit.key) for hit in best]
        read = self._load_analysed({key: by_words[key].revision for key in wanted if key in by_words})
        read.update(self.newest(key for key in wanted if key not in by_words))
        found = [
            _part(by_words.get(key) or _by_meaning(hit), read.get(key), asked, ranking.collection)
            for hit, key in zip(best, wanted, strict=True)
        ]
        return tuple(
            replace(each, score=replace(each.score, meaning=hit.meaning))
            for hit, each in zip(best, found, strict=True)
        )

    def _load_analysed(self, wanted: Mapping[RecordId, int]) -> dict[RecordId, Analysed]:
        found: dict[RecordId, Analysed] = {}
        missing: list[RecordId] = []
        versions = {} if self.past is None else self.past.versions
        for record_id, revision in wanted.items():
            then = versions.get(record_id)
            kept = Analysed(then) if then is not None else self.kept.get(record_id, revision)
            if kept is None:
                missing.append(record_id)
            else:
                found[record_id] = kept
        if missing:
            read = self.records.get_many(missing)
            found.update((record_id, self.kept.keep(record)) for record_id, record in read.items())
        return found


def index_differs(error: Corrupt) -> bool:
    """Whether it is only the index that is wrong, which is made anew from what is stored."""
    return error.code == "index.differs"


def explain_ranking(
    ranking: Ranking, found: Mapping[RecordId, Analysed], query: Query
) -> tuple[FoundRecord, ...]:
    """What a ranking says, beside what is stored. Corrupt where the two differ."""
    return tuple(_part(hit, found.get(hit.record_id), query, ranking.collection) for hit in ranking.hits)


def _word_hits(records: Iterable[Analysed], query: Query, collection: Collection) -> list[WordHit]:
    scored = [
        (each.record, score_of(each.record, query, collection, impacts=each.impacts_for(query)))
        for each in records
    ]
    matching = [(record, score.total) for record, score in scored if score is not None]
    matching.sort(key=lambda each: (-each[1], -to_milliseconds(each[0].created_at), each[0].record_id))
    return [WordHit(key=record.record_id, total=total) for record, total in matching]


def _by_meaning(hit: FusedHit) -> Hit:
    """A hit that the ranking by words did not name: too far down, or without any word."""
    return Hit(record_id=RecordId(hit.key), total=hit.words, revision=0)


_NO_WORDS = Score(exact=0, summary=0, metadata=0, state=0, recency=0)


def _part(hit: Hit, stored: Analysed | None, query: Query, collection: Collection) -> FoundRecord:
    """A hit with the parts of its score. What its neighbours add is the index's word: they are not read."""
    if stored is not None:
        score = score_of(stored.record, query, collection, impacts=stored.impacts_for(query)) or _NO_WORDS
        if score.total + hit.neighbours == hit.total:
            if hit.neighbours:
                score = replace(score, neighbours=hit.neighbours)
            return FoundRecord(record=stored.record, score=score)
    raise _differs(hit.record_id)


def _differs(record_id: str) -> Corrupt:
    return Corrupt(
        f"the index ranks record {record_id} by something else than what is stored",
        code="index.differs",
        hint="the index is rebuilt from the store by itself; search again",
    )
