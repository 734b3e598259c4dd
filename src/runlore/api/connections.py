"""Connections: how many there may be, and how long they may take to ask, and to take what they are told.

Whoever reaches the port can open connections and send next to nothing, or take nothing of an answer. Such
connections are closed, and there are never so many that nothing else could be opened: the unix socket works
on whatever happens on TCP.
"""

import asyncio
import resource
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from runlore.api import errors
from runlore.api.responses import problem_answer
from runlore.api.security import BODY_PAUSE_S
from runlore.domain.errors import Invalid

_CONNECTIONS_MAX = 1_000
_FILES_WANTED = 16_384
_HEADER_BYTES_MAX = 128 * 1024
# So much of what a connection has sent is looked at before others have their turn.
PIECE_BYTES = 8_192
# A chunk costs as much as a large body does: some are free, each further one needs so many bytes.
CHUNKS_FREE = 256
CHUNK_BYTES_MIN = 64


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How long a request's head and a pause in its body may take, how long an answer may wait until some of
    it is taken, at any time and while the daemon stops, and how many connections TCP may have."""

    head_s: float = 10.0
    body_pause_s: float = BODY_PAUSE_S
    taken_s: float = 60.0
    stopping_s: float = 1.0
    connections_max: int = _CONNECTIONS_MAX


def bounds_of_process() -> Bounds:
    """The bounds that this process can afford, once it may open as many files as it is let."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, _FILES_WANTED)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    affordable = _CONNECTIONS_MAX if soft == resource.RLIM_INFINITY else soft // 2
    return Bounds(connections_max=min(_CONNECTIONS_MAX, affordable))


class BoundedListener(socket.socket):
    """A listening socket that lets only so many in at once; whoever comes beyond that is turned away."""

    def __init__(self, listener: socket.socket, connections_max: int) -> None:
        super().__init__(listener.family, listener.type, listener.proto, listener.detach())
        self._free = connections_max

    def accept(self) -> tuple[socket.socket, Any]:
        while True:
            connection, address = super().accept()
            if self._free > 0:
                self._free -= 1
                return _Inside(connection, self), address
            connection.close()

    def release(self) -> None:
        self._free += 1


class _Inside(socket.socket):
    """A connection that was let in."""

    def __init__(self, connection: socket.socket, door: BoundedListener) -> None:
        super().__init__(connection.family, connection.type, connection.proto, connection.detach())
        self._door: BoundedListener | None = door

    def close(self) -> None:
        super().close()
        door, self._door = self._door, None
        if door is not None:
            door.release()


def impatient(bounds: Bounds) -> type[H11Protocol]:
    """The web server's protocol, which closes a connection whose next head does not arrive in time, and one
    that takes nothing of what waits for it."""
    return type("Impatient", (_Impatient,), {"bounds": bounds})


class _CountedConnection(h11.Connection):
    """What a connection says, as long as a body is worth the chunks that it comes in."""

    chunks_left: float = CHUNKS_FREE

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.chunks_left = CHUNKS_FREE
        elif isinstance(event, h11.Data):
            self.chunks_left += len(event.data) / CHUNK_BYTES_MIN - event.chunk_start
            if self.chunks_left < 0:
                raise h11.RemoteProtocolError("too many chunks")
        return event


class _Impatient(H11Protocol):
    """One connection: the time runs from its beginning, then from the first byte of each head."""

    bounds = Bounds()
    conn: _CountedConnection
    _head_due: asyncio.TimerHandle | None = None
    _taking_due: asyncio.TimerHandle | None = None
    _is_stopping = False
    _is_refused = False
    _unread = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.conn = _CountedConnection(h11.SERVER, _HEADER_BYTES_MAX)
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        is_waiting = bool(self._unread)
        self._unread += data
        if is_waiting:
            self.transport.pause_reading()
        else:
            self._read_on()

    def _read_on(self) -> None:
        """Take a piece of what has arrived, and let everybody else have a turn: a body in chunks of a byte
        each costs as much as a large one."""
        if not self._unread or self.transport.is_closing():
            return
        piece, rest = self._unread[:PIECE_BYTES], self._unread[PIECE_BYTES:]
        self._unread = rest
        super().data_received(piece)
        if self._is_refused:
            return
        self._watch_head()
        if rest:
            self.transport.pause_reading()
            self.loop.call_soon(self._read_on)
        elif not self.flow.read_paused:
            self.transport.resume_reading()

    def send_400_response(self, _msg: str) -> None:
        """Refuse what is no request, and whatever comes after it: it is taken for a while, as who still sends
        would not hear the answer, and thrown away."""
        is_costly = self.conn.chunks_left < 0
        self._tell(errors.too_many_chunks(CHUNK_BYTES_MIN) if is_costly else errors.not_http())
        self._is_refused, self._unread = True, b""
        # It is None before the first head, whatever its type says.
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.resume_reading()
        self._forget_head()
        self._head_due = self.loop.call_later(self.bounds.head_s, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._unread = b""
        self._forget_head()
        self._forget_taking()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        if not self._is_stopping:
            self._watch_taking(self.bounds.taken_s)

    def resume_writing(self) -> None:
        if not self._is_stopping:
            self._forget_taking()
        super().resume_writing()

    def shutdown(self) -> None:
        if self._is_refused:
            self.transport.abort()
            return
        super().shutdown()
        self._is_stopping = True
        self._watch_taking(self.bounds.stopping_s)

    def _watch_head(self) -> None:
        # It is None before the first head, whatever its type says.
        if self.cycle is not None and not self.cycle.response_complete:  # type: ignore[redundant-expr]
            self._forget_head()
        elif self._head_due is None and not self.transport.is_closing():
            self._head_due = self.loop.call_later(self.bounds.head_s, self._give_up_head)

    def _give_up_head(self) -> None:
        """Close a connection whose next head is not whole; who has sent a part of one is told why."""
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._tell(errors.head_too_slow(self.bounds.head_s))
        # Not a polite end, which would wait for the other side once more.
        self.transport.abort()

    def _tell(self, error: Invalid) -> None:
        """Answer before the call is whole, unless it has been answered."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        answer = problem_answer(error, {"Connection": "close"})
        with suppress(h11.LocalProtocolError):
            head = h11.Response(status_code=answer.status_code, headers=answer.raw_headers)
            for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")

    def _forget_head(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    def _watch_taking(self, within_s: float) -> None:
        self._forget_taking()
        left = self.transport.get_write_buffer_size()
        self._taking_due = self.loop.call_later(within_s, self._look_at_taking, within_s, left)

    def _look_at_taking(self, within_s: float, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if 0 < before <= left:
            self.transport.abort()
        else:
            self._watch_taking(within_s)

    def _forget_taking(self) -> None:
        if self._taking_due is not None:
            self._taking_due.cancel()
            self._taking_due = None
