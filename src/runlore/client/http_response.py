"""Reading an HTTP/1.1 answer from a connection, within bounds; and a file as the body of a request."""

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from io import BufferedReader

from runlore.domain.errors import Denied, Invalid, Unavailable


def unreachable(where: str, why: str, *, may_be_done: bool) -> Unavailable:
    return Unavailable(
        f"{where} does not answer: {why}",
        code="daemon.unreachable",
        hint="what was asked may have been done: look before you ask again"
        if may_be_done
        else "nothing was changed; check that it runs and that the address is right, then try again",
    )


def stranger(path: str, user: int) -> Denied:
    return Denied(
        f"{path} is served by another user ({user}), so the token is not sent there",
        code="daemon.stranger",
        hint="find out who listens there; a daemon of your own uses your own state root",
    )


def no_http(what: str) -> Unavailable:
    return Unavailable(
        f"the server answered something else than what was asked for ({what})",
        code="answer.format",
        hint="check that the address is that of a Runlore, and of the same version as this one",
    )


def too_large(bytes_max: int) -> Unavailable:
    return Unavailable(
        f"the answer is larger than {bytes_max:,} bytes",
        code="answer.size",
        hint="ask for less at once: a smaller --limit, a narrower scope",
    )


def became_shorter() -> Invalid:
    return Invalid(
        "the file became shorter while it was sent; nothing was imported",
        code="import.file",
        hint="let whatever writes it finish, then import it again",
    )


ANSWER_BYTES_MAX = 256 * 1024**2
_LINE_BYTES_MAX = 65_536
_HEADERS_MAX = 200
_PART_BYTES = 1 << 20


class HttpResponse:
    """What a server answered."""

    __slots__ = ("body", "headers", "keeps_alive", "status")

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes, *, keeps_alive: bool) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.keeps_alive = keeps_alive


class Upload:
    """An open file, sent as it is; whoever watches is told how many bytes have gone."""

    def __init__(self, file: BufferedReader, watched: Callable[[int, int], None]) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._watched = watched

    def __len__(self) -> int:
        return self._size

    def chunks(self, bytes_max: int) -> Iterator[bytes]:
        """As much as was told, however the file grows meanwhile."""
        self._file.seek(0)
        sent = 0
        while sent < self._size:
            chunk = self._file.read(min(bytes_max, self._size - sent))
            if not chunk:
                raise became_shorter()
            yield chunk
            sent += len(chunk)
            self._watched(sent, self._size)


def read_answer(connection: socket.socket, *, bytes_max: int = ANSWER_BYTES_MAX) -> HttpResponse:
    """The answer to what was just asked. A connection that ends before it is an OSError."""
    with connection.makefile("rb") as stream:
        return read_rest(stream, *read_head(stream), bytes_max=bytes_max)


def read_head(stream: BufferedReader) -> tuple[bytes, int, dict[str, str]]:
    while True:
        version, status = _status_line(_line(stream))
        headers = _headers(stream)
        if not 100 <= status < 200:
            return version, status, headers


def read_rest(
    stream: BufferedReader,
    version: bytes,
    status: int,
    headers: Mapping[str, str],
    *,
    bytes_max: int = ANSWER_BYTES_MAX,
) -> HttpResponse:
    body, delimited = _body(stream, status, headers, bytes_max=bytes_max)
    closing = "close" in headers.get("connection", "").lower()
    return HttpResponse(
        status, headers, body, keeps_alive=delimited and version == b"HTTP/1.1" and not closing
    )


def _line(stream: BufferedReader) -> bytes:
    line = stream.readline(_LINE_BYTES_MAX + 1)
    if not line:
        raise ConnectionResetError("the connection was closed without an answer")
    if not line.endswith(b"\n"):
        raise no_http("a line without end")
    return line.rstrip(b"\r\n")


def _status_line(line: bytes) -> tuple[bytes, int]:
    version, _, rest = line.partition(b" ")
    code = rest[:3]
    if not version.startswith(b"HTTP/1.") or not code.isdigit() or len(code) != 3:
        raise no_http("no HTTP")
    return version, int(code)


def _headers(stream: BufferedReader) -> dict[str, str]:
    headers: dict[str, str] = {}
    for _ in range(_HEADERS_MAX):
        line = _line(stream)
        if not line:
            return headers
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon:
            raise no_http("a header without a name")
        headers[name.strip().lower()] = value.strip()
    raise no_http("too many headers")


def _body(
    stream: BufferedReader, status: int, headers: Mapping[str, str], *, bytes_max: int
) -> tuple[bytes, bool]:
    """The body, and whether its end was told: else it ends with the connection."""
    if status in (204, 304):
        return b"", True
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return _read_chunked(stream, bytes_max), True
    told = headers.get("content-length")
    if told is None:
        body = _up_to(stream, bytes_max + 1)
        if len(body) > bytes_max:
            raise too_large(bytes_max)
        return body, False
    return _exactly(stream, _size(told, 10, bytes_max)), True


def _read_chunked(stream: BufferedReader, bytes_max: int) -> bytes:
    body = bytearray()
    for chunk in chunks(stream, bytes_max):
        body += chunk
        if len(body) > bytes_max:
            raise too_large(bytes_max)
    return bytes(body)


def chunks(stream: BufferedReader, bytes_max: int) -> Iterator[bytes]:
    """The pieces of a body that tells its length piece by piece, each within the bound."""
    while size := _size(_line(stream).partition(b";")[0].decode("latin-1").strip(), 16, bytes_max):
        yield _exactly(stream, size)
        if _line(stream):
            raise no_http("a chunk without end")
    _headers(stream)


def _exactly(stream: BufferedReader, size: int) -> bytes:
    body = _up_to(stream, size)
    if len(body) < size:
        raise ConnectionResetError("the connection was closed in the middle of an answer")
    return body


def _up_to(stream: BufferedReader, size: int) -> bytes:
    """Up to so many bytes; the room for them is taken as they come."""
    parts, left = [], size
    while left and (part := stream.read(min(left, _PART_BYTES))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _size(text: str, number_base: int, bytes_max: int) -> int:
    try:
        size = int(text, number_base)
    except ValueError:
        raise no_http("a length that is no number") from None
    if size < 0:
        raise no_http("a length below zero")
    if size > bytes_max:
        raise too_large(bytes_max)
    return size
