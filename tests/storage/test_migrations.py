"""The schema: made once, brought forward step by step, and never guessed at."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import apsw
import psycopg
import pytest

from runlore.domain.errors import Corrupt, RunloreError, Unavailable
from runlore.domain.record import RecordId
from runlore.storage.migrate import Migration, Target, known, migrate
from runlore.storage.postgres.connections import connect
from runlore.storage.postgres.errors import Server
from runlore.storage.postgres.prepare import PostgresTarget
from runlore.storage.sqlite.prepare import SqliteTarget
from tests.builders import fact, proposed
from tests.storage.places import Place, PostgresPlace, SqlitePlace, stored, write
from tests.storage.promoted_values import asked, executed, kept_promoted

PRESENT = len(known())
# The migration that brought promoted skills.
AGENT = 4
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
        server_connection = connect(place.url, Server(place.url))
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

    assert applied == [(each.number, each.name, each.checksum) for each in known()]


@pytest.mark.req("OPS-4")
def test_a_schema_from_the_future_is_left_alone(place: Place) -> None:
    place.open().close()
    place.sql("INSERT INTO migrations VALUES (9, 'later', 'x')")

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

    migrate(target, store_id="unused", migrations=[*known(), NEXT])
    migrate(target, store_id="unused", migrations=[*known(), NEXT])

    assert target.has_table("later")
    assert place.sql("SELECT count(*) FROM migrations") == [(PRESENT + 1,)]
    assert len(records) == 1
    with pytest.raises(RunloreError) as caught:
        place.open()
    assert caught.value.code == "store.newer-schema"


@pytest.mark.req("OPS-4", "ROL-10")
def test_a_database_from_before_promoted_skills_gets_their_tables_and_keeps_its_rows(place: Place) -> None:
    store = place.open()
    write(store, proposed(fact()))
    records = stored(store)
    place.close()
    _undo(place, [each for each in known() if each.number >= AGENT])

    store = place.open()

    assert stored(store) == records
    with store.transaction() as tx:
        tx.promotions.put(kept_promoted(), expected_revision=None)
        tx.promotions.add_execution(executed())
        tx.approvals.insert(asked())
    assert store.problems() == ()
    assert place.sql("SELECT count(*) FROM migrations") == [(PRESENT,)]


def _undo(place: Place, migrations: list[Migration]) -> None:
    """Take away what migrations made: the database as the version before them left it."""
    for migration in reversed(migrations):
        made = re.findall(r"^CREATE TABLE (\w+)", migration.sql, re.MULTILINE)
        assert made
        for table in reversed(made):
            place.sql(f"DROP TABLE {table}")
        place.sql(f"DELETE FROM migrations WHERE number = {migration.number}")


@pytest.mark.req("OPS-4")
def test_a_migration_that_fails_leaves_nothing_of_itself(place: Place, target: Target) -> None:
    with pytest.raises((apsw.Error, psycopg.Error)):
        migrate(target, store_id="unused", migrations=[*known(), BROKEN])

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
