"""The index gives what scoring every record gives: the same hits, totals, order and collection."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.record import Record, RecordId, Sensitivity, Source, State
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.search.ranking import (
    TOKEN_SCALE,
    RankFilter,
    analyse_query,
    impact,
    passes,
    rarity,
    score_of,
)
from runlore.flow.prompt_context.scan import RecordScan
from runlore.ports.index import Index, Overlay, Ranking
from runlore.recall import RankingIndex, Sizes
from runlore.recall.kernel import Kernel
from tests.builders import fact
from tests.examples import scaled
from tests.fakes import START
from tests.recall.engines import by_each_engine, engines
from tests.recall.ranking_examples import distinct, filters, overlays, queries, records
from tests.recall.ranking_reference import overlaid, ranking

SMALL = Sizes(tail_documents_max=2, segment_documents_max=8, merge_share=2)
pytestmark = pytest.mark.req("RET-1", "RET-2", "RET-3")


def hits_of(found: Ranking) -> list[tuple[str, int]]:
    """The hits as plain pairs."""
    return [(hit.record_id, hit.total) for hit in found.hits]


@settings(max_examples=scaled(100))
@given(
    corpus=st.lists(records(), max_size=24).map(distinct),
    query=queries,
    where=filters,
    limit=st.integers(1, 12),
    sizes=st.sampled_from([SMALL, Sizes()]),
    kernel=engines,
)
def test_the_best_are_those_of_the_reference(
    corpus: list[Record], query: str, where: RankFilter, *, limit: int, sizes: Sizes, kernel: Kernel | None
) -> None:
    index = RankingIndex(sizes, kernel=kernel)
    index.apply(corpus)

    found = index.search(query, where=where, limit=limit)

    assert hits_of(found) == ranking(corpus, query, where)[:limit]
    assert RecordScan(corpus).search(query, where=where, limit=limit) == found
    assert RecordScan(corpus).passing(where) == index.passing(where)


@settings(max_examples=scaled(50))
@given(
    corpus=st.lists(records(), max_size=16).map(distinct),
    query=queries,
    where=filters,
    overlay=overlays,
    kernel=engines,
)
def test_an_overlay_shows_other_versions_in_place_of_those_held(
    corpus: list[Record], query: str, where: RankFilter, overlay: Overlay, kernel: Kernel | None
) -> None:
    index = RankingIndex(SMALL, kernel=kernel)
    index.apply(corpus)

    found = index.search(query, where=where, limit=50, overlay=overlay)

    assert hits_of(found) == ranking(overlaid(corpus, overlay), query, where)
    assert RecordScan(corpus).search(query, where=where, limit=50, overlay=overlay) == found
    assert hits_of(index.search(query, where=where, limit=50)) == ranking(corpus, query, where)


@settings(max_examples=scaled(50))
@given(corpus=st.lists(records(), max_size=16).map(distinct), query=queries, where=filters)
def test_each_total_is_the_sum_of_the_parts_that_are_printed(
    corpus: list[Record], query: str, where: RankFilter
) -> None:
    index = RankingIndex(SMALL)
    index.apply(corpus)

    found = index.search(query, where=where, limit=50)

    seen = {record.record_id: record for record in corpus if passes(record, where)}
    scores = {key: score_of(record, analyse_query(query), found.collection) for key, record in seen.items()}
    own = {hit.record_id: hit.total - hit.neighbours for hit in found.hits}
    assert found.collection.size == len(seen)
    assert own == {key: score.total for key, score in scores.items() if score is not None}


def test_ties_are_broken_by_time_and_then_by_id_whichever_word_matched() -> None:
    """Six records with one score: the cut falls among them."""
    words = ["alpha", "beta"] * 3
    ids = [RecordId(f"rec_{letter}") for letter in "badcfe"]
    for sizes in (Sizes(), SMALL, Sizes(tail_documents_max=0)):
        index: Index = RankingIndex(sizes)
        index.apply(fact(word, record_id=key) for word, key in zip(words, ids, strict=True))
        for limit in range(1, 7):
            cut = index.search("alpha beta", where=RankFilter(now=START), limit=limit)
            assert [hit.record_id[-1] for hit in cut.hits] == list("abcdef")[:limit]

        index.apply([fact("beta", record_id=RecordId("rec_z"), created_at=START + timedelta(milliseconds=1))])
        index.apply(
            [fact("alpha", record_id=RecordId("rec_y"), created_at=START - timedelta(milliseconds=1))]
        )

        for limit in range(1, 9):
            found = index.search("alpha beta", where=RankFilter(now=START), limit=limit)

            assert [hit.record_id[-1] for hit in found.hits] == list("zabcdefy")[:limit]
            assert len({hit.total for hit in found.hits}) == 1


def test_common_words_of_a_large_segment_are_counted_and_ranked_alike() -> None:
    """Lists longer than what the kernel reads at once, some of their records moved or hidden."""
    random = Random(7)
    vocabulary = ["common", "usual", "frequent", *(f"word{number}" for number in range(300))]
    shares = [0.9, 0.8, 0.5, *([0.01] * 300)]
    corpus = []
    for _ in range(5_500):
        words = [word for word, share in zip(vocabulary, shares, strict=True) if random.random() < share]
        words += random.sample(words, len(words) // 4)
        corpus.append(
            fact(
                " ".join(words),
                metadata={"tag": random.choice(vocabulary)},
                state=random.choice([*State]),
                created_at=START - timedelta(hours=random.randrange(40)),
            )
        )
    index = RankingIndex()
    index.apply(corpus)
    moved = [replace(record, state=State.ACTIVE, revision=2) for record in corpus[:50]]
    where = RankFilter(states=frozenset({State.ACTIVE, State.SUPERSEDED}), now=START)
    queries_asked = ["common", "usual frequent", "common usual frequent word1", "word5 word7 common", "word9"]

    for held in (corpus, [*moved, *corpus[50:]]):
        index.apply(held[:50])
        for query in queries_asked:
            expected = ranking(held, query, where)[:12]
            for each in by_each_engine(index):
                assert hits_of(each.search(query, where=where, limit=12)) == expected


@pytest.mark.req("RET-10")
@settings(max_examples=scaled(20))
@given(
    said=st.lists(st.sampled_from(["cat", "cat deploy", "deploy canary", "canary", "release"]), max_size=90),
    sessions=st.integers(1, 3),
    moments=st.integers(1, 90),
    limit=st.sampled_from([1, 12, 49, 50, 60]),
    changed=st.integers(0, 20),
)
def test_words_beside_a_hit_in_its_session_count_for_the_best_fifty(
    said: list[str], sessions: int, moments: int, limit: int, changed: int
) -> None:
    """Sessions that are interleaved, spread over parts and the tail, and longer than what gains."""
    corpus = [
        fact(
            text,
            record_id=RecordId(f"rec_{number * 37 % 101:03}"),
            scope=Scope(ScopeKind.SESSION, f"s{number % sessions}"),
            created_at=START - timedelta(seconds=number % moments),
        )
        for number, text in enumerate(said)
    ]
    index = RankingIndex(Sizes(tail_documents_max=5, segment_documents_max=20, merge_share=2))
    index.apply(corpus)
    corpus[:changed] = [replace(record, summary="release", revision=2) for record in corpus[:changed]]
    index.apply(corpus[:changed])
    where = RankFilter(now=START)

    found = index.search("cat canary", where=where, limit=limit)

    assert hits_of(found) == ranking(corpus, "cat canary", where)[:limit]
    assert RecordScan(corpus).search("cat canary", where=where, limit=limit) == found


@pytest.mark.req("RET-10")
def test_neighbours_count_among_records_of_one_session_alone_and_only_where_they_are_seen() -> None:
    spoken = ["the canary", "lunch", "deploy it", "weather", "nothing", "much", "canary of another day"]

    def neighbours(records: list[Record], *, include_sensitive: bool = True) -> dict[str, int]:
        index = RankingIndex()
        index.apply(records)
        where = RankFilter(include_sensitive=include_sensitive, now=START)
        found = index.search("deploy canary", where=where, limit=12)
        return {hit.record_id: hit.neighbours for hit in found.hits}

    def told(scope: Scope, source: Source) -> list[Record]:
        return [
            fact(
                text,
                record_id=RecordId(f"rec_{at}"),
                scope=scope,
                source=source,
                created_at=START + timedelta(minutes=at),
                sensitivity=Sensitivity.SENSITIVE if at == 0 else Sensitivity.NORMAL,
            )
            for at, text in enumerate(spoken)
        ]

    in_session = told(Scope(ScopeKind.SESSION, "s1"), Source())
    weights = [rarity(frequency, len(spoken)) for frequency in (1, 2)]
    counted = [impact(1, length=length) for length in (1, 1, 3)]
    assert neighbours(in_session) == {
        # Two places away.
        "rec_0": TOKEN_SCALE * (3 * weights[0] * counted[0] // 10),
        "rec_2": TOKEN_SCALE * (3 * weights[1] * counted[1] // 10),
        # Four away: too far.
        "rec_6": 0,
    }
    assert neighbours(told(WORKSPACE, Source(session_id="s1"))) == neighbours(in_session)
    assert set(neighbours(told(WORKSPACE, Source())).values()) == {0}
    assert neighbours(in_session, include_sensitive=False) == {"rec_2": 0, "rec_6": 0}


@pytest.mark.req("RET-10")
def test_a_neighbour_counts_less_with_every_place_on_either_side() -> None:
    for sizes in (Sizes(), SMALL, Sizes(tail_documents_max=0)):
        for places in (-4, -3, -2, -1, 1, 2, 3, 4):
            said = {0: "deploy", places: "canary"}
            records = [
                fact(
                    said.get(at, "lunch"),
                    record_id=RecordId(f"rec_{at + 5}"),
                    scope=Scope(ScopeKind.SESSION, "s1"),
                    created_at=START + timedelta(minutes=at),
                )
                for at in range(-5, 6)
            ]
            index = RankingIndex(sizes)
            index.apply(records)

            found = index.search("deploy canary", where=RankFilter(now=START), limit=2)

            tenths = {1: 5, 2: 3, 3: 2}.get(abs(places), 0)
            gained = TOKEN_SCALE * (tenths * rarity(1, 11) * impact(1, length=1) // 10)
            assert [hit.neighbours for hit in found.hits] == [gained, gained]
            assert hits_of(found) == ranking(records, "deploy canary", RankFilter(now=START))[:2]
