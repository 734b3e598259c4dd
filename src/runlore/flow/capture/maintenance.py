"""Maintenance: pointers rebuilt from runs and their memories, what is too old pruned.

Every entry is put right on its own, in a transaction of its own that looks again: other daemons go on working
meanwhile. What is found is told, at most so many findings of each time.

What is older or more than the retention policy keeps is looked up once and taken away piece by piece, each in
a transaction that looks at the policy again. Numbers and ids stay.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from runlore.domain import limits
from runlore.domain.batches import into_batches
from runlore.domain.errors import Corrupt, RunloreError
from runlore.domain.policies.policy import RetentionPolicy
from runlore.domain.prompts.run_memory import Capture, CaptureState, Pointer, RunMemory, pointer_to
from runlore.domain.record import JsonValue
from runlore.domain.run import ArtifactId, MemoryState, Run, RunId
from runlore.domain.runs.job import JobKind
from runlore.domain.session import SessionId
from runlore.flow.capture.remember import Remembering, build_counters, prune
from runlore.flow.capture.session_lock import (
    Beat,
    LeaseCheck,
    check_no_lease,
    run_turn,
    run_turn_if_any,
    session_turn,
    skip_beat,
)
from runlore.flow.policies import current_retention, current_run_memory
from runlore.flow.queueing import queue
from runlore.ports.run_memories import Unreadable
from runlore.ports.store import Collections, Snapshot, Store, Transaction

MAINTENANCE_NOTE = "run_memory.maintenance"
_BATCH = 256
_REPLAYED_MAX = 10_000
ItemT = TypeVar("ItemT")


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """One thing that maintenance met: what it did about it, and why."""

    action: str
    reason: str
    message: str
    run_id: RunId | None = None
    path: str | None = None

    def plain(self) -> dict[str, JsonValue]:
        plain = {"action": self.action, "reason": self.reason, "message": self.message}
        named = {"run_id": self.run_id, "path": self.path}
        return {**plain, **{name: value for name, value in named.items() if value is not None}}


@dataclass(kw_only=True)
class Report:
    """What one maintenance did, as it is kept and shown."""

    source: str
    index_rebuilt: bool = False
    remembered: int = 0
    pointers_written: int = 0
    pruned_ttl: int = 0
    pruned_orphan: int = 0
    pruned_unreadable: int = 0
    scan_error_count: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def tell(self, diagnostic: Diagnostic) -> None:
        if len(self.diagnostics) < limits.DIAGNOSTICS_MAX:
            self.diagnostics.append(diagnostic)

    def leave(self, error: RunloreError, run_id: RunId | None = None) -> None:
        """Tell of something that could not be put right, and so stays as it is."""
        self.tell(Diagnostic(action="left", reason=error.code, message=error.sentence, run_id=run_id))

    def plain(self, checked_at: str) -> dict[str, JsonValue]:
        return {
            "checked_at": checked_at,
            "source": self.source,
            "index_rebuilt": self.index_rebuilt,
            "remembered": self.remembered,
            "pointers_written": self.pointers_written,
            "pruned": {
                "ttl": self.pruned_ttl,
                "orphan": self.pruned_orphan,
                "unreadable": self.pruned_unreadable,
            },
            "scan_error_count": self.scan_error_count,
            "diagnostics": [diagnostic.plain() for diagnostic in self.diagnostics],
        }


@dataclass(frozen=True, kw_only=True)
class Maintenance:
    """One maintenance of the run memories. What belongs to one run that cannot be read is told and left."""

    remembering: Remembering
    report: Report
    beat: Beat = skip_beat
    hold: LeaseCheck = check_no_lease

    def settle_owed(self) -> None:
        after: RunId | None = None
        while True:
            with self.remembering.store.snapshot() as snapshot:
                owing = snapshot.runs.owing_memory(limit=_BATCH, after=after)
            for run in owing:
                self._settle(run)
                after = run.run_id
                self.beat()
            if not owing:
                return

    def _settle(self, run: Run) -> None:
        """Write one memory. One that cannot be written stays owed, and the others are written."""
        try:
            self.remembering.settle(run.run_id)
        except RunloreError as error:
            self.report.leave(error, run.run_id)
        else:
            self.report.remembered += 1

    def rebuild(self) -> None:
        """Make the pointers what runs and memories say; Unavailable where these cannot be read."""
        seen: set[RunId] = set()
        for batch in into_batches(self.remembering.memories.everything(), _BATCH):
            self._check(batch)
            seen.update(found.run_id for found in batch if found.run_id is not None)
            self.beat()
        with self.remembering.store.snapshot() as snapshot:
            lost = [pointer for pointer in snapshot.pointers.everything() if pointer.run_id not in seen]
        for pointer in lost:
            try:
                self._prune_lost(pointer)
            except Corrupt as damage:
                self.report.leave(damage, pointer.run_id)
            self.beat()
        self.report.index_rebuilt = True

    def prune(self) -> None:
        while self._prune_expired():
            self.beat()

    def _prune_expired(self) -> int:
        with self.remembering.store.transaction() as tx:
            self.hold(tx)
            before = current_run_memory(tx).oldest_kept(self.remembering.clock.earliest_now())
            found = tx.pointers.list_expired(before, limit=_BATCH)
            ids = prune(tx, [pointer.run_id for pointer in found])
            _count(tx, pruned_ttl_total=len(ids))
        self.remembering.drop(ids)
        self.report.pruned_ttl += len(ids)
        return len(found)

    def _check(self, batch: Sequence[RunMemory | Unreadable]) -> None:
        ids = [found.run_id for found in batch if found.run_id is not None]
        try:
            with self.remembering.store.snapshot() as snapshot:
                runs, pointers = snapshot.runs.get_many(ids), snapshot.pointers.get_many(ids)
                noted = snapshot.captures.get_many(ids)
        except Corrupt as damage:
            if len(batch) == 1:
                self.report.leave(damage, batch[0].run_id)
                return
            for found in batch:
                self._check([found])
            return
        for found in batch:
            run = None if found.run_id is None else runs.get(found.run_id)
            if isinstance(found, Unreadable):
                self._unreadable(found)
            elif (problem := _problem(found, run)) is not None:
                self._orphan(found, problem)
            elif _is_stored(run):
                pointer = pointers.get(found.run_id)
                receipt = _receipt(found, pointer, noted.get(found.run_id))
                if found.capture is not receipt or pointer != pointer_to(found):
                    self._point(found)

    def _unreadable(self, found: Unreadable) -> None:
        """Take away what cannot be used, and with it the pointer that led there."""
        memories, run_id = self.remembering.memories, found.run_id
        if not memories.discard(found):
            return
        if run_id is not None:
            with self.remembering.store.transaction() as tx:
                run = run_turn_if_any(tx, run_id)
                # Whoever owed this memory may have written it by now.
                if run is not None and not isinstance(memories.get(run_id), RunMemory):
                    prune(tx, [run_id])
                _count(tx, skipped_unreadable_total=1)
        self.report.pruned_unreadable += 1
        self.report.tell(
            Diagnostic(
                action="pruned",
                reason="unreadable",
                message=found.problem,
                run_id=run_id,
                path=found.where,
            )
        )

    def _orphan(self, found: RunMemory, reason: str) -> None:
        """Delete a memory that no run asks for, looked at once more: it may have been asked for since."""
        with self.remembering.store.transaction() as tx:
            run = tx.runs.find(found.run_id)
            if _problem(found, run) is None:
                return
            if run is not None:
                prune(tx, [found.run_id])
            _count(tx, pruned_orphan_total=1)
        self.remembering.drop([found.run_id])
        self.report.pruned_orphan += 1
        self.report.tell(
            Diagnostic(
                action="pruned", reason=reason, message=_WHY[reason].format(found=found), run_id=found.run_id
            )
        )

    def _point(self, found: RunMemory) -> None:
        """Write the pointer of a memory that is stored. Its receipt is the store's, the memory has a copy."""
        run_id = found.run_id
        with self.remembering.store.transaction() as tx:
            if not _is_stored(run_turn_if_any(tx, run_id)):
                return
            present = tx.pointers.get_many([run_id]).get(run_id)
            receipt = _receipt(found, present, tx.captures.get(run_id))
            pointer = pointer_to(found.with_capture(receipt))
            if present != pointer:
                tx.pointers.put([pointer])
        if found.capture is not receipt:
            self.remembering.memories.note_captures({run_id: receipt})
        self.report.pointers_written += present != pointer

    def replay_captures(self, *, revives: bool = False) -> None:
        """Have the captures done that are owed and have no job. Those that were given up stay where people
        find them, unless it `revives`: where something may have been mended since."""
        with self.remembering.store.snapshot() as snapshot:
            owed = snapshot.pointers.pending(limit=_REPLAYED_MAX)
        for batch in into_batches(owed, _BATCH):
            subjects = [pointer.run_id for pointer in batch]
            with self.remembering.store.transaction() as tx:
                self.hold(tx)
                at = self.remembering.clock.now()
                queue(tx, self.remembering.ids, JobKind.CAPTURE, subjects, at=at, revives=revives)
            self.beat()

    def _prune_lost(self, pointer: Pointer) -> None:
        """Prune a pointer whose memory is missing, unless it has been written meanwhile."""
        with self.remembering.store.transaction() as tx:
            run_turn_if_any(tx, pointer.run_id)
            if pointer.run_id not in tx.pointers.get_many([pointer.run_id]):
                return
            if isinstance(self.remembering.memories.get(pointer.run_id), RunMemory):
                return
            prune(tx, [pointer.run_id])
            _count(tx, skipped_unreadable_total=1)
        self.report.pruned_unreadable += 1
        self.report.tell(
            Diagnostic(
                action="pruned",
                reason="missing",
                message=f"run {pointer.run_id} has a pointer and no memory",
                run_id=pointer.run_id,
            )
        )


def drop_leftovers(remembering: Remembering) -> None:
    """Delete memories whose runs were pruned or forgotten by a process that died before it came to that."""
    for batch in into_batches(remembering.memories.everything(), _BATCH):
        ids = [found.run_id for found in batch if found.run_id is not None]
        with remembering.store.snapshot() as snapshot:
            runs = _readable(snapshot, ids)
        remembering.drop(run.run_id for run in runs if run.memory in _GONE)


_GONE = frozenset({MemoryState.PRUNED, MemoryState.FORGOTTEN})
_WHY = {
    "orphan": "there is no run {found.run_id}",
    "run-not-terminal": "run {found.run_id} has not ended",
    "session-mismatch": "the memory of run {found.run_id} names another session",
    "not-kept": "the memory of run {found.run_id} was pruned or forgotten before",
}


def _problem(found: RunMemory, run: Run | None) -> str | None:
    """Why nobody asks for a memory; None where somebody does."""
    if run is None:
        return "orphan"
    if not run.is_terminal:
        return "run-not-terminal"
    if run.session_id != found.session_id:
        return "session-mismatch"
    return None if run.memory in (MemoryState.PENDING, MemoryState.STORED) else "not-kept"


def _receipt(found: RunMemory, pointer: Pointer | None, noted: Capture | None) -> CaptureState:
    """The receipt that counts: what was captured or is half done, then what was asked for, then the copy."""
    if noted is not None and noted.state is not CaptureState.SKIPPED:
        return noted.state
    return found.capture if pointer is None else pointer.capture


def _readable(collections: Collections, run_ids: Sequence[RunId]) -> list[Run]:
    """Those of the runs that can be read: of the others nobody knows whether their memories are to go."""
    found: list[Run] = []
    for run_id in run_ids:
        with suppress(Corrupt):
            found.extend(collections.runs.get_many([run_id]).values())
    return found


def _is_stored(run: Run | None) -> bool:
    return run is not None and run.memory is MemoryState.STORED


def _count(tx: Transaction, **amounts: int) -> None:
    added = build_counters(**amounts)
    if added:
        tx.counters.add(added)


_MEGABYTE = 1_000_000
_RETENTION_BATCH = 200
IdT = TypeVar("IdT")
Piece = Callable[[Transaction], object]


def in_silence(_error: Corrupt) -> None:
    """Ignore an error."""


@dataclass(frozen=True, kw_only=True)
class Retention:
    """One enforcement of the retention policy. `hold` is asked in every transaction whether it is still ours,
    and `left` told what could not be read and so stays."""

    store: Store
    now: datetime
    beat: Beat = skip_beat
    hold: LeaseCheck = check_no_lease
    left: Callable[[Corrupt], None] = in_silence

    def enforce(self) -> RetentionPolicy:
        """Erase journals and delete artifacts and kept answers beyond the policy; which one that was."""
        while True:
            with self.store.snapshot() as snapshot:
                policy = current_retention(snapshot)
                pieces = [*_pieces(snapshot, policy, self.now)]
            if all(self._take_piece(piece, policy) for piece in pieces):
                return policy

    def _take_piece(self, piece: Piece, policy: RetentionPolicy) -> bool:
        """Take one piece away; False, and nothing done, where another policy is in force by now."""
        try:
            with self.store.transaction() as tx:
                self.hold(tx)
                if current_retention(tx) != policy:
                    return False
                piece(tx)
        except Corrupt as damage:
            self.left(damage)
        self.beat()
        return True


def _pieces(snapshot: Snapshot, policy: RetentionPolicy, now: datetime) -> Iterator[Piece]:
    """What is beyond the policy, in pieces of which each is one transaction."""
    journals_before = _before(now, policy.journal_days)
    runs = _beyond(
        snapshot.journal.sizes(), before=journals_before, bytes_max=policy.journal_mb_max * _MEGABYTE
    )
    for run_id in runs:
        yield _erasing_run(run_id)
    if journals_before is not None:
        for session_id in snapshot.journal.sessions_with_checkpoints(journals_before):
            yield _erasing_checkpoints(session_id, journals_before)
    artifacts = list(
        _beyond(
            snapshot.runs.artifact_sizes(),
            before=_before(now, policy.artifact_days),
            bytes_max=policy.artifact_mb_max * _MEGABYTE,
        )
    )
    yield from map(_deleting, into_batches(artifacts, _RETENTION_BATCH))
    yield lambda tx: tx.counters.prune_answers(now - timedelta(days=policy.answer_days))


def _erasing_run(run_id: RunId) -> Piece:
    def erase(tx: Transaction) -> None:
        run_turn(tx, run_id)
        tx.journal.erase_run(run_id)
        # Written anew, a run is told to the index of runs, which lets go of what it had from the journal.
        tx.runs.set_memory(run_id, MemoryState.PRUNED, expected=frozenset({MemoryState.PRUNED}))
        # What it asked people, and was answered, are its words too.
        tx.approvals.delete([run_id])

    return erase


def _erasing_checkpoints(session_id: SessionId, before: datetime) -> Piece:
    def erase(tx: Transaction) -> None:
        session_turn(tx, session_id)
        tx.journal.erase_checkpoints(session_id, before)

    return erase


def _deleting(artifact_ids: list[ArtifactId]) -> Piece:
    return lambda tx: tx.runs.delete_artifacts(artifact_ids)


def _before(now: datetime, days: int) -> datetime | None:
    return now - timedelta(days=days) if days else None


def _beyond(
    sizes: Iterable[tuple[IdT, datetime, int]], *, before: datetime | None, bytes_max: int
) -> Iterator[IdT]:
    """What is too old, and of the rest the oldest until it is no longer too much; 0 is without limit."""
    kept: list[tuple[IdT, int]] = []
    for name, at, size in sizes:
        if before is not None and at < before:
            yield name
        elif bytes_max:
            kept.append((name, size))
    surplus = sum(size for _, size in kept) - bytes_max
    for name, size in kept:
        if surplus <= 0:
            return
        yield name
        surplus -= size
