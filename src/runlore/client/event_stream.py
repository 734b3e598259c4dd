"""Server-sent events from a connection, one after the other, within bounds."""

import socket
from collections.abc import Iterator
from io import BufferedReader

from runlore.client.http_response import HttpResponse, chunks, no_http, read_head, read_rest, too_large

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
