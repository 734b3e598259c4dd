"""Following a store: nothing committed is ever left out, and another store is not mistaken for it."""

import shutil
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from runlore.domain.record import Move, Record, RecordId
from runlore.domain.run import Run, RunStatus
from runlore.ports.store import Store, StorePosition
from tests.builders import changed, confirmed, fact, proposed
from tests.postgres_server import PostgresServer
from tests.storage.places import PostgresPlace, SqlitePlace, changes_since, ids, stored, write
from tests.storage.run_values import at, keep, run, session
from tests.system_programs import find_postgres

FROM_THE_START = StorePosition(store_id="", cursor=0)


@pytest.mark.req("OPS-4")
def test_a_follower_is_told_what_changed_since_it_asked_last(store: Store) -> None:
    first, second, third = (proposed(fact()) for _ in range(3))
    write(store, first, second)
    told, position = changes_since(store, FROM_THE_START)
    assert ids(told) == [first.record.record_id, second.record.record_id]

    write(store, confirmed(first.record))
    write(store, third)
    told, position = changes_since(store, position)
    assert ids(told) == [first.record.record_id, third.record.record_id]
    assert told[0].revision == 2

    told, again = changes_since(store, position)
    assert told == []
    assert again == position


@pytest.mark.req("OPS-4")
def test_an_empty_store_has_a_position_to_follow_from(store: Store) -> None:
    told, position = changes_since(store, FROM_THE_START)
    assert told == []
    assert store.is_current(position)

    change = proposed(fact())
    write(store, change)

    assert changes_since(store, position)[0] == [change.record]


@pytest.mark.req("OPS-4")
def test_a_follower_misses_nothing_of_many_writers_at_once(store: Store) -> None:
    done = threading.Event()
    followed: dict[RecordId, Record] = {}

    def follow() -> None:
        position, last = FROM_THE_START, False
        while not last:
            last = done.is_set()
            told, position = changes_since(store, position)
            followed.update((record.record_id, record) for record in told)

    def work(_: int) -> None:
        for _ in range(25):
            first = proposed(fact())
            write(store, first)
            with store.transaction() as tx:
                tx.write([proposed(fact())])
                tx.write([confirmed(first.record)])

    with ThreadPoolExecutor(8) as pool:
        follower = pool.submit(follow)
        list(pool.map(work, range(6)))
        done.set()
        follower.result()

    assert sorted(followed) == ids(stored(store))
    assert list(followed.values()) != []
    assert followed == {record.record_id: record for record in stored(store)}
    assert len(followed) == 6 * 25 * 2


@pytest.mark.req("OPS-4")
def test_a_transaction_that_began_early_and_commits_late_is_told(postgres_place: PostgresPlace) -> None:
    store = postgres_place.open()
    early, late = proposed(fact()), proposed(fact())

    with store.transaction() as slow:
        slow.write([early])
        write(store, late)
        told, position = changes_since(store, FROM_THE_START)
        assert told == [late.record]

    told, _ = changes_since(store, position)
    assert early.record in told


@pytest.mark.req("OPS-4")
def test_a_position_of_another_store_is_not_current(store: Store, tmp_path: Path) -> None:
    write(store, proposed(fact()))
    _, position = changes_since(store, FROM_THE_START)

    assert store.is_current(position)
    assert not store.is_current(replace(position, store_id="another"))
    assert not store.is_current(replace(position, cursor=position.cursor + 1_000_000))
    assert not store.is_current(replace(position, witness="rec_nothing@1#0-propose"))
    assert not store.is_current(replace(position, witness="nonsense"))


@pytest.mark.req("OPS-4")
def test_a_position_stays_current_while_the_store_moves_on(store: Store) -> None:
    first = proposed(fact())
    write(store, first)
    _, position = changes_since(store, FROM_THE_START)

    write(store, confirmed(first.record))
    write(store, proposed(fact()))

    assert store.is_current(position)


def _moves_on_the_same(store: Store, record: Record) -> None:
    write(store, changed(record, Move.REJECT, by=None))


def _moves_on_another(store: Store, record: Record) -> None:
    for _ in range(5):
        write(store, proposed(fact()))


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize("move_on", [_moves_on_the_same, _moves_on_another], ids=["the-same", "another"])
def test_an_older_copy_that_was_put_back_and_moved_on_is_not_mistaken(
    sqlite_place: SqlitePlace, move_on: Callable[[Store, Record], None], tmp_path: Path
) -> None:
    store = sqlite_place.open()
    first = proposed(fact())
    write(store, first)
    store.close()
    shutil.copy(sqlite_place.file, tmp_path / "copy")
    store = sqlite_place.open()
    write(store, confirmed(first.record))
    _, position = changes_since(store, FROM_THE_START)
    store.close()

    shutil.copy(tmp_path / "copy", sqlite_place.file)
    store = sqlite_place.open()
    assert not store.is_current(position)
    move_on(store, first.record)

    assert not store.is_current(position)


@pytest.mark.req("OPS-4", "RUN-4")
@pytest.mark.parametrize("moved_on", ["another run", "the same run"])
def test_an_older_copy_whose_runs_moved_on_is_not_mistaken(
    sqlite_place: SqlitePlace, moved_on: str, tmp_path: Path
) -> None:
    store = sqlite_place.open()
    one = session("one")
    first, later = run(one, "run_1"), run(one, "run_2", status=RunStatus.COMPLETED)
    keep(store, one, first)
    store.close()
    shutil.copy(sqlite_place.file, tmp_path / "copy")
    store = sqlite_place.open()
    if moved_on == "the same run":
        _finish(store, first, at(5))
    else:
        keep(store, later)
    _, position = changes_since(store, FROM_THE_START)
    _finish(store, run(one), at(1))
    assert store.is_current(position)
    store.close()

    shutil.copy(tmp_path / "copy", sqlite_place.file)
    store = sqlite_place.open()
    assert not store.is_current(position)
    for _ in range(5):
        keep(store, run(one, status=RunStatus.COMPLETED))
    _finish(store, first, at(7))

    assert not store.is_current(position)


@pytest.mark.req("RUN-4")
def test_a_position_stays_current_while_the_latest_run_goes_on(store: Store) -> None:
    one = session("one")
    ended = run(one, status=RunStatus.COMPLETED)
    keep(store, one, ended)
    _, position = changes_since(store, FROM_THE_START)

    with store.transaction() as tx:
        tx.runs.update(replace(ended, reason="told later", revision=2), expected_revision=1)

    assert store.is_current(position)
    assert not store.is_current(replace(position, witness=f"{position.witness[:-1]}"))


def _finish(store: Store, going: Run, moment: datetime) -> None:
    with store.transaction() as tx:
        if tx.runs.find(going.run_id) is None:
            tx.runs.insert(going)
        ended = replace(going, status=RunStatus.COMPLETED, finished_at=moment, revision=2)
        tx.runs.update(ended, expected_revision=1)


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize("table", ["records", "runs"])
def test_a_dump_restored_on_a_younger_server_is_followed_from_the_start(
    postgres_place: PostgresPlace, tmp_path: Path, table: str
) -> None:
    store = postgres_place.open()
    for _ in range(200):
        write(store, proposed(fact()))
    one = session("one")
    keep(store, one, run(one, status=RunStatus.COMPLETED))
    _, position = changes_since(store, FROM_THE_START)
    store.close()
    dump = tmp_path / "dump.sql"

    with PostgresServer() as younger, younger.database() as url:
        _get_ahead(postgres_place.url, of=url, table=table)
        _program("pg_dump", postgres_place.url, "--no-owner", f"--file={dump}")
        _program("psql", url, "--quiet", "--set=ON_ERROR_STOP=1", f"--file={dump}")
        restored = PostgresPlace(url)
        store = restored.open()
        assert not store.is_current(position)
        told, position = changes_since(store, FROM_THE_START)
        assert len(told) == 200

        change, late = proposed(fact()), run(one, status=RunStatus.FAILED)
        write(store, change)
        keep(store, late)
        told, _ = changes_since(store, position)
        assert told == [change.record]
        with store.snapshot() as snapshot:
            assert list(snapshot.runs.changed_since(position.cursor)) == [late]
            assert len(list(snapshot.runs.changed_since(0))) == 2
        restored.close()


def _get_ahead(url: str, *, of: str, table: str) -> None:
    """As if many more transactions had run on the one server than on the other."""
    with psycopg.connect(of, autocommit=True) as connection:
        number = int(str(connection.execute("SELECT pg_current_xact_id()").fetchall()[0][0]))
    with psycopg.connect(url, autocommit=True) as connection:
        for each in ("records", "runs"):
            ahead = number + 1_000 if each == table else 1
            connection.execute(f"UPDATE {each} SET change = {ahead}".encode())


def _program(name: str, url: str, *arguments: str) -> None:
    assert urlsplit(url).scheme == "postgresql"
    subprocess.run([find_postgres() / name, *arguments, url], check=True, capture_output=True)
