"""What the benchmarks share: CPU time in percentiles, tables, and the folder with other people's data.

CPU time is what a call costs on a machine that does other things too; where waiting is the point, as
with a disk, a benchmark says that it reports wall time.
"""

import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

DATA_VARIABLE = "RUNLORE_DATA"

Value = TypeVar("Value")


class DataAbsent(Exception):
    """The data that a benchmark needs are not on this machine."""


@dataclass(frozen=True, kw_only=True)
class Percentiles:
    """How long a call took, over many calls, in milliseconds."""

    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float

    @classmethod
    def of(cls, nanoseconds: Iterable[int]) -> "Percentiles":
        """Nearest rank: each figure is one that was measured."""
        ordered = sorted(nanoseconds)
        if not ordered:
            raise ValueError("nothing was measured")
        return cls(
            count=len(ordered),
            p50_ms=_rank(ordered, 50),
            p95_ms=_rank(ordered, 95),
            p99_ms=_rank(ordered, 99),
            max_ms=ordered[-1] / 1e6,
        )


def cpu_percentiles(
    call: Callable[[Value], object], inputs: Iterable[Value], *, warm_up: int = 10, rounds: int = 1
) -> Percentiles:
    """CPU time of this thread for each call, the best of so many, after a few that are not counted."""
    values = list(inputs)
    for value in values[:warm_up]:
        call(value)
    measured = ([_measured(call, value, time.thread_time_ns) for value in values] for _ in range(rounds))
    return Percentiles.of(map(min, zip(*measured, strict=True)))


def wall_percentiles(
    call: Callable[[Value], object], inputs: Iterable[Value], *, warm_up: int = 10
) -> Percentiles:
    """Wall time for each call, after a few that are not counted."""
    values = list(inputs)
    for value in values[:warm_up]:
        call(value)
    return Percentiles.of(_measured(call, value, time.perf_counter_ns) for value in values)


def peak_memory_mb() -> float:
    """The most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A Markdown table, so that a decision record can hold it as it is; figures align to the right."""
    cells = [[_text(value) for value in row] for row in rows]
    numeric = [all(_is_figure(row[index]) for row in cells) for index in range(len(columns))]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    _print_row([_pad(*cell) for cell in zip(columns, widths, numeric, strict=True)])
    _print_row(["-" * (width - right) + ":" * right for width, right in zip(widths, numeric, strict=True)])
    for row in cells:
        _print_row([_pad(*cell) for cell in zip(row, widths, numeric, strict=True)])


def data_folder(*parts: str) -> Path:
    """A place in the folder of public data sets; `DataAbsent` says how to name it where it is missing."""
    root = os.environ.get(DATA_VARIABLE, "")
    if not root:
        raise DataAbsent(f"{DATA_VARIABLE} does not name the folder with the data sets (see bench/README.md)")
    place = Path(root, *parts)
    if not place.exists():
        raise DataAbsent(f"there is no {Path(*parts)} in the folder that {DATA_VARIABLE} names")
    return place


def _measured(call: Callable[[Value], object], value: Value, clock: Callable[[], int]) -> int:
    start = clock()
    call(value)
    return clock() - start


def _rank(ordered: Sequence[int], percent: int) -> float:
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] / 1e6


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 10 else f"{value:,.1f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _is_figure(text: str) -> bool:
    return text[:1].isdigit() or text[:1] == "-"


def _pad(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)


def _print_row(cells: Sequence[str]) -> None:
    print(f"| {' | '.join(cells)} |")
