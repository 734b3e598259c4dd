"""What a command costs before it does anything, beside an empty Python."""

import os
import resource
import subprocess
import sys
import tempfile

from bench.measure import print_table

TITLE = "start-up of the command line, CPU time, as a multiple of an empty Python"
_ROUNDS = 7
_RUNLORE = ("-m", "runlore")


def main() -> None:
    """The median of several runs each; what is loaded lazily shows as the difference between the rows."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "RUNLORE_HOME": home, "RUNLORE_DATABASE_URL": ""}
        _run([*_RUNLORE, "memory", "search", "warm"], environment)
        empty = _median(["-c", "pass"], environment)
        rows = [
            (name, f"{cost * 1000:.0f} ms", f"{cost / empty:.1f}")
            for name, cost in (
                ("python -c pass", empty),
                ("import apsw, numpy", _median(["-c", "import apsw, numpy"], environment)),
                ("runlore version", _median([*_RUNLORE, "version"], environment)),
                ("runlore memory list", _median([*_RUNLORE, "memory", "list"], environment)),
                ("runlore memory search", _median([*_RUNLORE, "memory", "search", "word"], environment)),
            )
        ]
    print_table(("command", "CPU", "times an empty Python"), rows)


def _median(arguments: list[str], environment: dict[str, str]) -> float:
    return sorted(_run(arguments, environment) for _ in range(_ROUNDS))[_ROUNDS // 2]


def _run(arguments: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL, timeout=60
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
