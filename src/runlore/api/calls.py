"""One call of the API: who makes it, what its headers ask for, and how its route reads it.

Routes are found by the path as it was sent, so that an id may hold any character, a slash too.
"""

import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_origin
from urllib.parse import unquote, urlencode

import orjson
import structlog
from fastapi import APIRouter, Depends, Header, Request
from fastapi._compat import ModelField
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from runlore.api import errors
from runlore.api.answering import PRIVATE_HEADERS, document, entity_tag, problem_answer
from runlore.daemon.app import Application
from runlore.daemon.roles import ROLES, require_role
from runlore.daemon.server import Service
from runlore.domain import limits
from runlore.domain.access import Caller
from runlore.domain.errors import Conflict, Invalid, RunloreError
from runlore.domain.record import JsonValue

BODY_DEPTH_MAX = limits.EVENT_DEPTH_MAX + 8
# The routes whose name is not that of their operation.
_OPERATIONS = {
    "reject_candidate": "reject",
    "session_journal": "journal",
    "run_journal": "journal",
    "list_session_runs": "list_runs",
    "get_skill_file": "get_skill",
    # With a query it matches skills, which every role may; the list alone checks its own role.
    "list_skills": "match_skills",
    "promote_skill": "accept_skill",
    "undo_latest_curation": "undo_curation",
    "metrics": "status",
}
_REVISION = re.compile(r'(?:W/)?"([0-9]{1,18})"')
_log = structlog.get_logger("runlore.api")


@dataclass(frozen=True)
class Call:
    """One call by one caller."""

    service: Service
    caller: Caller
    over_unix: bool
    idempotency_key: str | None = None
    if_match: int | None = None
    if_none_match: str | None = None

    @property
    def operations(self) -> Application:
        """The operations, bound to the caller."""
        return Application(self.service.parts, self.caller)

    def unless_known(self, plain: JsonValue, revision: int) -> Response:
        """The document with its revision as the tag, or that it is still the one that the caller has."""
        if self.if_none_match is not None and entity_tag(revision) in self.if_none_match:
            return Response(status_code=304, headers={**PRIVATE_HEADERS, "ETag": entity_tag(revision)})
        return document(plain, revision=revision)

    def expected(self, revision: int | None) -> int | None:
        """The revision that the caller has seen: by the body, or by If-Match."""
        if revision is not None and self.if_match is not None and revision != self.if_match:
            raise Invalid(
                f"If-Match names revision {self.if_match}, expected_revision {revision}",
                code="request.header",
                hint="give one of the two",
            )
        return self.if_match if revision is None else revision


def _caller_of(request: Request) -> Call:
    scope = request.scope
    return Call(
        scope["runlore.service"],
        scope["runlore.caller"],
        scope["runlore.over_unix"],
        if_none_match=request.headers.get("if-none-match"),
    )


async def _reading(request: Request) -> Call:
    return _caller_of(request)


async def _acting(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            description="The same call with the same key has one effect and one answer. Percent-encoded"
            " where it holds more than visible ASCII.",
            max_length=3 * 4 * limits.ID_CHARS_MAX,
        ),
    ] = None,
) -> Call:
    call = _caller_of(request)
    key = None if idempotency_key is None else _decoded("Idempotency-Key", idempotency_key)
    return Call(call.service, call.caller, call.over_unix, idempotency_key=key)


async def _changing(
    call: Annotated[Call, Depends(_acting)],
    if_match: Annotated[
        str | None,
        Header(description='Act only on this revision, such as `"3"`; another one is 412.', max_length=40),
    ] = None,
) -> Call:
    return Call(
        call.service,
        call.caller,
        call.over_unix,
        idempotency_key=call.idempotency_key,
        if_match=_revision("If-Match", if_match),
    )


# What a handler asks for: to read, to act, or to act on something that has a revision.
Reading = Annotated[Call, Depends(_reading)]
Acting = Annotated[Call, Depends(_acting)]
Changing = Annotated[Call, Depends(_changing)]


class ApiRequest(Request):
    """A request whose body is read strictly: UTF-8, one JSON document, not too deep."""

    async def json(self) -> Any:
        """The body as JSON values."""
        return read_json(await self.body())


class ApiRoute(APIRoute):
    """A route that refuses what it does not know, and answers every error with a problem document."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler that FastAPI made, between our checks and our errors."""
        inner = super().get_route_handler()
        parameters = _query_names(self.dependant.query_params)
        takes_body = self.body_field is not None
        operation = operation_of(self.name)

        async def handle(request: Request) -> Response:
            try:
                # Before anything of the call is read: whoever may not ask is told nothing about how to.
                if operation is not None:
                    require_role(request.scope["runlore.caller"], operation)
                request.scope["path_params"] = _decoded_path(request.scope["path_params"])
                request = _with_state(request, parameters)
                _check_query(request, parameters)
                if takes_body:
                    _check_media(request)
                return await inner(ApiRequest(request.scope, request.receive))
            except Exception as error:  # The outer loop of a request: whatever failed is told, and only it.
                return failed(error, request)

        return handle


def operation_of(route_name: str) -> str | None:
    """The operation that a route asks for; None for what is open to every caller."""
    name = _OPERATIONS.get(route_name, route_name)
    return name if name in ROLES else None


def area(tag: str) -> APIRouter:
    """The routes of one area; their handlers' names are their operation ids."""
    return APIRouter(route_class=ApiRoute, tags=[tag], generate_unique_id_function=lambda route: route.name)


def failed(error: Exception, request: Request) -> Response:
    """The answer to a call that failed; what nobody foresaw is logged."""
    told = _told(error)
    if told is None:
        route = getattr(request.scope.get("route"), "path", "")
        _log.error("request failed", method=request.method, route=route, exc_info=error)
        return problem_answer(errors.unforeseen())
    request.scope["runlore.problem"] = told.code
    if isinstance(told, Conflict) and told.code in errors.STALE and "if-match" in request.headers:
        told = Conflict(told.sentence, code="revision.stale", hint=told.hint)
    return problem_answer(told)


def _told(error: Exception) -> RunloreError | None:
    if isinstance(error, RunloreError):
        return error
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    if isinstance(error, HTTPException) and isinstance(error.__cause__, RunloreError):
        # FastAPI wraps whatever goes wrong while the body is read.
        return error.__cause__
    if isinstance(error, HTTPException) and error.status_code == 400:
        return errors.bad_json("not readable")
    return None


def _invalid(error: RequestValidationError) -> Invalid:
    """The first thing that is wrong, by its name. Its value is not repeated: it may be a secret."""
    first = error.errors()[0]
    where, *path = [str(part) for part in first["loc"]]
    name = ".".join(path) or f"the {where}"
    if first["type"] == "extra_forbidden":
        return errors.bad_field(name, "is not a field of this call")
    if first["type"] == "missing":
        return errors.bad_field(name, "is missing")
    return errors.bad_field(name, f"is wrong: {first['msg']}")


def read_json(body: bytes) -> Any:
    """One JSON document of bounded depth."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        what = "deeper than can be read" if "recursion" in str(error).lower() else f"not JSON: {error}"
        raise errors.bad_json(what) from None
    if body.count(b"[") + body.count(b"{") > BODY_DEPTH_MAX and _depth(value) > BODY_DEPTH_MAX:
        raise errors.bad_json(f"nested deeper than {BODY_DEPTH_MAX} levels")
    return value


def _depth(value: Any) -> int:
    """How deep lists and objects are nested, level by level."""
    depth, level = 0, [value]
    while level := [part for part in level if isinstance(part, dict | list)]:
        depth += 1
        if depth > BODY_DEPTH_MAX:
            break
        level = [inner for part in level for inner in (part.values() if isinstance(part, dict) else part)]
    return depth


def _decoded_path(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: _decoded("the path", value) for name, value in parameters.items()}


def _decoded(name: str, text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise Invalid(
            f"{name} is not UTF-8 when percent-decoded",
            code="request.path" if name == "the path" else "request.header",
            hint="percent-encode the UTF-8 bytes of every id",
        ) from None


def _revision(name: str, tag: str | None) -> int | None:
    if tag is None or tag.strip() == "*":
        return None
    found = _REVISION.fullmatch(tag.strip())
    if found is None:
        raise Invalid(
            f"{name} is not the entity tag of a revision",
            code="request.header",
            hint='send the ETag of the last answer, such as "3"',
        )
    return int(found[1])


def _query_names(fields: Iterable[ModelField]) -> dict[str, bool]:
    """The query parameters of a route, and whether each may stand several times."""
    models = [field.field_info.annotation for field in fields]
    return {
        name: get_origin(info.annotation) is list
        for model in models
        if isinstance(model, type) and issubclass(model, BaseModel)
        for name, info in model.model_fields.items()
    }


def _with_state(request: Request, parameters: Mapping[str, bool]) -> Request:
    """The request with `status`, the word of older programs, read as `state` where there is no other."""
    if "state" not in parameters or "status" in parameters or "status" not in request.query_params:
        return request
    pairs = request.query_params.multi_items()
    query = urlencode([("state" if name == "status" else name, value) for name, value in pairs])
    return Request({**request.scope, "query_string": query.encode()}, request.receive)


def _check_query(request: Request, parameters: dict[str, bool]) -> None:
    seen: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name not in parameters:
            raise errors.bad_field(f"the query parameter {name!r}", "is not one of this call")
        if name in seen and not parameters[name]:
            raise errors.bad_field(f"the query parameter {name!r}", "was given more than once")
        seen.add(name)


def _check_media(request: Request) -> None:
    headers = request.headers
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return
    media = headers.get("content-type", "")
    if media.partition(";")[0].strip().lower() != "application/json":
        raise errors.unsupported_media(media)
