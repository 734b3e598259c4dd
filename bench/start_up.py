"""What a command costs before it does anything, beside an empty Python.

And what a daemon's start costs with few and with many finished runs, behind a stop in order and a crash.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bench.measure import print_table
from bench.run_requests import fill
from runlore.config.settings import Settings
from runlore.daemon.boot import boot_daemon
from runlore.daemon.clean_shutdown import note_clean_shutdown
from runlore.daemon.wiring import open_parts

TITLE = "start-up of the command line, CPU time, as a multiple of an empty Python"
_ROUNDS = 7
_RUNS = (500, 20_000)
RUNLORE = ("-m", "runlore")


COMMANDS = (
    ("--help",),
    ("version",),
    ("memory", "list"),
    ("memory", "search", "word"),
    ("status",),
    ("status", "--json"),
)


def main() -> None:
    """The median of several runs each; what is loaded lazily shows as the difference between the rows."""
    with tempfile.TemporaryDirectory() as home:
        # Bytecode is cached where Runlore is installed, so it is here.
        environment = {**os.environ, "RUNLORE_HOME": home, "RUNLORE_DATABASE_URL": ""}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        empty = cpu_median(["-c", "pass"], environment)
        rows = [_row("python -c pass", empty, empty)]
        for what in ("typer", "typer, rich.console, rich.table", "apsw", "numpy"):
            rows.append(_row(f"import {what}", cpu_median(["-c", f"import {what}"], environment), empty))
        rows += _command_rows("", environment, empty)
        _run([*RUNLORE, "up", "--detach", "--port", "0"], environment)
        try:
            rows += _command_rows(", with a daemon", environment, empty)
        finally:
            _run([*RUNLORE, "down"], environment)
    print_table(("command", "CPU", "times an empty Python"), rows)
    _report_daemon()


def _command_rows(where: str, environment: Mapping[str, str], empty: float) -> list[tuple[str, str, str]]:
    return [
        _row(f"runlore {' '.join(words)}{where}", cpu_median([*RUNLORE, *words], environment), empty)
        for words in COMMANDS
    ]


def _row(name: str, cost: float, empty: float) -> tuple[str, str, str]:
    return name, f"{cost * 1000:.0f} ms", f"{cost / empty:.1f}"


def _report_daemon() -> None:
    rows = []
    with tempfile.TemporaryDirectory(prefix="runlore-bench-") as folder:
        for in_order in (True, False):
            costs: list[float] = []
            for runs in _RUNS:
                home = str(Path(folder) / f"{runs}")
                if in_order:
                    fill(home, runs)
                costs.append(_boot_median(home, in_order=in_order))
                behind = "a stop in order" if in_order else "a crash"
                rows.append(
                    (behind, f"{runs:,}", f"{costs[-1] * 1000:.1f} ms", f"{costs[-1] / costs[0]:.1f}")
                )
    print_table(("a daemon's boot behind", "finished runs", "CPU", f"of {_RUNS[0]}"), rows)


def _boot_median(home: str, *, in_order: bool) -> float:
    """The CPU time from an open store to a daemon that answers, the median of a few; the first is warm-up."""
    costs = []
    for _ in range(_ROUNDS + 1):
        parts = open_parts(Settings(state_root=home))
        start = time.process_time()
        boot_daemon(parts)
        costs.append(time.process_time() - start)
        if in_order:
            note_clean_shutdown(parts)
        parts.close()
    return sorted(costs[1:])[_ROUNDS // 2]


def cpu_median(arguments: list[str], environment: Mapping[str, str]) -> float:
    """The CPU time of a command of Python, the median of a few; the first is warm-up."""
    _run(arguments, environment)
    return sorted(_run(arguments, environment) for _ in range(_ROUNDS))[_ROUNDS // 2]


def _run(arguments: list[str], environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL, timeout=60
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
