"""What a transaction writes, what it refuses and what it undoes, the same on both databases."""

from dataclasses import replace
from datetime import timedelta

import pytest

from runlore.domain.errors import Conflict, Invalid, NotFound, RunloreError
from runlore.domain.record import (
    Kind,
    Move,
    RecordId,
    Source,
    State,
    StateReason,
)
from runlore.domain.records.audit import RecordChange, create_record, erase_event, forget_record
from runlore.ports.store import Answer, Store
from tests.builders import (
    ACME,
    act,
    changed,
    confirmed,
    fact,
    preference,
    proposed,
)
from tests.fakes import START
from tests.storage.places import Place, history, ids, read, stored, write

LATER = START + timedelta(days=1)


@pytest.mark.req("REC-3", "REC-6")
def test_a_move_changes_the_record_and_appends_its_event(store: Store) -> None:
    first = proposed(fact())
    second = confirmed(first.record, at=LATER, reason="checked")

    write(store, first)
    write(store, second)

    assert read(store, first.record.record_id).state is State.ACTIVE
    assert history(store, first.record.record_id) == (first.event, second.event)


@pytest.mark.req("REC-6")
def test_changes_of_one_record_in_one_transaction_are_all_kept(store: Store) -> None:
    first = proposed(fact())
    second = confirmed(first.record)
    third = changed(second.record, confidence=10)

    write(store, first, second, third)

    assert read(store, first.record.record_id) == third.record
    assert len(history(store, first.record.record_id)) == 3


@pytest.mark.req("REC-6")
def test_a_record_that_moved_very_often_is_still_its_events(store: Store) -> None:
    changes = [proposed(fact())]
    for confidence in range(70):
        changes.append(changed(changes[-1].record, confidence=confidence))

    for change in changes[:40]:
        write(store, change)
    write(store, *changes[40:])

    record_id = changes[0].record.record_id
    assert read(store, record_id) == changes[-1].record
    assert history(store, record_id) == tuple(change.event for change in changes)


@pytest.mark.req("REC-10")
def test_a_write_on_a_stale_revision_is_a_conflict_and_writes_nothing(store: Store) -> None:
    first, other = proposed(fact()), proposed(fact("The port is 8080"))
    write(store, first)
    write(store, confirmed(first.record))

    with pytest.raises(Conflict) as caught:
        write(store, other, changed(first.record, Move.REJECT))

    assert caught.value.code == "record.moved"
    assert str(first.record.record_id) in caught.value.sentence
    assert "revision 1 was expected, revision 2 was found" in caught.value.sentence
    assert ids(stored(store)) == [first.record.record_id]
    assert len(history(store, first.record.record_id)) == 2


@pytest.mark.req("REC-10")
def test_a_conflict_names_the_record_that_moved_among_many(store: Store) -> None:
    firsts = [proposed(fact(f"Number {number} is odd")) for number in range(20)]
    write(store, *firsts)
    write(store, confirmed(firsts[13].record, actor="somebody else"))

    with pytest.raises(Conflict) as caught:
        write(store, *(confirmed(first.record) for first in firsts))

    assert str(firsts[13].record.record_id) in caught.value.sentence
    assert [record.revision for record in stored(store)] == [1] * 13 + [2] + [1] * 6


@pytest.mark.req("REC-10")
def test_a_move_of_a_record_that_is_not_there_is_a_conflict(store: Store) -> None:
    with pytest.raises(Conflict) as caught:
        write(store, confirmed(proposed(fact()).record))

    assert caught.value.code == "record.moved"
    assert stored(store) == []


@pytest.mark.req("REC-10")
def test_a_move_that_skips_a_revision_is_a_conflict(store: Store) -> None:
    first = proposed(fact())
    write(store, first)
    second = changed(first.record, confidence=1)

    with pytest.raises(Conflict) as caught:
        write(store, changed(second.record, confidence=2))

    assert "revision 2 was expected, revision 1 was found" in caught.value.sentence
    assert read(store, first.record.record_id) == first.record


@pytest.mark.req("REC-7")
def test_a_second_record_with_the_same_id_is_a_conflict(store: Store) -> None:
    first = proposed(fact())
    write(store, first)

    with pytest.raises(Conflict) as caught:
        write(store, proposed(fact("Something else", record_id=first.record.record_id)))

    assert caught.value.code == "record.exists"
    assert stored(store) == [first.record]


@pytest.mark.req("REC-10")
def test_a_conflict_that_is_caught_inside_the_transaction_still_undoes_all_of_it(store: Store) -> None:
    first = proposed(fact())
    write(store, first)
    write(store, confirmed(first.record))

    def go_on_after_the_conflict() -> None:
        with store.transaction() as tx:
            for change in (changed(first.record), proposed(fact())):
                with pytest.raises(Conflict):
                    tx.write([proposed(fact()), change])

    with pytest.raises(Conflict):
        go_on_after_the_conflict()

    assert ids(stored(store)) == [first.record.record_id]


@pytest.mark.req("REC-9")
def test_a_transaction_that_raises_leaves_nothing_behind(store: Store) -> None:
    def fail() -> None:
        with store.transaction() as tx:
            tx.write([proposed(fact())])
            tx.keep_answer("key", Answer(request_digest="d", records=()), START)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert stored(store) == []
    with store.transaction() as tx:
        assert tx.answer("key") is None


@pytest.mark.req("REC-8")
def test_a_breach_of_the_layers_contract_is_refused_by_the_store_too(store: Store) -> None:
    with pytest.raises(Invalid) as caught:
        write(store, proposed(fact()), proposed(fact(metadata={"origin": "candidate"})))

    assert "topic_tags" in caught.value.sentence
    assert stored(store) == []


@pytest.mark.req("REC-8")
@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"], ids=["nul", "surrogate"])
@pytest.mark.parametrize("field", ["actor", "reason", "created_by", "policy_actor"])
def test_text_that_no_database_holds_is_refused(store: Store, text: str, field: str) -> None:
    given = {field: text}
    change = proposed(fact(), **given) if field in ("actor", "reason") else proposed(fact(**given))

    with pytest.raises(Invalid) as caught:
        write(store, change)

    assert caught.value.code == "text.characters"
    assert stored(store) == []


@pytest.mark.req("OPS-4")
def test_whole_histories_are_loaded_as_they_are(store: Store, place: Place) -> None:
    changes = [proposed(fact(source=Source(record_ids=(RecordId("rec_source"),))))]
    for confidence in range(40):
        changes.append(changed(changes[-1].record, confidence=confidence))
    events = [change.event for change in changes]
    other = proposed(preference())

    with store.transaction() as tx:
        tx.load([(changes[-1].record, events), (other.record, [other.event])])

    assert read(store, changes[-1].record.record_id) == changes[-1].record
    assert history(store, changes[-1].record.record_id) == tuple(events)
    with store.snapshot() as snapshot:
        assert ids(snapshot.records.derived_from(RecordId("rec_source"))) == [changes[-1].record.record_id]
    write(store, changed(changes[-1].record, confidence=99))
    assert read(store, changes[-1].record.record_id).confidence == 99


@pytest.mark.req("OPS-4")
def test_loading_what_is_there_already_is_a_conflict_that_names_it(store: Store) -> None:
    there, new = proposed(fact()), proposed(fact("The port is 8080"))
    write(store, there)

    with pytest.raises(Conflict) as caught, store.transaction() as tx:
        tx.load([(new.record, [new.event]), (there.record, [replace(there.event, actor="importer")])])

    assert caught.value.code == "record.exists"
    assert str(there.record.record_id) in caught.value.sentence
    assert stored(store) == [there.record]


@pytest.mark.req("OPS-4")
def test_a_history_with_a_gap_is_not_loaded(store: Store) -> None:
    first = proposed(fact())
    second = confirmed(first.record)

    with pytest.raises(Invalid) as caught, store.transaction() as tx:
        tx.load([(second.record, [second.event])])

    assert caught.value.code == "record.events"


@pytest.mark.req("LRN-12")
def test_erasing_leaves_the_moves_and_takes_the_words(store: Store) -> None:
    changes: list[RecordChange] = [proposed(fact("The codename is Atlas"), reason="heard from Ann")]
    for confidence in range(20):
        changes.append(changed(changes[-1].record, confidence=confidence))
    write(store, *changes)
    record = changes[-1].record
    last = forget_record(record, act(at=LATER))

    with store.transaction() as tx:
        tx.erase(record.record_id, [erase_event(event) for event in tx.records.events(record.record_id)])
        tx.write([last])

    kept = read(store, record.record_id)
    events = history(store, record.record_id)
    assert kept == last.record
    assert (kept.state, kept.state_reason, kept.summary) == (State.TOMBSTONED, StateReason.FORGOTTEN, "")
    assert events == (*(erase_event(change.event) for change in changes), last.event)
    assert "Atlas" not in str(events)
    with store.snapshot() as snapshot:
        assert snapshot.records.matching_subject(ACME, Kind.FACT, "codename") == ()


@pytest.mark.req("LRN-12")
def test_erasing_an_event_that_never_was_is_not_found(store: Store) -> None:
    change = proposed(fact())
    write(store, change)

    with pytest.raises(NotFound), store.transaction() as tx:
        tx.erase(change.record.record_id, [replace(change.event, revision=2)])

    assert read(store, change.record.record_id) == change.record


@pytest.mark.req("REC-9")
def test_an_answer_is_kept_with_its_effect_and_told_again(store: Store, place: Place) -> None:
    change = proposed(fact())
    answer = Answer(request_digest="abc", records=((change.record.record_id, 1),))
    with store.transaction() as tx:
        assert tx.answer("key") is None
        tx.write([change])
        tx.keep_answer("key", answer, START)
        assert tx.answer("key") == answer
    store.close()

    with place.open().transaction() as tx:
        assert tx.answer("key") == answer
        assert tx.answer("another") is None


@pytest.mark.req("REC-9")
def test_a_key_that_was_used_meanwhile_is_a_conflict(store: Store) -> None:
    answer = Answer(request_digest="abc", records=())
    with store.transaction() as tx:
        tx.keep_answer("key", answer, START)

    def use_it_again() -> None:
        with store.transaction() as tx:
            tx.write([proposed(fact())])
            tx.keep_answer("key", answer, START)

    with pytest.raises(Conflict) as caught:
        use_it_again()

    assert caught.value.code == "request.repeated"
    assert stored(store) == []


@pytest.mark.req("REC-9")
def test_a_transaction_reads_its_own_writes_and_a_snapshot_stays_as_it_was(store: Store) -> None:
    change = proposed(fact())
    with store.snapshot() as before:
        with store.transaction() as tx:
            tx.write([change])
            assert tx.records.get(change.record.record_id) == change.record
            assert before.records.get_many([change.record.record_id]) == {}
        assert before.records.get_many([change.record.record_id]) == {}

    assert read(store, change.record.record_id) == change.record


@pytest.mark.req("REC-9")
def test_a_snapshot_is_of_the_moment_it_was_taken_even_when_it_is_read_later(store: Store) -> None:
    first, second = proposed(fact()), proposed(fact())
    write(store, first)

    with store.snapshot() as snapshot:
        write(store, second)
        seen = snapshot.records.get_many([first.record.record_id, second.record.record_id])

    assert list(seen) == [first.record.record_id]


@pytest.mark.req("OPS-4")
def test_a_stream_that_was_left_half_read_disturbs_nobody(store: Store) -> None:
    write(store, *(proposed(fact()) for _ in range(2_500)))
    with store.snapshot() as snapshot:
        half_read = snapshot.records.everything()
        next(half_read)

    with store.transaction() as tx:
        tx.write([proposed(fact())])
        with pytest.raises(RunloreError):
            list(half_read)
        del half_read
        tx.write([proposed(fact())])

    assert len(stored(store)) == 2_502


@pytest.mark.req("OPS-4")
def test_what_was_written_is_there_after_the_store_is_opened_again(store: Store, place: Place) -> None:
    change = create_record(fact(), Move.PROPOSE, act())
    write(store, change)
    store.close()

    assert stored(place.open()) == [change.record]
