"""What only one or two callers ask of the store is answered on both databases."""

from dataclasses import replace
from datetime import timedelta

import pytest

from runlore.domain.record import Kind, Move, State
from runlore.domain.run import MemoryState, RunId, RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.session import SessionId
from runlore.ports.store import Store
from tests.builders import ACME, changed, fact, proposed
from tests.fakes import START
from tests.storage.places import ids, write
from tests.storage.something_of_everything import SESSION, fill, run

pytestmark = pytest.mark.req("OPS-4")


def test_completed_runs_of_which_nothing_is_left_are_counted(store: Store) -> None:
    fill(store)
    third, fourth, fifth = (replace(run(n), status=RunStatus.COMPLETED, error="") for n in (3, 4, 5))
    with store.transaction() as tx:
        tx.runs.insert(replace(third, memory=MemoryState.PRUNED))
        tx.runs.insert(replace(fourth, memory=MemoryState.NONE, imported=True))
        tx.runs.insert(replace(fifth, memory=MemoryState.NONE))

    with store.snapshot() as snapshot:
        count = snapshot.captures.count_without_memory
        assert count(session_id=None, since=None) == count(session_id=SESSION, since=None) == 2
        assert count(session_id=SESSION, since=START + timedelta(seconds=4)) == 1
        assert count(session_id=SessionId("another"), since=None) == 0


def test_inputs_are_found_by_their_run_and_length_and_events_by_their_type(store: Store) -> None:
    fill(store)
    runs = [RunId("run_1"), RunId("run_2"), RunId("run_none")]

    with store.snapshot() as snapshot:
        found = snapshot.journal.short_inputs(runs, bytes_max=1_000)
        assert {run_id: event.type for run_id, event in found.items()} == dict.fromkeys(
            runs[:2], EventType.INPUT
        )
        assert snapshot.journal.short_inputs(runs, bytes_max=1) == {}
        assert snapshot.journal.has(runs[0], EventType.ASSISTANT_MESSAGE)
        assert not snapshot.journal.has(runs[0], EventType.TOOL_CALL)
        assert not snapshot.journal.has(runs[2], EventType.INPUT)


@pytest.mark.req("LRN-6")
def test_ended_records_of_a_subject_are_found_newest_first(store: Store) -> None:
    older, newer = (
        proposed(fact("The codename is Atlas", created_at=START + timedelta(seconds=number)))
        for number in (1, 2)
    )
    write(store, older, newer, proposed(fact("The codename is Nova")))
    write(store, changed(older.record, Move.REJECT), changed(newer.record, Move.REJECT))

    with store.snapshot() as snapshot:
        found = snapshot.records.ended_subject(ACME, Kind.FACT, "codename", limit=9)
        assert ids(found) == [newer.record.record_id, older.record.record_id]
        assert {record.state for record in found} == {State.TOMBSTONED}
        assert snapshot.records.ended_subject(ACME, Kind.FACT, "codename", limit=1) == found[:1]
        assert snapshot.records.ended_subject(ACME, Kind.DECISION, "codename", limit=9) == ()
