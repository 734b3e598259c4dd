"""Whatever a body is, everybody else is answered while it is read (SEC-5)."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType

import pytest
from starlette.requests import Request
from starlette.types import Message

from runlore.api.app import all_endpoints
from runlore.api.calls import PIECE_BYTES, read_json
from runlore.api.routes import Endpoint
from runlore.domain import limits
from runlore.domain.errors import Invalid

pytestmark = pytest.mark.req("SEC-5")

TAKING = [each for each in all_endpoints() if each.reader.has_body and not each.operation.uploads]


def worst_bodies(bytes_max: int) -> Iterator[bytes]:
    """As many keys as are let in, brackets in texts, and more of everything than is."""
    values = bytes_max // limits.BODY_BYTES_A_VALUE
    yield b"{" + b",".join(b'"k%d":[]' % number for number in range(values // 2)) + b"}"
    yield b"{" + b",".join(b'"k%d":0' % number for number in range(values + 1)) + b"}"
    yield b'{"k": "' + b"[{," * (bytes_max // 3 - 10) + b'"}'
    yield b"[" * (bytes_max // 2) + b"]" * (bytes_max // 2)


@pytest.mark.parametrize("large", [False, True])
def test_others_are_answered_before_the_worst_body_is_read(large: bool) -> None:
    routes = [each for each in TAKING if each.operation.large is large]
    assert routes
    for endpoint in routes[:: len(routes) // 3 or 1]:
        for body in worst_bodies(endpoint.body_bytes_max):
            assert asyncio.run(order_of_answers(endpoint, body)) == ["another", "this"]


def test_what_takes_much_is_what_takes_whole_texts() -> None:
    assert {each.operation.name for each in TAKING if each.operation.large} == {
        *(
            "append_events",
            "import_runs",
            "add_artifact",
            "open_run",
            "start_input",
            "preview_input",
            "report_hook",
        )
    }


async def order_of_answers(endpoint: Endpoint, body: bytes) -> list[str]:
    answered: list[str] = []
    sent = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        return next(sent)

    async def this() -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        scope = {"type": "http", "method": endpoint.method, "headers": headers, "query_string": b""}
        with suppress(Invalid):
            await endpoint._read_asked(Request(scope, receive))
        answered.append("this")

    async def another() -> None:
        answered.append("another")

    await asyncio.gather(this(), another())
    return answered


# So many times what it costs to look for one character in all of it.
LOOKS = 20


@pytest.mark.parametrize("texts", [b'"[,"', b'"a":0,', b'"\\"[{",', b"\"a\n'", b'{"a":', b"]"])
def test_no_call_counts_a_whole_body_and_what_is_too_much_is_not_read_to_its_end(texts: bytes) -> None:
    """A call of C holds the lock of all threads until it ends."""
    body = b'["%s",' % (b"[" * 100) + texts * (4 * 1024**2 // len(texts))
    calls, began_at = [0.0], [0.0]

    def watch(_frame: FrameType, event: str, _argument: object) -> None:
        if event == "c_call":
            began_at.append(time.thread_time())
        elif event.startswith("c_"):
            calls.append(time.thread_time() - began_at.pop())

    look = min(spent(lambda: body.count(b"!")) for _ in range(5))
    sys.setprofile(watch)
    try:
        with suppress(Invalid):
            read_json(body, 5_000)
    finally:
        sys.setprofile(None)

    assert max(calls) < LOOKS * look
    if texts not in (b'"[,"', b"\"a\n'"):
        assert min(spent(lambda: refused(body)) for _ in range(3)) < LOOKS * look


@pytest.mark.parametrize("told", ["", '\\"', '\\\\\\"', "é", '\\"[', "[[["])
def test_a_text_that_lies_across_two_pieces_is_no_value(told: str) -> None:
    for before in range(PIECE_BYTES - 20, PIECE_BYTES + 4):
        text = "x" * (before - 6) + told + "[" * 200
        body = f'["a","{text}"]'.encode()

        assert len(read_json(body, 10)) == 2
        refused(body.removesuffix(b"]") + b"," + b"[" * 200)


def refused(body: bytes) -> None:
    with pytest.raises(Invalid):
        read_json(body, 5_000)


def spent(call: Callable[[], object]) -> float:
    began_at = time.thread_time()
    call()
    return time.thread_time() - began_at
