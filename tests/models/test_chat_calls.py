"""The arguments of a call are read strictly, and text that is no Unicode is made some, whatever comes."""

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ToolCallPart

from runlore.domain import limits
from runlore.domain.agent.conversation import AssistantSaid, ToolCall
from runlore.models.chat import read_arguments, read_calls
from runlore.models.http import NotStreamed, StreamRecording
from runlore.models.message_conversion import split_half, writable

pytestmark = pytest.mark.req("AGT-2")

HALVES = st.lists(st.sampled_from(("\ud83d", "\ude00", "\udbff", "\udfff", "a", "😀")), max_size=8).map(
    "".join
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    said=st.one_of(JSON.map(json.dumps), JSON.map(lambda value: json.dumps(value)[:-1]), st.text(max_size=20))
)
def test_what_is_read_is_what_was_written_or_there_is_a_problem(said: str) -> None:
    arguments, problem = read_arguments(said)

    expected = _reference(said)
    if expected is None:
        assert arguments == {}
        assert problem.startswith("its arguments ")
    else:
        assert (arguments, problem) == (expected, "")


@given(value=st.dictionaries(st.text(max_size=4), JSON, max_size=3))
def test_a_parsed_object_is_read_as_its_text_is(value: dict[str, Any]) -> None:
    arguments, problem = read_arguments(value)

    # What is not finite has no place in JSON, and is written as nothing.
    assert (arguments, problem) == (_finite(value), "")


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("levels", [1, 30, 31, 32, 100, 1_000, 100_000])
def test_depth_has_a_limit(opening: str, levels: int) -> None:
    closing = {"[": "]", '{"a":': "}"}[opening]
    said = '{"a":' + opening * (levels - 1) + "1" + closing * (levels - 1) + "}"

    arguments, problem = read_arguments(said)

    is_read = levels < limits.CHAT_ARGUMENTS_DEPTH_MAX
    assert (arguments == json.loads(said), problem == "") == (is_read, is_read) if levels < 500 else problem


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" + "0" * 400 + ".0"])
def test_a_number_that_is_none_is_a_problem(number: str) -> None:
    arguments, problem = read_arguments(f'{{"a": [{{"b": {number}}}]}}')

    assert arguments == {}
    assert problem


def test_size_has_a_limit() -> None:
    longest = '{"a":"' + "x" * (limits.CHAT_ARGUMENTS_BYTES_MAX - 8) + '"}'
    assert len(longest) == limits.CHAT_ARGUMENTS_BYTES_MAX

    assert read_arguments(longest)[1] == ""
    assert "longer than" in read_arguments(longest + " ")[1]
    assert "longer than" in read_arguments({"a": "x" * limits.CHAT_ARGUMENTS_BYTES_MAX})[1]


@pytest.mark.parametrize("value", [{"a": object()}, {"a": "\ud800"}, {1: 2}, {"a": {2}}, {"a": b"x"}])
def test_what_is_no_json_is_a_problem_and_no_error(value: dict[Any, Any]) -> None:
    assert read_arguments(value) == ({}, "its arguments are not JSON")


@given(ids=st.lists(st.sampled_from(("", "a", "b", "c", "ü", "x" * 64, "x" * 65)), max_size=6))
def test_no_two_calls_of_a_conversation_have_one_id(ids: list[str]) -> None:
    before = [AssistantSaid(calls=(ToolCall(call_id="a", name="x", arguments={}),))]

    read = read_calls([ToolCallPart(tool_name="x", args=None, tool_call_id=each) for each in ids], before)

    made = [call.call_id for call in read]
    assert len({*made, "a"}) == len(ids) + 1
    for at, (given_id, call_id) in enumerate(zip(ids, made, strict=True)):
        is_good = given_id in ("b", "c", "x" * 64) and given_id not in ids[:at]
        assert (call_id == given_id) == is_good


@given(text=HALVES)
def test_halves_of_characters_in_arguments_are_joined_or_refused(text: str) -> None:
    is_whole = "\ufffd" not in writable(text)

    expected = ({"a": writable(text)}, "") if is_whole else ({}, "its arguments are not JSON")
    assert read_arguments(f'{{"a": "{text}"}}') == expected


@given(text=HALVES)
def test_halves_of_characters_are_joined_or_replaced(text: str) -> None:
    written = writable(text)

    assert written == "".join(_paired(text))
    assert written.encode().decode() == written == writable(written)


@given(text=HALVES)
def test_a_half_at_the_end_is_kept_for_the_next_piece(text: str) -> None:
    pieces, half = [], ""
    for character in text:
        whole, half = split_half(half + character)
        pieces.append(writable(whole))

    assert "".join([*pieces, writable(half)]) == writable(text)


@given(
    stream=st.lists(
        st.sampled_from((b"data: [DONE]", b"data:[DONE]", b"\n", b"\r\n", b"data: {}", b"x", b"[DONE]")),
        max_size=8,
    ).map(b"".join),
    cuts=st.lists(st.integers(0, 60), max_size=6),
)
def test_the_last_line_is_seen_however_it_is_cut(stream: bytes, cuts: list[int]) -> None:
    exchange = StreamRecording()
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    for begin, end in itertools.pairwise(places):
        exchange.on_chunk(stream[begin:end])

    lines = stream.replace(b"\r", b"\n").split(b"\n")
    assert exchange.has_last_line == any(line.startswith((b"data: [DONE]", b"data:[DONE]")) for line in lines)
    assert not exchange.is_broken_off
    exchange.on_end()
    assert exchange.is_broken_off != exchange.has_last_line


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=utf-8"])
def test_an_answer_in_one_piece_is_known_by_its_type(content_type: str) -> None:
    with pytest.raises(NotStreamed):
        StreamRecording().on_response(content_type)
    for other in ("text/event-stream", "", "text/plain", "application/x-ndjson"):
        StreamRecording().on_response(other)


def _reference(said: str) -> dict[str, Any] | None:
    if not said.strip():
        return {}
    try:
        value = json.loads(said, parse_constant=lambda _: 1 / 0)
        return value if isinstance(value, dict) else None
    except (ValueError, ZeroDivisionError):
        return None


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else value


def _paired(text: str) -> list[str]:
    """The characters, by the rules of UTF-16, one after the other."""
    told, at = [], 0
    while at < len(text):
        first, second = text[at], text[at + 1 : at + 2]
        if "\ud800" <= first <= "\udbff" and "\udc00" <= second <= "\udfff":
            code = 0x10000 + (ord(first) - 0xD800) * 0x400 + ord(second) - 0xDC00
            told.append(chr(code))
            at += 2
            continue
        told.append("\ufffd" if "\ud800" <= first <= "\udfff" else first)
        at += 1
    return told
