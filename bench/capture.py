"""What capture adds to the end of a run: nothing but the row of a job, for everything else is done behind it.

The same runs end in three stores in turn, each first as often as the others, so that a busy machine slows all
of them: with capture off, with run summaries and semantic capture on, and with it on while another thread
captures. Wall time, because whoever ends a run waits for the disk too, beside the CPU time of the call alone.
"""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import Percentiles, print_table
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.jobs import do_due_jobs
from runlore.daemon.parts import Parts
from runlore.daemon.wiring import EMBEDDED_OPERATOR, open_parts
from runlore.domain.policy import PolicyName
from runlore.domain.record import JsonValue
from runlore.domain.run import Run, RunStatus
from runlore.domain.session import SessionId
from runlore.ports import operations as ops

TITLE = "the end of a run with capture off and on"

RUNS = 400
WARM_UP = 20
RUNS_PER_SESSION = 16
REQUEST = (
    "Fact: the staging port is {number}. Preference: short commit messages. Now build the release and tell me"
    " whether the canary is healthy."
)
REPLY = "The release is built, and canary {number} was healthy for ten minutes."


@dataclass(kw_only=True)
class _Side:
    """One store, and how long ends took in it."""

    name: str
    parts: Parts
    wall: list[int] = field(default_factory=list)
    cpu: list[int] = field(default_factory=list)


def main() -> None:
    """Measure on this file system."""
    with (
        tempfile.TemporaryDirectory(prefix="runlore-bench-", dir=Path.cwd()) as folder,
        ExitStack() as open_ones,
    ):
        sides = [
            _side(open_ones, folder, "capture off", is_on=False),
            _side(open_ones, folder, "summaries, labels and semantic capture on", is_on=True),
            _side(open_ones, folder, "the same, captured meanwhile", is_on=True),
        ]
        open_ones.enter_context(_capturing(sides[-1].parts))
        for number in range(RUNS + WARM_UP):
            first = number % len(sides)
            for side in (*sides[first:], *sides[:first]):
                _end_one(side, number)
    plain = sides[0]
    rows = [
        (
            side.name,
            (wall := Percentiles.of(side.wall)).p50_ms,
            wall.p95_ms,
            f"{wall.p50_ms / Percentiles.of(plain.wall).p50_ms:.2f}",
            (cpu := Percentiles.of(side.cpu)).p50_ms,
            f"{cpu.p50_ms / Percentiles.of(plain.cpu).p50_ms:.2f}",
        )
        for side in sides
    ]
    print_table((f"{RUNS} ends of runs", "p50 ms", "p95 ms", "of off", "CPU p50 ms", "of off"), rows)


def _side(open_ones: ExitStack, folder: str, name: str, *, is_on: bool) -> _Side:
    root = Path(folder, str(len(list(Path(folder).iterdir()))))
    parts = open_parts(Settings(state_root=str(root)))
    open_ones.callback(parts.close)
    semantic: dict[str, JsonValue] = {"enabled": is_on}
    policy: dict[str, JsonValue] = {
        "mode": "shadow",
        "capture": {"run_summary_candidates": is_on, "semantic_candidates": semantic},
    }
    Application(parts, EMBEDDED_OPERATOR).put_policy(
        ops.PolicyChange(name=PolicyName.LEARNING, policy=policy)
    )
    do_due_jobs(parts)
    return _Side(name=name, parts=parts)


def _end_one(side: _Side, number: int) -> None:
    operations = Application(side.parts, EMBEDDED_OPERATOR)
    run = _opened(operations, number)
    end = ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)
    wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
    operations.finish_run(end)
    if number >= WARM_UP:
        side.cpu.append(time.thread_time_ns() - cpu)
        side.wall.append(time.perf_counter_ns() - wall)


def _opened(operations: Application, number: int) -> Run:
    session_id = SessionId(f"ses-{number // RUNS_PER_SESSION}")
    if number % RUNS_PER_SESSION == 0:
        operations.create_session(ops.NewSession(session_id=session_id))
    asked = ops.NewRun(session_id=session_id, request=REQUEST.format(number=number))
    run = operations.open_run(asked).run
    reply = {"type": "assistant_message", "text": REPLY.format(number=number)}
    operations.append_events(ops.NewEvents(run_id=run.run_id, events=(reply,)))
    return run


@contextmanager
def _capturing(parts: Parts) -> Iterator[None]:
    """A worker as a daemon has one, doing what is due."""
    stopping = threading.Event()

    def work() -> None:
        while not stopping.is_set():
            if not do_due_jobs(parts, limit=1):
                stopping.wait(0.01)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


if __name__ == "__main__":
    main()
