"""The routes: one for each way to ask for an operation, made from its declaration, and those made by hand.

A route checks the role before it reads anything, reads what its operation takes, asks for it, and answers.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from runlore.api import errors
from runlore.api.calls import ApiCall, body_of, decode_path, failure_answer, key_of, revision_of
from runlore.api.responses import HINTS, PRIVATE_HEADERS, document, entity_tag, place
from runlore.daemon import answers
from runlore.daemon.calls.access import require_role
from runlore.daemon.calls.effort import one_allowance
from runlore.domain import limits
from runlore.domain.serialization.codec import keys_of, split_type
from runlore.ports.operations.declaration import OPERATIONS, Created, Operation, Route
from runlore.ports.operations.request_reader import RequestReader

Handler = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A route with what answers it: the operation itself, or a function made by hand.

    `role_of` is the operation whose roles it is for; none where it is open to every caller.
    """

    operation: Operation
    route: Route
    role_of: str | None
    handler: Handler | None = None

    @property
    def path(self) -> str:
        return self.route.path

    @property
    def method(self) -> str:
        return self.route.method

    @functools.cached_property
    def reader(self) -> RequestReader:
        return RequestReader(self.operation, self.route, hint=errors.FIELDS_HINT)

    @property
    def body_bytes_max(self) -> int:
        return limits.LARGE_BODY_BYTES_MAX if self.operation.large else limits.BODY_BYTES_MAX

    async def answer(self, request: Request, named: Mapping[str, str]) -> Response:
        try:
            # Before anything of the call is read: whoever may not ask is told nothing about how to.
            if self.role_of is not None:
                require_role(request.scope["runlore.caller"], self.role_of)
            # What is open to every caller is answered however many others wait.
            run = request.scope["runlore.app"].calls.run if self.role_of else run_in_threadpool
            in_path, asked = decode_path(named), await self._read_asked(request)
            if inspect.iscoroutinefunction(self.handler):
                call = await run(self._read, request, in_path, asked)
                return await self.handler(call, **call.arguments)  # type: ignore[no-any-return]
            return await run(self._perform, request, in_path, asked)
        except Exception as error:  # The outer loop of a request: whatever failed is told, and only it.
            return failure_answer(error, request)

    async def _read_asked(self, request: Request) -> Any:
        asked: Any = self.reader.from_query(request.query_params.multi_items())
        if self.reader.has_body and not self.operation.uploads:
            asked = await body_of(request, self.body_bytes_max)
            if asked is None and self.reader.needs_body:
                raise errors.bad_field("the body", "is missing")
        return {} if asked is None else asked

    def _read(self, request: Request, in_path: Mapping[str, str], asked: Any) -> ApiCall:
        reader = self.reader
        key = key_of(request) if reader.takes_key else None
        revision = revision_of(request) if reader.takes_revision else None
        return ApiCall(
            request=request, arguments=reader.arguments(asked, in_path, key=key, revision=revision)
        )

    def _perform(self, request: Request, in_path: Mapping[str, str], asked: Any) -> Response:
        with one_allowance():
            call = self._read(request, in_path, asked)
            if self.handler is not None:
                return self.handler(call, **call.arguments)  # type: ignore[no-any-return]
            answer = getattr(call.operations, self.operation.name)(**call.arguments)
            return response_to(self.operation, call, answer)


def response_to(operation: Operation, call: ApiCall, answer: object) -> Response:
    """The answer of an operation, with its revision as the entity tag, and where what was made is found."""
    revision: int | None = _part(answer, "revision") if operation.tagged else None
    if revision is not None and call.request.method in ("GET", "HEAD") and not operation.moves_on:
        tag = entity_tag(revision)
        if tag in call.request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers={**PRIVATE_HEADERS, "ETag": tag})
    is_made = _is_made(operation.created, answer)
    is_there = is_made or (operation.created is Created.IF_NEW)
    return document(
        answers.write_answer(operation.name, call.arguments, answer),
        status=201 if is_made else 200,
        revision=revision,
        location=_place(operation.location, answer) if operation.location and is_there else None,
        has_hints=operation.name in _with_hints(),
    )


@functools.cache
def _with_hints() -> frozenset[str]:
    """The operations whose answers hold hints, which are told in the words of the surface that asks."""
    return frozenset(name for name, operation in OPERATIONS.items() if holds_hints(operation.answer))


def holds_hints(hint: object) -> bool:
    kind, arguments, _ = split_type(hint)
    if isinstance(kind, type) and is_dataclass(kind):
        return any(key.key in HINTS or holds_hints(key.hint) for key in keys_of(kind))
    return any(map(holds_hints, arguments))


def _is_made(created: Created | None, answer: Any) -> bool:
    if created is Created.IF_STORED:
        return answer is not None and getattr(answer, "stored", True)
    if created is Created.IF_NEW:
        return not any(getattr(answer, name, False) for name in ("was_proposed_before", "was_there_before"))
    return created is Created.ALWAYS


def _part(answer: Any, name: str) -> Any:
    """A field of an answer, or of the run, the record or the skill that stands flat in it."""
    for holder in (answer, *(getattr(answer, flat, None) for flat in ("run", "record", "skill"))):
        if hasattr(holder, name):
            return getattr(holder, name)
    raise AssertionError(f"{type(answer).__name__} has no {name}")


def _place(template: str, answer: object) -> str:
    segments = template.strip("/").split("/")
    return place(*(_part(answer, each[1:-1]) if each[0] == "{" else each for each in segments))


class RouteTable:
    """The routes by the segments of their paths. A word comes before a name that may be any word."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._root: dict[str, Any] = {}
        for endpoint in endpoints:
            node = self._root
            for segment in endpoint.path.strip("/").split("/"):
                node = node.setdefault("{}" if segment[0] == "{" else segment, {})
            methods = node.setdefault("", {})
            methods[endpoint.method] = endpoint
            # The server leaves the body out. A stream has nothing to tell before its first event.
            if endpoint.method == "GET" and endpoint.route.name != "follow_run":
                methods["HEAD"] = endpoint

    def find(self, path: str) -> Iterator[tuple[Mapping[str, Endpoint], tuple[str, ...]]]:
        """The endpoints of every path that fits, by their methods, with what stands in place of names."""
        if path.startswith("/"):
            yield from self._below(self._root, path[1:].split("/"), ())

    def _below(
        self, node: Mapping[str, Any], segments: Sequence[str], named: tuple[str, ...]
    ) -> Iterator[tuple[Mapping[str, Endpoint], tuple[str, ...]]]:
        if not segments:
            if "" in node:
                yield node[""], named
            return
        first, *rest = segments
        if not first:
            return
        if first in node:
            yield from self._below(node[first], rest, named)
        if "{}" in node:
            yield from self._below(node["{}"], rest, (*named, first))
