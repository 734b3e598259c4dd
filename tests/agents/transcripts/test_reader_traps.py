"""What real transcripts of Claude Code and Codex do that a reader does not expect: each trap by its name.

Most traps stand with the rest of their reader's tests; here are those that concern every line, and those that
nothing else would notice.
"""

import copy
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest

from runlore.domain.runs.transcript import START, ReadCounts, ToldRun
from tests.agents.transcripts import test_gemini, test_opencode, test_swe_agent
from tests.agents.transcripts.claude_lines import SESSION, Claude
from tests.agents.transcripts.codex_lines import Codex
from tests.agents.transcripts.opencode_store import put_files
from tests.agents.transcripts.told_runs import results
from tests.agents.transcripts.transcript_files import inputs, local, read, write

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("CAP-6")]

Line = dict[str, Any]

# Every type of line that versions 2.0 to 2.1 write beside the conversation.
HOUSEKEEPING: list[Line] = [
    {"type": "agent-name", "agentName": "helper", "sessionId": SESSION},
    {"type": "bridge-session", "sessionId": SESSION, "bridgeSessionId": "b"},
    {"type": "custom-title", "customTitle": "The shop", "sessionId": SESSION},
    {"type": "file-history-delta", "messageId": "m", "delta": {}},
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": True},
    {"type": "last-prompt", "lastPrompt": "something else", "sessionId": SESSION},
    {"type": "mode", "mode": "normal", "sessionId": SESSION},
    {"type": "permission-mode", "permissionMode": "plan", "sessionId": SESSION},
    {"type": "pr-link", "prNumber": 3, "sessionId": SESSION},
    {"type": "progress", "data": {"type": "bash_progress", "output": "half"}, "toolUseID": "c1"},
    {"type": "queue-operation", "operation": "dequeue", "sessionId": SESSION},
    {"type": "summary", "summary": "The shop", "leafUuid": "u9"},
    {"type": "ai-title", "aiTitle": "The shop", "sessionId": SESSION},
]
SYSTEM = (
    "api_error",
    "away_summary",
    "bridge_status",
    "compact_boundary",
    "informational",
    "local_command",
    "microcompact_boundary",
    "stop_hook_summary",
    "turn_duration",
)


def conversation(between: Line | None = None) -> list[Line]:
    """Two requests, each with a command; something else may stand in the middle of the first."""
    claude = Claude()
    first = [claude.user("Run the tests"), claude.calls("c1", "npm test")]
    rest = [
        claude.result("c1", "12 passed"),
        claude.says("They pass"),
        claude.user("Now lint"),
        claude.calls("c2", "npm run lint"),
        claude.result("c2", "Exit code 2\nbad", is_error=True),
    ]
    return [*first, *([] if between is None else [between]), *rest]


def rollout() -> list[Line]:
    """The same as Codex writes it."""
    codex = Codex()
    return [
        codex.meta(),
        *codex.says("Run the tests"),
        codex.runs("c1", "npm test"),
        codex.exited("c1", "12 passed\n"),
        *codex.answers("They pass"),
        *codex.says("Now lint"),
        codex.runs("c2", "npm run lint"),
        codex.exited("c2", "bad\n", 2),
    ]


def told(runs: list[ToldRun]) -> list[object]:
    return [[(event.entry.type, event.entry.body) for event in run.events] for run in runs]


@pytest.mark.parametrize("line", HOUSEKEEPING, ids=lambda line: str(line["type"]))
def test_lines_beside_the_conversation_are_known_and_say_nothing(tmp_path: Path, line: Line) -> None:
    plain = read(write(tmp_path / "plain.jsonl", conversation()))
    counts = ReadCounts()
    runs = read(write(tmp_path / "more.jsonl", conversation(line)), counts)

    assert told(runs) == told(plain)
    assert (counts.lines, counts.skipped) == (8, {})


@pytest.mark.parametrize("subtype", SYSTEM)
def test_a_line_of_the_system_neither_ends_the_run_nor_speaks_for_anybody(
    tmp_path: Path, subtype: str
) -> None:
    line = Claude().line("system", subtype=subtype, content="words of the harness", parentUuid=None)
    line |= {"logicalParentUuid": "u2", "uuid": "apart"}
    plain = read(write(tmp_path / "plain.jsonl", conversation()))
    counts = ReadCounts()
    runs = read(write(tmp_path / "more.jsonl", conversation(line)), counts)

    assert inputs(runs) == inputs(plain) == ["Run the tests", "Now lint"]
    assert [results(run) for run in runs] == [results(run) for run in plain]
    assert counts.skipped == {}


@pytest.mark.parametrize("subtype", [subtype for subtype in SYSTEM if subtype != "local_command"])
def test_nor_does_it_take_the_command_that_was_typed_before_it(tmp_path: Path, subtype: str) -> None:
    claude = Claude()
    typed = claude.user("<command-name>/review</command-name><command-args>it</command-args>")
    line = claude.line("system", subtype=subtype, content="words of the harness")

    runs = read(write(tmp_path / "a.jsonl", [typed, line, claude.says("Reviewed")]))

    assert inputs(runs) == ["/review it"]


def test_new_types_are_counted_and_what_is_around_them_is_read(tmp_path: Path) -> None:
    counts = ReadCounts()
    runs = read(write(tmp_path / "a.jsonl", conversation({"type": "never-seen", "message": 7})), counts)
    assert told(runs) == told(read(write(tmp_path / "b.jsonl", conversation())))
    assert counts.lines_skipped == 1


@pytest.mark.parametrize(
    "beside",
    [
        None,
        "Error: Exit code 3",
        [],
        [{"type": "text", "text": "other"}],
        {"stdout": "other", "stderr": "bad", "interrupted": False, "isImage": False},
        {"stdout": "", "stderr": "", "noOutputExpected": True, "returnCodeInterpretation": "No matches"},
    ],
    ids=["none", "text", "empty list", "list", "streams", "late fields"],
)
@pytest.mark.parametrize("is_list", [False, True], ids=["text", "blocks"])
def test_a_result_is_what_its_block_says_in_either_shape_whatever_stands_beside_it(
    tmp_path: Path, is_list: bool, beside: object
) -> None:
    lines = conversation()
    for line, text in ((lines[2], "12 passed"), (lines[6], "Exit code 2\nbad")):
        line["message"]["content"][0]["content"] = [{"type": "text", "text": text}] if is_list else text
        line["toolUseResult"] = beside
        if beside is None:
            del line["toolUseResult"]

    first, second = read(write(tmp_path / "a.jsonl", lines))

    assert results(first) == [("c1", "12 passed", None)]
    [(call_id, output, code)] = results(second)
    assert (call_id, code) == ("c2", 2)
    assert "bad" in str(output)


def test_each_run_has_the_version_folder_and_branch_of_its_own_lines(tmp_path: Path) -> None:
    lines = conversation()
    for line in lines[4:]:
        line |= {"version": "2.2.0", "cwd": "/srv/other", "gitBranch": "next"}

    first, second = read(write(tmp_path / "a.jsonl", lines))

    assert (first.agent_version, first.folder, first.branch) == ("2.1.9", "/srv/shop", "main")
    assert (second.agent_version, second.folder, second.branch) == ("2.2.0", "/srv/other", "next")


def test_lines_without_ids_and_times_are_read(tmp_path: Path) -> None:
    lines = conversation()
    for line in lines:
        for name in ("uuid", "parentUuid", "timestamp", "version", "gitBranch"):
            del line[name]

    assert told(read(write(tmp_path / "a.jsonl", lines))) == told(
        read(write(tmp_path / "b.jsonl", conversation()))
    )


def test_every_answer_of_codex_stands_twice_and_is_told_once(tmp_path: Path) -> None:
    first, _ = read(write(tmp_path / "a.jsonl", rollout()))
    assert [event.entry.body for event in first.events if event.entry.type == "assistant_message"] == [
        {"text": "They pass"}
    ]


def places(value: object, so_far: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in a document that holds something."""
    inside: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if type(value) is list else ()
    )
    for name, inner in inside:
        yield (*so_far, name)
        yield from places(inner, (*so_far, name))


def chat() -> list[Line]:
    """The same as any program can write it."""
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "bash", "arguments": '{"command": "npm test"}'},
    }
    return [
        {"role": "user", "content": "Run the tests", "timestamp": "2026-02-03T10:00:00Z"},
        {"role": "assistant", "content": [{"type": "text", "text": "I will"}], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "12 passed", "exit_code": 0},
        {"role": "user", "content": "Now lint"},
    ]


def as_lines(path: Path, told: object) -> Path:
    return write(path.with_suffix(".jsonl"), cast("list[object]", told))


def as_document(path: Path, told: object) -> Path:
    return write(path.with_suffix(".json"), [told])


def as_trajectory(path: Path, told: object) -> Path:
    return write(path.with_suffix(".traj"), [told])


def as_parts(path: Path, told: object) -> Path:
    session = test_opencode.session()
    session.messages = [
        (message, parts if isinstance(parts, list) else [parts])
        for (message, _), parts in zip(session.messages, cast("list[object]", told), strict=True)
    ]
    return put_files(path / "storage", session)


FORMS: dict[str, tuple[Any, Callable[[Path, object], Path]]] = {
    "claude code": (conversation(), as_lines),
    "codex": (rollout(), as_lines),
    "jsonl": (chat(), as_lines),
    "gemini": ({**test_gemini.ABOUT, "messages": list(test_gemini.MESSAGES)}, as_document),
    "gemini lines": ([test_gemini.ABOUT, *test_gemini.MESSAGES], as_lines),
    "swe-agent": (test_swe_agent.old(test_swe_agent.step("make", "done")), as_trajectory),
    "swe-agent history": ({"history": [*test_swe_agent.HISTORY, *chat()[1:3]]}, as_trajectory),
    "mini-swe-agent": ({"messages": test_swe_agent.MINI, "info": {"exit_status": "x"}}, as_document),
    "opencode": ([parts for _, parts in test_opencode.session().messages], as_parts),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.sampled(every=2)
def test_a_field_of_any_other_type_is_fatal_to_no_reader_and_costs_no_other_line(
    tmp_path: Path, form: str
) -> None:
    """A newer version may write anything anywhere: the drift of a schema."""
    told, put = FORMS[form]
    others: tuple[object, ...] = ([], {"x": [7]}, 7, "other", None)
    for place, value in product(places(told), others):
        drifted = copy.deepcopy(told)
        inner = drifted
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = value
        where = f"{value} at {place}"
        for source in local().find([str(put(tmp_path / "told", drifted))]):
            assert not source.problem.startswith("Runlore"), where
            if source.agent is not None:
                counts = ReadCounts()
                runs = list(local().read(source, counts, START))
                if put is as_lines:
                    assert (counts.lines, len(runs) > 0) == (len(told), True), where
                    assert counts.lines_skipped <= 1, where
