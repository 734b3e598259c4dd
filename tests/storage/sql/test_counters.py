"""Counters, switches, notes and kept answers, on both databases."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from runlore.domain.errors import Conflict
from runlore.domain.record import RecordId
from runlore.ports.store import Answer, Store, Switch, Transaction
from tests.fakes import START
from tests.storage.places import Place
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("OPS-6")

WRITERS = 8


def values(store: Store, prefix: str = "") -> dict[str, int]:
    """The counters."""
    with store.snapshot() as snapshot:
        return snapshot.counters.values(prefix)


def keep(store: Store, key: str, *names: str, day: int = 0) -> None:
    """Keep an answer that names these."""
    pairs = tuple((RecordId(name), 1) for name in names)
    with store.transaction() as tx:
        tx.keep_answer(key, Answer(request_digest="d", records=pairs), START + timedelta(days=day))


def kept(store: Store, *keys: str) -> list[str]:
    """Those of the keys whose answers are still there."""
    with store.transaction() as tx:
        return [key for key in keys if tx.answer(key) is not None]


@pytest.mark.req("OPS-1")
def test_amounts_are_added_and_counters_are_made_where_they_are_missing(store: Store) -> None:
    for amounts in ({"a.x": 1, "a.y": 2**40}, {"a.x": 4, "b": 0}, {"a.y": -1}, {}):
        with store.transaction() as tx:
            tx.counters.add(amounts)

    assert values(store) == {"a.x": 5, "a.y": 2**40 - 1, "b": 0}


@pytest.mark.req("OPS-1")
def test_a_prefix_is_taken_letter_by_letter(store: Store) -> None:
    names = ["run_memory.a", "run-memory.a", "run%", "runXmemory", "RUN_MEMORY.a", "ärger.x"]
    with store.transaction() as tx:
        tx.counters.add(dict.fromkeys(names, 1))

    for prefix in ("run_memory.", "run%", "run", "RUN", "ä", "", "run_memory.abc"):
        assert set(values(store, prefix)) == {name for name in names if name.startswith(prefix)}


@pytest.mark.req("OPS-1", "OPS-4")
def test_many_who_add_to_the_same_counters_in_any_order_lose_nothing(store: Store) -> None:
    together = threading.Barrier(WRITERS)
    # So many that two who took them in opposite orders would surely meet in the middle.
    names = [f"c{number:03}" for number in range(300)]

    def add(number: int) -> None:
        ordered = names if number % 2 else names[::-1]
        together.wait(PATIENCE_S)
        for _ in range(10):
            with store.transaction() as tx:
                tx.counters.add(dict.fromkeys(ordered, number))

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(add, range(WRITERS)))

    assert values(store) == dict.fromkeys(names, 10 * sum(range(WRITERS)))


def test_what_is_added_in_a_transaction_that_fails_is_not_added(store: Store) -> None:
    keep(store, "key")
    with pytest.raises(Conflict), store.transaction() as tx:
        _add_and_repeat(tx)
    assert values(store) == {}


def _add_and_repeat(tx: Transaction) -> None:
    tx.counters.add({"a": 1})
    tx.keep_answer("key", Answer(request_digest="d", records=()), START)


def test_a_switch_is_as_it_was_turned_last(store: Store) -> None:
    paused = Switch(name="capture.paused", on=True, at=START, actor="ada")
    resumed = Switch(name="capture.paused", on=False, at=START + timedelta(days=1), actor="bob")
    for switch in (paused, resumed):
        with store.transaction() as tx:
            tx.counters.set_switch(switch)
        with store.snapshot() as snapshot:
            assert snapshot.counters.switch("capture.paused") == switch
            assert snapshot.counters.switch("capture") is None


def test_a_note_takes_the_place_of_the_one_before_whatever_it_holds(store: Store) -> None:
    for text in ("first", "a\0b\udc80", ""):
        with store.transaction() as tx:
            tx.counters.set_note("maintenance", text)
    with store.snapshot() as snapshot:
        assert snapshot.counters.note("maintenance") == ""
        assert snapshot.counters.note("other") is None

    with store.transaction() as tx:
        tx.counters.set_note("maintenance", "a\0b\udc80")
        assert tx.counters.note("maintenance") == "a\ufffdb?"


def test_answers_from_before_a_moment_are_pruned_with_their_names(place: Place) -> None:
    store = place.open()
    for day in range(5):
        keep(store, f"key {day}", "rec_1", f"run_{day}", day=day)

    with store.transaction() as tx:
        assert tx.counters.prune_answers(START + timedelta(days=3)) == 3
        assert tx.counters.prune_answers(START + timedelta(days=3)) == 0

    assert kept(store, *(f"key {day}" for day in range(5))) == ["key 3", "key 4"]
    names = place.sql("SELECT name FROM answer_names ORDER BY name")
    assert names == [("rec_1",), ("rec_1",), ("run_3",), ("run_4",)]


@pytest.mark.req("LRN-12")
def test_answers_that_name_what_is_forgotten_go_and_no_others(place: Place) -> None:
    store = place.open()
    keep(store, "one", "rec_1")
    keep(store, "both", "rec_1", "rec_2", "rec_2")
    keep(store, "two", "rec_2")
    keep(store, "longer", "rec_10")
    keep(store, "nothing")

    with store.transaction() as tx:
        assert tx.counters.forget_answers(["rec_1", "rec_none", "nul\0", "rec_1"]) == 2
        assert tx.counters.forget_answers([]) == 0

    assert kept(store, "one", "both", "two", "longer", "nothing") == ["two", "longer", "nothing"]
    assert place.sql("SELECT name FROM answer_names ORDER BY name") == [("rec_10",), ("rec_2",)]


@pytest.mark.req("LRN-12")
def test_any_number_of_names_is_forgotten_and_each_answer_counts_once(store: Store) -> None:
    for number in range(3):
        keep(store, f"key {number}", *(f"rec_{number}_{each}" for each in range(400)))

    names = [f"rec_{number}_{each}" for number in (0, 2) for each in range(400)]
    with store.transaction() as tx:
        assert tx.counters.forget_answers(names) == 2

    assert kept(store, "key 0", "key 1", "key 2") == ["key 1"]
