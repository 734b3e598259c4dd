"""What a transcript without times is dated by, and when one is looked into again."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from runlore.domain.detectors.mining import mine_transcript_run
from runlore.domain.runs.imported_entries import event_times
from runlore.domain.runs.transcript import START, Position, ReadCounts
from tests.agents.transcripts.transcript_files import (
    JUST_NOW,
    LONG_AGO,
    NOW,
    dated,
    found,
    inputs,
    local,
    read,
    write,
)

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("CAP-7")]

CALL = {"id": "1", "function": {"name": "bash", "arguments": {"command": "make"}}}
CHAT: list[object] = [
    {"role": "user", "content": "Build it"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "ok", "exit_code": 0},
    {"role": "user", "content": "Again"},
]
STEP = {"action": "make\n", "observation": "ok", "thought": "", "response": "", "state": "{}"}
HISTORY = [{"role": "user", "content": "Build it"}]
TRAJECTORY = {"environment": "swe_main", "trajectory": [STEP], "history": HISTORY, "info": {}}
SILENT = [{"role": "system", "content": "You are kind"}, {"role": "assistant", "content": "Hello"}]


def chat(path: Path) -> Path:
    return write(path / "chat.jsonl", CHAT)


def trajectory(path: Path) -> Path:
    (path / "a.traj").write_text(json.dumps(TRAJECTORY))
    return dated(path / "a.traj", LONG_AGO)


@pytest.mark.parametrize("made", [chat, trajectory])
@pytest.mark.req("SKL-4")
def test_runs_without_any_time_have_that_of_their_file(tmp_path: Path, made: object) -> None:
    assert callable(made)
    for run in read(made(tmp_path)):
        mined = mine_transcript_run(run, project="")
        assert {mined.at, *(step.at for step in mined.steps)} == {LONG_AGO}
        assert set(event_times(run, earliest=None, latest=NOW, otherwise=NOW)) == {LONG_AGO}


def test_a_run_that_tells_one_time_keeps_it(tmp_path: Path) -> None:
    answer = {"role": "assistant", "content": "Yes", "timestamp": "2026-01-05T10:00:00Z"}
    [run] = read(write(tmp_path / "chat.jsonl", [CHAT[0], answer]))
    assert [event.at is None for event in run.events] == [True, False]


def position_of(path: Path, start: Position = START) -> Position | None:
    """Where the next reading begins that nothing new was told for."""
    counts = ReadCounts()
    runs = list(local().read(found(path), counts, start))
    assert not (runs and counts.after)
    return counts.after


@pytest.mark.parametrize("name", ["chat.jsonl", "a.traj"])
def test_a_transcript_without_any_run_is_looked_into_again_when_it_has_changed(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    if name == "a.traj":
        path.write_text(json.dumps({"environment": "swe_main", "trajectory": [], "history": []}))
        dated(path, LONG_AGO)
    else:
        write(path, SILENT)
    position = position_of(path)
    assert position is not None
    assert position.offset == 0, "what is told there has not been told yet"
    assert not local().is_unread(found(path), position)
    dated(path, LONG_AGO + timedelta(seconds=1))
    assert local().is_unread(found(path), position)


def test_what_stands_before_the_first_input_is_not_lost(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.jsonl", SILENT)
    position = position_of(path)
    assert position is not None
    whole = read(write(path, [*SILENT, *CHAT]))
    assert read(path, start=position) == whole
    assert inputs(whole) == ["Build it", "Again"]


def test_a_transcript_that_goes_on_without_an_input_is_not_read_again_and_again(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.jsonl", CHAT)
    last = read(path)[-1].after
    assert not local().is_unread(found(path), last)
    write(path, [*CHAT, {"role": "system", "content": "Be kind"}])
    assert local().is_unread(found(path), last)
    position = position_of(path, last)
    assert position is not None
    assert (position.offset, position.line) == (last.offset, last.line)
    assert not local().is_unread(found(path), position)
    write(path, [*CHAT, {"role": "system", "content": "Be kind"}, {"role": "user", "content": "More"}])
    assert inputs(read(path, start=position)) == ["More"]


def test_a_document_that_was_only_touched_is_looked_into_once_more(tmp_path: Path) -> None:
    path = trajectory(tmp_path)
    [run] = read(path)
    assert not local().is_unread(found(path), run.after)
    dated(path, LONG_AGO + timedelta(days=1))
    assert local().is_unread(found(path), run.after)
    position = position_of(path, run.after)
    assert position is not None
    assert not local().is_unread(found(path), position)


def test_a_run_that_may_go_on_is_asked_for_again_although_nothing_has_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.jsonl", CHAT, changed_at=JUST_NOW)
    first, second = read(path)
    assert (first.is_whole, second.is_whole) == (True, False)
    assert position_of(path, first.after) is None
    assert local().is_unread(found(path), first.after)


def test_a_file_that_was_replaced_by_one_of_the_same_length_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.jsonl", CHAT)
    last = read(path)[-1].after
    other = [{"role": "user", "content": "Break it"}, *CHAT[1:]]
    write(path, other, changed_at=LONG_AGO + timedelta(hours=1))
    assert local().is_unread(found(path), last)
    assert inputs(read(path, start=last)) == ["Break it", "Again"]
