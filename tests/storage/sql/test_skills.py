"""Skills: names unique among the active ones, found by what they were learned from, uses counted once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Conflict, Corrupt, Invalid, NotFound, RunloreError
from runlore.domain.run import RunId
from runlore.domain.skill import (
    LearnedFrom,
    Skill,
    SkillId,
    SkillState,
    SkillUse,
    SuggestionId,
    Usage,
    UseOutcome,
)
from runlore.ports.store import Store
from runlore.storage.sql.skills import SqlSkills
from tests.examples import scaled
from tests.storage.kept_skills import changed, curated, documented, kept, skills, told
from tests.storage.places import Place, PostgresPlace
from tests.storage.run_values import at
from tests.storage.skill_values import stored
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("SKL-8", "OPS-4")

SUGGESTIONS = tuple(SuggestionId(f"sug_{number:02}") for number in range(4))
IDS = tuple(SkillId(f"skl_{number:02}") for number in range(4))


class Model:
    """What the collection is: skills by id. Usage is counted apart, and no writing of a skill changes it."""

    def __init__(self) -> None:
        self.kept: dict[SkillId, Skill] = {}

    def insert(self, new: Skill) -> str:
        """What an insert comes to."""
        if new.skill_id in self.kept or self._is_taken(new):
            return "skill.exists"
        self.kept[new.skill_id] = new
        return ""

    def update(self, new: Skill, expected: int) -> str:
        """What an update comes to."""
        if new.skill_id not in self.kept:
            return "skill.not-found"
        if self.kept[new.skill_id].revision != expected:
            return "skill.moved"
        if self._is_taken(new):
            return "skill.exists"
        self.kept[new.skill_id] = replace(new, usage=self.kept[new.skill_id].usage)
        return ""

    def _is_taken(self, new: Skill) -> bool:
        if new.state is not SkillState.ACTIVE:
            return False
        others = [each for id_, each in self.kept.items() if id_ != new.skill_id]
        return any(each.state is SkillState.ACTIVE and each.name == new.name for each in others)

    def assert_is(self, found: SqlSkills) -> None:
        """Every question about what is there is answered as it is here."""
        active = {each.name: each for each in self.kept.values() if each.state is SkillState.ACTIVE}
        assert found.names() == set(active)
        assert found.active() == tuple(active[name] for name in sorted(active))
        for name in ("build", "test", "deploy-2", "nobody"):
            assert found.find(name) == active.get(name)
            merged = [each for each in self.kept.values() if each.state is SkillState.MERGED]
            named = [each for each in merged if each.name == name]
            latest = max(named, key=lambda each: (each.updated_at, each.skill_id), default=None)
            assert found.find_merged(name) == latest
        for each in self.kept.values():
            assert found.get(each.skill_id) == each
        for suggestion_id in SUGGESTIONS:
            assert list(found.of_suggestions([suggestion_id])) == [
                each
                for _, each in sorted(self.kept.items())
                if suggestion_id in {source.suggestion_id for source in each.learned_from}
            ]

    def page(self, limit: int, after: SkillId | None, states: frozenset[SkillState] | None) -> list[Skill]:
        """A page."""
        return [
            each
            for id_, each in sorted(self.kept.items())
            if (states is None or each.state in states) and (after is None or id_ > after)
        ][: max(limit, 0)]


def outcome(act: Callable[[], object]) -> str:
    """The code of what an act is refused with."""
    try:
        act()
    except RunloreError as error:
        return error.code
    return ""


def insert(store: Store, *new: Skill) -> None:
    """Write new ones in a transaction of their own."""
    with store.transaction() as tx:
        for each in new:
            tx.skills.insert(each)


def update(store: Store, new: Skill, expected: int) -> None:
    """Write a new state in a transaction of its own."""
    with store.transaction() as tx:
        tx.skills.update(new, expected_revision=expected)


def stamp(store: Store) -> int:
    """The number that tells that skills have changed."""
    with store.snapshot() as snapshot:
        return snapshot.skills.stamp()


def test_after_any_acts_every_question_is_answered_as_by_brute_force(store: Store) -> None:
    model = Model()

    @settings(max_examples=scaled(13), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        new=st.lists(skills, max_size=3),
        changes=st.lists(st.tuples(skills, st.integers(1, 3)), max_size=3),
        gone=st.sets(st.sampled_from([*IDS[:1], SkillId("nobody")]), max_size=1),
        limit=st.integers(-1, 5),
        after=st.none() | st.sampled_from(IDS),
        states=st.none() | st.frozensets(st.sampled_from(SkillState)),
    )
    def holds(
        new: list[Skill],
        changes: list[tuple[Skill, int]],
        gone: set[SkillId],
        *,
        limit: int,
        after: SkillId | None,
        states: frozenset[SkillState] | None,
    ) -> None:
        for each in new:
            before = stamp(store)
            ended = outcome(lambda each=each: insert(store, each))  # type: ignore[misc]
            assert ended == model.insert(each)
            assert (stamp(store) != before) is not bool(ended)
        for each, expected in changes:
            before = stamp(store)
            ended = outcome(lambda each=each, at=expected: update(store, each, at))  # type: ignore[misc]
            assert ended == model.update(each, expected)
            assert (stamp(store) != before) is not bool(ended)
        with store.transaction() as tx:
            tx.skills.delete([*gone, SkillId("\0")])
        for skill_id in gone:
            model.kept.pop(skill_id, None)
        with store.snapshot() as snapshot:
            model.assert_is(snapshot.skills)
            page = snapshot.skills.page(limit=limit, after=after, states=states)
            assert list(page) == model.page(limit, after, states)

    holds()
    assert store.problems() == ()


def test_a_name_is_free_again_when_its_skill_is_gone_but_not_twice(store: Store) -> None:
    first, second = kept(1), kept(2, documented("procedure-1"))
    insert(store, first)
    assert outcome(lambda: insert(store, second)) == "skill.exists"
    update(store, changed(first, state=SkillState.DELETED), 1)
    insert(store, second)

    back = changed(first, state=SkillState.ACTIVE, revision=3)
    assert outcome(lambda: update(store, back, 2)) == "skill.exists"
    with store.snapshot() as snapshot:
        assert snapshot.skills.find("procedure-1") == second
        assert snapshot.skills.get(first.skill_id).state is SkillState.DELETED


def test_what_is_not_there_is_not_found(store: Store) -> None:
    insert(store, kept(1))
    with store.transaction() as tx:
        found = tx.skills
        assert (found.find("nobody"), found.find("\0")) == (None, None)
        assert found.of_suggestions([SuggestionId("\0"), SuggestionId("nobody")]) == ()
        assert found.uses_of([RunId("\0"), RunId("nobody")]) == ()
        for name in ("nobody", "\0", "procedure-1"):
            with pytest.raises(NotFound) as refused:
                found.get(SkillId(name))
            assert refused.value.code == "skill.not-found"
            assert refused.value.hint
        found.settle_uses(RunId("\0"), UseOutcome.FAILED)


def test_what_no_database_holds_is_refused(store: Store) -> None:
    for wrong in (
        kept(1, documented(body="a\0b")),
        kept(1, text="\0"),
        kept(1, pattern="\0"),
        kept(1, suggestion_id=SuggestionId("\0")),
        kept(1, also_from=(LearnedFrom(suggestion_id=SuggestionId("\0"), pattern=""),)),
        kept(1, state_actor="\0"),
        kept(1, skill_id=SkillId("\0")),
    ):
        with pytest.raises(Invalid):
            insert(store, wrong)
    with store.snapshot() as snapshot:
        assert snapshot.skills.page(limit=9) == ()


@pytest.mark.req("SKL-11")
def test_uses_are_counted_once_a_run_and_outcomes_once_each(store: Store) -> None:
    insert(store, kept(1), kept(2))
    expected: dict[tuple[RunId, SkillId], SkillUse] = {}

    @settings(max_examples=scaled(13), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        used=st.lists(
            st.builds(
                SkillUse,
                skill_id=st.sampled_from(IDS[1:3]),
                run_id=st.integers(0, 40).map(lambda number: RunId(f"run_{number}")),
                at=st.integers(-50, 50).map(at),
                outcome=st.sampled_from(UseOutcome),
            ),
            max_size=3,
        ),
        settled=st.lists(
            st.tuples(
                st.integers(0, 40).map(lambda number: RunId(f"run_{number}")), st.sampled_from(UseOutcome)
            ),
            max_size=2,
        ),
        forgotten=st.lists(st.integers(0, 40).map(lambda number: RunId(f"run_{number}")), max_size=2),
    )
    def holds(used: list[SkillUse], settled: list[tuple[RunId, UseOutcome]], forgotten: list[RunId]) -> None:
        before = stamp(store)
        with store.transaction() as tx:
            tx.skills.forget_uses([*forgotten, RunId("\0")])
            for key in [key for key in expected if key[0] in forgotten]:
                del expected[key]
            for use in used:
                assert tx.skills.use(use) is ((use.run_id, use.skill_id) not in expected)
                expected.setdefault((use.run_id, use.skill_id), use)
            for run_id, how in settled:
                tx.skills.settle_uses(run_id, how)
                for key, use in expected.items():
                    expected[key] = replace(use, outcome=how) if key[0] == run_id else use
        with store.snapshot() as snapshot:
            for skill_id in IDS[1:3]:
                uses = [use for use in expected.values() if use.skill_id == skill_id]
                assert snapshot.skills.get(skill_id).usage == Usage(
                    times=len(uses),
                    last_used_at=max((use.at for use in uses), default=None),
                    succeeded=sum(use.outcome is UseOutcome.SUCCEEDED for use in uses),
                    failed=sum(use.outcome is UseOutcome.FAILED for use in uses),
                )
            asked = [run_id for run_id, _ in expected]
            assert list(snapshot.skills.uses_of(asked)) == [use for _, use in sorted(expected.items())]
        assert stamp(store) == before

    holds()
    with store.snapshot() as snapshot:
        first = snapshot.skills.get(IDS[1])
    update(store, changed(first, document=documented("other"), usage=Usage()), 1)
    with store.snapshot() as snapshot:
        assert snapshot.skills.get(IDS[1]).usage == first.usage
    assert store.problems() == ()


@pytest.mark.req("SKL-11")
def test_a_use_of_no_skill_is_refused(store: Store) -> None:
    use = SkillUse(skill_id=SkillId("nobody"), run_id=RunId("run_1"), at=at(1))
    with pytest.raises(NotFound, match="nobody"), store.transaction() as tx:
        tx.skills.use(use)


def test_the_log_is_told_from_its_newest_line_on(store: Store) -> None:
    lines = [told(number % 3, reason=f"line {number}", at=at(number)) for number in range(1, 8)]
    with store.transaction() as tx:
        numbered = [tx.skills.log(line) for line in lines]
    assert [line.number for line in numbered] == list(range(1, 8))
    newest = numbered[::-1]
    with store.snapshot() as snapshot:
        found = snapshot.skills
        assert list(found.events(limit=99)) == newest
        assert list(found.events(limit=2)) == newest[:2]
        assert list(found.events(limit=2, before=6)) == newest[2:4]
        assert list(found.events(limit=9, skill_id=IDS[1])) == [
            line for line in newest if line.skill_id == IDS[1]
        ]
        assert found.events(limit=0) == found.events(limit=9, skill_id=SkillId("\0")) == ()


@pytest.mark.req("LRN-12")
def test_nothing_of_a_skill_that_was_deleted_is_left_anywhere(store: Store, place: Place) -> None:
    words = documented("zebra", description="zebra", body="zebra", topics=("zebra",))
    mine, other = kept(1, words, pattern="zebra"), kept(2)
    insert(store, mine, other)
    with store.transaction() as tx:
        tx.skills.log(told(1, name="zebra", reason="zebra"))
        tx.skills.log(told(2))
        tx.skills.use(SkillUse(skill_id=mine.skill_id, run_id=RunId("run_1"), at=at(1)))
        tx.curations.insert(curated(1, mine, other, comment="zebra and others"))
        tx.skills.delete([mine.skill_id])

    tables = ("skills", "skill_suggestions", "skill_uses", "skill_events", "curations", "texts")
    assert "zebra" not in str([place.sql(f"SELECT * FROM {table}") for table in tables])
    with store.snapshot() as snapshot:
        first, second = snapshot.skills.events(limit=9)[::-1]
        assert (first.kind, first.name, first.reason) == (told(1).kind, "", "")
        assert replace(second, number=0) == told(2)
        assert snapshot.curations.latest() == curated(
            1, mine, other, actions=(), before=(other,), revisions=((other.skill_id, 2),)
        )
    assert store.problems() == ()
    insert(store, mine)
    assert store.problems() == ()


def test_curations_are_found_by_the_skills_that_they_touched(store: Store) -> None:
    skills = [kept(number) for number in (1, 2, 3)]
    pairs = [curated(number, skills[number - 1], skills[number]) for number in (1, 2)]
    insert(store, *skills)
    with store.transaction() as tx:
        for curation in pairs:
            tx.curations.insert(curation)
    with store.snapshot() as snapshot:
        found = [snapshot.curations.of_skills([skill.skill_id]) for skill in skills]
        assert found == [tuple(pairs[:1]), tuple(pairs), tuple(pairs[1:])]
        assert snapshot.curations.of_skills([skill.skill_id for skill in skills]) == tuple(pairs)
        assert snapshot.curations.of_skills([SkillId("none"), SkillId("\0")]) == ()


@pytest.mark.req("LRN-12")
def test_the_log_loses_the_words_of_suggestions_that_are_deleted_or_told_of(
    store: Store, place: Place
) -> None:
    lines = [told(number, name="zebra", reason="zebra", skill_id=None) for number in (1, 2, 3)]
    with store.transaction() as tx:
        tx.suggestions.insert(stored(1))
        for line in lines:
            tx.skills.log(line)
        tx.suggestions.delete([SuggestionId("sug_01")])
        tx.skills.forget_log(suggestion_ids=[SuggestionId("sug_02"), SuggestionId("\0")])
        names = [event.name for event in tx.skills.events(limit=9)]
    assert names == ["zebra", "", ""]
    with store.transaction() as tx:
        tx.skills.forget_log(suggestion_ids=[SuggestionId("sug_03")])
    assert "zebra" not in str(place.sql("SELECT * FROM texts"))
    assert store.problems() == ()


@pytest.mark.parametrize(
    "damage",
    ["name = 'x'", "origin = 'x'", "state = 'x'", "text_revision = 9", "suggestion_id = 'x'", "failed = 3"],
)
def test_a_row_that_does_not_agree_with_the_rest_is_told(store: Store, place: Place, damage: str) -> None:
    insert(store, kept(1))
    place.sql(f"UPDATE skills SET {damage}")

    assert any("skl_01" in sentence for sentence in store.problems())


def test_a_damaged_row_is_not_read_as_another_skill(store: Store, place: Place) -> None:
    insert(store, kept(1))
    place.sql("UPDATE skills SET name = 'x'")

    with pytest.raises(Corrupt, match="skl_01"), store.snapshot() as snapshot:
        snapshot.skills.active()


def test_of_many_who_take_one_name_at_once_one_wins(store: Store) -> None:
    together = threading.Barrier(6)

    def save(number: int) -> str:
        together.wait(PATIENCE_S)
        return outcome(lambda: insert(store, kept(number, documented("procedure-build"))))

    with ThreadPoolExecutor(6) as pool:
        ends = list(pool.map(save, range(6)))

    assert sorted(ends) == ["", *["skill.exists"] * 5]
    with store.snapshot() as snapshot:
        [only] = snapshot.skills.active()
    assert only.skill_id == f"skl_{ends.index(''):02}"
    assert store.problems() == ()


def test_of_two_who_take_one_name_at_once_the_second_is_told(postgres_place: PostgresPlace) -> None:
    first, second = postgres_place.open(), postgres_place.open()
    insert(first, kept(1))
    renamed = changed(kept(1), document=documented("procedure-2"))

    with ThreadPoolExecutor(1) as pool:
        with first.transaction() as tx:
            tx.skills.insert(kept(2))
            late = pool.submit(outcome, lambda: update(second, renamed, 1))
        assert late.result(timeout=PATIENCE_S) == "skill.exists"
        with first.transaction() as tx:
            tx.skills.update(changed(kept(1), document=documented("free")), expected_revision=1)
            late = pool.submit(outcome, lambda: insert(second, kept(3, documented("free"))))
        assert late.result(timeout=PATIENCE_S) == "skill.exists"

    assert first.problems() == ()


def test_of_many_who_write_and_log_at_once_nobody_waits_for_ever(store: Store) -> None:
    insert(store, *(kept(number) for number in range(6)))
    together = threading.Barrier(6)

    def write(number: int) -> str:
        def act() -> None:
            with store.transaction() as tx:
                if number % 2:
                    tx.skills.log(told(number))
                tx.skills.update(changed(kept(number)), expected_revision=1)
                tx.skills.log(told(number))

        together.wait(PATIENCE_S)
        return outcome(act)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(write, range(6))) == [""] * 6
    with store.snapshot() as snapshot:
        assert [line.number for line in snapshot.skills.events(limit=99)] == list(range(9, 0, -1))


def test_a_write_that_was_refused_spoils_its_transaction(store: Store) -> None:
    insert(store, kept(1))

    def half() -> None:
        with store.transaction() as tx:
            tx.skills.insert(kept(2))
            assert outcome(lambda: tx.skills.insert(kept(1))) == "skill.exists"

    with pytest.raises(Conflict):
        half()
    with store.snapshot() as snapshot:
        assert [each.skill_id for each in snapshot.skills.page(limit=9)] == [IDS[1]]
