"""Several sessions in one transcript of Claude Code: subagents, forks, exports, and files of odd names."""

from pathlib import Path

import orjson
import pytest

from runlore.agents.transcripts.parsing import BROKEN
from runlore.domain.runs.transcript import ReadCounts, ToldRun, TranscriptAgent
from tests.agents.transcripts.claude_lines import SESSION, Claude
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

pytestmark = pytest.mark.req("INT-1")


def by_session(runs: list[ToldRun]) -> dict[str, list[object]]:
    told: dict[str, list[object]] = {}
    for run in runs:
        told.setdefault(run.source_session, []).append((run.ordinal, shape(run)))
    return told


def test_a_subagents_file_is_a_session_of_its_own(tmp_path: Path) -> None:
    claude = Claude(isSidechain=True, agentId="a1b2")
    path = write(
        tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl",
        [claude.user("Find the tests"), claude.calls("c1", "rg test"), claude.user("Once more")],
    )
    runs = read(path)
    assert by_session(runs) == {
        f"{SESSION}/a1b2": [
            (1, [("input", "Find the tests"), ("tool_call", "Bash")]),
            (2, [("input", "Once more")]),
        ]
    }
    assert runs[0].session_id != read(write(tmp_path / "s.jsonl", [Claude().user("x")]))[0].session_id


def test_a_subagents_file_whose_lines_name_no_agent_is_told_by_its_name(tmp_path: Path) -> None:
    claude = Claude(isSidechain=True)
    [run] = read(write(tmp_path / "agent-9f.jsonl", [claude.user("Look")]))
    assert run.source_session == f"{SESSION}/9f"


def test_subagents_between_the_lines_are_not_mixed_into_the_run(tmp_path: Path) -> None:
    claude = Claude()
    one = {"isSidechain": True, "agentId": "one"}
    two = {"isSidechain": True, "agentId": "two"}
    runs = read(
        write(
            tmp_path / "s.jsonl",
            [
                claude.user("Go"),
                claude.says("I ask two", message_id="m1", usage={"output_tokens": 1}),
                claude.user("Task one", **one),
                claude.user("Task two", **two),
                claude.says("One works", **one),
                claude.says("Meanwhile", message_id="m1", usage={"output_tokens": 1}),
                claude.says("Two works", **two),
                claude.user("Task one, again", **one),
                claude.says("One ends", **one),
                claude.says("All done"),
                claude.user("Next"),
                claude.says("A late word", **two),
                claude.user("Another task", **two),
            ],
        )
    )
    assert by_session(runs) == {
        SESSION: [
            (
                1,
                [
                    ("input", "Go"),
                    ("assistant_message", "I ask two"),
                    ("usage", None),
                    ("assistant_message", "Meanwhile"),
                    ("assistant_message", "All done"),
                ],
            ),
            (2, [("input", "Next")]),
        ],
        f"{SESSION}/one": [
            (1, [("input", "Task one"), ("assistant_message", "One works")]),
            (2, [("input", "Task one, again"), ("assistant_message", "One ends")]),
        ],
        f"{SESSION}/two": [
            (1, [("input", "Task two"), ("assistant_message", "Two works")]),
            (2, [("input", "Another task")]),
        ],
    }


def test_subagents_that_are_not_named_are_told_apart_by_their_chains(tmp_path: Path) -> None:
    claude = Claude()
    side = {"isSidechain": True}
    runs = read(
        write(
            tmp_path / "s.jsonl",
            [
                claude.user("Go"),
                claude.user("Task A", uuid="a1", parentUuid=None, **side),
                claude.user("Task B", uuid="b1", parentUuid=None, **side),
                claude.says("A works", uuid="a2", parentUuid="a1", **side),
                claude.says("B works", uuid="b2", parentUuid="b1", **side),
                claude.says("A ends", uuid="a3", parentUuid="a2", **side),
            ],
        )
    )
    told = by_session(runs)
    assert told[f"{SESSION}/a1"] == [
        (1, [("input", "Task A"), ("assistant_message", "A works"), ("assistant_message", "A ends")])
    ]
    assert told[f"{SESSION}/b1"] == [(1, [("input", "Task B"), ("assistant_message", "B works")])]
    assert told[SESSION] == [(1, [("input", "Go")])]


def test_runs_of_one_turn_move_the_position_only_together(tmp_path: Path) -> None:
    claude = Claude()
    side = {"isSidechain": True, "agentId": "one"}
    lines = [
        claude.user("Go"),
        claude.user("Task", **side),
        claude.user("Task again", **side),
        claude.user("Next"),
        claude.user("Last"),
    ]
    path = write(tmp_path / "s.jsonl", lines)
    runs = read(path)
    assert inputs(runs) == ["Go", "Task", "Task again", "Next", "Last"]
    assert [run.after.line for run in runs] == [0, 0, 3, 4, 5]
    for index, run in enumerate(runs):
        # Whoever stops behind a run and goes on from its position misses none.
        again = read(path, start=run.after)
        assert again == runs[len(runs) - len(again) :]
        assert len(again) >= len(runs) - index - 1


def test_what_a_fork_copied_is_told_as_its_parents(tmp_path: Path) -> None:
    parent = Claude("parent")
    original = [
        parent.user("Go"),
        parent.calls("c1", "make"),
        parent.result("c1", "made"),
        parent.user("More"),
    ]
    copies = [
        {**line, "sessionId": "fork", "forkedFrom": {"sessionId": "parent", "messageUuid": line["uuid"]}}
        for line in original
    ]
    fork = Claude("fork")
    parents = read(write(tmp_path / "parent.jsonl", [*original, parent.says("As the parent")]))
    forked = read(write(tmp_path / "fork.jsonl", [*copies, fork.user("Otherwise"), fork.says("As the fork")]))
    assert forked[0].run_id == parents[0].run_id
    assert forked[0].events == parents[0].events
    assert [(run.source_session, run.ordinal) for run in forked] == [
        ("parent", 1),
        ("parent", 2),
        ("fork", 1),
    ]


def test_one_file_may_hold_several_sessions_and_each_counts_its_own_runs(tmp_path: Path) -> None:
    one, two = Claude("one"), Claude("two")
    path = write(tmp_path / "s.jsonl", [one.user("1"), two.user("1"), one.user("2"), two.user("2")])
    assert [(run.source_session, run.ordinal, run.first_number) for run in read(path)] == [
        ("one", 1, 2),
        ("two", 1, 2),
        ("one", 2, 4),
        # The other one began where this one was: that something preceded it is told.
        ("two", 2, 5),
    ]


def test_lines_without_a_session_are_of_the_file_and_what_precedes_an_input_is_of_no_run(
    tmp_path: Path,
) -> None:
    counts = ReadCounts()
    path = write(
        tmp_path / "by-hand.jsonl",
        [
            {"type": "assistant", "message": {"content": [{"type": "text", "text": "Before"}]}},
            {"type": "user", "message": {"content": "Fix it"}, "cwd": "/w"},
            {"type": "assistant", "message": {"content": "Fixed"}},
        ],
    )
    [run] = read(path, counts)
    assert (run.source_session, run.folder) == ("by-hand", "/w")
    assert shape(run) == [("input", "Fix it"), ("assistant_message", "Fixed")]
    assert counts.lines_skipped == 0


@pytest.mark.parametrize(
    "line",
    [
        {"type": "summary", "summary": "Shop", "leafUuid": "u"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "permission-mode", "permissionMode": "default", "sessionId": "s"},
        {"type": "user", "message": {"role": "user", "content": "Go"}, "uuid": "u"},
        Claude().line("system", subtype="bridge_status"),
    ],
)
def test_a_transcript_is_recognised_by_its_first_line(tmp_path: Path, line: object) -> None:
    assert found(write(tmp_path / "s.jsonl", [line])).agent is TranscriptAgent.CLAUDE_CODE


def test_a_transcript_with_a_huge_first_line_is_recognised(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [Claude().user("x" * 200_000)])
    assert found(path).agent is TranscriptAgent.CLAUDE_CODE
    assert len(read(path)) == 1


def test_a_repeated_answer_is_left_out_only_where_the_rest_is_whole(tmp_path: Path) -> None:
    claude = Claude()
    tricky = claude.result("c1", 'a key ,"toolUseResult": in a text ,"sourceToolAssistantUUID": is no key')
    nested = claude.user(
        [{"type": "tool_result", "tool_use_id": "c2", "content": "two", "x": {"a": 1, "toolUseResult": 2}}]
    )
    nested["sourceToolAssistantUUID"] = "u1"
    [run] = read(write(tmp_path / "s.jsonl", [claude.user("Go"), tricky, nested]))
    assert shape(run)[1:] == [
        ("tool_result", 'a key ,"toolUseResult": in a text ,"sourceToolAssistantUUID": is no key'),
        ("tool_result", "two"),
    ]


def test_an_exported_session_is_read_and_read_on_when_it_grows(tmp_path: Path) -> None:
    claude = Claude()
    lines: list[object] = [claude.user("One"), claude.says("Did"), claude.user("Two"), 7]
    path = tmp_path / "export.json"
    path.write_bytes(orjson.dumps({"loglines": lines}, option=orjson.OPT_INDENT_2))
    counts = ReadCounts()
    first = read(dated(path, LONG_AGO), counts)
    assert inputs(first) == ["One", "Two"]
    assert (counts.lines, counts.lines_skipped) == (4, 1)
    assert not local().is_unread(found(path), first[-1].after)

    path.write_bytes(orjson.dumps({"loglines": [*lines, claude.user("Three")]}))
    dated(path, LONG_AGO)
    assert local().is_unread(found(path), first[-1].after)
    assert inputs(read(path, start=first[0].after)) == ["Two", "Three"]
    assert inputs(read(path, start=first[-1].after)) == ["Three"]

    path.write_bytes(orjson.dumps({"loglines": [Claude("other").user("Another")]}))
    assert inputs(read(dated(path, LONG_AGO), start=first[-1].after)) == ["Another"]
    path.write_bytes(b'{"loglines": [')
    counts = ReadCounts()
    assert read(dated(path, LONG_AGO), counts) == []
    assert counts.skipped == {BROKEN: 1}


@pytest.mark.req("LRN-12")
def test_a_subagent_is_not_called_as_its_main_line_is(tmp_path: Path) -> None:
    claude = Claude()
    side = {"isSidechain": True, "agentId": "one"}
    title = {"type": "ai-title", "aiTitle": "Plan of the quokka", "sessionId": SESSION}
    lines = [title, claude.user("Build"), claude.user("Look", **side), claude.says("Seen", **side)]
    titles = {run.source_session: run.title for run in read(write(tmp_path / "s.jsonl", lines))}
    assert titles == {SESSION: "Plan of the quokka", f"{SESSION}/one": ""}
