"""Remembering: the memory of a run that ended is built from durable state, kept, and pointed to.

A run's memory is written outside a transaction, between the one that owes it and the one that settles it.
Whoever dies in between leaves a job that another takes over; whoever comes late changes nothing.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

from runlore.domain.errors import Conflict, Corrupt, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.learning.remember_requests import HINTS
from runlore.domain.policies.learning_policy import OwnWords
from runlore.domain.policies.policy import PolicyName, RunMemoryPolicy, run_memory_policy
from runlore.domain.prompts.run_memory import CaptureState, Remembered, build_run_memory, pointer_to
from runlore.domain.record import Kind
from runlore.domain.run import MemoryState, Run, RunId, RunStatus
from runlore.domain.runs.job import JOB_LOST, Job, JobKind
from runlore.domain.runs.journal import EventType
from runlore.domain.session import Session, SessionId, visible_scopes
from runlore.domain.skill import SkillState
from runlore.flow.capture.ending import run_text
from runlore.flow.capture.session_lock import run_turn
from runlore.flow.capture.sessions import is_captured
from runlore.flow.lost_connections import repeat_if_lost
from runlore.flow.opted_out import is_left_out
from runlore.flow.policies import current_capture, current_policy, current_run_memory, current_skills
from runlore.flow.queueing import queue
from runlore.ports.clock import Clock
from runlore.ports.ids import Ids
from runlore.ports.run_memories import MemoryTerms, RunMemories
from runlore.ports.store import Collections, Store, Transaction

STORE_BUSY = "store.busy"
_BEYOND_MAX = 1_000
# One of these stands in every wish to keep something, near enough to its beginning to be read.
_WISHES = ("skill", "save", *HINTS)
_WISH_CHARS_MAX = 8_000
# How a request begins that calls a skill by a command.
_COMMANDS = ("/", "$", "<command-")
_ACTIVE = frozenset({SkillState.ACTIVE})


@dataclass(frozen=True, kw_only=True)
class Remembering:
    """Where memories are kept, and where they are owed and pointed to."""

    store: Store
    memories: RunMemories
    clock: Clock
    ids: Ids

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
        for run_id in run_ids:
            repeat_if_lost(partial(self.memories.delete, run_id))

    def _settle(self, run_id: RunId, job: Job | None) -> None:
        dropped = None
        while dropped is None:
            # Once more only where somebody has changed the policy in between.
            dropped = self._attempt(run_id, job)
        self.drop(dropped)

    def _attempt(self, run_id: RunId, job: Job | None) -> tuple[RunId, ...] | None:
        """Make the memory, keep it, and settle it: the memories that have to go, None for once more."""
        now = self.clock.earliest_now()
        with self.store.snapshot() as snapshot:
            run = snapshot.runs.find(run_id)
            policy = current_policy(snapshot, PolicyName.RUN_MEMORY)
            built = _build_memory(snapshot, run, run_memory_policy(policy.policy), now)
        owed = MemoryTerms(policy_revision=policy.revision, job=job)
        if built is not None:
            self.memories.put(built.memory, owed)
        try:
            return self._write(run_id, built, owed)
        except Unavailable as busy:
            if busy.code != STORE_BUSY:
                raise
            # Nothing was written: whoever stood in the way is done, and asking the caller would be idle.
            return self._write(run_id, built, owed)

    def _write(self, run_id: RunId, built: Remembered | None, owed: MemoryTerms) -> tuple[RunId, ...] | None:
        with self.store.transaction() as tx:
            return self._write_settled(tx, run_id, built, owed)

    def _write_settled(
        self, tx: Transaction, run_id: RunId, built: Remembered | None, owed: MemoryTerms
    ) -> tuple[RunId, ...] | None:
        """Settle what is owed: the memories that have to go now, this one where nobody owes it any more; None
        where the policy is not that of the memory any more."""
        if tx.runs.find(run_id) is None:
            _close(tx, run_id, owed.job)
            return (run_id,)
        run, session = run_turn(tx, run_id)
        is_pending = run.memory is MemoryState.PENDING
        if is_pending and current_policy(tx, PolicyName.RUN_MEMORY).revision != owed.policy_revision:
            return None
        due = capture_due(tx, run, session)
        if is_pending and built is not None and built.memory.capture is not due.receipt:
            return None
        _close(tx, run_id, owed.job)
        if not is_pending:
            return () if run.memory is MemoryState.STORED else (run_id,)
        if built is None:
            tx.runs.set_memory(run_id, MemoryState.PRUNED, expected=frozenset({MemoryState.PENDING}))
            return (run_id,)
        tx.runs.set_memory(run_id, MemoryState.STORED, expected=frozenset({MemoryState.PENDING}))
        tx.pointers.put([pointer_to(built.memory)])
        if due.has_work:
            queue(tx, self.ids, JobKind.CAPTURE, [run_id], at=self.clock.now())
        if is_learned_from(tx, run, session) or may_have_used(tx, run, session):
            queue(tx, self.ids, JobKind.DETECT, [run_id], at=self.clock.now())
        displaced = displace_oldest(tx, run.session_id, current_run_memory(tx))
        tx.counters.add(
            build_counters(
                stored_total=1,
                redacted_fields_total=built.redacted_fields,
                pruned_overflow_total=len(displaced),
            )
        )
        return displaced


@dataclass(frozen=True, kw_only=True)
class CaptureDue:
    """What capture has to do about a run that ended: its first receipt, and whether there is any work."""

    receipt: CaptureState
    has_work: bool


def capture_due(collections: Collections, run: Run, session: Session) -> CaptureDue:
    """What is due for a run that ended. Where people said no, nothing is. Of what was brought in from a
    transcript only the user's own statements are taken; a model is asked about it only where somebody asks
    for that (`backfill`)."""
    policy = current_capture(collections)
    is_owed = run.status is RunStatus.COMPLETED and policy.semantic_candidates.enabled
    if run.imported:
        has_work = is_owed and is_captured(collections, session)
        return CaptureDue(receipt=CaptureState.SKIPPED, has_work=has_work)
    has_work = is_owed or policy.run_summary_candidates or policy.own_words is OwnWords.PROPOSE
    if not has_work or not is_captured(collections, session):
        return CaptureDue(receipt=CaptureState.SKIPPED, has_work=False)
    return CaptureDue(receipt=CaptureState.PENDING if is_owed else CaptureState.SKIPPED, has_work=True)


def is_learned_from(collections: Collections, run: Run, session: Session) -> bool:
    """Whether a run that ended is looked at for skills by itself; what was brought in waits to be asked."""
    return (
        not run.imported
        and current_skills(collections).learn
        and is_captured(collections, session)
        and not is_left_out(collections, run)
        and _shows_work(collections, run)
    )


def may_have_used(collections: Collections, run: Run, session: Session) -> bool:
    """Whether a run that ended is looked at for the skills that it used, whatever is learned from it: there
    are some, and it called a tool or was asked with a command."""
    if run.imported or not is_captured(collections, session):
        return False
    with suppress(Corrupt):
        if collections.skills.page(limit=1, states=_ACTIVE):
            said = collections.journal.inputs([run.run_id]).get(run.run_id, "").lstrip()
            return said.startswith(_COMMANDS) or collections.journal.has(run.run_id, EventType.TOOL_CALL)
    return False


def prune(tx: Transaction, run_ids: Sequence[RunId]) -> tuple[RunId, ...]:
    """Take pointers away and say that their memories are gone: those that were stored until now, which are
    deleted behind the transaction.

    Rows are taken in one order by everybody, so that no two wait for each other.
    """
    ordered = sorted(set(run_ids))
    tx.pointers.delete(ordered)
    stored = frozenset({MemoryState.STORED})
    return tuple(
        run_id for run_id in ordered if tx.runs.set_memory(run_id, MemoryState.PRUNED, expected=stored)
    )


def displace_oldest(tx: Transaction, session_id: SessionId, policy: RunMemoryPolicy) -> tuple[RunId, ...]:
    """Prune the oldest memory of a session that has too many with a new one. What a smaller policy no longer
    uses is more than that, and stays until its retention ends or somebody deletes it."""
    most = policy.max_tracked_per_session
    tracked = tx.pointers.runs_of_session(session_id, limit=most + _BEYOND_MAX)
    return prune(tx, [tracked[-1][0]]) if len(tracked) > most else ()


def list_expired_runs(
    tx: Transaction, session_id: SessionId, policy: RunMemoryPolicy, now: datetime
) -> list[RunId]:
    """Whose memories a session has kept for longer than the retention; exactly that long is kept."""
    limit = policy.max_tracked_per_session + _BEYOND_MAX
    before = policy.oldest_kept(now)
    tracked = tx.pointers.runs_of_session(session_id, limit=limit)
    return [run_id for run_id, captured_at in tracked if captured_at < before]


def build_counters(**amounts: int) -> dict[str, int]:
    return {f"run_memory.{name}": amount for name, amount in amounts.items() if amount}


def _build_memory(
    collections: Collections, run: Run | None, policy: RunMemoryPolicy, now: datetime
) -> Remembered | None:
    """The memory that a run is owed; None where it is owed none, or none would be kept."""
    if run is None or run.memory is not MemoryState.PENDING or run.finished_at is None:
        return None
    if not policy.remembers(run.finished_at, now):
        return None
    session = collections.sessions.get(run.session_id)
    binding = collections.sessions.binding_at(run.session_id, run.finished_at) or session.binding
    return build_run_memory(
        run,
        run_text(collections, run),
        visible_scopes(run.session_id, binding),
        redact_pii=policy.redact_pii,
        capture=capture_due(collections, run, session).receipt,
    )


def _shows_work(collections: Collections, run: Run) -> bool:
    """Whether there is anything in a run that a detector may find: a call of a tool, a note, or the user's
    wish to keep something. Whoever looks decides on that exactly."""
    with suppress(Corrupt):
        if collections.journal.has(run.run_id, EventType.TOOL_CALL):
            return True
        if any(each.kind is Kind.SCRATCH for each in collections.records.of_run(run.run_id)):
            return True
        said = collections.journal.inputs([run.run_id]).get(run.run_id, "")[:_WISH_CHARS_MAX].lower()
        return any(word in said for word in _WISHES)
    return False


def _close(tx: Transaction, run_id: RunId, job: Job | None) -> None:
    if job is None:
        tx.jobs.cancel(JobKind.REMEMBER, run_id)
    else:
        tx.jobs.finish(job)
