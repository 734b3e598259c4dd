"""The score: its parts, their order of weight, and figures that must never change by accident."""

import doctest
import itertools
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.record import Kind, Layer, Record, Sensitivity, State
from runlore.domain.scope import WORKSPACE
from runlore.domain.search import ranking
from runlore.domain.search.ranking import (
    EXACT,
    IMPACT_LEAST,
    IMPACT_MAX,
    IMPACT_METADATA,
    LENGTH_KNEE,
    QUERY_TERMS_MAX,
    TOKEN_SCALE,
    Collection,
    RankFilter,
    Score,
    analyse_query,
    impact,
    impacts_of,
    passes,
    rarity,
    recency,
    score_of,
    state_points,
)
from runlore.domain.timestamps import to_milliseconds
from tests.builders import ACME, fact, preference
from tests.fakes import START

HOUR_MS = 3_600_000


def scored(record: Record, query: str, *, size: int = 10, frequency: int = 1) -> Score | None:
    """The score in a collection in which every term of the query is equally rare."""
    terms = dict.fromkeys(analyse_query(query).terms, frequency)
    newest_at_ms = to_milliseconds(START)
    return score_of(
        record,
        analyse_query(query),
        Collection(size=size, newest_at_ms=newest_at_ms, document_frequency=terms),
    )


def total(record: Record, query: str, *, size: int = 10, frequency: int = 1) -> int:
    """The total of a record that matches."""
    score = scored(record, query, size=size, frequency=frequency)
    assert score is not None
    return score.total


@pytest.mark.req("RET-3")
def test_the_worked_example_is_true() -> None:
    assert doctest.testmod(ranking).failed == 0


@pytest.mark.req("RET-2")
def test_what_matches_nothing_has_no_score() -> None:
    record = fact("The codename is Atlas", metadata={"topic_tags": ["names"], "size": 7})

    for query in ("canary", "the", "", "topic_tags", "7", "atla"):
        assert scored(record, query) is None
    assert scored(record, "atlas") is not None


@pytest.mark.req("RET-2")
def test_the_whole_query_is_the_summary_but_for_case_and_outer_space() -> None:
    record = fact("The codename is Atlas")

    assert [total(record, query) >= EXACT for query in ("the CODENAME is atlas\n", "codename atlas")] == [
        True,
        False,
    ]
    stop_words = scored(fact("To be or not to be"), "to be or NOT to be")
    assert stop_words == Score(exact=EXACT, summary=0, metadata=0, state=0, recency=15)


@pytest.mark.req("RET-2")
def test_an_exact_match_stands_above_all_that_words_can_give() -> None:
    most = QUERY_TERMS_MAX * rarity(1, 2**40) * IMPACT_MAX * TOKEN_SCALE

    assert most < EXACT


@pytest.mark.req("RET-2")
def test_state_and_recency_together_stay_below_the_least_token() -> None:
    least_token = TOKEN_SCALE * rarity(10**9, 10**9) * min(IMPACT_METADATA, impact(1, length=10**6))

    assert max(map(state_points, State)) + recency(0) < TOKEN_SCALE <= least_token
    assert recency(0) < state_points(State.ACTIVE)


@pytest.mark.req("RET-2")
def test_active_records_stand_above_all_others_that_match_alike() -> None:
    old = START - timedelta(days=4_000)
    active = fact("deploy", state=State.ACTIVE, created_at=old)

    for state in set(State) - {State.ACTIVE}:
        assert total(active, "deploy it") > total(fact("deploy", state=state), "deploy it")


@pytest.mark.req("RET-2", "RET-9")
@given(words=st.integers(0, 2_000), size=st.integers(1, 10**6), frequency=st.integers(1, 10**6))
def test_a_word_of_the_summary_counts_for_more_than_one_of_the_metadata_however_long_the_summary(
    words: int, size: int, frequency: int
) -> None:
    in_summary = fact(
        "deploy " + "x1 " * words, state=State.SUPERSEDED, created_at=START - timedelta(days=900)
    )
    in_metadata = fact("other", metadata={"deploy": 1, "tags": ["deploy", {"deeper": ["deploy"]}]})
    counts = {"size": size, "frequency": min(size, frequency)}

    assert total(in_summary, "deploy", **counts) > total(in_metadata, "deploy", **counts) > TOKEN_SCALE
    assert impact(1, length=10**9) == IMPACT_LEAST > IMPACT_METADATA


@pytest.mark.req("RET-9")
@given(
    on_topic=st.lists(st.sampled_from(["canary", "deploy", "release"]), min_size=1, max_size=12),
    beside=st.lists(st.sampled_from(["weather", "lunch", "部署", "a1"]), max_size=300),
    query=st.sampled_from(["canary", "deploy canary", "how does the canary release deploy"]),
    split=st.integers(0, 300),
)
def test_unrelated_text_never_lifts_a_record_above_a_short_one_on_the_topic(
    on_topic: list[str], beside: list[str], query: str, split: int
) -> None:
    short = scored(fact(" ".join(on_topic)), query)
    longer = scored(fact(" ".join([*beside[:split], *on_topic, *beside[split:]])), query)

    assert (longer is None) == (short is None)
    assert longer is None or (short is not None and longer.total <= short.total)
    # Said once among the shortest it counts for more than said three times among much else; neither is all
    # of the query, which would stand above everything.
    much = ["weather"] * (2 * LENGTH_KNEE + len(beside))
    once, often = fact("canary"), fact(" ".join(["canary"] * 3 + much))
    assert EXACT > total(once, "the canary") > total(often, "the canary")


@pytest.mark.req("RET-2")
def test_strings_of_metadata_are_found_at_any_depth_and_keys_and_numbers_are_not() -> None:
    metadata = {
        "key": ["red", {"inner": ["green", 7, True, None, 1.5]}],
        "other": "blue",
        "tuple": ("white",),
    }
    found = impacts_of(fact("x", metadata=metadata)).metadata

    assert found == dict.fromkeys(["red", "green", "blue", "white"], IMPACT_METADATA)


@pytest.mark.req("RET-3")
@given(st.integers(1, 10**7), st.data())
def test_rarity_is_the_logarithm_rounded_down(size: int, data: st.DataObject) -> None:
    frequency = data.draw(st.integers(1, size))
    ratio = Fraction(2 * size + 2, 2 * frequency + 1)

    found = rarity(frequency, size)

    assert Fraction(2) ** (found + 1) > ratio**16
    assert found == 1 or Fraction(2) ** found <= ratio**16
    assert found >= rarity(min(size, frequency + 1), size)


@pytest.mark.req("RET-3")
def test_a_rare_word_counts_for_more_than_a_common_one() -> None:
    weights = [rarity(frequency, 1_000) for frequency in (1, 2, 5, 10, 50, 200, 500, 1_000)]

    assert weights == sorted(set(weights), reverse=True)


@pytest.mark.req("RET-3")
@given(st.integers(1, 2_000), st.integers(1, 5_000))
def test_impacts_grow_with_repetition_and_shrink_with_length_within_one_byte(count: int, length: int) -> None:
    found = impact(count, length=length)

    assert IMPACT_LEAST <= found <= impact(count + 1, length=length) < 200
    assert impact(count, length=length + 1) <= found
    assert found + IMPACT_METADATA <= IMPACT_MAX


@pytest.mark.req("RET-3", "RET-9")
def test_length_has_a_constant_pivot_and_counts_without_end_behind_its_knee() -> None:
    assert [impact(1, length=length) for length in (1, 8, 16, 32, 48, 64, 128, 256, 512, 1_024, 2_048)] == [
        120,
        117,
        114,
        108,
        102,
        74,
        41,
        28,
        21,
        18,
        17,
    ]


@pytest.mark.req("RET-2")
def test_recency_loses_a_point_at_each_doubling_of_the_age() -> None:
    ages = [0, HOUR_MS - 1, HOUR_MS, 2 * HOUR_MS - 1, 2 * HOUR_MS, 4 * HOUR_MS, 16_384 * HOUR_MS - 1]

    assert [recency(age) for age in ages] == [15, 15, 14, 14, 13, 12, 1]
    assert recency(16_384 * HOUR_MS) == recency(10**15) == 0


@pytest.mark.req("RET-1")
def test_the_clock_does_not_score() -> None:
    """A search at another time gives another filtered set, and no other score to what is in it."""
    record = fact("deploy the shop", expires_at=START + timedelta(days=2))

    seen = [passes(record, RankFilter(now=START + timedelta(days=days))) for days in (0, 1, 2, 3)]

    assert seen == [True, True, False, False]


@pytest.mark.req("RET-2")
def test_a_query_is_read_up_to_a_limit_and_a_repeated_word_counts_once() -> None:
    query = analyse_query("deploy Deploy " + " ".join(f"w{number}" for number in range(QUERY_TERMS_MAX)))

    assert len(query.terms) == QUERY_TERMS_MAX
    assert query.terms[:2] == ("deploy", "w0")
    assert total(fact("deploy"), "deploy deploy now") == total(fact("deploy"), "deploy now")


@pytest.mark.req("RET-2")
@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("sensitivity", Sensitivity)
def test_a_filter_asks_for_everything_that_it_names(state: State, sensitivity: Sensitivity) -> None:
    record = replace(fact("x"), state=state, sensitivity=sensitivity)
    everything = RankFilter(now=START)

    assert passes(record, everything)
    assert passes(record, replace(everything, states=frozenset({state})))
    assert not passes(record, replace(everything, states=frozenset(State) - {state}))
    assert not passes(record, replace(everything, layers=frozenset({Layer.PROFILE})))
    assert not passes(record, replace(everything, kinds=frozenset({Kind.DECISION})))
    assert not passes(record, replace(everything, scopes=frozenset({WORKSPACE})))
    assert passes(record, replace(everything, scopes=frozenset({WORKSPACE, ACME})))
    assert not passes(record, replace(everything, states=frozenset()))
    hidden = sensitivity is Sensitivity.SENSITIVE
    assert passes(record, replace(everything, include_sensitive=False)) is not hidden


@pytest.mark.req("RET-2")
def test_only_live_states_expire() -> None:
    where = RankFilter(now=START)
    seen = {state for state in State if passes(replace(fact("x"), state=state, expires_at=START), where)}

    assert seen == {State.SUPERSEDED, State.TOMBSTONED}


# The records by their number below, with their totals.
GOLDEN: list[tuple[str, list[tuple[int, int]]]] = [
    ("canary releases", [(0, 89519), (1, 87324), (2, 1931), (3, 1931), (4, 1930), (5, 1946), (6, 80895)]),
    ("deploying", [(0, 72367), (5, 72986), (6, 80895)]),
    ("Deploy", [(0, 72367), (5, 1000000072986), (6, 80895)]),
    ("数据库备份", [(0, 9615), (1, 9628), (2, 481291), (3, 9611), (4, 9610), (5, 9626)]),
    ("検索", [(3, 408587)]),
    ("ไทย", [(4, 269962)]),
    ("nodejs 1.2.3 c++", [(1, 423196)]),
    ("the with a", []),
    ("deploy_target: canary CLUSTER", [(0, 144719), (1, 70556), (5, 72986), (6, 1000000646943)]),
]


def golden_records() -> list[Record]:
    """A small memory in several languages."""
    summaries = [
        "Deploy the shop with a canary release",
        "The canary release failed: node.js v1.2.3 crashed in C++ code",
        "部署服务器之前先备份数据库",
        "全文検索エンジンはRustで書かれている",
        "ภาษาไทยไม่มีช่องว่างระหว่างคำ",
        "deploy",
    ]
    facts = [
        fact(
            text,
            created_at=START - timedelta(hours=5 * number),
            state=state,
            metadata={"tags": ["release", "数据库"]},
        )
        for number, (text, state) in enumerate(zip(summaries, itertools.cycle(State), strict=False))
    ]
    return [*facts, preference("deploy_target", "canary cluster", created_at=START, state=State.ACTIVE)]


@pytest.mark.req("RET-1", "RET-2", "RET-3")
@pytest.mark.parametrize(("query", "expected"), GOLDEN)
def test_the_figures_are_these_on_every_machine(query: str, expected: list[tuple[int, int]]) -> None:
    records = golden_records()
    asked = analyse_query(query)
    impacts = [impacts_of(record) for record in records]
    frequency = {
        term: sum(term in each.summary or term in each.metadata for each in impacts) for term in asked.terms
    }
    collection = Collection(
        size=len(records), newest_at_ms=to_milliseconds(START), document_frequency=frequency
    )

    found = [(number, score_of(record, asked, collection)) for number, record in enumerate(records)]

    assert [(number, score.total) for number, score in found if score is not None] == expected
