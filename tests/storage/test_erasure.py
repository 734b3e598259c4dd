"""Forgotten is forgotten: no byte of the text stays in any file of the state root."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from runlore.domain.record import Record, RecordId
from runlore.domain.records.audit import erase_event, forget_record
from runlore.ports.store import Store
from tests.builders import act, changed, confirmed, fact, proposed
from tests.storage.places import Place, PostgresPlace, SqlitePlace, read, stored, write


def _forget(store: Store, record_id: RecordId) -> None:
    with store.transaction() as tx:
        tx.erase(record_id, [erase_event(event) for event in tx.records.events(record_id)])
        tx.write([forget_record(tx.records.get(record_id), act())])


def _bytes_of(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


def _told(choices: random.Random, number: int) -> Record:
    """A record whose every text says which one it is, from a few bytes to several pages."""
    word = _word(number)
    long = " ".join([word] * choices.choice([1, 1, 2, 20, 200, 900]))
    return fact(
        f"The {word} is {word}",
        metadata={"origin": "candidate", "topic_tags": [word], "detail": long},
        automation_review={"reason": word},
    )


def _word(number: int) -> str:
    return f"zebra{number:05}x"


def _lived(store: Store, choices: random.Random, numbers: range) -> Iterator[Record]:
    """Records that were written, grew, shrank and grew again among each other."""
    first = [proposed(_told(choices, number), reason=_word(number)) for number in numbers]
    write(store, *first)
    records = [change.record for change in first]
    for _ in range(3):
        for place in choices.sample(range(len(records)), len(records) // 2):
            detail = " ".join([_word(numbers[place])] * choices.randint(1, 300))
            metadata = {**records[place].metadata, "detail": detail}
            change = changed(records[place], metadata=metadata)
            write(store, change)
            records[place] = change.record
    yield from records


@pytest.mark.req("LRN-12")
@pytest.mark.parametrize("seed", range(3))
def test_nothing_of_what_was_forgotten_is_left_in_any_file(sqlite_place: SqlitePlace, seed: int) -> None:
    choices = random.Random(seed)
    store = sqlite_place.open()
    records = list(_lived(store, choices, range(120)))
    gone = set(choices.sample(range(120), 40))

    for number in gone:
        _forget(store, records[number].record_id)
    store.scrub()

    left = _bytes_of(sqlite_place.root)
    assert [number for number in gone if _word(number).encode() in left] == []
    assert all(_word(number).encode() in left for number in range(120) if number not in gone)
    assert read(store, records[0].record_id).summary in ("", "The zebra00000x is zebra00000x")


@pytest.mark.req("LRN-12")
def test_what_is_forgotten_later_leaves_no_copy_from_earlier_rows(sqlite_place: SqlitePlace) -> None:
    choices = random.Random(7)
    store = sqlite_place.open()
    records = list(_lived(store, choices, range(60)))
    for number in range(0, 60, 2):
        _forget(store, records[number].record_id)
    records += _lived(store, choices, range(60, 90))
    for number in range(1, 90, 2):
        _forget(store, records[number].record_id)
    store.scrub()
    kept = set(range(60, 90, 2))

    left = _bytes_of(sqlite_place.root)

    assert [number for number in range(90) if (_word(number).encode() in left) != (number in kept)] == []


@pytest.mark.req("LRN-12")
def test_nothing_is_left_of_a_record_that_moved_very_often(sqlite_place: SqlitePlace) -> None:
    store = sqlite_place.open()
    changes = [proposed(_told(random.Random(0), 1))]
    for confidence in range(70):
        changes.append(changed(changes[-1].record, confidence=confidence))
    write(store, *changes)

    _forget(store, changes[0].record.record_id)
    store.scrub()

    assert _word(1).encode() not in _bytes_of(sqlite_place.root)
    assert read(store, changes[0].record.record_id).summary == ""


@pytest.mark.req("LRN-12")
def test_what_was_erased_is_still_in_the_log_until_it_is_scrubbed(sqlite_place: SqlitePlace) -> None:
    store = sqlite_place.open()
    change = proposed(_told(random.Random(0), 1))
    write(store, change)
    _forget(store, change.record.record_id)
    assert _word(1).encode() in _bytes_of(sqlite_place.root)

    store.scrub()

    assert _word(1).encode() not in _bytes_of(sqlite_place.root)


@pytest.mark.req("LRN-12")
def test_a_scrub_says_when_somebody_still_reads_the_old_text(sqlite_place: SqlitePlace) -> None:
    store = sqlite_place.open()
    change = proposed(fact())
    write(store, change)

    with store.snapshot() as snapshot:
        _forget(store, change.record.record_id)
        with pytest.raises(Exception, match="still reads") as caught:
            store.scrub()
        assert snapshot.records.get(change.record.record_id).summary == change.record.summary

    assert getattr(caught.value, "code", "") == "store.busy"
    store.scrub()


@pytest.mark.req("LRN-12")
def test_after_a_scrub_the_store_goes_on(store: Store, place: Place) -> None:
    change = proposed(fact())
    write(store, change)
    _forget(store, change.record.record_id)

    store.scrub()
    another = proposed(fact())
    write(store, another, confirmed(another.record))

    assert [record.summary for record in stored(store)] == ["", "The codename is Atlas"]


@pytest.mark.req("LRN-12")
def test_on_postgres_no_row_holds_the_text_any_more(postgres_place: PostgresPlace) -> None:
    store = postgres_place.open()
    change = proposed(_told(random.Random(0), 1), reason=_word(1))
    write(store, change, changed(change.record, confidence=1))
    _forget(store, change.record.record_id)
    store.scrub()

    rows = [
        postgres_place.sql(f"SELECT * FROM {table}")
        for table in ("records", "record_events", "record_sources", "answers", "store_meta")
    ]

    assert _word(1) not in str(rows)
    assert str(change.record.record_id) in str(rows)
