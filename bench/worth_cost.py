"""What it costs a prompt that memory is judged: opening a run whose prompt gets context, with a tenth of the
learnings held back, and with half of them doubted, against the same without; and the row of its outcome.

Five Runlores stand beside each other in one process, with the same learnings in view, two of them alike: the
ratio of these two is what the measure itself is off by. Each is asked in turn, and CPU time counts.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from bench.learned_context import OPERATOR, SEEING, fill
from bench.measure import Percentiles, print_table
from bench.ranking_corpus import NOW, queries
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.parts import Parts
from runlore.daemon.wiring import open_parts
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import CHANGED, JsonObject, Record
from runlore.domain.run import RunId
from runlore.domain.timestamps import format_time
from runlore.ports import operations as ops

TITLE = "what it costs a prompt that memory is held back and doubted"

LEARNINGS = 5_000
RUNS, WARM_UP = 300, 20
PLAIN = "nothing held back or doubted"
# From how many of a hundred runs each is held back, and of how many learnings one is doubted.
KINDS = {
    PLAIN: (0, 0),
    "the same again": (0, 0),
    "a tenth held back": (10, 0),
    "half of the learnings doubted": (0, 2),
    "both": (10, 2),
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="runlore-bench-", dir=Path.cwd()) as folder:
        opened = {name: _open(Path(folder) / str(at), *kind) for at, (name, kind) in enumerate(KINDS.items())}
        try:
            _report(opened)
        finally:
            for parts in opened.values():
                parts.close()


def _open(home: Path, percent: int, doubted: int) -> Parts:
    parts = open_parts(Settings(state_root=str(home)))
    doubt = {"what": "docs/api.md is gone", "last": "last seen true at 3f2c1ab", "since": format_time(NOW)}

    def doubt_some(record: Record, number: int) -> Record:
        if not doubted or number % doubted:
            return record
        return replace(record, revalidate_at=NOW, metadata={**record.metadata, CHANGED: doubt})

    fill(parts, LEARNINGS, doubt_some)
    policy: JsonObject = {"projection": {"holdback_percent": percent}}
    Application(parts, OPERATOR).put_policy(ops.PolicyChange(name=PolicyName.LEARNING, policy=policy))
    return parts


def _report(opened: dict[str, Parts]) -> None:
    spent: dict[str, list[int]] = {name: [] for name in opened}
    rows: list[int] = []
    names = list(opened)
    for number, query in enumerate(queries(RUNS + WARM_UP)):
        # Each is first, second and so on equally often.
        for name in (*names[number % len(names) :], *names[: number % len(names)]):
            took = _open_run(opened[name], number, query)
            if number >= WARM_UP:
                spent[name].append(took)
        rows.append(_put_outcome(opened[PLAIN], number))
    plain = Percentiles.of(spent[PLAIN])
    table = [
        (name, f"{cpu.p50_ms:.2f}", f"{cpu.p99_ms:.2f}", f"{cpu.p50_ms / plain.p50_ms:.2f}")
        for name, cpu in ((name, Percentiles.of(times)) for name, times in spent.items())
    ]
    print_table(("opening a run with context", "CPU p50 ms", "CPU p99 ms", "of the first"), table)
    receipts = [
        Application(opened["both"], OPERATOR).receipt(RunId(f"run-{n}")) for n in range(WARM_UP + RUNS)
    ]
    held = sum(bool(each.receipt and each.receipt.held_back) for each in receipts)
    doubts = sum("may no longer hold" in part.text for each in receipts for part in each.sections)
    print(
        f"\nWith both, {held} of {len(receipts)} runs went without something, and {doubts} were told a doubt."
    )
    row = Percentiles.of(rows[WARM_UP:]).p50_ms
    print(f"The row of a run's outcome, in the same transaction: {row:.3f} ms of these.")


def _open_run(parts: Parts, number: int, query: str) -> int:
    wanted = ops.NewRun(session_id=SEEING, run_id=RunId(f"run-{number}"), request=query, context=True)
    began = time.process_time_ns()
    Application(parts, OPERATOR).open_run(wanted)
    return time.process_time_ns() - began


def _put_outcome(parts: Parts, number: int) -> int:
    """Of a run that has it: the same statement finds it there."""
    with parts.store.transaction() as tx:
        began = time.process_time_ns()
        tx.outcomes.put(RunId(f"run-{number}"), NOW)
        return time.process_time_ns() - began


if __name__ == "__main__":
    main()
