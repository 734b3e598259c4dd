"""Durable writes against the bare disk: single commits, and eight writers that share them.

The yardstick is a loop that appends the same bytes to a file and waits for the disk (`fdatasync`) after each,
on the same file system. Rounds of all kinds alternate, so that a busy machine slows all of them; the figures
are medians of wall time, since waiting is the point, and the ratios are within each round.
"""

import itertools
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measure import print_table
from runlore.domain.record import Kind, Move, Record, RecordId, State
from runlore.domain.records.audit import Act, RecordChange, create_record
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.timestamps import from_milliseconds
from runlore.ports.store import Store
from runlore.storage.open import open_store
from runlore.storage.sql.record_rows import to_json
from tests.postgres_server import PostgresServer
from tests.system_programs import ProgramMissing

TITLE = "durable commits per second, for one and for eight writers, against write and fdatasync"

ROUNDS = 7
WRITES = 400
WRITERS = 8
START_MS = 1_790_000_000_000
_numbers = itertools.count()


def main() -> None:
    """Measure SQLite on this file system, and PostgreSQL where a server can be started."""
    with tempfile.TemporaryDirectory(prefix="runlore-bench-", dir=Path.cwd()) as folder:
        store = open_store(database_url=None, state_root=str(Path(folder) / "home"))
        _report("SQLite", store, Path(folder) / "raw")
        print(f"transactions per commit over all rounds: {_sharing(store):.1f}")
        store.close()
        try:
            with _postgres() as server_store:
                _report("PostgreSQL", server_store, Path(folder) / "raw")
        except ProgramMissing as missing:
            print(f"PostgreSQL was not measured: {missing}")


def _report(name: str, store: Store, raw: Path) -> None:
    kinds: dict[str, Callable[[list[RecordChange]], None]] = {
        "raw": lambda changes: _raw(raw, changes),
        "one": lambda changes: _write_all(store, changes),
        "eight": lambda changes: _write_together(store, changes),
    }
    for run in kinds.values():
        run(_changes(WRITES))
    rounds = [
        {kind: WRITES / _seconds(run, _changes(WRITES)) for kind, run in kinds.items()} for _ in range(ROUNDS)
    ]
    median = {kind: statistics.median(each[kind] for each in rounds) for kind in kinds}
    ratio = {kind: statistics.median(each[kind] / each["raw"] for each in rounds) for kind in kinds}
    print_table(
        ("writes", "per second", "of raw"),
        [
            (f"write + fdatasync of {_bytes():,} bytes", f"{median['raw']:,.0f}", "1.00"),
            (f"{name}, one writer", f"{median['one']:,.0f}", f"{ratio['one']:.2f}"),
            (f"{name}, eight writers", f"{median['eight']:,.0f}", f"{ratio['eight']:.2f}"),
        ],
    )


def _raw(path: Path, changes: list[RecordChange]) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for change in changes:
            os.write(file, _line(change))
            os.fdatasync(file)
    finally:
        os.close(file)


def _write_all(store: Store, changes: list[RecordChange]) -> None:
    for change in changes:
        with store.transaction() as tx:
            tx.write([change])


def _write_together(store: Store, changes: list[RecordChange]) -> None:
    threads = [
        threading.Thread(target=_write_all, args=(store, changes[number::WRITERS]))
        for number in range(WRITERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _seconds(run: Callable[[list[RecordChange]], None], changes: list[RecordChange]) -> float:
    began = time.perf_counter()
    run(changes)
    return time.perf_counter() - began


def _sharing(store: Store) -> float:
    description = store.description()
    return int(description["transactions"]) / int(description["commits"])


@contextmanager
def _postgres() -> Iterator[Store]:
    with PostgresServer(durable=True) as server, server.database() as url:
        store = open_store(database_url=url, state_root="")
        try:
            yield store
        finally:
            store.close()


def _changes(count: int) -> list[RecordChange]:
    return [_change(next(_numbers)) for _ in range(count)]


def _change(number: int) -> RecordChange:
    at = from_milliseconds(START_MS + number)
    record = Record(
        record_id=RecordId(f"rec_{START_MS + number:026}"),
        layer=Kind.FACT.layer,
        kind=Kind.FACT,
        state=State.CONSTRAINED,
        scope=Scope(ScopeKind.PROJECT, f"project-{number % 20}"),
        summary=f"The staging database of service {number} is reached through port {number % 65_536}",
        metadata={"origin": "candidate", "topic_tags": ["staging", "database", "service"]},
        created_by="bench",
        semantic_key=f"staging database of service {number} = port {number % 65_536}",
        created_at=at,
    )
    return create_record(record, Move.PROPOSE, Act(actor="bench", at=at))


def _line(change: RecordChange) -> bytes:
    return f"{to_json(change.event.changes)}\n".encode()


def _bytes() -> int:
    return len(_line(_change(0)))
