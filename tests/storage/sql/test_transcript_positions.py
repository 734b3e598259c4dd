"""How far transcripts were read: noted with what was stored of them, and gone with the session."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Corrupt, Invalid
from runlore.domain.runs.transcript import START as BEGINNING
from runlore.domain.runs.transcript import Position
from runlore.domain.session import SessionId
from runlore.ports.store import Store
from tests.examples import scaled
from tests.storage.places import Place, PostgresPlace
from tests.storage.run_values import at
from tests.storage.skill_values import positions
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("INT-1", "OPS-4")

SOURCES = ("a" * 64, "b" * 64, "c ' ?", "雨")
SESSIONS = (SessionId("one"), SessionId("two:'?"))


def test_after_any_reading_the_latest_positions_are_told(store: Store) -> None:
    kept: dict[str, tuple[Position, set[SessionId]]] = {}

    @settings(max_examples=scaled(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        new=st.lists(
            st.tuples(st.sampled_from(SOURCES), positions, st.sets(st.sampled_from(SESSIONS))), max_size=3
        ),
        gone=st.sets(st.sampled_from(SESSIONS), max_size=1),
        asked=st.lists(st.sampled_from((*SOURCES, "nobody", "\0"))),
    )
    def holds(
        new: list[tuple[str, Position, set[SessionId]]], gone: set[SessionId], asked: list[str]
    ) -> None:
        with store.transaction() as tx:
            for source, position, session_ids in new:
                tx.transcript_positions.put(source, position, at(1), session_ids=session_ids)
            tx.transcript_positions.delete_of_sessions([SessionId("nobody"), SessionId("\0"), *gone])
        for source, position, session_ids in new:
            before = kept[source][1] if source in kept else set()
            kept[source] = position, session_ids | before
        for source in [source for source, (_, session_ids) in kept.items() if session_ids & gone]:
            del kept[source]
        with store.snapshot() as snapshot:
            found = snapshot.transcript_positions.get_many(asked)
            assert found == {source: kept[source][0] for source in asked if source in kept}
            whole = snapshot.transcript_positions.get_many(SOURCES)
            assert whole == {source: position for source, (position, _) in kept.items()}

    holds()
    assert store.problems() == ()


@pytest.mark.req("LRN-12")
def test_the_folder_of_a_forgotten_session_stands_nowhere_any_more(store: Store, place: Place) -> None:
    for line in range(3):
        folder = Position(line=line, carried={"folder": f"/srv/zebra/{line}"})
        with store.transaction() as tx:
            tx.transcript_positions.put(SOURCES[0], folder, at(line), session_ids=[SESSIONS[0]])
    assert str(place.sql("SELECT body FROM texts")).count("zebra") == 1, "the ones before are emptied"
    with store.transaction() as tx:
        tx.transcript_positions.delete_of_sessions([SESSIONS[0]])

    rows = [place.sql(f"SELECT * FROM {table}") for table in ("transcript_positions", "texts")]
    assert "zebra" not in str(rows)
    assert store.problems() == ()


@pytest.mark.req("CAP-7")
def test_a_position_is_rolled_back_with_what_it_was_noted_for(store: Store) -> None:
    with store.transaction() as tx:
        tx.transcript_positions.put(SOURCES[0], BEGINNING, at(1))
    with suppress(ZeroDivisionError):
        _note_and_fail(store)

    with store.snapshot() as snapshot:
        assert snapshot.transcript_positions.get_many(SOURCES) == {SOURCES[0]: BEGINNING}


def _note_and_fail(store: Store) -> None:
    with store.transaction() as tx:
        tx.transcript_positions.put(SOURCES[0], Position(offset=9), at(2))
        tx.transcript_positions.put(SOURCES[1], Position(offset=9), at(2))
        raise ZeroDivisionError


def test_what_no_database_holds_is_refused(store: Store) -> None:
    odd = Position(carried={"folder": "a\0b"})
    for source, position, session_ids in (
        ("\0", BEGINNING, []),
        ("a", odd, []),
        ("a", BEGINNING, [SessionId("\0")]),
    ):
        with pytest.raises(Invalid), store.transaction() as tx:
            tx.transcript_positions.put(source, position, at(1), session_ids=session_ids)
    with store.snapshot() as snapshot:
        assert snapshot.transcript_positions.get_many(["a"]) == {}


@pytest.mark.parametrize("revision", ["NULL", "9"])
def test_a_position_whose_text_is_missing_is_told(store: Store, place: Place, revision: str) -> None:
    with store.transaction() as tx:
        tx.transcript_positions.put(SOURCES[0], BEGINNING, at(1))
    place.sql(f"UPDATE transcript_positions SET text_revision = {revision}")

    with pytest.raises(Corrupt, match="transcript a"), store.snapshot() as snapshot:
        snapshot.transcript_positions.get_many(SOURCES)
    assert any("transcript a" in sentence for sentence in store.problems())


def test_many_who_read_one_source_at_once_leave_one_whole_position(postgres_place: PostgresPlace) -> None:
    store = postgres_place.open()
    together = threading.Barrier(4)

    def read(number: int) -> None:
        together.wait(PATIENCE_S)
        for line in range(5):
            with store.transaction() as tx:
                told = Position(line=line, offset=number)
                tx.transcript_positions.put(SOURCES[0], told, at(line), session_ids=[SESSIONS[number % 2]])
                if number == 0:
                    tx.transcript_positions.delete_of_sessions(SESSIONS)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read, range(4)))

    assert store.problems() == ()
    filled = postgres_place.sql("SELECT count(*) FROM texts WHERE body <> ''")
    assert filled == postgres_place.sql("SELECT count(*) FROM transcript_positions")
