"""The transport: one kept connection, bounded answers, nothing done twice, and next to nothing loaded."""

import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import runlore
from runlore.client.http_response import HttpResponse, Upload, read_answer
from runlore.client.transport import Transport, tcp_connect, unix_connect
from runlore.domain.errors import Denied, Invalid, RunloreError, Unavailable
from tests.surfaces.scripted_server import OK, scripted, served_once
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("SUR-7")

# What starts slowly, or draws in what does: docs/decisions/0003-start-up.md.
HEAVY = {"ssl", "http.client", "email", "json", "orjson", "typing", "dataclasses", "urllib.parse", "logging"}


def test_calls_share_one_connection() -> None:
    with scripted(OK, OK, OK) as script:
        transport = script.transport()
        statuses = [transport.call("GET", f"/v1/{number}").status for number in range(3)]
        transport.close()
    assert (statuses, script.connections) == ([200, 200, 200], 1)
    assert [request.split(b" ")[1] for request in script.requests] == [b"/v1/0", b"/v1/1", b"/v1/2"]


def test_a_connection_that_the_server_closed_meanwhile_is_not_used_again() -> None:
    with scripted(OK, OK, keeps=False) as script:
        transport = script.transport()
        transport.call("GET", "/")
        assert script.closed.wait(PATIENCE_S)
        # Not repeatable: had it gone over the closed connection, it would have failed.
        assert transport.call("POST", "/", repeatable=False).status == 200
    assert script.connections == 2


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_repeatable_call_whose_connection_broke_is_made_once_more_just_as_it_was(method: str) -> None:
    with scripted(None, OK) as script:
        told = script.transport().call(
            method, "/v1", headers={"Idempotency-Key": "k"}, body=b"{}", repeatable=True
        )
    assert (told.status, len(script.requests)) == (200, 2)
    assert script.requests[0] == script.requests[1]
    assert b"Idempotency-Key: k\r\n" in script.requests[0]


def test_a_call_that_might_happen_twice_is_not_made_again() -> None:
    with scripted(None, OK) as script:
        error = refused(script.transport(), "POST", repeatable=False)
    assert (len(script.requests), error.code) == (1, "daemon.unreachable")
    assert "may have been done" in error.hint


def test_what_fails_twice_is_told_and_not_tried_a_third_time() -> None:
    with scripted(None, None, OK) as script:
        reading = refused(script.transport(), "GET", repeatable=True)
    assert (len(script.requests), reading.code) == (2, "daemon.unreachable")
    assert "nothing was changed" in reading.hint
    with scripted(None, None, OK) as script:
        writing = refused(script.transport(), "PUT", repeatable=True)
    assert "may have been done" in writing.hint


def test_a_server_that_is_not_there_is_unavailable_and_nothing_was_changed(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        gone = tcp_connect("127.0.0.1", unused.getsockname()[1])
        stale = tmp_path / "stale"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(stale))
        for connect in (gone, unix_connect(str(stale)), unix_connect(str(tmp_path / "none"))):
            transport = Transport(connect, where="the daemon", host="test", token=None)
            error = refused(transport, "POST", repeatable=False)
            assert (error.code, "nothing was changed" in error.hint) == ("daemon.unreachable", True)
            with pytest.raises(Unavailable, match="the daemon does not answer"):
                transport.open()


def test_a_server_that_says_nothing_is_not_waited_for_without_end(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        transport = Transport(unix_connect(path), where="the daemon", host="test", token=None)
        with pytest.raises(Unavailable, match=r"nothing within 0\.05 s"):
            transport.call("GET", "/", repeatable=True, timeout_s=0.05)


def test_a_server_whose_queue_is_full_is_waited_for(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(0)
        waiting = []
        for _ in range(2):
            waiting.append(socket.socket(socket.AF_UNIX))
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(path)
        with pytest.raises(TimeoutError):
            unix_connect(path)(0.1)
        for each in waiting:
            each.close()


def refused(transport: Transport, method: str, *, repeatable: bool) -> RunloreError:
    """The error that a call ends with."""
    with pytest.raises(RunloreError) as failure:
        transport.call(method, "/v1", repeatable=repeatable)
    return failure.value


def test_the_head_of_a_request_holds_what_was_asked_and_who_asks() -> None:
    with scripted(OK) as script:
        transport = script.transport(token="s3cret")
        transport.call("PUT", "/v1/x?y=z", headers={"Content-Type": "application/json"}, body=b'{"a":1}')
    lines = script.requests[0].decode().split("\r\n")
    assert lines[0] == "PUT /v1/x?y=z HTTP/1.1"
    assert {"Host: test", "Authorization: Bearer s3cret", "Content-Length: 7"} < set(lines)
    assert lines[-1] == '{"a":1}'


@pytest.mark.req("OPS-5")
@pytest.mark.parametrize("token", ["", " s3cret", "s3\r\nX: y", "s3crét", "s3\0"])
def test_a_token_that_could_not_stand_in_a_header_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(Invalid) as failure:
        Transport(unix_connect("/nowhere"), where="x", host="x", token=token)
    error = failure.value
    assert error.code == "token.format"
    assert "s3" not in error.sentence + error.hint


@pytest.mark.req("OPS-5")
def test_a_socket_of_another_user_is_told_no_secret(tmp_path: Path) -> None:
    path, me = str(tmp_path / "s"), os.geteuid()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        if me == 0:
            os.seteuid(65_534)
        try:
            # Whoever listens is who the kernel tells.
            listener.listen()
        finally:
            os.seteuid(me)
        expected = 0 if me == 0 else me + 1
        transport = Transport(unix_connect(path, owner=expected), where="x", host="x", token="s3cret")
        with pytest.raises(Denied) as failure:
            transport.call("GET", "/", repeatable=True)
        listener.settimeout(5)
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.recv(100) == b""
    assert failure.value.code == "daemon.stranger"


def test_a_socket_of_the_owner_is_used() -> None:
    with scripted(OK) as script:
        assert script.transport(owner=os.geteuid()).call("GET", "/").status == 200


@pytest.mark.parametrize(
    ("reply", "body"),
    [
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
            b"abcde",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", b"x"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\nContent-Length:  2 \n\nok", b"ok"),
    ],
)
def test_the_forms_that_an_answer_can_have_are_read_and_the_connection_kept(
    reply: bytes, body: bytes
) -> None:
    with scripted(reply, OK) as script:
        transport = script.transport()
        assert transport.call("GET", "/").body == body
        assert transport.call("GET", "/").body == b"{}"
    assert script.connections == 1


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ],
)
def test_a_connection_that_is_to_be_closed_is_not_used_again(reply: bytes) -> None:
    with scripted(reply, OK) as script:
        transport = script.transport()
        assert transport.call("GET", "/").body == b"ok"
        assert transport.call("GET", "/").body == b"{}"
    assert script.connections == 2


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    with scripted(b"HTTP/1.1 200 OK\r\n\r\nok", OK, keeps=False) as script:
        transport = script.transport()
        assert [transport.call("GET", "/").body for _ in range(2)] == [b"ok", b"{}"]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "answer.format"),
        (b"HTTP/2 200\r\n\r\n", "answer.format"),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", "answer.format"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "answer.format"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "answer.format"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "answer.format"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", "answer.format"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 1_000 + b"\r\n", "answer.format"),
        (b"x" * 100_000, "answer.format"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "answer.size"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n", "answer.size"),
    ],
)
def test_what_is_no_answer_is_refused_and_asked_for_once(reply: bytes, code: str) -> None:
    with scripted(reply, OK, keeps=False) as script:
        assert refused(script.transport(), "GET", repeatable=True).code == code
    assert len(script.requests) == 1


@pytest.mark.parametrize("size", [1_000, 1_001])
@pytest.mark.parametrize("told", [b"", b"Content-Length: %d\r\n"])
def test_an_answer_is_read_to_its_bound_and_no_further(size: int, told: bytes) -> None:
    reply = b"HTTP/1.1 200 OK\r\n%s\r\n%s" % (told and told % size, b"x" * size)
    with served_once(lambda theirs: theirs.sendall(reply)) as connection:
        if size == 1_000:
            assert len(read_answer(connection, bytes_max=1_000).body) == 1_000
            return
        with pytest.raises(Unavailable, match="larger than 1,000 bytes"):
            read_answer(connection, bytes_max=1_000)


def test_chunks_are_bounded_together() -> None:
    chunk = b"64\r\n" + b"x" * 100 + b"\r\n"
    reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 11 + b"0\r\n\r\n"
    with served_once(lambda theirs: theirs.sendall(reply)) as connection:
        assert len(read_answer(connection, bytes_max=1_100).body) == 1_100
    with served_once(lambda theirs: theirs.sendall(reply)) as connection, pytest.raises(Unavailable):
        read_answer(connection, bytes_max=1_099)


def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one() -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
    with scripted(half, half, keeps=False) as script:
        assert refused(script.transport(), "GET", repeatable=True).code == "daemon.unreachable"
    assert len(script.requests) == 2


@given(reply=st.binary(max_size=300) | st.binary(max_size=200).map(b"HTTP/1.1 200 OK\r\n".__add__))
def test_any_bytes_are_an_answer_or_an_error_of_ours(reply: bytes) -> None:
    with served_once(lambda theirs: theirs.sendall(reply)) as connection:
        try:
            assert isinstance(read_answer(connection), HttpResponse)
        except (Unavailable, ConnectionError):
            return


def test_a_file_is_sent_as_it_is_and_whoever_watches_hears_of_it(tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    file = tmp_path / "export"
    file.write_bytes(content)
    told: list[tuple[int, int]] = []
    with scripted(OK) as script, file.open("rb") as opened:
        script.transport().call("POST", "/", body=Upload(opened, lambda *step: told.append(step)))
    assert script.requests[0].partition(b"\r\n\r\n")[2] == content
    assert told[-1] == (len(content), len(content))
    assert [done for done, _ in told] == sorted({done for done, _ in told})


def test_a_file_that_becomes_shorter_while_it_is_sent_is_an_error_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "export"
    file.write_bytes(b"x" * 100)
    with scripted(OK) as script, file.open("rb") as opened:
        upload = Upload(opened, lambda _done, _total: None)
        os.truncate(file, 50)
        with pytest.raises(Invalid, match="became shorter") as failure:
            script.transport().call("POST", "/", body=upload)
    assert failure.value.code == "import.file"


def test_a_server_that_refuses_a_body_before_it_has_read_it_is_heard() -> None:
    def refuse(theirs: socket.socket) -> None:
        theirs.recv(1_000)
        theirs.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}")
        theirs.shutdown(socket.SHUT_RD)
        while theirs.recv(1 << 20):
            continue

    connection = served_once(refuse)
    transport = Transport(lambda _timeout_s: connection, where="x", host="x", token=None)
    with closing(transport):
        assert transport.call("POST", "/", body=b"x" * 50_000_000).status == 413


def test_the_transport_loads_next_to_nothing() -> None:
    program = "import sys; import runlore.client.transport; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={**os.environ, "PYTHONPATH": str(Path(runlore.__file__).parents[1])},
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    loaded = set(done.stdout.decode().split())
    assert "runlore.client.transport" in loaded
    assert loaded & HEAVY == set()
