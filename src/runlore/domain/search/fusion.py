"""Words and meaning in one score: what the ranking by words says, and what vectors add to it.

Whole numbers only: similarities come as ten-thousandths of a cosine. The words decide, and meaning adds at
most a quarter of what the best hit by words has. Why it is this rule stands in docs/decisions/0007.
"""

from collections.abc import Mapping, Sequence

from runlore.domain.lazy import dataclass
from runlore.domain.search.ranking import EXACT

# A cosine of 1; similarities are whole ten-thousandths.
COSINE = 10_000
# The most that meaning adds is the best score by words divided by this.
SHARE = 4
# How far above the background a similarity stands that is trusted without any word in common. Where nothing
# stands out that far, the nearest does not count in full either.
MARGIN = 2_500
# What the best by meaning is measured by where no word matches anything.
BEST_WITHOUT_WORDS = 100_000


@dataclass(frozen=True, kw_only=True)
class WordHit:
    """What matches by words, with its score there. Their order, best first, decides between equals."""

    key: str
    total: int


@dataclass(frozen=True, kw_only=True)
class Similarities:
    """How near things are to the query: the nearest ones, and any others that somebody asked for.

    `background` is the average of all that were searched, the nearest apart: what is near by chance.
    """

    of: Mapping[str, int]
    background: int = 0


@dataclass(frozen=True, kw_only=True)
class FusedHit:
    """One thing with the parts of its score. `similarity` is None where nobody knows it."""

    key: str
    words: int
    meaning: int
    similarity: int | None = None

    @property
    def total(self) -> int:
        return self.words + self.meaning


def fuse(
    hits: Sequence[WordHit], similar: Similarities | None, *, limit: int | None = None
) -> tuple[FusedHit, ...]:
    """The hits by both, best first.

        total = words
              + best x (similarity - background) / (4 x max(nearest - background, 2500)), rounded down

    where `best` is the best score by words, and nothing is added below the background. What shares no word
    with the query is a hit where its similarity stands 2,500 above the background. Without similarities the
    hits by words stand as they are. Equals are in the order of their words, then the nearer, then by key.

    >>> words = [WordHit(key="a", total=4000), WordHit(key="b", total=3400)]
    >>> near = Similarities(of={"a": 1500, "b": 6000, "c": 3500}, background=1000)
    >>> [(hit.key, hit.words, hit.meaning) for hit in fuse(words, near)]
    [('b', 3400, 1000), ('a', 4000, 100), ('c', 0, 500)]

    The whole query being the text (`ranking.EXACT`) stands above everything, as it does by words alone.
    """
    if similar is None or not similar.of:
        return tuple(FusedHit(key=hit.key, words=hit.total, meaning=0) for hit in hits[:limit])
    best = max((hit.total % EXACT for hit in hits), default=BEST_WITHOUT_WORDS)
    divisor = SHARE * max(max(similar.of.values()) - similar.background, MARGIN)

    def make_hit(key: str, words: int) -> FusedHit:
        similarity = similar.of.get(key)
        above = 0 if similarity is None else max(0, similarity - similar.background)
        return FusedHit(key=key, words=words, meaning=best * above // divisor, similarity=similarity)

    matched = {hit.key for hit in hits}
    nearest_first = sorted(similar.of.items(), key=lambda item: (-item[1], item[0]))
    by_meaning = [
        make_hit(key, 0)
        for key, similarity in nearest_first
        if key not in matched and similarity - similar.background >= MARGIN
    ]
    # Sorting keeps the order of equals: those with words first, each kind in its own order.
    both = [*(make_hit(hit.key, hit.total) for hit in hits), *by_meaning]
    return tuple(sorted(both, key=lambda hit: -hit.total)[:limit])
