"""How the API answers: JSON documents, problem documents, revisions as entity tags."""

from collections.abc import Mapping
from urllib.parse import quote

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from runlore.api.errors import RETRY_AFTER_S, status_of
from runlore.api.hints import HINTS, OWN_AGENT, hint_over_http
from runlore.daemon.answers import problem
from runlore.domain.errors import RunloreError
from runlore.domain.record import JsonValue

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"
# What is remembered is nobody's cache's business, and no browser shall guess what it is.
PRIVATE_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def document(
    plain: JsonValue,
    *,
    status: int = 200,
    revision: int | None = None,
    location: str | None = None,
    has_hints: bool = False,
) -> Response:
    """One JSON document, with its revision as the entity tag, and where a new thing is found."""
    headers = dict(PRIVATE_HEADERS)
    if revision is not None:
        headers["ETag"] = entity_tag(revision)
    if location is not None:
        headers["Location"] = location
    if has_hints:
        return _Hinted(plain, status, headers, JSON)
    return Response(encode_json(plain), status, headers, JSON)


def encode_json(plain: JsonValue) -> bytes:
    return orjson.dumps(plain, default=_plain)


def problem_answer(error: RunloreError, headers: Mapping[str, str] | None = None) -> Response:
    status = status_of(error)
    own = {**PRIVATE_HEADERS, **(headers or {})}
    if status == 401:
        own["WWW-Authenticate"] = 'Bearer realm="runlore"'
    elif status == 503:
        own["Retry-After"] = str(RETRY_AFTER_S)
    elif status == 408:
        # The rest of the request may still come, and would be taken for the next one.
        own["Connection"] = "close"
    told = {name: _sayable(value) for name, value in problem(error, status).items()}
    return _Hinted(told, status, own, PROBLEM_JSON)


class _Hinted(Response):
    """A document with hints, in the words of the surface that asks: our own client is the command line's."""

    def __init__(self, told: JsonValue, status: int, headers: Mapping[str, str], media_type: str) -> None:
        self._told = told
        super().__init__(encode_json(_over_http(told)), status, headers, media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if dict(scope["headers"]).get(b"user-agent", b"").startswith(OWN_AGENT):
            self.body = encode_json(self._told)
            self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


def _over_http(told: JsonValue) -> JsonValue:
    """The document with every hint of ours in routes and fields; what others wrote stays as it is."""
    if isinstance(told, Mapping):
        return {
            name: hint_over_http(value)
            if name in HINTS and isinstance(value, str)
            else value
            if name == "metadata"
            else _over_http(value)
            for name, value in told.items()
        }
    if isinstance(told, list | tuple):
        return [_over_http(each) for each in told]
    return told


def entity_tag(revision: int) -> str:
    return f'"{revision}"'


def place(*segments: str) -> str:
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no plain form")


def _sayable(value: JsonValue) -> JsonValue:
    """Text of a caller in an error may hold halves of surrogate pairs, which no document can."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value
