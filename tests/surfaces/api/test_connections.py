"""Connections that dawdle, asking or listening: they are few, they are closed, and others are served."""

import asyncio
import resource
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from runlore.api.connections import CHUNK_BYTES_MIN, CHUNKS_FREE, PIECE_BYTES, Bounds, impatient
from runlore.api.security import BODY_BYTES_PER_S_MIN
from runlore.config.settings import Settings
from runlore.daemon.process.server import GRACE_S, Health
from runlore.ports.store import Transaction
from tests.surfaces.api_client import TIMEOUT_S, Api, serving

pytestmark = pytest.mark.req("OPS-5")

MOST = 4
BOUNDS = Bounds(head_s=0.2, body_pause_s=0.2, taken_s=0.2, stopping_s=0.1, connections_max=MOST)
PATIENT = Bounds(head_s=600.0, body_pause_s=600.0, connections_max=MOST)
PIECE_S = 0.1
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A Runlore that waits for nobody."""
    root = tmp_path_factory.mktemp("hurried") / "runlore"
    with serving(Settings(state_root=str(root)), bounds=BOUNDS) as api:
        yield api


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A Runlore that waits for everybody, as far as there is room."""
    root = tmp_path_factory.mktemp("patient") / "runlore"
    with serving(Settings(state_root=str(root)), bounds=PATIENT) as api:
        yield api


WAYS = pytest.mark.parametrize("over_tcp", [True, False], ids=["tcp", "unix"])


@WAYS
def test_a_connection_that_asks_nothing_is_closed(hurried: Api, *, over_tcp: bool) -> None:
    with connected(hurried, over_tcp=over_tcp) as peer:
        assert is_closed(peer)


@WAYS
@pytest.mark.req("SEC-5")
@pytest.mark.parametrize("sent", [b"G", HEALTH[:-2]])
def test_a_head_that_does_not_end_is_answered_and_closed(
    hurried: Api, sent: bytes, *, over_tcp: bool
) -> None:
    with connected(hurried, over_tcp=over_tcp) as peer:
        peer.sendall(sent)

        assert is_too_slow(everything(peer))


@pytest.mark.req("SEC-5")
def test_a_second_head_on_the_same_connection_is_waited_for_no_longer(hurried: Api) -> None:
    with connected(hurried) as peer:
        ask_for_health(peer)
        peer.sendall(b"GET /hea")

        assert is_too_slow(everything(peer))


@WAYS
@pytest.mark.req("SEC-5")
@pytest.mark.parametrize("path", ["/v1/memory/profile-proposals", "/v1/memory/import"])
def test_a_body_that_comes_byte_by_byte_is_answered_and_closed(
    hurried: Api, path: str, *, over_tcp: bool
) -> None:
    with connected(hurried, over_tcp=over_tcp) as peer:
        peer.sendall(post_head(hurried, path, length=10_000))

        assert is_too_slow(everything(peer, sending=b" "))


@pytest.mark.req("SEC-5")
def test_a_body_that_stops_coming_is_answered_and_closed(hurried: Api) -> None:
    with connected(hurried) as peer:
        peer.sendall(post_head(hurried, "/v1/memory/profile-proposals", length=100) + b"{")

        assert is_too_slow(everything(peer))


@pytest.mark.req("SEC-5")
def test_an_honest_body_may_take_longer_than_one_may_pause(hurried: Api) -> None:
    """Each piece earns the time of the next one."""
    piece = b" " * (BODY_BYTES_PER_S_MIN // 4)
    pieces = int(4 * BOUNDS.body_pause_s / PIECE_S)
    length = len(piece) * pieces + 2
    with connected(hurried) as peer:
        peer.sendall(post_head(hurried, "/v1/memory/profile-proposals", length=length))
        began_at = time.monotonic()
        for _ in range(pieces):
            peer.sendall(piece)
            assert not select.select([peer], [], [], PIECE_S)[0], peer.recv(65_536)
        assert time.monotonic() - began_at > 2 * BOUNDS.body_pause_s
        peer.sendall(b"{}")

        assert b" 422 " in peer.recv(65_536)


@pytest.mark.req("AGT-5")
def test_a_follower_that_takes_nothing_is_let_go(hurried: Api) -> None:
    with following(hurried) as peer:
        assert is_left(peer)


@pytest.mark.req("AGT-5")
def test_a_daemon_that_stops_waits_for_nobody_who_takes_nothing(tmp_path: Path) -> None:
    settings = Settings(state_root=str(tmp_path / "runlore"))
    with ExitStack() as ends:
        with serving(settings, bounds=replace(BOUNDS, taken_s=600.0)) as api:
            peer = ends.enter_context(following(api))
            stopping_at = time.monotonic()
        assert time.monotonic() - stopping_at < GRACE_S / 2
        assert is_left(peer)


def test_more_connections_than_there_is_room_for_are_turned_away_and_the_socket_works_on(
    patient: Api,
) -> None:
    with ExitStack() as ends:
        held = [ends.enter_context(connected(patient)) for _ in range(MOST)]
        for peer in held:
            ask_for_health(peer)
            peer.sendall(b"GET /slow")

        beyond = [ends.enter_context(connected(patient)) for _ in range(3 * MOST)]

        assert all(map(is_closed, beyond))
        assert patient.call("GET", "/v1/status").status == 200
        for peer in held:
            peer.sendall(b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert b" 401 " in everything(peer)
    assert patient.call("GET", "/healthz", over_tcp=True).status == 200


@pytest.mark.req("SUR-3")
@pytest.mark.parametrize("host", ["a@127.0.0.1", "evil.example@localhost", "localhost@evil", "@localhost"])
@pytest.mark.parametrize("over_tcp", [True, False], ids=["tcp", "unix"])
def test_a_host_with_a_user_in_it_is_refused(patient: Api, host: str, *, over_tcp: bool) -> None:
    answer = patient.call("GET", "/v1/status", headers={"Host": host}, over_tcp=over_tcp)

    assert answer.problem == (403, "host.denied")


@pytest.mark.req("SUR-3")
def test_a_body_that_tells_its_length_in_two_ways_is_refused(patient: Api) -> None:
    head = (
        "POST /v1/memory/profile-proposals HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {patient.secret}\r\nConnection: close\r\n"
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    with connected(patient) as peer:
        peer.sendall(head.encode())

        told = everything(peer)

    assert b" 400 " in told
    assert b"request.header" in told


def test_asking_for_readiness_begins_one_transaction_a_second(
    patient: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, now = patient.service.parts.store, [0.0]
    begun: list[float] = []
    transaction = store.transaction

    def counted() -> AbstractContextManager[Transaction]:
        begun.append(now[0])
        return transaction()

    monkeypatch.setattr(store, "transaction", counted)
    health = Health(patient.service.parts, lambda: now[0])
    health.ready()

    for moment in (0.0, 0.0, 0.5, 0.999, 1.0, 1.5, 2.1):
        now[0] = moment
        assert health.reasons() == ()

    assert begun == [0.0, 1.0, 2.1]


def test_a_daemon_may_open_as_many_files_as_it_is_let_and_tcp_gets_half_of_them_at_most() -> None:
    code = (
        "import resource\n"
        "from runlore.api.connections import bounds_of_process\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 200))\n"
        "print(bounds_of_process().connections_max, resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 200

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "100 (200, 200)"


def connected(api: Api, *, over_tcp: bool = True) -> socket.socket:
    """A bare connection."""
    connection = api.connection(over_tcp=over_tcp)
    connection.connect()
    assert isinstance(connection.sock, socket.socket)
    connection.sock.settimeout(TIMEOUT_S)
    return connection.sock


def following(api: Api) -> socket.socket:
    """Who follows a run, an event of which is more than a connection holds, and takes the beginning of it."""
    api.post("/v1/sessions", {"session_id": "long"}, status=201)
    api.post("/v1/sessions/long/runs", {"run_id": "long", "request": "Tell me all"}, status=201)
    said = {"type": "assistant_message", "text": "word " * 150_000}
    api.post("/v1/runs/long/events", {"events": [said]}, status=201)
    # On TCP the system would hide from the other side that it was left, until it takes the rest.
    peer = connected(api, over_tcp=False)
    head = "GET /v1/runs/long/events HTTP/1.1\r\nHost: localhost\r\n"
    peer.sendall(f"{head}Authorization: Bearer {api.secret}\r\n\r\n".encode())
    left = 100_000
    while left:
        left -= len(peer.recv(left))
    return peer


def is_left(peer: socket.socket) -> bool:
    """Whether the other side lets go of a connection that has not taken everything."""
    poll = select.poll()
    poll.register(peer, select.POLLRDHUP)
    return bool(poll.poll(TIMEOUT_S * 1_000))


def ask_for_health(peer: socket.socket) -> None:
    """One whole call; the connection stays."""
    peer.sendall(HEALTH)
    told = b""
    while not told.endswith(b"}"):
        piece = peer.recv(65_536)
        assert piece, told
        told += piece
    assert b"200 OK" in told


def is_closed(peer: socket.socket) -> bool:
    """Whether the other side ends the connection, and says nothing before."""
    try:
        return peer.recv(1) == b""
    except ConnectionError:
        return True


def post_head(api: Api, path: str, *, length: int) -> bytes:
    """The head of a call whose body is still to come."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {api.secret}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def is_too_slow(told: bytes) -> bool:
    """Whether an answer is the problem document of a request that dawdles, and the last one."""
    head, _, body = told.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    said = b"content-type: application/problem+json" in lines and b"connection: close" in lines
    return said and lines[0].startswith(b"http/1.1 408 ") and b'"request.too-slow"' in body


def everything(peer: socket.socket, *, sending: bytes = b"") -> bytes:
    """All that comes until the connection is closed, while some bytes are sent again and again."""
    told, until = b"", time.monotonic() + TIMEOUT_S
    while time.monotonic() < until:
        if sending and not select.select([peer], [], [], 0.02)[0]:
            peer.sendall(sending)
            continue
        try:
            piece = peer.recv(65_536)
        except ConnectionResetError:
            # A byte of ours came when the other end was closed already: all that was told came before.
            return told
        if not piece:
            return told
        told += piece
    raise AssertionError("the connection was never ended")


@pytest.mark.req("SEC-5")
def test_what_a_connection_has_sent_is_taken_in_pieces_between_which_others_have_their_turn() -> None:
    taken, answer = asyncio.run(served(b"1000\r\n" + b"x" * 4096 + b"\r\n", 100))

    assert b" 204 " in answer
    assert sum(taken) == 409_600
    assert max(taken) <= PIECE_BYTES


@pytest.mark.req("SEC-5")
@pytest.mark.parametrize("size", [1, CHUNK_BYTES_MIN // 2])
def test_a_body_in_chunks_that_it_is_not_worth_is_read_no_further(size: int) -> None:
    chunk = b"%x\r\n" % size + b"x" * size + b"\r\n"
    taken, answer = asyncio.run(served(chunk, 40_000))

    assert b" 400 " in answer
    assert b"request.chunks" in answer
    assert sum(taken) <= 2 * CHUNKS_FREE * size


@pytest.mark.req("SEC-5")
@pytest.mark.parametrize("size", [CHUNK_BYTES_MIN, 1_000])
def test_a_body_in_chunks_of_lines_is_taken_whole(size: int) -> None:
    chunk = b"%x\r\n" % size + b"x" * size + b"\r\n"
    taken, answer = asyncio.run(served(chunk, 4_000))

    assert b" 204 " in answer
    assert sum(taken) == 4_000 * size


@WAYS
@pytest.mark.req("SEC-5")
@pytest.mark.parametrize("secret", ["", "own"])
def test_who_sends_chunks_of_a_byte_hears_why_and_is_closed(
    patient: Api, secret: str, *, over_tcp: bool
) -> None:
    head = (
        "POST /v1/memory/profile-proposals HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {secret and patient.secret}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with connected(patient, over_tcp=over_tcp) as peer:
        peer.sendall(head.encode() + b"1\r\n \r\n" * 1_000_000)
        peer.shutdown(socket.SHUT_WR)

        told = everything(peer)

    assert (b"request.chunks" in told) or (not secret and b" 401 " in told)


@WAYS
@pytest.mark.parametrize("sent", [b"GET\r\n\r\n", b"\x16\x03\x01 x\r\n\r\n", b"G" * 200_000, b"zz\r\n"])
def test_what_is_no_request_is_a_problem_and_closed(hurried: Api, sent: bytes, *, over_tcp: bool) -> None:
    head = b""
    if sent.startswith(b"zz"):
        head = post_head(hurried, "/v1/memory/profile-proposals", length=5).replace(
            b"Content-Length: 5", b"Transfer-Encoding: chunked"
        )
    with connected(hurried, over_tcp=over_tcp) as peer:
        peer.sendall(head + sent)

        told = everything(peer)

    assert told.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in told
    assert b"request.http" in told


async def served(chunk: bytes, times: int) -> tuple[list[int], bytes]:
    """How much of a body in chunks an application has taken at a time, and what was answered."""
    taken: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        is_more = True
        while is_more:
            message = await receive()
            taken.append(len(message.get("body", b"")))
            is_more = message.get("more_body", False)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    here, there = socket.socketpair()
    loop, config = asyncio.get_running_loop(), uvicorn.Config(app, lifespan="off")
    config.load()
    made = impatient(BOUNDS)(config=config, server_state=ServerState(), app_state={})
    transport, _ = await loop.connect_accepted_socket(lambda: made, here)
    reader, writer = await asyncio.open_connection(sock=there)
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    # All of it at once, as the system hands over what has been waiting.
    made.data_received(head + chunk * times + b"0\r\n\r\n")
    answer = await reader.read()
    writer.close()
    transport.close()
    return taken, answer
