"""What an index is told: the records as they are, or the recovered runs in the form of records.

A feed reads what has changed since a position. It may tell a thing again, and leaves none out.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from runlore.domain.batches import into_batches
from runlore.domain.lazy import dataclass
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.record import JsonValue, Kind, Record, RecordId, State, StateReason
from runlore.domain.run import MemoryState, Run, RunId
from runlore.domain.scope import Scope, ScopeKind
from runlore.flow.policies import current_run_memory
from runlore.flow.prompt_context.recovered_runs import rebuild_memories
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Snapshot, StorePosition

_BATCH_RUNS = 256
RUN_PREFIX = "run:"


@dataclass(frozen=True, kw_only=True)
class IndexChange:
    """A record as an index is to hold it. With `is_forgotten` every word of an earlier version goes."""

    record: Record
    is_forgotten: bool = False


class Feed(Protocol):
    """Where an index learns what it holds."""

    def changes(self, snapshot: Snapshot, since: StorePosition) -> Iterator[IndexChange]: ...

    def count(self, snapshot: Snapshot, cursor: int, *, most: int) -> int:
        """How much that is, counted up to `most`."""
        ...


class RecordFeed:
    """The records. A forgotten one is told as its tombstone, for it still counts among the stale ones."""

    def changes(self, snapshot: Snapshot, since: StorePosition) -> Iterator[IndexChange]:
        for record in snapshot.records.changed_since(since):
            yield IndexChange(record=record, is_forgotten=record.state_reason is StateReason.FORGOTTEN)

    def count(self, snapshot: Snapshot, cursor: int, *, most: int) -> int:
        return snapshot.records.count_changed(cursor, most=most)


class RunFeed:
    """The recovered runs: by their memories, or once these are pruned by their journals. One of which neither
    is left is told as a blank tombstone, which nothing finds."""

    def __init__(self, run_memories: RunMemories) -> None:
        self._run_memories = run_memories

    def changes(self, snapshot: Snapshot, since: StorePosition) -> Iterator[IndexChange]:
        runs = snapshot.runs.changed_since(since.cursor)
        for batch in into_batches(runs, _BATCH_RUNS):
            yield from self._list_changes(snapshot, batch, from_beginning=not since.cursor)

    def count(self, snapshot: Snapshot, cursor: int, *, most: int) -> int:
        return snapshot.runs.count_changed(cursor, most=most)

    def _list_changes(
        self, snapshot: Snapshot, runs: Sequence[Run], *, from_beginning: bool
    ) -> Iterator[IndexChange]:
        stored = tuple(run.run_id for run in runs if run.memory is MemoryState.STORED)
        memories = dict(self._run_memories.get_many(stored)) if stored else {}
        memories |= {
            memory.run_id: memory for memory in rebuild_memories(snapshot, runs, current_run_memory(snapshot))
        }
        for run in runs:
            memory = memories.get(run.run_id)
            if isinstance(memory, RunMemory) and memory.session_id == run.session_id:
                yield IndexChange(record=run_record(memory, revision=_revision(run)))
            elif run.memory in _GONE and not from_beginning:
                # Of a run in a private session there never was a journal, nor a word in the index.
                is_erased = run.run_id in snapshot.journal.inputs([run.run_id])
                yield IndexChange(record=_blank(run), is_forgotten=is_erased)


def run_record(memory: RunMemory, *, revision: int = 1) -> Record:
    """A run memory in the form in which an index ranks it: the summary, and as metadata what it lacks.

    A summary is made of the previews as a rule. Counted twice, every run would stand above a learning that
    answers as well.
    """
    texts = (memory.request_preview or "", memory.outcome_preview or "", *memory.failure_markers)
    fields: dict[str, JsonValue] = {"previews": [text for text in texts if text not in memory.summary]}
    return Record(
        record_id=index_id(memory.run_id),
        layer=Kind.RUN.layer,
        kind=Kind.RUN,
        state=State.ACTIVE,
        scope=Scope(ScopeKind.SESSION, memory.session_id),
        summary=memory.summary,
        metadata=fields,
        created_by="",
        created_at=memory.captured_at,
        revision=revision,
    )


def index_id(run_id: RunId) -> RecordId:
    return RecordId(f"{RUN_PREFIX}{run_id}")


def run_id_of(record_id: RecordId) -> RunId:
    return RunId(record_id.removeprefix(RUN_PREFIX))


def _blank(run: Run) -> Record:
    return Record(
        record_id=index_id(run.run_id),
        layer=Kind.RUN.layer,
        kind=Kind.RUN,
        state=State.TOMBSTONED,
        scope=Scope(ScopeKind.SESSION, run.session_id),
        summary="",
        created_by="",
        created_at=run.opened_at,
        revision=_revision(run, is_blank=True),
    )


def _revision(run: Run, *, is_blank: bool = False) -> int:
    """A number that goes up with every change that an index can tell: a run's own revision stays the same
    when its memory is written or pruned, or its journal erased."""
    return 2 * (run.revision * len(_STEPS) + _STEPS.index(run.memory)) + is_blank


_STEPS = tuple(MemoryState)
_GONE = frozenset({MemoryState.PRUNED, MemoryState.FORGOTTEN})
