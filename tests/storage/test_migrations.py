"""The schema: made once, brought forward step by step, and never guessed at."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import apsw
import psycopg
import pytest

from runlore.domain.errors import Corrupt, RunloreError, Unavailable
from runlore.domain.record import RecordId
from runlore.storage.migrate import Migration, Target, load_migrations, migrate
from runlore.storage.postgres import connections as postgres_catalog
from runlore.storage.postgres.connections import PostgresTarget, connect
from runlore.storage.postgres.session import ServerAddress
from runlore.storage.sqlite import session as sqlite_catalog
from runlore.storage.sqlite.store import APPLICATION_ID, SqliteTarget
from tests.builders import fact, proposed
from tests.storage.places import Place, PostgresPlace, SqlitePlace, stored, write
from tests.storage.something_of_everything import fill

PINNED = Path(__file__).with_name("migrations.sha256")
PRESENT = len(load_migrations())
# These say which schema it is, not what is stored in it.
_OF_SCHEMA = frozenset({"migrations", "store_meta"})
Rows: TypeAlias = Mapping[str, Sequence[Mapping[str, object]]]
NEXT = Migration(number=PRESENT + 1, name="later", sql="CREATE TABLE later (text TEXT NOT NULL);")
BROKEN = Migration(
    number=PRESENT + 1, name="broken", sql="CREATE TABLE later (text TEXT); INSERT INTO nowhere VALUES (1);"
)


@pytest.fixture
def postgres_database(new_postgres_database: str) -> str:
    """One without tables, for here they are made."""
    return new_postgres_database


@pytest.fixture
def target(place: Place) -> Iterator[Target]:
    """A database that this version has made, open for the next migration."""
    place.open().close()
    if isinstance(place, PostgresPlace):
        server_connection = connect(place.url, ServerAddress(place.url))
        yield PostgresTarget(server_connection)
        server_connection.close()
    elif isinstance(place, SqlitePlace):
        file_connection = apsw.Connection(str(place.file))
        yield SqliteTarget(file_connection)
        file_connection.close()


@pytest.mark.req("OPS-4")
def test_what_was_applied_is_kept_with_its_checksum(place: Place) -> None:
    place.open().close()

    applied = place.sql("SELECT number, name, checksum FROM migrations ORDER BY number")

    assert applied == [(each.number, each.name, each.checksum) for each in load_migrations()]


@pytest.mark.req("OPS-4")
def test_a_schema_from_the_future_is_left_alone(place: Place) -> None:
    place.open().close()
    place.sql("INSERT INTO migrations VALUES (999, 'later', 'x')")

    with pytest.raises(Unavailable) as caught:
        place.open()

    assert caught.value.code == "store.newer-schema"
    assert "update Runlore" in caught.value.hint


@pytest.mark.req("OPS-4")
def test_a_migration_that_has_changed_since_is_refused(place: Place) -> None:
    place.open().close()
    place.sql("UPDATE migrations SET checksum = 'x' WHERE number = 1")

    with pytest.raises(Corrupt) as caught:
        place.open()

    assert caught.value.code == "store.migration-changed"


@pytest.mark.req("OPS-4")
def test_what_is_missing_is_applied_and_the_records_stay(place: Place, target: Target) -> None:
    store = place.open()
    write(store, proposed(fact()))
    records = stored(store)
    store.close()

    migrate(target, store_id="unused", migrations=[*load_migrations(), NEXT])
    migrate(target, store_id="unused", migrations=[*load_migrations(), NEXT])

    assert target.has_table("later")
    assert place.sql("SELECT count(*) FROM migrations") == [(PRESENT + 1,)]
    assert len(records) == 1
    with pytest.raises(RunloreError) as caught:
        place.open()
    assert caught.value.code == "store.newer-schema"


@pytest.mark.req("OPS-10")
def test_no_migration_changes_once_it_is_there() -> None:
    """CONTRIBUTING.md says how a new one is added, and why one that is there never changes by a byte."""
    pinned = [line.split() for line in PINNED.read_text().splitlines()]

    present = [[each.checksum, f"{each.number:04}_{each.name}.sql"] for each in load_migrations()]

    assert present == pinned, f"add the line of a new one to {PINNED.name}, and never change another"


@pytest.mark.req("OPS-10", "ROL-10")
@pytest.mark.parametrize("applied", range(1, PRESENT + 1))
@pytest.mark.sampled(every=3)
def test_a_database_of_every_earlier_schema_is_brought_forward_with_all_its_rows(
    place: Place, applied: int
) -> None:
    store = place.open()
    fill(store)
    place.close()
    rows = _rows(place)
    _make_again(place, applied, rows)
    before = _rows(place)
    assert [name for name, there in before.items() if not there] in ([], ["run_memories"])

    store = place.open()

    after = _rows(place)
    assert store.problems() == ()
    assert {
        name: _only(after[name], like=kept) for name, kept in before.items() if name not in _OF_SCHEMA
    } == {name: kept for name, kept in before.items() if name not in _OF_SCHEMA}
    assert place.sql("SELECT count(*) FROM migrations") == [(PRESENT,)]
    write(store, proposed(fact()))


def _columns(place: Place) -> dict[str, list[str]]:
    """The names of every table's columns."""
    catalog = sqlite_catalog if isinstance(place, SqlitePlace) else postgres_catalog
    named: dict[str, list[str]] = {}
    for table, column, *_ in place.sql(catalog.COLUMNS):
        named.setdefault(str(table), []).append(str(column))
    return named


def _rows(place: Place) -> Rows:
    """Every row of every table, as names and values."""
    return {
        table: [
            dict(zip(columns, row, strict=True))
            for row in place.sql(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {', '.join(columns)}")
        ]
        for table, columns in _columns(place).items()
    }


def _make_again(place: Place, applied: int, rows: Rows) -> None:
    """Have the database be as the version with so many migrations left it, with what fits of these rows."""
    if isinstance(place, SqlitePlace):
        place.file.unlink()
        connection = apsw.Connection(str(place.file))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}").fetchall()
        _fill_again(SqliteTarget(connection), place, applied, rows)
        connection.close()
    elif isinstance(place, PostgresPlace):
        place.sql("DROP SCHEMA public CASCADE")
        place.sql("CREATE SCHEMA public")
        server_connection = connect(place.url, ServerAddress(place.url))
        # What refers to a row may be written before it.
        server_connection.execute("SET session_replication_role = replica")
        _fill_again(PostgresTarget(server_connection), place, applied, rows)
        server_connection.close()


def _fill_again(target: Target, place: Place, applied: int, rows: Rows) -> None:
    migrate(target, store_id="earlier", migrations=load_migrations()[:applied])
    for table, columns in _columns(place).items():
        for row in rows[table] if table not in _OF_SCHEMA else ():
            shared = [column for column in columns if column in row]
            sql = f"INSERT INTO {table} ({', '.join(shared)}) VALUES ({', '.join('?' * len(shared))})"
            target.rows(sql, *(row[column] for column in shared))  # type: ignore[arg-type]


def _only(rows: Sequence[Mapping[str, object]], *, like: Sequence[Mapping[str, object]]) -> list[object]:
    """Rows without the columns that have come since."""
    names = like[0].keys() if like else ()
    return [{name: row[name] for name in names} for row in rows]


@pytest.mark.req("OPS-4")
def test_a_migration_that_fails_leaves_nothing_of_itself(place: Place, target: Target) -> None:
    with pytest.raises((apsw.Error, psycopg.Error)):
        migrate(target, store_id="unused", migrations=[*load_migrations(), BROKEN])

    assert not target.has_table("later")
    assert place.sql("SELECT count(*) FROM migrations") == [(PRESENT,)]
    assert stored(place.open()) == []


@pytest.mark.req("OPS-4")
def test_a_schema_that_somebody_has_altered_is_told_as_damage(place: Place) -> None:
    store = place.open()
    place.sql("DROP TABLE record_sources")

    with pytest.raises(Corrupt) as caught, store.snapshot() as snapshot:
        snapshot.records.derived_from(RecordId("rec_1"))

    assert caught.value.code == "store.damaged"


@pytest.mark.req("OPS-4")
def test_several_daemons_that_start_at_once_make_one_schema(postgres_place: PostgresPlace) -> None:
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: postgres_place.open(), range(4)))

    for store in stores:
        write(store, proposed(fact()))

    assert len(stored(stores[0])) == 4
    assert postgres_place.sql("SELECT count(*) FROM migrations") == [(PRESENT,)]
