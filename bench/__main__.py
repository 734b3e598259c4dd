"""Runs benchmarks by name, all of them by default: `python -m bench [--list] [NAME ...]`.

A benchmark is a module of this package with `main() -> None`, which prints what it found. Each runs in
a process of its own: what one leaves in memory is not counted for the next.
"""

import argparse
import importlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from types import ModuleType

import bench
from bench.measure import DataAbsent

EXIT_FAILED = 1
EXIT_UNKNOWN = 2
EXIT_DATA_ABSENT = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named benchmarks; fail when one of them fails, but not when its data are elsewhere."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run the benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which to run (all of them by default)")
    parser.add_argument("--list", action="store_true", help="print the names and what they measure")
    parser.add_argument("--requests", metavar="DIR", help="learning: write what a model would be asked")
    parser.add_argument("--answers", metavar="DIR", help="learning: score the answers to these requests")
    parser.add_argument(
        "--blind", metavar="FILE", help="learning: write suggestions and look-alikes to judge"
    )
    options = parser.parse_args(arguments)
    told = {
        "RUNLORE_REQUESTS": options.requests,
        "RUNLORE_ANSWERS": options.answers,
        "RUNLORE_BLIND": options.blind,
    }
    os.environ.update({name: value for name, value in told.items() if value})
    known = benchmarks()
    if unknown := [name for name in options.names if name not in known]:
        print(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return EXIT_UNKNOWN
    if options.list:
        for name, module in known.items():
            print(f"{name:20} {title(module)}")
        return 0
    if len(options.names) == 1:
        return run(options.names[0], known[options.names[0]])
    return run_apart(options.names or list(known))


def benchmarks() -> dict[str, ModuleType]:
    """The modules of this package that have a `main`, by name."""
    names = sorted(found.name for found in pkgutil.iter_modules(bench.__path__) if found.name != "__main__")
    modules = {name: importlib.import_module(f"bench.{name}") for name in names}
    return {name: module for name, module in modules.items() if callable(getattr(module, "main", None))}


def title(module: ModuleType) -> str:
    """Its `TITLE`, or the first line of its docstring."""
    told = getattr(module, "TITLE", "") or (module.__doc__ or "").strip().partition("\n")[0]
    return str(told)


def run(name: str, module: ModuleType) -> int:
    """Run one, here."""
    heading = f"{name}: {title(module)}"
    print(f"\n{heading}\n{'=' * len(heading)}", flush=True)
    try:
        module.main()
    except DataAbsent as absent:
        print(f"not run: {absent}")
        return EXIT_DATA_ABSENT
    return 0


def run_apart(names: Sequence[str]) -> int:
    """Run several, each in its own process, and say at the end how they went."""
    codes = {
        name: subprocess.run([sys.executable, "-m", "bench", name], check=False).returncode for name in names
    }
    without_data = [name for name, code in codes.items() if code == EXIT_DATA_ABSENT]
    failed = [name for name, code in codes.items() if code not in {0, EXIT_DATA_ABSENT}]
    print(f"\n{len(codes) - len(without_data) - len(failed)} of {len(codes)} benchmarks ran")
    if without_data:
        print(f"without their data: {', '.join(without_data)}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return EXIT_FAILED if failed else 0


if __name__ == "__main__":
    sys.exit(main())
