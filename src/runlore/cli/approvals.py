"""`runlore approvals`: what runs of Runlore's own agent wait for, and what is said to it."""

from typing import Annotated

import orjson

from runlore.cli import options
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.run import words_of
from runlore.cli.tables.table_cells import show_fields, show_page, time_text
from runlore.cli.terminal import Cell, Column, say
from runlore.cli.typer_commands import argument, group, option
from runlore.daemon import answers
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind, ApprovalState
from runlore.domain.lazy import dataclass
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.text.excerpt import excerpt
from runlore.ports import operations as ops

approvals = group("What runs wait for a person to say.")
ASKED_CHARS_MAX = 400
ApprovalArgument = Annotated[ApprovalId, argument("ID", "The request's id.")]
_STYLES = {
    ApprovalState.WAITING: "yellow",
    ApprovalState.APPROVED: "green",
    ApprovalState.ANSWERED: "green",
    ApprovalState.DENIED: "red",
    ApprovalState.LAPSED: "dim",
}


@dataclass(frozen=True, kw_only=True)
class ApprovalOptions:
    """What the list narrows by."""

    run_id: Annotated[RunId | None, option("--run RUN", "Only of this run.")] = None
    session_id: Annotated[SessionId | None, option("--session ID", "Only of this session.")] = None
    states: Annotated[
        frozenset[ApprovalState],
        options.any_of(f"{options.STATE_NAMES} STATE", ApprovalState, "state", otherwise="waiting"),
    ] = frozenset()


@command(approvals, "list")
def list_approvals(call: Invocation, where: ApprovalOptions, page: options.PageOptions) -> None:
    """List what runs wait for, the oldest first."""
    request = ops.ApprovalsRequest(**vars(where), **vars(page))
    empty = "There are none." if where.states else "No run waits for you."
    call.ask(lambda operations: operations.list_approvals(request), lambda found: _show(found, empty))


@command(approvals, "show")
@asks(lambda found: show_fields(answers.write(found)))
def get_approval(approval_id: ApprovalArgument) -> None:
    """Show one request, whole."""


@command(approvals, "approve")
def approve(call: Invocation, approval_id: ApprovalArgument) -> None:
    """Allow a call; its run goes on with it."""
    _decide(call, ops.ApprovalDecision(approval_id=approval_id, approve=True))


@command(approvals, "deny")
def deny(
    call: Invocation,
    approval_id: ApprovalArgument,
    reason: Annotated[str, option("--reason TEXT", "Why, or what to do instead; the agent is told.")] = "",
) -> None:
    """Deny a call; its run goes on without it."""
    denied = ops.ApprovalDecision(approval_id=approval_id, approve=False, answer=reason.strip() or None)
    _decide(call, denied)


@command(approvals, "answer")
def answer(
    call: Invocation,
    approval_id: ApprovalArgument,
    text: Annotated[str, argument("TEXT", "The answer; - reads it from stdin.")],
) -> None:
    """Answer a question; its run goes on with the answer."""
    _decide(call, ops.ApprovalDecision(approval_id=approval_id, answer=words_of(text)))


def _decide(call: Invocation, decision: ops.ApprovalDecision) -> None:
    call.ask(
        lambda operations: operations.decide_approval(decision),
        lambda decided: say(
            f"{decided.state.value.capitalize()}: {decided.approval_id} of run {decided.run_id}"
        ),
    )


def _show(page: ops.ApprovalPage, empty: str) -> None:
    show_page(
        page,
        empty,
        ["ID", "STATE", "ASKED", "RUN", Column(title="WHAT", wraps=True, columns_min=20)],
        lambda each: (each.approval_id, _state(each), time_text(each.created_at), each.run_id, _what(each)),
        then="What runs ask you. `runlore inbox` answers one after the other.",
        has_places=True,
    )


def _state(approval: Approval) -> Cell:
    return approval.state.value, _STYLES[approval.state]


def _what(approval: Approval) -> str:
    said = {
        ApprovalKind.CALL: f"{approval.tool} {orjson.dumps(approval.arguments, default=dict).decode()}",
        ApprovalKind.QUESTION: approval.question,
    }
    return excerpt(said[approval.kind], ASKED_CHARS_MAX)
