"""The API as a program has it: a server of its own thread, called over its unix socket or over TCP.

Everything is real: the store, the sockets, the bytes. Only the process is shared, so that a test can look
at the same store from inside.
"""

import asyncio
import http.client
import json
import socket
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from runlore.api.connections import Bounds
from runlore.api.serve import MountedApp, serve_on
from runlore.config.server import ServerSettings
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.parts import Parts
from runlore.daemon.process.server import Service, service
from runlore.daemon.process.sockets import bind_tcp, bind_unix
from runlore.daemon.process.tokens import operator_secret
from runlore.daemon.wiring import open_parts
from runlore.domain.access import Caller, Role
from runlore.domain.scope import Scope
from runlore.ports.operations import NewToken
from tests.state_roots import lay_state_root
from tests.surfaces.api_conformance import check
from tests.surfaces.command_line import Runlore
from tests.waiting import PATIENCE_S

Json = dict[str, Any]
TIMEOUT_S = PATIENCE_S


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        """The document."""
        document = json.loads(self.body)
        assert isinstance(document, dict), document
        return document

    @property
    def problem(self) -> tuple[int, str]:
        """The status and the code of a problem document that says what it must."""
        assert self.headers["content-type"] == "application/problem+json", self
        document = self.json
        assert set(document) == {"type", "title", "status", "code", "detail", "hint"}
        assert document["status"] == self.status
        assert document["detail"], "a problem says what is wrong"
        assert document["hint"], "a problem says what to do"
        return self.status, str(document["code"])


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket's path."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT_S)
        self.sock.connect(self._path)


def call(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    *,
    body: bytes | Iterable[bytes] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One call on a connection of its own; its answer is one that the OpenAPI document tells."""
    try:
        connection.request(method, path, body=body, headers=dict(headers or {}))
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        told = Answer(status=answer.status, headers=named, body=answer.read())
    finally:
        connection.close()
    check(method, path, status=told.status, media=told.headers.get("content-type", ""), body=told.body)
    return told


class Api:
    """A Runlore that is served, and its operator."""

    def __init__(self, settings: Settings, served: Service, *, path: str, port: int) -> None:
        self.settings = settings
        self.service = served
        self.secret = operator_secret(served.parts)
        self.port = port
        self._path = path

    @property
    def operations(self) -> Application:
        """The same operations from inside, for the caller that the operator's token names."""
        return Application(self.service.parts, Caller(actor="operator", role=Role.OPERATOR))

    def token(self, name: str, role: Role, *scopes: str) -> str:
        """The secret of a new token."""
        limits = frozenset(map(Scope.parse, scopes)) or None
        made = self.operations.create_token(NewToken(name=name, role=role, scopes=limits))
        return made.secret

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        """One call over the unix socket with the operator's token, unless told otherwise."""
        headers = {"Authorization": f"Bearer {more.pop('token', self.secret)}", **more.pop("headers", {})}
        if query := more.pop("query", None):
            path = f"{path}?{urlencode(query, doseq=True)}"
        if body is not None and not isinstance(body, bytes) and not hasattr(body, "__next__"):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        kept = {name: value for name, value in headers.items() if value is not None}
        return call(
            self.connection(over_tcp=more.pop("over_tcp", False)), method, path, body=body, headers=kept
        )

    def connection(self, *, over_tcp: bool = False) -> http.client.HTTPConnection:
        """A new connection."""
        if over_tcp:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        return UnixConnection(self._path)

    def get(self, path: str, **query: Any) -> Json:
        """The document of a reading call that succeeds."""
        answer = self.call("GET", path, query=query)
        assert answer.status == 200, answer
        return answer.json

    def post(self, path: str, body: Any = None, *, status: int = 200) -> Json:
        """The document of an act that succeeds."""
        answer = self.call("POST", path, body)
        assert answer.status == status, answer
        return answer.json

    def tables(self) -> Json:
        """Everything that is stored, row by row."""
        url = self.settings.database_url
        return Runlore(Path(self.settings.state_root), url).contents()["tables"]  # type: ignore[no-any-return]


def path_of(*segments: str) -> str:
    """A path whose segments may hold anything."""
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


@contextmanager
def serving(
    settings: Settings,
    server: ServerSettings | None = None,
    *,
    bounds: Bounds | None = None,
    mounts: Callable[[], Mapping[str, MountedApp]] = dict,
    fitted: Callable[[Parts], Parts] = lambda parts: parts,
    **parts: Any,
) -> Iterator[Api]:
    """Serve a state root in a thread, over a unix socket and over TCP, with its parts `fitted` first."""
    if not settings.database_url:
        lay_state_root(settings.state_root)
    opened = fitted(open_parts(replace(settings, server=server or ServerSettings()), **parts))
    with tempfile.TemporaryDirectory(prefix="runlore-") as folder:
        path = f"{folder}/api.sock"
        listeners = [bind_unix(path), bind_tcp("127.0.0.1", 0)]
        port = listeners[1].getsockname()[1]
        api = Api(settings, service(opened, server or ServerSettings()), path=path, port=port)
        started = threading.Event()
        ends: list[Any] = []

        async def run() -> None:
            stop, loop = asyncio.Event(), asyncio.get_running_loop()
            ends.append(lambda: loop.call_soon_threadsafe(stop.set))
            await serve_on(
                api.service, listeners, stop=stop, started=started.set, bounds=bounds, mounts=mounts
            )

        thread = threading.Thread(target=lambda: asyncio.run(run()), name="api")
        thread.start()
        try:
            assert started.wait(TIMEOUT_S), "the server does not start"
            yield api
        finally:
            ends[0]()
            thread.join(TIMEOUT_S)
            opened.close()
