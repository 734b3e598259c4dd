"""A server on this machine that speaks the protocols of model providers, and says what a test tells it to.

    with model_server({"action": "reject", "reason": "noise"}) as server:
        world = World(server.settings(settings))
        ...
        assert server.requests[0].document["content"] == "..."

Each thing to say is used once, in order; the last one is said again and again. A mapping is a good answer, in
the form that the request asks for. `says`, `calls`, `refuses`, `fails`, `sends`, `hangs`, `breaks_off` and
`trickles` make the others. A function is given the request and answers with any of these.

In a conversation, whose answers are streamed, `says("Wait.") + calls("shell", {"command": "ls"})` says words
and calls a tool; a function can decide by `received.conversation`, the messages so far, and
`received.tools`.
"""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, TypeAlias

from runlore.config.providers import ModelSettings
from runlore.config.settings import Settings
from runlore.domain.agent.conversation import Message
from runlore.models.configured import ConfiguredChat, ConfiguredModels
from runlore.models.model_choice import ModelChoice
from runlore.ports.model import Provider, ProviderKind
from tests.model_streams import Called, conversation, error_event, events, finish_reason, tools

# OpenAI itself, a server that is only compatible with it, and Anthropic.
PROTOCOLS = ("openai", "compatible", "anthropic")
KEY_VARIABLE = "TEST_MODEL_KEY"
KEY = "test-key-that-nobody-may-see-6f1b"
USAGE = (120, 30)
WAIT_S = 30
_BEAT_S = 0.02


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What to do with one request. `body` is sent as it is; else it is made of the other fields.

    Of a stream: `piece_chars` of text go in an event, with `beat_s` between two. After `stream_bytes_max`
    bytes comes the error `stream_error`, if there is one, and then `stream_end`: the connection is lost, or
    stays without a word, or the answer is ended as if it were whole.
    """

    output: Mapping[str, Any] | None = None
    text: str = ""
    is_refusal: bool = False
    is_cut: bool = False
    usage: tuple[Any, Any] | None = USAGE
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    sent_bytes_max: int | None = None
    then_hangs: bool = False
    is_slow: bool = False
    calls: tuple[Called, ...] = ()
    streams: bool = True
    piece_chars: int = 7
    beat_s: float = 0.0
    stream_bytes_max: int | None = None
    stream_error: str = ""
    stream_end: Literal["lost", "hangs", "ended"] = "lost"

    def __add__(self, other: "Reply") -> "Reply":
        """Both in one answer: the words of both, the calls of both."""
        return replace(self, text=self.text + other.text, calls=self.calls + other.calls)


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request as it came; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def instructions(self) -> str:
        """The system text."""
        if "system" in self.body:
            return _text(self.body["system"])
        if "messages" not in self.body:
            return str(self.body.get("instructions", ""))
        return "\n".join(
            _text(said["content"])
            for said in self.body["messages"]
            if said["role"] in ("system", "developer")
        )

    @property
    def text(self) -> str:
        """What the user says."""
        return _text(next(said["content"] for said in self.body["messages"] if said["role"] == "user"))

    @property
    def conversation(self) -> tuple[Message, ...]:
        """The messages so far, without the system text."""
        return conversation(self.body)

    @property
    def tools(self) -> dict[str, tuple[str, Any]]:
        """The tools that may be called: the description and the schema of each."""
        return tools(self.body)

    @property
    def document(self) -> dict[str, Any]:
        """The data in what the user says."""
        return dict(json.loads(self.text.removeprefix("<data>\n").removesuffix("\n</data>")))


Script: TypeAlias = Mapping[str, Any] | Reply | Callable[[Received], "Mapping[str, Any] | Reply"]


def says(text: str, **fields: Any) -> Reply:
    """Plain text, whatever the request asks for."""
    return Reply(text=text, **fields)


def calls(name: str, arguments: Mapping[str, Any] | str | None = None, call_id: str | None = None) -> Reply:
    """A call of a tool."""
    return Reply(calls=(Called(name=name, arguments=arguments or {}, call_id=call_id),))


def refuses(**fields: Any) -> Reply:
    """A refusal, as the protocol tells it."""
    return Reply(is_refusal=True, text="I will not.", **fields)


def fails(status: int, *, code: str = "some_error", message: str = "no", **headers: str) -> Reply:
    """An error of the server; `retry_after="7"` becomes the header `retry-after`."""
    error = {"type": code, "code": code, "message": message}
    return Reply(
        status=status,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        body=json.dumps({"type": "error", "error": error}).encode(),
    )


def sends(body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """A body, byte for byte."""
    return Reply(body=body, status=status, headers=headers or {})


def hangs(*, after_bytes: int | None = None, output: Mapping[str, Any] | None = None) -> Reply:
    """Nothing comes, or nothing after so many bytes of an answer, headers included."""
    return Reply(output=output or {}, sent_bytes_max=after_bytes or 0, then_hangs=True)


def breaks_off(*, after_bytes: int = 0, output: Mapping[str, Any] | None = None) -> Reply:
    """The connection ends, at once or after so many bytes of an answer, headers included."""
    return Reply(output=output or {}, sent_bytes_max=after_bytes)


def trickles(output: Mapping[str, Any] | None = None) -> Reply:
    """An answer, one byte after the other, slower than anybody waits."""
    return Reply(output=output or {}, is_slow=True)


@dataclass
class ModelServer:
    """The running server: where it is, and what it was asked."""

    port: int
    script: list[Script]
    # Not told with it: a property asks thousands of times, and what it failed with would not be seen for it.
    requests: list[Received] = field(default_factory=list, repr=False)
    ends: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    connections: list[socket.socket] = field(default_factory=list, repr=False)

    def base_url(self, protocol: str = "compatible") -> str:
        """The address that a client is set up with."""
        root = f"http://127.0.0.1:{self.port}"
        return root if protocol == "anthropic" else f"{root}/v1"

    def provider(self, protocol: str = "compatible", **fields: Any) -> Provider:
        """This server as the provider `test`, with a key."""
        kind = ProviderKind.ANTHROPIC if protocol == "anthropic" else ProviderKind.OPENAI
        return replace(
            Provider(
                name="test",
                kind=kind,
                base_url=self.base_url(protocol),
                api_key_env=KEY_VARIABLE,
                api_key=KEY,
                own_address=protocol == "compatible",
            ),
            **fields,
        )

    def models(self, protocol: str = "compatible", **fields: Any) -> ConfiguredModels:
        """Models behind this server; the default one is `test:scripted`. To be closed."""
        return ConfiguredModels(
            ModelChoice(default="test:scripted", providers=(self.provider(protocol, **fields),))
        )

    def chat(self, protocol: str = "compatible", **fields: Any) -> ConfiguredChat:
        """The same in conversation. To be closed."""
        return ConfiguredChat(
            ModelChoice(default="test:scripted", providers=(self.provider(protocol, **fields),))
        )

    def settings(self, settings: Settings, protocol: str = "compatible") -> Settings:
        """Settings with this server's `test:scripted` as the default model."""
        models = ModelSettings(default="test:scripted", providers=(self.provider(protocol),))
        return replace(settings, models=models)

    def next(self, received: Received) -> Reply:
        """What to say now."""
        with self.lock:
            self.requests.append(received)
            said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        answer = said if isinstance(said, Reply | Mapping) else said(received)
        return answer if isinstance(answer, Reply) else Reply(output=answer)


@contextmanager
def model_server(*script: Script, certificate: Path | None = None) -> Iterator[ModelServer]:
    """Serve a script, over TLS with a certificate; without a script every answer is an empty object."""
    listener = _Listener(("127.0.0.1", 0), _Handler)
    if certificate is not None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(certificate)
        listener.socket = tls.wrap_socket(listener.socket, server_side=True, do_handshake_on_connect=False)
    server = ModelServer(port=listener.server_port, script=list(script) or [{}])
    listener.model_server = server  # type: ignore[attr-defined]
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": _BEAT_S})
    thread.start()
    try:
        yield server
    finally:
        server.ends.set()
        listener.shutdown()
        thread.join(WAIT_S)
        with server.lock:
            for connection in server.connections:
                _hang_up(connection)
        listener.server_close()


class _Listener(ThreadingHTTPServer):
    """Whose clients may go whenever they like."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """A connection that ends while it is read."""


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    timeout = WAIT_S
    # Else each stream waits 40 ms for the client's kernel to say that it has its beginning.
    disable_nagle_algorithm = True

    @property
    def ours(self) -> ModelServer:
        """The server that it belongs to."""
        found = self.server.model_server  # type: ignore[attr-defined]
        assert isinstance(found, ModelServer)
        return found

    def setup(self) -> None:
        """Note the connection, to be ended with the server."""
        super().setup()
        with self.ours.lock:
            self.ours.connections.append(self.connection)

    def do_POST(self) -> None:
        """Answer one request."""
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(path=self.path.partition("?")[0], headers=headers, body=json.loads(raw))
        reply = self.ours.next(received)
        try:
            if received.body.get("stream") and reply.streams and reply.body is None:
                self._stream(reply, received)
            else:
                self._send(reply, _head(reply, _body(reply, received)))
        except OSError:
            # The client does not wait any longer.
            self.close_connection = True

    def _stream(self, reply: Reply, received: Received) -> None:
        if reply.output is not None:
            reply = replace(reply, text=json.dumps(reply.output))
        blocks = _limited(events(reply, received.path, received.body), reply.stream_bytes_max)
        if reply.stream_error:
            blocks.append(error_event(received.path, reply.stream_error))
        head = _head(reply, b"", {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        is_whole = reply.stream_bytes_max is None or reply.stream_end == "ended"
        message = [head, *map(_chunked, blocks), *([_chunked(b"")] if is_whole else [])]
        if reply.is_slow or reply.sent_bytes_max is not None:
            self._send(reply, b"".join(message))
            return
        for block in message:
            self.wfile.write(block)
            if reply.beat_s and self.ours.ends.wait(reply.beat_s):
                break
        if not is_whole:
            self._send(replace(reply, sent_bytes_max=0, then_hangs=reply.stream_end == "hangs"), b"")

    def _send(self, reply: Reply, message: bytes) -> None:
        if reply.is_slow:
            for at in range(len(message)):
                self.wfile.write(message[at : at + 1])
                if self.ours.ends.wait(_BEAT_S):
                    break
            self.close_connection = True
            return
        self.wfile.write(message[: reply.sent_bytes_max])
        if reply.then_hangs:
            self.ours.ends.wait(WAIT_S)
        if reply.sent_bytes_max is not None:
            _hang_up(self.connection)
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        # It has ended already.
        connection.close()


def _chunked(block: bytes) -> bytes:
    return f"{len(block):x}\r\n".encode() + block + b"\r\n"


def _limited(blocks: list[bytes], bytes_max: int | None) -> list[bytes]:
    """As many bytes of the blocks, and no empty one, which would end the answer."""
    limited, left = [], sum(map(len, blocks)) if bytes_max is None else bytes_max
    for block in blocks:
        limited.append(block[: max(0, left)])
        left -= len(block)
    return [block for block in limited if block]


def _head(reply: Reply, body: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    headers = headers or {"content-type": "application/json", "content-length": str(len(body))}
    headers = {**headers, **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _body(reply: Reply, received: Received) -> bytes:
    if reply.body is not None:
        return reply.body
    made = _BY_PATH.get(received.path.rpartition("/")[2], _completion)
    return json.dumps(made(reply, received)).encode()


def _completion(reply: Reply, received: Received) -> dict[str, Any]:
    """OpenAI's chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    reason = finish_reason(reply)[0]
    if reply.is_refusal:
        message |= {"content": None, "refusal": reply.text}
    elif reply.output is not None and received.body.get("tools"):
        function = {
            "name": received.body["tools"][0]["function"]["name"],
            "arguments": json.dumps(reply.output),
        }
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
        reason = "tool_calls"
    elif reply.output is not None:
        message["content"] = json.dumps(reply.output)
    elif reply.calls:
        message["tool_calls"] = [
            {
                "id": call.id_in(received.body, number),
                "type": "function",
                "function": {"name": call.name, "arguments": call.written},
            }
            for number, call in enumerate(reply.calls)
        ]
    completion: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": received.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
    }
    if reply.usage is not None:
        sent, came = reply.usage
        total = sent + came if isinstance(sent, int) and isinstance(came, int) else 0
        completion["usage"] = {"prompt_tokens": sent, "completion_tokens": came, "total_tokens": total}
    return completion


def _response(reply: Reply, received: Received) -> dict[str, Any]:
    """OpenAI's response."""
    said = {"type": "output_text", "text": reply.text, "annotations": []}
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [said],
    }
    calls = [
        {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": call.id_in(received.body, number),
            "name": call.name,
            "arguments": call.written,
            "status": "completed",
        }
        for number, call in enumerate(reply.calls)
    ]
    sent, came = reply.usage or (0, 0)
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "model": received.body["model"],
        "output": [*([message] if reply.text else []), *calls],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": sent,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": came,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sent + came,
        },
    }


def _message(reply: Reply, received: Received) -> dict[str, Any]:
    """Anthropic's message."""
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    reason = finish_reason(reply)[1]
    if reply.output is not None and received.body.get("tools") and not reply.is_refusal:
        name = received.body["tools"][0]["name"]
        content.append({"type": "tool_use", "id": "toolu_1", "name": name, "input": reply.output})
        reason = "tool_use"
    elif reply.output is not None:
        content.append({"type": "text", "text": json.dumps(reply.output)})
    content += [
        {"type": "tool_use", "id": call.id_in(received.body, n), "name": call.name, "input": call.arguments}
        for n, call in enumerate(reply.calls)
    ]
    sent, came = (0, 0) if reply.usage is None else reply.usage
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": received.body["model"],
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": sent, "output_tokens": came},
    }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content)


_BY_PATH = {"messages": _message, "responses": _response}
