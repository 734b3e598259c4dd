"""Export of 100,000 records, and import of that export into an empty store."""

import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import orjson

from bench.measure import peak_memory_mb, print_table
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.wiring import open_parts
from runlore.domain.access import LOCAL_OPERATOR
from runlore.domain.claims.subject import semantic_key
from runlore.domain.record import Kind, Move, Record, RecordId, State
from runlore.domain.records.audit import Act, RecordChange, apply_record_move, create_record
from runlore.domain.scope import Scope, ScopeKind

TITLE = "export of 100,000 records, and import of that export into an empty store"
RECORDS = 100_000
BATCH_RECORDS = 1_000
WORDS = 4_000
BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> None:
    """Time each step once."""
    folder = Path(tempfile.mkdtemp(prefix="runlore-bench-"))
    try:
        _measure(folder)
    finally:
        shutil.rmtree(folder)


def _measure(folder: Path) -> None:
    with _Runlore(folder / "first") as first:
        first.fill()
        exporting = _Step.of("export", first.operations.export)
    (path,) = (folder / "first" / "exports").iterdir()
    parsing = _Step.of("parse the file with orjson, line by line", lambda: _parse(path))
    inserting = _Step.of(
        "insert its lines into SQLite, one transaction", lambda: _insert(path, folder / "raw.db")
    )
    with _Runlore(folder / "second") as second:
        importing = _Step.of("import", lambda: second.operations.import_records(str(path)))
        assert sum(second.operations.status().counts.values()) == RECORDS
    size_mib = path.stat().st_size / 1024**2
    print(f"{RECORDS:,} records, {size_mib:,.0f} MiB of JSON; ratios are of CPU time\n")
    print_table(
        ("step", "wall s", "CPU s", "records per CPU s", "times the parse", "times the insert"),
        [
            (
                step.name,
                step.wall_s,
                step.cpu_s,
                round(RECORDS / step.cpu_s),
                step.cpu_s / parsing.cpu_s,
                step.cpu_s / inserting.cpu_s,
            )
            for step in (exporting, importing, parsing, inserting)
        ],
    )
    print(f"\npeak memory {peak_memory_mb():,.0f} MiB")


@dataclass(frozen=True, kw_only=True)
class _Step:
    """How long something took, once."""

    name: str
    wall_s: float
    cpu_s: float

    @classmethod
    def of(cls, name: str, do: Callable[[], object]) -> "_Step":
        began = time.perf_counter(), time.process_time()
        do()
        return cls(name=name, wall_s=time.perf_counter() - began[0], cpu_s=time.process_time() - began[1])


class _Runlore:
    """One on a state root of its own."""

    def __init__(self, root: Path) -> None:
        self._parts = open_parts(Settings(state_root=str(root)))
        self.operations = Application(self._parts, LOCAL_OPERATOR)

    def __enter__(self) -> "_Runlore":
        return self

    def __exit__(self, *_: object) -> None:
        self._parts.close()

    def fill(self) -> None:
        """Facts of a usual length, each proposed and most of them confirmed."""
        chance = random.Random(7)
        changes = _changes(chance)
        for _ in range(RECORDS // BATCH_RECORDS):
            with self._parts.store.transaction() as tx:
                tx.write([change for _ in range(BATCH_RECORDS) for change in next(changes)])


def _changes(chance: random.Random) -> Iterator[list[RecordChange]]:
    number = 0
    while True:
        number += 1
        at = BEGAN_AT + timedelta(seconds=number)
        proposed = create_record(_record(number, at, chance), Move.PROPOSE, Act(actor="agent", at=at))
        if chance.random() < 0.3:
            yield [proposed]
        else:
            yield [proposed, apply_record_move(proposed.record, Move.CONFIRM, Act(actor="operator", at=at))]


def _record(number: int, at: datetime, chance: random.Random) -> Record:
    words = [f"word{chance.randrange(WORDS)}" for _ in range(chance.randint(8, 40))]
    summary = f"Service {number} is {' '.join(words)}"
    return Record(
        record_id=RecordId(f"rec_{number:026}"),
        layer=Kind.FACT.layer,
        kind=Kind.FACT,
        state=State.CONSTRAINED,
        scope=Scope(ScopeKind.PROJECT, f"project {number % 50}"),
        summary=summary,
        metadata={"origin": "candidate", "topic_tags": words[:3]},
        semantic_key=semantic_key(summary).text,
        created_by="agent",
        created_at=at,
    )


def _parse(path: Path) -> int:
    with path.open("rb") as file:
        next(file)
        return sum(1 for line in file if line.startswith(b"{") and orjson.loads(line.rstrip(b",\n")))


def _insert(path: Path, database: Path) -> None:
    """The least that storing the same bytes costs."""
    connection = apsw.Connection(str(database))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE lines (number INTEGER PRIMARY KEY, content BLOB)")
    with path.open("rb") as file, connection:
        connection.executemany("INSERT INTO lines (content) VALUES (?)", ((line,) for line in file))
    connection.close()
