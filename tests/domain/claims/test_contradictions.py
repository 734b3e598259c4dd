"""Which records say the same or the opposite: everything that holds counts, and nothing that does not."""

from itertools import product

import pytest

from runlore.domain.claims.contradictions import Surroundings, find_contradictions, find_duplicate, neighbours
from runlore.domain.record import RecordId, VerificationStatus
from tests.builders import fact, published

pytestmark = pytest.mark.req("LRN-6")

OURS = published(fact("The deploy region is eu-west-1"))


def test_what_was_replaced_counts_neither_as_the_same_nor_as_the_opposite() -> None:
    for summary, replaced in product(
        ("The deploy region is eu-west-1", "The deploy region is us-east-1"), (None, RecordId("rec_9"))
    ):
        rival = published(fact(summary), superseded_by=replaced)
        around = Surroundings(same_subject=(rival,))
        holds = (rival,) if replaced is None else ()
        is_same = summary == OURS.summary
        assert neighbours(OURS, around) == holds
        assert find_duplicate(OURS, around) == (rival if holds and is_same else None)
        assert find_contradictions(OURS, around) == (() if is_same else holds)


def test_what_was_refuted_contradicts_nothing() -> None:
    rival = published(fact("The deploy region is us-east-1"), verification_status=VerificationStatus.FAILED)
    assert find_contradictions(OURS, Surroundings(same_subject=(rival,))) == ()


def test_a_record_is_no_rival_of_itself_and_none_is_told_twice() -> None:
    rival = published(fact("The deploy region is us-east-1"))
    around = Surroundings(same_subject=(OURS, rival), same_profile_key=(rival, OURS))
    assert neighbours(OURS, around) == (rival,)
