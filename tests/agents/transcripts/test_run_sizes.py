"""How much is told of one run: as much as one request can carry, whatever stands in it."""

from collections.abc import Iterator
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.agents.transcripts.assembly import (
    MORE_THAN_IS_READ,
    RUN_TOO_LONG,
    Assembly,
)
from runlore.agents.transcripts.parsing import bound_arguments, parse_json, size_of
from runlore.client.remote.calls import Sent, _json
from runlore.domain import limits
from runlore.domain.record import JsonValue
from runlore.domain.runs.journal import EventType
from runlore.domain.runs.transcript import SETTLED_AFTER, START, ReadCounts, ToldRun, TranscriptAgent
from runlore.domain.serialization.codec import serialize
from tests.examples import scaled

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("CAP-7")]

Body: TypeAlias = dict[str, JsonValue]


def sent(run: ToldRun) -> int:
    """How many bytes a request takes that brings this run alone."""
    position = serialize(run.after)
    body: Sent = {"source": "x" * limits.ID_CHARS_MAX, "runs": [serialize(run)], "position": position}
    return len(_json(body))


def endless(text: str) -> Iterator[tuple[EventType, Body, int]]:
    """Calls and answers that say this, more of them than any run may have."""
    for number in range(limits.TOLD_RUN_EVENTS_MAX):
        call: Body = {"call_id": "\x01" * limits.ID_CHARS_MAX, "name": "bash", "arguments": {"command": text}}
        yield EventType.TOOL_CALL, call, len(text)
        yield EventType.TOOL_RESULT, {"call_id": str(number), "output": text}, len(text)


@pytest.mark.parametrize("text", ["x", "\x00", '"', "\N{GRINNING FACE}", "\ud800"])
def test_a_run_of_any_text_fits_into_one_request_and_fills_most_of_it(text: str) -> None:
    counts = ReadCounts()
    assembly = Assembly(TranscriptAgent.PLAIN, counts)
    assembly.speak_of("\x01" * 5_000)
    assembly.begin(text * limits.TOLD_TEXT_CHARS_MAX)
    told = 0
    for kind, body, chars in endless(text * limits.TOLD_TEXT_CHARS_MAX):
        if not assembly.add(kind, body, chars=chars):
            break
        told += 1
    assert counts.skipped == {RUN_TOO_LONG: 1}
    assembly.finish(idle=SETTLED_AFTER)
    [run] = assembly.take()
    # That there was more is told too, in the place of the last where there is no room.
    assert len(run.events) in (told + 1, told + 2)
    assert run.events[-1].entry.body["source"] == MORE_THAN_IS_READ
    is_measured = text != "\ud800"
    assert limits.TOLD_RUN_BYTES_MAX * 0.95 * is_measured < sent(run) < limits.LARGE_BODY_BYTES_MAX * 0.9


def test_subagents_share_what_their_turn_may_tell_and_the_next_turn_has_its_own() -> None:
    counts = ReadCounts()
    assembly = Assembly(TranscriptAgent.PLAIN, counts)
    text = "x" * limits.TOLD_TEXT_CHARS_MAX
    half = limits.TOLD_RUN_BYTES_MAX // len(text) // 2 - 1
    assembly.speak_of("s")
    assembly.begin("Go")
    assert all(
        assembly.add(EventType.ASSISTANT_MESSAGE, {"text": text}, chars=len(text)) for _ in range(half)
    )
    assembly.speak_of("s/agent", is_side=True)
    assembly.begin("Task")
    assert all(
        assembly.add(EventType.ASSISTANT_MESSAGE, {"text": text}, chars=len(text)) for _ in range(half)
    )
    while assembly.add(EventType.ASSISTANT_MESSAGE, {"text": text}, chars=len(text)):
        half += 1
    assembly.begin(text)
    assert not assembly.is_open, "there is no room for another task, so there is none"
    assembly.speak_of("s")
    assert not assembly.add(EventType.ASSISTANT_MESSAGE, {"text": text}, chars=len(text))
    assembly.begin("Next")
    assert assembly.add(EventType.ASSISTANT_MESSAGE, {"text": text}, chars=len(text))
    assembly.finish(idle=SETTLED_AFTER)
    runs = assembly.take()
    assert [(run.source_session, run.ordinal) for run in runs] == [("s", 1), ("s/agent", 1), ("s", 2)]
    assert all(run.events[0].entry.type is EventType.INPUT for run in runs)
    assert counts.skipped == {RUN_TOO_LONG: 3}


def test_a_session_of_any_name_is_one_and_another_name_is_another() -> None:
    assembly = Assembly(TranscriptAgent.PLAIN, ReadCounts(), START)
    for name in ("a" * 5_000, "a" * 5_001, "a" * 5_000, "a"):
        assembly.speak_of(name)
        assembly.begin("Go")
    assembly.finish(idle=SETTLED_AFTER)
    first, second, third, last = assembly.take()
    assert (first.session_id, first.ordinal, third.ordinal) == (third.session_id, 1, 2)
    assert len({first.session_id, second.session_id, last.session_id}) == 3
    assert len(first.source_session) < 100
    assert last.source_session == "a"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text(max_size=9),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=9), inside, max_size=4),
    max_leaves=20,
)


@given(arguments=st.dictionaries(st.text(max_size=9), VALUES, max_size=6))
@settings(max_examples=scaled(100), deadline=None)
def test_a_call_is_never_longer_than_it_is_taken_for(arguments: dict[str, object]) -> None:
    told, size = bound_arguments(arguments)
    body: Sent = {"arguments": told}
    assert len(_json(body)) <= 3_000 + 6 * size
    assert len(_json(body)) <= 3_000 + 6 * size_of(told)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (str(2**64), float(2**64)),
        (str(-(2**70)), float(-(2**70))),
        (str(2**64 - 1), 2**64 - 1),
        ("9" * 1_000, None),
        ("1e999", None),
    ],
)
def test_a_number_that_cannot_be_sent_is_told_as_one_that_can(number: str, told: object) -> None:
    line = b'{"broken": "\\ud800", "number": ' + number.encode() + b"}"
    value = parse_json(line)
    assert isinstance(value, dict)
    assert value["number"] == told
    assert _json(value)
