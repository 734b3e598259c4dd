"""What capture adds to the end of a run: nothing but the row of a job, for everything else is done behind it.

The same runs end in three stores in turn, each first as often as the others, so that a busy machine slows all
of them: with capture off, with run summaries and semantic capture on, and with it on while another thread
captures. Wall time, because whoever ends a run waits for the disk too, beside the CPU time of the call alone.

Behind that the capture itself, of one run at a time: with nobody listening to what users say, and with it.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench.measure import Percentiles, print_table
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.parts import Parts
from runlore.daemon.wiring import open_parts
from runlore.domain.access import LOCAL_OPERATOR
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import JsonValue
from runlore.domain.run import Run, RunStatus
from runlore.domain.runs.job import JobKind
from runlore.domain.session import SessionId
from runlore.ports import operations as ops

TITLE = "the end of a run with capture off and on"

RUNS = 400
CAPTURES = 200
WARM_UP = 20
_CAPTURE = frozenset({JobKind.CAPTURE})
RUNS_PER_SESSION = 16
REQUEST = (
    "Fact: the staging port is {number}. Preference: short commit messages. Now build the release and tell me"
    " whether the canary is healthy."
)
OWN_WORDS = (
    "Build release {number}. Always use pnpm in part {number}, never npm. The canary was slow yesterday, look"
    " at the log first. We use port {number} for the proxy here. Can you tell me why it failed?"
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
        _measure_own_words(open_ones, folder)
        off, on = _policy(is_on=False), _policy(is_on=True)
        sides = [
            _side(open_ones, folder, "capture off", off),
            _side(open_ones, folder, "summaries, labels and semantic capture on", on),
            _side(open_ones, folder, "the same, captured meanwhile", on),
        ]
        open_ones.enter_context(_capturing(sides[-1].parts))
        for number in range(RUNS + WARM_UP):
            first = number % len(sides)
            for side in (*sides[first:], *sides[:first]):
                _end_one(side, number)
    _print(f"{RUNS} ends of runs", sides)


def _measure_own_words(open_ones: ExitStack, folder: str) -> None:
    """The capture of one run, with what its user says that lasts and without."""
    sides = [
        _side(open_ones, folder, f"own words: {each}", {"run_summary_candidates": True, "own_words": each})
        for each in ("off", "propose")
    ]
    for number in range(CAPTURES + WARM_UP):
        first = number % len(sides)
        for side in (*sides[first:], *sides[:first]):
            operations = Application(side.parts, LOCAL_OPERATOR)
            run = _opened(operations, number, OWN_WORDS)
            operations.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))
            _time(side, number, partial(do_due_jobs, side.parts, kinds=_CAPTURE))
    _print(f"{CAPTURES} captures of one run", sides)


def _print(title: str, sides: Sequence[_Side]) -> None:
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
    print_table((title, "p50 ms", "p95 ms", "of off", "CPU p50 ms", "of off"), rows)


def _policy(*, is_on: bool) -> dict[str, JsonValue]:
    return {"run_summary_candidates": is_on, "semantic_candidates": {"enabled": is_on}}


def _side(open_ones: ExitStack, folder: str, name: str, capture: Mapping[str, JsonValue]) -> _Side:
    root = Path(folder, str(len(list(Path(folder).iterdir()))))
    parts = open_parts(Settings(state_root=str(root)))
    open_ones.callback(parts.close)
    policy: dict[str, JsonValue] = {"mode": "shadow", "capture": dict(capture)}
    Application(parts, LOCAL_OPERATOR).put_policy(ops.PolicyChange(name=PolicyName.LEARNING, policy=policy))
    do_due_jobs(parts)
    return _Side(name=name, parts=parts)


def _end_one(side: _Side, number: int) -> None:
    operations = Application(side.parts, LOCAL_OPERATOR)
    run = _opened(operations, number)
    end = ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)
    _time(side, number, lambda: operations.finish_run(end))


def _time(side: _Side, number: int, act: Callable[[], object]) -> None:
    wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
    act()
    if number >= WARM_UP:
        side.cpu.append(time.thread_time_ns() - cpu)
        side.wall.append(time.perf_counter_ns() - wall)


def _opened(operations: Application, number: int, request: str = REQUEST) -> Run:
    session_id = SessionId(f"ses-{number // RUNS_PER_SESSION}")
    if number % RUNS_PER_SESSION == 0:
        operations.create_session(ops.NewSession(session_id=session_id))
    asked = ops.NewRun(session_id=session_id, request=request.format(number=number))
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
