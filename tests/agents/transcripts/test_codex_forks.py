"""Forked rollouts repeat the history of the session they came from: each run counts once, wherever it is."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from runlore.domain.runs.transcript import START, ToldRun
from tests.agents.transcripts.codex_lines import Codex, flat
from tests.agents.transcripts.transcript_files import inputs, read, write

pytestmark = pytest.mark.req("INT-1")

# Ids that grow with time: sessions begin, and between them their turns.
GRANDPARENT, PARENT, CHILD = (f"019c0{hour}0-0000-7000-8000-000000000000" for hour in (10, 20, 30))


def turn_id(hour: int) -> str:
    return f"019c0{hour}0-1111-7000-8000-000000000000"


def turn(codex: Codex, words: str, hour: int) -> list[object]:
    return flat(
        codex.event("task_started", turn_id=turn_id(hour)),
        codex.line("turn_context", {"cwd": "/w", "turn_id": turn_id(hour)}),
        codex.says(words),
        codex.answers(f"{words}: done"),
        codex.event("task_complete", turn_id=turn_id(hour)),
    )


def rollout(folder: Path, ids: Iterable[str], *turns: tuple[str, int]) -> Path:
    """A rollout of the first of these sessions, which repeats those of the others."""
    codex = Codex()
    sessions = list(ids)
    lines = [codex.meta(id) for id in sessions]
    told = [line for words, hour in turns for line in turn(codex, words, hour)]
    return write(folder / f"rollout-2026-02-03T10-00-00-{sessions[0]}.jsonl", [*lines, *told])


def known(runs: Iterable[ToldRun]) -> list[tuple[str, int, object]]:
    return [(run.source_session, run.ordinal, run.events[0].entry.body["text"]) for run in runs]


def test_a_history_whose_own_rollout_lies_nearby_is_told_there_alone(tmp_path: Path) -> None:
    origin = rollout(tmp_path, [PARENT], ("One", 21), ("Two", 22), ("Later", 31))
    fork = rollout(tmp_path, [CHILD, PARENT], ("One", 21), ("Two", 22), ("Other", 32), ("More", 33))

    assert known(read(origin)) == [(PARENT, 1, "One"), (PARENT, 2, "Two"), (PARENT, 3, "Later")]
    assert known(read(fork)) == [(CHILD, 1, "Other"), (CHILD, 2, "More")]
    # Behind its first input stands that something went before it.
    assert [run.first_number for run in read(fork)] == [2, 6]


def test_a_history_whose_own_rollout_is_gone_is_told_as_what_it_is(tmp_path: Path) -> None:
    origin = rollout(tmp_path / "a", [PARENT], ("One", 21), ("Two", 22))
    fork = rollout(tmp_path / "b", [CHILD, PARENT], ("One", 21), ("Two", 22), ("Other", 32))

    told = read(fork)
    assert known(told) == [(PARENT, 1, "One"), (PARENT, 2, "Two"), (CHILD, 1, "Other")]
    same = read(origin)
    assert [run.run_id for run in told[:2]] == [run.run_id for run in same]
    assert [run.first_number for run in told[:2]] == [run.first_number for run in same]


def test_a_fork_of_a_fork_gives_each_turn_to_the_session_it_was_of(tmp_path: Path) -> None:
    turns = [("One", 11), ("Two", 21), ("Three", 22), ("Four", 31)]
    runs = read(rollout(tmp_path, [CHILD, PARENT, GRANDPARENT], *turns))
    assert known(runs) == [
        (GRANDPARENT, 1, "One"),
        (PARENT, 1, "Two"),
        (PARENT, 2, "Three"),
        (CHILD, 1, "Four"),
    ]


def test_the_origin_is_looked_for_where_rollouts_of_its_day_lie(tmp_path: Path) -> None:
    """The id's own time says which day: 0x019c02000000 milliseconds after 1970 is 2026-01-28."""
    sessions = tmp_path / "sessions"
    fork = rollout(sessions / "2026" / "02" / "09", [CHILD, PARENT], ("One", 21), ("Other", 32))
    assert inputs(read(fork)) == ["One", "Other"]
    rollout(sessions / "2026" / "01" / "27", [PARENT], ("One", 21))
    assert inputs(read(fork)) == ["Other"]


def test_ids_that_say_nothing_about_time_are_told_apart_by_when_they_were_written(tmp_path: Path) -> None:
    codex = Codex()
    lines = flat(
        codex.meta("child"),
        codex.meta("parent"),
        codex.says("One"),
        codex.answers("Yes"),
        [codex.event("token_count") for _ in range(10)],
        codex.says("Other"),
        codex.answers("Yes"),
    )
    runs = read(write(tmp_path / "rollout.jsonl", lines))
    assert known(runs) == [("parent", 1, "One"), ("child", 1, "Other")]


def test_a_session_that_is_named_again_goes_on(tmp_path: Path) -> None:
    codex = Codex()
    lines = flat(
        codex.meta(PARENT),
        turn(codex, "One", 21),
        codex.meta(PARENT, cwd="/elsewhere"),
        turn(codex, "Two", 22),
        codex.meta(CHILD),
        turn(codex, "Three", 31),
    )
    runs = read(write(tmp_path / "rollout.jsonl", lines))
    assert known(runs) == [(PARENT, 1, "One"), (PARENT, 2, "Two"), (CHILD, 1, "Three")]


@pytest.mark.parametrize("is_nearby", [True, False])
def test_reading_goes_on_behind_any_run_of_a_fork(tmp_path: Path, is_nearby: bool) -> None:
    if is_nearby:
        rollout(tmp_path, [PARENT], ("One", 21), ("Two", 22))
    turns = [("One", 21), ("Two", 22), ("Other", 32), ("More", 33)]
    fork = rollout(tmp_path, [CHILD, PARENT], *turns)
    runs = read(fork)
    assert len(runs) == (2 if is_nearby else 4)
    for place, start in enumerate([START, *(run.after for run in runs)]):
        assert read(fork, start=start) == runs[place:]
