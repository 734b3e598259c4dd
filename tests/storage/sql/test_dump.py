"""All rows out of one store and into another: equal on either database, and from one to the other."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.domain.errors import Conflict, Invalid
from runlore.domain.runs.job import JobKind, JobState
from runlore.ports.store import DumpRow, Store, Switch
from tests.builders import fact, proposed
from tests.fakes import START
from tests.postgres_pool import PostgresPool
from tests.storage.places import Place, PostgresPlace, SqlitePlace, stored
from tests.storage.something_of_everything import ODD_TEXT, fill, job, token

pytestmark = pytest.mark.req("OPS-3")

Places = Callable[[str], Place]
OF_THE_PLACE = {"store_meta", "migrations", "processes"}
ENGINES = ("sqlite", "postgres")


@pytest.fixture
def places(tmp_path: Path, postgres_pool: PostgresPool) -> Iterator[Places]:
    """Any number of empty databases of either kind."""
    with ExitStack() as open_now:
        made: list[Place] = []

        def new(engine: str) -> Place:
            if engine == "sqlite":
                made.append(SqlitePlace(tmp_path / f"home-{len(made)}"))
            else:
                made.append(PostgresPlace(open_now.enter_context(postgres_pool.database())))
            open_now.callback(made[-1].close)
            return made[-1]

        yield new


def dumped(store: Store) -> list[DumpRow]:
    """All rows, as a list."""
    with store.snapshot() as snapshot:
        return list(snapshot.dump())


def load(store: Store, rows: list[DumpRow]) -> Mapping[str, int]:
    """Write rows into a store."""
    with store.transaction() as tx:
        return tx.load_dump(iter(rows))


def without_change(rows: list[DumpRow]) -> list[DumpRow]:
    """Rows without what is set afresh."""
    return [(table, {name: value for name, value in row.items() if name != "change"}) for table, row in rows]


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize("source", ENGINES)
@pytest.mark.parametrize("target", ENGINES)
def test_every_row_of_every_table_goes_from_any_database_to_any_other(
    places: Places, source: str, target: str
) -> None:
    source_place = places(source)
    old, new = source_place.open(), places(target).open()
    fill(old)
    rows = dumped(old)

    counts = load(new, rows)

    assert {table for table, _ in rows} == set(columns_of(source_place)) - {"run_memories"}
    assert without_change(dumped(new)) == without_change(rows)
    assert new.problems() == ()
    assert stored(new) == stored(old)
    assert sum(counts.values()) == len(rows)
    assert counts == {name: sum(1 for table, _ in rows if table == name) for name, _ in rows}


def columns_of(place: Place) -> dict[str, dict[str, str]]:
    """Every table of the contents with its columns, each with a value that it takes."""
    if isinstance(place, PostgresPlace):
        rows = place.sql(
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = current_schema()"
        )
    else:
        rows = place.sql(
            "SELECT t.name, c.name, c.type FROM sqlite_schema t, pragma_table_info(t.name) c"
            " WHERE t.type = 'table'"
        )
    found: dict[str, dict[str, str]] = {}
    for table, column, kind in rows:
        if table not in OF_THE_PLACE:
            value = "1" if "INT" in str(kind).upper() else "'x'"
            found.setdefault(str(table), {})[str(column)] = value
    return found


def test_no_table_is_left_out_that_anybody_ever_adds(place: Place) -> None:
    store = place.open()
    tables = columns_of(place)
    for table, values in tables.items():
        insert = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(values.values())})"
        unchecked = "SET session_replication_role = replica; " if isinstance(place, PostgresPlace) else ""
        place.sql(unchecked + insert)

    rows = dumped(store)

    assert sorted(table for table, _ in rows) == sorted(tables)
    assert all(row.keys() == tables[table].keys() for table, row in rows)


def test_a_new_table_is_in_the_dump_without_anybody_having_named_it(place: Place) -> None:
    store = place.open()
    place.sql("CREATE TABLE later_idea (b BIGINT NOT NULL, a TEXT NOT NULL, c TEXT, PRIMARY KEY (a, b))")
    place.sql("INSERT INTO later_idea (b, a, c) VALUES (2, 'x', NULL), (1, 'y', 'z'), (1, 'x', 'z')")

    assert dumped(store) == [
        ("later_idea", {"b": 1, "a": "x", "c": "z"}),
        ("later_idea", {"b": 2, "a": "x", "c": None}),
        ("later_idea", {"b": 1, "a": "y", "c": "z"}),
    ]


def test_followers_are_told_everything_that_was_loaded(place: Place, places: Places) -> None:
    old, new = places("sqlite").open(), place.open()
    fill(old)
    with new.snapshot() as snapshot:
        before = snapshot.records.position()

    load(new, dumped(old))

    with new.snapshot() as snapshot:
        told = {record.record_id for record in snapshot.records.changed_since(before)}
    assert told == {record.record_id for record in stored(old)}
    # The numbers of the other database's transactions would let later changes go unseen.
    extra = proposed(fact("later"))
    with new.snapshot() as snapshot:
        position = snapshot.records.position()
    with new.transaction() as tx:
        tx.write([extra])
    with new.snapshot() as snapshot:
        assert extra.record.record_id in {r.record_id for r in snapshot.records.changed_since(position)}


def test_a_loaded_store_keeps_its_own_name(place: Place, places: Places) -> None:
    old, new = places("sqlite").open(), place.open()
    fill(old)
    before = place.sql("SELECT value FROM store_meta")
    load(new, dumped(old))
    assert place.sql("SELECT value FROM store_meta") == before


@pytest.mark.parametrize("rounds", [1, 2])
def test_only_an_empty_store_is_loaded_into(store: Store, places: Places, rounds: int) -> None:
    source = places("sqlite").open()
    fill(source)
    rows = dumped(source)
    if rounds == 2:
        load(store, rows)
    else:
        with store.transaction() as tx:
            tx.counters.set_switch(Switch(name="capture.paused", on=False, at=START, actor="x"))
    before = dumped(store)

    with pytest.raises(Conflict) as conflict:
        load(store, rows)

    assert conflict.value.code == "store.not-empty"
    assert dumped(store) == before


def test_what_a_first_start_leaves_behind_does_not_make_a_store_a_used_one(
    store: Store, places: Places
) -> None:
    source = places("sqlite").open()
    fill(source)
    with store.transaction() as tx:
        tx.tokens.insert(replace(token(2), name="operator"))
        tx.tokens.insert(replace(token(3), name=token(1).name))
        tx.jobs.put(job(9, JobKind.MAINTAIN))
        tx.counters.add({"big": 1, "other": 1})
        tx.counters.set_note("diagnostics", "old")

    load(store, dumped(source))

    with store.snapshot() as snapshot:
        # Whoever restores keeps the way in; of two tokens with one name the present one stays.
        assert {each.token_id for each in snapshot.tokens.everything()} == {"tok_2", "tok_3"}
        assert snapshot.counters.values() == {"big": 2**62, "small": -(2**62)}
        assert snapshot.counters.note("diagnostics") == ODD_TEXT
        assert snapshot.jobs.count() == {(JobKind.REMEMBER, JobState.WAITING): 1}


COUNTER: DumpRow = ("counters", {"name": "a", "value": 1})
NOT_OURS: dict[str, list[DumpRow]] = {
    "an unknown table": [("users", {"name": "a"})],
    "a table of the place": [("store_meta", {"name": "store_id", "value": "x"})],
    "a table that is a statement": [("counters; DROP TABLE counters", {"name": "a", "value": 1})],
    "a column too many": [("counters", {"name": "a", "value": 1, "more": 1})],
    "a column too few": [("counters", {"name": "a"})],
    "a text for a number": [("counters", {"name": "a", "value": "1"})],
    "a number for a text": [("counters", {"name": 1, "value": 1})],
    "a truth for a number": [("counters", {"name": "a", "value": True})],
    "nothing where something must be": [("counters", {"name": "a", "value": None})],
    "a number beyond 64 bits": [("counters", {"name": "a", "value": 2**63})],
    "a text that cannot be stored": [("notes", {"name": "a", "body": "x\0y"})],
    "half of a surrogate pair": [("notes", {"name": "a", "body": "x\udc80y"})],
    "the same row twice": [COUNTER, COUNTER],
    "a row whose parent is missing": [
        ("record_sources", {"source_id": "rec_1", "record_id": "rec_2"}),
    ],
}


@pytest.mark.parametrize("rows", NOT_OURS.values(), ids=NOT_OURS.keys())
def test_rows_that_are_not_ours_are_refused_and_nothing_is_kept(store: Store, rows: list[DumpRow]) -> None:
    with pytest.raises(Invalid) as invalid:
        load(store, [("counters", {"name": "first", "value": 1}), *rows])

    assert invalid.value.code == "backup.format"
    assert dumped(store) == []


def test_any_number_of_rows_is_loaded_in_any_order_of_tables(store: Store) -> None:
    rows: list[DumpRow] = []
    for number in range(2_500):
        rows.append(("counters", {"name": f"c{number:05}", "value": number}))
        if number % 500 == 0:
            rows.append(("notes", {"name": f"n{number:05}", "body": "x" * 100_000}))

    assert load(store, rows) == {"counters": 2_500, "notes": 5}
    assert sorted(dumped(store), key=repr) == sorted(rows, key=repr)


def test_an_empty_store_has_no_rows_and_takes_none(store: Store) -> None:
    assert dumped(store) == []
    assert load(store, []) == {}


def test_a_dump_shows_one_moment_whatever_is_written_meanwhile(store: Store) -> None:
    with store.transaction() as tx:
        tx.counters.add({f"c{number:04}": 1 for number in range(2_000)})

    with store.snapshot() as snapshot:
        rows = snapshot.dump()
        first = next(rows)
        with store.transaction() as tx:
            tx.counters.add({f"c{number:04}": 1 for number in range(2_000)})
            tx.counters.set_note("later", "x")
        assert [row["value"] for _, row in [first, *rows]] == [1] * 2_000


@pytest.mark.req("OPS-4")
def test_run_memories_of_a_table_are_not_loaded_where_they_are_files(place: Place) -> None:
    rows: list[DumpRow] = [("run_memories", {"run_id": "run_1", "checksum": "x", "body": "{}"})]
    store = place.open()

    counts = load(store, rows)

    assert counts == ({"run_memories": 1} if isinstance(place, PostgresPlace) else {})
    assert dumped(store) == (rows if isinstance(place, PostgresPlace) else [])
