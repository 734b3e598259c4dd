"""The API as one ASGI application: the routes, and around them the gate and the watch.

The watch sees every call from outside: its metrics, its trace and, where it failed, its line in the log.
Nothing of a call's content is looked at: no body, no query, no header beyond the trace's own.
"""

import functools
import time
from collections.abc import Mapping
from dataclasses import dataclass

import orjson
import structlog
from opentelemetry import propagate, trace
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runlore.api import errors
from runlore.api.calls import CallQueue, failure_answer, receive_bounded
from runlore.api.event_streams import Streams
from runlore.api.handlers import endpoints
from runlore.api.metrics import Metrics
from runlore.api.openapi import openapi_of
from runlore.api.responses import problem_answer
from runlore.api.routes import Endpoint, RouteTable
from runlore.api.security import BODY_PAUSE_S, RequestGate
from runlore.daemon.process.server import Service
from runlore.domain import limits


@functools.cache
def all_endpoints() -> tuple[Endpoint, ...]:
    return tuple(sorted(endpoints(), key=lambda each: _AREAS.index(each.route.area)))


_AREAS = (
    *("memory", "review", "radar", "learning", "sessions", "runs", "agent"),
    *("skills", "rollouts", "worth", "service", "probes"),
)


class Api:
    """The routes alone, without the gate; `mounts` are other surfaces, each at its path."""

    def __init__(self, metrics: Metrics | None = None, mounts: Mapping[str, ASGIApp] | None = None) -> None:
        self._mounts = mounts or {}
        self.endpoints = all_endpoints()
        self.metrics = metrics
        self.streams = Streams()
        self.calls = CallQueue()
        self._table = RouteTable(self.endpoints)

    @functools.cached_property
    def openapi(self) -> bytes:
        return orjson.dumps(openapi_of(self.endpoints))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        mounted = self._mounts.get(scope["path"])
        if mounted is not None:
            scope["runlore.route"] = scope["path"]
            await self._hand_on(mounted, scope, receive, send)
            return
        scope["runlore.app"] = self
        request = Request(scope, receive)
        response = await self._answer(request)
        await response(scope, receive, send)

    async def _hand_on(self, mounted: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        request, is_begun = Request(scope, receive), False

        async def noting(message: Message) -> None:
            nonlocal is_begun
            is_begun = True
            await send(message)

        try:
            if scope["method"] == "POST":
                receive = await receive_bounded(request, limits.MOUNTED_BODY_BYTES_MAX)
            await mounted(scope, receive, noting)
        except Exception as error:  # The outer loop of a mounted call: whatever failed is told, and only it.
            if is_begun:
                raise
            await failure_answer(error, request)(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path, allowed = request.scope["path"], set[str]()
        for by_method, named in self._table.find(path):
            endpoint = by_method.get(request.method)
            if endpoint is not None:
                request.scope["runlore.route"] = endpoint.path
                return await endpoint.answer(request, dict(zip(endpoint.route.in_path, named, strict=True)))
            allowed |= by_method.keys()
        if allowed:
            told = ", ".join(sorted(allowed))
            return problem_answer(errors.method_denied(request.method, path, told), {"Allow": told})
        return problem_answer(errors.no_such_path(path))


def guard_api(
    service: Service,
    metrics: Metrics,
    *,
    over_unix: bool,
    body_pause_s: float = BODY_PAUSE_S,
    mounts: Mapping[str, ASGIApp] | None = None,
) -> ASGIApp:
    """The whole API of a daemon, over one of its two ways."""
    opened = frozenset(path for path, app in (mounts or {}).items() if getattr(app, "is_open", False))
    gate = RequestGate(Api(metrics, mounts), service, over_unix, body_pause_s, opened)
    return CallWatcher(gate, metrics)


UNROUTED = "(none)"
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_tracer = trace.get_tracer("runlore.api")
_log = structlog.get_logger("runlore.api")


@dataclass(frozen=True)
class CallWatcher:
    """Stands before the gate, so that refused calls are seen too."""

    app: ASGIApp
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, streamed_s = time.perf_counter(), 500, None

        async def noting(message: Message) -> None:
            nonlocal status, streamed_s
            if message["type"] == "http.response.start":
                status = message["status"]
                if _is_stream(message):
                    # It lasts as long as somebody listens, which says nothing about us.
                    streamed_s = time.perf_counter() - began
            await send(message)

        # A method that nobody knows must not become a label: a stranger could make up any number of them.
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        context = propagate.extract(
            {
                name.decode("latin-1"): value.decode("latin-1")
                for name, value in scope["headers"]
                if name in _TRACE_HEADERS
            }
        )
        with _tracer.start_as_current_span(method, context=context, kind=trace.SpanKind.SERVER) as span:
            try:
                await self.app(scope, receive, noting)
            finally:
                seconds = time.perf_counter() - began if streamed_s is None else streamed_s
                route = scope.get("runlore.route", UNROUTED)
                self.metrics.observe(method, route, status=status, seconds=seconds)
                span.update_name(f"{method} {route}")
                span.set_attribute("http.request.method", method)
                span.set_attribute("http.route", route)
                span.set_attribute("http.response.status_code", status)
                if status >= 500:
                    code = scope.get("runlore.problem", "internal")
                    told = {"status": status, "code": code, "seconds": round(seconds, 4)}
                    _log.warning("call failed", method=method, route=route, **told)


def _is_stream(message: Message) -> bool:
    return any(
        name == b"content-type" and value.startswith(_EVENT_STREAM) for name, value in message["headers"]
    )


_EVENT_STREAM = b"text/event-stream"
_TRACE_HEADERS = frozenset({b"traceparent", b"tracestate", b"baggage"})
