"""Promoted skills: one of a name, every snapshot kept, found by their learning and by their runs."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Conflict, Corrupt, Invalid, NotFound, RunloreError
from runlore.domain.record import RecordId
from runlore.domain.run import RunId
from runlore.domain.serialization.codec import erase
from runlore.domain.skills.rollout import Execution, PromotedSkill, RolloutStatus
from runlore.ports.store import Store
from runlore.storage.sql.promotions import SqlPromotions
from tests.examples import scaled
from tests.storage.places import Place, PostgresPlace
from tests.storage.promoted_values import (
    NAMES,
    RUNS,
    SOURCES,
    executed,
    executions,
    kept_promoted,
    later,
    promoted_skills,
    told,
)
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("ROL-10", "OPS-4")


class Model:
    """What the collection is: the snapshots of each name, and the executions."""

    def __init__(self) -> None:
        self.kept: dict[str, list[PromotedSkill]] = {}
        self.executions: dict[tuple[str, str, str], Execution] = {}

    def put(self, new: PromotedSkill, expected: int | None) -> str:
        """What a put comes to."""
        known = self.kept.get(new.name)
        if expected is None and known is not None:
            return "promoted.exists"
        if expected is not None and known is None:
            return "promoted.not-found"
        if known is not None and known[-1].revision != expected:
            return "promoted.moved"
        self.kept.setdefault(new.name, []).append(new)
        return ""

    def rewrite(self, name: str) -> None:
        """What forgetting leaves."""
        self.kept[name] = [erase(each) for each in self.kept[name]]

    def add(self, execution: Execution) -> str:
        """What an execution comes to."""
        if execution.skill_name not in self.kept:
            return "promoted.not-found"
        key = (execution.run_id, execution.skill_name, execution.fingerprint)
        self.executions.setdefault(key, execution)
        return ""

    def delete(self, run_id: RunId) -> None:
        """What a forgotten run takes along."""
        left = {
            key: each
            for key, each in self.executions.items()
            if run_id not in (each.run_id, each.calling_run_id)
        }
        self.executions = left

    def assert_is(self, found: SqlPromotions) -> None:
        """Every question is answered as it is here."""
        current = [self.kept[name][-1] for name in sorted(self.kept)]
        assert found.names() == self.kept.keys()
        assert found.stamp() == sum(each.revision for each in current)
        for name in (*NAMES, "nobody"):
            history = self.kept.get(name, [])
            assert found.find(name) == (history[-1] if history else None)
            every = list(enumerate(history, start=1))
            assert list(found.history(name)) == every
            after = len(every) // 2
            assert list(found.history(name, after=after, limit=2)) == every[after : after + 2]
            for status in RolloutStatus:
                of_status = [pair for pair in every if pair[1].status is status]
                assert found.newest(name, status) == (of_status[-1] if of_status else None)
            for run_id in RUNS:
                assert list(found.executions(name, run_id)) == self._executions(name, run_id)
        for source in SOURCES:
            expected = [each for each in current if each.source_record_id == source]
            assert list(found.of_source(source)) == expected

    def _executions(self, name: str, run_id: RunId) -> list[Execution]:
        of_run = [
            each
            for each in self.executions.values()
            if each.skill_name == name and run_id in (each.run_id, each.calling_run_id)
        ]
        return sorted(of_run, key=lambda each: (each.at, each.run_id, each.fingerprint))

    def page(
        self,
        limit: int,
        after: str | None,
        statuses: frozenset[RolloutStatus] | None,
        source: RecordId | None,
    ) -> list[PromotedSkill]:
        """A page."""
        return [
            each[-1]
            for name, each in sorted(self.kept.items())
            if (after is None or name > after)
            and (statuses is None or each[-1].status in statuses)
            and (source is None or each[-1].source_record_id == source)
        ][: max(limit, 0)]


def outcome(act: Callable[[], object]) -> str:
    """The code of what an act is refused with."""
    try:
        act()
    except RunloreError as error:
        return error.code
    return ""


def put(store: Store, skill: PromotedSkill, expected: int | None = None) -> None:
    """Write one in a transaction of its own."""
    with store.transaction() as tx:
        tx.promotions.put(skill, expected_revision=expected)


def add(store: Store, execution: Execution) -> None:
    """Keep an execution in a transaction of its own."""
    with store.transaction() as tx:
        tx.promotions.add_execution(execution)


def forget(store: Store, name: str) -> None:
    """Blank one with all its snapshots."""
    with store.transaction() as tx:
        skill = tx.promotions.find(name)
        assert skill is not None
        history = [(number, erase(each)) for number, each in tx.promotions.history(name)]
        tx.promotions.rewrite(erase(skill), history)


def test_after_any_acts_every_question_is_answered_as_by_brute_force(store: Store) -> None:
    model = Model()

    @settings(max_examples=scaled(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        new=st.lists(st.tuples(promoted_skills, st.none() | st.integers(1, 3)), max_size=4),
        ran=st.lists(executions, max_size=4),
        gone=st.none() | st.sampled_from(RUNS),
        forgotten=st.none() | st.sampled_from(NAMES),
        page=st.tuples(
            st.integers(-1, 3),
            st.none() | st.sampled_from((*NAMES, "c")),
            st.none() | st.frozensets(st.sampled_from(RolloutStatus)),
            st.none() | st.sampled_from(SOURCES),
        ),
    )
    def holds(
        new: list[tuple[PromotedSkill, int | None]],
        ran: list[Execution],
        gone: RunId | None,
        forgotten: str | None,
        page: tuple[int, str | None, frozenset[RolloutStatus] | None, RecordId | None],
    ) -> None:
        for each, expected in new:
            ended = outcome(lambda each=each, at=expected: put(store, each, at))  # type: ignore[misc]
            assert ended == model.put(each, expected)
        for execution in ran:
            ended = outcome(lambda each=execution: add(store, each))  # type: ignore[misc]
            assert ended == model.add(execution)
        if gone is not None:
            with store.transaction() as tx:
                tx.promotions.delete_executions([gone, RunId("nobody"), RunId("\0")])
            model.delete(gone)
        if forgotten in model.kept:
            forget(store, forgotten)
            model.rewrite(forgotten)
        limit, after, statuses, source = page
        with store.snapshot() as snapshot:
            model.assert_is(snapshot.promotions)
            found = snapshot.promotions.page(
                limit=limit, after=after, statuses=statuses, source_record_id=source
            )
            assert list(found) == model.page(limit, after, statuses, source)

    holds()
    assert model.kept
    assert store.problems() == ()


def test_what_is_not_there_is_not_found(store: Store) -> None:
    put(store, kept_promoted())
    with store.snapshot() as snapshot:
        found = snapshot.promotions
        assert (found.find("nobody"), found.find("\0")) == (None, None)
        assert found.history("\0") == ()
        assert found.executions("\0", RunId("\0")) == ()
        assert found.of_source(RecordId("\0")) == found.page(limit=9, source_record_id=RecordId("\0")) == ()
    acts: list[Callable[[], None]] = [
        lambda: put(store, kept_promoted("nobody"), 1),
        lambda: add(store, executed(skill_name="nobody")),
        lambda: add(store, executed(skill_name="\0")),
    ]
    for act in acts:
        with pytest.raises(NotFound) as refused:
            act()
        assert refused.value.code == "promoted.not-found"
        assert refused.value.hint


def test_what_no_database_holds_is_refused(store: Store) -> None:
    for wrong in (
        kept_promoted("\0"),
        kept_promoted(definition=told(instructions="a\0b")),
        kept_promoted(revoked_reason="\0"),
        kept_promoted(fingerprint="\0"),
        kept_promoted(source_record_id=RecordId("\0")),
    ):
        with pytest.raises(Invalid):
            put(store, wrong)
    put(store, kept_promoted())
    for execution in (
        executed(run_id=RunId("\0")),
        executed(fingerprint="\0"),
        executed(session_id="\0"),
        executed(calling_run_id="\0"),
    ):
        with pytest.raises(Invalid):
            add(store, execution)
    with store.snapshot() as snapshot:
        assert snapshot.promotions.page(limit=9) == (kept_promoted(),)


@pytest.mark.req("LRN-12")
def test_nothing_that_a_forgotten_one_ever_said_is_left(store: Store, place: Place) -> None:
    words = told(description="zebra", instructions="zebra", when_to_use="zebra", version="zebra")
    first = kept_promoted(definition=words, revoked_reason="zebra")
    events = tuple(replace(event, reason="zebra") for event in first.events)
    put(store, first)
    put(store, later(first, definition=told(), events=events), 1)
    put(store, kept_promoted("other"))
    add(store, executed())

    forget(store, "release")

    tables = ("promoted_skills", "promoted_history", "skill_executions", "texts")
    assert "zebra" not in str([place.sql(f"SELECT * FROM {table}") for table in tables])
    with store.snapshot() as snapshot:
        assert [number for number, _ in snapshot.promotions.history("release")] == [1, 2]
        assert snapshot.promotions.find("other") == kept_promoted("other")
        assert snapshot.promotions.executions("release", RUNS[1]) == (executed(),)
    assert store.problems() == ()
    put(store, later(later(first)), 2)
    forget(store, "release")
    assert store.problems() == ()


def test_only_the_snapshots_that_are_there_are_written_anew(store: Store) -> None:
    first = kept_promoted()
    put(store, first)
    put(store, later(first), 1)

    for skill, history in (
        (later(first), [(1, first)]),
        (later(first), [(1, first), (3, later(first))]),
        (later(first), [(1, first), (2, first)]),
        (later(first), []),
        (first, [(1, later(first)), (2, first)]),
        (kept_promoted("nobody"), [(1, kept_promoted("nobody"))]),
    ):
        with pytest.raises((Conflict, NotFound)), store.transaction() as tx:
            tx.promotions.rewrite(skill, history)
    with store.snapshot() as snapshot:
        assert snapshot.promotions.history("release") == ((1, first), (2, later(first)))


@pytest.mark.parametrize(
    ("table", "damage"),
    [
        *(("promoted_skills", f"{column} = 'x'") for column in ("status", "fingerprint", "source_record_id")),
        *(("promoted_skills", f"{column} = 77") for column in ("text_revision", "revision", "updated_at_ms")),
        ("promoted_history", "number = 3"),
        ("promoted_history", "status = 'x'"),
        ("promoted_history", "revision = 7"),
        ("promoted_history", "text_revision = 7"),
        ("skill_executions", "kind = 'x'"),
    ],
)
@pytest.mark.sampled(every=3)
def test_a_row_that_does_not_agree_with_the_rest_is_told(
    store: Store, place: Place, table: str, damage: str
) -> None:
    put(store, kept_promoted())
    add(store, executed())
    assert store.problems() == ()
    place.sql(f"UPDATE {table} SET {damage}")

    assert any("promoted" in sentence and "release" in sentence for sentence in store.problems())


def test_a_damaged_row_is_not_read_as_another_skill(store: Store, place: Place) -> None:
    put(store, kept_promoted())
    place.sql("UPDATE promoted_skills SET status = 'active'")

    with pytest.raises(Corrupt, match="release"), store.snapshot() as snapshot:
        snapshot.promotions.page(limit=9)


def test_of_many_who_change_one_at_once_one_wins_and_the_others_are_told(store: Store) -> None:
    for round_number in range(3):
        expected = round_number or None
        together = threading.Barrier(5)

        def write(number: int, expected: int | None = expected, start: threading.Barrier = together) -> str:
            start.wait(PATIENCE_S)
            new = kept_promoted(revision=(expected or 0) + 1, revoked_reason=f"writer {number}")
            return outcome(lambda: put(store, new, expected))

        with ThreadPoolExecutor(5) as pool:
            ends = list(pool.map(write, range(5)))

        lost = "promoted.moved" if expected else "promoted.exists"
        assert sorted(ends) == sorted(["", *[lost] * 4])
        with store.snapshot() as snapshot:
            skill = snapshot.promotions.find("release")
            assert skill is not None
            assert skill.revoked_reason == f"writer {ends.index('')}"
            assert len(snapshot.promotions.history("release")) == round_number + 1
    assert store.problems() == ()


def test_of_two_daemons_that_change_one_at_once_the_second_is_told(postgres_place: PostgresPlace) -> None:
    first, second = postgres_place.open(), postgres_place.open()
    put(first, kept_promoted())

    with ThreadPoolExecutor(1) as pool:
        with first.transaction() as tx:
            tx.promotions.put(later(kept_promoted()), expected_revision=1)
            late = pool.submit(outcome, lambda: put(second, later(kept_promoted()), 1))
        assert late.result(timeout=PATIENCE_S) == "promoted.moved"
        with first.transaction() as tx:
            tx.promotions.put(kept_promoted("build"), expected_revision=None)
            late = pool.submit(outcome, lambda: put(second, kept_promoted("build")))
        assert late.result(timeout=PATIENCE_S) == "promoted.exists"

    assert first.problems() == ()


def test_a_write_that_was_refused_spoils_its_transaction(store: Store) -> None:
    put(store, kept_promoted())

    def half() -> None:
        with store.transaction() as tx:
            tx.promotions.add_execution(executed())
            new = later(kept_promoted())
            assert outcome(lambda: tx.promotions.put(new, expected_revision=9)) == "promoted.moved"

    with pytest.raises(Conflict):
        half()
    with store.snapshot() as snapshot:
        assert snapshot.promotions.executions("release", RUNS[1]) == ()
