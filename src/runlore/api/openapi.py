"""The OpenAPI document: what FastAPI tells of the routes, and the documents that they answer with."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from runlore.api.documents import (
    agent,
    learning,
    library,
    projection,
    records,
    review,
    rollouts,
    service,
    sessions,
    skills,
)

DOCUMENTS = {
    **records.DOCUMENTS,
    **review.DOCUMENTS,
    **learning.DOCUMENTS,
    **sessions.DOCUMENTS,
    **agent.DOCUMENTS,
    **projection.DOCUMENTS,
    **skills.DOCUMENTS,
    **library.DOCUMENTS,
    **rollouts.DOCUMENTS,
    **service.DOCUMENTS,
}


def openapi_of(app: FastAPI) -> dict[str, Any]:
    """The document of an application, made once."""
    if not app.openapi_schema:
        schema = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        components = schema.setdefault("components", {})
        schemas = components.setdefault("schemas", {})
        schemas.update(DOCUMENTS)
        # FastAPI's own errors are never answered here.
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"token": []}]
        for path in schema["paths"].values():
            for operation in path.values():
                _tell_status(operation.get("parameters", []))
        app.openapi_schema = schema
    return app.openapi_schema


def _tell_status(parameters: list[dict[str, Any]]) -> None:
    """Say where `status` is taken for `state`."""
    named = {parameter["name"]: parameter for parameter in parameters if parameter["in"] == "query"}
    if "state" in named and "status" not in named:
        named["state"]["description"] += " `status` is taken for it too."
