"""Runlore beside what people would pick instead, on one corpus: `make bench ONLY=compared`.

Puts the others into `.venv/compared`, from packages by name; nothing of ours needs them. Each works in
processes of its own (`bench.compared_with`) on this file system, and for power cuts on small ones of its own.
Writes the figures between the marks of docs/benchmarks.md, and the plots beside it; at the end come the
benchmarks of what none of the others does. `RUNLORE_BENCH_RECORDS_MAX` bounds the sizes; with `RUNLORE_DATA`
set the turns of LoCoMo are asked after as well.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from itertools import accumulate
from math import log10
from pathlib import Path
from random import Random
from typing import Any

from bench.measure import DataAbsent
from bench.ranking_corpus import WORDS
from bench.ranking_quality import locomo
from tests.system_programs import can_mount_images

TITLE = "adding, finding, starting and surviving, beside mem0, LangGraph, chromadb, tantivy and FTS5"
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
PLOT = ROOT / "docs" / "benchmarks.svg"
OTHERS = ROOT / ".venv" / "compared"
PACKAGES = (
    *("mem0ai", "faiss-cpu", "langgraph", "langgraph-checkpoint-sqlite", "pysqlite3-binary", "sqlite-vec"),
    *("chromadb", "tantivy", "safetensors", "tokenizers"),
)
# Its weights are all that is wanted of it.
ALONE = "wordllama"
NAMES = {
    "runlore": "Runlore",
    "fts5": "SQLite FTS5",
    "tantivy": "tantivy",
    "chromadb": "chromadb",
    "langgraph": "LangGraph SqliteStore",
    "mem0": "mem0 with faiss",
}
SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUESTIONS = 200
KILLS = 10
CUTS = 20
COMMAND_S = 3600.0
# What only Runlore does, each in a benchmark of its own.
ALONE_IN = ("skill_match", "start_up", "hooks", "transcripts")
# What is drawn of a figure that was too small to be measured.
LEAST = 1e-3
MARKS = ("<!-- figures: made by `make bench ONLY=compared` -->", "<!-- end of the figures -->")
FACTS = (
    ("{} listens on port {}", "which port does {} use"),
    ("The owner of {} is the team of {}", "who is responsible for {}"),
    ("{} keeps its data in PostgreSQL {}", "where does {} store its data"),
    ("{} is released on day {} of the month", "when is {} released"),
    ("The tests of {} are started with make test-{}", "how do I run the tests of {}"),
    ("Logs of {} are deleted after {} days", "how long are logs of {} kept"),
)

Corpus = Mapping[str, Any]
Figures = dict[str, dict[str, Any]]


def main() -> None:
    """Measure everything, print it, and write the page."""
    _install()
    most = int(os.environ.get("RUNLORE_BENCH_RECORDS_MAX", SIZES[-1]))
    found: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(prefix="runlore-bench-", dir=Path.cwd()) as folder:
        lost = {
            "`kill -9`": {name: _lost_by_kills(name, Path(folder)) for name in NAMES},
            "a power cut": lost_by_power_cuts(Path(folder)),
        }
        for title, corpus in _corpora(most):
            file = Path(folder) / "corpus.json"
            file.write_text(json.dumps(corpus), encoding="utf-8")
            found[title] = {
                name: _measure(name, Path(folder) / f"{name}-{len(corpus['texts'])}", file) for name in NAMES
            }
            # What is there is kept, whatever becomes of the largest.
            _write("\n".join(_told(found, lost)), found)
    told = "\n".join([*_told(found, lost), *_told_alone()])
    _write(told, found)
    print(told)


def _write(told: str, found: Mapping[str, Figures]) -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    PAGE.write_text(f"{before}{MARKS[0]}\n\n{told}\n{MARKS[1]}{after}", encoding="utf-8")
    PLOT.write_text(_plot(found), encoding="utf-8")


def made_up(size: int) -> Corpus:
    """Facts about services, six of each, and questions in other words after some of them."""
    chance = Random(size)
    names = [_name(number) for number in range(size // 6 + 1)]
    texts = [FACTS[at % 6][0].format(names[at // 6], 1 + at % 9973) for at in range(size)]
    asked = chance.sample(range(size), QUESTIONS)
    return {"texts": texts, "questions": [(FACTS[at % 6][1].format(names[at // 6]), [at]) for at in asked]}


def _name(number: int) -> str:
    """A service's name, another one for each number."""
    turn, at = divmod(number, len(WORDS) - 7)
    return WORDS[at].removesuffix("q").capitalize() + WORDS[(at + 7 + 13 * turn) % len(WORDS)]


def _corpora(most: int) -> Iterator[tuple[str, Corpus]]:
    with suppress(DataAbsent):
        yield "LoCoMo", _talks()
    for size in SIZES:
        if size <= most:
            yield f"{size:,} facts", made_up(size)


def _talks() -> Corpus:
    """The turns of all conversations together, and the questions with their evidence."""
    talks = locomo()
    starts = list(accumulate((len(talk.turns) for talk in talks), initial=0))
    questions = [
        (question, sorted(start + number for number in evidence))
        for talk, start in zip(talks, starts, strict=False)
        for question, evidence in talk.questions
    ]
    texts = [turn.text for talk in talks for turn in talk.turns]
    return {"texts": texts, "questions": questions, "at_once": True}


def _install() -> None:
    if (OTHERS / ".complete").exists():
        return
    subprocess.run([sys.executable, "-m", "venv", str(OTHERS)], check=True)
    pip = [str(OTHERS / "bin" / "python"), "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    subprocess.run([*pip, *PACKAGES], check=True)
    subprocess.run([*pip, "--no-deps", ALONE], check=True)
    (OTHERS / ".complete").touch()


def _command(name: str, folder: Path, command: str, corpus: Path) -> list[str]:
    python = sys.executable if name == "runlore" else str(OTHERS / "bin" / "python")
    script = str(Path(__file__).with_name("compared_with.py"))
    return [python, script, name, str(folder), command, str(corpus)]


def _measure(name: str, folder: Path, corpus: Path) -> dict[str, Any]:
    print(f"{name}, {folder.name} ...", file=sys.stderr, flush=True)
    found: dict[str, Any] = {}
    for command in ("fill", "ask"):
        run = subprocess.run(
            _command(name, folder, command, corpus),
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=True,
        )
        found |= json.loads(run.stdout.splitlines()[-1])
    if found["added"] < len(json.loads(corpus.read_text(encoding="utf-8"))["texts"]):
        # What it was asked after is not all there.
        found |= {"hit_1": None, "recall_10": None}
    sizes = (path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.name != "ballast")
    return found | {"disk_mb": sum(sizes) / 1024**2}


def _lost_by_kills(name: str, folder: Path) -> tuple[int, int]:
    """How many texts were told to be kept, and how many of them are not there behind a `kill -9`."""
    corpus = _corpus_to_write(folder)
    return _add_up(
        compare_with_answers(name, place, corpus, _write_until(name, place, corpus, 40 + 7 * number))
        for number in range(KILLS)
        for place in [folder / f"{name}-kill-{number}"]
    )


def lost_by_power_cuts(folder: Path) -> dict[str, tuple[int, int]]:
    """The same behind power cuts, on a file system of their own; nothing where none can be mounted."""
    if not can_mount_images():
        return {}
    corpus = _corpus_to_write(folder)
    command = ["unshare", "--mount", sys.executable, "-m", "bench.compared_cuts", str(folder), str(corpus)]
    run = subprocess.run(
        [*command, str(CUTS), *NAMES], capture_output=True, text=True, check=True, timeout=COMMAND_S
    )
    return {name: _add_up(cuts) for name, cuts in json.loads(run.stdout.splitlines()[-1]).items()}


def _add_up(found: Iterable[Sequence[int]]) -> tuple[int, int]:
    kept, lost = zip(*found, strict=True)
    return sum(kept), sum(lost)


def _corpus_to_write(folder: Path) -> Path:
    corpus = folder / "written.json"
    corpus.write_text(json.dumps(made_up(5_000)), encoding="utf-8")
    return corpus


def _write_until(name: str, place: Path, corpus: Path, answers: int) -> list[int]:
    """The numbers of the texts that a memory told to be kept before it was killed."""
    with writing(name, place, corpus) as writer:
        told = read_answers(writer, answers)
        writer.kill()
        assert writer.stdout is not None
        told += writer.stdout.read()
    return numbers_of(told)


def writing(name: str, place: Path, corpus: Path) -> subprocess.Popen[bytes]:
    """A memory that adds one text after the other, and tells of each that is kept."""
    return subprocess.Popen(
        _command(name, place, "write", corpus), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def read_answers(writer: subprocess.Popen[bytes], answers: int) -> bytes:
    """What it has told when it has told of so many, or has been silent for long."""
    assert writer.stdout is not None
    told, until = b"", time.monotonic() + 60
    while told.count(b"\n") < answers and time.monotonic() < until:
        if select.select([writer.stdout], [], [], 1)[0]:
            told += os.read(writer.stdout.fileno(), 1 << 16)
    return told


def numbers_of(told: bytes) -> list[int]:
    """Of the texts that whole lines name."""
    return [int(line) for line in told.split(b"\n")[:-1]]


def compare_with_answers(name: str, place: Path, corpus: Path, answered: Sequence[int]) -> tuple[int, int]:
    """How many texts were told to be kept, and how many of these a new process does not find."""
    run = subprocess.run(_command(name, place, "texts", corpus), capture_output=True, text=True, check=False)
    # One that cannot be opened any more has lost all.
    there = set(json.loads(run.stdout.splitlines()[-1])) if run.returncode == 0 else set[str]()
    texts = json.loads(corpus.read_text(encoding="utf-8"))["texts"]
    return len(answered), sum(texts[number] not in there for number in answered)


def _told_alone() -> Iterator[str]:
    """The tables of what only Runlore does."""
    for name in ALONE_IN:
        run = subprocess.run(
            [sys.executable, "-m", "bench", name], capture_output=True, text=True, check=False, cwd=ROOT
        )
        if run.returncode == 0:
            title = import_module(f"bench.{name}").TITLE
            yield from (f"### Runlore alone: {title} (`make bench ONLY={name}`)", "", run.stdout)


def _told(found: Mapping[str, Figures], lost: Mapping[str, Mapping[str, tuple[int, int]]]) -> Iterator[str]:
    python = [str(OTHERS / "bin" / "python"), "-m", "pip", "list", "--format", "json"]
    listed = json.loads(subprocess.run(python, capture_output=True, check=True).stdout)
    others = {each["name"]: each["version"] for each in listed}
    named = ", ".join(f"{name} {others[name]}" for name in PACKAGES[:8] if name in others)
    yield f"Measured on {datetime.now(UTC):%Y-%m-%d} with Runlore {version('runlore')}, {named}."
    for title, figures in found.items():
        yield f"\n### {title}\n"
        yield "| memory | " + " | ".join(_COLUMNS) + " |"
        yield "| --- |" + " ---: |" * len(_COLUMNS)
        for name, each in figures.items():
            yield f"| {NAMES[name]} | " + " | ".join(_cell(each, key) for key in _COLUMNS.values()) + " |"
    yield "\n### What was told to be kept, and is lost\n"
    yield "| memory |" + "".join(f" told, then {how} | lost |" for how in lost)
    yield "| --- |" + " ---: |" * 2 * len(lost)
    for name, title in NAMES.items():
        cells = [figure for each in lost.values() for figure in each.get(name, ("not tried", ""))]
        yield f"| {title} | " + " | ".join(map(str, cells)) + " |"
    yield ""


_COLUMNS = {
    "kept": "added",
    "add one, ms": "add_ms",
    "add many, CPU ms each": "rest_ms",
    "start to first answer, s": "first_s",
    "search, CPU ms": "cpu_ms",
    "search p95, ms": "p95_ms",
    "context, CPU ms": "context_ms",
    "best is right": "hit_1",
    "recall@10": "recall_10",
    "memory, MB": "memory_mb",
    "disk, MB": "disk_mb",
}


def _cell(figures: Mapping[str, Any], key: str) -> str:
    value = figures.get(key)
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _plot(found: Mapping[str, Figures]) -> str:
    """Bars on a logarithmic scale, one panel for each figure, one group for each size."""
    panels = (
        ("add many, CPU ms each", "rest_ms"),
        ("search, CPU ms", "cpu_ms"),
        ("start to first answer, s", "first_s"),
    )
    colours = dict(zip(NAMES, ("#1f6f43", "#888", "#c77", "#79b", "#b9a", "#ca6"), strict=True))
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="960" height="300" font-family="sans-serif"'
        ' font-size="11">'
    ]
    for place, (title, key) in enumerate(panels):
        parts += _panel(
            20 + 320 * place, title, [(group, each, key) for group, each in found.items()], colours
        )
    for number, (name, colour) in enumerate(colours.items()):
        x = 20 + 155 * number
        parts.append(f'<rect x="{x}" y="280" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="289">{NAMES[name]}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(
    left: int, title: str, groups: Sequence[tuple[str, Figures, str]], colours: Mapping[str, str]
) -> Iterator[str]:
    yield f'<text x="{left}" y="16" font-weight="bold">{title} (log)</text>'
    values = [max(each[name][key], LEAST) for _, each, key in groups for name in each]
    low, high = log10(min(values)) - 0.3, log10(max(values))
    width = 290 / len(groups)
    for at, (group, each, key) in enumerate(groups):
        yield f'<text x="{left + at * width:.0f}" y="262">{group}</text>'
        for number, name in enumerate(each):
            height = 215 * (log10(max(each[name][key], LEAST)) - low) / (high - low)
            x, bar = left + at * width + number * (width - 12) / 6, (width - 12) / 6 - 1
            yield (
                f'<rect x="{x:.1f}" y="{245 - height:.1f}" width="{bar:.1f}" height="{height:.1f}"'
                f' fill="{colours[name]}"><title>{NAMES[name]}: {each[name][key]:.3g}</title></rect>'
            )


if __name__ == "__main__":
    main()
