"""What a command costs before it does anything, beside an empty Python."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping

from bench.measure import print_table

TITLE = "start-up of the command line, CPU time, as a multiple of an empty Python"
_ROUNDS = 7
RUNLORE = ("-m", "runlore")


def main() -> None:
    """The median of several runs each; what is loaded lazily shows as the difference between the rows."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "RUNLORE_HOME": home, "RUNLORE_DATABASE_URL": ""}
        _run([*RUNLORE, "memory", "search", "warm"], environment)
        empty = cpu_median(["-c", "pass"], environment)
        rows = [
            (name, f"{cost * 1000:.0f} ms", f"{cost / empty:.1f}")
            for name, cost in (
                ("python -c pass", empty),
                ("import apsw, numpy", cpu_median(["-c", "import apsw, numpy"], environment)),
                ("runlore version", cpu_median([*RUNLORE, "version"], environment)),
                ("runlore memory list", cpu_median([*RUNLORE, "memory", "list"], environment)),
                ("runlore memory search", cpu_median([*RUNLORE, "memory", "search", "word"], environment)),
            )
        ]
    print_table(("command", "CPU", "times an empty Python"), rows)


def cpu_median(arguments: list[str], environment: Mapping[str, str]) -> float:
    """The CPU time of a command of Python, the median of a few."""
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
