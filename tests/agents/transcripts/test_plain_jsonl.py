"""Plain JSON Lines: OpenAI chat messages, one a line."""

from pathlib import Path

import pytest

from runlore.agents.transcripts.parsing import BROKEN, NO_OBJECT, UNKNOWN
from runlore.domain.runs.journal import EventType
from runlore.domain.runs.journal_entry import parse_entry
from runlore.domain.runs.transcript import ReadCounts, TranscriptAgent
from tests.agents.transcripts.transcript_files import (
    JUST_NOW,
    LONG_AGO,
    NOW,
    content,
    dated,
    found,
    inputs,
    read,
    shape,
    told,
    write,
)

pytestmark = pytest.mark.req("INT-1")


def flat(call_id: str, command: str) -> dict[str, object]:
    return {"id": call_id, "name": "shell", "arguments": {"command": command}}


def nested(call_id: str, command: str) -> dict[str, object]:
    arguments = f'{{"command": "{command}"}}'
    return {"id": call_id, "type": "function", "function": {"name": "shell", "arguments": arguments}}


def calling(call_id: str) -> dict[str, object]:
    return {"role": "assistant", "content": "", "tool_calls": [flat(call_id, "make")]}


@pytest.mark.req("CAP-10")
def test_a_message_may_tell_the_folder_that_it_was_said_in(tmp_path: Path) -> None:
    spoken = [{"role": "user", "content": "Build", "cwd": "/srv/atlas"}, {"role": "user", "content": "Again"}]
    path = write(tmp_path / "chat.jsonl", [*spoken, {"role": "user", "content": "More", "cwd": 7}])

    assert [run.folder for run in read(path)] == ["/srv/atlas"] * 3


def test_messages_become_runs_and_calls_are_the_same_flat_or_nested(tmp_path: Path) -> None:
    path = write(
        tmp_path / "chat.jsonl",
        [
            {"role": "system", "content": "You are kind"},
            {"role": "user", "content": "Build", "timestamp": "2026-01-02T03:04:05Z"},
            {"role": "assistant", "content": "Yes", "tool_calls": [flat("a", "make"), nested("b", "make")]},
            {"role": "tool", "tool_call_id": "a", "content": "made", "exit_code": 0},
            {"role": "tool", "tool_call_id": "b", "content": "broke", "exit_code": 2, "is_error": True},
            {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image_url"}]},
            {"role": "assistant", "content": None, "model": "some-model"},
        ],
    )
    assert found(path).agent is TranscriptAgent.PLAIN
    first, second = read(path)
    assert shape(first) == [
        ("input", "Build"),
        ("assistant_message", "Yes"),
        ("tool_call", "shell"),
        ("tool_call", "shell"),
        ("tool_result", "made"),
        ("tool_result", "broke"),
    ]
    one, other = told(first, EventType.TOOL_CALL)
    assert one == {"call_id": "a", "name": "shell", "arguments": {"command": "make"}}
    assert other == {**one, "call_id": "b"}
    assert told(first, EventType.TOOL_RESULT) == [
        {"call_id": "a", "output": "made", "exit_code": 0},
        {"call_id": "b", "output": "broke", "exit_code": 2, "is_error": True},
    ]
    assert first.events[0].at is not None
    assert inputs([second]) == ["Look\n[image_url]"]
    assert (second.ordinal, second.first_number) == (2, 9)
    assert first.source_session == second.source_session
    assert str(tmp_path) not in first.source_session
    for event in first.events[1:]:
        parse_entry({"type": event.entry.type.value, **event.entry.body})


@pytest.mark.req("SKL-3")
@pytest.mark.parametrize("odd", [True, "1", 1.0, None, 2**70])
def test_an_exit_code_that_is_no_whole_number_is_not_told(tmp_path: Path, odd: object) -> None:
    line = f'{{"role":"tool","tool_call_id":"a","content":"","exit_code":{2**70}}}'.encode()
    [run] = read(
        write(
            tmp_path / "chat.jsonl",
            [
                {"role": "user", "content": "Go"},
                line
                if odd == 2**70
                else {"role": "tool", "tool_call_id": "a", "content": "", "exit_code": odd, "is_error": 1},
            ],
        )
    )
    assert told(run, EventType.TOOL_RESULT) == [{"call_id": "a", "output": ""}]


def test_calls_without_ids_are_answered_in_their_order(tmp_path: Path) -> None:
    [run] = read(
        write(
            tmp_path / "chat.jsonl",
            [
                {"role": "user", "content": "Go"},
                {
                    "role": "assistant",
                    "function_call": {"name": "shell", "arguments": "not json"},
                    "content": "",
                },
                {
                    "role": "assistant",
                    "tool_calls": [{"name": "shell", "arguments": "[1"}, {"name": "  "}, 7],
                },
                {"role": "function", "name": "shell", "content": "one"},
                {"role": "tool", "content": "two"},
                {"role": "tool", "content": "answers nothing"},
            ],
        )
    )
    calls = told(run, EventType.TOOL_CALL)
    results = told(run, EventType.TOOL_RESULT)
    assert [call["arguments"] for call in calls] == ["not json", "[1"]  # type: ignore[index]
    assert [call["call_id"] for call in calls] == [result["call_id"] for result in results]  # type: ignore[index]
    assert len({call["call_id"] for call in calls}) == 2  # type: ignore[index]
    assert [result["output"] for result in results] == ["one", "two"]  # type: ignore[index]


def test_an_answer_of_a_later_run_is_not_taken_for_one_of_an_earlier(tmp_path: Path) -> None:
    call = {"role": "assistant", "tool_calls": [{"name": "shell", "arguments": {}}]}
    path = write(
        tmp_path / "chat.jsonl",
        [
            {"role": "user", "content": "One"},
            call,
            {"role": "user", "content": "Two"},
            {"role": "tool", "content": "answers nothing"},
            call,
            {"role": "tool", "content": "answers"},
        ],
    )
    first, second = read(path)
    assert shape(second) == [("input", "Two"), ("tool_call", "shell"), ("tool_result", "answers")]
    assert read(path, start=first.after) == [second]


def test_lines_that_are_broken_or_unknown_are_counted(tmp_path: Path) -> None:
    counts = ReadCounts()
    runs = read(
        write(
            tmp_path / "chat.jsonl",
            [
                {"role": "user", "content": "Go"},
                b"{broken",
                b"[]",
                {"role": "oracle", "content": "?"},
                {"content": "nobody"},
                {"role": ["user"], "content": "?"},
                {"role": "user", "content": "On"},
                {"role": "assistant", "content": "Yes"},
                {"role": "assistant", "content": {"odd": 1}, "tool_calls": "odd"},
                {"role": "user", "content": "End"},
            ],
        ),
        counts,
    )
    assert inputs(runs) == ["Go", "On", "End"]
    assert counts.skipped == {BROKEN: 1, NO_OBJECT: 1, UNKNOWN: 3}


def test_a_chat_that_grows_is_read_on(tmp_path: Path) -> None:
    messages: list[object] = [{"role": "user", "content": str(number), "at": number} for number in range(4)]
    path = write(tmp_path / "chat.jsonl", messages[:3], changed_at=JUST_NOW)
    runs = read(path)
    assert [run.is_whole for run in runs] == [True, True, False]
    whole = read(write(path, messages))
    assert runs[:2] + read(dated(path, LONG_AGO), start=runs[1].after) == whole


@pytest.mark.parametrize(
    ("rest", "is_whole"),
    [
        ([], False),
        ([{"role": "assistant", "content": "Yes"}], True),
        ([calling("1")], False),
        ([calling("1"), {"role": "tool", "tool_call_id": "1", "content": "ok"}], True),
        ([{"role": "assistant", "content": "Yes"}, b'{"role": "assis'], False),
    ],
)
def test_a_chat_in_which_nothing_is_open_is_whole_at_once(
    tmp_path: Path, rest: list[object], is_whole: bool
) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(content([{"role": "user", "content": "Go"}, *rest]).removesuffix(b"\n"))
    assert [run.is_whole for run in read(dated(path, NOW))] == [is_whole]
    assert [run.is_whole for run in read(dated(path, LONG_AGO))] == [True]
