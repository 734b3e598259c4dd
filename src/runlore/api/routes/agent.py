"""Runlore's own agent: inputs that it works through, what happens in them, and what they wait for."""

from typing import Annotated, Any

from fastapi import Header, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from runlore.api import agent_bodies, bodies
from runlore.api.answering import document
from runlore.api.calls import Acting, Reading, area
from runlore.api.shapes import ref
from runlore.api.streaming import BEAT_S, EVENT_STREAM, EventsAnswer, Watched
from runlore.api.telling import answers as told
from runlore.api.telling import creates, problems
from runlore.api.waiting import begun, ended
from runlore.daemon import answers
from runlore.domain.approval import ApprovalId
from runlore.domain.run import RunId
from runlore.ports import operations as ops

router = area("agent")
_NOTHING = bodies.NoFields()
_NUMBER_MAX = 2**53
_STREAM: dict[str, Any] = {
    "responses": {
        200: {
            "description": "Server-sent events, `end` as the last one. The schema is that of each of them.",
            "content": {EVENT_STREAM: {"schema": ref("RunEvent")}},
        },
        **problems(),
    }
}


@router.post("/v1/sessions/{session_id}/inputs", **creates("Run", tagged=True, unstored="Run"))
async def start_input(
    call: Acting, request: Request, session_id: str, body: agent_bodies.InputBody
) -> Response:
    """Give Runlore's own agent a task; it works on it in the daemon."""
    asked = body.request(session_id, call.idempotency_key)
    view = await run_in_threadpool(call.operations.start_input, asked)
    return begun(await ended(call, request, view) if body.wait else view)


@router.get("/v1/runs/{run_id}/events", **_STREAM)
async def follow_run(
    call: Reading,
    request: Request,
    run_id: str,
    query: Annotated[agent_bodies.EventsQuery, Query()],
    *,
    last_event_id: Annotated[
        int | None, Header(description="Begin after this number of the journal.", ge=0, le=_NUMBER_MAX)
    ] = None,
) -> Response:
    """What happened and happens in a run, as server-sent events; it ends after the run's `end`."""
    after = last_event_id if last_event_id is not None else query.after or 0
    asked = ops.FollowRun(run_id=RunId(run_id), after=after, beat_s=BEAT_S)
    watched = Watched(is_stopping=call.service.health.is_stopping, recheck=request.scope["runlore.recheck"])
    streams = request.app.state.streams
    return EventsAnswer(await streams.begun(lambda: call.operations.follow_run(asked), watched))


@router.post("/v1/runs/{run_id}/cancel", **told("Run", tagged=True))
def cancel_run(call: Reading, run_id: str, body: bodies.NoFields = _NOTHING) -> Response:  # noqa: ARG001
    """Stop a run that Runlore works; one that has ended is as it is."""
    view = call.operations.cancel_run(RunId(run_id))
    return document(answers.write(view), revision=view.run.revision)


@router.get("/v1/approvals", **told("ApprovalPage"))
def list_approvals(call: Reading, query: Annotated[agent_bodies.ApprovalsQuery, Query()]) -> Response:
    """What runs wait for, the oldest first."""
    return document(answers.write(call.operations.list_approvals(query.request())))


@router.get("/v1/approvals/{approval_id}", **told("Approval", tagged=True))
def get_approval(call: Reading, approval_id: str) -> Response:
    """One of what runs wait for."""
    approval = call.operations.get_approval(ApprovalId(approval_id))
    return call.unless_known(answers.write(approval), approval.revision)


@router.post("/v1/approvals/{approval_id}", **told("Approval", tagged=True))
def decide_approval(call: Acting, approval_id: str, body: agent_bodies.DecisionBody) -> Response:
    """Say yes or no to a call, or answer a question; the same once more changes nothing."""
    approval = call.operations.decide_approval(body.request(approval_id, call.idempotency_key))
    return document(answers.write(approval), revision=approval.revision)
