"""Retention: journals and artifacts that are older or more than the policy keeps. Numbers and ids stay.

What goes is looked up once and taken away piece by piece, each in a transaction that looks at the policy
again: one that was changed meanwhile is followed from there on, and nothing more goes under the old one.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from runlore.domain.errors import Corrupt
from runlore.domain.policies.policy import RetentionPolicy
from runlore.domain.run import ArtifactId, MemoryState, RunId
from runlore.domain.session import SessionId
from runlore.flow.capture.session_lock import Beat, Hold, run_turn, session_turn, skip_beat, unheld
from runlore.flow.policies import current_retention
from runlore.ports.store import Snapshot, Store, Transaction

_MEGABYTE = 1_000_000
_BATCH = 200
IdT = TypeVar("IdT")
Piece = Callable[[Transaction], object]


def in_silence(_error: Corrupt) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, kw_only=True)
class Retention:
    """One enforcement of the retention policy. `hold` is asked in every transaction whether it is still ours,
    and `left` told what could not be read and so stays."""

    store: Store
    now: datetime
    beat: Beat = skip_beat
    hold: Hold = unheld
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
    for start in range(0, len(artifacts), _BATCH):
        yield _deleting(artifacts[start : start + _BATCH])
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
