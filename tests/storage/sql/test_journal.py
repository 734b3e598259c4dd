"""The journal: numbered without gaps, told again as it was, and damage that is found."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.errors import Corrupt, Invalid, NotFound
from runlore.domain.run import RunId, RunStatus
from runlore.domain.runs.journal import Entry, EventType, JournalEvent, continuing
from runlore.domain.session import SessionId
from runlore.ports.store import Store
from tests.examples import scaled
from tests.fakes import START
from tests.storage.places import Place, PostgresPlace
from tests.storage.run_values import append, at, entries, keep, moments, run, said, session
from tests.waiting import until

pytestmark = pytest.mark.req("JRN-1", "OPS-4")

many = settings(max_examples=scaled(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
ONE, TWO = session("one"), session("two ?'%")
RUNS = (RunId("run_1"), RunId("run ?'2"), None)


@pytest.fixture
def held(store: Store) -> Store:
    """A store with two sessions."""
    keep(store, ONE, TWO)
    return store


def test_any_events_are_told_again_in_order_by_session_by_run_and_by_range(held: Store) -> None:
    told: dict[SessionId, list[JournalEvent]] = {ONE.session_id: [], TWO.session_id: []}

    @many
    @given(
        session_id=st.sampled_from(sorted(told)),
        run_id=st.sampled_from(RUNS),
        new=st.lists(entries, max_size=4),
        moment=moments,
        asked=st.tuples(st.integers(-2, 40), st.integers(-2, 40), st.integers(-1, 12)),
    )
    def holds(
        session_id: SessionId,
        run_id: RunId | None,
        new: list[Entry],
        moment: datetime,
        asked: tuple[int, int, int],
    ) -> None:
        # A run is of one session.
        run_id = None if run_id is None else RunId(f"{run_id} of {session_id}")
        with held.transaction() as tx:
            first = tx.journal.append(session_id, run_id, new, moment)
        events = told[session_id]
        assert first == len(events) + 1
        events.extend(_events(session_id, run_id, new, first=first, moment=moment))
        low, high, limit = asked
        with held.snapshot() as snapshot:
            journal = snapshot.journal
            assert snapshot.sessions.get(session_id).next_number == len(events) + 1
            assert list(journal.range(session_id, low, high)) == [
                e for e in events if low <= e.number <= high
            ]
            behind = [event for event in events if event.number > low]
            assert (
                list(journal.page(session_id=session_id, after=low, limit=limit)) == behind[: max(limit, 0)]
            )
            for name in {event.run_id for event in events if event.run_id}:
                of_run = [event for event in behind if event.run_id == name][: max(limit, 0)]
                assert list(journal.page(run_id=name, after=low, limit=limit)) == of_run
                assert (
                    list(journal.page(run_id=name, session_id=session_id, after=low, limit=limit)) == of_run
                )

    holds()


@pytest.mark.req("INT-1")
def test_each_event_has_a_time_of_its_own_and_the_session_the_latest(held: Store) -> None:
    told: list[datetime] = []

    @many
    @given(times=st.lists(moments, max_size=5), once=moments)
    def holds(times: list[datetime], once: datetime) -> None:
        with held.transaction() as tx:
            tx.journal.append(ONE.session_id, None, [said("x") for _ in times], times)
            tx.journal.append(ONE.session_id, None, [said("y")], once)
        told.extend((*times, once))
        with held.snapshot() as snapshot:
            events = snapshot.journal.range(ONE.session_id, 1, len(told) + 1)
            assert [event.at for event in events] == told
            assert snapshot.sessions.get(ONE.session_id).active_at == max(*told, ONE.active_at)

    holds()
    with pytest.raises(ValueError, match="zip"), held.transaction() as tx:
        tx.journal.append(ONE.session_id, None, [said("x")], [])
    assert append(held, ONE.session_id, None, said("x")) == len(told) + 1
    assert held.problems() == ()


def test_a_session_that_is_not_there_takes_no_events(held: Store) -> None:
    for name in ("nobody", ""):
        with pytest.raises(NotFound) as caught:
            append(held, SessionId(name), None, said("x"))
        assert caught.value.code == "session.not-found"
    with held.snapshot() as snapshot:
        for name in ("nobody", "\0", "\ud800"):
            assert snapshot.journal.range(SessionId(name), 1, 9) == ()
            assert snapshot.journal.page(session_id=SessionId(name), limit=9) == ()
            assert snapshot.journal.page(run_id=RunId(name), limit=9) == ()
            assert snapshot.journal.inputs([RunId(name)]) == {}
            assert snapshot.journal.latest_text(RunId(name)) == ""


def test_what_no_database_holds_is_refused_and_takes_no_number(held: Store) -> None:
    bodies: list[dict[str, object]] = [
        {"text": "\0"},
        {"a": [{"b": "x\0"}]},
        {"\0": 1},
        {"text": "\ud800"},
        {"big": 2**64},
    ]
    for body in bodies:
        with pytest.raises(Invalid):
            append(held, ONE.session_id, None, said("fine"), Entry(type=EventType.USAGE, body=body))  # type: ignore[arg-type]
    with pytest.raises(Invalid):
        append(held, ONE.session_id, RunId("\0"), said("fine"))

    assert append(held, ONE.session_id, None, said("fine")) == 1


def test_a_body_is_stored_canonically(held: Store, place: Place) -> None:
    append(held, ONE.session_id, None, Entry(type=EventType.USAGE, body={"b": 1, "a": {"d": [1], "c": "ü"}}))

    assert place.sql("SELECT body, bytes FROM journal") == [('{"a":{"c":"ü","d":[1]},"b":1}', 30)]


def test_a_page_of_large_bodies_is_shorter_and_never_empty(held: Store) -> None:
    third = limits.JOURNAL_PAGE_BYTES_MAX // 3
    sizes = [10, third, third, third, limits.JOURNAL_PAGE_BYTES_MAX + 9, 10, 10]
    append(held, ONE.session_id, RUNS[0], *(said("x" * size) for size in sizes))

    pages: list[list[int]] = []
    with held.snapshot() as snapshot:
        after = 0
        while page := snapshot.journal.page(run_id=RUNS[0], after=after, limit=5):
            pages.append([event.number for event in page])
            after = page[-1].number

    assert pages == [[1, 2, 3], [4], [5], [6, 7]]


@pytest.mark.req("RUN-4")
def test_each_run_tells_its_input_and_its_latest_text(held: Store) -> None:
    first, second = run(ONE, "run_1"), run(ONE, "run_2", input_number=3)
    silent, empty = run(ONE, "run_3", input_number=99), run(ONE, "run_4", input_number=4)
    keep(held, first, second, silent, empty)
    session_id = ONE.session_id
    append(held, session_id, first.run_id, said("do one", EventType.INPUT), said("did one"))
    append(held, session_id, second.run_id, said("do two", EventType.INPUT))
    append(held, session_id, empty.run_id, Entry(type=EventType.INPUT, body={}))
    replies = [said(f"step {number}") for number in range(30)]
    parts = [continuing(said(f", {number}")) for number in range(30, 45)]
    append(held, session_id, second.run_id, *replies, *parts)
    append(held, session_id, second.run_id, *([said("")] * 20), said("a tool", EventType.TOOL_CALL))

    with held.snapshot() as snapshot:
        asked = [RunId(f"run_{number}") for number in (1, 2, 3, 4, 5, 1)]
        assert snapshot.journal.inputs(asked) == {
            first.run_id: "do one",
            second.run_id: "do two",
            empty.run_id: "",
        }
        texts = [snapshot.journal.latest_text(run_id) for run_id in asked[:4]]
    assert texts == ["did one", ", ".join(["step 29", *map(str, range(30, 45))]), "", ""]


@pytest.mark.req("RUN-4")
def test_an_erased_run_keeps_its_numbers_types_and_times_and_loses_its_words(held: Store) -> None:
    mine, other = run(ONE, "run_1"), run(ONE, "run_2", input_number=2)
    keep(held, mine, other)
    append(held, ONE.session_id, mine.run_id, said("mine", EventType.INPUT))
    append(held, ONE.session_id, other.run_id, said("other", EventType.INPUT))
    append(held, ONE.session_id, mine.run_id, said("reply"), Entry(type=EventType.STATUS, body={}))
    with held.snapshot() as snapshot:
        before = snapshot.journal.range(ONE.session_id, 1, 9)
        size = snapshot.journal.bytes()

    with held.transaction() as tx:
        assert tx.journal.erase_run(mine.run_id) == 2
        assert tx.journal.erase_run(mine.run_id) == 0
        assert tx.journal.erase_run(RunId("\0")) == 0

    with held.snapshot() as snapshot:
        after = snapshot.journal.range(ONE.session_id, 1, 9)
        assert after == tuple(
            replace(event, body={}) if event.run_id == mine.run_id else event for event in before
        )
        assert snapshot.journal.inputs([mine.run_id, other.run_id]) == {
            mine.run_id: "",
            other.run_id: "other",
        }
        assert snapshot.journal.latest_text(mine.run_id) == ""
        assert snapshot.journal.bytes() == len('{"text":"other"}') < size
    assert append(held, ONE.session_id, mine.run_id, said("more")) == 5


def test_an_erased_session_is_emptied_in_pieces_and_alone(held: Store) -> None:
    append(held, ONE.session_id, None, *(said(f"text {number}") for number in range(2_300)))
    append(held, TWO.session_id, None, said("kept"))

    with held.transaction() as tx:
        assert tx.journal.erase_session(ONE.session_id) == 2_300

    with held.snapshot() as snapshot:
        events = snapshot.journal.range(ONE.session_id, 1, 9_999)
        assert [event.number for event in events] == list(range(1, 2_301))
        assert not any(event.body for event in events)
        assert snapshot.journal.page(session_id=TWO.session_id, limit=9)[0].body == {"text": "kept"}
        assert snapshot.journal.bytes() == len('{"text":"kept"}')


@pytest.mark.req("RUN-4")
def test_two_who_erase_at_once_free_what_was_there_once(postgres_place: PostgresPlace) -> None:
    store, other = postgres_place.open(), postgres_place.open()
    keep(store, ONE, run(ONE, "run_1"))
    append(store, ONE.session_id, RUNS[0], said("mine"), said("mine too"))
    append(store, ONE.session_id, None, said("kept"))

    def erase() -> int:
        with other.transaction() as tx:
            return tx.journal.erase_session(ONE.session_id)

    with ThreadPoolExecutor(1) as pool:
        with store.transaction() as tx:
            assert tx.journal.erase_run(RunId("run_1")) == 2
            erasing = pool.submit(erase)
            waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
            until(lambda: bool(postgres_place.sql(waiting)))
        assert erasing.result() == 1

    with store.snapshot() as snapshot:
        assert (snapshot.journal.bytes(), snapshot.journal.find_miscounted(limit=9)) == (0, ())


@pytest.mark.req("OPS-2")
def test_a_wrong_count_of_bytes_is_found_and_counted_anew(held: Store, place: Place) -> None:
    append(held, ONE.session_id, RUNS[0], said("12345"), said("雨"))
    append(held, TWO.session_id, None, said("other"))
    with held.snapshot() as snapshot:
        right = snapshot.journal.bytes()
        assert snapshot.journal.find_miscounted(limit=9) == ()
    place.sql("UPDATE sessions SET journal_bytes = journal_bytes + 7")

    with held.snapshot() as snapshot:
        assert snapshot.journal.find_miscounted(limit=9) == (ONE.session_id, TWO.session_id)
        assert snapshot.journal.find_miscounted(limit=1) == (ONE.session_id,)
    with held.transaction() as tx:
        tx.journal.recount(ONE.session_id)
        tx.journal.recount(SessionId("nobody"))

    with held.snapshot() as snapshot:
        assert snapshot.journal.find_miscounted(limit=9) == (TWO.session_id,)
        assert snapshot.journal.bytes() == right + 7


@pytest.mark.req("OPS-6")
def test_old_checkpoints_are_found_and_emptied_alone(held: Store) -> None:
    mark = Entry(type=EventType.CHECKPOINT, body={"text": "so far"})
    with held.transaction() as tx:
        tx.journal.append(ONE.session_id, None, [mark, said("kept")], at(1))
        tx.journal.append(ONE.session_id, None, [mark], at(2))
        tx.journal.append(TWO.session_id, None, [mark], at(2))

    with held.snapshot() as snapshot:
        assert snapshot.journal.sessions_with_checkpoints(at(1)) == ()
        assert snapshot.journal.sessions_with_checkpoints(at(2)) == (ONE.session_id,)
        assert snapshot.journal.count(session_id=ONE.session_id) == 3
    with held.transaction() as tx:
        assert tx.journal.erase_checkpoints(ONE.session_id, at(2)) == 1
        assert tx.journal.erase_checkpoints(ONE.session_id, at(2)) == 0
        assert tx.journal.erase_checkpoints(SessionId("\0"), at(2)) == 0

    with held.snapshot() as snapshot:
        bodies = [bool(event.body) for event in snapshot.journal.range(ONE.session_id, 1, 9)]
        assert bodies == [False, True, True]
        assert snapshot.journal.count(session_id=ONE.session_id) == 2
        assert snapshot.journal.count(session_id=SessionId("\0")) == 0
        assert snapshot.journal.find_miscounted(limit=9) == ()


def test_sizes_are_told_of_terminal_runs_that_have_a_journal_oldest_first(held: Store) -> None:
    ended = {"status": RunStatus.COMPLETED}
    late = run(ONE, "a", finished_at=at(9), **ended)
    early = run(TWO, "b", finished_at=at(1), **ended)
    emptied, without, going = run(ONE, "c", **ended), run(ONE, "d", **ended), run(ONE, "e")
    keep(held, late, early, emptied, without, going)
    for each in (late, early, emptied, going):
        append(held, each.session_id, each.run_id, said("12345"), said("雨"))
    append(held, ONE.session_id, None, said("of nobody"))
    with held.transaction() as tx:
        tx.journal.erase_run(emptied.run_id)

    with held.snapshot() as snapshot:
        told = list(snapshot.journal.sizes())
        total = snapshot.journal.bytes()

    of_one = len('{"text":"12345"}') + len('{"text":"雨"}'.encode())
    assert told == [(early.run_id, at(1), of_one), (late.run_id, at(9), of_one)]
    assert total == 3 * of_one + len('{"text":"of nobody"}')


def test_a_row_that_was_changed_behind_the_stores_back_is_told_by_its_number(
    held: Store, place: Place
) -> None:
    damages = {
        "type": "'status'",
        "at_ms": "at_ms + 1",
        "run_id": "'other'",
        "bytes": "bytes + 1",
        "checksum": "'00000000'",
        "body": "'{}'",
        "number": "number + 100",
    }
    append(held, ONE.session_id, RUNS[0], *(said(f"text {number}") for number in range(len(damages) + 1)))
    for number, (column, value) in enumerate(damages.items(), start=1):
        place.sql(f"UPDATE journal SET {column} = {value} WHERE number = {number}")

    for number, column in enumerate(damages, start=1):
        found = number + 100 if column == "number" else number
        with (
            held.snapshot() as snapshot,
            pytest.raises(Corrupt, match=f"event {found} of session one") as caught,
        ):
            snapshot.journal.range(ONE.session_id, found, found)
        assert caught.value.code == "journal.damaged"
    with held.snapshot() as snapshot:
        assert len(snapshot.journal.range(ONE.session_id, 8, 8)) == 1


def test_damaged_bodies_can_still_be_erased(held: Store, place: Place) -> None:
    append(held, ONE.session_id, RUNS[0], said("secret"))
    place.sql("UPDATE journal SET body = 'broken'")

    with held.transaction() as tx:
        assert tx.journal.count(run_id=RunId("run_1")) == 1
        assert tx.journal.erase_session(ONE.session_id) == 1
        assert tx.journal.count(run_id=RunId("run_1")) == 0

    with held.snapshot() as snapshot:
        assert snapshot.journal.range(ONE.session_id, 1, 1)[0].body == {}


@pytest.mark.req("JRN-5")
def test_history_before_a_checkpoint_stays_readable(held: Store) -> None:
    append(
        held, ONE.session_id, None, said("early"), Entry(type=EventType.CHECKPOINT, body={"text": "so far"})
    )
    with held.transaction() as tx:
        tx.sessions.update(replace(ONE, checkpoint_number=2, revision=2), expected_revision=1)
    append(held, ONE.session_id, None, said("late"))

    with held.snapshot() as snapshot:
        found = snapshot.sessions.get(ONE.session_id)
        assert (found.checkpoint_number, found.next_number) == (2, 4)
        texts = [event.body["text"] for event in snapshot.journal.range(ONE.session_id, 1, 9)]
    assert texts == ["early", "so far", "late"]


def test_a_snapshot_stays_as_it_was_while_others_append_and_erase(held: Store) -> None:
    append(held, ONE.session_id, None, said("before"))

    with held.snapshot() as snapshot:
        append(held, ONE.session_id, None, said("after"))
        with held.transaction() as tx:
            tx.journal.erase_session(ONE.session_id)
        assert [event.body for event in snapshot.journal.range(ONE.session_id, 1, 9)] == [{"text": "before"}]
        assert snapshot.sessions.get(ONE.session_id).next_number == 2


def _events(
    session_id: SessionId, run_id: RunId | None, new: Sequence[Entry], *, first: int, moment: datetime = START
) -> list[JournalEvent]:
    return [
        JournalEvent(
            session_id=session_id, number=number, run_id=run_id, type=entry.type, at=moment, body=entry.body
        )
        for number, entry in enumerate(new, start=first)
    ]
