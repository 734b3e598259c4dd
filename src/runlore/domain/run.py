"""The run: one input of a session, worked through to a terminal status.

This module says which statuses there are and which moves are legal. What happened in a run is its journal.
"""

from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from typing import NewType

from runlore.domain.json_form import JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.lifecycle import Lifecycle
from runlore.domain.session import SessionId

RunId = NewType("RunId", str)
ArtifactId = NewType("ArtifactId", str)
ProcessId = NewType("ProcessId", str)


class RunStatus(StrEnum):
    """Where a run stands. The last four are terminal."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    WAITING_FOR_USER = "waiting_for_user"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"


TERMINAL = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.INTERRUPTED, RunStatus.CANCELLED})
OPEN = frozenset(RunStatus) - TERMINAL


class RunMove(StrEnum):
    """Everything that can happen to a run."""

    START = "start"
    ASK_APPROVAL = "ask_approval"
    ASK_USER = "ask_user"
    RESUME = "resume"
    COMPLETE = "complete"
    FAIL = "fail"
    INTERRUPT = "interrupt"
    CANCEL = "cancel"


_ENDS = {
    RunMove.COMPLETE: RunStatus.COMPLETED,
    RunMove.FAIL: RunStatus.FAILED,
    RunMove.INTERRUPT: RunStatus.INTERRUPTED,
    RunMove.CANCEL: RunStatus.CANCELLED,
}
MOVE_TO = {status: move for move, status in _ENDS.items()}

RUN = Lifecycle[RunStatus, RunMove](
    "run",
    {
        (RunStatus.QUEUED, RunMove.START): RunStatus.RUNNING,
        (RunStatus.RUNNING, RunMove.ASK_APPROVAL): RunStatus.WAITING_FOR_APPROVAL,
        (RunStatus.RUNNING, RunMove.ASK_USER): RunStatus.WAITING_FOR_USER,
        (RunStatus.WAITING_FOR_APPROVAL, RunMove.RESUME): RunStatus.RUNNING,
        (RunStatus.WAITING_FOR_USER, RunMove.RESUME): RunStatus.RUNNING,
        (RunStatus.RUNNING, RunMove.COMPLETE): RunStatus.COMPLETED,
        **{
            (status, move): end
            for status in sorted(OPEN)
            for move, end in _ENDS.items()
            if move is not RunMove.COMPLETE
        },
    },
)


class MemoryState(StrEnum):
    """What has become of a run's memory. `pending` is owed: it is built from the journal when it can be."""

    NONE = "none"
    PENDING = "pending"
    STORED = "stored"
    PRUNED = "pruned"
    FORGOTTEN = "forgotten"


@JsonForm(omit={"told_as": None})
@dataclass(frozen=True, kw_only=True)
class Run:
    """One run. `executor` is the Runlore process that works it; an external run has none. One that a hook
    opened and a transcript completed was `told_as` that transcript's run; no answer shows it."""

    run_id: RunId
    session_id: SessionId
    status: RunStatus
    agent: str | None = None
    model: str | None = None
    executor: ProcessId | None = None
    imported: bool = False
    told_as: RunId | None = field(default=None, compare=False)
    input_number: int
    created_by: str
    opened_at: datetime
    active_at: datetime
    finished_at: datetime | None = None
    error: str = ""
    reason: str = ""
    artifact_ids: tuple[ArtifactId, ...] = ()
    memory: MemoryState = MemoryState.NONE
    revision: int = 1

    @property
    def is_terminal(self) -> bool:
        return self.status in TERMINAL


def apply_run_move(run: Run, move: RunMove, at: datetime, *, reason: str = "", error: str = "") -> Run:
    """The run after a move; a conflict that names it, its status and the move where that is not legal."""
    status = RUN.after(run.status, move, name=run.run_id)
    return replace(
        run,
        status=status,
        active_at=max(run.active_at, at),
        finished_at=max(run.opened_at, at) if status in TERMINAL else None,
        reason=reason or run.reason,
        error=error or run.error,
        revision=run.revision + 1,
    )


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A text that a run left behind: a diff, a report, a request as it was sent.

    Lists tell only the beginning of a long text; then `whole_bytes` is the size of all of it.
    """

    artifact_id: ArtifactId
    run_id: RunId
    session_id: SessionId
    name: str
    text: str
    whole_bytes: int | None = None
    created_at: datetime
