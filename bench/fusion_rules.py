"""Ways to put words and vectors together that were tried: each orders the keys of a case."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from bench.fusion_sets import DEPTH, Case
from runlore.domain.search.ranking import MARGIN, Similarities, WordHit, fuse

Order: TypeAlias = Callable[[Case], Sequence[str]]
Parts: TypeAlias = Mapping[str, float]


def words_alone(case: Case) -> Sequence[str]:
    """As the ranking has it."""
    return [hit.key for hit in case.words]


def vectors_alone(case: Case) -> Sequence[str]:
    """The nearest first."""
    return nearest(case.similar)[:DEPTH]


def nearest(similar: Similarities) -> list[str]:
    """All keys, the nearest first."""
    return sorted(similar.of, key=lambda key: (-similar.of[key], key))


def chosen(case: Case) -> Sequence[str]:
    """The rule of `domain/search/fusion`."""
    return [hit.key for hit in fuse(case.words, case.similar)]


def reciprocal(weight: float, constant: int) -> Order:
    """Reciprocal ranks, those of vectors by a weight."""

    def order(case: Case) -> Sequence[str]:
        words = {key: 1 / (constant + place) for place, key in enumerate(words_alone(case), start=1)}
        vectors = {key: 1 / (constant + place) for place, key in enumerate(vectors_alone(case), start=1)}
        return _by_sum(case, words, vectors, weight)

    return order


def summed(words: Callable[[Parts], Parts], vectors: Callable[[Parts], Parts], weight: float) -> Order:
    """Scores made comparable, and those of vectors by a weight."""

    def order(case: Case) -> Sequence[str]:
        totals = {hit.key: hit.total for hit in case.words}
        both = {key: float(totals.get(key, 0)) for key in {*totals, *case.similar.of}}
        near = {key: float(similarity) for key, similarity in case.similar.of.items()}
        return _by_sum(case, words(both), vectors(near), weight)

    return order


def shared(share: float, *, least: int = MARGIN) -> Order:
    """The chosen rule with another share for meaning, or another least span."""

    def order(case: Case) -> Sequence[str]:
        background = case.similar.background
        span = max(max(case.similar.of.values(), default=0) - background, least)
        best = max((hit.total for hit in case.words), default=1)
        words = {hit.key: float(hit.total) for hit in case.words}
        vectors = {
            key: best * max(0, similarity - background) / span
            for key, similarity in case.similar.of.items()
            if key in words or similarity - background >= MARGIN
        }
        return _by_sum(case, words, vectors, share)

    return order


def reranked(first: int, share: float) -> Order:
    """The first hits by words in the order of both; the others stay below them."""

    def order(case: Case) -> Sequence[str]:
        words = [WordHit(key=hit.key, total=hit.total) for hit in case.words]
        top = {hit.key for hit in words[:first]}
        both = [key for key in shared(share)(case) if key in top]
        return [*both, *(hit.key for hit in words[first:])]

    return order


def below(share: float) -> Order:
    """What has no word in common stands below everything that has one."""

    def order(case: Case) -> Sequence[str]:
        matched = {hit.key for hit in case.words}
        both = shared(share)(case)
        return [*(key for key in both if key in matched), *(key for key in both if key not in matched)]

    return order


def as_it_is(parts: Parts) -> Parts:
    """Ten-thousandths as a share of one."""
    return {key: value / 10_000 for key, value in parts.items()}


def by_best(parts: Parts) -> Parts:
    """As a share of the best."""
    best = max(parts.values(), default=0) or 1
    return {key: value / best for key, value in parts.items()}


def by_range(parts: Parts) -> Parts:
    """From the least, 0, to the greatest, 1."""
    least, greatest = min(parts.values(), default=0), max(parts.values(), default=0)
    return {key: (value - least) / ((greatest - least) or 1) for key, value in parts.items()}


def by_deviation(parts: Parts) -> Parts:
    """In standard deviations from the average."""
    mean = sum(parts.values()) / max(len(parts), 1)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in parts.values()) / max(len(parts), 1)) or 1
    return {key: (value - mean) / deviation for key, value in parts.items()}


def _by_sum(case: Case, words: Parts, vectors: Parts, weight: float) -> Sequence[str]:
    place = {hit.key: number for number, hit in enumerate(case.words)}
    totals = {key: words.get(key, 0) + weight * vectors.get(key, 0) for key in {*words, *vectors}}
    return sorted(totals, key=lambda key: (-totals[key], place.get(key, len(place)), key))
