"""An index as it was at a moment, and two indexes on one scale."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from runlore.domain.record import Record
from runlore.domain.search.ranking import Collection, RankFilter, analyse_query, score_of
from runlore.recall import RankingIndex
from runlore.recall.index import Sizes
from tests.builders import fact, published
from tests.fakes import START

pytestmark = pytest.mark.req("RET-1", "RET-6")

WORDS = ("atlas", "port", "deploy", "cache", "queue", "release")
SMALL = Sizes(tail_documents_max=5, segment_documents_max=16)


def some_records(seed: int, count: int = 40) -> list[Record]:
    """Random records of a few words."""
    chance = Random(seed)
    return [
        replace(
            published(fact(" ".join(chance.choices(WORDS, k=chance.randint(1, 6))))),
            created_at=START + timedelta(minutes=chance.randrange(500)),
        )
        for _ in range(count)
    ]


def test_a_frozen_index_answers_as_before_whatever_is_applied_or_erased() -> None:
    index, records = RankingIndex(SMALL), some_records(1)
    index.apply(records)
    where = RankFilter(now=START)
    frozen = index.freeze()
    before = {word: frozen.search(word, where=where, limit=50) for word in WORDS}

    index.apply([replace(record, summary="something else", revision=9) for record in records[:20]])
    index.apply(some_records(2))
    index.erase([record.record_id for record in records[20:]])

    assert {word: frozen.search(word, where=where, limit=50) for word in WORDS} == before
    assert {word: index.search(word, where=where, limit=50) for word in WORDS} != before


@pytest.mark.parametrize("limit", [1, 5, 100])
def test_scores_can_be_relative_to_another_collection(limit: int) -> None:
    index, records = RankingIndex(SMALL), some_records(3)
    index.apply(records)
    query = analyse_query("deploy the cache to atlas")
    wider = Collection(
        size=1_000,
        newest_at_ms=10**13,
        document_frequency={term: 1 + 90 * place for place, term in enumerate(query.terms)},
    )

    ranking = index.search(
        "deploy the cache to atlas", where=RankFilter(now=START), limit=limit, relative_to=wider
    )

    scored = [(score_of(record, query, wider), record) for record in records]
    totals = sorted((score.total for score, _ in scored if score is not None), reverse=True)
    assert [hit.total for hit in ranking.hits] == totals[:limit]
    assert ranking.collection == wider


def test_a_hit_tells_the_revision_that_it_was_ranked_at() -> None:
    index, records = RankingIndex(SMALL), some_records(4)
    index.apply(records)
    index.apply([replace(record, revision=record.revision + 3) for record in records[::2]])
    expected = {
        record.record_id: record.revision + (3 if place % 2 == 0 else 0)
        for place, record in enumerate(records)
    }

    hits = [hit for word in WORDS for hit in index.search(word, where=RankFilter(now=START), limit=100).hits]

    assert {hit.record_id: hit.revision for hit in hits} == expected
