"""Words decide, meaning adds its share: whole numbers, no surprises, and nothing without vectors."""

import doctest
from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.search import ranking
from runlore.domain.search.ranking import (
    BEST_WITHOUT_WORDS,
    EXACT,
    MARGIN,
    SHARE,
    FusedHit,
    Similarities,
    WordHit,
    fuse,
)

pytestmark = pytest.mark.req("RET-8")

KEYS = [f"k{number}" for number in range(8)]
TOTALS = st.dictionaries(st.sampled_from(KEYS), st.integers(1, 400_000), max_size=8)
COSINES = st.dictionaries(st.sampled_from(KEYS), st.integers(-10_000, 10_000), max_size=8)
BACKGROUNDS = st.integers(-2_000, 8_000)


def ranked(totals: Mapping[str, int]) -> list[WordHit]:
    """Hits as a ranking gives them: best first, equals by key."""
    return [
        WordHit(key=key, total=total)
        for key, total in sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    ]


def keys(hits: tuple[FusedHit, ...]) -> list[str]:
    """Their order."""
    return [hit.key for hit in hits]


def expected(totals: Mapping[str, int], cosines: Mapping[str, int], background: int) -> list[tuple[str, int]]:
    """The rule once more, in fractions: key and total, best first."""
    span = max([Fraction(value - background) for value in cosines.values()] + [Fraction(MARGIN)])
    best = max(totals.values(), default=BEST_WITHOUT_WORDS)
    rows = []
    for key in {*totals, *cosines}:
        above = Fraction(max(0, cosines.get(key, background) - background))
        if key in totals or above >= MARGIN:
            total = totals.get(key, 0) + int(best * above / span / SHARE)
            # Equals: first by words, then the nearer, then by key.
            tie = (0, -totals[key], 0, key) if key in totals else (1, 0, -cosines[key], key)
            rows.append((-total, tie, key))
    return [(key, -negative) for negative, _, key in sorted(rows)]


def test_the_example_of_the_docstring_is_right() -> None:
    assert doctest.testmod(ranking).attempted
    assert doctest.testmod(ranking).failed == 0


@given(totals=TOTALS, background=BACKGROUNDS)
def test_without_similarities_the_words_stand_exactly(totals: dict[str, int], background: int) -> None:
    hits = ranked(totals)
    plain = [(hit.key, hit.total, 0, None) for hit in hits]

    for similar in (None, Similarities(of={}, background=background)):
        found = fuse(hits, similar)
        assert [(hit.key, hit.total, hit.meaning, hit.similarity) for hit in found] == plain


@given(totals=TOTALS)
def test_the_order_of_the_words_stands_even_where_totals_say_otherwise(totals: dict[str, int]) -> None:
    hits = list(reversed(ranked(totals)))

    assert keys(fuse(hits, None)) == [hit.key for hit in hits]


@given(totals=TOTALS, cosines=COSINES, background=BACKGROUNDS, limit=st.integers(0, 9))
def test_it_is_the_rule_in_fractions_to_the_last_point(
    totals: dict[str, int], cosines: dict[str, int], background: int, limit: int
) -> None:
    similar = Similarities(of=cosines, background=background)

    found = fuse(ranked(totals), similar)

    assert [(hit.key, hit.total) for hit in found] == expected(totals, cosines, background)
    assert fuse(ranked(totals), similar, limit=limit) == found[:limit]
    assert all(hit.total == hit.words + hit.meaning for hit in found)
    assert all(hit.similarity == cosines.get(hit.key) for hit in found if cosines)


@given(totals=TOTALS, cosines=COSINES, background=BACKGROUNDS)
def test_it_does_not_matter_in_which_order_similarities_come(
    totals: dict[str, int], cosines: dict[str, int], background: int
) -> None:
    turned = dict(reversed(list(cosines.items())))

    assert fuse(ranked(totals), Similarities(of=cosines, background=background)) == fuse(
        ranked(totals), Similarities(of=turned, background=background)
    )


@given(totals=TOTALS, cosines=COSINES, background=BACKGROUNDS)
def test_meaning_adds_at_most_its_share_and_never_takes(
    totals: dict[str, int], cosines: dict[str, int], background: int
) -> None:
    best = max(totals.values(), default=BEST_WITHOUT_WORDS)

    for hit in fuse(ranked(totals), Similarities(of=cosines, background=background)):
        assert 0 <= hit.meaning <= best // SHARE
        assert hit.words == totals.get(hit.key, 0)


@given(
    totals=TOTALS,
    cosines=COSINES,
    background=BACKGROUNDS,
    key=st.sampled_from(KEYS),
    more=st.integers(0, 300_000),
)
def test_more_by_words_never_costs_a_place(
    totals: dict[str, int], cosines: dict[str, int], background: int, key: str, more: int
) -> None:
    similar = Similarities(of=cosines, background=background)
    before = keys(fuse(ranked(totals), similar))
    after = keys(fuse(ranked({**totals, key: totals.get(key, 0) + more + 1}), similar))

    assert set(after) == {*before, key}
    if key in before:
        assert set(after[: after.index(key)]) <= set(before[: before.index(key)])


@given(
    totals=TOTALS,
    cosines=COSINES,
    background=BACKGROUNDS,
    key=st.sampled_from(KEYS),
    more=st.integers(0, 9_000),
)
def test_being_nearer_never_costs_a_place(
    totals: dict[str, int], cosines: dict[str, int], background: int, key: str, more: int
) -> None:
    nearer = {**cosines, key: cosines.get(key, background) + more}
    before = keys(fuse(ranked(totals), Similarities(of=cosines, background=background)))
    after = keys(fuse(ranked(totals), Similarities(of=nearer, background=background)))

    assert set(before) <= set(after) <= {*before, key}
    if key in before:
        assert set(after[: after.index(key)]) <= set(before[: before.index(key)])


@given(cosines=COSINES.filter(bool), background=BACKGROUNDS)
def test_where_no_word_matches_the_near_ones_are_there_in_their_order(
    cosines: dict[str, int], background: int
) -> None:
    found = fuse([], Similarities(of=cosines, background=background))

    near = [key for key in cosines if cosines[key] - background >= MARGIN]
    assert keys(found) == sorted(near, key=lambda key: (-cosines[key], key))


@given(totals=TOTALS.filter(lambda totals: len(totals) > 1), cosines=COSINES, background=BACKGROUNDS)
def test_the_whole_query_as_the_text_stands_first_and_does_not_change_the_others(
    totals: dict[str, int], cosines: dict[str, int], background: int
) -> None:
    first = ranked(totals)[0].key
    similar = Similarities(of=cosines, background=background)
    exact = fuse(ranked({**totals, first: totals[first] + EXACT}), similar)
    plain = fuse(ranked(totals), similar)

    assert exact[0].key == first
    assert keys(exact[1:]) == [key for key in keys(plain) if key != first]
    assert {hit.key: hit.meaning for hit in exact} == {hit.key: hit.meaning for hit in plain}


def test_the_best_by_words_is_passed_only_by_what_has_three_quarters_of_its_words() -> None:
    hits = [
        WordHit(key=key, total=total) for key, total in (("best", 4_000), ("near", 3_000), ("far", 2_999))
    ]
    similar = Similarities(of={"best": 0, "near": 9_000, "far": 9_000, "new": 9_000})

    assert keys(fuse(hits, similar)) == ["best", "near", "far", "new"]
    assert [hit.total for hit in fuse(hits, similar)] == [4_000, 4_000, 3_999, 1_000]


def test_where_nothing_stands_out_meaning_says_less() -> None:
    hits = [WordHit(key="a", total=4_000), WordHit(key="b", total=3_900)]
    flat = Similarities(of={"a": 4_000, "b": 4_250}, background=4_000)

    assert [(hit.key, hit.meaning) for hit in fuse(hits, flat)] == [("a", 0), ("b", 100)]


def test_of_equals_what_has_words_stands_before_what_has_none() -> None:
    hits = [WordHit(key="z", total=4_000), WordHit(key="y", total=1_000), WordHit(key="x", total=1_000)]
    similar = Similarities(of={"b": 9_000, "a": 9_000})

    found = fuse(hits, similar)

    assert keys(found) == ["z", "y", "x", "a", "b"]
    assert [hit.total for hit in found] == [4_000, 1_000, 1_000, 1_000, 1_000]
