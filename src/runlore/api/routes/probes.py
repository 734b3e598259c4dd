"""What people and machines look for where it always is: probes, metrics, the OpenAPI document."""

from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from runlore.api.answering import JSON, PRIVATE_HEADERS, document
from runlore.api.calls import Reading, area
from runlore.api.metrics import CONTENT_TYPE
from runlore.api.telling import answers as told
from runlore.api.telling import problems

router = area("probes")
_READINESS = told("Readiness")
_READINESS["responses"][503] = _READINESS["responses"][200]
_METRICS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Prometheus's text format.", "content": {"text/plain": {}}},
    **problems(),
}
_OPENAPI: dict[int | str, dict[str, Any]] = {
    200: {"description": "This document.", "content": {JSON: {"schema": {"type": "object"}}}},
    **problems(),
}


@router.get("/healthz", openapi_extra={"security": []}, **told("Alive"))
async def healthz() -> Response:
    """Whether the process answers. It needs no token."""
    return document({"status": "ok"})


@router.get("/readyz", openapi_extra={"security": []}, **_READINESS)
def readyz(request: Request) -> Response:
    """Whether the boot is done and the store accepts writes; if not, why. It needs no token."""
    reasons = request.scope["runlore.service"].health.reasons()
    return document({"ready": not reasons, "reasons": list(reasons)}, status=503 if reasons else 200)


@router.get("/metrics", responses=_METRICS)
def metrics(_call: Reading, request: Request) -> Response:
    """Metrics for Prometheus."""
    text = request.app.state.metrics.text()
    return Response(text, headers=PRIVATE_HEADERS, media_type=CONTENT_TYPE)


@router.get("/openapi.json", responses=_OPENAPI)
def openapi(call: Reading, request: Request) -> Response:  # noqa: ARG001
    """What this API takes and answers."""
    return Response(orjson.dumps(request.app.openapi()), headers=PRIVATE_HEADERS, media_type=JSON)
