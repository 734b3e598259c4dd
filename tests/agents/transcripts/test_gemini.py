"""Sessions of the Gemini CLI: one document, or lines that change what was written before."""

import gzip
import json
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.agents.transcripts.lines import TOO_LARGE
from runlore.agents.transcripts.parsing import BROKEN, NO_OBJECT, UNKNOWN
from runlore.domain.run import RunStatus
from runlore.domain.runs.journal_entry import parse_entry
from runlore.domain.runs.transcript import ReadCounts, ToldRun, TranscriptAgent
from tests.agents.transcripts.resuming import facts, in_two_goes
from tests.agents.transcripts.told_runs import outcomes
from tests.agents.transcripts.transcript_files import (
    LONG_AGO,
    dated,
    found,
    inputs,
    local,
    read,
    shape,
    write,
)
from tests.examples import scaled

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("SKL-3")]

ABOUT = {
    "sessionId": "g-1",
    "projectHash": "abc",
    "startTime": "2026-02-03T10:00:00Z",
    "lastUpdated": "2026-02-03T11:00:00Z",
}
REPORT = (
    "Command: {}\nDirectory: (root)\nOutput: {}\nError: {}\nExit Code: {}\nSignal: 0\n"
    "Background PIDs: (none)\nProcess Group PGID: 77"
)


def user(id: str, words: object) -> dict[str, object]:
    return {"id": id, "timestamp": "2026-02-03T10:00:01Z", "type": "user", "content": words}


def model(id: str, words: object, *calls: object, **fields: object) -> dict[str, object]:
    about = {"id": id, "timestamp": "2026-02-03T10:00:02Z", "type": "gemini", "model": "gemini-test"}
    return {**about, "content": words, "thoughts": [], "toolCalls": list(calls), **fields}


def call(id: str, command: str, output: object = "", status: str = "success") -> dict[str, object]:
    response = {"functionResponse": {"id": id, "name": "run_shell_command", "response": {"output": output}}}
    return {
        "id": id,
        "name": "run_shell_command",
        "args": {"command": command},
        "result": [response],
        "status": status,
        "timestamp": "2026-02-03T10:00:03Z",
    }


def document(path: Path, *messages: object, indent: int | None = None) -> Path:
    path.write_text(json.dumps({**ABOUT, "messages": list(messages)}, indent=indent))
    return dated(path, LONG_AGO)


def runs_of(tmp_path: Path, *messages: object, counts: ReadCounts | None = None) -> list[ToldRun]:
    return read(document(tmp_path / "session.json", *messages), counts)


MESSAGES = (
    user("u1", "Run the tests"),
    model("m1", "I will", call("c1", "npm test", REPORT.format("npm test", "12 passed", "(none)", 0))),
    {"id": "i1", "timestamp": "2026-02-03T10:00:04Z", "type": "info", "content": "Update available"},
    model("m2", [{"text": "They "}, {"text": "pass"}, {"text": "hm", "thought": True}]),
    user("u2", [{"text": "Now "}, {"text": "lint"}]),
    model("m3", "", call("c2", "npm run lint", REPORT.format("npm run lint", "(empty)", "3 problems", 2))),
)


def test_one_input_is_one_run_with_what_followed_it(tmp_path: Path) -> None:
    counts = ReadCounts()
    first, second = runs_of(tmp_path, *MESSAGES, counts=counts)
    assert shape(first) == [
        ("input", "Run the tests"),
        ("assistant_message", "I will"),
        ("tool_call", "run_shell_command"),
        ("tool_result", "12 passed"),
        ("assistant_message", "They pass"),
    ]
    assert outcomes(first) == [("12 passed", 0, None)]
    assert outcomes(second) == [("(empty)\nError: 3 problems", 2, None)]
    assert (first.agent, first.source_session) == (TranscriptAgent.GEMINI, "g-1")
    assert [(run.ordinal, run.first_number) for run in (first, second)] == [(1, 2), (2, 8)]
    assert (first.model, counts.lines, counts.skipped) == ("gemini-test", 6, {})
    for run in (first, second):
        for event in run.events[1:]:
            parse_entry({"type": event.entry.type.value, **event.entry.body})


def test_the_two_forms_tell_the_same(tmp_path: Path) -> None:
    once = runs_of(tmp_path, *MESSAGES)
    indented = read(document(tmp_path / "indented.json", *MESSAGES, indent=2))
    lines = read(write(tmp_path / "session.jsonl", [ABOUT, *MESSAGES]))
    packed = tmp_path / "session.json.gz"
    packed.write_bytes(gzip.compress((tmp_path / "session.json").read_bytes()))
    assert facts(once) == facts(indented) == facts(lines) == facts(read(dated(packed, LONG_AGO)))


def test_later_lines_change_earlier_ones(tmp_path: Path) -> None:
    counts = ReadCounts()
    runs = read(
        write(
            tmp_path / "session.jsonl",
            [
                ABOUT,
                user("u1", "Build it"),
                model("m1", ""),
                model("m1", "", {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}}),
                {"$set": {"lastUpdated": "2026-02-03T10:00:09Z", "summary": "Building"}},
                model("m1", "", call("c1", "make", REPORT.format("make", "made", "(none)", 0))),
                user("u2", "Delete it"),
                model("m2", "Deleted"),
                {"$rewindTo": "u2"},
                user("u3", "Test it"),
                {"$set": {"directories": ["/srv/shop"]}},
            ],
        ),
        counts,
    )
    assert inputs(runs) == ["Build it", "Test it"]
    assert outcomes(runs[0]) == [("made", 0, None)]
    assert (runs[0].title, runs[0].folder) == ("Building", "/srv/shop")
    assert (counts.lines, counts.skipped) == (11, {})


@pytest.mark.req("SCO-5")
@pytest.mark.parametrize("place", ["chats", "chats/g-0"])
def test_the_folder_is_the_one_that_is_named_beside_the_chats(tmp_path: Path, place: str) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / ".project_root").write_text("/srv/shop\n")
    [run] = read(write(tmp_path / "shop" / place / "session.jsonl", [ABOUT, user("u1", "Build it")]))
    assert run.folder == "/srv/shop"
    (tmp_path / "shop" / ".project_root").write_text("not a path")
    [run] = read(tmp_path / "shop" / place / "session.jsonl")
    assert run.folder == ""


def test_a_rewind_to_what_is_not_there_takes_back_all_and_a_set_puts_others(tmp_path: Path) -> None:
    lines = [ABOUT, user("u1", "One"), {"$rewindTo": "gone"}, user("u2", "Two")]
    assert inputs(read(write(tmp_path / "a.jsonl", lines))) == ["Two"]
    lines.append({"$set": {"messages": [user("u9", "Nine")]}})
    assert inputs(read(write(tmp_path / "b.jsonl", lines))) == ["Nine"]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (call("c", "make", "Denied by policy", "error"), [("Denied by policy", None, True)]),
        (
            call("c", "make", "[Operation Cancelled] by user", "cancelled"),
            [("[Operation Cancelled] by user", None, True)],
        ),
        (call("c", "make", "", "executing"), []),
        (call("c", "make", "Output: made\nProcess Group PGID: 7"), [("made", None, None)]),
        (
            call("c", "x", REPORT.format("x", "a\nError: b\nExit Code: 9\nc", "(none)", 0)),
            [("a\nError: b\nExit Code: 9\nc", 0, None)],
        ),
        ({**call("c", "make"), "result": None, "resultDisplay": "shown"}, [("shown", None, None)]),
        ({**call("c", "make"), "result": [{"text": "plain"}]}, [("plain", None, None)]),
        ({"name": "read_file", "args": None, "status": "success"}, [("", None, None)]),
        ({"id": "c", "args": {}}, []),
    ],
)
def test_what_became_of_a_call_is_told_as_far_as_it_is_known(
    tmp_path: Path, one: object, expected: list[object]
) -> None:
    [run] = runs_of(tmp_path, user("u1", "Go"), model("m1", "", one))
    assert outcomes(run) == expected


@pytest.mark.req("CAP-6")
def test_what_the_harness_says_in_the_place_of_the_user_begins_no_run(tmp_path: Path) -> None:
    runs = runs_of(
        tmp_path,
        user("u0", "<session_context>\nThis is the Gemini CLI\n</session_context>"),
        user("u1", [{"functionResponse": {"id": "c", "name": "x", "response": {}}}]),
        {**user("u2", "Expanded text of a file and: go"), "displayContent": "Go"},
    )
    assert inputs(runs) == ["Go"]


def test_a_turn_that_was_stopped_or_failed_says_so(tmp_path: Path) -> None:
    notice = {"id": "n", "timestamp": "2026-02-03T10:00:05Z", "type": "info", "content": "Request cancelled."}
    runs = runs_of(
        tmp_path,
        user("u1", "One"),
        notice,
        user("u2", "Two"),
        {**notice, "id": "e", "type": "error", "content": "No quota"},
        user("u3", "Three"),
    )
    assert [run.status for run in runs] == [RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.COMPLETED]


def test_what_is_not_understood_is_counted_and_harms_nothing(tmp_path: Path) -> None:
    counts = ReadCounts()
    runs = runs_of(tmp_path, user("u1", "One"), 7, {"id": "x", "type": "telepathy"}, counts=counts)
    assert (inputs(runs), counts.skipped) == (["One"], {NO_OBJECT: 1, UNKNOWN: 1})

    counts = ReadCounts()
    lines = [ABOUT, user("u1", "One"), b'{"id":', b"[]", {"odd": 1}, user("u2", "Two")]
    assert inputs(read(write(tmp_path / "lines.jsonl", lines), counts)) == ["One", "Two"]
    assert counts.skipped == {BROKEN: 1, NO_OBJECT: 1, UNKNOWN: 1}

    counts = ReadCounts()
    cut = tmp_path / "cut.json"
    cut.write_text(document(tmp_path / "c.json", *MESSAGES, indent=1).read_text()[:-40])
    assert read(dated(cut, LONG_AGO), counts) == []
    assert (counts.lines, counts.skipped) == (1, {BROKEN: 1})

    counts = ReadCounts()
    damaged = tmp_path / "damaged.json.gz"
    large = document(tmp_path / "large.json", user("u1", Random(1).randbytes(400_000).hex()))
    damaged.write_bytes(gzip.compress(large.read_bytes())[:-9_000])
    assert read(dated(damaged, LONG_AGO), counts) == []
    assert counts.skipped == {TOO_LARGE: 1}


def test_a_second_reading_opens_nothing_that_has_not_changed(tmp_path: Path) -> None:
    path = document(tmp_path / "session.json", *MESSAGES)
    last = read(path)[-1]
    assert not local().is_unread(found(path), last.after)
    document(path, *MESSAGES, user("u3", "More"))
    assert local().is_unread(found(path), last.after)
    assert inputs(read(path, start=last.after)) == ["More"]


def one(kind: str, place: int) -> dict[str, object]:
    if kind == "user":
        return user(f"u{place}", f"Do {place}")
    if kind == "model":
        return model(f"m{place}", "", call(f"c{place}", "make", "made"))
    return {"id": f"i{place}", "type": "info", "content": "Request cancelled."}


@settings(max_examples=scaled(60))
@given(st.lists(st.sampled_from(["user", "model", "info"]), max_size=12), st.integers(0, 12), st.booleans())
def test_a_session_that_is_read_while_it_is_written_tells_the_same_in_the_end(
    kinds: list[str], cut: int, is_lines: bool
) -> None:
    messages = [one(kind, place) for place, kind in enumerate(kinds)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"

        def put(is_whole: bool) -> None:
            now = messages if is_whole else messages[:cut]
            write(path, [ABOUT, *now] if is_lines else [{**ABOUT, "messages": now}])

        twice, once = in_two_goes(path, TranscriptAgent.GEMINI, put=put)
        assert facts(twice) == facts(once)
