"""Reading on from a position tells exactly what reading at once tells, wherever a file was cut."""

import gzip
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.agents.transcripts.assembly import RUN_TOO_LONG, Assembly
from runlore.agents.transcripts.claude_code import ClaudeCodeReader
from runlore.agents.transcripts.lines import TOO_LONG
from runlore.agents.transcripts.local import read_lines
from runlore.domain import limits
from runlore.domain.runs.journal import EventType
from runlore.domain.runs.transcript import (
    SETTLED_AFTER,
    START,
    Position,
    ReadCounts,
    ToldRun,
    TranscriptAgent,
)
from tests.agents.transcripts.claude_lines import SESSION, Claude, call
from tests.agents.transcripts.codex_lines import Codex
from tests.agents.transcripts.transcript_files import (
    JUST_NOW,
    LONG_AGO,
    NOW,
    content,
    dated,
    found,
    inputs,
    local,
    read,
    write,
)
from tests.examples import scaled

pytestmark = pytest.mark.req("INT-1")

USAGE = {"input_tokens": 1, "output_tokens": 2}


def a_bit_of_everything() -> list[object]:
    claude, other = Claude(), Claude("other")
    side = {"isSidechain": True, "agentId": "one"}
    unnamed = {"isSidechain": True}
    return [
        {"type": "summary", "summary": "An old title", "leafUuid": "u"},
        claude.says("Before anything"),
        claude.user("One ä"),
        claude.says("Did", message_id="m1", usage=USAGE),
        claude.assistant(call("c1", "make"), message_id="m1", usage=USAGE),
        claude.result("c1", "Exit code 2", is_error=True),
        b'{"broken":',
        {"type": "ai-title", "aiTitle": "A title", "sessionId": SESSION},
        claude.user("<command-name>/review</command-name><command-args>it</command-args>"),
        claude.user("You are a reviewer", isMeta=True),
        claude.user("Task", **side),
        claude.says("Working", **side),
        claude.user("Unnamed", uuid="a1", parentUuid=None, **unnamed),
        claude.says("Unnamed works", uuid="a2", parentUuid="a1", **unnamed),
        claude.says("Reviewed", message_id="m1", usage=USAGE),
        {"type": "telepathy"},
        claude.user("Two", cwd="/elsewhere", gitBranch="b", version="3"),
        claude.says("Late", uuid="a3", parentUuid="a2", **unnamed),
        claude.user("More of the task", **side),
        claude.user("More of the unnamed", uuid="a4", parentUuid="a3", **unnamed),
        claude.user([{"type": "text", "text": "[Request interrupted by user]"}]),
        other.user("In another session"),
        other.says("Yes"),
        claude.user("<command-name>/clear</command-name>"),
        claude.user("<local-command-stdout></local-command-stdout>"),
        claude.user("Three"),
        claude.says("End"),
    ]


TIME = "2026-02-01T10:00:00Z"


def whole_runs(runs: list[ToldRun]) -> list[ToldRun]:
    return [run for run in runs if run.is_whole]


def position_of(runs: list[ToldRun], before: Position) -> Position:
    return runs[-1].after if runs else before


def a_little() -> list[object]:
    return [
        {"type": "user", "timestamp": TIME, "message": {"content": "Oneä"}},
        {"type": "assistant", "message": {"id": "m", "content": "Did", "usage": USAGE}},
        b"",
        {"type": "user", "timestamp": TIME, "message": {"content": "<command-name>/fix</command-name>"}},
        {"type": "assistant", "timestamp": TIME, "message": {"id": "m", "content": "Fixed", "usage": USAGE}},
        b'{"broken"',
        {"type": "user", "timestamp": TIME, "message": {"content": "Two"}},
    ]


def around_the_ends(everything: bytes) -> list[int]:
    ends = [place + 1 for place, byte in enumerate(everything) if byte == ord("\n")]
    return [end + by for end in ends for by in (-2, -1, 0, 1)]


@pytest.mark.parametrize(("lines", "is_every_byte"), [(a_little(), True), (a_bit_of_everything(), False)])
def test_a_file_cut_anywhere_and_read_on_tells_the_same_runs(
    tmp_path: Path, lines: list[object], is_every_byte: bool
) -> None:
    everything = content(lines)
    path = tmp_path / "s.jsonl"
    path.write_bytes(everything)
    at_once = read(dated(path, LONG_AGO))
    assert len(at_once) == (3 if is_every_byte else 9)
    for cut in range(len(everything) + 1) if is_every_byte else around_the_ends(everything):
        path.write_bytes(everything[:cut])
        source = found(dated(path, JUST_NOW))
        first = whole_runs(list(local().read(source, ReadCounts()))) if source.agent else []
        path.write_bytes(everything)
        rest = read(dated(path, LONG_AGO), start=position_of(first, START))
        assert first + rest == at_once, cut


@settings(max_examples=scaled(60), deadline=None)
@given(cuts=st.lists(st.integers(0, 8_000), max_size=6).map(sorted))
def test_a_file_that_grows_in_steps_tells_each_run_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    everything = content(a_bit_of_everything())
    path = tmp_path_factory.mktemp("growing") / "s.jsonl"
    path.write_bytes(everything)
    at_once = read(dated(path, LONG_AGO))
    told: list[ToldRun] = []
    position = START
    for cut in [*cuts, len(everything)]:
        path.write_bytes(everything[:cut])
        source = found(dated(path, LONG_AGO if cut == len(everything) else JUST_NOW))
        if source.agent is None:
            continue
        new = whole_runs(list(local().read(source, ReadCounts(), position)))
        told += new
        position = position_of(new, position)
    assert told == at_once


def test_from_every_position_the_rest_is_told_also_of_a_packed_file(tmp_path: Path) -> None:
    everything = content(a_bit_of_everything())
    plain, packed = tmp_path / "s.jsonl", tmp_path / "p" / "s.jsonl.gz"
    plain.write_bytes(everything)
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(everything))
    runs = read(dated(plain, LONG_AGO))
    unpacked = read(dated(packed, LONG_AGO))
    assert [run.events for run in unpacked] == [run.events for run in runs]
    for index, run in enumerate(unpacked):
        rest = read(packed, start=run.after)
        assert rest == unpacked[len(unpacked) - len(rest) :]
        assert len(rest) >= len(unpacked) - 1 - index
    assert not local().is_unread(found(packed), unpacked[-1].after)
    assert local().is_unread(found(packed), unpacked[0].after)
    assert not local().is_unread(found(plain), runs[-1].after)
    packed.write_bytes(gzip.compress(everything + content([Claude().user("Later")])))
    assert local().is_unread(found(packed), unpacked[-1].after)
    assert inputs(read(dated(packed, LONG_AGO), start=unpacked[-1].after)) == ["Later"]


def test_a_run_is_told_again_in_full_when_the_file_has_settled(tmp_path: Path) -> None:
    claude = Claude()
    path = write(tmp_path / "s.jsonl", [claude.user("One"), claude.user("Two")], changed_at=JUST_NOW)
    first, open_run = read(path)
    assert not open_run.is_whole
    with path.open("ab") as file:
        file.write(content([claude.says("The rest")]))
    [settled] = read(dated(path, NOW - timedelta(hours=1)), start=first.after)
    assert settled.is_whole
    assert len(settled.events) == 2
    assert settled.run_id == open_run.run_id


def test_a_line_that_was_cut_off_is_read_when_it_has_been_written_however_late(tmp_path: Path) -> None:
    claude = Claude()
    path = write(tmp_path / "s.jsonl", [claude.user("One"), claude.user("Two")])
    everything = path.read_bytes()
    path.write_bytes(everything[:-20])
    first = read(dated(path, LONG_AGO))
    assert inputs(first) == ["One"]
    path.write_bytes(everything)
    assert inputs(read(dated(path, LONG_AGO), start=first[-1].after)) == ["Two"]


def test_a_file_that_grows_while_it_is_read_is_not_taken_as_settled(tmp_path: Path) -> None:
    claude = Claude()
    path = write(tmp_path / "s.jsonl", [claude.user("One"), claude.user("Two"), claude.user("Three")])
    source = found(path)
    told: list[ToldRun] = []
    for run in local().read(source, ReadCounts()):
        if not told:
            with path.open("ab") as file:
                file.write(content([claude.says("Now"), claude.user("Four")])[:-5])
            dated(path, JUST_NOW)
        told.append(run)
    assert inputs(whole_runs(told)) == ["One", "Two"]
    assert not told[-1].is_whole
    with path.open("ab") as file:
        file.write(content([claude.says("Now"), claude.user("Four")])[-5:])
    assert inputs(read(dated(path, LONG_AGO), start=told[1].after))[0] == "Three"


@pytest.mark.parametrize("change", ["replaced", "shorter", "position of another"])
def test_a_file_that_is_another_one_is_read_from_the_beginning(tmp_path: Path, change: str) -> None:
    path = write(tmp_path / "s.jsonl", a_bit_of_everything())
    start = read(path)[-1].after
    claude = Claude("new")
    if change == "replaced":
        write(path, [claude.user(f"New {number}") for number in range(50)])
        assert path.stat().st_size > start.offset
    elif change == "shorter":
        path.write_bytes(path.read_bytes()[: start.offset // 2])
        dated(path, LONG_AGO)
    else:
        start = Position(offset=10, line=1, fingerprint="10:" + "0" * 32)
    assert read(path, start=start) == read(path)
    assert read(path)


def test_lines_that_follow_a_settled_run_without_an_input_belong_to_no_run(tmp_path: Path) -> None:
    claude = Claude()
    path = write(tmp_path / "s.jsonl", [claude.user("One")])
    [run] = read(path)
    with path.open("ab") as file:
        file.write(content([claude.says("Too late"), claude.user("Two")]))
    [second] = read(dated(path, LONG_AGO), start=run.after)
    assert (second.ordinal, second.first_number) == (2, 4)
    assert inputs([second]) == ["Two"]


def test_a_line_that_is_too_long_is_counted_and_the_runs_around_it_are_told(tmp_path: Path) -> None:
    claude = Claude()
    path = write(tmp_path / "s.jsonl", [claude.user("One"), claude.says("x" * 5_000), claude.user("Two")])
    counts = ReadCounts()
    runs = list(
        read_lines(ClaudeCodeReader(), found(path), counts, start=START, now=NOW, line_bytes_max=1_000)
    )
    assert inputs(runs) == ["One", "Two"]
    assert counts.skipped == {TOO_LONG: 1}


def test_a_run_keeps_so_many_events_and_the_rest_is_counted() -> None:
    counts = ReadCounts()
    assembly = Assembly(TranscriptAgent.PLAIN, counts)
    assembly.speak_of("s")
    for _ in range(2):
        assembly.begin("Go")
        for _ in range(limits.TOLD_RUN_EVENTS_MAX + 4):
            assembly.add(EventType.ASSISTANT_MESSAGE, {"text": "x"})
    assembly.finish(idle=SETTLED_AFTER)
    first, second = assembly.take()
    assert len(first.events) == len(second.events) == limits.TOLD_RUN_EVENTS_MAX
    assert second.first_number == limits.TOLD_RUN_EVENTS_MAX + 3
    assert counts.skipped == {RUN_TOO_LONG: 10}


def test_what_is_carried_of_many_sessions_is_bounded(tmp_path: Path) -> None:
    lines = [Claude(f"session-{number}").user("Go") for number in range(500)]
    last = read(write(tmp_path / "s.jsonl", lines))[-1]
    assert len(last.after.carried) < 200
    assert all(isinstance(value, str | int) for value in last.after.carried.values())


@pytest.mark.parametrize(
    ("stop", "changed_at", "is_whole"),
    [
        ("end_turn", NOW - timedelta(minutes=1), True),
        ("end_turn", NOW - timedelta(seconds=59), False),
        ("tool_use", JUST_NOW, False),
        (None, JUST_NOW, False),
        (None, NOW - timedelta(hours=1), True),
    ],
)
def test_a_turn_that_the_model_has_ended_is_whole_when_it_has_been_quiet_for_a_minute(
    tmp_path: Path, stop: str | None, changed_at: datetime, is_whole: bool
) -> None:
    claude = Claude()
    last = claude.says("Done")
    cast("dict[str, object]", last["message"])["stop_reason"] = stop
    path = write(tmp_path / f"{SESSION}.jsonl", [claude.user("Go"), last], changed_at=changed_at)

    assert [run.is_whole for run in read(path)] == [is_whole]


def test_what_follows_a_turn_that_had_ended_is_open_again(tmp_path: Path) -> None:
    claude, codex = Claude(), Codex()
    said = claude.says("Done")
    cast("dict[str, object]", said["message"])["stop_reason"] = "end_turn"
    ended = codex.event("task_complete", turn_id="t1")
    beginnings: list[list[object]] = [[claude.user("Go"), said], [codex.meta(), *codex.says("Go"), ended]]
    followers: list[object] = [claude.calls("c", "make"), codex.runs("c1", "make")]
    for lines, more in zip(beginnings, followers, strict=True):
        path = write(tmp_path / f"{SESSION}.jsonl", lines, changed_at=JUST_NOW)
        assert [run.is_whole for run in read(path)] == [True]
        assert [run.is_whole for run in read(write(path, [*lines, more], changed_at=JUST_NOW))] == [False]
