"""The tables of the matcher: every pair works in both directions, and nothing is reached over two steps."""

from itertools import pairwise, permutations

import pytest

from runlore.domain.skill_matching import Way
from runlore.domain.skill_matching.synonyms import NEAR, SAME, groups_of
from runlore.domain.skill_matching.words import OWN_STEMS, Reader, company_of, is_only_weak, is_weak
from runlore.domain.text.analysis import stem
from tests.domain.skill_matching.skill_documents import SHELF, matched, names, skill

pytestmark = pytest.mark.req("SKL-10")

UNRELATED = skill("flowers", topics=("painting",), description="Painting flowers in oil")


@pytest.mark.parametrize("table", [SAME, NEAR], ids=["same", "near"])
def test_every_name_of_a_group_finds_a_skill_whose_topic_is_another_name_of_it(table: str) -> None:
    for group in groups_of(table):
        for said, asked in permutations(group, 2):
            # A weak word by itself finds what is called by it, and nothing that is merely near it.
            found = [] if table == NEAR and _is_all_weak(asked) else ["x1"]
            assert names(asked, skill("x1", topics=(said,)), UNRELATED) == found, (said, asked)


@pytest.mark.parametrize("table", [SAME, NEAR], ids=["same", "near"])
def test_every_name_of_a_group_finds_a_skill_whose_action_is_another_name_of_it(table: str) -> None:
    for group in groups_of(table):
        for said, asked in pairwise(group):
            found = [] if table == NEAR and _is_all_weak(asked) else ["x1"]
            assert names(asked, skill("x1", actions=(said,)), UNRELATED) == found, (said, asked)


def _is_all_weak(asked: str) -> bool:
    return all(is_weak(key) for key, _ in Reader().read(asked))


def test_groups_hold_several_distinct_lower_case_names_and_stand_once() -> None:
    groups = [*groups_of(SAME), *groups_of(NEAR)]

    assert len(set(groups)) == len(groups)
    for group in groups:
        assert len(set(group)) == len(group) > 1, group
        assert all(name and name == name.lower().strip() for name in group), group


def test_the_better_way_counts_for_more() -> None:
    document = skill(topics=("kubernetes",))
    ways = {query: matched(query, document, UNRELATED)[0] for query in ("kubernetes", "k8s")}
    deploy = skill(topics=("deploy",))
    ways |= {query: matched(query, deploy, UNRELATED)[0] for query in ("deploy", "deploying", "ship")}

    assert [match.parts[0].way for match in ways.values()] == [
        Way.EXACT,
        Way.SAME,
        Way.EXACT,
        Way.STEM,
        Way.NEAR,
    ]
    assert ways["kubernetes"].score == ways["deploy"].score > ways["k8s"].score == ways["deploying"].score
    assert ways["deploying"].score > ways["ship"].score


def test_of_two_ways_that_give_the_same_the_nearer_one_is_told() -> None:
    [match] = matched("databases", skill(topics=("database", "db")), UNRELATED)

    assert [(part.way, part.found) for part in match.parts] == [(Way.STEM, "databas")]


def test_a_word_of_two_groups_has_the_company_of_both_and_they_have_none_of_each_other() -> None:
    assert {"test", "diff"}.isdisjoint(company_of("compil").near)
    assert {"compil", "creat"} <= set(company_of("build").near)
    assert names("compile", skill(topics=("create",)), UNRELATED) == []
    assert names("build", skill(topics=("create",)), UNRELATED) == ["some-skill"]
    assert names("terraform", skill(topics=("tensorflow",)), UNRELATED) == []
    assert names("tf", skill(topics=("tensorflow",)), UNRELATED) == ["some-skill"]


def test_phrases_are_met_as_a_whole() -> None:
    actions = skill("workflows", description="Speed up GitHub Actions with a cache.")
    apart = skill("apart", description="Actions that GitHub takes against spam.")

    assert names("gha", actions, apart, *SHELF) == ["workflows"]
    assert names("slow GitHub-actions", actions, apart)[0] == "workflows"
    assert names("set up", skill(actions=("install",))) == ["some-skill"]
    assert names("install", skill(description="How to set it up: SET UP the tools")) == ["some-skill"]
    assert names("install", skill(description="a set of upper limits")) == []


def test_own_stems_keep_apart_what_the_stemmer_throws_together_and_stand_for_nothing_else() -> None:
    reader = Reader()
    for word, own in OWN_STEMS.items():
        assert reader.read(word)[0] == (own, word)
    for one, other in (("import", "important"), ("product", "production"), ("author", "authorization")):
        assert stem(one) == stem(other)


def test_weak_words_are_single_words_and_only_a_name_of_something_counts_in_a_text() -> None:
    looked_at = ("make", "go", "docker", "golang")

    assert [is_weak(word) for word in looked_at] == [True, True, False, False]
    assert [is_only_weak(word) for word in looked_at] == [True, False, False, False]
    assert names("golang", skill(description="Build services in Go")) == ["some-skill"]


def test_a_closed_reader_remembers_nothing_and_reads_the_same() -> None:
    reader = Reader()
    reader.read("deploying known words")
    closed = reader.freeze()

    for text in ("deploying known words", "words that are new: pull requests", "部署 C++ snake_case"):
        assert closed.read(text) == closed.read(text) == Reader().read(text)
