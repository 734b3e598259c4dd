"""The secret guard: what it finds, what it refuses by mistake, what a text costs, how hostile texts fare."""

import gzip
import hashlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import DataAbsent, cpu_percentiles, data_folder, print_table
from runlore.domain.guard import find_secrets, first_secret

TITLE = "the secret guard: recall, false positives, CPU time a text, hostile texts"

KB = 1_024
PROBE_SIZES_KB = (1, 16, 256, 1_024)
PROBES = {
    "one letter": "a",
    "random letters and digits": "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5",
    "key=key=key=": "key=",
    "password: password: ": "password: ",
    "a secret a line": "password=hunt" + "er2\n",
    "open quotes": 'token="',
    "opened keys": "-----BEGIN PRIVATE KEY-----\n",
    "addresses": "://a:",
    "percent escapes": "%41",
    "entities": "&#97;",
    "signatures": "sig=",
    "commands": "echo a | sudo -S ",
    "ends of keys": "A1b2C3d4E5f6G7h8\n-----END PRIVATE KEY-----\n",
    "words of passwords": "密码",
    "base64 of text": "cGFzc3dvcmQgaXMgaGFyZCB0byBndWVzcw ",
    "invisible characters": "p\u200ba",
    "full-width letters": "ｐ",
    "names that are all different": "VAR_#_TOKEN_COUNT=7 ",
}


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A text of a data set, with what its origin calls it."""

    text: str
    kind: str
    source: str


def main() -> None:
    """Hostile texts need no data; the rest raises `DataAbsent` where the sets are missing."""
    report_hostile_texts()
    positives = read_samples("positives.jsonl.gz")
    negatives = read_samples("negatives.jsonl.gz")
    turns = read_turns(data_folder("locomo", "locomo5.json"))
    report_recall(positives)
    report_false_positives(negatives, turns)
    report_cpu({"positives": positives, "negatives": negatives, "LoCoMo turns": turns})


def report_hostile_texts() -> None:
    """CPU time a kilobyte stays the same however long a text of the worst kind is."""
    print("\nHostile texts, CPU microseconds a KB (made here)\n")
    columns = ("repeated", *(f"{size:,} KB" for size in PROBE_SIZES_KB), "last to first")
    rows = []
    for name, piece in PROBES.items():
        costs = [cpu_us_a_kb(piece, size) for size in PROBE_SIZES_KB]
        rows.append((name, *(f"{cost:,.0f}" for cost in costs), f"{costs[-1] / costs[0]:.2f}"))
    print_table(columns, rows)


def report_recall(positives: Sequence[Sample]) -> None:
    """The share that is found, as a plain share and as a mean over kinds, fitted and set aside."""
    found: dict[str, list[bool]] = defaultdict(list)
    for sample in positives:
        found[sample.kind].append(first_secret(sample.text) is not None)
    print("\nSecrets found (gitleaks, detect-secrets; every third kind by its hash is set aside)\n")
    print_table(
        ("kinds", "number of kinds", "texts", "found", "mean of the kinds"),
        [
            recall_row("all", found),
            recall_row("fitted", {kind: hits for kind, hits in found.items() if not is_set_aside(kind)}),
            recall_row("set aside", {kind: hits for kind, hits in found.items() if is_set_aside(kind)}),
        ],
    )
    print("\nKinds that fall short\n")
    short = [
        (kind, "set aside" if is_set_aside(kind) else "fitted", len(hits) - sum(hits), len(hits))
        for kind, hits in sorted(found.items())
        if not all(hits)
    ]
    print_table(("kind", "part", "missed", "of"), short)


def report_false_positives(negatives: Sequence[Sample], turns: Sequence[Sample]) -> None:
    """The share of harmless texts that is refused, by where they come from."""
    by_source: dict[str, list[bool]] = defaultdict(list)
    for sample in (*negatives, *turns):
        by_source[sample.source].append(first_secret(sample.text) is not None)
    everything = [hit for source, hits in by_source.items() if source != LOCOMO for hit in hits]
    print("\nHarmless texts refused\n")
    print_table(
        ("source", "texts", "refused", "share"),
        [
            (name, len(hits), sum(hits), percent(sum(hits), len(hits)))
            for name, hits in [*sorted(by_source.items()), ("all negatives, without LoCoMo", everything)]
        ],
    )


def report_cpu(sets: dict[str, Sequence[Sample]]) -> None:
    """What a text costs, beside a bare loop that only takes its length and folds its case."""
    print("\nCPU time a text, microseconds\n")
    rows = []
    for name, samples in sets.items():
        texts = [sample.text for sample in samples]
        for label, call in (
            ("first_secret", first_secret),
            ("find_secrets", find_secrets),
            ("bare loop", bare),
        ):
            cost = cpu_percentiles(call, texts, warm_up=len(texts))
            rows.append(
                (name, label, *(f"{ms * 1_000:,.1f}" for ms in (cost.p50_ms, cost.p99_ms, cost.max_ms)))
            )
    print_table(("texts", "call", "p50", "p99", "max"), rows)


LOCOMO = "snap-research/LoCoMo (CC BY-NC 4.0)"


def read_samples(name: str) -> list[Sample]:
    with gzip.open(data_folder("secrets", name), "rt", encoding="utf-8") as lines:
        objects = [json.loads(line) for line in lines]
    return [Sample(text=each["text"], kind=each["kind"], source=each["source"]) for each in objects]


def read_turns(path: Path) -> list[Sample]:
    """The turns of the conversations: every object with a speaker and a text."""
    conversations: object = json.loads(path.read_text(encoding="utf-8"))
    return [Sample(text=text, kind="turn", source=LOCOMO) for text in spoken(conversations)]


def spoken(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if "speaker" in node and isinstance(node.get("text"), str):
            yield node["text"]
        for value in node.values():
            yield from spoken(value)
    elif isinstance(node, list):
        for value in node:
            yield from spoken(value)


def is_set_aside(kind: str) -> bool:
    """Whether rules are judged by a kind, and never fitted on its texts."""
    return hashlib.sha256(f"aside {kind}".encode()).digest()[0] % 3 == 0


def recall_row(name: str, found: dict[str, list[bool]]) -> tuple[str, int, int, str, str]:
    hits = [hit for each in found.values() for hit in each]
    shares = [sum(each) / len(each) for each in found.values()]
    return name, len(found), len(hits), percent(sum(hits), len(hits)), percent(sum(shares), len(shares))


def percent(part: float, whole: int) -> str:
    return f"{100 * part / whole:.2f}%"


def bare(text: str) -> int:
    return len(text) + len(text.casefold())


def cpu_us_a_kb(piece: str, size_kb: int) -> float:
    """CPU time for a text of this size made of one repeated piece, whose `#` is its number; short texts are
    read several times."""
    pieces = (piece.replace("#", str(number)) for number in range(size_kb * KB // len(piece) + 1))
    text = "".join(pieces)[: size_kb * KB]
    return min(_cpu_us(text) for _ in range(5 if size_kb < 64 else 1)) / size_kb


def _cpu_us(text: str) -> float:
    start = time.process_time_ns()
    find_secrets(text)
    return (time.process_time_ns() - start) / 1_000


if __name__ == "__main__":
    try:
        main()
    except DataAbsent as absent:
        print(f"\nnot run: {absent}")
        sys.exit(0)
