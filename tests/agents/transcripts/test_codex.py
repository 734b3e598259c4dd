"""Rollouts of Codex: whose words they are, and what became of each command."""

from pathlib import Path

import pytest

from runlore.agents.transcripts.assembly import RUN_TOO_LONG
from runlore.agents.transcripts.parsing import BROKEN, NO_OBJECT, UNKNOWN
from runlore.domain import limits
from runlore.domain.run import RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.runs.journal_entry import parse_entry
from runlore.domain.runs.transcript import ReadCounts, ToldRun, TranscriptAgent
from tests.agents.transcripts.codex_lines import BEGINNING, SESSION, Codex, flat
from tests.agents.transcripts.told_runs import arguments, bodies, called, results
from tests.agents.transcripts.transcript_files import JUST_NOW, found, inputs, local, read, shape, write

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("SKL-3")]


def runs_of(tmp_path: Path, *lines: object, counts: ReadCounts | None = None) -> list[ToldRun]:
    return read(write(tmp_path / f"rollout-2026-02-03T10-00-00-{SESSION}.jsonl", flat(*lines)), counts)


def commands(run: ToldRun) -> list[object]:
    return arguments(run, "cmd")


def test_one_input_is_one_run_with_what_followed_it(tmp_path: Path) -> None:
    codex = Codex()
    first, second = runs_of(
        tmp_path,
        codex.meta(),
        codex.event("task_started", turn_id="t1"),
        codex.message("developer", "<permissions instructions>\nNone"),
        codex.message("user", "<environment_context>\n  <cwd>/srv/shop</cwd>\n</environment_context>"),
        codex.line("turn_context", {"cwd": "/srv/shop/web", "model": "gpt-test", "turn_id": "t1"}),
        codex.says("Run the tests"),
        codex.item("reasoning", summary=[], encrypted_content="gAAA"),
        codex.answers("I will"),
        codex.runs("c1", "npm test"),
        codex.event("token_count", info=None, rate_limits=None),
        codex.exited("c1", "12 passed\n"),
        codex.answers("They pass"),
        codex.event("task_complete", turn_id="t1", last_agent_message="They pass"),
        codex.event("thread_name_updated", thread_name="Testing the shop"),
        codex.says("Now lint"),
        codex.runs("c2", "npm run lint"),
    )
    assert shape(first) == [
        ("input", "Run the tests"),
        ("assistant_message", "I will"),
        ("tool_call", "exec_command"),
        ("tool_result", "12 passed\n"),
        ("assistant_message", "They pass"),
    ]
    assert shape(second) == [("input", "Now lint"), ("tool_call", "exec_command")]
    assert (first.agent, first.source_session) == (TranscriptAgent.CODEX, SESSION)
    assert [(run.ordinal, run.first_number) for run in (first, second)] == [(1, 2), (2, 8)]
    assert (first.folder, first.branch, first.model) == ("/srv/shop/web", "main", "gpt-test")
    assert (first.agent_version, first.title) == ("0.140.0", "Testing the shop")
    assert first.events[0].at == BEGINNING.replace(second=7)


def test_every_event_is_one_that_the_journal_takes(tmp_path: Path) -> None:
    codex = Codex()
    [run] = runs_of(
        tmp_path,
        codex.meta(),
        codex.says("Go"),
        codex.runs("c" * 500, "make", nested={"a": [[[1]]]}),
        codex.exited("c" * 500, "x" * 100_000, 2),
        codex.item("web_search_call", status="completed", action={"type": "search", "query": "x"}),
        codex.item("local_shell_call", call_id="l", action={"type": "exec", "command": ["ls"]}),
        codex.item("function_call", name="mystery", call_id="m", arguments="[1,2]"),
        codex.item("custom_tool_call", name="apply_patch", call_id="p", input="*** Begin Patch\n" * 9_000),
        codex.program("x", "await tools.exec_command({cmd: `make ${x}`, n: -1.5, ok: true})"),
        codex.put_out("x", '{"exit_code": 1, "output": "no"}'),
    )
    for event in run.events[1:]:
        parse_entry({"type": event.entry.type.value, **event.entry.body})
        texts = [value for value in event.entry.body.values() if isinstance(value, str)]
        assert all(len(text) <= limits.TOLD_TEXT_CHARS_MAX for text in texts)
    assert len(run.events) == 10


@pytest.mark.parametrize(
    ("output", "text", "code"),
    [
        ("Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 3\nOutput:\nbad", "bad", 3),
        (
            "Command: /bin/sh -lc 'make x\nmake y'\nChunk ID: a\nWall time: 1 seconds\n"
            "Process exited with code 0\nOriginal token count: 1\nOutput:\nok",
            "ok",
            0,
        ),
        ("Exit code: 2\nWall time: 1 seconds\nOutput:\nbad", "bad", 2),
        ('{"output":"fine","metadata":{"exit_code":0,"duration_seconds":0.1}}', "fine", 0),
        ([{"type": "input_text", "text": "Exit code: 1\nWall time: 1 s\nOutput:\nno"}], "no", 1),
        ({"type": "input_text", "text": "a.txt"}, "a.txt", None),
        ({"content": "refused", "success": False}, "refused", None),
        ('{"just": "json"}', '{"just": "json"}', None),
        ("the log says: Process exited with code 9", "the log says: Process exited with code 9", None),
        ("exec command rejected by user", "exec command rejected by user", None),
        (None, "", None),
    ],
)
def test_an_answer_has_its_text_and_its_exit_code_however_it_is_written(
    tmp_path: Path, output: object, text: str, code: int | None
) -> None:
    codex = Codex()
    [run] = runs_of(
        tmp_path, codex.meta(), codex.says("Go"), codex.runs("c1", "make"), codex.output("c1", output)
    )
    assert results(run) == [("c1", text, code)]


def test_the_exit_code_of_an_event_counts_where_the_text_has_none(tmp_path: Path) -> None:
    codex = Codex()
    [run] = runs_of(
        tmp_path,
        codex.meta(),
        codex.says("Go"),
        codex.runs("c1", "make"),
        codex.event("exec_command_end", call_id="c1", exit_code=4, aggregated_output="bad"),
        codex.output("c1", "bad"),
        codex.runs("c2", "make all"),
        codex.output("c2", "working"),
        codex.line(
            "event_msg",
            {
                "type": "item_completed",
                "item": {
                    "type": "CommandExecution",
                    "id": "other-name",
                    "command": ["/bin/sh", "-lc", "make all"],
                    "exit_code": 5,
                    "aggregated_output": "worse",
                },
            },
        ),
    )
    assert results(run) == [("c1", "bad", 4), ("c2", "working", None), ("c2", "worse", 5)]


def test_a_process_that_is_polled_later_tells_the_outcome_of_its_first_call(tmp_path: Path) -> None:
    codex = Codex()
    [run] = runs_of(
        tmp_path,
        codex.meta(),
        codex.says("Go"),
        codex.runs("c1", "npm test"),
        codex.runs("c2", "npm run build"),
        codex.running("c1", 7, "starting"),
        codex.running("c2", 8),
        codex.polls("p1", 7),
        codex.running("p1", 7, "half"),
        codex.polls("p2", 8),
        codex.polls("p3", 7),
        codex.exited("p2", "built", 0),
        codex.exited("p3", "3 failed", 1),
    )
    assert commands(run) == ["npm test", "npm run build"]
    assert results(run) == [
        ("c1", "Process running with session ID 7\nstarting", None),
        ("c2", "Process running with session ID 8\n", None),
        ("c1", "Process running with session ID 7\nhalf", None),
        ("c2", "built", 0),
        ("c1", "3 failed", 1),
    ]


def test_what_is_typed_into_a_process_is_a_call_of_its_own(tmp_path: Path) -> None:
    codex = Codex()
    [run] = runs_of(
        tmp_path,
        codex.meta(),
        codex.says("Go"),
        codex.runs("c1", "python"),
        codex.running("c1", 7),
        codex.polls("p1", 7, "exit()\n"),
        codex.exited("p1", "", 0),
        codex.polls("p2", 99),
        codex.output("p2", "no such process"),
    )
    names = called(run)
    assert names == ["exec_command", "write_stdin", "write_stdin"]
    assert results(run) == [
        ("c1", "Process running with session ID 7\n", None),
        ("p1", "", None),
        ("c1", "", 0),
        ("p2", "no such process", None),
    ]


def test_arguments_that_are_cut_off_are_kept_as_text_and_are_no_command(tmp_path: Path) -> None:
    codex = Codex()
    counts = ReadCounts()
    [run] = runs_of(
        tmp_path,
        codex.meta(),
        codex.says("Go"),
        codex.item("function_call", name="exec_command", call_id="c1", arguments='{"cmd":"rm -rf bui'),
        codex.item("function_call", name="exec_command", call_id="c2", arguments=None),
        codex.item("function_call", name="exec_command", call_id="c3", arguments={"cmd": "make"}),
        counts=counts,
    )
    given = [body["arguments"] for body in bodies(run, EventType.TOOL_CALL)]
    assert given == [{"text": '{"cmd":"rm -rf bui'}, {}, {"cmd": "make"}]
    assert not counts.skipped


def test_calls_of_a_server_are_named_by_it(tmp_path: Path) -> None:
    codex = Codex()
    [run] = runs_of(
        tmp_path,
        codex.meta(),
        codex.says("Go"),
        codex.item("function_call", name="_fetch", namespace="mcp__web__", call_id="a", arguments="{}"),
        codex.item("function_call", name="spawn_agent", namespace="crew", call_id="b", arguments="{}"),
    )
    names = called(run)
    assert names == ["mcp__web__fetch", "spawn_agent"]


@pytest.mark.req("CAP-6")
@pytest.mark.parametrize(
    "text",
    [
        "# AGENTS.md instructions for /home/me\n\n<INSTRUCTIONS>\nBe kind\n</INSTRUCTIONS>",
        "<environment_context>\n<cwd>/</cwd>\n</environment_context>",
        "<user_instructions>\n\nBe kind\n</user_instructions>",
        "<turn_aborted>\nThe user interrupted the previous turn\n</turn_aborted>",
        '<subagent_notification>\n{"status":"completed"}\n</subagent_notification>',
        "<new_kind_of_notice>\nLook\n</new_kind_of_notice>\n",
    ],
)
def test_what_the_harness_says_in_the_place_of_the_user_begins_no_run(tmp_path: Path, text: str) -> None:
    codex = Codex()
    runs = runs_of(
        tmp_path,
        codex.meta(),
        codex.message("user", text),
        codex.message("user", "Build it"),
        codex.message("user", text),
        codex.answers("Done"),
    )
    assert inputs(runs) == ["Build it"]


def test_without_events_of_the_user_the_messages_in_that_role_are_the_inputs(tmp_path: Path) -> None:
    codex = Codex()
    first, second, third = runs_of(
        tmp_path,
        codex.meta(),
        codex.message("user", "Build it"),
        codex.line("turn_context", {"cwd": "/srv/shop", "model": "gpt-test"}),
        codex.message("assistant", "Built"),
        codex.message("user", "Again"),
        codex.runs("c1", "make"),
        codex.message("user", "And again"),
    )
    assert inputs([first, second, third]) == ["Build it", "Again", "And again"]
    assert shape(second) == [("input", "Again"), ("tool_call", "exec_command")]


def test_words_that_stand_as_event_item_and_message_are_one_input(tmp_path: Path) -> None:
    codex = Codex()
    spoken = {"type": "UserMessage", "content": [{"type": "text", "text": "Build it"}]}
    runs = runs_of(
        tmp_path,
        codex.meta(),
        codex.event("user_message", message="Build it"),
        codex.event("item_completed", item=spoken),
        codex.message("user", "Build it"),
        codex.answers("Built"),
        codex.event("item_completed", item=spoken),
        codex.answers("Built again"),
        codex.event("user_message", message="Build it"),
        codex.event("user_message", message="Build it"),
    )
    assert inputs(runs) == ["Build it"] * 4


def test_what_the_rollout_says_that_the_user_said_is_the_users_even_in_tags(tmp_path: Path) -> None:
    codex = Codex()
    said = "<my_notes>\nBuild it\n</my_notes>"
    notice = "<turn_aborted>\nstopped\n</turn_aborted>"
    runs = runs_of(
        tmp_path,
        codex.meta(),
        codex.says(said),
        codex.answers("Built"),
        codex.says(notice),
        codex.answers("Ok"),
    )
    assert inputs(runs) == [said]


@pytest.mark.req("CAP-6")
def test_what_an_editor_puts_in_front_of_a_request_is_not_the_request(tmp_path: Path) -> None:
    codex = Codex()
    said = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nBuild it\n"
    runs = runs_of(tmp_path, codex.meta(), codex.says(said), codex.answers("Built"))
    assert inputs(runs) == ["Build it"]


def test_a_turn_that_was_stopped_or_failed_says_so(tmp_path: Path) -> None:
    codex = Codex()
    runs = runs_of(
        tmp_path,
        codex.meta(),
        codex.says("One"),
        codex.event("turn_aborted", reason="interrupted"),
        codex.says("Two"),
        codex.event("task_complete", error={"message": "no quota"}),
        codex.says("Three"),
        codex.event("error", message="stream lost"),
        codex.answers("back"),
        codex.says("Four"),
        codex.event("error", message="stream lost"),
    )
    statuses = [run.status for run in runs]
    assert statuses == [
        RunStatus.INTERRUPTED,
        RunStatus.FAILED,
        RunStatus.COMPLETED,
        RunStatus.FAILED,
    ]


def test_lines_that_are_not_understood_are_counted_and_harm_nothing(tmp_path: Path) -> None:
    codex = Codex()
    counts = ReadCounts()
    [run] = runs_of(
        tmp_path,
        codex.meta(),
        codex.says("Go"),
        b'{"timestamp":"2026-02-03T10:00:00Z","type":"event_msg","payload":{"type":"tok',
        b'{"type":"event_msg","payload":{"type":"token_count"}}{"type":"event_msg","payload":{}}',
        b"[1]",
        {"type": "event_msg", "payload": {"type": "telepathy"}},
        {"type": "response_item", "payload": {"type": ["odd"]}},
        {"type": "telepathy", "payload": {}},
        {"type": "response_item", "payload": {"type": "function_call", "call_id": "x"}},
        {"type": "response_item", "payload": {"type": "function_call_output"}},
        {"type": "response_item", "payload": {"type": "message", "role": 7}},
        {"type": "session_meta", "payload": {"id": 7}},
        codex.line("compacted", {"message": "", "replacement_history": [{"role": "user"}]}),
        codex.line("world_state", {"full": True}),
        codex.answers("Done"),
        counts=counts,
    )
    assert shape(run) == [("input", "Go"), ("assistant_message", "Done")]
    assert counts.skipped == {BROKEN: 2, NO_OBJECT: 1, UNKNOWN: 7}
    assert counts.lines == 17


def test_the_flat_lines_of_early_versions_are_read(tmp_path: Path) -> None:
    runs = runs_of(
        tmp_path,
        {"id": "early", "timestamp": "2025-06-01T10:00:00Z", "instructions": "Be kind", "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Build it"}]},
        {"record_type": "state"},
        {"type": "reasoning", "summary": [], "id": "r"},
        {
            "type": "function_call",
            "name": "shell",
            "call_id": "c1",
            "arguments": '{"command":["bash","-lc","make"]}',
        },
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": '{"output":"made","metadata":{"exit_code":0}}',
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Built"}]},
    )
    assert [run.source_session for run in runs] == ["early"]
    assert results(runs[0]) == [("c1", "made", 0)]


def test_lines_with_names_instead_of_call_ids_are_joined_by_them(tmp_path: Path) -> None:
    [run] = runs_of(
        tmp_path,
        {"created_at": "2025-01-01T10:00:00Z", "role": "user", "message": "Which branch?", "model": "old"},
        {
            "created_at": "2025-01-01T10:00:01Z",
            "type": "tool_call",
            "function": {"name": "git"},
            "arguments": "x",
        },
        {"created_at": "2025-01-01T10:00:02Z", "type": "tool_result", "name": "git", "result": "main"},
        {"created_at": "2025-01-01T10:00:03Z", "role": "assistant", "content": "main"},
        {"created_at": "2025-01-01T10:00:04Z", "type": "error", "text": "lost"},
    )
    [call] = bodies(run, EventType.TOOL_CALL)
    assert results(run) == [(call["call_id"], "main", None)]
    assert (run.source_session, run.model) == (SESSION, "old")


def test_a_rollout_with_a_long_first_line_is_known_by_its_beginning(tmp_path: Path) -> None:
    codex = Codex()
    runs = runs_of(tmp_path, codex.meta(base_instructions={"text": "x" * 200_000}), codex.says("Go"))
    assert inputs(runs) == ["Go"]


def test_a_run_without_end_is_kept_bounded(tmp_path: Path) -> None:
    codex = Codex()
    counts = ReadCounts()
    lines = [codex.runs(f"c{place}", f"make {place}") for place in range(limits.TOLD_RUN_EVENTS_MAX)]
    [run] = runs_of(
        tmp_path, codex.meta(), codex.says("Go"), lines, codex.exited("c1", "made"), counts=counts
    )
    assert len(run.events) == limits.TOLD_RUN_EVENTS_MAX
    assert counts.skipped == {RUN_TOO_LONG: 2}


def test_other_lines_are_left_to_other_readers(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    other = [
        {"type": "tool_call", "toolName": "Shell", "parameters": {}},
        {"type": "tool_result", "toolCallId": "c1", "value": {}},
    ]
    assert found(write(tmp_path / "chat.jsonl", chat)).agent is not TranscriptAgent.CODEX
    [source] = local().find([str(write(tmp_path / "other.jsonl", other))])
    assert source.agent is not TranscriptAgent.CODEX


def test_a_rollout_that_is_being_written_keeps_its_last_run_open(tmp_path: Path) -> None:
    codex = Codex()
    path = tmp_path / "rollout.jsonl"
    lines = flat(codex.meta(), codex.says("One"), codex.answers("Yes"), codex.says("Two"))
    first, second = read(write(path, lines, changed_at=JUST_NOW))
    assert (first.is_whole, second.is_whole) == (True, False)
    again = read(write(path, [*lines, *codex.answers("Yes")]), start=first.after)
    assert [shape(run) for run in again] == [[("input", "Two"), ("assistant_message", "Yes")]]
