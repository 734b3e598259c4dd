"""The server that the storage tests run on: clean databases, real crashes, and nothing left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from runlore.storage.migrate import load_migrations
from runlore.storage.open import open_store
from tests.builders import fact, proposed
from tests.postgres_pool import PostgresPool
from tests.postgres_server import SCRATCH_PREFIX, PostgresServer, remove_leftovers
from tests.storage.places import write
from tests.world import TABLES

ROOT = Path(__file__).parents[3]
WAIT_S = 30


def test_every_test_gets_an_empty_database_of_its_own(postgres_server: PostgresServer) -> None:
    with postgres_server.database() as first, postgres_server.database() as second:
        with psycopg.connect(first) as connection:
            connection.execute("CREATE TABLE thing (id integer)")

        with psycopg.connect(second) as connection:
            assert connection.execute("SELECT to_regclass('thing')").fetchone() == (None,)


def test_a_database_goes_although_somebody_is_still_connected(postgres_server: PostgresServer) -> None:
    with postgres_server.database() as url:
        connection = psycopg.connect(url)

    with pytest.raises(psycopg.OperationalError, match="terminating connection"):
        connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)
    connection.close()


def test_what_a_test_leaves_in_a_database_is_gone_before_another_gets_it(pool: PostgresPool) -> None:
    with pool.database() as first:
        store = open_store(database_url=first, state_root="/nonexistent")
        write(store, proposed(fact()))
        oid, store_id = _oid(first), _all(first, "SELECT value FROM store_meta")
        left_open = psycopg.connect(first)
        left_open.execute("SELECT * FROM records FOR UPDATE")

    with pool.database() as second:
        assert _oid(second) == oid
        assert all(_all(second, f"SELECT * FROM {table}") == [] for table in set(TABLES) - {"store_meta"})
        assert len(_all(second, "SELECT number FROM migrations")) == len(load_migrations())
        assert _all(second, "SELECT value FROM store_meta") != store_id
        with pytest.raises(psycopg.OperationalError, match="terminating connection"):
            left_open.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError, match="does not exist"):
            psycopg.connect(first)
    left_open.close()
    store.close()


def test_databases_that_are_lent_at_once_are_two(pool: PostgresPool) -> None:
    with pool.database() as first, pool.database() as second:
        assert _oid(first) != _oid(second)


@pytest.mark.parametrize(
    "alteration",
    [
        "ALTER TABLE records ADD COLUMN more TEXT",
        "ALTER TABLE records DROP COLUMN state CASCADE",
        "ALTER TABLE records DISABLE TRIGGER ALL",
        "ALTER TABLE records SET (fillfactor = 50)",
        "ALTER TABLE records ALTER COLUMN record_id TYPE VARCHAR(500)",
        "CREATE INDEX more ON records (record_id)",
        "CREATE TABLE more (id BIGINT)",
        "DROP TABLE records CASCADE",
        "CREATE FUNCTION more() RETURNS BIGINT LANGUAGE SQL AS 'SELECT 1'",
        "CREATE FUNCTION more() RETURNS TRIGGER LANGUAGE PLPGSQL AS 'BEGIN RETURN NULL; END';"
        "CREATE TRIGGER more BEFORE INSERT ON records FOR EACH ROW EXECUTE FUNCTION more()",
        "INSERT INTO migrations VALUES (9999, 'later', 'x')",
        "DELETE FROM store_meta",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 64', current_database()); END $$",
    ],
)
def test_a_database_that_a_test_has_altered_is_not_lent_again(pool: PostgresPool, alteration: str) -> None:
    with pool.database() as first:
        altered = _oid(first)
        with psycopg.connect(first) as connection:
            connection.execute(alteration.encode())

    with pool.database() as second:
        assert _oid(second) != altered


def test_text_is_utf_8_in_the_order_of_its_bytes_and_time_is_utc(postgres_database: str) -> None:
    with psycopg.connect(postgres_database) as connection:
        assert connection.execute("SHOW server_encoding").fetchone() == ("UTF8",)
        assert connection.execute("SELECT 'Z' < 'a'").fetchone() == (True,)
        assert connection.execute("SHOW timezone").fetchone() == ("UTC",)


def test_loopback_asks_for_the_password(postgres_url: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(postgres_url, password="guessed")


def test_the_server_does_not_run_as_root(postgres_database: str) -> None:
    with psycopg.connect(postgres_database) as connection:
        row = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()

    assert row is not None
    assert os.stat(f"/proc/{row[0].splitlines()[0]}").st_uid != 0


def test_what_was_committed_survives_a_crash_of_a_durable_server() -> None:
    with PostgresServer(durable=True) as server, server.database() as url:
        with psycopg.connect(url) as connection:
            assert connection.execute("SHOW fsync").fetchone() == ("on",)
            connection.execute("CREATE TABLE thing (id integer)")
            connection.execute("INSERT INTO thing VALUES (7)")

        server.kill()
        server.start()

        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT id FROM thing").fetchall() == [(7,)]


def test_a_killed_test_run_leaves_neither_server_nor_folder(orphan: tuple[str, Path]) -> None:
    url, scratch = orphan

    remove_leftovers()

    assert not scratch.exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url, connect_timeout=WAIT_S)


def test_the_folders_of_running_tests_and_of_others_are_left_alone(tmp_path: Path) -> None:
    running = Path(f"/tmp/{SCRATCH_PREFIX}{os.getpid()}-running")
    foreign = Path(f"/tmp/{SCRATCH_PREFIX}999999999-foreign")
    running.mkdir()
    foreign.symlink_to(tmp_path)
    try:
        remove_leftovers()

        assert running.exists()
        assert tmp_path.exists()
        assert foreign.is_symlink()
    finally:
        running.rmdir()
        foreign.unlink()


@pytest.fixture(scope="module")
def pool(postgres_server: PostgresServer) -> PostgresPool:
    """One that nobody else uses."""
    return PostgresPool(postgres_server)


def _all(url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement.encode()).fetchall()


def _oid(url: str) -> int:
    """What a database keeps when it gets another name."""
    ((oid,),) = _all(url, "SELECT oid FROM pg_database WHERE datname = current_database()")
    return int(oid)


@pytest.fixture
def orphan() -> Iterator[tuple[str, Path]]:
    """The address and the folder of a server whose test process was killed."""
    program = (
        "from tests.postgres_server import PostgresServer\n"
        "server = PostgresServer(); server.start()\n"
        "print(server.url(), server.scratch, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url, scratch = process.stdout.readline().split()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        process.send_signal(signal.SIGKILL)
        process.wait(WAIT_S)
        yield url, Path(scratch)
