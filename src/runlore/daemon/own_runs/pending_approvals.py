"""What runs of this process wait for a person to say: who waits is woken, and requests of runs of which
nothing is stored are known here alone.
"""

import threading
from collections.abc import Callable
from dataclasses import field
from datetime import datetime

from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalMove, ApprovalState
from runlore.domain.lazy import dataclass
from runlore.domain.run import RunId


@dataclass
class PendingApprovals:
    """Requests by their ids, while the runs that made them go on."""

    _changed: threading.Condition = field(default_factory=threading.Condition)
    _unstored: dict[ApprovalId, Approval] = field(default_factory=dict)
    _decided: set[ApprovalId] = field(default_factory=set)
    _runs: set[RunId] = field(default_factory=set)

    def put(self, approval: Approval) -> None:
        """Keep a request of a run of which nothing is stored, or what was decided about it."""
        with self._changed:
            self._unstored[approval.approval_id] = approval
            self._changed.notify_all()

    def find(self, approval_id: ApprovalId) -> Approval | None:
        with self._changed:
            return self._unstored.get(approval_id)

    def all(self) -> tuple[Approval, ...]:
        with self._changed:
            kept = self._unstored.values()
            return tuple(sorted(kept, key=lambda each: (each.created_at, each.approval_id)))

    def drop(self, run_id: RunId) -> None:
        """Let go of the requests of a run that has ended."""
        with self._changed:
            self._runs.discard(run_id)
            for approval_id in [name for name, each in self._unstored.items() if each.run_id == run_id]:
                del self._unstored[approval_id]
            if not self._runs:
                self._decided.clear()
            self._changed.notify_all()

    def wake(self, approval: Approval) -> None:
        """A stored request was decided: let the run that waits for it look, where it is one of ours."""
        with self._changed:
            if approval.run_id in self._runs:
                self._decided.add(approval.approval_id)
                self._changed.notify_all()

    def begin(self, run_id: RunId) -> None:
        """A run of this process that may come to wait."""
        with self._changed:
            self._runs.add(run_id)

    def wait(self, timeout_s: float) -> None:
        """Wait until something is decided here, or for so many seconds."""
        with self._changed:
            self._changed.wait(timeout_s)

    def is_decided(self, approval_id: ApprovalId) -> bool:
        """Whether a request was decided here since it was asked last, told once."""
        with self._changed:
            decided = approval_id in self._decided
            self._decided.discard(approval_id)
            return decided

    def lapse(self, approval_id: ApprovalId, *, at: datetime, actor: str) -> Approval | None:
        """Close a request of a run of which nothing is stored, where nobody has decided on it."""
        with self._changed:
            present = self._unstored.get(approval_id)
            if present is not None and present.state is ApprovalState.WAITING:
                present = present.apply_move(ApprovalMove.LAPSE, at=at, actor=actor)
                self._unstored[approval_id] = present
            return present

    def change(self, approval_id: ApprovalId, decide: Callable[[Approval], Approval]) -> Approval | None:
        """Decide on a request of a run of which nothing is stored; None where there is none."""
        with self._changed:
            present = self._unstored.get(approval_id)
            if present is None:
                return None
            self._unstored[approval_id] = after = decide(present)
            self._decided.add(approval_id)
            self._changed.notify_all()
            return after
