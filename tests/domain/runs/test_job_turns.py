"""Under any load every kind of work is done: none waits until another has nothing left."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.runs.job import SHARES, JobKind, Turns

pytestmark = pytest.mark.req("POL-10")

THINKING = frozenset({JobKind.CAPTURE, JobKind.REVIEW, JobKind.ENHANCE, JobKind.CURATE})
MOST = sum(SHARES.get(kind, 1) for kind in THINKING) + 1


def one_turn(turns: Turns, waiting: Counter[JobKind]) -> JobKind:
    """What a worker does next, of what waits."""
    (kind,) = next(kinds for kinds in turns.order(THINKING) if waiting[next(iter(kinds))])
    turns.take(kind)
    waiting[kind] -= 1
    return kind


def test_where_each_capture_brings_reviews_neither_is_left_behind() -> None:
    turns = Turns()
    waiting = Counter({JobKind.CAPTURE: 1_000})
    done: Counter[JobKind] = Counter()
    for _ in range(2_000):
        kind = one_turn(turns, waiting)
        done[kind] += 1
        if kind is JobKind.CAPTURE:
            waiting[JobKind.REVIEW] += 4

    assert waiting[JobKind.REVIEW] <= 8, "reviews keep up with the captures that bring them"
    assert done[JobKind.CAPTURE] >= 399


@given(st.lists(st.sampled_from(sorted(THINKING)), max_size=200), st.sampled_from(sorted(THINKING)))
def test_whatever_was_done_before_a_kind_that_waits_is_done_within_a_few_turns(
    before: list[JobKind], late: JobKind
) -> None:
    turns = Turns()
    for kind in before:
        turns.take(kind)
    waiting = Counter(dict.fromkeys(THINKING, 1000))

    assert late in [one_turn(turns, waiting) for _ in range(2 * MOST)]
