"""What a run waits for: asked with the run's move, decided once, and lapsed with the run's end."""

from dataclasses import replace
from datetime import datetime

from runlore.domain import limits
from runlore.domain.agent.approval import Approval, ApprovalKind, ApprovalMove, ApprovalState
from runlore.domain.errors import Conflict, Invalid
from runlore.domain.records.audit import Act
from runlore.domain.run import Run, RunId, RunMove, RunStatus
from runlore.flow.capture.runs import move_run
from runlore.ports.store import Transaction

WAITING = frozenset({RunStatus.WAITING_FOR_APPROVAL, RunStatus.WAITING_FOR_USER})
"""How a run stands that waits for a person."""

_WAITING = frozenset({ApprovalState.WAITING})
_PAGE = limits.LIST_LIMIT_MAX
_MOVES = {ApprovalKind.CALL: RunMove.ASK_APPROVAL, ApprovalKind.QUESTION: RunMove.ASK_USER}


def ask(tx: Transaction, run: Run, approval: Approval) -> Run:
    """Let a run wait for a person; the caller has the turn of its session."""
    tx.approvals.insert(approval)
    return move_run(tx, run, _MOVES[approval.kind], approval.created_at)


def go_on(tx: Transaction, run: Run, at: datetime) -> Run:
    return move_run(tx, run, RunMove.RESUME, at)


def decide_approval(approval: Approval, *, approve: bool | None, answer: str | None, act: Act) -> Approval:
    """The request after a person's word; the very same word once more changes nothing, another is a
    conflict."""
    move = _move_of(approval, approve, answer)
    said = (answer or "").strip()
    if approval.state is not ApprovalState.WAITING:
        after = replace(approval, state=ApprovalState.WAITING).apply_move(
            move, at=act.at, actor=act.actor, answer=said
        )
        if (after.state, after.answer) == (approval.state, approval.answer):
            return approval
        raise Conflict(
            f"request {approval.approval_id!r} is {approval.state} already",
            code="approval.decided",
            hint="nothing is left to decide: the run went on, or has ended",
        )
    return approval.apply_move(move, at=act.at, actor=act.actor, answer=said)


def lapse(tx: Transaction, run_id: RunId, *, at: datetime, actor: str) -> None:
    """Close what a run still waits for: it has ended, or waits no longer."""
    while waiting := tx.approvals.page(limit=_PAGE, states=_WAITING, run_id=run_id):
        for approval in waiting:
            after = approval.apply_move(ApprovalMove.LAPSE, at=at, actor=actor)
            tx.approvals.update(after, expected_revision=approval.revision)


def _move_of(approval: Approval, approve: bool | None, answer: str | None) -> ApprovalMove:
    if approval.kind is ApprovalKind.QUESTION:
        if approve is not None or answer is None or not answer.strip():
            raise Invalid(
                f"request {approval.approval_id!r} is a question",
                code="approval.answer",
                hint="give an answer, and neither yes nor no",
            )
        return ApprovalMove.ANSWER
    if approve is None or (approve and answer is not None):
        raise Invalid(
            f"request {approval.approval_id!r} is about a call",
            code="approval.answer",
            hint="say yes or no with approve; a no may say why in its answer",
        )
    return ApprovalMove.APPROVE if approve else ApprovalMove.DENY
