"""The index of skills finds exactly what a loop over all of them finds, parts and all."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.skill import SkillDocument
from runlore.domain.skill_matching import best_matches
from runlore.ports.index import SkillSearch
from runlore.recall.skills import SkillIndex
from tests.domain.skill_matching.skill_documents import SHELF, WORDS, numbered, shelves, skill, texts
from tests.examples import scaled

pytestmark = pytest.mark.req("SKL-10")


@given(shelves, texts, st.integers(-1, 14))
def test_the_index_agrees_with_the_loop_over_all_skills(
    shelf: list[SkillDocument], query: str, limit: int
) -> None:
    skills = numbered(shelf)

    assert SkillIndex(skills).match(query, limit=limit) == best_matches(skills, query, limit=limit)


@given(st.lists(st.sampled_from(WORDS), max_size=200).map(" ".join), st.integers(1, 5))
@settings(max_examples=scaled(40))
def test_it_agrees_on_long_requests(query: str, limit: int) -> None:
    skills = numbered(SHELF)
    index: SkillSearch = SkillIndex(skills)

    assert index.match(query, limit=limit) == best_matches(skills, query, limit=limit)


@given(shelves, shelves, texts, st.integers(0, 12))
def test_what_is_taken_over_from_the_index_before_changes_nothing(
    old: list[SkillDocument], new: list[SkillDocument], query: str, kept: int
) -> None:
    before = SkillIndex(numbered(old))
    skills = numbered([*new, *old[:kept]])

    index = SkillIndex(skills, before=SkillIndex(skills[::2], before=before))

    assert index.match(query, limit=9) == best_matches(skills, query, limit=9)


def test_nothing_of_a_skill_that_is_gone_stays_in_the_index_after() -> None:
    gone = skill("gone", description="The word is xylophone", body="xylophones", topics=("xylophone",))
    before = SkillIndex(numbered([gone, *SHELF]))
    after = SkillIndex(numbered(SHELF), before=before)

    assert [each.name for each in before.match("xylophone", limit=5)] == ["gone"]
    assert after.match("xylophone", limit=5) == ()
    held = [vars(after), vars(after._reader), vars(after._known)]
    assert "xylophon" not in str(held)


@pytest.mark.parametrize("limit", [1, 3, 9, 100])
@pytest.mark.parametrize("query", ["blue button", "blue", "button docker", "blue lamps and docker", "k8s"])
def test_it_agrees_where_most_of_the_best_only_mention_a_word_in_passing(query: str, limit: int) -> None:
    passing = [skill(f"passing-{number:03}", description="A blue lamp") for number in range(150)]
    both = [
        skill(f"both-{number}", description="Lamps " * 30 + "button, more or less blue")
        for number in range(4)
    ]
    skills = numbered([*passing, *both, *SHELF])

    found = SkillIndex(skills).match(query, limit=limit)

    assert found == best_matches(skills, query, limit=limit)
    if query == "blue button":
        assert [each.name for each in found] == [f"both-{number}" for number in range(4)][:limit]


def test_an_empty_index_finds_nothing() -> None:
    index = SkillIndex([])

    assert index.match("docker", limit=5) == ()
    assert len(index) == 0
    assert len(SkillIndex(numbered(SHELF))) == len(SHELF)


def test_skills_of_one_name_are_told_apart_by_their_ids() -> None:
    skills = numbered([skill("same", topics=("docker",)), skill("same", topics=("docker",))])

    assert [each.skill_id for each in SkillIndex(reversed(skills)).match("docker", limit=5)] == [
        "s000",
        "s001",
    ]


def test_an_index_keeps_no_word_of_a_request() -> None:
    index = SkillIndex(numbered(SHELF))
    before = dict(vars(index._reader))

    index.match("an unheard-of xylophone in docker", limit=5)

    assert vars(index._reader) == before
    assert "xylophon" not in str(vars(index._reader))
