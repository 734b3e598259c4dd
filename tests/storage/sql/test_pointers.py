"""The topology index of run memories: every question answered as brute force would, after any changes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Corrupt, Invalid
from runlore.domain.prompts.run_memory import CaptureState, Pointer
from runlore.domain.run import RunId
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.ports.store import PointerCounts, Store
from runlore.storage.sql.pointers import SqlPointers
from tests.examples import scaled
from tests.storage.places import Place
from tests.storage.run_values import SCOPES, at, pointers

pytestmark = pytest.mark.req("RUN-4", "OPS-4")

SESSIONS = (SessionId("a"), SessionId("b:'?"), SessionId("雨"), SessionId("nobody"))
run_ids = st.integers(0, 12).map(lambda number: RunId(f"run_{number:02}"))


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a question names."""

    limit: int
    moment: datetime
    scopes: frozenset[Scope]
    place: tuple[datetime, RunId] | None


asked = st.builds(
    Asked,
    limit=st.integers(0, 5),
    moment=st.integers(0, 10).map(at),
    scopes=st.frozensets(st.sampled_from(SCOPES)),
    place=st.none() | st.tuples(st.integers(0, 10).map(at), run_ids),
)


def test_after_any_changes_every_question_is_answered_as_by_brute_force(store: Store) -> None:
    kept: dict[RunId, Pointer] = {}

    @settings(max_examples=scaled(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        new=st.lists(pointers, max_size=5),
        gone=st.lists(run_ids, max_size=2),
        noted=st.tuples(run_ids, st.sampled_from(CaptureState)),
        question=asked,
    )
    def holds(
        new: list[Pointer], gone: list[RunId], noted: tuple[RunId, CaptureState], question: Asked
    ) -> None:
        with store.transaction() as tx:
            tx.pointers.put(iter(new))
            tx.pointers.delete([*gone, RunId("\0")])
            tx.pointers.set_capture(dict([noted]))
        kept.update((pointer.run_id, pointer) for pointer in new)
        for run_id in gone:
            kept.pop(run_id, None)
        if noted[0] in kept:
            kept[noted[0]] = replace(kept[noted[0]], capture=noted[1])
        with store.snapshot() as snapshot:
            assert list(snapshot.pointers.everything()) == [kept[run_id] for run_id in sorted(kept)]
            assert snapshot.pointers.count() == _counted(kept.values())
            assert snapshot.pointers.get_many([RunId("nobody"), *kept, RunId("\0")]) == kept
            _check_times_and_scopes(snapshot.pointers, sorted(kept.values(), key=_age), question)
            _check_sessions(snapshot.pointers, sorted(kept.values(), key=_age), question)

    holds()


def _check_times_and_scopes(index: SqlPointers, oldest: list[Pointer], asked: Asked) -> None:
    expired = [each for each in oldest if each.captured_at < asked.moment]
    assert list(index.list_expired(asked.moment, limit=asked.limit)) == expired[: asked.limit]
    owed = [each for each in oldest if each.capture is CaptureState.PENDING]
    assert list(index.pending(limit=asked.limit)) == owed[: asked.limit]
    skipped = [each for each in oldest if each.capture is CaptureState.SKIPPED]
    assert list(index.list_skipped(limit=asked.limit)) == skipped[: asked.limit]
    late = [each for each in skipped if each.captured_at >= asked.moment]
    assert list(index.list_skipped(limit=asked.limit, since=asked.moment)) == late[: asked.limit]
    seen = [
        each
        for each in reversed(oldest)
        if set(each.scope_keys) & asked.scopes and (asked.place is None or _age(each) < asked.place)
    ]
    found = index.of_scopes(asked.scopes, limit=asked.limit, before=asked.place)
    assert list(found) == seen[: asked.limit]


def _check_sessions(index: SqlPointers, oldest: list[Pointer], asked: Asked) -> None:
    limit = asked.limit
    for session_id in SESSIONS:
        mine = [each for each in reversed(oldest) if each.session_id == session_id]
        assert list(index.of_session(session_id, limit=limit)) == mine[:limit]
        skipped = [each for each in reversed(mine) if each.capture is CaptureState.SKIPPED]
        assert list(index.list_skipped(limit=limit, session_id=session_id)) == skipped[:limit]
        late = [each for each in skipped if each.captured_at >= asked.moment]
        since = index.list_skipped(limit=limit, session_id=session_id, since=asked.moment)
        assert list(since) == late[:limit]
        runs = [(each.run_id, each.captured_at) for each in mine]
        assert list(index.runs_of_session(session_id, limit=limit)) == runs[:limit]


def test_any_number_of_scopes_can_be_asked_for_at_once(store: Store) -> None:
    scopes = [Scope(ScopeKind.PROJECT, f"p{number:03}") for number in range(80)]
    everything = [
        Pointer(
            run_id=RunId(f"run_{number:03}"),
            session_id=SessionId("s"),
            captured_at=at(number % 10),
            scope_keys=(scopes[number % 80], scopes[(number * 7) % 80])[
                : 1 + (number % 80 != number * 7 % 80)
            ],
            capture=CaptureState.SKIPPED,
        )
        for number in range(300)
    ]
    with store.transaction() as tx:
        tx.pointers.put(everything)
    newest = sorted(everything, key=_age, reverse=True)

    with store.snapshot() as snapshot:
        for limit, asked in product((1, 40, 999), (scopes, scopes[:33], [*scopes[:2], *scopes[:2]])):
            expected = [each for each in newest if set(each.scope_keys) & set(asked)][:limit]
            assert list(snapshot.pointers.of_scopes(iter(asked), limit=limit)) == expected


def test_what_no_database_holds_is_refused_and_a_broken_row_told(store: Store, place: Place) -> None:
    pointer = Pointer(
        run_id=RunId("run_1"),
        session_id=SessionId("one"),
        captured_at=at(1),
        scope_keys=SCOPES,
        capture=CaptureState.PENDING,
    )
    with pytest.raises(Invalid), store.transaction() as tx:
        tx.pointers.put([pointer, replace(pointer, run_id=RunId("\0"))])
    with store.transaction() as tx:
        assert list(tx.pointers.everything()) == []
        tx.pointers.put([pointer])
    place.sql("UPDATE run_pointers SET scopes = '[\"nowhere\"]'")

    with pytest.raises(Corrupt, match="run run_1"), store.snapshot() as snapshot:
        list(snapshot.pointers.everything())


def test_a_snapshot_stays_as_it_was(store: Store) -> None:
    pointer = Pointer(
        run_id=RunId("run_1"),
        session_id=SessionId("one"),
        captured_at=at(1),
        scope_keys=SCOPES,
        capture=CaptureState.PENDING,
    )
    with store.transaction() as tx:
        tx.pointers.put([pointer])

    with store.snapshot() as snapshot:
        with store.transaction() as tx:
            tx.pointers.delete([pointer.run_id])
        assert snapshot.pointers.of_scopes(SCOPES, limit=3) == (pointer,)


def _age(pointer: Pointer) -> tuple[datetime, RunId]:
    return (pointer.captured_at, pointer.run_id)


def _counted(kept: Iterable[Pointer]) -> PointerCounts:
    found = list(kept)
    return PointerCounts(
        sessions=len({each.session_id for each in found}),
        runs=len(found),
        scopes=len({scope for each in found for scope in each.scope_keys}),
        pending=sum(1 for each in found if each.capture is CaptureState.PENDING),
    )
