"""What a turn of Runlore's own agent costs, without its model, with 1k and 100k learnings in view.

A turn is all that happens between two answers of the model: the request is made and sent, the answer's stream
read, both journalled, a file read by a tool. An input has more to it: the run is opened with what is
remembered for it, and ended with its memory written and looked at for skills. The model is a server in a
process of its own that answers at once, so that what is measured is this process: its CPU time, all threads
together. The same is told without the provider's client, whose part it is to speak HTTP and JSON.
"""

import json
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

from bench.learned_context import OPERATOR, PROJECTS, fill
from bench.measure import Percentiles, print_table
from bench.ranking_corpus import queries
from runlore.config.providers import ModelSettings
from runlore.config.settings import Settings
from runlore.daemon.parts import Parts
from runlore.daemon.wiring import open_parts
from runlore.domain.agent.conversation import AssistantSaid, Message, ToolCall, UserSaid
from runlore.domain.run import RunStatus
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from runlore.ports.chat import ChatListener, ChatReply, ChatTurn
from runlore.ports.model import Provider, ProviderKind, TokenUsage
from runlore.ports.stopping import Stop
from tests.model_server import Received, Reply, calls, model_server, says

TITLE = "what a turn of Runlore's own agent costs without its model, at 1k and 100k learnings"

SIZES = (1_000, 100_000)
RECORDS_VARIABLE = "RUNLORE_BENCH_RECORDS_MAX"
INPUTS = 100
WARM_UP = 25
CALLS = 10
SESSION = SessionId("working")
FILE = "notes.txt"
ANSWER = "It is as the notes say."
# What a turn is meant to stay under.
TURN_CPU_MS = 15
A_TURN, A_FURTHER = "a turn, all in all", "a further turn, with a call"
_WANTED = re.compile(r"\[(\d+) calls\]")


def main() -> None:
    """Measure each size on this file system."""
    records_max = int(os.environ.get(RECORDS_VARIABLE, SIZES[-1]))
    with _server() as base_url:
        for size in (size for size in SIZES if size <= records_max):
            print(f"{size:,} learnings ...", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory(prefix="runlore-bench-", dir=Path.cwd()) as folder:
                _report(Path(folder), size, base_url)


def _report(folder: Path, size: int, base_url: str) -> None:
    provider = Provider(name="local", kind=ProviderKind.OPENAI, base_url=base_url, own_address=True)
    models = ModelSettings(default="local:scripted", providers=(provider,))
    parts = open_parts(Settings(state_root=str(folder / "home"), models=models))
    try:
        fill(parts, size)
        project = folder / "project"
        project.mkdir()
        (project / FILE).write_text("A line of notes.\n" * 40)
        projects = tuple(scope.id for scope in PROJECTS)
        parts.operations(OPERATOR).create_session(
            ops.NewSession(session_id=SESSION, project_ids=projects, working_folder=str(project))
        )
        measured = {
            "with the provider's client": _measured(parts),
            "without it": _measured(replace(parts, chat=_Speaking())),
        }
    finally:
        parts.close()
    rows = [
        (
            *(f"{size:,}", how, what),
            *(f"{ms:.2f}" for ms in (cpu.p50_ms, cpu.p99_ms)),
            TURN_CPU_MS if what in (A_TURN, A_FURTHER) else "",
            *(f"{ms:.2f}" for ms in (wall.p50_ms, wall.p99_ms)),
        )
        for how, told in measured.items()
        for what, (cpu, wall) in told.items()
    ]
    times = ("CPU p50 ms", "CPU p99 ms", "aim ms", "wall p50 ms", "wall p99 ms")
    columns = ("learnings", "", "what", *times)
    print_table(columns, rows)


def _measured(parts: Parts) -> dict[str, tuple[Percentiles, Percentiles]]:
    """An input that is answered at once, the same with calls, and what each of these turns adds."""
    taken: dict[int, list[tuple[int, int]]] = {0: [], CALLS: []}
    for number, query in enumerate(queries(INPUTS + WARM_UP)):
        for calls_wanted, times in taken.items():
            spent = _worked(parts, f"{query} [{calls_wanted} calls]")
            if number >= WARM_UP:
                times.append(spent)
    pairs = list(zip(taken[0], taken[CALLS], strict=True))
    return {
        "an input, answered in one turn": _percentiles(taken[0]),
        f"an input of {CALLS + 1} turns": _percentiles(taken[CALLS]),
        A_TURN: _percentiles([(cpu // (CALLS + 1), wall // (CALLS + 1)) for cpu, wall in taken[CALLS]]),
        A_FURTHER: _percentiles(
            [((long[0] - short[0]) // CALLS, (long[1] - short[1]) // CALLS) for short, long in pairs]
        ),
    }


def _worked(parts: Parts, text: str) -> tuple[int, int]:
    request = ops.NewInput(session_id=SESSION, text=text, wait=True)
    began, started = time.process_time_ns(), time.perf_counter_ns()
    view = parts.operations(OPERATOR).start_input(request)
    spent = time.process_time_ns() - began, time.perf_counter_ns() - started
    assert view.run.status is RunStatus.COMPLETED, view.run
    return spent


def _percentiles(spent: list[tuple[int, int]]) -> tuple[Percentiles, Percentiles]:
    return Percentiles.of(cpu for cpu, _ in spent), Percentiles.of(wall for _, wall in spent)


class _Speaking:
    """The same answers in this process, with no client in between."""

    def resolve(self, model: str = "") -> str:
        """There is one."""
        return model or "local:scripted"

    def say(self, turn: ChatTurn, listening: ChatListener, _stop: Stop) -> ChatReply:
        """One turn, at once; the request is told as it would be sent."""
        body = {"model": turn.model, "instructions": turn.instructions, "said": list(map(str, turn.messages))}
        listening.on_request(json.dumps(body))
        called = _calls_left(turn.messages)
        text = "" if called else ANSWER
        listening.on_text(text)
        asked = (
            ToolCall(call_id=f"call_{len(turn.messages)}", name="read_file", arguments=_arguments(called)),
        )
        usage = TokenUsage(input_tokens=120, output_tokens=30)
        return ChatReply(text=text, calls=asked if called else (), model="local:scripted", usage=usage)

    def close(self) -> None:
        """Nothing is held."""


def _calls_left(messages: tuple[Message, ...]) -> int:
    """How many calls are still to be made for the latest input."""
    last = max(place for place, each in enumerate(messages) if isinstance(each, UserSaid))
    said = sum(isinstance(each, AssistantSaid) for each in messages[last:])
    asked = messages[last]
    wanted = _WANTED.search(asked.text) if isinstance(asked, UserSaid) else None
    return max(0, (int(wanted[1]) if wanted else 0) - said)


def _answer(received: Received) -> Reply:
    left = _calls_left(received.conversation)
    return calls("read_file", _arguments(left)) if left else says(ANSWER, piece_chars=8)


def _arguments(left: int) -> dict[str, str | int]:
    """Other lines each time: whoever makes the same call over and over is stopped."""
    return {"path": FILE, "first_line": left}


@contextmanager
def _server() -> Iterator[str]:
    """The model, in a process of its own: its address."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield str(ours.recv())
    finally:
        ours.send("end")
        process.join()


def _serve(told: Connection) -> None:
    script: Callable[[Received], Reply] = _answer
    with model_server(script) as server:
        told.send(server.base_url())
        told.recv()


if __name__ == "__main__":
    main()
