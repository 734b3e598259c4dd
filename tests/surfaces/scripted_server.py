"""A server that answers what a test tells it to, byte for byte: also what no good server would."""

import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from runlore.client.transport import Transport, unix_connect

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
WAIT_S = 30


@dataclass
class Script:
    """What to do with each request, one after the other; None closes the connection without an answer.

    `requests` holds what came, and `connections` counts the connections that it came over.
    """

    path: str
    replies: list[bytes | None]
    keeps: bool = True
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    closed: threading.Event = field(default_factory=threading.Event)
    transports: list[Transport] = field(default_factory=list)

    def transport(self, *, token: str | None = None, owner: int | None = None) -> Transport:
        """A transport to it, closed at the end of the script."""
        connect = unix_connect(self.path, owner=owner)
        self.transports.append(Transport(connect, where="the script", host="test", token=token))
        return self.transports[-1]


@contextmanager
def scripted(*replies: bytes | None, keeps: bool = True) -> Iterator[Script]:
    """Serve a script. Without `keeps` every connection is closed after its first answer, unannounced."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        script = Script(path=os.path.join(folder, "s"), replies=list(replies), keeps=keeps)
        listener.bind(script.path)
        listener.listen()
        listener.settimeout(WAIT_S)
        thread = threading.Thread(target=_serve, args=(listener, script))
        thread.start()
        try:
            yield script
        finally:
            for transport in script.transports:
                transport.close()
            script.replies.clear()
            with socket.socket(socket.AF_UNIX) as last:
                last.settimeout(WAIT_S)
                last.connect(script.path)
            thread.join(WAIT_S)
            assert not thread.is_alive()


def _serve(listener: socket.socket, script: Script) -> None:
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(WAIT_S)
            if not script.replies:
                return
            script.connections += 1
            _converse(connection, script)
        script.closed.set()


def _converse(connection: socket.socket, script: Script) -> None:
    while request := _request(connection):
        script.requests.append(request)
        reply = script.replies.pop(0) if script.replies else None
        if reply is None:
            return
        connection.sendall(reply)
        if not script.keeps:
            return


def _request(connection: socket.socket) -> bytes:
    """One whole request; nothing when the other side has gone."""
    taken = b""
    try:
        while b"\r\n\r\n" not in taken:
            if not (part := connection.recv(65_536)):
                return b""
            taken += part
        head, _, body = taken.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        while len(body) < length:
            if not (part := connection.recv(1 << 20)):
                return b""
            body += part
    except ConnectionError:
        return b""
    return head + b"\r\n\r\n" + body


def served_once(answer: Callable[[socket.socket], None]) -> socket.socket:
    """One end of a connection whose other end does what it is told, in a thread of its own."""
    ours, theirs = socket.socketpair()

    def run() -> None:
        with theirs:
            answer(theirs)

    threading.Thread(target=run, daemon=True).start()
    ours.settimeout(WAIT_S)
    return ours
