"""The bodies and query parameters of the calls about Runlore's own agent."""

from typing import Annotated

from pydantic import BaseModel, Field

from runlore.api import bounds
from runlore.api.bodies import Body
from runlore.api.queries import PageQuery
from runlore.domain import limits
from runlore.domain.approval import ApprovalId, ApprovalState
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.ports import operations as ops

_NUMBER_MAX = 2**53
Model = Annotated[str | None, Field(json_schema_extra=bounds.text(limits.MODEL_CHARS_MAX))]


class InputBody(Body):
    """A task for Runlore's own agent."""

    text: str = Field(description="What to do.", json_schema_extra=bounds.text(limits.REQUEST_CHARS_MAX))
    model: Model = Field(
        default=None, description="The model, as PROVIDER:NAME; the configured one if left out."
    )
    fallback_model: Model = Field(default=None, description="The model that takes over where it fails.")
    run_id: str | None = Field(
        default=None,
        description="The run's id, which makes the call repeatable; made by Runlore if left out.",
    )
    learn: bool = Field(default=True, description="Look afterwards for skills worth keeping.")
    wait: bool = Field(default=False, description="Answer when the run has ended.")

    def request(self, session_id: str, idempotency_key: str | None) -> ops.NewInput:
        """The body as the operations take it; whoever waits is answered later, by the route."""
        return ops.NewInput(
            session_id=SessionId(session_id),
            text=self.text,
            model=self.model,
            fallback_model=self.fallback_model,
            run_id=None if self.run_id is None else RunId(self.run_id),
            learn=self.learn,
            idempotency_key=idempotency_key,
        )


class DecisionBody(Body):
    """What a person says to what a run waits for."""

    approve: bool | None = Field(default=None, description="Of a call: whether it may be made.")
    answer: str | None = Field(
        default=None,
        description="Of a question: the answer. Of a call that is denied: why, which the agent is told.",
        json_schema_extra=bounds.text(limits.REQUEST_CHARS_MAX),
    )

    def request(self, approval_id: str, idempotency_key: str | None) -> ops.ApprovalDecision:
        """The body as the operations take it."""
        return ops.ApprovalDecision(
            approval_id=ApprovalId(approval_id),
            approve=self.approve,
            answer=self.answer,
            idempotency_key=idempotency_key,
        )


class ApprovalsQuery(PageQuery):
    """A page of what runs wait for."""

    run_id: str | None = Field(default=None, description="Only of this run.")
    session_id: str | None = Field(default=None, description="Only of this session.")
    state: list[ApprovalState] = Field(
        default=[], description="Only this state; waiting where none is named. Repeatable."
    )

    def request(self) -> ops.ApprovalsRequest:
        """The parameters as the operations take them."""
        return ops.ApprovalsRequest(
            run_id=None if self.run_id is None else RunId(self.run_id),
            session_id=None if self.session_id is None else SessionId(self.session_id),
            states=frozenset(self.state),
            limit=self.limit,
            cursor=self.cursor,
        )


class EventsQuery(BaseModel):
    """Where a stream begins."""

    after: int | None = Field(
        default=None,
        description="Begin after this number of the journal; Last-Event-ID counts before it.",
        json_schema_extra=bounds.number(0, _NUMBER_MAX),
    )
