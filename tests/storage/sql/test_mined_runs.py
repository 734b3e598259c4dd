"""What the detectors see of runs: kept, read in the order of a session, and gone when it is forgotten."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.detectors.mined import MinedRun, OutsideRead
from runlore.domain.errors import Corrupt, Invalid
from runlore.domain.run import Run, RunId
from runlore.domain.session import SessionId
from runlore.ports.store import Store
from tests.examples import scaled
from tests.storage.places import Place, PostgresPlace
from tests.storage.run_values import keep, run, session
from tests.storage.skill_values import any_mined_of, mined_of
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("SKL-2", "OPS-4")

SESSIONS = (session("one"), session("two:'?"))
RUNS = tuple(run(SESSIONS[number % 2], f"run_{number}") for number in range(6))


def first_number(mined: MinedRun) -> int:
    """The first event that anything of a run was taken from."""
    numbers = [step.number for step in mined.steps] + [read.number for read in mined.outside]
    return min([*numbers, *([mined.request.number] if mined.request else [])], default=0)


def test_after_any_mining_every_question_is_answered_as_by_brute_force(store: Store) -> None:
    keep(store, *SESSIONS, *RUNS)
    kept: dict[RunId, MinedRun] = {}

    @settings(max_examples=scaled(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        new=st.lists(st.sampled_from(RUNS).flatmap(any_mined_of), max_size=3),
        gone=st.sets(st.sampled_from(RUNS), max_size=2),
        limit=st.integers(-1, 4),
    )
    def holds(new: list[MinedRun], gone: set[Run], limit: int) -> None:
        with store.transaction() as tx:
            for mined in new:
                tx.mined_runs.put(mined)
            tx.mined_runs.delete([RunId("nobody"), RunId("\0"), *(each.run_id for each in gone)])
        kept.update((mined.run_id, mined) for mined in new)
        for each in gone:
            kept.pop(each.run_id, None)
        with store.snapshot() as snapshot:
            for session_id in (*(each.session_id for each in SESSIONS), SessionId("nobody"), SessionId("\0")):
                whole = sorted(
                    (mined for mined in kept.values() if mined.session_id == session_id),
                    key=lambda mined: (first_number(mined), mined.run_id),
                )
                latest = whole[-limit:] if limit > 0 else []
                assert list(snapshot.mined_runs.of_session(session_id, limit=limit)) == latest
            mined_in = sorted({mined.session_id for mined in kept.values()})
            for after in (None, *mined_in, SessionId("\0")):
                behind = [name for name in mined_in if after is None or name > after]
                answered = snapshot.mined_runs.sessions(after=after, limit=limit)
                assert list(answered) == ([] if after == "\0" else behind[: max(limit, 0)])

    holds()
    assert store.problems() == ()


@pytest.mark.req("LRN-12")
def test_what_was_mined_of_a_forgotten_run_stands_nowhere_any_more(store: Store, place: Place) -> None:
    keep(store, *SESSIONS, *RUNS)
    secret = (OutsideRead(number=1, source="web_fetch https://example.com"),)
    with store.transaction() as tx:
        tx.mined_runs.put(mined_of(RUNS[0], agent="example.com agent"))
        tx.mined_runs.put(mined_of(RUNS[0], project="example.com project", outside=secret))
    with store.transaction() as tx:
        tx.mined_runs.delete([RUNS[0].run_id])
        tx.mined_runs.delete([RUNS[0].run_id])

    assert "example.com" not in str(
        [place.sql(f"SELECT * FROM {table}") for table in ("mined_runs", "texts")]
    )
    assert place.sql("SELECT count(*) FROM mined_runs") == [(0,)]
    with store.transaction() as tx:
        tx.mined_runs.put(mined_of(RUNS[0]))
    with store.snapshot() as snapshot:
        assert snapshot.mined_runs.of_session(RUNS[0].session_id, limit=9) == (mined_of(RUNS[0]),)
    assert store.problems() == ()


def test_what_no_database_holds_is_refused_and_nothing_is_kept(store: Store) -> None:
    keep(store, *SESSIONS, *RUNS)
    mined = mined_of(RUNS[0])
    for wrong in (replace(mined, agent="a\0b"), replace(mined, run_id=RunId("\0"))):
        with pytest.raises(Invalid), store.transaction() as tx:
            tx.mined_runs.put(wrong)
    with store.snapshot() as snapshot:
        assert snapshot.mined_runs.sessions(limit=9) == ()


@pytest.mark.parametrize(
    "damage", ["session_id = 'two:''?'", "number = 7", "text_revision = NULL", "text_revision = 9"]
)
def test_a_row_that_does_not_agree_with_its_text_is_told(store: Store, place: Place, damage: str) -> None:
    keep(store, *SESSIONS, *RUNS)
    with store.transaction() as tx:
        tx.mined_runs.put(mined_of(RUNS[0]))
    place.sql(f"UPDATE mined_runs SET {damage}")

    with pytest.raises(Corrupt, match="run_0"), store.snapshot() as snapshot:
        [snapshot.mined_runs.of_session(each.session_id, limit=9) for each in SESSIONS]
    assert any("run_0" in sentence for sentence in store.problems())


@pytest.mark.req("OPS-2")
def test_many_who_mine_one_run_at_once_leave_one_whole_result(postgres_place: PostgresPlace) -> None:
    store = postgres_place.open()
    keep(store, *SESSIONS, *RUNS)
    together = threading.Barrier(4)

    def mine(number: int) -> None:
        together.wait(PATIENCE_S)
        for turn in range(5):
            with store.transaction() as tx:
                tx.mined_runs.put(mined_of(RUNS[0], number + 1, agent=f"{number} {turn}"))
                if number == 0:
                    tx.mined_runs.delete([RUNS[0].run_id])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(mine, range(4)))

    assert store.problems() == ()
    filled = postgres_place.sql("SELECT count(*) FROM texts WHERE owner = 'mined run:run_0' AND body <> ''")
    assert filled == postgres_place.sql("SELECT count(*) FROM mined_runs")
