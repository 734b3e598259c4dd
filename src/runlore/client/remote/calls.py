"""How an operation becomes a request, and an answer the operation's answer or its error."""

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from urllib.parse import quote, urlencode

import orjson

from runlore.client.answer import Answer, Upload
from runlore.client.transport import CALL_S, Transport
from runlore.daemon.answers import not_an_answer, read_problem
from runlore.domain.record import JsonValue
from runlore.domain.scope import Scope
from runlore.domain.timestamps import format_time

# What takes as long as there is much of it: exports, imports, backups, checks, merges, erasures.
LONG_S = 6 * 3_600.0
JSON = "application/json"

Asked = str | int | bool | datetime | None
Sent = Mapping[str, JsonValue]


class Remote:
    """One Runlore, over a transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def transport(self) -> Transport:
        """What it is reached over."""
        return self._transport

    def read(self, path: str, asked: Iterable[tuple[str, Asked]] = ()) -> JsonValue:
        """What a GET answers."""
        return document_of(self._transport.call("GET", path + query(asked), repeatable=True))

    def act(
        self,
        path: str,
        body: Sent | None = None,
        *,
        key: str | None,
        method: str = "POST",
        timeout_s: float = CALL_S,
    ) -> JsonValue:
        """What a call answers that happens once for its key; without one it gets a key of its own."""
        headers = {"Idempotency-Key": _encoded(key if key is not None else secrets.token_hex(16))}
        return self._send(method, path, body, headers=headers, repeatable=True, timeout_s=timeout_s)

    def ask(
        self, path: str, body: Sent | None = None, *, repeatable: bool, timeout_s: float = CALL_S
    ) -> JsonValue:
        """What a POST without a key answers."""
        return self._send("POST", path, body, headers={}, repeatable=repeatable, timeout_s=timeout_s)

    def remove(self, path: str) -> JsonValue:
        """What a DELETE answers. A second one finds it gone, and answers the same."""
        return document_of(self._transport.call("DELETE", path, repeatable=True))

    def upload(self, path: str, file: Upload) -> JsonValue:
        """What a POST of a whole file answers."""
        headers = {"Content-Type": "application/octet-stream"}
        return document_of(self._transport.call("POST", path, headers=headers, body=file, timeout_s=LONG_S))

    def _send(
        self,
        method: str,
        path: str,
        body: Sent | None,
        *,
        headers: Mapping[str, str],
        repeatable: bool,
        timeout_s: float,
    ) -> JsonValue:
        answer = self._transport.call(
            method,
            path,
            headers={**headers, "Content-Type": JSON},
            body=_json(body or {}),
            repeatable=repeatable,
            timeout_s=timeout_s,
        )
        return document_of(answer)


def path_of(*segments: str) -> str:
    """`/v1/` and the segments, each encoded, so that an id may hold anything.

    An empty one would be another path; NUL is no id either, and names nothing in the same words.
    """
    return "/v1/" + "/".join(_encoded(segment or "\0") for segment in segments)


def query(asked: Iterable[tuple[str, Asked]]) -> str:
    """A query string; what is None is left out."""
    pairs = [(name, _sendable(_text(value))) for name, value in asked if value is not None]
    return "?" + urlencode(pairs, quote_via=quote) if pairs else ""


def repeated(name: str, values: Iterable[StrEnum | Scope]) -> list[tuple[str, Asked]]:
    """A parameter that stands once for each value, in a fixed order."""
    return [(name, text) for text in sorted(str(value) for value in values)]


def given(body: Sent) -> dict[str, JsonValue]:
    """A body without what is left out; most bodies say null for it, which means the same."""
    return {name: value for name, value in body.items() if value is not None}


def time_or_none(moment: datetime | None) -> str | None:
    """A time of a body."""
    return None if moment is None else format_time(moment)


def _text(value: str | int | bool | datetime) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return format_time(value) if isinstance(value, datetime) else str(value)


def _encoded(text: str) -> str:
    return quote(_sendable(text), safe="")


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


def document_of(answer: Answer) -> JsonValue:
    """The document of an answer, or the error that its problem document tells."""
    try:
        document = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        raise not_an_answer(f"HTTP status {answer.status}, no JSON") from None
    if 200 <= answer.status < 300:
        return document  # type: ignore[no-any-return]
    raise read_problem(document)
