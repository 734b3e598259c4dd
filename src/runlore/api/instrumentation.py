"""Watches every call from outside: its metrics, its trace and, where it failed, its line in the log.

Nothing of a call's content is looked at: no body, no query, no header beyond the trace's own.
"""

import time
from dataclasses import dataclass

import structlog
from opentelemetry import propagate, trace
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runlore.api.metrics import Metrics

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
                route = getattr(scope.get("route"), "path", UNROUTED)
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
