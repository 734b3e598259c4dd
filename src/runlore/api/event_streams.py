"""Server-sent events: what happens, told as it happens, until it has ended or nobody listens.

Each stream waits in a thread, of which there are only so many, apart from those that answer all other calls.
A stream ends without a last event where the daemon stops or its token is no longer good; whoever follows goes
on after the last number that it has seen.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from anyio import CapacityLimiter, to_thread
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from runlore.api.errors import status_code_of
from runlore.api.responses import PRIVATE_HEADERS, encode_json
from runlore.daemon.answers import problem
from runlore.domain.errors import RunloreError, Unavailable
from runlore.domain.record import JsonValue
from runlore.ports import operations as ops

EVENT_STREAM = "text/event-stream"
STREAMS_MAX = 200
# How soon it is seen that nobody listens, how often a quiet stream is heard of, and a token looked at again.
BEAT_S = 0.5
HEARTBEAT_S = 15.0
TOKEN_S = 5.0
# What a browser waits before it comes back.
_RETRY_MS = 1_000
# What a follower is told by where its process stops.
_STOPPING = "agent.stopping"
_HEAD = f"retry: {_RETRY_MS}\n\n".encode()
_HEARTBEAT = b": still here\n\n"


class StreamMessage(Protocol):
    """What a stream tells: an event by the name of its kind, and what to go on after."""

    @property
    def kind(self) -> str: ...

    @property
    def data(self) -> JsonValue: ...

    @property
    def number(self) -> int | str: ...


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What a stream looks at while it waits: whether the daemon stops, and whether its token is good."""

    is_stopping: Callable[[], bool]
    recheck: Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often a quiet stream is heard of, and its token looked at again."""

    heartbeat_s: float = HEARTBEAT_S
    token_s: float = TOKEN_S


class Streams:
    """The streams of one application, each at the same pace."""

    def __init__(self, streams_max: int = STREAMS_MAX, pace: Pace | None = None) -> None:
        self._left = streams_max
        self._limiter: CapacityLimiter | None = None
        self._most = streams_max
        self._pace = pace or Pace()

    async def open(self, events: Callable[[], Iterator[StreamMessage]], watched: Watched) -> "EventsStream":
        """A stream that has its first event, so that whatever is wrong is said before it is answered."""
        if self._left <= 0:
            raise Unavailable(
                f"{self._most} streams are open already",
                code="stream.busy",
                hint="end some of them, or read the run's journal instead",
            )
        self._limiter = self._limiter or CapacityLimiter(self._most)
        self._left -= 1
        stream = EventsStream(watched, self._limiter, self._release, self._pace)
        try:
            await stream.begin(events)
        except BaseException:
            await stream.close()
            raise
        return stream

    def _release(self) -> None:
        self._left += 1


class EventsStream:
    """One stream, from its first event on."""

    def __init__(
        self, watched: Watched, limiter: CapacityLimiter, freed: Callable[[], None], pace: Pace
    ) -> None:
        self._watched = watched
        self._pace = pace
        self._limiter = limiter
        self._freed: Callable[[], None] | None = freed
        self._events: Iterator[StreamMessage] = iter(())
        self._first: StreamMessage | None = None
        self._rechecked_at = time.monotonic()

    async def begin(self, events: Callable[[], Iterator[StreamMessage]]) -> None:
        """Wait for the first event, or the first beat."""

        def first() -> StreamMessage | None:
            self._events = events()
            return next(self._events, None)

        self._first = await to_thread.run_sync(first, limiter=self._limiter)

    async def parts(self, is_gone: Callable[[], bool]) -> AsyncIterator[bytes]:
        """The events as they are sent, with a word now and then where nothing happens."""
        event, quiet_since = self._first, time.monotonic()
        while event is not None and not is_gone():
            if event.kind != ops.RunEventKind.BEAT:
                quiet_since = time.monotonic()
                yield encode_event(event)
            elif time.monotonic() - quiet_since >= self._pace.heartbeat_s:
                quiet_since = time.monotonic()
                yield _HEARTBEAT
            if event.kind == ops.RunEventKind.END or self._watched.is_stopping():
                return
            try:
                event = await to_thread.run_sync(self._following, limiter=self._limiter)
            except RunloreError as error:
                if error.code != _STOPPING:
                    yield _block("error", problem(error, status_code_of(error)))
                return

    def _following(self) -> StreamMessage | None:
        now = time.monotonic()
        if now - self._rechecked_at >= self._pace.token_s:
            self._rechecked_at = now
            self._watched.recheck()
        return next(self._events, None)

    async def close(self) -> None:
        freed, self._freed = self._freed, None
        if freed is None:
            return
        try:
            # One that is still in its thread ends by itself, with the next beat.
            with suppress(ValueError):
                await to_thread.run_sync(self._let_go)
        finally:
            freed()

    def _let_go(self) -> None:
        close = getattr(self._events, "close", None)
        if close is not None:
            close()


class EventsAnswer(Response):
    """The answer that a stream is. It ends within a moment once nobody listens."""

    media_type = EVENT_STREAM

    def __init__(self, stream: EventsStream) -> None:
        super().__init__(headers={**PRIVATE_HEADERS, "X-Accel-Buffering": "no"}, media_type=EVENT_STREAM)
        self._stream = stream
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        gone = asyncio.create_task(_until_gone(receive))
        try:
            head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await send(head)
            await send({"type": "http.response.body", "body": _HEAD, "more_body": True})
            async for part in self._stream.parts(gone.done):
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            await self._stream.close()


def encode_event(event: StreamMessage) -> bytes:
    """An event in the form of the protocol. Only what stands in the journal has a number to go on after."""
    return _block(str(event.kind), event.data, event.number)


def _block(name: str, data: JsonValue, number: int | str = 0) -> bytes:
    numbered = f"id: {number}\n" if number else ""
    return f"{numbered}event: {name}\n".encode() + b"data: " + encode_json(data) + b"\n\n"


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
