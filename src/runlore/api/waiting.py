"""Calls that are answered when the run that they began has ended. Nobody's thread waits with them."""

import asyncio

from starlette.concurrency import run_in_threadpool

from runlore.api.calls import Call
from runlore.domain.errors import Unavailable
from runlore.ports import operations as ops

# How often it is looked whether a run has ended: soon at first, then less and less.
_LOOK_S_MIN, _LOOK_S_MAX = 0.02, 0.5
_SLOWER = 1.5


async def ended(call: Call, view: ops.RunView) -> ops.RunView:
    """The run when it has ended and its memory is there, or as it is where nobody waits for it any more."""
    pause_s = _LOOK_S_MIN
    agent = call.service.parts.agent
    while not view.run.is_terminal or agent.is_working(view.run.run_id):
        # Asked before the run is looked at: it is ended before the daemon says that it stops.
        is_stopping = call.service.health.is_stopping()
        if not is_stopping:
            await asyncio.sleep(pause_s)
            if await call.request.is_disconnected():
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
