"""PostgreSQL in trouble: away, back again, restarted, or not what it should be."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import blake2b

import psycopg
import pytest

from runlore.daemon.calls.idempotency import Call, Done, IdempotentCalls
from runlore.domain.access import LOCAL_OPERATOR
from runlore.domain.errors import Invalid, RunloreError, Unavailable
from runlore.domain.records.audit import Act
from runlore.ports.store import Store, Transaction
from runlore.storage.open import open_store
from runlore.storage.postgres.connections import Timeouts, connect
from runlore.storage.postgres.session import STALE_S, ServerAddress
from runlore.storage.postgres.store import PostgresStore
from tests.builders import ACME, fact, proposed
from tests.fakes import FakeClock
from tests.postgres_server import PostgresServer
from tests.storage.places import PostgresPlace, stored, write
from tests.waiting import until

PASSWORD = "sw0rdfish"

# A process that is waited for a moment only; whoever waits for a lock outlasts that by far.
IMPATIENT = Timeouts(lock_ms=60_000, stuck_ms=300, look_s=0.1)


# What such a process holds while it stands still, and who is left of those that are in a transaction.
WRITE = "UPDATE counters SET value = 99"
SCOPE_NUMBER = int.from_bytes(blake2b(str(ACME).encode(), digest_size=8).digest(), signed=True)
TURN = f"SELECT pg_advisory_xact_lock({SCOPE_NUMBER})"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
IN_A_TRANSACTION = (
    "SELECT application_name FROM pg_stat_activity WHERE datname = current_database()"
    " AND xact_start IS NOT NULL AND pid <> pg_backend_pid()"
)


def _open(url: str) -> Store:
    return open_store(database_url=url, state_root="/nonexistent")


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.req("OPS-4")
def test_a_server_that_is_not_there_is_told_soon_and_without_the_password(closed_port: int) -> None:
    began = time.monotonic()

    with pytest.raises(Unavailable) as caught:
        _open(f"postgresql://ann:{PASSWORD}@127.0.0.1:{closed_port}/lore")

    assert caught.value.code == "store.unreachable"
    assert f"lore on 127.0.0.1:{closed_port}" in caught.value.sentence
    assert PASSWORD not in f"{caught.value.sentence}{caught.value.hint}"
    assert time.monotonic() - began < 5


@pytest.mark.req("OPS-4")
def test_a_server_that_never_answers_is_given_up_on(silent_port: int) -> None:
    began = time.monotonic()

    with pytest.raises(Unavailable) as caught:
        _open(f"postgresql://ann@127.0.0.1:{silent_port}/lore")

    assert caught.value.code == "store.unreachable"
    assert time.monotonic() - began < 8


@pytest.mark.req("OPS-4")
def test_a_wrong_password_is_not_repeated(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        host, port = connection.info.hostaddr, connection.info.port

    with pytest.raises(Unavailable) as caught:
        _open(f"postgresql://runlore:{PASSWORD}@{host}:{port}/postgres")

    assert caught.value.code == "store.unreachable"
    assert PASSWORD not in str(caught.value)


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{PASSWORD}@host:notaport/lore",
        f"postgresql://ann:{PASSWORD}@host/lore?{PASSWORD}=1",
        f"postgresql://[{PASSWORD}",
    ],
)
def test_an_address_that_cannot_be_read_is_invalid_and_not_repeated(url: str) -> None:
    with pytest.raises((Invalid, Unavailable)) as caught:
        _open(url)

    assert caught.value.code in ("store.url", "store.unreachable")
    assert PASSWORD not in f"{caught.value.sentence}{caught.value.hint}"


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize("url", ["mysql://localhost/lore", "runlore.db", "sqlite:///x"])
def test_an_address_of_another_database_is_invalid(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        _open(url)

    assert caught.value.code == "store.url"
    assert "postgresql://" in caught.value.hint


@pytest.mark.req("OPS-4")
def test_a_crash_and_restart_of_the_server_is_survived() -> None:
    with PostgresServer(durable=True) as server, server.database() as url:
        place = PostgresPlace(url)
        store = place.open()
        changes = [proposed(fact()) for _ in range(3)]
        write(store, changes[0])

        server.kill()
        with pytest.raises(Unavailable) as caught:
            write(store, changes[1])
        server.start()
        _in_the_end(lambda: write(store, changes[1]))
        server.kill()
        server.start()
        _in_the_end(lambda: stored(store))
        write(store, changes[2])

        assert caught.value.code in ("store.connection-lost", "store.unreachable")
        assert stored(store) == [change.record for change in changes]
        place.close()


@pytest.mark.req("OPS-4")
def test_a_connection_lost_in_the_middle_leaves_nothing_half_written(postgres_place: PostgresPlace) -> None:
    store = postgres_place.open()

    def lose_it() -> None:
        with store.transaction() as tx:
            tx.write([proposed(fact()) for _ in range(10)])
            _end_other_connections(postgres_place)
            tx.write([proposed(fact())])

    with pytest.raises(Unavailable) as caught:
        lose_it()

    assert caught.value.code == "store.connection-lost"
    assert stored(store) == []
    write(store, proposed(fact()))
    assert len(stored(store)) == 1


@pytest.mark.req("OPS-4")
def test_an_act_whose_connection_is_lost_before_the_commit_is_done_once_more(
    postgres_place: PostgresPlace,
) -> None:
    store = postgres_place.open()
    acts = IdempotentCalls(store=store, clock=FakeClock(), caller=LOCAL_OPERATOR)
    first, second = proposed(fact()), proposed(fact())
    tries = 0

    def do(tx: Transaction, _act: Act) -> Done[str]:
        nonlocal tries
        tries += 1
        tx.write([first])
        if tries == 1:
            _end_other_connections(postgres_place)
        tx.write([second])
        return Done("done")

    call = Call(operation="write", request="", key=None)
    assert acts.perform(call, do, lambda _kept: "again") == "done"
    assert tries == 2
    assert stored(store) == [first.record, second.record]
    postgres_place.close()


@pytest.mark.req("OPS-4")
def test_a_connection_lost_at_the_commit_is_not_acknowledged(postgres_place: PostgresPlace) -> None:
    store = postgres_place.open()

    def lose_it() -> None:
        with store.transaction() as tx:
            tx.write([proposed(fact())])
            _end_other_connections(postgres_place)

    with pytest.raises(Unavailable) as caught:
        lose_it()

    assert caught.value.code == "store.commit-lost"
    assert "same idempotency key" in caught.value.hint
    assert stored(store) == []


@pytest.mark.req("OPS-4")
def test_whoever_stood_still_finds_out_before_the_commit_that_it_was_ended(
    postgres_place: PostgresPlace,
) -> None:
    """Then it is certain that nothing was written, and the act is done once more without a key too."""
    store = postgres_place.open()

    def stand_still() -> None:
        with store.transaction() as tx:
            tx.write([proposed(fact())])
            _end_other_connections(postgres_place)
            began = time.monotonic()
            until(lambda: time.monotonic() - began > STALE_S)

    with pytest.raises(Unavailable) as caught:
        stand_still()

    assert caught.value.code == "store.connection-lost"


@pytest.mark.req("OPS-4")
def test_a_read_does_not_meet_a_connection_that_was_lost_since_it_was_used(
    postgres_place: PostgresPlace,
) -> None:
    store = postgres_place.open()
    write(store, proposed(fact()))
    _end_other_connections(postgres_place)

    assert len(stored(store)) == 1


@pytest.mark.req("OPS-4")
def test_a_lock_that_does_not_come_is_given_up_on(postgres_place: PostgresPlace) -> None:
    store = PostgresStore.open(postgres_place.url, Timeouts(lock_ms=100))

    def wait_for_the_lock() -> RunloreError | None:
        try:
            with store.transaction() as tx:
                tx.lock([ACME])
        except RunloreError as error:
            return error
        return None

    errors: list[RunloreError | None] = []
    with store.transaction() as tx:
        tx.lock([ACME])
        second = threading.Thread(target=lambda: errors.append(wait_for_the_lock()))
        second.start()
        second.join()
    store.close()

    assert [error.code if error else None for error in errors] == ["store.busy"]


def _round_trip(connection: psycopg.Connection) -> None:
    """It has sent a command, has an answer on its way, and does not say what comes next."""
    connection.pgconn.enter_pipeline_mode()
    connection.pgconn.send_query_params(WRITE.encode(), None)
    connection.pgconn.send_flush_request()
    connection.pgconn.flush()


def _answered(connection: psycopg.Connection) -> None:
    """It has its answer, and a Flush was the driver's last word: that switches the server's limit off."""
    connection.execute("SET idle_in_transaction_session_timeout = 300")
    connection.execute(WRITE)
    connection.pgconn.enter_pipeline_mode()
    connection.pgconn.send_flush_request()
    connection.pgconn.flush()


def _unwritten(connection: psycopg.Connection) -> None:
    """It has the turn at a scope, and has not written yet."""
    connection.execute(TURN)


@pytest.mark.req("OPS-4", "JRN-2")
@pytest.mark.parametrize(
    ("stand_still", "queue"), [(_round_trip, WRITE), (_answered, WRITE), (_unwritten, TURN)]
)
def test_a_process_that_stands_still_keeps_others_out_for_a_moment_and_nobody_is_refused(
    postgres_place: PostgresPlace, stand_still: Callable[[psycopg.Connection], None], queue: str
) -> None:
    with (
        closing(PostgresStore.open(postgres_place.url, IMPATIENT)) as store,
        psycopg.connect(postgres_place.url, application_name="runlore 1-suspended") as stopped,
        psycopg.connect(postgres_place.url, application_name="runlore 1-suspended") as behind,
        psycopg.connect(postgres_place.url, application_name="somebody else") as foreign,
    ):
        _count(store)
        foreign.execute("CREATE TABLE of_somebody_else (number INTEGER)")
        stopped.execute("SELECT 1")
        stand_still(stopped)
        # Another session of the same process is the next in the queue, and nobody reads its answer.
        behind.execute("SELECT 1")
        behind.pgconn.send_query(queue.encode())
        until(lambda: postgres_place.sql(WAITING) == [(1,)])

        with store.transaction() as tx:
            tx.lock([ACME])
            tx.counters.add({"runs": 1})

        left = [("somebody else",)]
        until(lambda: postgres_place.sql(IN_A_TRANSACTION) == left)
        with store.snapshot() as snapshot:
            assert snapshot.counters.values() == {"runs": 2}
        for gone in (stopped, behind):
            gone.close()


@pytest.mark.req("OPS-4")
def test_text_is_ordered_by_its_bytes_whatever_the_servers_locale(new_postgres_database: str) -> None:
    place = PostgresPlace(new_postgres_database)
    collations = (
        "SELECT DISTINCT collation_name FROM information_schema.columns"
        " WHERE table_schema = current_schema() AND data_type = 'text'"
    )

    before = place.sql(collations)
    place.open()
    made = place.sql(collations)
    place.close()

    assert before == []
    assert made == [("C",)]


@pytest.mark.req("OPS-4")
def test_a_database_that_does_not_store_unicode_is_refused(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS latin")
        connection.execute(
            "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
        url = f"{postgres_url.rpartition('/')[0]}/latin"
        try:
            with pytest.raises(Unavailable) as caught:
                _open(url)
        finally:
            connection.execute("DROP DATABASE latin")

    assert caught.value.code == "store.unsupported"


@pytest.mark.req("OPS-4")
def test_commits_are_synced_even_where_the_database_says_otherwise(postgres_place: PostgresPlace) -> None:
    name = postgres_place.sql("SELECT current_database()")[0][0]
    postgres_place.sql(f"ALTER DATABASE \"{name}\" SET synchronous_commit = 'off'")
    with psycopg.connect(postgres_place.url) as theirs:
        assert theirs.execute("SHOW synchronous_commit").fetchall() == [("off",)]

    connection = connect(postgres_place.url, ServerAddress(postgres_place.url))
    setting = connection.execute("SHOW synchronous_commit").fetchall()
    connection.close()

    assert setting == [("on",)]


@pytest.mark.req("OPS-4")
def test_a_server_that_syncs_nothing_is_told_in_the_status(postgres_place: PostgresPlace) -> None:
    assert postgres_place.sql("SHOW fsync") == [("off",)]

    assert "fsync is off" in str(postgres_place.open().description()["writes"])


def _count(store: Store) -> None:
    with store.transaction() as tx:
        tx.counters.add({"runs": 1})


def _end_other_connections(place: PostgresPlace) -> None:
    place.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )


def _in_the_end(act: Callable[[], object]) -> None:
    """The first attempts after a restart may meet connections that were lost; then it has to work."""
    for _ in range(10):
        try:
            act()
        except Unavailable:
            continue
        return
    raise AssertionError("the store did not come back")
