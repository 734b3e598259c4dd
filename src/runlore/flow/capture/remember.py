"""Remembering: the memory of a run that ended is built from durable state, kept, and pointed to.

A run's memory is written outside a transaction, between the one that owes it and the one that settles it.
Whoever dies in between leaves a job that another takes over; whoever comes late changes nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from runlore.domain.errors import Conflict
from runlore.domain.job import Job, JobKind
from runlore.domain.policy import RunMemoryPolicy
from runlore.domain.run import MemoryState, Run, RunId
from runlore.domain.run_memory import Pointer, Remembered, pointer_to, remembered
from runlore.domain.session import SessionId, visible_scopes
from runlore.flow.capture.ending import run_text
from runlore.flow.capture.turns import run_turn
from runlore.flow.policies import current_run_memory
from runlore.ports.clock import Clock
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Collections, Store, Transaction

JOB_LOST = "job.lost"
_BEYOND_MAX = 1_000


def oldest_kept(policy: RunMemoryPolicy, now: datetime) -> datetime:
    """The earliest moment whose memories are kept; where nothing is remembered, none are."""
    if not policy.enabled:
        return now + timedelta(days=1)
    return now - timedelta(days=policy.retention_days)


@dataclass(frozen=True, kw_only=True)
class Remembering:
    """Where memories are kept, and where they are owed and pointed to."""

    store: Store
    memories: RunMemories
    clock: Clock

    def settle(self, run_id: RunId, job: Job | None = None) -> None:
        """Write the memory that a run is owed; nothing happens where it is owed none.

        With a job, only while we hold it. Without one it is done whoever holds the job, and that ends it.
        """
        try:
            self._settle(run_id, job)
        except Conflict as lost:
            if job is None or lost.code != JOB_LOST:
                raise
            # Somebody thought us dead. What they have not done yet is done now, and nothing twice.
            self._settle(run_id, None)

    def drop(self, run_ids: Iterable[RunId]) -> None:
        """Delete the memories of runs that were pruned or forgotten, behind their transaction."""
        for run_id in run_ids:
            self.memories.delete(run_id)

    def _settle(self, run_id: RunId, job: Job | None) -> None:
        now = self.clock.now()
        with self.store.snapshot() as snapshot:
            run = snapshot.runs.find(run_id)
            policy = current_run_memory(snapshot)
            built = _built(snapshot, run, policy, now)
        if built is not None:
            self.memories.put(built.memory)
        with self.store.transaction() as tx:
            dropped = self._written(tx, run_id, built, job)
        self.drop(dropped)

    def _written(
        self, tx: Transaction, run_id: RunId, built: Remembered | None, job: Job | None
    ) -> tuple[RunId, ...]:
        """Settle what is owed: the memories that have to go now, this one where nobody owes it any more."""
        if tx.runs.find(run_id) is None:
            _close(tx, run_id, job)
            return (run_id,)
        run, _ = run_turn(tx, run_id)
        _close(tx, run_id, job)
        if run.memory is not MemoryState.PENDING:
            return () if run.memory is MemoryState.STORED else (run_id,)
        if built is None:
            tx.runs.set_memory(run_id, MemoryState.PRUNED, expected=frozenset({MemoryState.PENDING}))
            return (run_id,)
        tx.runs.set_memory(run_id, MemoryState.STORED, expected=frozenset({MemoryState.PENDING}))
        tx.pointers.put([pointer_to(built.memory)])
        overflowing = prune_overflow(tx, run.session_id, current_run_memory(tx))
        tx.counters.add(
            counted(
                stored_total=1,
                redacted_fields_total=built.redacted_fields,
                pruned_overflow_total=len(overflowing),
            )
        )
        return overflowing


def prune(tx: Transaction, run_ids: Sequence[RunId]) -> tuple[RunId, ...]:
    """Take pointers away and say that their memories are gone; they are deleted behind the transaction."""
    tx.pointers.delete(run_ids)
    for run_id in run_ids:
        tx.runs.set_memory(run_id, MemoryState.PRUNED, expected=frozenset({MemoryState.STORED}))
    return tuple(run_ids)


def prune_overflow(tx: Transaction, session_id: SessionId, policy: RunMemoryPolicy) -> tuple[RunId, ...]:
    """Prune what is beyond the newest memories that a session keeps."""
    most = policy.max_tracked_per_session
    tracked = tx.pointers.of_session(session_id, limit=most + _BEYOND_MAX)
    return prune(tx, _ids(tracked[most:]))


def prune_expired(
    tx: Transaction, session_id: SessionId, policy: RunMemoryPolicy, now: datetime
) -> tuple[RunId, ...]:
    """Prune what a session has kept for longer than the retention; exactly that long is kept."""
    limit = policy.max_tracked_per_session + _BEYOND_MAX
    before = oldest_kept(policy, now)
    tracked = tx.pointers.of_session(session_id, limit=limit)
    return prune(tx, _ids(pointer for pointer in tracked if pointer.captured_at < before))


def counted(**amounts: int) -> dict[str, int]:
    """Run memory's counters, without those that stay as they are."""
    return {f"run_memory.{name}": amount for name, amount in amounts.items() if amount}


def _built(
    collections: Collections, run: Run | None, policy: RunMemoryPolicy, now: datetime
) -> Remembered | None:
    """The memory that a run is owed; None where it is owed none, or none would be kept."""
    if run is None or run.memory is not MemoryState.PENDING or run.finished_at is None:
        return None
    if run.finished_at < oldest_kept(policy, now):
        return None
    session = collections.sessions.get(run.session_id)
    binding = collections.sessions.binding_at(run.session_id, run.finished_at) or session.binding
    return remembered(
        run,
        run_text(collections, run),
        visible_scopes(run.session_id, binding),
        redact_pii=policy.redact_pii,
    )


def _close(tx: Transaction, run_id: RunId, job: Job | None) -> None:
    if job is None:
        tx.jobs.cancel(JobKind.REMEMBER, run_id)
    else:
        tx.jobs.finish(job)


def _ids(pointers: Iterable[Pointer]) -> list[RunId]:
    return [pointer.run_id for pointer in pointers]
