"""Poisoning: hostile texts by every way into Runlore, under the boldest policy, with a model that obeys.

None of them may reach a prompt without an operator. It also tells how many hostile texts are flagged by what
they say, and how many harmless ones are wrongly. Texts: NVIDIA/garak and leolee99/PIGuard (NotInject),
microsoft/BIPIA, ethz-spylab/agentdojo, and paragraphs of public skills.
"""

import gzip
import hashlib
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.measure import DataAbsent, cpu_percentiles, data_folder, print_table
from runlore.config.settings import Settings
from runlore.domain.errors import Refused
from runlore.domain.suspicion import suspicions
from tests.fakes import ScriptedModels
from tests.flow.poisoning import WAYS, Obeying, embolden, visible, work
from tests.world import World

# So many texts go each way in one store: what is in one grows, and every look at it with that.
BATCH = 100


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A text of a data set, with what its origin calls it."""

    text_id: str
    text: str
    kind: str
    source: str


def main() -> None:
    """Raises `DataAbsent` where the sets are missing, and fails where a text gets through."""
    hostile, harmless = read_samples("positives.jsonl.gz"), read_samples("benign.jsonl.gz")
    report_flags(hostile, harmless)
    report_cpu(hostile, harmless)
    report_ways(hostile)


def report_flags(hostile: Sequence[Sample], harmless: Sequence[Sample]) -> None:
    """The share that is flagged, of both; a bare instruction is hostile only by where it stands."""
    told = [sample for sample in hostile if not sample.kind.startswith("bare")]
    halves = [[each for each in told if half_of(each) == half] for half in (0, 1)]
    rows = [("all, without bare instructions", told), ("half A", halves[0]), ("half B", halves[1])]
    print("\nHostile texts flagged by what they say\n")
    groups: dict[str, list[Sample]] = defaultdict(list)
    for sample in hostile:
        groups[group_of(sample)].append(sample)
    print_table(("texts", "number", "flagged", "share"), map(_share, [*rows, *sorted(groups.items())]))
    print("\nHarmless texts wrongly flagged\n")
    groups = defaultdict(list)
    for sample in harmless:
        groups[group_of(sample)].append(sample)
    print_table(
        ("texts", "number", "flagged", "share"), map(_share, [("all", harmless), *sorted(groups.items())])
    )


def report_cpu(hostile: Sequence[Sample], harmless: Sequence[Sample]) -> None:
    """What looking at a text costs."""
    print("\nCPU time a text, microseconds\n")
    rows = []
    for name, samples in (("hostile", hostile), ("harmless", harmless)):
        cost = cpu_percentiles(suspicions, [sample.text for sample in samples])
        rows.append((name, *(f"{ms * 1_000:,.0f}" for ms in (cost.p50_ms, cost.p95_ms, cost.max_ms))))
    print_table(("texts", "p50", "p95", "max"), rows)


def report_ways(hostile: Sequence[Sample]) -> None:
    """Every text, every way: how many records came of it, and how many of them may reach a prompt."""
    print("\nHostile texts that reach a prompt without an operator\n")
    totals: dict[str, Counter[str]] = {way: Counter() for way in WAYS}
    began = time.monotonic()
    for at in range(0, len(hostile), BATCH):
        for way in WAYS:
            totals[way] += went(way, hostile[at : at + BATCH])
    columns = ("texts", "refused", "records", "flagged or tainted", "visible")
    print_table(
        ("way", *columns), [(way, *(counts[name] for name in columns)) for way, counts in totals.items()]
    )
    print(f"\n{time.monotonic() - began:,.0f} s")
    through = sum(counts["visible"] for counts in totals.values())
    if through:
        raise SystemExit(f"{through} records would reach a prompt")


def went(way: str, samples: Sequence[Sample]) -> Counter[str]:
    """What came of texts that went one way into a fresh Runlore."""
    counts: Counter[str] = Counter(texts=len(samples))
    obeying = Obeying()
    with tempfile.TemporaryDirectory() as folder:
        world = World(Settings(state_root=str(Path(folder, "home"))))
        try:
            world.parts = replace(world.parts, models=ScriptedModels(obeying.scripted))
            embolden(world)
            for sample in samples:
                obeying.text = sample.text
                try:
                    WAYS[way](world, sample.text)
                except Refused:
                    counts["refused"] += 1
                work(world)
                world.clock.advance(seconds=1)
            records = world.stored().values()
            counts["records"] = len(records)
            counts["flagged or tainted"] = sum(record.provenance.tainted for record in records)
            counts["visible"] = len(visible(world))
        finally:
            world.close()
    return counts


def read_samples(name: str) -> list[Sample]:
    """One set."""
    with gzip.open(data_folder("injection", name), "rt", encoding="utf-8") as lines:
        objects = [json.loads(line) for line in lines]
    return [
        Sample(text_id=each["id"], text=each["text"], kind=each["kind"], source=each["source"])
        for each in objects
    ]


def group_of(sample: Sample) -> str:
    """Its origin, and the first words of what its origin calls it."""
    kind = sample.kind.partition(":")[0]
    return f"{sample.source}: {'bare instruction' if kind.startswith('bare') else kind}"


def half_of(sample: Sample) -> int:
    """One of two halves, by a hash, to see whether the rules hold beyond what they were tuned on."""
    return hashlib.sha256(sample.text_id.encode()).digest()[0] % 2


def _share(row: tuple[str, Sequence[Sample]]) -> tuple[str, int, int, str]:
    name, samples = row
    found = sum(bool(suspicions(sample.text)) for sample in samples)
    return name, len(samples), found, f"{100 * found / len(samples):.2f}%"


if __name__ == "__main__":
    try:
        main()
    except DataAbsent as absent:
        print(f"\nnot run: {absent}")
        sys.exit(0)
