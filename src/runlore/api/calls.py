"""One call of the API: who makes it, what its headers ask for, and how its body is read.

Routes are found by the path as it was sent, so that an id may hold any character, a slash too.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

import orjson
import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive

from runlore.api import errors
from runlore.api.responses import problem_answer
from runlore.daemon.app import Application
from runlore.daemon.process.server import Service
from runlore.domain import limits
from runlore.domain.access import Caller
from runlore.domain.errors import Conflict, Invalid, RunloreError, Unavailable
from runlore.ports.operations.declaration import Values

ResultT = TypeVar("ResultT")
BODY_DEPTH_MAX = limits.EVENT_DEPTH_MAX + 8
# What is larger is read beside the loop that answers everybody else.
_SMALL_BYTES = 16 * 1024
# So much of a document is looked at in one call.
PIECE_BYTES = 64 * 1024
_ESCAPED = re.compile(rb"\\.", re.S)
_OTHERS = bytes(set(range(256)) - set(b"[{]}"))
KEY_CHARS_MAX = 3 * 4 * limits.ID_CHARS_MAX
TAG_CHARS_MAX = 40
_REVISION = re.compile(r'(?:W/)?"([0-9]{1,18})"')
_log = structlog.get_logger("runlore.api")


@dataclass(frozen=True, kw_only=True)
class ApiCall:
    """One call by one caller, and the arguments that it gives the operation."""

    request: Request
    arguments: Values

    @property
    def service(self) -> Service:
        return self.request.scope["runlore.service"]  # type: ignore[no-any-return]

    @property
    def caller(self) -> Caller:
        return self.request.scope["runlore.caller"]  # type: ignore[no-any-return]

    @property
    def operations(self) -> Application:
        return Application(self.service.parts, self.caller)


class CallQueue:
    """The limit of calls at once: some have a thread each, others wait, not many and not long. Some threads
    of the pool are always left for probes and tokens."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(limits.CALLS_WORKED_MAX)
        self._taken = 0

    async def run(self, work: Callable[..., ResultT], *arguments: object) -> ResultT:
        """Do it in a thread; Unavailable where too many wait already, or it waited too long."""
        if self._taken >= limits.CALLS_AT_ONCE_MAX:
            raise _too_busy()
        self._taken += 1
        try:
            await self._take_turn()
            try:
                return await run_in_threadpool(work, *arguments)
            finally:
                self._turns.release()
        finally:
            self._taken -= 1

    async def _take_turn(self) -> None:
        try:
            async with asyncio.timeout(limits.CALL_WAIT_S):
                await self._turns.acquire()
        except TimeoutError:
            raise _too_busy() from None


def _too_busy() -> Unavailable:
    return Unavailable(
        "too many calls are being worked and wait already",
        code="calls.busy",
        hint="send it again in a moment; nothing was done",
    )


def key_of(request: Request) -> str | None:
    text = _header(request, "idempotency-key", KEY_CHARS_MAX)
    return None if text is None else decode("Idempotency-Key", text)


def revision_of(request: Request) -> int | None:
    tag = _header(request, "if-match", TAG_CHARS_MAX)
    if tag is None or tag.strip() == "*":
        return None
    found = _REVISION.fullmatch(tag.strip())
    if found is None:
        raise Invalid(
            "If-Match is not the entity tag of a revision",
            code="request.header",
            hint='send the ETag of the last answer, such as "3"',
        )
    return int(found[1])


async def body_of(request: Request, bytes_max: int) -> Any:
    headers = request.headers
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return None
    media = headers.get("content-type", "")
    if media.partition(";")[0].strip().lower() != "application/json":
        raise errors.unsupported_media(media)
    body = await _bytes_of(request, bytes_max)
    values_max = bytes_max // limits.BODY_BYTES_A_VALUE
    if len(body) > _SMALL_BYTES:
        return await run_in_threadpool(read_json, body, values_max)
    return read_json(body, values_max) if body else None


async def receive_bounded(request: Request, bytes_max: int) -> Receive:
    """The body of a request for another application to receive, counted as `body_of` does: it reads the
    document on the loop that answers everybody else."""
    body = await _bytes_of(request, bytes_max)
    await run_in_threadpool(_count, body, bytes_max // limits.BODY_BYTES_A_VALUE)
    messages: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await request.receive()

    return receive


async def _bytes_of(request: Request, bytes_max: int) -> bytearray:
    body, size = bytearray(), 0
    async for piece in request.stream():
        size += len(piece)
        # A client hears nothing before it has sent all: the rest is thrown away, as far as the gate lets it.
        if size <= bytes_max:
            body += piece
    if size > bytes_max:
        raise errors.too_large(bytes_max)
    return body


def read_json(body: bytes | bytearray, values_max: int) -> Any:
    """One JSON document with so many values and levels; both are counted before anything is made of it."""
    _count(body, values_max)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        what = "deeper than can be read" if "recursion" in str(error).lower() else f"not JSON: {error}"
        raise errors.bad_json(what) from None


def decode_path(named: Mapping[str, str]) -> dict[str, str]:
    return {name: decode("the path", text) for name, text in named.items()}


def decode(name: str, text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise Invalid(
            f"{name} is not UTF-8 when percent-decoded",
            code="request.path" if name == "the path" else "request.header",
            hint="percent-encode the UTF-8 bytes of every id",
        ) from None


def failure_answer(error: Exception, request: Request) -> Response:
    """The answer to a call that failed; what nobody foresaw is logged."""
    if not isinstance(error, RunloreError):
        route = request.scope.get("runlore.route", "")
        _log.error("request failed", method=request.method, route=route, exc_info=error)
        return problem_answer(errors.unforeseen())
    request.scope["runlore.problem"] = error.code
    if isinstance(error, Conflict) and error.code in errors.STALE and "if-match" in request.headers:
        error = Conflict(error.sentence, code="revision.stale", hint=error.hint)
    return problem_answer(error)


def _header(request: Request, name: str, chars_max: int) -> str | None:
    text = request.headers.get(name)
    if text is not None and len(text) > chars_max:
        raise errors.bad_field(name, f"is wrong: at most {chars_max} characters are expected")
    return text


def _count(body: bytes | bytearray, values_max: int) -> None:
    """Refuse a document with too many values, or too many levels of them, by its bytes alone."""
    if _values_in(body) <= values_max and body.count(b"[") + body.count(b"{") <= BODY_DEPTH_MAX:
        return
    values = depth = 0
    for bare in _without_texts(body):
        values += _values_in(bare)
        if values > values_max:
            raise errors.bad_json(f"made of more than {values_max:,} values")
        for byte in bare.translate(None, _OTHERS):
            depth += 1 if byte in b"[{" else -1
            if depth > BODY_DEPTH_MAX:
                raise errors.bad_json(f"nested deeper than {BODY_DEPTH_MAX} levels")
            if depth < 0:
                # It ends here, or is no JSON.
                return


def _without_texts(body: bytes | bytearray) -> Iterator[bytes]:
    """A document without what stands in its texts, in pieces: one call for all of it would let no other
    thread have a turn."""
    is_text, cut = False, b""
    for at in range(0, len(body), PIECE_BYTES):
        piece = _ESCAPED.sub(b"", cut + body[at : at + PIECE_BYTES])
        cut = piece[-1:] if piece.endswith(b"\\") else b""
        parts = piece.removesuffix(b"\\").split(b'"')
        yield b"".join(parts[is_text::2])
        is_text ^= len(parts) % 2 == 0


def _values_in(body: bytes | bytearray) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{")
