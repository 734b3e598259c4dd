"""Search in up to a million records: CPU time, memory, start and change, beside FTS5 and tantivy.

The filter is that of `memory search`: active records of three layers, none of them sensitive. The others
search without a filter, which is in their favour. The brute-force reference scores every record; up to 10,000
records, where one query already takes long. tantivy is measured where it can be imported: one text field, its
English stemmer, one segment; it gives the ids of its hits.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import apsw

from bench.measure import Percentiles, cpu_percentiles, peak_memory_mb, print_table
from bench.ranking_corpus import NOW, corpus, queries
from runlore.domain.record import Layer, Record, State
from runlore.domain.search.ranking import Collection, RankFilter, analyse_query, impacts_of, passes, score_of
from runlore.domain.timestamps import to_milliseconds
from runlore.recall import RankingIndex, load_index
from runlore.recall.search import KERNEL

TITLE = "search over 1k to 1M records against FTS5, tantivy and brute force; memory, start, changes"

SIZES = (1_000, 10_000, 100_000, 1_000_000)
RECORDS_VARIABLE = "RUNLORE_BENCH_RECORDS_MAX"
BRUTE_FORCE_RECORDS_MAX = 10_000
LIMIT = 12
QUERIES = 400
# Each query counts with the best of so many times: other programs run beside this one.
ROUNDS = 4
CHANGES = 1_000
WHERE = RankFilter(
    layers=frozenset({Layer.PROFILE, Layer.PROCEDURAL, Layer.SEMANTIC}),
    states=frozenset({State.ACTIVE}),
    include_sensitive=False,
    now=NOW,
)


def main() -> None:
    """Measure each size and print three tables."""
    records_max = int(os.environ.get(RECORDS_VARIABLE, SIZES[-1]))
    searching, keeping, changing = [], [], []
    for size in (size for size in SIZES if size <= records_max):
        print(f"{size:,} records ...", file=sys.stderr, flush=True)
        index, build_s = _built(size)
        tantivy, tantivy_s = _tantivy(size)
        searching.append([size, *_searching(index), tantivy, *_searching_elsewhere(size)])
        keeping.append([size, build_s, _peak_mb(size), tantivy_s, *_keeping(index)])
        changing.append([size, *_changing(index, size)])
    print(f"One query of 12 words, limit {LIMIT}, CPU ms, p50 / p99; compiled kernel: {KERNEL is not None}")
    print_table(["records", "ours", "with numpy alone", "tantivy", "FTS5", "brute p50"], searching)
    print("\nThe index: CPU s to build, the most MB meanwhile, wall s to save and load, MB on disk, MB held")
    print("after 50 searches. Both MB are above what a process holds that has loaded all modules.")
    columns = ["build", "peak MB", "tantivy's build", "save", "file MB", "load", "memory MB"]
    print_table(["records", *columns], keeping)
    print(
        "\nOne change at a time: CPU ms to apply it, and for the search after it; CPU s to erase one record"
    )
    print_table(["records", "apply p50", "p95", "max", "search p50", "p95", "erase"], changing)


def _searching(index: RankingIndex) -> list[str]:
    by_numpy = replace(index.freeze(), view=replace(index.freeze().view, kernel=None))
    return [_figures(_cpu(partial(each.search, where=WHERE, limit=LIMIT))) for each in (index, by_numpy)]


def _cpu(search: Callable[[str], object]) -> Percentiles:
    return cpu_percentiles(search, queries(QUERIES), rounds=ROUNDS)


def _searching_elsewhere(size: int) -> list[str]:
    brute = _brute_force(size) if size <= BRUTE_FORCE_RECORDS_MAX else None
    return [_figures(_fts5(size)), f"{brute.p50_ms:.1f}" if brute else "-"]


def _figures(found: Percentiles) -> str:
    return f"{found.p50_ms:.3f} / {found.p99_ms:.3f}"


def _tantivy(size: int) -> tuple[str, float | str]:
    """What a query of tantivy takes, and the CPU seconds in which it is built."""
    try:
        import tantivy
    except ImportError:
        return "-", "-"
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("text", tokenizer_name="en_stem")
    schema.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    index = tantivy.Index(schema.build())
    writer = index.writer(128_000_000, 1)
    making_s, start = 0.0, time.process_time()
    source = corpus(size)
    while True:
        before = time.process_time()
        some = [(_text(record), record.record_id) for record in islice(source, 1_000)]
        making_s += time.process_time() - before
        if not some:
            break
        for text, record_id in some:
            writer.add_document(tantivy.Document(text=text, id=record_id))
    writer.commit()
    writer.wait_merging_threads()
    build_s = time.process_time() - start - making_s
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> list[str]:
        found = searcher.search(index.parse_query(query, ["text"]), LIMIT, count=False)
        return [searcher.doc(address)["id"][0] for _, address in found.hits]

    return _figures(_cpu(search)), build_s


def _keeping(index: RankingIndex) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "index")
        save_s = _wall_s(lambda: index.save(str(path), ""))
        loaded = _loaded(str(path))
        return [save_s, path.stat().st_size / 1e6, loaded["load_s"], loaded["memory_mb"]]


def _built(size: int) -> tuple[RankingIndex, float]:
    """An index of so many records, and what it took without making them."""
    making_ns = 0

    def records() -> Iterator[Record]:
        nonlocal making_ns
        source = corpus(size)
        while True:
            start = time.thread_time_ns()
            some = list(islice(source, 1_000))
            making_ns += time.thread_time_ns() - start
            if not some:
                return
            yield from some

    index = RankingIndex()
    start = time.thread_time_ns()
    index.apply(records())
    return index, (time.thread_time_ns() - start - making_ns) / 1e9


def _fts5(size: int) -> Percentiles:
    """The same words in one column, an OR of the query's, the best by bm25."""
    database = apsw.Connection(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE record USING fts5(text, content = '', tokenize = 'porter unicode61')"
    )
    with database:
        database.executemany(
            "INSERT INTO record(rowid, text) VALUES (?, ?)",
            ((number, _text(record)) for number, record in enumerate(corpus(size))),
        )
    database.execute("INSERT INTO record(record) VALUES ('optimize')")

    def search(query: str) -> None:
        match = " OR ".join(f'"{word}"' for word in query.split())
        sql = "SELECT rowid FROM record WHERE record MATCH ? ORDER BY rank LIMIT ?"
        assert database.execute(sql, (match, LIMIT)).fetchall()

    return cpu_percentiles(search, queries(max(12, min(QUERIES, 20_000_000 // size))), warm_up=2)


def _text(record: Record) -> str:
    tags = record.metadata["topic_tags"]
    assert isinstance(tags, list)
    return " ".join([record.summary, *(str(tag) for tag in tags)])


def _brute_force(size: int) -> Percentiles:
    """Score every record that passes, and sort."""
    records = list(corpus(size))

    def search(query: str) -> None:
        asked = analyse_query(query)
        seen = [record for record in records if passes(record, WHERE)]
        impacts = [impacts_of(record) for record in seen]
        frequency = {
            term: sum(term in each.summary or term in each.metadata for each in impacts)
            for term in asked.terms
        }
        newest_at_ms = max(to_milliseconds(record.created_at) for record in seen)
        collection = Collection(size=len(seen), newest_at_ms=newest_at_ms, document_frequency=frequency)
        scored = [(score_of(record, asked, collection), record) for record in seen]
        matching = [(score.total, record) for score, record in scored if score is not None]
        matching.sort(key=lambda each: (-each[0], -to_milliseconds(each[1].created_at), each[1].record_id))

    return cpu_percentiles(search, queries(8), warm_up=1)


def _changing(index: RankingIndex, size: int) -> list[float]:
    """Records move from one state to the other, one by one, with a search after each."""
    moved = [
        replace(record, state=State.TOMBSTONED if record.state is State.ACTIVE else State.ACTIVE, revision=2)
        for record in islice(corpus(size), min(CHANGES, size // 2))
    ]
    asked = queries(QUERIES)
    applied, searched = [], []
    for number, record in enumerate(moved):
        before = time.thread_time_ns()
        index.apply([record])
        between = time.thread_time_ns()
        index.search(asked[number % QUERIES], where=WHERE, limit=LIMIT)
        applied.append(between - before)
        searched.append(time.thread_time_ns() - between)
    before = time.thread_time_ns()
    index.erase([moved[0].record_id])
    erase_s = (time.thread_time_ns() - before) / 1e9
    writing, reading = Percentiles.of(applied), Percentiles.of(searched)
    return [writing.p50_ms, writing.p95_ms, writing.max_ms, reading.p50_ms, reading.p95_ms, erase_s]


def _loaded(path: str) -> dict[str, float]:
    return _in_new_process("print_load", path)


def _peak_mb(size: int) -> float:
    return _in_new_process("print_peak", str(size))["peak_mb"]


def _in_new_process(name: str, argument: str) -> dict[str, float]:
    """What a function prints in a new process, where memory that grows is the index's."""
    program = f"import bench.ranking_speed as speed; speed.{name}()"
    words = [sys.executable, "-c", program, argument]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def print_peak() -> None:
    """What the new process does to build one from records that are made as they are read."""
    before_mb = peak_memory_mb()
    _built(int(sys.argv[1]))
    print(json.dumps({"peak_mb": (peak_memory_mb() - before_mb) * 1.048576}))


def print_load() -> None:
    """What the new process does."""
    before_mb = _memory_mb()
    start = time.perf_counter()
    loaded = load_index(sys.argv[1])
    load_s = time.perf_counter() - start
    assert loaded is not None
    for query in queries(50):
        loaded[0].search(query, where=WHERE, limit=LIMIT)
    print(json.dumps({"load_s": load_s, "memory_mb": _memory_mb() - before_mb}))


def _memory_mb() -> float:
    """What the process holds now."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    done = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(os.getpid())], check=True, capture_output=True, text=True
    )
    return int(done.stdout) / 1e3


def _wall_s(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
