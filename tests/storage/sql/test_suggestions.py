"""Suggested skills: one for each name and pattern, the best first, found by what they were seen in."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.detectors.match import Heuristic
from runlore.domain.errors import Conflict, Corrupt, Invalid, NotFound, RunloreError
from runlore.domain.run import RunId
from runlore.domain.skill import SuggestionId
from runlore.domain.suggestion import Score, StoredSuggestion, SuggestionState
from runlore.ports.store import Store
from runlore.storage.sql.suggestions import SqlSuggestions
from tests.examples import scaled
from tests.storage.places import Place, PostgresPlace
from tests.storage.skill_values import moved, seen, stored, stored_suggestions, suggested
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("SKL-4", "OPS-4")

RUNS = tuple(RunId(f"run_{number}") for number in range(6))


class Model:
    """What the collection is: suggestions by id, and the runs that each was ever seen in."""

    def __init__(self) -> None:
        self.kept: dict[SuggestionId, StoredSuggestion] = {}
        self.runs: dict[SuggestionId, set[RunId]] = {}

    def clashes(self, new: StoredSuggestion) -> bool:
        """Whether another one has its name or its pattern."""
        others = [each.suggestion for id_, each in self.kept.items() if id_ != new.suggestion_id]
        wanted = new.suggestion
        return any(each.name == wanted.name or each.pattern == wanted.pattern for each in others)

    def insert(self, new: StoredSuggestion) -> str:
        """What an insert comes to."""
        if new.suggestion_id in self.kept or self.clashes(new):
            return "suggestion.exists"
        self._put(new)
        return ""

    def update(self, new: StoredSuggestion, expected: int) -> str:
        """What an update comes to."""
        if new.suggestion_id not in self.kept:
            return "suggestion.not-found"
        if self.kept[new.suggestion_id].revision != expected:
            return "suggestion.moved"
        if self.clashes(new):
            return "suggestion.exists"
        self._put(new)
        return ""

    def _put(self, new: StoredSuggestion) -> None:
        self.kept[new.suggestion_id] = new
        runs = self.runs.setdefault(new.suggestion_id, set())
        runs.update(evidence.run_id for evidence in new.suggestion.evidence)

    def delete(self, suggestion_id: SuggestionId) -> None:
        """Take one out."""
        self.kept.pop(suggestion_id, None)
        self.runs.pop(suggestion_id, None)

    def assert_is(self, found: SqlSuggestions) -> None:
        """Every question about what is there is answered as it is here."""
        assert found.names() == {each.suggestion.name for each in self.kept.values()}
        counts = dict.fromkeys(SuggestionState, 0)
        for each in self.kept.values():
            counts[each.state] += 1
            assert found.get(each.suggestion_id) == each
            assert found.find(name=each.suggestion.name) == each
            assert found.find(pattern=each.suggestion.pattern) == each
        assert found.count() == {state: number for state, number in counts.items() if number}
        for run_id in RUNS:
            seen_in = [id_ for id_, runs in sorted(self.runs.items()) if run_id in runs]
            assert [each.suggestion_id for each in found.of_runs([run_id])] == seen_in

    def page(
        self,
        limit: int,
        after: tuple[int, SuggestionId] | None,
        states: frozenset[SuggestionState] | None,
        heuristics: frozenset[Heuristic] | None,
    ) -> list[StoredSuggestion]:
        """A page."""

        def place(each: StoredSuggestion) -> tuple[int, str]:
            return (-each.suggestion.score.points, each.suggestion_id)

        return [
            each
            for each in sorted(self.kept.values(), key=place)
            if (states is None or each.state in states)
            and (heuristics is None or each.suggestion.heuristic in heuristics)
            and (after is None or place(each) > (-after[0], after[1]))
        ][: max(limit, 0)]


def outcome(act: Callable[[], None]) -> str:
    """The code of what an act is refused with."""
    try:
        act()
    except RunloreError as error:
        return error.code
    return ""


def problems(store: Store) -> list[str]:
    """What is wrong, but for the runs of the evidence: there are none in these tests."""
    return [sentence for sentence in store.problems() if not sentence.endswith("which is not there")]


def insert(store: Store, new: StoredSuggestion) -> None:
    """Write a new one in a transaction of its own."""
    with store.transaction() as tx:
        tx.suggestions.insert(new)


def update(store: Store, new: StoredSuggestion, expected: int) -> None:
    """Write a new state in a transaction of its own."""
    with store.transaction() as tx:
        tx.suggestions.update(new, expected_revision=expected)


def test_after_any_acts_every_question_is_answered_as_by_brute_force(store: Store) -> None:
    model = Model()

    @settings(max_examples=scaled(26), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        new=st.lists(stored_suggestions, max_size=3),
        changed=st.lists(st.tuples(stored_suggestions, st.integers(1, 3)), max_size=3),
        gone=st.sets(st.sampled_from([SuggestionId("sug_00"), SuggestionId("nobody")]), max_size=1),
        forgotten=st.sets(st.sampled_from(RUNS), max_size=1),
    )
    def holds(
        new: list[StoredSuggestion],
        changed: list[tuple[StoredSuggestion, int]],
        gone: set[SuggestionId],
        forgotten: set[RunId],
    ) -> None:
        for each in new:
            assert outcome(lambda each=each: insert(store, each)) == model.insert(each)  # type: ignore[misc]
        for each, expected in changed:
            ended = outcome(lambda each=each, at=expected: update(store, each, at))  # type: ignore[misc]
            assert ended == model.update(each, expected)
        with store.transaction() as tx:
            tx.suggestions.delete([*gone, SuggestionId("\0")])
            tx.suggestions.forget_runs([*forgotten, RunId("\0")])
        for suggestion_id in gone:
            model.delete(suggestion_id)
        for runs in model.runs.values():
            runs.difference_update(forgotten)
        with store.snapshot() as snapshot:
            model.assert_is(snapshot.suggestions)

    holds()


@settings(max_examples=scaled(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    limit=st.integers(-1, 9),
    after=st.none()
    | st.tuples(
        st.sampled_from((0, 50, 51, 100)), st.integers(0, 9).map(lambda n: SuggestionId(f"sug_{n:02}"))
    ),
    states=st.none() | st.frozensets(st.sampled_from(SuggestionState)),
    heuristics=st.none() | st.frozensets(st.sampled_from(sorted(Heuristic)[:3])),
)
def test_pages_hold_the_best_first_by_any_filter(
    store: Store,
    limit: int,
    after: tuple[int, SuggestionId] | None,
    states: frozenset[SuggestionState] | None,
    heuristics: frozenset[Heuristic] | None,
) -> None:
    model = Model()
    for number in range(9):
        points, kind = (0, 50, 51, 100)[number * 7 % 4], sorted(Heuristic)[number % 3]
        what = suggested(f"procedure-{number}", score=Score(points=points), heuristic=kind)
        model.insert(stored(number, what, state=sorted(SuggestionState)[number // 2 % 3]))
    with store.transaction() as tx:
        if not tx.suggestions.count():
            for each in model.kept.values():
                tx.suggestions.insert(each)

    with store.snapshot() as snapshot:
        found = snapshot.suggestions.page(limit=limit, after=after, states=states, heuristics=heuristics)

    assert list(found) == model.page(limit, after, states, heuristics)


def test_what_is_not_there_is_not_found(store: Store) -> None:
    insert(store, stored(1))
    with store.snapshot() as snapshot:
        found = snapshot.suggestions
        assert (found.find(name="nothing"), found.find(pattern="\0"), found.find()) == (None, None, None)
        assert found.of_runs([RunId("\0"), RunId("nobody")]) == ()
        for name in ("nobody", "\0", "procedure-1"):
            with pytest.raises(NotFound) as refused:
                found.get(SuggestionId(name))
            assert refused.value.code == "suggestion.not-found"


@pytest.mark.req("LRN-12")
def test_nothing_of_a_suggestion_that_was_deleted_or_written_anew_is_left(store: Store, place: Place) -> None:
    first = stored(1, suggested("zebra-one", "run_1", body="zebra", pattern="zebra"))
    other = stored(2, suggested("zebra-two", "run_1", description="zebra"))
    for each in (first, other):
        insert(store, each)
    update(store, moved(first, suggestion=suggested("procedure-made", "run_2")), 1)
    with store.transaction() as tx:
        tx.suggestions.delete([other.suggestion_id])

    tables = ("suggestions", "suggestion_runs", "texts")
    assert "zebra" not in str([place.sql(f"SELECT * FROM {table}") for table in tables])
    insert(store, other)
    with store.snapshot() as snapshot:
        assert snapshot.suggestions.get(other.suggestion_id) == other
    assert problems(store) == []


@pytest.mark.req("LRN-12")
def test_a_run_finds_what_was_seen_in_it_also_when_later_evidence_has_taken_its_place(store: Store) -> None:
    first = stored(1, suggested("procedure-build", "run_1"))
    insert(store, first)
    update(store, moved(first, suggestion=suggested("procedure-build", "run_2")), 1)
    with store.transaction() as tx:
        assert [each.suggestion_id for each in tx.suggestions.of_runs([RUNS[1]])] == ["sug_01"]
        tx.suggestions.forget_runs([RUNS[1]])
        assert tx.suggestions.of_runs([RUNS[1]]) == ()
        assert tx.suggestions.of_runs([RUNS[1], RUNS[2]]) == (tx.suggestions.get(first.suggestion_id),)
    assert problems(store) == []


def test_what_no_database_holds_is_refused(store: Store) -> None:
    good = suggested("procedure-build")
    for wrong in (
        stored(1, replace(good, body="a\0b")),
        stored(1, replace(good, pattern="\0")),
        stored(1, replace(good, evidence=(seen("\0"),))),
        stored(1, state_actor="\0"),
        stored(1, suggestion_id=SuggestionId("\0")),
    ):
        with pytest.raises(Invalid):
            insert(store, wrong)
    with store.snapshot() as snapshot:
        assert snapshot.suggestions.count() == {}


@pytest.mark.parametrize(
    "damage",
    ["name = 'x'", "pattern = 'x'", "heuristic = 'x'", "state = 'x'", "score = 1", "text_revision = 9"],
)
def test_a_row_that_does_not_agree_with_its_text_is_told(store: Store, place: Place, damage: str) -> None:
    insert(store, stored(1))
    place.sql(f"UPDATE suggestions SET {damage}")

    with pytest.raises(Corrupt, match="sug_01"), store.snapshot() as snapshot:
        snapshot.suggestions.get(SuggestionId("sug_01"))
    assert any("sug_01" in sentence for sentence in store.problems())


def test_of_many_who_suggest_the_same_at_once_one_wins(store: Store) -> None:
    together = threading.Barrier(6)

    def suggest(number: int) -> str:
        together.wait(PATIENCE_S)
        return outcome(lambda: insert(store, stored(number, suggested("procedure-build", f"run_{number}"))))

    with ThreadPoolExecutor(6) as pool:
        ends = list(pool.map(suggest, range(6)))

    assert sorted(ends) == ["", *["suggestion.exists"] * 5]
    with store.snapshot() as snapshot:
        [only] = snapshot.suggestions.page(limit=9)
        assert only.suggestion_id == f"sug_{ends.index(''):02}"
    assert problems(store) == []


@pytest.mark.parametrize("renames", [False, True])
def test_of_many_who_move_one_at_once_one_wins(store: Store, renames: bool) -> None:
    first = stored(1)
    insert(store, first)
    together = threading.Barrier(6)

    def move(number: int) -> str:
        name = f"renamed-{number}" if renames else first.suggestion.name
        new = moved(first, suggestion=replace(first.suggestion, name=name, body=f"by {number}"))
        together.wait(PATIENCE_S)
        return outcome(lambda: update(store, new, 1))

    with ThreadPoolExecutor(6) as pool:
        ends = list(pool.map(move, range(6)))

    assert sorted(ends) == ["", *["suggestion.moved"] * 5]
    with store.snapshot() as snapshot:
        assert snapshot.suggestions.get(first.suggestion_id).suggestion.body == f"by {ends.index('')}"
    assert problems(store) == []


def test_of_two_who_take_one_name_at_once_the_second_is_told(postgres_place: PostgresPlace) -> None:
    first, second = postgres_place.open(), postgres_place.open()
    insert(first, stored(1))
    renamed = moved(stored(1), suggestion=replace(stored(1).suggestion, name="procedure-2"))

    with ThreadPoolExecutor(1) as pool:
        late: Future[str]
        with first.transaction() as tx:
            tx.suggestions.insert(stored(2))
            late = pool.submit(outcome, lambda: update(second, renamed, 1))
        assert late.result(timeout=PATIENCE_S) == "suggestion.exists"
        with first.transaction() as tx:
            tx.suggestions.update(replace(renamed, suggestion=suggested("free")), expected_revision=1)
            late = pool.submit(outcome, lambda: insert(second, stored(3, suggested("free"))))
        assert late.result(timeout=PATIENCE_S) == "suggestion.exists"

    assert problems(first) == []


def test_a_suggestion_that_is_deleted_while_it_is_written_leaves_nothing(
    postgres_place: PostgresPlace,
) -> None:
    first, second = postgres_place.open(), postgres_place.open()
    insert(first, stored(1))

    with ThreadPoolExecutor(1) as pool:
        with first.transaction() as tx:
            again = moved(stored(1), suggestion=suggested("procedure-1", "run_5", body="zebra"))
            tx.suggestions.update(again, expected_revision=1)
            late = pool.submit(_delete, second)
        late.result(timeout=PATIENCE_S)

    tables = ("suggestions", "suggestion_runs", "texts")
    rows = str([postgres_place.sql(f"SELECT * FROM {table}") for table in tables])
    assert "zebra" not in rows
    assert "run_5" not in rows
    with pytest.raises(NotFound):
        update(first, moved(again), 2)
    assert problems(first) == []


def _delete(store: Store) -> None:
    with store.transaction() as tx:
        tx.suggestions.delete([SuggestionId("sug_01")])


def test_a_conflict_leaves_its_transaction_unwritten(store: Store) -> None:
    insert(store, stored(1))
    with pytest.raises(Conflict):
        _insert_twice(store)
    with store.snapshot() as snapshot:
        assert snapshot.suggestions.names() == {"procedure-1"}


def _insert_twice(store: Store) -> None:
    with store.transaction() as tx:
        tx.suggestions.insert(stored(2))
        tx.suggestions.insert(stored(3, stored(2).suggestion))
