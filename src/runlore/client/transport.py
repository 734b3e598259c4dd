"""HTTP/1.1 to a Runlore, over a unix socket, TCP or TLS.

It is small and loads next to nothing, because every command starts with it. Connections are kept between
calls, and threads may call at the same time, each over a connection of its own. A call whose connection
broke is made once more only where that cannot do it twice.
"""

import os
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from io import BufferedReader

from runlore import __version__
from runlore.client.http_response import (
    HttpResponse,
    Upload,
    chunks,
    no_http,
    read_answer,
    read_head,
    read_rest,
    stranger,
    too_large,
    unreachable,
)
from runlore.domain.errors import Invalid, Unavailable

EVENT_STREAM = "text/event-stream"
EVENT_BYTES_MAX = 64 * 1024**2


class ServerSentEvent:
    """One event; without a name it is a mere sign of life."""

    __slots__ = ("data", "name")

    def __init__(self, name: str = "", data: bytes = b"") -> None:
        self.name = name
        self.data = data


class EventStream:
    """A stream that has begun. Each event is given as soon as all of it is there."""

    def __init__(self, connection: socket.socket, stream: BufferedReader) -> None:
        self._connection = connection
        self._stream = stream

    def events(self, *, bytes_max: int = EVENT_BYTES_MAX) -> Iterator[ServerSentEvent]:
        """The events until the server ends the stream. A connection that breaks off is an OSError."""
        name, data, size = "", list[bytes](), 0
        for line in _lines(chunks(self._stream, bytes_max), bytes_max):
            if not line:
                if data:
                    yield ServerSentEvent(name, b"\n".join(data))
                name, data, size = "", [], 0
                continue
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if not field:
                yield ServerSentEvent()
            elif field == b"event":
                name = value.decode("utf-8", errors="replace")
            elif field == b"data":
                data.append(value)
                # An empty one counts too: there is a list of them, and a line of text for each.
                size += len(value) + 1
                if size > bytes_max:
                    raise too_large(bytes_max)

    def close(self) -> None:
        self._stream.close()
        self._connection.close()


def read_listening(connection: socket.socket) -> EventStream | HttpResponse:
    """The stream that a server answers with, or the answer that it gives instead."""
    stream = connection.makefile("rb")
    try:
        version, status, headers = read_head(stream)
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        if status == 200 and media == EVENT_STREAM:
            if headers.get("transfer-encoding", "").lower() != "chunked":
                raise no_http("a stream that does not come in pieces")
            return EventStream(connection, stream)
        answer = read_rest(stream, version, status, headers)
    except BaseException:
        stream.close()
        raise
    stream.close()
    connection.close()
    return answer


def _lines(pieces: Iterator[bytes], bytes_max: int) -> Iterator[bytes]:
    """Lines without their ends; what follows the last end is no line."""
    rest = bytearray()
    for piece in pieces:
        whole, ended, last = piece.rpartition(b"\n")
        if not ended:
            rest += piece
        else:
            rest += whole
            yield from (line.removesuffix(b"\r") for line in bytes(rest).split(b"\n"))
            rest = bytearray(last)
        if len(rest) > bytes_max:
            raise too_large(bytes_max)


CALL_S = 60.0
CONNECT_S = 5.0
_CHUNK_BYTES = 1 << 20
# So many connections are kept for the next calls; what threads open beyond that is closed behind its call.
_KEPT_MAX = 8
_QUEUE_POLL_S = 0.02

Connect = Callable[[float], socket.socket]


class Transport:
    """Calls to one server, from any thread. `where` names it in errors."""

    def __init__(
        self, connect: Connect, *, where: str, host: str, token: str | None, prefix: str = ""
    ) -> None:
        self._connect = connect
        self._where = where
        self._prefix = prefix
        self._fixed = [f"Host: {host}", f"User-Agent: runlore/{__version__}", "Accept: application/json"]
        if token is not None:
            self.authorise(token)
        # Taken from and added to by one act each, which no other thread can come between.
        self._kept: list[socket.socket] = []

    def authorise(self, token: str) -> None:
        if not (token.isascii() and token.isprintable() and token.strip() == token and token):
            raise Invalid(
                "the token holds characters that no token has",
                code="token.format",
                hint="give the secret alone, as `runlore token create` told it",
            )
        self._fixed.append(f"Authorization: Bearer {token}")

    def open(self) -> None:
        """Connect now, so that whoever is not there is known before the first call."""
        self._kept.append(self._connection(CONNECT_S))

    def call(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | Upload = b"",
        repeatable: bool = False,
        timeout_s: float = CALL_S,
    ) -> HttpResponse:
        """One request and its answer. `repeatable`: making it twice does no more than making it once."""
        head = self._head(method, path, headers or {}, len(body))
        may_be_done = False
        for is_last in (False, True) if repeatable else (True,):
            connection = self._take_connection(timeout_s, may_be_done=may_be_done)
            may_be_done = method != "GET"
            try:
                return self._exchange(connection, head, body)
            except TimeoutError as error:
                raise unreachable(
                    self._where, f"nothing within {timeout_s:g} s", may_be_done=may_be_done
                ) from error
            except OSError as error:
                # The others were opened to the same server, which may have gone.
                self.close()
                if is_last:
                    raise unreachable(self._where, _error_text(error), may_be_done=may_be_done) from error
        raise AssertionError("the last attempt answers or raises")

    def listen(
        self, path: str, *, headers: Mapping[str, str], pause_s: float
    ) -> "EventStream | HttpResponse":
        """A stream over a connection of its own, beside which other calls can be made; an answer where the
        server has something else to say. It may be quiet for `pause_s` at most: then it counts as broken."""
        connection = self._connection(pause_s)
        try:
            _send(connection, self._head("GET", path, headers, 0), b"")
            return read_listening(connection)
        except TimeoutError as error:
            connection.close()
            raise unreachable(self._where, f"nothing within {pause_s:g} s", may_be_done=False) from error
        except OSError as error:
            connection.close()
            raise unreachable(self._where, _error_text(error), may_be_done=False) from error
        except BaseException:
            connection.close()
            raise

    def broken(self, error: OSError) -> Unavailable:
        return unreachable(self._where, _error_text(error), may_be_done=False)

    def close(self) -> None:
        with suppress(IndexError):
            while True:
                self._kept.pop().close()

    def _head(self, method: str, path: str, headers: Mapping[str, str], length: int) -> bytes:
        lines = [f"{method} {self._prefix}{path} HTTP/1.1", *self._fixed]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if length or method != "GET":
            lines.append(f"Content-Length: {length}")
        assert all(line.isascii() and line.isprintable() for line in lines), "a header is visible ASCII"
        return "\r\n".join([*lines, "", ""]).encode("ascii")

    def _take_connection(self, timeout_s: float, *, may_be_done: bool) -> socket.socket:
        """A kept connection that is still good, else a new one."""
        with suppress(IndexError):
            while True:
                kept = self._kept.pop()
                if not _has_ended(kept):
                    kept.settimeout(timeout_s)
                    return kept
                kept.close()
        return self._connection(timeout_s, may_be_done=may_be_done)

    def _connection(self, timeout_s: float, *, may_be_done: bool = False) -> socket.socket:
        try:
            connection = self._connect(min(timeout_s, CONNECT_S))
        except OSError as error:
            raise unreachable(self._where, _error_text(error), may_be_done=may_be_done) from error
        connection.settimeout(timeout_s)
        return connection

    def _exchange(self, connection: socket.socket, head: bytes, body: bytes | Upload) -> HttpResponse:
        try:
            is_sent = _send(connection, head, body)
            answer = read_answer(connection)
        except BaseException:
            connection.close()
            raise
        if is_sent and answer.keeps_alive and len(self._kept) < _KEPT_MAX:
            self._kept.append(connection)
        else:
            connection.close()
        return answer


def unix_connect(path: str, *, owner: int | None = None) -> Connect:
    """Connects to a unix socket. With an `owner`, only to a process of that user or of root."""

    def connect(timeout_s: float) -> socket.socket:
        deadline = time.monotonic() + timeout_s
        while True:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(timeout_s)
            try:
                connection.connect(path)
                _check_peer(connection, path, owner)
            except BlockingIOError:
                # Its queue is full: somebody is there, and busy.
                connection.close()
                if time.monotonic() >= deadline:
                    raise TimeoutError("its queue stays full") from None
                time.sleep(_QUEUE_POLL_S)
            except BaseException:
                connection.close()
                raise
            else:
                return connection

    return connect


def tcp_connect(host: str, port: int) -> Connect:
    def connect(timeout_s: float) -> socket.socket:
        connection = socket.create_connection((host, port), timeout=timeout_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    return connect


def _check_peer(connection: socket.socket, path: str, owner: int | None) -> None:
    """A secret is told only to whoever could read it anyway; the folder of a socket may be anybody's."""
    if owner is None:
        return
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        peer = int.from_bytes(raw[4:8], "little" if _IS_LITTLE else "big")
    else:
        peer = os.lstat(path).st_uid
    if peer not in (owner, 0):
        raise stranger(path, peer)


_IS_LITTLE = memoryview(b"\x01\x00").cast("H")[0] == 1


def _has_ended(connection: socket.socket) -> bool:
    """Whether there is something to read before anything was asked: the server has closed it."""
    watch = select.poll()
    watch.register(connection, select.POLLIN)
    return bool(watch.poll(0))


def _send(connection: socket.socket, head: bytes, body: bytes | Upload) -> bool:
    """Whether all of it went: a server that refuses a body may stop reading it, and say why."""
    try:
        if isinstance(body, bytes):
            connection.sendall(head + body)
        else:
            connection.sendall(head)
            for chunk in body.chunks(_CHUNK_BYTES):
                connection.sendall(chunk)
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def _error_text(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
