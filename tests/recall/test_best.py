"""Skipping most postings loses no row: many rows, long lists and dense terms, against plain sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.recall.keys import Keys, digest, find, find_all, keys_of, order_of, unite
from runlore.recall.search import best_rows, points_at
from runlore.recall.segment import CATEGORIES, Segment, group_postings, impact_maxima
from tests.examples import scaled

pytestmark = pytest.mark.req("RET-1", "RET-3")

ROWS = 12_000
IMPACTS = (50, 66, 99, 100, 101, 112, 133, 150, 249)
IMPACT_SHARES = (0.1, 0.1, 0.2, 0.2, 0.2, 0.15, 0.03, 0.01, 0.01)
SHARES = (0.0001, 0.001, 0.01, 0.02, 0.04, 0.1, 0.3, 0.5, 0.9)


def term_keys(count: int) -> Keys:
    """The keys of terms 0, 1, 2 and so on, in that order."""
    return keys_of(collide(number, 2**64 - 1 - number) for number in range(count))


def segment_with(shares: list[float], seed: int) -> Segment:
    """A segment whose terms stand in about these shares of its rows, with the impacts of short texts."""
    random = np.random.default_rng(seed)
    term, row, impact = [], [], []
    for number, share in enumerate(shares):
        rows = np.flatnonzero(random.random(ROWS) < share)
        rows = rows if rows.size else np.array([number])
        term.append(np.full(rows.size, number))
        row.append(rows)
        impact.append(random.choice(IMPACTS, rows.size, p=IMPACT_SHARES).astype(np.uint8))
    start, posting_row, posting_impact = group_postings(
        np.concatenate(term), np.concatenate(row), np.concatenate(impact), terms=len(shares)
    )
    nothing, no_keys = np.zeros(0, dtype=np.int64), np.zeros((2, 0), dtype=np.uint64)
    no_rows = np.zeros(0, dtype=np.uint32)
    return Segment(
        id_text=np.zeros(0, dtype=np.uint8),
        id_start=np.arange(ROWS + 1, dtype=np.int64),
        id_key=no_keys,
        id_row=no_rows,
        summary_key=no_keys,
        summary_row=no_rows,
        scope_key=no_keys,
        scope=no_rows,
        session_key=no_keys,
        session=no_rows,
        category=random.integers(0, len(CATEGORIES), ROWS, dtype=np.uint16),
        # From before 1970, some at the same time, over all steps of recency.
        created_at_us=np.sort(random.integers(-(2**40), 2**46, ROWS // 2).repeat(2))[::-1].copy(),
        revision=random.integers(1, 9, ROWS),
        expiry_at_us=nothing,
        expiry_row=no_rows,
        term_key=term_keys(len(shares)),
        term_start=start,
        term_impact_max=impact_maxima(start, posting_impact),
        posting_row=posting_row,
        posting_impact=posting_impact,
    )


@settings(max_examples=scaled(50))
@given(
    shares=st.lists(st.sampled_from(SHARES), min_size=1, max_size=12),
    weights=st.lists(st.integers(1, 320), min_size=12, max_size=12),
    visible=st.sampled_from([0.0, 0.001, 0.1, 0.7, 1.0]),
    limit=st.sampled_from([1, 12, 50]),
    # Of 1,000,000: where the last of the best stands so far.
    floor=st.sampled_from([0, 1, 600_000, 900_000, 990_000]),
    seed=st.integers(0, 10**6),
)
def test_the_best_rows_are_those_of_a_sum_over_all_postings(
    shares: list[float], weights: list[int], *, visible: float, limit: int, floor: int, seed: int
) -> None:
    by_rarity = sorted(weights[: len(shares)], reverse=True)
    segment = segment_with(sorted(shares), seed)
    mask = np.random.default_rng(seed + 1).random(ROWS) < visible
    wanted = [(segment.postings(term), weight) for term, weight in enumerate(by_rarity)]

    sums = np.zeros(ROWS, dtype=np.int64)
    for term, weight in enumerate(by_rarity):
        whole = segment.postings(term)
        sums[whole.rows] += weight * whole.impacts.astype(np.int64)
    sums[~mask] = 0
    floor = int(sums.max()) * floor // 1_000_000

    rows, points = best_rows(mask, wanted, limit=limit, floor=floor)

    last = np.sort(sums)[-limit]
    assert sorted(rows.tolist()) == np.flatnonzero(sums >= max(last, floor, 1)).tolist()
    assert points.tolist() == sums[rows].tolist()
    assert points_at(rows, wanted).tolist() == points.tolist()


def collide(high: int, low: int) -> bytes:
    """A digest made of two halves."""
    return high.to_bytes(8, "little") + low.to_bytes(8, "little")


@given(
    held=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12, unique=True),
    wanted=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6),
)
def test_keys_that_share_half_of_their_digest_are_told_apart(
    held: list[tuple[int, int]], wanted: list[tuple[int, int]]
) -> None:
    keys = _sorted(held)

    found = find(keys, keys_of(collide(*each) for each in wanted))

    ordered = sorted(held)
    assert found.tolist() == [ordered.index(each) if each in held else -1 for each in wanted]
    for each in wanted:
        assert find_all(keys, collide(*each)).tolist() == ([ordered.index(each)] if each in held else [])


@given(st.lists(st.lists(st.integers(0, 9), max_size=6, unique=True), min_size=1, max_size=4))
def test_united_keys_are_distinct_and_sorted_and_every_key_finds_its_place(groups: list[list[int]]) -> None:
    columns = [_sorted([(number % 3, number) for number in group]) for group in groups]

    keys, places = unite(columns)

    assert keys.shape[1] == len({number for group in groups for number in group})
    assert order_of(keys).tolist() == list(range(keys.shape[1]))
    for column, place in zip(columns, places, strict=True):
        assert (keys[:, place] == column).all()


def test_a_digest_takes_any_text_a_record_can_hold() -> None:
    assert len({digest(text) for text in ("", "\ud800", "é", "\N{LATIN SMALL LETTER E WITH GRAVE}")}) == 4


def _sorted(pairs: list[tuple[int, int]]) -> Keys:
    return keys_of(collide(*pair) for pair in sorted(pairs))
