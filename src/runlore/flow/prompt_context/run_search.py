"""The recovered runs that a session can find, through the index of run memories.

A run is found where any scope that saw it is one that the session sees. The workspace saw every run, so by
default a session finds the runs of all sessions; the policy's `search_visibility` narrows that to its own.
Pointers tell which hits a session sees; the memories themselves are read when the snapshot is let go of.
A run whose memory was pruned is found for as long as its journal is kept, and made from that again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime

from runlore.domain.lazy import dataclass
from runlore.domain.policies.policy import RunMemoryPolicy
from runlore.domain.prompts.run_memory import Pointer, RunMemory, pointer_to
from runlore.domain.record import State
from runlore.domain.run import Run, RunId
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.search.ranking import Collection, RankFilter, analyse_query
from runlore.domain.session import SessionId
from runlore.flow.policies import current_run_memory
from runlore.flow.prompt_context.feeds import index_id, run_id_of, run_record
from runlore.flow.prompt_context.recovered_runs import WERE_REMEMBERED, rebuild_memories
from runlore.flow.prompt_context.scope_view import Analysed
from runlore.flow.prompt_context.search import SearchSnapshot, explain_ranking
from runlore.ports.index import NO_OVERLAY, Hit, Overlay, Ranking
from runlore.ports.run_memories import RunMemories

# So many hits are looked at for those that the session sees.
_RANKED_MAX = 1_024
# So many of the latest at a past moment are looked at.
_REMADE_MAX = 500


@dataclass(frozen=True, kw_only=True)
class FoundRun:
    """A recovered run and its score."""

    memory: RunMemory
    score: int


@dataclass(frozen=True, kw_only=True)
class RunHits:
    """What a snapshot says: the hits that a session sees, best first, and their memories where remade.

    Without a query the hits are the latest runs, and there is no collection.
    """

    hits: tuple[Hit, ...] = ()
    collection: Collection | None = None
    pointers: Mapping[RunId, Pointer] = field(default_factory=dict)
    rebuilt: Mapping[RunId, RunMemory] = field(default_factory=dict)
    is_all: bool = True


@dataclass(frozen=True, kw_only=True)
class Finder:
    """Who looks for runs: the session, what it sees, and under which policy; now, or at a past moment."""

    session_id: SessionId
    scopes: frozenset[Scope]
    own_only: bool
    policy: RunMemoryPolicy
    now: datetime
    is_past: bool = False
    # For an agent the workspace, which saw every run, opens none: what it finds beside its scopes is of
    # sessions that it may use.
    may_use: Callable[[SessionId], bool] | None = None

    @property
    def where(self) -> RankFilter:
        own = frozenset({Scope(ScopeKind.SESSION, self.session_id)})
        return RankFilter(
            states=frozenset({State.ACTIVE}), scopes=own if self.own_only else None, now=self.now
        )

    def sees(self, pointer: Pointer) -> bool:
        is_own = pointer.session_id == self.session_id
        if self.own_only and not is_own:
            return False
        opened = self.scopes if self.may_use is None else self.scopes - {WORKSPACE}
        seen = is_own or not opened.isdisjoint(pointer.scope_keys)
        if not seen and self.may_use is not None:
            seen = self.may_use(pointer.session_id)
        return seen

    def remembers(self, pointer: Pointer) -> bool:
        return self.policy.remembers(pointer.captured_at, self.now)


@dataclass(frozen=True, kw_only=True)
class RunSearch:
    """The index of run memories beside one snapshot, now or as it was at the finder's moment."""

    reading: SearchSnapshot
    finder: Finder
    overlay: Overlay = NO_OVERLAY

    @classmethod
    def open(cls, reading: SearchSnapshot, finder: Finder) -> "RunSearch":
        """At a past moment the runs that ended later are hidden."""
        if not finder.is_past:
            return cls(reading=reading, finder=finder)
        later = (run for run in _list_ended(reading, finder) if _end(run)[0] > finder.now)
        hidden = frozenset(index_id(run.run_id) for run in later)
        return cls(reading=reading, finder=finder, overlay=Overlay(hidden=hidden))

    def ranking(self, query: str, *, limit: int, relative_to: Collection | None = None) -> Ranking:
        return self.reading.index.search(
            query, where=self.finder.where, limit=limit, overlay=self.overlay, relative_to=relative_to
        )

    def best(self, query: str, *, limit: int, relative_to: Collection) -> RunHits:
        if not self.finder.policy.enabled:
            return RunHits()
        asked = limit
        while True:
            hits = self.ranking(query, limit=asked, relative_to=relative_to).hits
            found = self._filter_seen(hits)
            if len(found.hits) >= limit or len(hits) < asked or asked >= _RANKED_MAX:
                is_all = len(hits) < asked and len(found.hits) <= limit
                return RunHits(
                    hits=found.hits[:limit],
                    collection=relative_to,
                    pointers=found.pointers,
                    rebuilt=found.rebuilt,
                    is_all=is_all,
                )
            asked *= 4

    def newest(self, *, limit: int) -> RunHits:
        if not self.finder.policy.enabled:
            return RunHits()
        if self.finder.is_past:
            tracked = [run.run_id for run in _list_tracked_then(self.reading, self.finder)[:_REMADE_MAX]]
            known, again = self._trace(tracked)
            pointers = [known[run_id] for run_id in tracked if run_id in known]
        else:
            pointers, again = self._latest(limit), {}
        finder = self.finder
        seen = [each for each in pointers if finder.sees(each) and finder.remembers(each)][:limit]
        return RunHits(
            hits=tuple(Hit(record_id=index_id(pointer.run_id), total=0, revision=0) for pointer in seen),
            pointers={pointer.run_id: pointer for pointer in seen},
            rebuilt=again,
            is_all=len(pointers) < limit,
        )

    def _latest(self, limit: int) -> list[Pointer]:
        """The latest pointers among which those are that the session sees."""
        tracked = self.reading.snapshot.pointers
        if self.finder.own_only:
            return list(tracked.of_session(self.finder.session_id, limit=limit))
        found = list(tracked.of_scopes(self.finder.scopes, limit=limit))
        piece = found
        while self.finder.may_use and len(piece) == limit and len(found) < _RANKED_MAX:
            if sum(map(self.finder.sees, found)) >= limit:
                break
            last = piece[-1]
            before = (last.captured_at, last.run_id)
            piece = list(tracked.of_scopes(self.finder.scopes, limit=limit, before=before))
            found.extend(piece)
        return found

    def _filter_seen(self, hits: Sequence[Hit]) -> RunHits:
        pointers, again = self._trace([run_id_of(hit.record_id) for hit in hits])
        seen = {run_id: each for run_id, each in pointers.items() if self.finder.sees(each)}
        shown = tuple(hit for hit in hits if run_id_of(hit.record_id) in seen)
        return RunHits(hits=shown, pointers=seen, rebuilt=again)

    def _trace(self, run_ids: Sequence[RunId]) -> tuple[dict[RunId, Pointer], dict[RunId, RunMemory]]:
        """The pointers of runs, and the memories of those that have none any more, from their journals."""
        snapshot = self.reading.snapshot
        pointers = snapshot.pointers.get_many(run_ids)
        runs = snapshot.runs.get_many([run_id for run_id in run_ids if run_id not in pointers])
        policy = current_run_memory(snapshot)
        again = {memory.run_id: memory for memory in rebuild_memories(snapshot, list(runs.values()), policy)}
        return pointers | {run_id: pointer_to(memory) for run_id, memory in again.items()}, again


def read_runs(found: RunHits, run_memories: RunMemories, query: str | None) -> list[FoundRun]:
    run_ids = [run_id_of(hit.record_id) for hit in found.hits]
    read = run_memories.get_many(tuple(run_id for run_id in run_ids if run_id not in found.rebuilt))
    memories = {
        run_id: memory
        for run_id in run_ids
        if isinstance(memory := found.rebuilt.get(run_id) or read.get(run_id), RunMemory)
        and memory.session_id == found.pointers[run_id].session_id
    }
    if query is None or found.collection is None:
        return [FoundRun(memory=memory, score=0) for memory in memories.values()]
    there = tuple(hit for hit in found.hits if run_id_of(hit.record_id) in memories)
    records = {index_id(run_id): Analysed(run_record(memory)) for run_id, memory in memories.items()}
    parts = explain_ranking(Ranking(hits=there, collection=found.collection), records, analyse_query(query))
    return [
        FoundRun(memory=memories[run_id_of(part.record.record_id)], score=part.score.total) for part in parts
    ]


def _list_tracked_then(reading: SearchSnapshot, finder: Finder) -> list[Run]:
    """The runs that were remembered at a moment, the newest first."""
    by_session: dict[SessionId, list[Run]] = defaultdict(list)
    for run in _list_ended(reading, finder):
        if _end(run)[0] <= finder.now and run.memory in WERE_REMEMBERED:
            by_session[run.session_id].append(run)
    newest = [
        run
        for runs in by_session.values()
        for run in sorted(runs, key=_end, reverse=True)[: finder.policy.max_tracked_per_session]
    ]
    return sorted(newest, key=_end, reverse=True)


def _list_ended(reading: SearchSnapshot, finder: Finder) -> Iterator[Run]:
    if finder.own_only:
        runs = reading.snapshot.runs.of_session(finder.session_id)
        yield from (run for run in runs if run.finished_at is not None)
    else:
        yield from reading.snapshot.runs.changed_since(0)


def _end(run: Run) -> tuple[datetime, RunId]:
    assert run.finished_at is not None, "only ended runs are remembered"
    return run.finished_at, run.run_id
