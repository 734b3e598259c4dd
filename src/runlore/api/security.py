"""The gate before every call: host, origin, size of the body, token. Nothing is read or routed before it.

A web page cannot reach the daemon through a name of its own (Host), nor from another site (Origin); nobody
reaches it without a token, the two probes apart.
"""

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runlore.api import errors
from runlore.api.responses import problem_answer
from runlore.daemon.process.browser_sessions import KEY_HEADER, cookie_name
from runlore.daemon.process.server import Service
from runlore.domain import limits
from runlore.domain.access import Caller
from runlore.domain.errors import Denied, Invalid, RunloreError

FREE_PATHS = frozenset({"/healthz", "/readyz"})
# These bodies are files, and are streamed to the disk.
FILE_PATHS = {"/v1/memory/import": limits.IMPORT_BYTES_MAX}
_LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
# A client that still sends would not hear our answer, so so much of its body is taken and thrown away.
_THROWN_AWAY_BYTES_MAX = 4 * limits.LARGE_BODY_BYTES_MAX
_THROWN_AWAY_S_MAX = 10.0
_REQUEST_LINE_CHARS = 200
DEGRADED_HEADER = b"runlore-degraded"
# How long a body may be waited for, between two of its pieces and beyond what its bytes have earned.
BODY_PAUSE_S = 30.0
# Each so many bytes that have come earn a body another second.
BODY_BYTES_PER_S_MIN = 16 * 1024

Headers = dict[bytes, list[bytes]]


@dataclass(frozen=True)
class RequestGate:
    """Lets calls in that may come in, over one of the two ways: the unix socket or TCP."""

    app: ASGIApp
    service: Service
    over_unix: bool
    pause_s: float = BODY_PAUSE_S
    # Paths of surfaces that let callers in by themselves.
    open_paths: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path = scope["raw_path"].decode("latin-1")
        is_open = path in FREE_PATHS or path in self.open_paths
        limit_bytes = (
            limits.OPEN_BODY_BYTES_MAX if is_open else FILE_PATHS.get(path, limits.LARGE_BODY_BYTES_MAX)
        )
        try:
            headers = _group(scope["headers"])
            self._check_host(headers)
            self._check_origin(headers, scope["scheme"])
            caller = None if is_open else await self._authenticate(headers, scope)
            _check_content_length(headers, limit_bytes)
        except RunloreError as error:
            if not _waits_for_us(scope["headers"]):
                await _throw_away(receive)
            await problem_answer(error)(scope, receive, send)
            return
        # Routes are found by the path as it was sent: an id may hold a slash, written as %2F.
        scope["path"] = path
        scope["runlore.caller"] = caller
        scope["runlore.service"] = self.service
        scope["runlore.over_unix"] = self.over_unix
        # A stream outlives the moment that its token was looked at.
        scope["runlore.recheck"] = lambda: self._authenticate_by_store(headers, scope)
        code = self.service.health.refusal_code()
        sending = _mark_degraded(send, code) if code else send
        await self.app(scope, _limit_body(receive, limit_bytes, self.pause_s), sending)

    def _check_host(self, headers: Headers) -> None:
        host = _only(headers, b"host")
        # What stands before an `@` is no part of a host: readers differ on which of the two names counts.
        name = "" if "@" in host else _name_of(host)
        allowed = {
            *_LOCAL_NAMES,
            self.service.server.host.lower(),
            *_lowercase(self.service.server.allowed_hosts),
        }
        # No page in a browser reaches a unix socket, so any name without a domain is taken for a local one.
        if name in allowed or (self.over_unix and "." not in name and "@" not in host):
            return
        raise Denied(
            f"this daemon does not answer to the host {host[:_REQUEST_LINE_CHARS]!r}",
            code="host.denied",
            hint="call it as 127.0.0.1 or localhost, or list the name under allowed_hosts in [server]",
        )

    def _check_origin(self, headers: Headers, scheme: str) -> None:
        if b"origin" not in headers:
            return
        origin = _only(headers, b"origin").lower()
        host = _only(headers, b"host").lower()
        if origin == f"{scheme}://{host}" or origin in _lowercase(self.service.server.allowed_origins):
            return
        raise Denied(
            f"calls from pages of {origin[:_REQUEST_LINE_CHARS]!r} are not let in",
            code="origin.denied",
            hint="list the origin under allowed_origins in [server], if it is yours",
        )

    async def _authenticate(self, headers: Headers, scope: Scope) -> Caller:
        if b"authorization" in headers:
            known = self.service.tokens.authenticate_from_cache(_secret_of(headers))
            if known is not None:
                return known
        return await run_in_threadpool(self._authenticate_by_store, headers, scope)

    def _authenticate_by_store(self, headers: Headers, scope: Scope) -> Caller:
        """Who calls: by a token, or as a page of the console by its cookie and its CSRF token."""
        key = KEY_HEADER.encode()
        if b"authorization" in headers or key not in headers:
            return self.service.tokens.authenticate(_secret_of(headers))
        cookie = Request(scope).cookies.get(cookie_name(scope.get("server")), "")
        return self.service.browsers.authenticate(cookie, _only(headers, key))


def _mark_degraded(send: Send, code: str) -> Send:
    """Answers that say what keeps new writes from being accepted."""

    async def send_marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), (DEGRADED_HEADER, code.encode())]
        await send(message)

    return send_marked


def _secret_of(headers: Headers) -> str:
    if b"authorization" not in headers:
        raise Denied(
            "this call needs a token",
            code="token.missing",
            hint="send Authorization: Bearer SECRET; operator.token in the state root holds the operator's",
        )
    kind, _, secret = _only(headers, b"authorization").partition(" ")
    if kind.lower() != "bearer" or not secret.strip():
        raise Denied(
            "the Authorization header holds no bearer token",
            code="token.missing",
            hint="send Authorization: Bearer SECRET",
        )
    return secret.strip()


def _check_content_length(headers: Headers, limit_bytes: int) -> None:
    if b"transfer-encoding" in headers and b"content-length" in headers:
        raise Invalid(
            "the body tells its length in two ways, Content-Length and Transfer-Encoding",
            code="request.header",
            hint="send one of them",
        )
    for value in headers.get(b"content-length", ()):
        if not value.isdigit() or int(value[:20]) > limit_bytes:
            raise errors.too_large(limit_bytes)


def _limit_body(receive: Receive, limit_bytes: int, pause_s: float) -> Receive:
    """The body, until it is larger than it may be, pauses for too long, or comes too slowly altogether.

    A body that is sent in chunks tells no length, and one that stops coming, or comes byte by byte, holds
    what was opened for it. Only the time in which we wait counts: a slow disk of ours is nobody's fault.
    """
    taken, waited_s, is_whole = 0, 0.0, False

    async def receive_bounded() -> Message:
        nonlocal taken, waited_s, is_whole
        if is_whole:
            # Who asks once more waits for the client to go, however long that takes.
            return await receive()
        began_at = time.monotonic()
        left_s = pause_s + taken / BODY_BYTES_PER_S_MIN - waited_s
        try:
            async with asyncio.timeout(min(left_s, pause_s)):
                message = await receive()
        except TimeoutError:
            raise errors.too_slow(pause_s, BODY_BYTES_PER_S_MIN) from None
        waited_s += time.monotonic() - began_at
        is_whole = not message.get("more_body", False)
        taken += len(message.get("body", b""))
        if taken > limit_bytes:
            await _throw_away(receive)
            raise errors.too_large(limit_bytes)
        return message

    return receive_bounded


def _waits_for_us(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a client sends its body only when asked to, or would send more than is worth waiting for."""
    grouped = _group(headers)
    lengths = [int(value[:20]) for value in grouped.get(b"content-length", ()) if value.isdigit()]
    return b"expect" in grouped or max(lengths, default=0) > _THROWN_AWAY_BYTES_MAX


async def _throw_away(receive: Receive) -> None:
    """Take what a client still sends, for a while, so that it hears our answer afterwards."""
    taken = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_THROWN_AWAY_S_MAX):
            while taken <= _THROWN_AWAY_BYTES_MAX:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
                taken += len(message.get("body", b""))


def _group(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    grouped: Headers = {}
    for name, value in headers:
        grouped.setdefault(name.lower(), []).append(value)
    return grouped


def _only(headers: Headers, name: bytes) -> str:
    """A header that stands once; two of them are an attempt to be read differently by different readers."""
    values = headers.get(name, [])
    if len(values) != 1:
        raise Invalid(
            f"the header {name.decode()} stands {len(values)} times",
            code="request.header",
            hint="send it once",
        )
    return values[0].decode("latin-1").strip()


def _name_of(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _lowercase(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in names}
