"""What a run waits for a person to say: whether a call may be made, or the answer to a question."""

from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import NewType, Self

from runlore.domain.json_form import Damage, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.lifecycle import Lifecycle
from runlore.domain.record import JsonObject
from runlore.domain.run import RunId
from runlore.domain.session import SessionId

ApprovalId = NewType("ApprovalId", str)


class ApprovalKind(StrEnum):
    """What is asked for."""

    CALL = "call"
    QUESTION = "question"


class ApprovalState(StrEnum):
    """Where a request stands. `lapsed` is one whose run ended, or waited too long."""

    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    ANSWERED = "answered"
    LAPSED = "lapsed"


class ApprovalMove(StrEnum):
    """Everything that can happen to a request."""

    APPROVE = "approve"
    DENY = "deny"
    ANSWER = "answer"
    LAPSE = "lapse"


APPROVAL = Lifecycle[ApprovalState, ApprovalMove](
    "approval",
    {
        (ApprovalState.WAITING, ApprovalMove.APPROVE): ApprovalState.APPROVED,
        (ApprovalState.WAITING, ApprovalMove.DENY): ApprovalState.DENIED,
        (ApprovalState.WAITING, ApprovalMove.ANSWER): ApprovalState.ANSWERED,
        (ApprovalState.WAITING, ApprovalMove.LAPSE): ApprovalState.LAPSED,
    },
)


@JsonForm(
    damage=Damage(
        thing="request to a person", code="approval.damaged", hint="restore the store from a backup"
    )
)
@dataclass(frozen=True, kw_only=True)
class Approval:
    """One request of a run. `arguments` hold no secret; `why` says which rule asks."""

    approval_id: ApprovalId
    run_id: RunId
    session_id: SessionId
    kind: ApprovalKind
    state: ApprovalState = ApprovalState.WAITING
    call_id: str = ""
    tool: str = ""
    arguments: JsonObject
    why: str = ""
    question: str = ""
    answer: str = ""
    created_at: datetime
    decided_at: datetime | None = None
    decided_by: str = ""
    revision: int = 1

    def apply_move(self, move: ApprovalMove, *, at: datetime, actor: str, answer: str = "") -> Self:
        """The request after a move, one revision on; Conflict (`approval.move`) where the table has none."""
        state = APPROVAL.after(self.state, move, name=self.approval_id)
        return replace(
            self, state=state, decided_at=at, decided_by=actor, answer=answer, revision=self.revision + 1
        )
