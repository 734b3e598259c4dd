"""Calls that begin a run, and those that are answered when it has ended. Nobody's thread waits with them."""

import asyncio

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from runlore.api.answering import document, place
from runlore.api.calls import Call
from runlore.daemon import answers
from runlore.domain.errors import Unavailable
from runlore.ports import operations as ops

# How often it is looked whether a run has ended: soon at first, then less and less.
_LOOK_S_MIN, _LOOK_S_MAX = 0.02, 0.5
_SLOWER = 1.5


def begun(view: ops.RunView) -> Response:
    """The answer with a run that was begun."""
    return document(
        answers.write(view),
        status=201 if view.stored else 200,
        revision=view.run.revision,
        location=place("v1", "runs", view.run.run_id) if view.stored else None,
    )


async def ended(call: Call, request: Request, view: ops.RunView) -> ops.RunView:
    """The run when it has ended and its memory is there, or as it is where nobody waits for it any more."""
    pause_s = _LOOK_S_MIN
    agent = call.service.parts.agent
    while not view.run.is_terminal or agent.is_working(view.run.run_id):
        # Asked before the run is looked at: it is ended before the daemon says that it stops.
        is_stopping = call.service.health.is_stopping()
        if not is_stopping:
            await asyncio.sleep(pause_s)
            if await request.is_disconnected():
                break
        pause_s = min(pause_s * _SLOWER, _LOOK_S_MAX)
        view = await run_in_threadpool(call.operations.get_run, view.run.run_id)
        if is_stopping and not view.run.is_terminal:
            raise Unavailable(
                f"the daemon stops before run {view.run.run_id} has ended",
                code="daemon.stopping",
                hint="the run is interrupted with it; look at it once the daemon is back",
            )
    return view
