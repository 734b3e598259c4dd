"""Requests to a person: the oldest first, decided once, gone with their run."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalMove, ApprovalState
from runlore.domain.errors import Conflict, Corrupt, Invalid, NotFound, RunloreError
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.ports.store import Store
from tests.examples import scaled
from tests.storage.places import Place
from tests.storage.promoted_values import RUNS, SESSIONS, approvals, asked
from tests.storage.run_values import at
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("AGT-5", "OPS-4")


def outcome(act: Callable[[], object]) -> str:
    """The code of what an act is refused with."""
    try:
        act()
    except RunloreError as error:
        return error.code
    return ""


def insert(store: Store, *new: Approval) -> None:
    """Write new ones in a transaction of their own."""
    with store.transaction() as tx:
        for each in new:
            tx.approvals.insert(each)


def update(store: Store, new: Approval, expected: int) -> None:
    """Write a decided one in a transaction of its own."""
    with store.transaction() as tx:
        tx.approvals.update(new, expected_revision=expected)


class Model:
    """What the collection is: requests by id."""

    def __init__(self) -> None:
        self.kept: dict[ApprovalId, Approval] = {}

    def insert(self, new: Approval) -> str:
        """What an insert comes to."""
        if new.approval_id in self.kept:
            return "approval.exists"
        self.kept[new.approval_id] = new
        return ""

    def update(self, new: Approval, expected: int) -> str:
        """What an update comes to."""
        if new.approval_id not in self.kept:
            return "approval.not-found"
        if self.kept[new.approval_id].revision != expected:
            return "approval.moved"
        self.kept[new.approval_id] = new
        return ""

    def oldest(self) -> list[Approval]:
        """All of them in the order of the list."""
        return sorted(self.kept.values(), key=lambda each: (each.created_at, each.approval_id))


def test_after_any_acts_every_question_is_answered_as_by_brute_force(store: Store) -> None:
    model = Model()

    @settings(max_examples=scaled(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        new=st.lists(approvals, max_size=4),
        changes=st.lists(st.tuples(approvals, st.integers(1, 3)), max_size=3),
        gone=st.none() | st.sampled_from(RUNS[:2]),
        limit=st.integers(-1, 4),
        after=st.none()
        | st.tuples(st.integers(0, 3).map(at), st.integers(0, 6).map(lambda n: ApprovalId(f"apr_{n:02}"))),
        narrowed=st.tuples(
            st.none() | st.frozensets(st.sampled_from(ApprovalState)),
            st.none() | st.sampled_from(RUNS),
            st.none() | st.sampled_from(SESSIONS),
        ),
    )
    def holds(
        new: list[Approval],
        changes: list[tuple[Approval, int]],
        gone: RunId | None,
        *,
        limit: int,
        after: tuple[datetime, ApprovalId] | None,
        narrowed: tuple[frozenset[ApprovalState] | None, RunId | None, SessionId | None],
    ) -> None:
        for each in new:
            ended = outcome(lambda each=each: insert(store, each))  # type: ignore[misc]
            assert ended == model.insert(each)
        for each, expected in changes:
            ended = outcome(lambda each=each, at=expected: update(store, each, at))  # type: ignore[misc]
            assert ended == model.update(each, expected)
        if gone is not None:
            with store.transaction() as tx:
                tx.approvals.delete([gone, RunId("nobody"), RunId("\0")])
            model.kept = {key: each for key, each in model.kept.items() if each.run_id != gone}
        states, run_id, session_id = narrowed
        wanted = [
            each
            for each in model.oldest()
            if (after is None or (each.created_at, each.approval_id) > after)
            and (states is None or each.state in states)
            and (run_id is None or each.run_id == run_id)
            and (session_id is None or each.session_id == session_id)
        ]
        with store.snapshot() as snapshot:
            found = snapshot.approvals.page(
                limit=limit, after=after, states=states, run_id=run_id, session_id=session_id
            )
            assert list(found) == wanted[: max(limit, 0)]
            assert list(snapshot.approvals.page(limit=99)) == model.oldest()
            for approval_id, each in model.kept.items():
                assert snapshot.approvals.get(approval_id) == each

    holds()
    assert model.kept
    assert store.problems() == ()


def test_what_is_not_there_is_not_found(store: Store) -> None:
    insert(store, asked())
    with store.snapshot() as snapshot:
        for name in ("nobody", "\0"):
            with pytest.raises(NotFound) as refused:
                snapshot.approvals.get(ApprovalId(name))
            assert refused.value.code == "approval.not-found"
            assert refused.value.hint
        assert snapshot.approvals.page(limit=9, run_id=RunId("\0")) == ()
        assert snapshot.approvals.page(limit=9, session_id=SessionId("\0")) == ()


def test_what_no_database_holds_is_refused(store: Store) -> None:
    for wrong in (
        asked(approval_id=ApprovalId("\0")),
        asked(run_id=RunId("\0")),
        asked(session_id=SessionId("\0")),
        asked(decided_by="\0"),
        asked(arguments={"command": "\0"}),
        asked(question="\0"),
    ):
        with pytest.raises(Invalid):
            insert(store, wrong)
    with store.snapshot() as snapshot:
        assert snapshot.approvals.page(limit=9) == ()


@pytest.mark.req("LRN-12")
def test_nothing_that_a_forgotten_run_asked_is_left(store: Store, place: Place) -> None:
    words = {"why": "zebra", "question": "zebra", "tool": "zebra", "call_id": "zebra"}
    mine, other = asked(1, arguments={"zebra": "zebra"}, **words), asked(2, run_id=RUNS[2])
    insert(store, mine, other)
    update(store, mine.apply_move(ApprovalMove.ANSWER, at=at(9), actor="ada", answer="zebra"), 1)

    with store.transaction() as tx:
        tx.approvals.delete([mine.run_id])

    assert "zebra" not in str([place.sql(f"SELECT * FROM {table}") for table in ("approvals", "texts")])
    with store.snapshot() as snapshot:
        assert snapshot.approvals.page(limit=9) == (other,)
    assert store.problems() == ()
    insert(store, asked(1))
    assert store.problems() == ()


@pytest.mark.parametrize("damage", ["kind = 'x'", "state = 'x'", "text_revision = 9"])
def test_a_damaged_row_is_told(store: Store, place: Place, damage: str) -> None:
    insert(store, asked(1))
    place.sql(f"UPDATE approvals SET {damage}")

    with pytest.raises(Corrupt), store.snapshot() as snapshot:
        snapshot.approvals.page(limit=9)
    assert any("apr_01" in sentence for sentence in store.problems())


def test_of_many_who_decide_at_once_one_is_heard(store: Store) -> None:
    insert(store, asked(1))
    together = threading.Barrier(5)

    def decide(number: int) -> str:
        move = ApprovalMove.APPROVE if number % 2 else ApprovalMove.DENY
        decided = asked(1).apply_move(move, at=at(9), actor=f"person {number}")
        together.wait(PATIENCE_S)
        return outcome(lambda: update(store, decided, 1))

    with ThreadPoolExecutor(5) as pool:
        ends = list(pool.map(decide, range(5)))

    assert sorted(ends) == ["", *["approval.moved"] * 4]
    with store.snapshot() as snapshot:
        assert snapshot.approvals.get(asked(1).approval_id).decided_by == f"person {ends.index('')}"


@pytest.mark.parametrize("move", ApprovalMove)
@pytest.mark.parametrize("state", ApprovalState)
def test_every_move_of_a_request_ends_it_once(state: ApprovalState, move: ApprovalMove) -> None:
    request = asked(1, state=state)
    if state is not ApprovalState.WAITING:
        with pytest.raises(Conflict) as refused:
            request.apply_move(move, at=at(9), actor="ada")
        assert refused.value.code == "approval.move"
        return
    ends = {
        ApprovalMove.APPROVE: ApprovalState.APPROVED,
        ApprovalMove.DENY: ApprovalState.DENIED,
        ApprovalMove.ANSWER: ApprovalState.ANSWERED,
        ApprovalMove.LAPSE: ApprovalState.LAPSED,
    }
    after = request.apply_move(move, at=at(9), actor="ada", answer="yes")
    assert (after.state, after.decided_at, after.decided_by) == (ends[move], at(9), "ada")
    assert (after.answer, after.revision) == ("yes", 2)
