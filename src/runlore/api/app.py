"""The API as one ASGI application: the routes, and around them the gate and the watch."""

from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp

from runlore import __version__
from runlore.api import errors
from runlore.api.answering import problem_answer
from runlore.api.calls import ApiRoute
from runlore.api.metrics import Metrics
from runlore.api.openapi import openapi_of
from runlore.api.routes import (
    agent,
    learning,
    library,
    memory,
    probes,
    radar,
    review,
    rollouts,
    runs,
    service,
    sessions,
    skills,
)
from runlore.api.security import BODY_PAUSE_S, Gate
from runlore.api.streaming import Streams
from runlore.api.watching import Watch
from runlore.daemon.server import Service

AREAS = (
    *(memory, review, radar, learning, sessions, runs, agent),
    *(skills, library, rollouts, service, probes),
)
_ABOUT = (
    "Reviewed memory for AI agents. Every call beyond `/healthz` and `/readyz` needs a bearer token; errors"
    " are problem documents (RFC 9457) with a stable `code`; lists page with `limit` and `cursor`."
)


def create_app() -> FastAPI:
    """The routes alone, without the gate. Nothing in it belongs to one daemon."""
    app = FastAPI(
        title="Runlore",
        version=__version__,
        description=_ABOUT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for area in AREAS:
        # As they are: an included router would be matched level by level at every call.
        app.router.routes.extend(area.router.routes)
    app.add_exception_handler(HTTPException, _unrouted)
    app.openapi = lambda: openapi_of(app)  # type: ignore[method-assign]
    return app


def guarded(
    service: Service, metrics: Metrics, *, over_unix: bool, body_pause_s: float = BODY_PAUSE_S
) -> ASGIApp:
    """The whole API of a daemon, over one of its two ways."""
    app = create_app()
    app.state.metrics = metrics
    app.state.streams = Streams()
    return Watch(Gate(app, service, over_unix, body_pause_s), metrics)


async def _unrouted(request: Request, error: Exception) -> Response:
    """A path that names nothing, or not with this method."""
    path = request.scope["path"]
    if isinstance(error, HTTPException) and error.status_code == 405:
        allowed = ", ".join(sorted(_methods(request.app.routes, request.scope)))
        return problem_answer(errors.method_denied(request.method, path, allowed), {"Allow": allowed})
    return problem_answer(errors.no_such_path(path))


def _methods(routes: list[BaseRoute], scope: Any) -> set[str]:
    return {
        method
        for route in routes
        if isinstance(route, ApiRoute) and route.matches(scope)[0] is not Match.NONE
        for method in route.methods or ()
    }
