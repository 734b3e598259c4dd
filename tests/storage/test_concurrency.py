"""Many at once: one wins, nobody spoils another's write, and acknowledged is written."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from runlore.domain.errors import Conflict, RunloreError
from runlore.domain.record import Kind, Move, RecordId
from runlore.domain.scope import WORKSPACE
from runlore.ports.store import Answer, Store
from tests.builders import ACME, changed, confirmed, fact, proposed
from tests.fakes import START
from tests.storage.places import PostgresPlace, SqlitePlace, ids, read, stored, write
from tests.waiting import PATIENCE_S, until

WRITERS = 8


@pytest.mark.req("REC-10")
def test_of_many_who_move_one_record_at_once_one_wins(store: Store) -> None:
    first = proposed(fact())
    write(store, first)
    together = threading.Barrier(WRITERS)

    def move(number: int) -> str:
        together.wait(PATIENCE_S)
        try:
            write(store, changed(first.record, confidence=number))
        except Conflict as conflict:
            return conflict.code
        return "won"

    with ThreadPoolExecutor(WRITERS) as pool:
        ends = list(pool.map(move, range(WRITERS)))

    assert sorted(ends) == ["record.moved"] * (WRITERS - 1) + ["won"]
    assert read(store, first.record.record_id).confidence == ends.index("won")


@pytest.mark.req("REC-9")
def test_of_many_calls_with_one_key_one_has_an_effect(store: Store) -> None:
    together = threading.Barrier(WRITERS)

    def call(_: int) -> str:
        together.wait(PATIENCE_S)
        try:
            with store.transaction() as tx:
                if tx.answer("key") is not None:
                    return "request.repeated"
                tx.write([proposed(fact())])
                tx.keep_answer("key", Answer(request_digest="d", records=()), START)
        except Conflict as conflict:
            return conflict.code
        return "done"

    with ThreadPoolExecutor(WRITERS) as pool:
        ends = list(pool.map(call, range(WRITERS)))

    assert sorted(ends) == ["done"] + ["request.repeated"] * (WRITERS - 1)
    assert len(stored(store)) == 1


@pytest.mark.req("LRN-6")
def test_a_lock_on_a_scope_lets_one_check_and_write_at_a_time(store: Store) -> None:
    candidates = [proposed(fact(f"The codename is {name}")) for name in ("Atlas", "Nova", "Orion", "Vega")]
    write(store, *candidates)
    together = threading.Barrier(len(candidates))

    def publish(number: int) -> bool:
        together.wait(PATIENCE_S)
        with store.transaction() as tx:
            tx.lock([WORKSPACE, ACME])
            if tx.records.matching_subject(ACME, Kind.FACT, "codename"):
                return False
            tx.write([confirmed(candidates[number].record)])
        return True

    with ThreadPoolExecutor(len(candidates)) as pool:
        published = list(pool.map(publish, range(len(candidates))))

    assert published.count(True) == 1


@pytest.mark.req("OPS-4")
def test_a_member_that_fails_does_not_spoil_the_others(store: Store) -> None:
    there = proposed(fact())
    write(store, there)
    stale = changed(there.record, Move.REJECT)
    together = threading.Barrier(WRITERS)

    def work(number: int) -> list[RecordId]:
        kept = []
        for turn in range(20):
            together.wait(PATIENCE_S)
            change = proposed(fact())
            try:
                if (number + turn) % 3 == 0:
                    write(store, change, stale, stale)
                else:
                    write(store, change)
                    kept.append(change.record.record_id)
            except Conflict:
                continue
        return kept

    with ThreadPoolExecutor(WRITERS) as pool:
        kept = [record_id for each in pool.map(work, range(WRITERS)) for record_id in each]

    assert ids(stored(store)) == sorted([there.record.record_id, *kept])
    assert len(kept) > WRITERS * 10


@pytest.mark.req("OPS-4")
def test_writers_who_wait_share_a_commit(sqlite_place: SqlitePlace) -> None:
    store = sqlite_place.open()
    before = store.description()
    entered, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with store.transaction() as tx:
            tx.write([proposed(fact())])
            entered.set()
            assert go_on.wait(PATIENCE_S)

    with ThreadPoolExecutor(WRITERS + 1) as pool:
        holder = pool.submit(hold)
        assert entered.wait(PATIENCE_S)
        writers = [pool.submit(write, store, proposed(fact())) for _ in range(WRITERS)]
        _until_waiting(store, WRITERS)
        assert not any(writer.done() for writer in writers)
        go_on.set()
        for future in (holder, *writers):
            future.result()

    after = store.description()
    assert after["transactions"] == int(before["transactions"]) + WRITERS + 1
    assert int(after["commits"]) - int(before["commits"]) < WRITERS
    assert len(stored(store)) == WRITERS + 1


@pytest.mark.req("OPS-4")
def test_what_a_member_wrote_is_seen_by_the_next_and_undone_alone(
    sqlite_place: SqlitePlace,
) -> None:
    store = sqlite_place.open()
    first, failing, last = proposed(fact()), proposed(fact()), proposed(fact())
    entered, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with store.transaction() as tx:
            tx.write([first])
            entered.set()
            assert go_on.wait(PATIENCE_S)

    def fail() -> None:
        with store.transaction() as tx:
            assert tx.records.get(first.record.record_id) == first.record
            tx.write([failing])
            raise ZeroDivisionError

    def look() -> None:
        with store.transaction() as tx:
            assert failing.record.record_id not in tx.records.get_many([failing.record.record_id])
            tx.write([last])

    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(hold)]
        assert entered.wait(PATIENCE_S)
        for number, work in enumerate((fail, look), start=1):
            futures.append(pool.submit(work))
            _until_waiting(store, number)
        go_on.set()
        assert isinstance(futures[1].exception(), ZeroDivisionError)
        futures[0].result()
        futures[2].result()

    assert stored(store) == [first.record, last.record]


@pytest.mark.req("OPS-4", "PRF-4")
def test_who_is_done_first_is_told_no_sooner_than_the_batch_is_committed(sqlite_place: SqlitePlace) -> None:
    store = sqlite_place.open()
    entered, joined, go_on, end = (threading.Event() for _ in range(4))

    def begin() -> None:
        with store.transaction() as tx:
            tx.write([proposed(fact())])
            entered.set()
            assert go_on.wait(PATIENCE_S)

    def join() -> None:
        with store.transaction():
            joined.set()
            assert end.wait(PATIENCE_S)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(begin)
        assert entered.wait(PATIENCE_S)
        second = pool.submit(join)
        _until_waiting(store, 1)
        go_on.set()
        assert joined.wait(PATIENCE_S)
        is_told, is_kept = bool(wait([first], timeout=0.2).done), bool(stored(store))
        end.set()
        first.result()
        second.result()

    assert is_kept or not is_told


@pytest.mark.req("OPS-4")
def test_a_first_member_that_fails_leaves_the_batch_to_the_others(sqlite_place: SqlitePlace) -> None:
    store = sqlite_place.open()
    second = proposed(fact())
    entered, go_on = threading.Event(), threading.Event()

    def fail() -> None:
        with store.transaction() as tx:
            tx.write([proposed(fact())])
            entered.set()
            assert go_on.wait(PATIENCE_S)
            raise ZeroDivisionError

    with ThreadPoolExecutor(2) as pool:
        failing = pool.submit(fail)
        assert entered.wait(PATIENCE_S)
        writing = pool.submit(write, store, second)
        _until_waiting(store, 1)
        go_on.set()
        assert isinstance(failing.exception(), ZeroDivisionError)
        writing.result()

    assert stored(store) == [second.record]


@pytest.mark.req("OPS-4")
def test_a_transaction_inside_a_transaction_is_a_mistake_that_is_seen(sqlite_place: SqlitePlace) -> None:
    store = sqlite_place.open()

    with store.transaction() as tx:
        tx.write([proposed(fact())])
        with pytest.raises(AssertionError), store.transaction():
            pass

    assert len(stored(store)) == 1


@pytest.mark.req("OPS-4")
def test_two_who_wait_for_each_other_are_told_to_try_again(postgres_place: PostgresPlace) -> None:
    store = postgres_place.open()
    one, two = proposed(fact()), proposed(fact())
    write(store, one, two)
    together = threading.Barrier(2)

    def move(first: int) -> RunloreError | None:
        order = [one, two] if first == 0 else [two, one]
        try:
            with store.transaction() as tx:
                tx.write([changed(order[0].record, confidence=first)])
                together.wait(PATIENCE_S)
                tx.write([changed(order[1].record, confidence=first)])
        except RunloreError as error:
            return error
        return None

    with ThreadPoolExecutor(2) as pool:
        errors = [error for error in pool.map(move, (0, 1)) if error is not None]

    assert [error.code for error in errors] == ["store.busy"]
    assert len({record.confidence for record in stored(store)}) == 1


def _until_waiting(store: Store, number: int) -> None:
    until(lambda: store.description()["waiting"] == number)
