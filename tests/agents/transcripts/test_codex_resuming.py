"""A rollout can be read on from any of its inputs, and while it is being written."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.runs.transcript import START, TranscriptAgent
from tests.agents.transcripts.codex_lines import Codex, flat
from tests.agents.transcripts.resuming import cuts, facts, in_two_goes
from tests.agents.transcripts.transcript_files import content, read, write
from tests.examples import scaled

pytestmark = pytest.mark.req("INT-1")

# One line or several, given a number that makes ids differ.
KINDS: dict[str, Callable[[Codex, int], object]] = {
    "user twice": lambda codex, n: codex.says(f"Do {n % 3}"),
    "user event": lambda codex, n: codex.event("user_message", message=f"Do {n % 3}"),
    "user item": lambda codex, n: codex.message("user", f"Do {n % 3}"),
    "user done": lambda codex, n: codex.event(
        "item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": f"Do {n % 3}"}]}
    ),
    "harness": lambda codex, n: codex.message("user", f"<turn_aborted>\n{n}\n</turn_aborted>"),
    "assistant": lambda codex, n: codex.answers(f"Done {n}"),
    "command": lambda codex, n: codex.runs(f"c{n % 4}", f"make {n % 2}"),
    "exit": lambda codex, n: codex.exited(f"c{n % 4}", "out", n % 2),
    "running": lambda codex, n: codex.running(f"c{n % 4}", n % 2),
    "poll": lambda codex, n: codex.polls(f"p{n % 4}", n % 2),
    "polled": lambda codex, n: codex.exited(f"p{n % 4}", "out", n % 2),
    "end": lambda codex, n: codex.event("exec_command_end", call_id=f"c{n % 4}", exit_code=n % 3),
    "program": lambda codex, n: codex.program(f"c{n % 4}", "tools.exec_command({cmd: 'make'})"),
    "put out": lambda codex, n: codex.put_out(f"c{n % 4}", f'{{"exit_code": {n % 3}, "output": ""}}'),
    "context": lambda codex, n: codex.line("turn_context", {"cwd": f"/w{n % 2}", "model": f"m{n % 2}"}),
    "meta": lambda codex, n: codex.meta(f"s{n % 3}"),
    "aborted": lambda codex, _: codex.event("turn_aborted"),
    "broken": lambda _codex, _n: b'{"type":',
}


def lines_of(kinds: list[str]) -> list[object]:
    codex = Codex()
    return flat(codex.meta(), *(KINDS[kind](codex, place) for place, kind in enumerate(kinds)))


def told_by(*lines: object) -> list[object]:
    codex = Codex()
    return flat(codex.meta(), *(line(codex) if callable(line) else line for line in lines))


ACROSS = {
    "only messages": [
        lambda codex: codex.message("user", "One"),
        lambda codex: codex.line("turn_context", {"cwd": "/w"}),
        lambda codex: codex.answers("Yes"),
        lambda codex: codex.message("user", "Two"),
        lambda codex: codex.runs("c1", "make"),
        lambda codex: codex.message("user", "Three"),
    ],
    "a poll": [
        lambda codex: codex.says("One"),
        lambda codex: codex.runs("c1", "make"),
        lambda codex: codex.running("c1", 7),
        lambda codex: codex.polls("p1", 7),
        lambda codex: codex.says("Two"),
        lambda codex: codex.exited("p1", "made"),
        lambda codex: codex.polls("p2", 7),
    ],
    "an end": [
        lambda codex: codex.says("One"),
        lambda codex: codex.runs("c1", "make"),
        lambda codex: codex.event("exec_command_end", call_id="c1", exit_code=2),
        lambda codex: codex.says("Two"),
        lambda codex: codex.output("c1", "made"),
    ],
    "a program": [
        lambda codex: codex.says("One"),
        lambda codex: codex.program("x", "tools.exec_command({cmd: 'make'})"),
        lambda codex: codex.says("Two"),
        lambda codex: codex.put_out("x", "made"),
    ],
}


@pytest.mark.parametrize("which", ACROSS)
def test_what_reaches_over_an_input_is_told_the_same_from_there_on(tmp_path: Path, which: str) -> None:
    path = write(tmp_path / "rollout.jsonl", told_by(*ACROSS[which]))
    runs = read(path)
    assert len(runs) > 1
    for place, start in enumerate([START, *(run.after for run in runs)]):
        assert read(path, start=start) == runs[place:]


@settings(max_examples=scaled(80))
@given(st.lists(st.sampled_from(sorted(KINDS)), max_size=30))
def test_reading_goes_on_behind_any_run(kinds: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / "rollout.jsonl", lines_of(kinds))
        runs = read(path)
        for place, start in enumerate([START, *(run.after for run in runs)]):
            assert read(path, start=start) == runs[place:]


@settings(max_examples=scaled(60))
@given(st.lists(st.sampled_from(sorted(KINDS)), max_size=30), st.integers(0, 10_000))
def test_a_rollout_that_is_read_while_it_is_written_tells_the_same_in_the_end(
    kinds: list[str], place: int
) -> None:
    with TemporaryDirectory() as folder:
        path, whole = Path(folder) / "rollout.jsonl", content(lines_of(kinds))
        cut = cuts(whole)[place % len(cuts(whole))]

        def put(is_whole: bool) -> None:
            path.write_bytes(whole if is_whole else whole[:cut])

        twice, once = in_two_goes(path, TranscriptAgent.CODEX, put=put)
        assert facts(twice) == facts(once)
