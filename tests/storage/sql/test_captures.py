"""The receipts of capture: every question answered as by brute force, and what forgetting leaves of them."""

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Corrupt, Invalid
from runlore.domain.prompts.run_memory import Capture, CaptureState
from runlore.domain.run import Run, RunId
from runlore.domain.session import SessionId
from runlore.domain.taint import TRUSTED, Provenance
from runlore.ports.store import Store
from tests.examples import scaled
from tests.storage.places import Place
from tests.storage.run_values import at, keep, run, session, texts

pytestmark = pytest.mark.req("RUN-10", "OPS-4")

SESSIONS = (session("one"), session("two:'?"))
RUNS = tuple(run(SESSIONS[number % 2], f"run_{number:02}", opened_at=at(number // 3)) for number in range(12))
OUTSIDE = Provenance(untrusted=True, needs_review=True, sources=("web_fetch https://example.com",))
provenances = st.builds(
    Provenance,
    untrusted=st.booleans(),
    needs_review=st.booleans(),
    sources=st.lists(texts, max_size=3).map(tuple),
)


def captured(of: Run, state: CaptureState = CaptureState.COMPLETED, **fields: object) -> Capture:
    """A receipt of a run."""
    found = Capture(run_id=of.run_id, session_id=of.session_id, opened_at=of.opened_at, state=state)
    return replace(found, **fields)  # type: ignore[arg-type]


captures = st.builds(
    captured, st.sampled_from(RUNS), state=st.sampled_from(CaptureState), provenance=provenances
)


def age(capture: Capture | Run) -> tuple[datetime, str]:
    """The oldest first."""
    return (capture.opened_at, capture.run_id)


@pytest.mark.req("TNT-1")
def test_after_any_receipts_every_question_is_answered_as_by_brute_force(store: Store) -> None:
    keep(store, *SESSIONS, *RUNS)
    kept: dict[RunId, Capture] = {}

    @settings(max_examples=scaled(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(new=st.lists(captures, max_size=4), gone=st.sets(st.sampled_from(RUNS)), moment=st.integers(0, 5))
    def holds(new: list[Capture], gone: set[Run], moment: int) -> None:
        with store.transaction() as tx:
            for capture in new:
                tx.captures.put(capture)
            tx.captures.delete([RunId("nobody"), RunId("\0"), *(each.run_id for each in gone)])
        kept.update((capture.run_id, capture) for capture in new)
        for each in gone & {each for each in RUNS if each.run_id in kept}:
            old = kept[each.run_id]
            is_tainted = old.provenance.tainted
            known = Provenance(untrusted=is_tainted, needs_review=is_tainted)
            state = CaptureState.SKIPPED if old.state is CaptureState.PENDING else old.state
            kept[each.run_id] = replace(old, provenance=known, state=state)
        with store.snapshot() as snapshot:
            assert {each.run_id: snapshot.captures.get(each.run_id) for each in RUNS} == {
                each.run_id: kept.get(each.run_id) for each in RUNS
            }
            names = [RunId("nobody"), RunId("\0"), *(each.run_id for each in RUNS)]
            assert snapshot.captures.get_many(names) == kept
            for session_id in (*(each.session_id for each in SESSIONS), SessionId("nobody"), SessionId("\0")):
                before = [
                    each for each in RUNS if each.session_id == session_id and each.opened_at < at(moment)
                ]
                untrusted = [
                    kept[each.run_id]
                    for each in sorted(before, key=age)
                    if each.run_id in kept and kept[each.run_id].provenance.tainted
                ]
                missing = [
                    each.run_id
                    for each in sorted(before, key=age)
                    if each.run_id not in kept or kept[each.run_id].state is CaptureState.PENDING
                ]
                assert list(snapshot.captures.untrusted_before(session_id, at(moment))) == untrusted
                assert list(snapshot.captures.missing_before(session_id, at(moment))) == missing

    holds()
    assert store.problems() == ()


@pytest.mark.req("LRN-12", "TNT-1")
def test_of_a_forgotten_run_it_stays_known_whether_it_read_from_outside_and_not_from_where(
    store: Store, place: Place
) -> None:
    keep(store, *SESSIONS, *RUNS)
    with store.transaction() as tx:
        tx.captures.put(captured(RUNS[0], provenance=OUTSIDE))
        tx.captures.put(captured(RUNS[1], provenance=replace(TRUSTED, sources=("read example.com once",))))
    with store.transaction() as tx:
        tx.captures.delete([RUNS[0].run_id, RUNS[1].run_id])

    with store.snapshot() as snapshot:
        left = snapshot.captures.get_many([RUNS[0].run_id, RUNS[1].run_id])
    assert [left[each.run_id].provenance for each in RUNS[:2]] == [
        Provenance(untrusted=True, needs_review=True),
        TRUSTED,
    ]
    tables = ("run_captures", "texts", "runs", "journal")
    assert "example.com" not in str([place.sql(f"SELECT * FROM {table}") for table in tables])
    assert store.problems() == ()


def test_what_no_database_holds_is_refused(store: Store) -> None:
    keep(store, *SESSIONS, *RUNS)
    odd = replace(OUTSIDE, sources=("a\0b",))
    for wrong in (captured(RUNS[0], provenance=odd), captured(RUNS[0], run_id=RunId("\0"))):
        with pytest.raises(Invalid), store.transaction() as tx:
            tx.captures.put(wrong)
    with store.snapshot() as snapshot:
        assert snapshot.captures.get(RUNS[0].run_id) is None


def test_a_row_that_does_not_agree_with_its_text_is_told(store: Store, place: Place) -> None:
    keep(store, *SESSIONS, *RUNS)
    with store.transaction() as tx:
        tx.captures.put(captured(RUNS[0], provenance=OUTSIDE))
    # A taint that is taken away behind the store's back is not believed.
    place.sql("UPDATE run_captures SET is_untrusted = 0")

    with pytest.raises(Corrupt, match="run run_00"), store.snapshot() as snapshot:
        snapshot.captures.get(RUNS[0].run_id)
    assert any("run_00" in sentence for sentence in store.problems())


def test_a_receipt_without_sources_is_one_row(store: Store, place: Place) -> None:
    keep(store, *SESSIONS, *RUNS)
    before = place.sql("SELECT count(*) FROM texts")
    with store.transaction() as tx:
        tx.captures.put(captured(RUNS[0], CaptureState.PENDING))

    assert place.sql("SELECT count(*) FROM texts") == before
    assert place.sql("SELECT count(*) FROM run_captures") == [(1,)]
