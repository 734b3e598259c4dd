"""Transcripts of Claude Code: who speaks in a line, what a message is, and what the harness put in."""

from pathlib import Path

import pytest

from runlore.agents.transcripts.parsing import BROKEN, NO_OBJECT, UNFINISHED, UNKNOWN
from runlore.domain import limits
from runlore.domain.run import RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.runs.journal_entry import parse_entry
from runlore.domain.runs.transcript import ReadCounts, ToldRun, TranscriptAgent
from tests.agents.transcripts.claude_lines import BEGINNING, SESSION, Claude, call
from tests.agents.transcripts.transcript_files import (
    JUST_NOW,
    found,
    inputs,
    read,
    shape,
    spoken,
    told,
    write,
)

pytestmark = pytest.mark.req("INT-1")

USAGE = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7, "service_tier": "standard"}


def runs_of(tmp_path: Path, *lines: object, counts: ReadCounts | None = None) -> list[ToldRun]:
    return read(write(tmp_path / f"{SESSION}.jsonl", lines), counts)


def test_one_input_is_one_run_with_what_followed_it(tmp_path: Path) -> None:
    claude = Claude()
    first, second = runs_of(
        tmp_path,
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False},
        claude.user("Run the tests"),
        claude.says("I will"),
        claude.calls("c1", "npm test"),
        claude.result("c1", "12 passed"),
        claude.says("They pass"),
        {"type": "ai-title", "aiTitle": "Testing the shop", "sessionId": SESSION},
        claude.user([{"type": "text", "text": "Now lint"}], gitBranch="lint", cwd="/srv/shop/web"),
        claude.calls("c2", "npm run lint"),
    )
    assert shape(first) == [
        ("input", "Run the tests"),
        ("assistant_message", "I will"),
        ("tool_call", "Bash"),
        ("tool_result", "12 passed"),
        ("assistant_message", "They pass"),
    ]
    assert shape(second) == [("input", "Now lint"), ("tool_call", "Bash")]
    assert (first.agent, first.source_session) == (TranscriptAgent.CLAUDE_CODE, SESSION)
    assert (first.ordinal, first.first_number) == (1, 2)
    # Its five events and its status stand before it.
    assert (second.ordinal, second.first_number) == (2, 8)
    assert (first.folder, first.branch) == ("/srv/shop", "main")
    assert (second.folder, second.branch) == ("/srv/shop/web", "lint")
    assert (first.model, first.agent_version, first.title) == ("claude-test", "2.1.9", "Testing the shop")
    assert first.events[0].at == BEGINNING.replace(second=1)
    assert first.is_whole
    assert second.is_whole
    assert first.session_id == second.session_id
    assert first.run_id != second.run_id


def test_every_event_is_one_that_the_journal_takes(tmp_path: Path) -> None:
    claude = Claude()
    [run] = runs_of(
        tmp_path,
        claude.user("Go"),
        claude.assistant({"type": "text", "text": "Yes"}, call("c1", "make"), usage=USAGE),
        claude.result("c1", "Exit code 2\nno rule", is_error=True),
        claude.says("Broken"),
    )
    for event in run.events[1:]:
        parse_entry({"type": event.entry.type.value, **event.entry.body})
    assert len(run.events) == 6


def test_a_message_in_pieces_is_one_message_and_its_usage_counts_once(tmp_path: Path) -> None:
    claude = Claude()
    [run] = runs_of(
        tmp_path,
        claude.user("Go"),
        claude.assistant({"type": "thinking", "thinking": "hm"}, message_id="m1", usage=USAGE),
        claude.assistant({"type": "text", "text": "One"}, message_id="m1", usage=USAGE),
        claude.assistant({"type": "text", "text": "Two"}, message_id="m1", usage=USAGE),
        claude.assistant(call("c1", "make a"), message_id="m1", usage=USAGE),
        claude.result("c1", "a made"),
        claude.assistant(call("c2", "make b"), message_id="m1", usage={**USAGE, "output_tokens": 9}),
        claude.result("c2", "b made"),
        claude.assistant({"type": "text", "text": "Done"}, message_id="m2", usage=USAGE),
        claude.assistant({"type": "text", "text": "Late"}, message_id="m1", usage=USAGE),
    )
    assert shape(run) == [
        ("input", "Go"),
        ("assistant_message", "One\n\nTwo"),
        ("tool_call", "Bash"),
        ("tool_result", "a made"),
        ("tool_call", "Bash"),
        ("tool_result", "b made"),
        ("usage", None),
        ("assistant_message", "Done"),
        ("usage", None),
        ("assistant_message", "Late"),
    ]
    first, second = told(run, EventType.USAGE)
    assert first == {
        "input_tokens": 3,
        "output_tokens": 9,
        "cache_read_input_tokens": 7,
        "model": "claude-test",
    }
    assert second["output_tokens"] == 5  # type: ignore[index]


@pytest.mark.req("CAP-6", "SKL-3")
@pytest.mark.parametrize(
    "content",
    [
        "<local-command-caveat>Caveat: do not answer</local-command-caveat>",
        "<task-notification>\n<task-id>1</task-id></task-notification>",
        "<bash-input>ls</bash-input>",
        "<bash-stdout>README</bash-stdout><bash-stderr></bash-stderr>",
        "<local-command-stdout>Goodbye</local-command-stdout>",
        "<system-reminder>Be kind</system-reminder>",
        "<user-prompt-submit-hook>remember this</user-prompt-submit-hook>",
        "This session is being continued from a previous conversation that ran out of context.",
        "Caveat: The messages below were generated by the user while running local commands. Do not",
        [{"type": "text", "text": "<ide_opened_file>The user opened a.py</ide_opened_file>"}],
        [{"type": "text", "text": "<system-reminder>Look at\nthis</system-reminder>  "}],
        "",
    ],
)
def test_what_the_harness_says_in_the_users_place_is_no_input(tmp_path: Path, content: object) -> None:
    claude = Claude()
    counts = ReadCounts()
    runs = runs_of(tmp_path, claude.user("Go"), claude.user(content), claude.says("Gone"), counts=counts)
    assert [spoken(run) for run in runs] == [[("input", "Go"), ("assistant_message", "Gone")]]
    assert counts.lines_skipped == 0


@pytest.mark.req("CAP-6", "SKL-3")
@pytest.mark.parametrize(
    "flags",
    [
        {"isMeta": True},
        {"isCompactSummary": True},
        {"isVisibleInTranscriptOnly": True},
        {"origin": {"kind": "task-notification"}},
        {"promptSource": "system"},
    ],
)
def test_lines_that_are_marked_as_the_harness_are_no_input(tmp_path: Path, flags: dict[str, object]) -> None:
    claude = Claude()
    runs = runs_of(tmp_path, claude.user("Go"), claude.user("Not mine", **flags), claude.says("Gone"))
    assert inputs(runs) == ["Go"]


@pytest.mark.parametrize(
    "flags",
    [{"origin": {"kind": "human"}, "promptSource": "queued"}, {"promptSource": "typed"}, {"origin": None}],
)
def test_lines_that_are_marked_as_the_users_are_inputs(tmp_path: Path, flags: dict[str, object]) -> None:
    claude = Claude()
    assert inputs(runs_of(tmp_path, claude.user("Go", **flags))) == ["Go"]


@pytest.mark.req("CAP-6")
def test_reminders_are_cut_out_of_words_and_outputs_and_what_is_around_them_stays(tmp_path: Path) -> None:
    claude = Claude()
    noise = "<system-reminder>\nThe file changed.\n</system-reminder>"
    [run] = runs_of(
        tmp_path,
        claude.user(f"{noise}\nFix the build"),
        claude.calls("c1", "make"),
        claude.result("c1", f"before{noise}between{noise}behind\n"),
        claude.calls("c2", "make"),
        claude.result("c2", [{"type": "text", "text": "plain"}, {"type": "text", "text": noise}]),
        claude.calls("c3", "grep reminder"),
        claude.result("c3", "code: <system-reminder> is never closed"),
    )
    assert inputs([run]) == ["Fix the build"]
    outputs = [body["output"] for body in told(run, EventType.TOOL_RESULT)]  # type: ignore[index]
    # What stood beside the user's words is told as read from outside, without its text; and between two
    # reminders stands what the first may have held.
    assert outputs == ["", "beforebehind", "plain", "code: <system-reminder> is never closed"]


@pytest.mark.req("CAP-6")
def test_of_attachments_hooks_and_progress_only_is_told_that_a_hook_said_something(tmp_path: Path) -> None:
    claude = Claude()
    counts = ReadCounts()
    [run] = runs_of(
        tmp_path,
        claude.user("Go"),
        claude.line("attachment", attachment={"type": "hook_additional_context", "content": ["Remember me"]}),
        {
            "parentUuid": "u1",
            "isSidechain": False,
            "attachment": {"type": "hook_success", "content": "injected"},
            "type": "attachment",
        },
        claude.line("progress", data={"type": "agent_progress", "message": claude.says("inner")}),
        claude.line("system", subtype="compact_boundary", content="Conversation compacted"),
        claude.line("system", subtype="stop_hook_summary", hookAdditionalContext=["more"]),
        claude.line("queue-operation", operation="enqueue", content="later"),
        claude.says("Gone"),
        counts=counts,
    )
    assert shape(run) == [("input", "Go"), ("tool_result", ""), ("assistant_message", "Gone")]
    assert [body["source"] for body in told(run, EventType.TOOL_RESULT)] == ["the output of a hook"]  # type: ignore[index]
    assert counts.lines_skipped == 0


def test_what_the_user_typed_while_the_agent_worked_is_an_input(tmp_path: Path) -> None:
    claude = Claude()

    def queued(prompt: object, mode: str, **more: object) -> dict[str, object]:
        told = {"type": "queued_command", "prompt": prompt, "commandMode": mode, **more}
        return {"parentUuid": "u1", "isSidechain": False, "attachment": told, **claude.line("attachment")}

    runs = runs_of(
        tmp_path,
        claude.user("Go"),
        queued("No, use pnpm", "prompt", origin={"kind": "human"}),
        queued([{"type": "text", "text": "And hurry"}], "prompt"),
        queued("<task-notification>done</task-notification>", "task-notification"),
        queued("wake up", "prompt", origin={"kind": "cron"}),
        claude.says("Yes"),
    )
    assert inputs(runs) == ["Go", "No, use pnpm", "And hurry"]


@pytest.mark.req("CAP-8")
def test_what_was_typed_ahead_is_told_once_wherever_it_stands_and_whoever_goes_on_reads_the_same(
    tmp_path: Path,
) -> None:
    claude = Claude()

    def queue(operation: str, **more: object) -> dict[str, object]:
        return claude.line("queue-operation", operation=operation, **more)

    lines = [
        claude.user("Go"),
        claude.says("One"),
        queue("enqueue", content="No, use pnpm"),
        claude.says("Two"),
        queue("enqueue", content="And hurry"),
        queue("remove"),
        claude.says("Three"),
        queue("remove", content="And hurry"),
        # Newer versions tell it again.
        claude.line("attachment", attachment={"type": "queued_command", "prompt": "And hurry"}),
        claude.says("Four"),
        queue("enqueue", content="<task-notification>done</task-notification>"),
        queue("remove"),
        queue("enqueue", content="never mind"),
        queue("popAll", content="never mind"),
        queue("enqueue", content="Now the docs"),
        queue("dequeue"),
        claude.user("Now the docs"),
        claude.says("Five"),
    ]
    runs = runs_of(tmp_path, *lines)
    assert [shape(run) for run in runs] == [
        [("input", "Go"), ("assistant_message", "One"), ("assistant_message", "Two")],
        [("input", "No, use pnpm"), ("assistant_message", "Three")],
        [("input", "And hurry"), ("assistant_message", "Four")],
        [("input", "Now the docs"), ("assistant_message", "Five")],
    ]
    path = tmp_path / f"{SESSION}.jsonl"
    for place, run in enumerate(runs):
        assert read(path, start=run.after) == runs[place + 1 :]


def test_a_slash_command_that_asks_the_model_is_an_input_as_it_was_typed(tmp_path: Path) -> None:
    claude = Claude()
    wrapper = "<command-message>review is running</command-message>\n<command-name>/review</command-name>\n"
    runs = runs_of(
        tmp_path,
        claude.user(wrapper + "<command-args>the diff</command-args>"),
        claude.user([{"type": "text", "text": "You are a reviewer. Do it well."}], isMeta=True),
        claude.says("Reviewed"),
        claude.user("<command-name>/fix</command-name>"),
        claude.says("Fixed"),
    )
    assert [spoken(run) for run in runs] == [
        [("input", "/review the diff"), ("assistant_message", "Reviewed")],
        [("input", "/fix"), ("assistant_message", "Fixed")],
    ]


def test_a_command_that_the_program_answers_by_itself_is_no_input(tmp_path: Path) -> None:
    claude = Claude()
    clear = "<command-name>/clear</command-name><command-args></command-args>"
    runs = runs_of(
        tmp_path,
        claude.user("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True),
        claude.user(clear),
        claude.user("<local-command-stdout></local-command-stdout>"),
        claude.user("Go"),
        claude.user(clear),
        claude.line("system", subtype="local_command", content="<local-command-stdout>"),
        claude.says("Gone"),
        claude.user(clear),
        claude.user("Again"),
        claude.says("Once more"),
    )
    assert inputs(runs) == ["Go", "Again"]


@pytest.mark.req("SKL-3")
def test_an_exit_code_is_told_only_where_a_failed_result_begins_with_it(tmp_path: Path) -> None:
    claude = Claude()
    answers: list[tuple[object, dict[str, object]]] = [
        ("Exit code 127\nmake: not found", {"is_error": True}),
        ("<tool_use_error>String to replace not found</tool_use_error>", {"is_error": True}),
        ("The user doesn't want to proceed with this tool use.", {"is_error": True}),
        ("Exit code 3 is what the manual says", {}),
        ("fine", {"is_error": False}),
        ("it said Exit code 1", {"is_error": True}),
        ([{"type": "text", "text": "Exit code 1"}, {"type": "image"}], {"is_error": True}),
        ([{"type": "tool_reference", "tool_name": "x"}, "odd", None], {}),
        (None, {}),
        ("Exit code 4", {"is_error": False}),
    ]
    lines: list[object] = [claude.user("Go")]
    for number, (output, block) in enumerate(answers):
        lines += [claude.calls(f"c{number}", "make"), claude.result(f"c{number}", output, **block)]
    [run] = runs_of(tmp_path, *lines)
    bodies = told(run, EventType.TOOL_RESULT)
    assert bodies == [
        {"call_id": "c0", "output": "Exit code 127\nmake: not found", "is_error": True, "exit_code": 127},
        {"call_id": "c1", "output": answers[1][0], "is_error": True},
        {"call_id": "c2", "output": answers[2][0], "is_error": True},
        {"call_id": "c3", "output": answers[3][0]},
        {"call_id": "c4", "output": "fine", "is_error": False},
        {"call_id": "c5", "output": answers[5][0], "is_error": True},
        {"call_id": "c6", "output": "Exit code 1\n[image]", "is_error": True, "exit_code": 1},
        {"call_id": "c7", "output": "[tool_reference]\n[unknown]\n[unknown]"},
        {"call_id": "c8", "output": ""},
        {"call_id": "c9", "output": "Exit code 4", "is_error": False},
    ]


def test_an_interrupted_run_and_one_that_ended_in_an_api_error_say_so(tmp_path: Path) -> None:
    claude = Claude()
    stop = [{"type": "text", "text": "[Request interrupted by user for tool use]"}]
    synthetic = claude.says("API Error: 529", isApiErrorMessage=True)
    synthetic["message"]["model"] = "<synthetic>"  # type: ignore[index]
    runs = runs_of(
        tmp_path,
        claude.user("One"),
        claude.says("Hm"),
        claude.user(stop),
        claude.user("Two"),
        claude.user(stop),
        claude.says("Going on all the same"),
        claude.user("Three"),
        synthetic,
    )
    assert [(run.status, len(run.events)) for run in runs] == [
        (RunStatus.INTERRUPTED, 2),
        (RunStatus.COMPLETED, 2),
        (RunStatus.FAILED, 1),
    ]


def test_the_order_is_that_of_the_file_and_odd_times_are_none(tmp_path: Path) -> None:
    claude = Claude()
    [run] = runs_of(
        tmp_path,
        claude.user("Go", timestamp="2026-02-03T10:00:00Z"),
        claude.says("Earlier", timestamp="2026-02-03T09:00:00+02:00"),
        claude.says("Never", timestamp="yesterday"),
        claude.says("Nowhere", timestamp=None),
        claude.says("Milliseconds", timestamp=1_700_000_000_000),
    )
    assert [event.at.isoformat() if event.at else None for event in run.events] == [
        "2026-02-03T10:00:00+00:00",
        "2026-02-03T07:00:00+00:00",
        None,
        None,
        "2023-11-14T22:13:20+00:00",
    ]


def test_lines_that_are_broken_or_unknown_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    claude = Claude()
    counts = ReadCounts()
    [run] = runs_of(
        tmp_path,
        claude.user("Go"),
        b'{"type":"assistant","message":{"con',
        b'{"parentUuid":"u1","isSidechain":false,"attachment":{"type":"hook_success","cont',
        b"[1, 2]",
        b"\x00\x01\x02",
        {"type": "telepathy", "sessionId": SESSION},
        {"type": ["user"]},
        {"no": "type"},
        claude.line("user", message="odd"),
        claude.line("user", message={"content": 7}),
        claude.line("assistant", message={"content": {"odd": 1}}),
        claude.assistant({"type": "hologram"}),
        claude.assistant("odd", None, {"type": "tool_use", "name": 3, "id": []}),
        claude.line("attachment", attachment="odd"),
        claude.says("Gone"),
        counts=counts,
    )
    assert shape(run) == [("input", "Go"), ("assistant_message", "Gone")]
    assert counts.lines == 15
    assert counts.skipped == {BROKEN: 3, NO_OBJECT: 1, UNKNOWN: 7}


def test_a_line_with_half_a_character_is_read_with_that_replaced(tmp_path: Path) -> None:
    half = rb'{"type":"user","sessionId":"s","message":{"content":"a \ud83d b"}}'
    bad = b'{"type":"assistant","sessionId":"s","message":{"content":"c \xe2\x82 d"}}'
    counts = ReadCounts()
    [run] = runs_of(tmp_path, half, bad, counts=counts)
    assert shape(run) == [("input", "a ? b"), ("assistant_message", "c � d")]
    assert counts.lines_skipped == 0


def test_the_last_line_counts_when_it_is_whole_even_without_its_newline(tmp_path: Path) -> None:
    claude = Claude()
    path = write(tmp_path / "s.jsonl", [claude.user("Go"), claude.says("Gone")])
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert [shape(run) for run in read(path)] == [[("input", "Go"), ("assistant_message", "Gone")]]
    path.write_bytes(whole[:-9])
    counts = ReadCounts()
    assert [shape(run) for run in read(path, counts)] == [[("input", "Go")]]
    assert counts.skipped == {UNFINISHED: 1}


def test_long_texts_keep_their_beginning_and_end(tmp_path: Path) -> None:
    claude = Claude()
    long = "<" + "x" * 100_000 + ">"
    [run] = runs_of(
        tmp_path,
        claude.user(long),
        claude.says(long),
        claude.assistant(
            {
                "type": "tool_use",
                "id": "c1",
                "name": "Write",
                "input": {"content": long, "n": [long, {"k": long}]},
            }
        ),
        claude.result("c1", long),
    )
    arguments = told(run, EventType.TOOL_CALL)[0]["arguments"]  # type: ignore[index]
    texts = [
        run.events[0].entry.body["text"],
        run.events[1].entry.body["text"],
        run.events[3].entry.body["output"],
        arguments["content"],
        arguments["n"][0],
        arguments["n"][1]["k"],
    ]
    for text in texts:
        assert isinstance(text, str)
        assert limits.TOLD_TEXT_CHARS_MAX - 100 < len(text) <= limits.TOLD_TEXT_CHARS_MAX
        assert text[:2] == "<x"
        assert text[-2:] == "x>"
        assert "characters left out" in text


def test_the_last_run_of_a_file_that_may_still_be_written_is_not_whole(tmp_path: Path) -> None:
    claude = Claude()
    lines = [claude.user("One"), claude.says("Did"), claude.user("Two"), claude.says("Doing")]
    path = write(tmp_path / "s.jsonl", lines, changed_at=JUST_NOW)
    first, second = read(path)
    assert (first.is_whole, second.is_whole) == (True, False)
    assert second.after == first.after
    assert found(path).bytes > first.after.offset
