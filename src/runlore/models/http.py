"""The HTTP client of one provider: what is sent is what was meant, and what comes back has a limit.

Only named headers leave the machine, whatever the environment would add. Redirects are not followed: a key
and a question go to the configured address or nowhere. Proxies of the environment are used beyond this
machine. A compressed or endless answer is not read.
"""

import logging
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Protocol, TypeAlias
from urllib.parse import urlsplit

import httpx2

from runlore import __version__
from runlore.domain import limits
from runlore.domain.text.word_tables import words
from runlore.ports.model import Provider, ProviderKind

_SENT = words("""
    host accept connection content-type content-length anthropic-version anthropic-beta
""")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_CONNECTIONS_MAX = 64
REQUEST_LOGGERS = ("httpx2", "httpcore2")


class UnreadableAnswer(Exception):
    """An answer that is not read on: it is too large, or packed."""


class Redirected(Exception):
    """An answer that sends whoever asked elsewhere, where nobody goes."""


class RequestObserver(Protocol):
    """Sees one request and its answer go by. What it raises ends the request."""

    def on_request(self, body: bytes) -> None:
        """The body of the request, as it goes out."""

    def on_response(self, content_type: str) -> None: ...

    def on_chunk(self, chunk: bytes) -> None: ...

    def on_end(self) -> None:
        """Its body has come to an end that the protocol below allows."""


class _NullObserver:
    def on_request(self, body: bytes) -> None: ...

    def on_response(self, content_type: str) -> None: ...

    def on_chunk(self, chunk: bytes) -> None: ...

    def on_end(self) -> None: ...


def http_client(
    provider: Provider,
    *,
    answer_bytes_max: int = limits.MODEL_ANSWER_BYTES_MAX,
    watcher: Callable[[], RequestObserver] = _NullObserver,
) -> httpx2.AsyncClient:
    """A client for one provider. Time is limited by whoever asks, over all that it does.

    `watcher` gives who watches the request of the task that it is called in."""
    for name in REQUEST_LOGGERS:
        # Their lines of a request are none of our log's business.
        logging.getLogger(name).setLevel(logging.WARNING)

    async def only_what_is_meant(request: httpx2.Request) -> None:
        for name in list(request.headers):
            if name.lower() not in _SENT:
                del request.headers[name]
        request.headers["user-agent"] = f"runlore/{__version__}"
        request.headers["accept-encoding"] = "identity"
        if provider.api_key and provider.kind is ProviderKind.ANTHROPIC:
            request.headers["x-api-key"] = provider.api_key
        elif provider.api_key:
            request.headers["authorization"] = f"Bearer {provider.api_key}"
        watcher().on_request(await request.aread())

    async def bound_response(response: httpx2.Response) -> None:
        if response.has_redirect_location:
            raise Redirected
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise UnreadableAnswer("the answer is packed, which was not asked for")
        watching = watcher() if response.is_success else _NullObserver()
        watching.on_response(response.headers.get("content-type", ""))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream, answer_bytes_max, watching)

    address = urlsplit(provider.base_url)
    is_here = address.hostname in _LOOPBACK
    # To read all certificates of the system takes longer than a start, and who speaks plainly asks for none.
    is_plain = is_here and address.scheme == "http"
    return httpx2.AsyncClient(
        timeout=None,
        follow_redirects=False,
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else True,
        trust_env=not is_here,
        limits=httpx2.Limits(max_connections=_CONNECTIONS_MAX, max_keepalive_connections=_CONNECTIONS_MAX),
        event_hooks={"request": [only_what_is_meant], "response": [bound_response]},
    )


class _BoundedStream(httpx2.AsyncByteStream):
    """A body that ends with an error once it is longer than any answer may be.

    It ends what it reads from when it is closed: left to the collector of garbage, that would be ended in any
    thread, at any time.
    """

    def __init__(self, stream: httpx2.AsyncByteStream, bytes_max: int, watcher: RequestObserver) -> None:
        self._stream = stream
        self._chunks = aiter(stream)
        self._bytes_max = bytes_max
        self._left = bytes_max
        self._watcher = watcher

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self._watcher.on_end()
            raise
        self._left -= len(chunk)
        if self._left < 0:
            raise UnreadableAnswer(f"the answer is longer than {self._bytes_max} bytes")
        self._watcher.on_chunk(chunk)
        return chunk

    async def aclose(self) -> None:
        if isinstance(self._chunks, AsyncGenerator):
            await self._chunks.aclose()
        await self._stream.aclose()


# The last line of a whole stream in OpenAI's protocol; in Anthropic's a model says why it stops. No line of a
# text can look so: a text is inside JSON, where a new line is written in letters.
_LAST = re.compile(rb"[\r\n]data: ?\[DONE\]")
_LAST_BYTES_MAX = 16

# A piece of text, or the body of a request; None once nothing comes any more.
Sound: TypeAlias = "TextDelta | RequestBody | None"


class TextDelta(str):
    """Words of the model."""

    __slots__ = ()


class RequestBody(str):
    """The body of a request."""

    __slots__ = ()


class NotStreamed(Exception):
    """An answer in one piece, where a stream was asked for."""


class StreamRecording:
    """What is heard of one turn, for the caller's thread to take, and what was seen of its stream.

    It is filled in the thread of the event loop, which never waits for whoever listens."""

    def __init__(self) -> None:
        self.sounds: SimpleQueue[Sound] = SimpleQueue()
        self.has_ended = False
        self.has_last_line = False
        self._tail = b"\n"

    @property
    def is_broken_off(self) -> bool:
        return self.has_ended and not self.has_last_line

    def on_request(self, body: bytes) -> None:
        self.sounds.put(RequestBody(body.decode("utf-8", "replace")))

    def on_response(self, content_type: str) -> None:
        if content_type.partition(";")[0].strip().lower() == "application/json":
            raise NotStreamed

    def on_chunk(self, chunk: bytes) -> None:
        if not self.has_last_line:
            seen = self._tail + chunk
            self.has_last_line = _LAST.search(seen) is not None
            self._tail = seen[-_LAST_BYTES_MAX:]

    def on_end(self) -> None:
        self.has_ended = True


CURRENT: ContextVar[StreamRecording] = ContextVar("runlore.models.http")
