"""Whatever a server does in a conversation, the caller gets one clear line with a code, in time."""

import gc
import json
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.config.providers import BUILT_IN
from runlore.domain import limits
from runlore.models.configured import ConfiguredChat
from runlore.models.model_choice import ModelChoice
from runlore.ports.chat import Cancelled, ChatListener, ChatReply
from runlore.ports.model import ModelFailure
from tests.model_server import (
    KEY_VARIABLE,
    ModelServer,
    Reply,
    breaks_off,
    calls,
    fails,
    hangs,
    model_server,
    says,
    sends,
    trickles,
)
from tests.model_streams import events
from tests.models.conftest import Line, Talking
from tests.models.turns import Ear, failure, say, turn

pytestmark = pytest.mark.req("AGT-2")

SOON_S = 0.4
# Far below what the server would take, far above what a busy machine needs.
IN_TIME_S = 8.0
STREAM = {"content-type": "text/event-stream; charset=utf-8"}
SPOKEN = says("Grüße 😀") + calls("shell", {"command": "ls ü"})
PATHS = {"openai": "/v1/chat/completions", "compatible": "/v1/chat/completions", "anthropic": "/v1/messages"}
REQUEST: dict[str, Any] = {"model": "scripted", "messages": [], "stream_options": {"include_usage": True}}
BY_STATUS = (
    (fails(400, code="invalid_request_error"), "model.failed", "call tools"),
    (fails(422), "model.failed", ""),
    (fails(401, code="invalid_api_key"), "model.key", KEY_VARIABLE),
    (fails(403, code="permission_error"), "model.key", KEY_VARIABLE),
    (fails(404, code="model_not_found"), "model.unknown", "base_url"),
    (fails(429, code="rate_limit_exceeded", retry_after="7"), "model.rate-limited", "in 7 s"),
    (fails(500), "model.failed", "later"),
    (fails(529, code="overloaded_error"), "model.failed", "later"),
    (fails(307, location="https://example.org/v1"), "model.failed", "base_url"),
    (
        sends(b"<html>Bad gateway</html>", status=502, headers={"content-type": "text/html"}),
        "model.failed",
        "",
    ),
)
GARBLED = (
    b"",
    b"not json",
    b"\xff\xfe",
    b"\n" * 100,
    b"data: {}\n\n",
    b"data: [1]\n\n",
    b"data: null\n\n",
    b"data: nonsense\n\n",
    b"data: \xff\n\n",
    b"event: nothing\ndata: {}\n\n",
    b"event: message_start\ndata: {}\n\n",
    b"event: message_stop\ndata: {}\n\n",
    b'data: {"choices": [{"delta": {"content": 5}}]}\n\n',
    b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0}]}}]}\n\n',
)
VALUES: tuple[Any, ...] = (None, [], {}, "", "x", -1, 1e300, True, [None], {"type": "x"}, "\ud800")
ENDS = ("model.answer", "model.unreachable", "model.failed", "model.refused")


@pytest.mark.parametrize(("reply", "code", "hint"), BY_STATUS, ids=[str(row[0].status) for row in BY_STATUS])
def test_each_refusal_of_a_server_has_its_code_and_is_asked_for_once(
    talking: Talking, reply: Reply, code: str, hint: str
) -> None:
    chat, server = talking(reply, says("Yes."))
    ear = Ear()

    error = failure(chat, ear=ear)

    assert error.code == code
    assert hint in error.hint
    assert "scripted" in error.sentence
    assert error.retry_after_s == (7 if code == "model.rate-limited" else None)
    assert len(server.requests) == len(ear.requests) == 1
    # What is wrong now need not be wrong next time.
    assert say(chat).text == "Yes."


def test_a_conversation_that_is_too_long_is_told_as_that(talking: Talking, protocol: str) -> None:
    message = "prompt is too long: 300000 tokens > 200000 maximum"
    code = "invalid_request_error" if protocol == "anthropic" else "context_length_exceeded"
    chat, _ = talking(fails(400, code=code, message=message))

    error = failure(chat)

    assert error.code == "model.question"
    assert "the conversation is too long" in error.sentence
    assert "new session" in error.hint


def test_more_than_is_ever_sent_is_not_sent(talking: Talking) -> None:
    chat, server = talking(says("Yes."))

    error = failure(chat, turn(instructions="x" * (limits.CHAT_REQUEST_BYTES_MAX + 1)))

    assert error.code == "model.question"
    assert server.requests == []


def test_a_server_that_does_not_stream_is_told_so(talking: Talking) -> None:
    chat, _ = talking(replace(SPOKEN, streams=False))

    error = failure(chat)

    assert error.code == "model.failed"
    assert "does not stream" in error.sentence


@pytest.mark.parametrize("body", GARBLED, ids=range(len(GARBLED)))
def test_a_stream_of_nonsense_is_no_answer(talking: Talking, body: bytes) -> None:
    chat, _ = talking(sends(body, headers=STREAM))

    assert failure(chat).code in ("model.answer", "model.unreachable")


@given(data=st.data())
def test_events_in_any_order_and_with_any_values_are_read_or_are_a_failure(
    line: Line, data: st.DataObject
) -> None:
    whole = events(SPOKEN, PATHS[line.protocol], REQUEST)
    told = data.draw(st.lists(st.sampled_from(whole), max_size=12) | st.permutations(whole))
    body = b"".join(_damaged(event, data) for event in told)
    line.server.script[:] = [sends(body, headers=STREAM)]

    outcome = _outcome(line.chat)

    if isinstance(outcome, ModelFailure):
        assert outcome.code in ENDS
    else:
        ids = [call.call_id for call in outcome.calls]
        assert len(set(ids)) == len(ids)
        orjson.dumps([outcome.text, *((call.name, call.arguments) for call in outcome.calls)])


@pytest.mark.parametrize("end", ["lost", "ended"])
def test_a_stream_that_breaks_off_after_any_event_is_never_taken_for_whole(line: Line, end: Any) -> None:
    blocks = events(SPOKEN, PATHS[line.protocol], REQUEST)
    reason = (
        b'"stop_reason": "tool_use"' if line.protocol == "anthropic" else b'"finish_reason": "tool_calls"'
    )
    finish = next(at for at, block in enumerate(blocks) if reason in block)
    line.server.script[:] = [SPOKEN]
    whole = say(line.chat)

    for count in range(len(blocks) + 1):
        size = sum(map(len, blocks[:count]))
        line.server.script[:] = [replace(SPOKEN, stream_bytes_max=size, stream_end=end)]
        outcome = _outcome(line.chat)
        if isinstance(outcome, ModelFailure):
            assert outcome.code == "model.unreachable"
            assert count < len(blocks) or end == "lost"
        else:
            assert (outcome.text, outcome.calls) == (whole.text, whole.calls)
            assert count > finish


@pytest.mark.parametrize("end", ["lost", "ended"])
def test_a_stream_that_breaks_off_inside_a_character_is_told(line: Line, end: Any) -> None:
    stream = b"".join(events(SPOKEN, PATHS[line.protocol], REQUEST))
    at = stream.index("😀".encode())

    for size in (at, at + 1, at + 2, at + 3, at + 4, 1):
        line.server.script[:] = [replace(SPOKEN, stream_bytes_max=size, stream_end=end)]
        error = failure(line.chat)
        assert error.code == "model.unreachable"
        assert "broke off" in error.sentence


@pytest.mark.parametrize("after_bytes", [0, 5, 40, 150])
def test_a_connection_that_is_lost_in_the_headers_is_told(talking: Talking, after_bytes: int) -> None:
    chat, server = talking(breaks_off(after_bytes=after_bytes))

    assert failure(chat).code == "model.unreachable"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ("overloaded_error", "model.failed"),
        ("rate_limit_error", "model.rate-limited"),
        ("server_error", "model.failed"),
        ("anything", "model.failed"),
    ],
)
def test_an_error_at_any_place_in_a_stream_is_one(line: Line, told: str, code: str) -> None:
    blocks = events(SPOKEN, PATHS[line.protocol], REQUEST)
    reply = replace(SPOKEN, stream_error=told, stream_end="ended")

    for count in range(len(blocks) - 1):
        size = sum(map(len, blocks[:count]))
        line.server.script[:] = [replace(reply, stream_bytes_max=size)]
        error = failure(line.chat)
        assert (error.code, told in error.sentence) == (code, True)
        assert "went wrong" not in f"{error} {error.hint}"


@pytest.mark.parametrize(
    "reply",
    [
        hangs(),
        hangs(after_bytes=30),
        trickles({"a": "b"}),
        replace(SPOKEN, stream_bytes_max=600, stream_end="hangs"),
        replace(SPOKEN, text="and so on " * 1_500, beat_s=0.004),
    ],
    ids=["before the headers", "in the headers", "a byte at a time", "in the stream", "a slow stream"],
)
def test_a_server_that_takes_its_time_is_waited_for_until_the_time_is_over_or_a_stop_comes(
    talking: Talking, reply: Reply
) -> None:
    chat, server = talking(says("Yes."), reply)
    say(chat)

    begun = time.monotonic()
    error = failure(chat, turn(timeout_s=SOON_S))
    assert error.code == "model.timeout"
    assert "policy" not in error.hint
    assert SOON_S <= time.monotonic() - begun < IN_TIME_S

    assert _stopped_after_s(chat, server) < 1.0
    assert len(server.requests) == 3


def test_a_stop_ends_the_connection_and_nothing_more_is_heard(talking: Talking) -> None:
    silent = replace(SPOKEN, stream_bytes_max=600, stream_end="hangs")
    chat, server = talking(says("Yes."), silent, says("Yes."))
    say(chat)

    _stopped_after_s(chat, server)

    assert _comes_true(lambda: _is_hung_up(server.connections[-1]))
    assert say(chat).text == "Yes."


def test_a_stop_before_the_turn_sends_nothing(talking: Talking) -> None:
    chat, server = talking(says("Yes."))
    stop = threading.Event()
    stop.set()

    with pytest.raises(Cancelled):
        chat.say(turn(), Ear().listening, stop)

    assert server.requests == []


def test_a_model_that_never_stops_is_stopped(talking: Talking) -> None:
    piece = 64 * 1024
    chat, _ = talking(says("x" * (limits.CHAT_TEXT_BYTES_MAX + 1), piece_chars=piece))
    assert str(limits.CHAT_TEXT_BYTES_MAX) in failure(chat).sentence

    chat, _ = talking(says("x" * (limits.CHAT_TEXT_BYTES_MAX), piece_chars=piece))
    assert len(say(chat).text) == limits.CHAT_TEXT_BYTES_MAX

    chat, _ = talking(sends(b":" + b"x" * limits.CHAT_STREAM_BYTES_MAX + b"\n\n", headers=STREAM))
    assert str(limits.CHAT_STREAM_BYTES_MAX) in failure(chat).sentence


def test_a_call_with_endless_arguments_is_not_made(talking: Talking) -> None:
    endless = '{"command": "' + "x" * limits.CHAT_ARGUMENTS_BYTES_MAX + '"}'
    chat, _ = talking(replace(calls("shell", endless), piece_chars=64 * 1024))

    (call,) = say(chat).calls

    assert call.arguments == {}
    assert str(limits.CHAT_ARGUMENTS_BYTES_MAX) in call.problem


@pytest.mark.parametrize("count", [limits.CHAT_CALLS_MAX, limits.CHAT_CALLS_MAX + 1, 2_000])
def test_more_calls_than_anybody_makes_are_no_answer(talking: Talking, count: int) -> None:
    chat, _ = talking(Reply(calls=calls("shell", {}).calls * count))

    if count <= limits.CHAT_CALLS_MAX:
        assert len(say(chat).calls) == count
    else:
        assert failure(chat).code == "model.answer"


def test_a_packed_answer_is_not_unpacked(talking: Talking) -> None:
    chat, _ = talking(sends(b"\x1f\x8b", headers={**STREAM, "content-encoding": "gzip"}))

    assert failure(chat).code == "model.answer"


def test_what_a_listener_raises_ends_the_turn_and_reaches_the_caller(talking: Talking) -> None:
    chat, server = talking(replace(SPOKEN, text="and so on " * 100, beat_s=0.02), says("Yes."))

    def late(_: str) -> None:
        raise TimeoutError("the database is locked")

    for listening in (ChatListener(on_text=late), ChatListener(on_request=late)):
        with pytest.raises(TimeoutError, match="the database is locked"):
            chat.say(turn(), listening, threading.Event())
        server.script[:] = [says("Yes.")]
    assert say(chat).text == "Yes."


def test_a_slow_listener_holds_up_nobody_else(talking: Talking) -> None:
    chat, _ = talking(says("Yes."))
    heard, go_on = threading.Event(), threading.Event()

    def slow(_: str) -> None:
        heard.set()
        go_on.wait(IN_TIME_S)

    said: list[ChatReply] = []
    other = threading.Thread(
        target=lambda: said.append(chat.say(turn(), ChatListener(on_text=slow), threading.Event()))
    )
    other.start()
    assert heard.wait(IN_TIME_S)

    assert say(chat).text == "Yes."

    assert said == []
    go_on.set()
    other.join(IN_TIME_S)
    assert [each.text for each in said] == ["Yes."]


def test_a_listener_that_takes_longer_than_the_turn_hears_it_to_the_end() -> None:
    pieces: list[str] = []

    def slow(piece: str) -> None:
        pieces.append(piece)
        threading.Event().wait(0.6)

    with model_server(says("Yes, that is how it is.")) as server:
        chat = server.chat()
        said = chat.say(turn(timeout_s=1.5), ChatListener(on_text=slow), threading.Event())
        chat.close()

    assert "".join(pieces) == said.text == "Yes, that is how it is."


def test_an_address_where_nothing_listens_is_told(protocol: str) -> None:
    with model_server() as gone:
        chat = gone.chat(protocol)
    error = failure(chat)
    chat.close()

    assert error.code == "model.unreachable"
    assert str(gone.port) in error.hint


@pytest.mark.req("AGT-3")
def test_without_a_model_one_line_says_what_to_set() -> None:
    error = failure(ConfiguredChat(ModelChoice(providers=BUILT_IN)))

    assert (str(error), error.code) == ("no model is set", "model.none")
    assert "RUNLORE_MODEL" in error.hint


@pytest.mark.req("AGT-3")
@pytest.mark.parametrize("provider", BUILT_IN, ids=lambda provider: provider.name)
def test_without_a_key_the_variable_is_named_and_nothing_is_sent(provider: Any) -> None:
    chat = ConfiguredChat(ModelChoice(default=f"{provider.name}:x", providers=BUILT_IN))

    with pytest.raises(ModelFailure) as caught:
        chat.resolve()
    for error in (caught.value, failure(chat)):
        assert error.code == "model.key"
        assert provider.api_key_env in error.hint


def test_a_model_is_found_by_its_name(talking: Talking) -> None:
    chat, server = talking(says("Yes."))

    assert (chat.resolve(), chat.resolve("test:other")) == ("test:scripted", "test:other")
    assert say(chat, turn(model="test:other")).model == "test:other"
    assert server.requests[0].body["model"] == "other"
    assert failure(chat, turn(model="nobody:x")).code == "model.unknown"


def test_closing_ends_what_is_said_and_nothing_is_said_afterwards(talking: Talking) -> None:
    chat, server = talking(hangs())
    ended: list[ModelFailure] = []
    waiting = threading.Thread(target=lambda: ended.append(failure(chat)))
    waiting.start()
    assert _comes_true(lambda: len(server.requests) == 1)

    chat.close()
    chat.close()

    waiting.join(IN_TIME_S)
    assert [error.code for error in ended] == ["model.failed"]
    assert failure(chat).code == "model.failed"
    # Whatever was left open would be told of here, as an error.
    gc.collect()


def _outcome(chat: ConfiguredChat) -> ChatReply | ModelFailure:
    try:
        return say(chat)
    except ModelFailure as error:
        return error


def _stopped_after_s(chat: ConfiguredChat, server: ModelServer) -> float:
    """How long a turn goes on after a stop that comes while the server says nothing."""
    stop, asked = threading.Event(), len(server.requests)
    stopped_at: list[float] = []

    def stop_once_it_is_asked() -> None:
        _comes_true(lambda: len(server.requests) > asked)
        stopped_at.append(time.monotonic())
        stop.set()

    stopping = threading.Thread(target=stop_once_it_is_asked)
    stopping.start()
    with pytest.raises(Cancelled):
        chat.say(turn(), Ear().listening, stop)
    took_s = time.monotonic() - stopped_at[0]
    stopping.join()
    return took_s


def _comes_true(is_true: Callable[[], bool]) -> bool:
    pause, until = threading.Event(), time.monotonic() + IN_TIME_S
    while not is_true():
        if time.monotonic() > until:
            return False
        pause.wait(0.01)
    return True


def _is_hung_up(connection: socket.socket) -> bool:
    readable, _, _ = select.select([connection], [], [], 0)
    try:
        return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
    except ConnectionError:
        return True


def _damaged(event: bytes, data: st.DataObject) -> bytes:
    """An event, now and then with another value somewhere in it."""
    head, _, written = event.partition(b"data: ")
    if written.startswith(b"[DONE]") or not data.draw(st.booleans()):
        return event
    value = json.loads(written)
    at = value
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        if not at[key] or not isinstance(at[key], dict | list) or data.draw(st.booleans()):
            break
        at = at[key]
    at[key] = data.draw(
        st.sampled_from([None, [], {}, "", "x", -1, 1e300, True, [None], {"type": "x"}, "\ud800"])
    )
    return head + b"data: " + json.dumps(value).encode() + b"\n\n"
