"""The journal's values: what can stand in it, and when an append is a repetition."""

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.record import JsonObject
from runlore.domain.run import RunId
from runlore.domain.runs.journal import (
    REPORTED,
    Entry,
    EventType,
    JournalEvent,
    is_repeat,
    number_conflict,
    text_of,
)
from runlore.domain.session import SessionId
from tests.fakes import START
from tests.storage.run_values import entries

pytestmark = pytest.mark.req("JRN-1")
RUN = RunId("run_1")


def _stored(appended: list[Entry], run_id: RunId = RUN) -> list[JournalEvent]:
    return [
        JournalEvent(
            session_id=SessionId("s"),
            number=number,
            run_id=run_id,
            type=entry.type,
            at=START,
            body=entry.body,
        )
        for number, entry in enumerate(appended, start=5)
    ]


def _told(appended: list[Entry]) -> list[tuple[str, str]]:
    return [(entry.type.value, json.dumps(entry.body, sort_keys=True)) for entry in appended]


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (1, 1.0)])
def test_what_only_python_finds_equal_is_no_repetition(one: object, other: object) -> None:
    said, again = (
        [Entry(type=EventType.TOOL_CALL, body=cast("JsonObject", {"deep": [{"a": value}]}))]
        for value in (one, other)
    )
    assert is_repeat(_stored(said), RUN, said)
    assert not is_repeat(_stored(said), RUN, again)


def test_the_events_are_those_of_the_specification() -> None:
    assert {kind.value for kind in EventType} == {
        *("input", "assistant_message", "tool_call", "tool_result"),
        *("usage", "status", "binding", "checkpoint"),
    }
    assert {kind.value for kind in REPORTED} == {"assistant_message", "tool_call", "tool_result", "usage"}


@given(appended=st.lists(entries, max_size=4), other=st.lists(entries, max_size=4))
def test_an_append_is_a_repetition_exactly_when_it_is_equal(
    appended: list[Entry], other: list[Entry]
) -> None:
    assert is_repeat(_stored(appended), RUN, appended)
    assert is_repeat(_stored(appended), RUN, other) is (_told(appended) == _told(other))
    if appended:
        assert not is_repeat(_stored(appended), RunId("run_2"), appended)
        assert not is_repeat(_stored(appended[:-1]), RUN, appended)
        assert not is_repeat(_stored(appended), RUN, appended[:-1])


def test_a_conflict_tells_the_next_number() -> None:
    conflict = number_conflict(SessionId("s"), first_number=3, next_number=17)

    assert conflict.code == "journal.number"
    assert "17" in conflict.sentence
    assert "first_number=17" in conflict.hint


@pytest.mark.parametrize(
    ("body", "text"), [({"text": "hi"}, "hi"), ({}, ""), ({"text": 3}, ""), ({"text": None}, "")]
)
def test_the_text_of_a_forgotten_event_is_empty(body: dict[str, object], text: str) -> None:
    assert text_of(body) == text
