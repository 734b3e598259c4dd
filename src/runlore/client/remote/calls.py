"""How an operation becomes a request, and an answer the operation's answer or its error."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from datetime import datetime
from enum import Enum
from typing import cast
from urllib.parse import quote, urlencode

import orjson

from runlore.client.http_response import HttpResponse, Upload
from runlore.client.transport import CALL_S, Transport
from runlore.daemon.answers import not_an_answer, read_answer, read_problem
from runlore.domain.record import JsonValue
from runlore.domain.scope import Scope
from runlore.domain.serialization.codec import serialize
from runlore.domain.timestamps import format_time
from runlore.ports.operations.declaration import KEY, Operation, Route

# What takes as long as there is much of it: exports, imports, backups, checks, merges, erasures.
LONG_S = 6 * 3_600.0
JSON = "application/json"

Sent = Mapping[str, JsonValue]


class Remote:
    """One Runlore, over a transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def transport(self) -> Transport:
        return self._transport

    def ask(
        self, operation: Operation, arguments: Mapping[str, object], *, is_repeatable: bool = True
    ) -> object:
        route, given = _request_of(operation, arguments)
        headers: dict[str, str] = {}
        body = b""
        path = route.path.format(**{name: encode(_text(given.pop(at))) for name, at in route.in_path.items()})
        if KEY in given:
            # Without a key of its own a call gets one, so that it can be made again where it broke off.
            key = given.pop(KEY)
            text = os.urandom(16).hex() if key is None else str(key)
            headers["Idempotency-Key"] = quote(_sendable(text), safe="")
        sent = {each.key: given[each.place[-1]] for each in operation.takes if each.place[-1] in given}
        if route.method in ("GET", "DELETE"):
            path += query(sent)
        else:
            headers["Content-Type"] = JSON
            body = _json({name: _plain(value) for name, value in sent.items()})
        answer = self._transport.call(
            route.method,
            path,
            headers=headers,
            body=body,
            repeatable=is_repeatable and not operation.once,
            timeout_s=LONG_S if operation.long else CALL_S,
        )
        return read_answer(operation.answer, document_of(answer))

    def upload(self, path: str, file: Upload) -> JsonValue:
        headers = {"Content-Type": "application/octet-stream"}
        return document_of(self._transport.call("POST", path, headers=headers, body=file, timeout_s=LONG_S))


def _request_of(operation: Operation, arguments: Mapping[str, object]) -> tuple[Route, dict[str, object]]:
    """The route to ask by, and what is asked for, by the names of fields, without what has its default."""
    found: dict[str, object] = {}
    for each in operation.takes:
        value = arguments.get(each.place[0], each.default)
        for name in each.place[1:]:
            value = getattr(value, name)
        found[each.place[-1]] = value
    route = next(
        route for route in operation.routes if all(found[at] is not None for at in route.in_path.values())
    )
    kept = {*route.in_path.values(), KEY}
    given = {
        each.place[-1]: found[each.place[-1]]
        for each in operation.takes
        if each.place[-1] in kept or each.is_required or found[each.place[-1]] != each.default
    }
    return route, {name: value for name, value in given.items() if name not in route.without}


def path_of(*segments: str) -> str:
    """`/v1/` and the segments, each encoded, so that an id may hold anything."""
    return "/v1/" + "/".join(encode(segment) for segment in segments)


def query(asked: Mapping[str, object]) -> str:
    """A query string; what is None is left out, and what holds several stands once for each, in an order."""
    pairs: list[tuple[str, str]] = []
    for name, value in asked.items():
        several = sorted(map(_text, value)) if isinstance(value, frozenset) else [_text(value)]
        pairs += [(name, _sendable(text)) for text in several if value is not None]
    return "?" + urlencode(pairs, quote_via=quote) if pairs else ""


def encode(segment: str) -> str:
    """A segment of a path. An empty one would be another path; NUL names nothing in the same words."""
    return quote(_sendable(segment or "\0"), safe="")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return format_time(value) if isinstance(value, datetime) else str(value)


def _plain(value: object) -> JsonValue:
    if isinstance(value, Scope | Enum | datetime):
        return _text(value)
    if isinstance(value, frozenset):
        return sorted(map(_text, value))
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return serialize(value) if is_dataclass(value) else cast("JsonValue", value)


def _sendable(text: str) -> str:
    """Half of a surrogate pair cannot be sent; NUL can, and is refused by the same rules and words."""
    return "".join("\0" if "\ud800" <= each <= "\udfff" else each for each in text)


def _json(body: Sent) -> bytes:
    try:
        return orjson.dumps(body, default=_plainly)
    except TypeError:
        return orjson.dumps(_all_sendable(body))


def _plainly(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _all_sendable(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _sendable(value)
    if isinstance(value, Mapping):
        return {_sendable(name): _all_sendable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_all_sendable(each) for each in value]
    return value


def document_of(answer: HttpResponse) -> JsonValue:
    """The document of an answer, or the error that its problem document tells."""
    try:
        document = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        raise not_an_answer(f"HTTP status {answer.status}, no JSON") from None
    if 200 <= answer.status < 300:
        return document  # type: ignore[no-any-return]
    raise read_problem(document)
