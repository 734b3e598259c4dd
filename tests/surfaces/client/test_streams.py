"""A run's stream as a program has it: taken up where it broke off, and given up where nobody answers."""

import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import orjson
import pytest

from runlore.api.event_streams import encode_event
from runlore.client.remote import RemoteOperations
from runlore.client.remote.run_stream import AGAIN, ATTEMPTS_MAX, follow_run
from runlore.client.transport import EventStream
from runlore.daemon.answers import problem
from runlore.domain.errors import Denied, NotFound, RunloreError, Unavailable
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.ports.operations import FollowRun, NewInput, RunEvent, RunEventKind
from tests.surfaces.client_both import caught
from tests.surfaces.scripted_server import OK, Script, scripted

pytestmark = pytest.mark.req("AGT-5", "SUR-1")
RUN = RunId("r/1 ✓")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def journal(number: int) -> RunEvent:
    """An event of the journal."""
    return RunEvent(kind=RunEventKind.JOURNAL, number=number, data={"number": number, "type": "status"})


TEXT = RunEvent(kind=RunEventKind.TEXT, data={"text": "so ✓\nfar"})
END = RunEvent(kind=RunEventKind.END, data={"final_output": ""})
AGAIN_TOLD = RunEvent(kind=RunEventKind.REMARK, data={"text": AGAIN})


def stream(*events: RunEvent | bytes, last: bytes = LAST) -> bytes:
    """An answer with events; comments as they are."""
    blocks = [event if isinstance(event, bytes) else encode_event(event) for event in events]
    return HEAD + b"".join(f"{len(block):x}\r\n".encode() + block + b"\r\n" for block in blocks) + last


def answer(status: int, error: RunloreError) -> bytes:
    """A problem document."""
    body = orjson.dumps(problem(error, status))
    head = (
        f"HTTP/1.1 {status} No\r\nContent-Type: application/problem+json\r\nContent-Length: {len(body)}\r\n"
    )
    return head.encode() + b"\r\n" + body


def follow(script: Script, after: int = 0, **more: Any) -> Iterator[RunEvent]:
    """The run's events."""
    request = FollowRun(run_id=RUN, after=after, **more)
    return follow_run(script.transport(token="t"), request, wait_s=0.0)


def begins_after(request: bytes) -> int | None:
    """Where a request wants the stream to begin."""
    lines = request.split(b"\r\n")
    found = [line.partition(b": ")[2] for line in lines if line.startswith(b"Last-Event-ID: ")]
    return int(found[0]) if found else None


def test_a_stream_is_read_to_its_end() -> None:
    with scripted(stream(journal(3), TEXT, journal(4), END)) as script:
        heard = list(follow(script))

    assert heard == [journal(3), TEXT, journal(4), END]
    assert script.requests[0].startswith(b"GET /v1/runs/r%2F1%20%E2%9C%93/events HTTP/1.1\r\n")


@pytest.mark.parametrize("last", [LAST, b"", b"5\r\nab", b"zz\r\n"], ids=["ended", "lost", "cut", "wrong"])
def test_a_stream_that_breaks_off_is_taken_up_after_the_last_number(last: bytes) -> None:
    broken = stream(journal(3), journal(5), TEXT, last=last)
    with scripted(broken, stream(TEXT, last=b""), stream(journal(8), END), keeps=False) as script:
        if last == b"zz\r\n":
            with pytest.raises(Unavailable) as wrong:
                list(follow(script))
            assert wrong.value.code == "answer.format"
            return
        heard = list(follow(script))

    assert heard == [journal(3), journal(5), TEXT, AGAIN_TOLD, TEXT, AGAIN_TOLD, journal(8), END]
    assert [begins_after(request) for request in script.requests] == [None, 5, 5]


def test_a_stream_begins_where_it_is_told_to() -> None:
    with scripted(stream(END)) as script:
        list(follow(script, after=7))

    assert begins_after(script.requests[0]) == 7


def test_a_server_that_never_gets_further_is_given_up() -> None:
    with scripted(*[stream(last=b"")] * (ATTEMPTS_MAX + 3), keeps=False) as script:
        failure = caught(list, follow(script))

    assert (type(failure), failure.code) == (Unavailable, "daemon.unreachable")
    assert len(script.requests) == ATTEMPTS_MAX


def test_one_that_goes_on_between_two_breaks_is_followed_however_often_it_breaks() -> None:
    replies = [stream(journal(number), last=b"") for number in range(1, 3 * ATTEMPTS_MAX)]
    with scripted(*replies, stream(END), keeps=False) as script:
        heard = list(follow(script))

    assert [event.number for event in heard] == [*range(1, 3 * ATTEMPTS_MAX), 0]


@pytest.mark.parametrize(
    "error",
    [
        NotFound("there is no such run", code="run.not-found", hint="look"),
        Denied("not for you", code="role.denied", hint="ask"),
    ],
)
def test_a_problem_is_raised_as_itself_and_not_asked_for_again(error: RunloreError) -> None:
    status = 404 if isinstance(error, NotFound) else 403
    told = RunEvent(kind=RunEventKind.REMARK, data={})
    in_stream = stream(told, b"event: error\ndata: " + orjson.dumps(problem(error, status)) + b"\n\n")
    for reply in (answer(status, error), in_stream):
        with scripted(reply) as script:
            failure = caught(list, follow(script))
        assert (type(failure), failure.code, failure.hint) == (type(error), error.code, error.hint)
        assert len(script.requests) == 1


def test_a_busy_server_is_asked_again() -> None:
    busy = answer(503, Unavailable("200 streams are open", code="stream.busy", hint="wait"))
    with scripted(busy, stream(END), keeps=False) as script:
        assert list(follow(script)) == [END]


def test_signs_of_life_are_told_to_whoever_wants_them() -> None:
    beat = RunEvent(kind=RunEventKind.BEAT, data={})
    for beat_s, heard in ((None, [TEXT, END]), (1.0, [beat, TEXT, beat, END])):
        with scripted(stream(b": a\n\n", TEXT, b": b\n\n", END)) as script:
            assert list(follow(script, beat_s=beat_s)) == heard


@pytest.mark.parametrize(
    "reply",
    [
        stream(b"event: journal\ndata: {}\n\n"),
        stream(b"event: what\ndata: {}\n\n"),
        stream(b"event: text\ndata: [1]\n\n"),
        stream(b"event: text\ndata: nothing\n\n"),
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: end\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_what_is_no_stream_of_a_run_is_said_to_be_none(reply: bytes) -> None:
    with scripted(reply) as script:
        failure = caught(list, follow(script))

    assert failure.code == "answer.format"


@pytest.mark.parametrize("line", [b"data: " + b"x" * 30 + b"\n", b"data:\n", b"data: " + b"x" * 200])
def test_an_event_has_a_bound_whatever_it_is_made_of(line: bytes) -> None:
    whole = stream(*[line] * 3, b"\n\n").removeprefix(HEAD)
    endless = stream(*[line] * 101, b"\n\n").removeprefix(HEAD)

    def heard(body: bytes, bytes_max: int) -> list[bytes]:
        ours, theirs = socket.socketpair()
        with theirs, closing(EventStream(ours, ours.makefile("rb"))) as listening:
            theirs.sendall(body)
            return [each.data for each in listening.events(bytes_max=bytes_max)]

    assert len(heard(whole, 1_000)) == 1
    assert caught(lambda: heard(endless, 100)).code == "answer.size"


def test_an_input_is_sent_with_all_that_was_asked_for() -> None:
    asked = NewInput(
        session_id=SessionId("s/1"),
        text="Go ✓",
        model="a:b",
        fallback_model="c:d",
        run_id=RunId("r"),
        learn=False,
        idempotency_key="k é",
    )
    with scripted(OK) as script:
        remote = RemoteOperations(script.transport(token="t"))
        assert caught(remote.start_input, asked).code == "answer.format"

    head, _, body = script.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/sessions/s%2F1/inputs HTTP/1.1\r\n")
    assert b"\r\nIdempotency-Key: k%20%C3%A9\r\n" in head
    assert orjson.loads(body) == {
        "text": "Go ✓",
        "model": "a:b",
        "fallback_model": "c:d",
        "run_id": "r",
        "learn": False,
    }
