"""What the compiled kernel finds is what plain sums find, over lists of every length."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runlore.domain.record import Record
from runlore.domain.search.ranking import TOKEN_SCALE, recency
from runlore.domain.text.analysis import chunks_of
from runlore.recall.building import seal
from runlore.recall.kernel import library_beside, load_kernel
from runlore.recall.keys import digest
from runlore.recall.segment import STATE_POINTS, STORED_FIELDS
from runlore.recall.visibility import Visible
from tests.examples import scaled
from tests.recall.engines import SOURCE, compiled
from tests.recall.ranking_examples import distinct, records, texts
from tests.recall.test_best import ROWS, SHARES, collide, segment_with

pytestmark = pytest.mark.req("RET-1", "RET-3")

_CHUNKS = """
    v9 v9.0 V9.0.1 v9.0.1a 9.0 9..0 9. .9 9_a 9.0_a 9.a v.9 vv9.0 C++ c# C#9 C+++ C##a C+a C#+ C++a c++' +c
    a.b_c-d a.-b a_ _a a-b. don't it's' o'clock a'b'c a'bc9 a'9 a' 'a a''b a.b's v9.0's C#'s
"""
masks = st.sampled_from([0.0, 0.001, 0.1, 0.7, 1.0])


@pytest.mark.compiler
@settings(max_examples=scaled(60))
@given(
    shares=st.lists(st.sampled_from(SHARES), min_size=1, max_size=12),
    weights=st.lists(st.integers(0, 320), min_size=12, max_size=12),
    visible=masks,
    limit=st.sampled_from([1, 12, 50, 2 * ROWS]),
    # Of 1,000,000: where the last of the best stands so far.
    floor=st.sampled_from([0, 1, 600_000, 990_000]),
    seed=st.integers(0, 10**6),
)
@example(shares=[0.9], weights=[1] * 12, visible=1.0, limit=50, floor=0, seed=1)
def test_the_best_are_those_of_all_sums_in_the_order_of_ties(
    shares: list[float], weights: list[int], *, visible: float, limit: int, floor: int, seed: int
) -> None:
    segment = segment_with(shares, seed)
    mask = np.random.default_rng(seed + 1).random(ROWS) < visible
    newest_at_ms = int(segment.created_at_us[0]) // 1000
    sums = np.zeros(ROWS, dtype=np.int64)
    for term, weight in enumerate(weights[: len(shares)]):
        whole = segment.postings(term)
        sums[whole.rows] += weight * whole.impacts.astype(np.int64)
    totals = TOKEN_SCALE * sums + STATE_POINTS[segment.category]
    totals += [recency(newest_at_ms - created // 1000) for created in segment.created_at_us.tolist()]
    floor = int(totals.max()) * floor // 1_000_000

    # The last one is a term that is nowhere.
    found = compiled().find_best(
        segment,
        mask.ctypes.data,
        [*range(len(shares)), -1],
        [*weights[: len(shares)], 7],
        newest_at_ms=newest_at_ms,
        limit=limit,
        floor=floor,
    )

    able = np.flatnonzero(mask & (sums > 0) & (totals >= floor))
    expected = sorted(zip((-totals[able]).tolist(), able.tolist(), strict=True))[:limit]
    columns = (segment.created_at_us, segment.revision)
    assert sorted((-total, row) for total, row, *_ in found) == expected
    assert [each[2:4] for each in found] == [tuple(column[each[1]] for column in columns) for each in found]
    assert [each[4:] for each in found] == [(each[1], each[1] + 1) for each in found]


@pytest.mark.compiler
@settings(max_examples=scaled(30))
@given(
    shares=st.lists(st.sampled_from(SHARES), min_size=1, max_size=12),
    visible=masks,
    removed=st.lists(st.integers(0, ROWS - 1), max_size=40),
    seed=st.integers(0, 10**6),
)
def test_terms_are_counted_among_the_visible_whoever_counted_before(
    shares: list[float], *, visible: float, removed: list[int], seed: int
) -> None:
    segment = segment_with(shares, seed)
    mask = np.random.default_rng(seed + 1).random(ROWS) < visible
    counts = np.zeros(len(shares), dtype=np.int32)
    before = Visible(segment=segment, mask=mask, size=0, live_size=0, counts=counts)
    after = before.without(np.array(removed, dtype=np.int64))
    digests = b"".join([*(collide(term, 2**64 - 1 - term) for term in range(len(shares))), digest("nowhere")])

    for number, seen in enumerate((before, after, before, after)):
        terms, found, says_whole = compiled().look_up(
            seen.segment, seen.places, digests + digest("not said"), len(shares) + 1
        )
        by_numpy = [seen.frequency(term) for term in range(len(shares))]

        assert terms == [*range(len(shares)), -1]
        assert not says_whole
        assert found == [*by_numpy, 0], number
        assert by_numpy == [int(seen.mask[segment.postings(term).rows].sum()) for term in range(len(shares))]


@pytest.mark.compiler
@settings(max_examples=scaled(200))
@given(st.lists(st.text(alphabet="vVcC09.aZz_-+#' \n\x00é’部", max_size=40) | texts, max_size=6))
@example(_CHUNKS.split(" "))
def test_texts_are_taken_apart_as_the_pattern_does(given_texts: list[str]) -> None:
    reader, chunks = compiled().chunk_reader(), list[str]()
    for some in (given_texts[:3], given_texts[3:]):
        new, said, many = reader.read(some)
        chunks += new

        expected = [chunks_of(text) for text in some]
        numbers = np.frombuffer(said, dtype=np.uint32).tolist()
        assert [chunks[number] for number in numbers] == [chunk for each in expected for chunk in each]
        assert np.frombuffer(many, dtype=np.uint32).tolist() == [len(each) for each in expected]
    assert chunks == list(dict.fromkeys(chunk for text in given_texts for chunk in chunks_of(text)))


@pytest.mark.compiler
def test_many_chunks_keep_their_numbers() -> None:
    words = [f"word{number % 30_011}" for number in range(70_000)]

    chunks, said, _ = compiled().chunk_reader().read([" ".join(words[:40_000]), " ".join(words[40_000:])])

    assert chunks == words[:30_011]
    assert np.frombuffer(said, dtype=np.uint32).tolist() == [number % 30_011 for number in range(70_000)]


@pytest.mark.compiler
@settings(max_examples=scaled(60))
@given(st.lists(records(), max_size=24).map(distinct))
def test_a_segment_is_the_same_bytes_whoever_counts_its_terms(corpus: list[Record]) -> None:
    by_kernel, by_numpy = seal(corpus, compiled()), seal(corpus)

    for name in STORED_FIELDS:
        one, other = getattr(by_kernel, name), getattr(by_numpy, name)
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes()), name


def test_a_library_of_another_source_or_none_at_all_is_not_loaded(tmp_path: Path) -> None:
    source = tmp_path / "kernel.c"
    source.write_bytes(SOURCE.read_bytes())
    library = library_beside(source)
    assert load_kernel(source) is None

    library.write_bytes(b"for another machine")
    assert load_kernel(source) is None

    source.write_bytes(SOURCE.read_bytes() + b"\n")
    assert library_beside(source) != library
