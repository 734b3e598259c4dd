"""The one ranking: which records a search may see, and how well each of them answers it.

Whole numbers only, so that the order and the scores are the same on every machine and every database. The
clock filters (`RankFilter.now`) and never scores. Nothing here searches: an index and a loop over all records
give the same answer through `passes` and `score_of`.

Vectors add to it: similarities come as ten-thousandths of a cosine. The words decide, and meaning adds at
most a quarter of what the best hit by words has. Why it is this rule stands in docs/decisions/0007.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from runlore.domain.json_form import JsonForm
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.record import JsonValue, Kind, Layer, Record, Sensitivity, State
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.timestamps import to_milliseconds

if TYPE_CHECKING:
    from runlore.domain.text import analysis
else:
    # Who only reads scores takes no words apart.
    analysis = LazyModule("runlore.domain.text.analysis")

# One point of a token's score stands above everything that state and recency can add.
TOKEN_SCALE = 32
STATE_ACTIVE = 16
RECENCY_MAX = 15
EXACT = 1_000_000_000_000

# What a word counts in the longest of summaries, just above what it counts in the metadata.
IMPACT_LEAST = 16
IMPACT_METADATA = 15
IMPACT_MAX = 255
# Up to so many terms the length hardly counts, and each one beyond counts so many times as much.
LENGTH_KNEE = 48
LENGTH_STEEPNESS = 8
QUERY_TERMS_MAX = 512
# What a word of a neighbour counts, in tenths of what it counts there: one, two and three places away. Only
# so many of the best gain by their neighbours.
NEIGHBOUR_TENTHS = (5, 3, 2)
NEIGHBOURED_HITS = 50

LIVE_STATES = frozenset({State.CONSTRAINED, State.ACTIVE})
# A point of recency is lost at an age of one hour, and at each doubling of it up to 16,384 hours.
RECENCY_STEPS_MS = tuple(3_600_000 << doublings for doublings in range(RECENCY_MAX))


@dataclass(frozen=True, kw_only=True)
class RankFilter:
    """What a search may see. `None` means all; `now` hides live records that have expired by then."""

    layers: frozenset[Layer] | None = None
    kinds: frozenset[Kind] | None = None
    states: frozenset[State] | None = None
    scopes: frozenset[Scope] | None = None
    include_sensitive: bool = True
    now: datetime


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query as it is matched: the whole of it without case, and its distinct terms in their order."""

    whole: str
    terms: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Collection:
    """The filtered set that a score is relative to.

    Its size, its newest record, and in how many of its records each term of the query stands.
    """

    size: int
    newest_at_ms: int
    document_frequency: Mapping[str, int]


@JsonForm(omit_default=("neighbours", "meaning"))
@dataclass(frozen=True, kw_only=True)
class Score:
    """The parts of a score, already scaled, so that they add up to it.

    `neighbours` is what words that stand beside it in its session add (`neighbour_points`), `meaning` what
    vectors add where there are any (`fuse`); the record's own words have no part in either.
    """

    exact: int
    summary: int
    metadata: int
    state: int
    recency: int
    neighbours: int = 0
    meaning: int = 0

    @property
    def total(self) -> int:
        own = self.exact + self.summary + self.metadata + self.state + self.recency
        return own + self.neighbours + self.meaning


@dataclass(frozen=True, kw_only=True)
class Impacts:
    """How much each term of a record counts, before its rarity: in the summary, and in the metadata."""

    summary: Mapping[str, int]
    metadata: Mapping[str, int]


def passes(record: Record, where: RankFilter) -> bool:
    return (
        (where.states is None or record.state in where.states)
        and (where.layers is None or record.layer in where.layers)
        and (where.kinds is None or record.kind in where.kinds)
        and (where.scopes is None or record.scope in where.scopes)
        and (where.include_sensitive or record.sensitivity is not Sensitivity.SENSITIVE)
        and not (record.state in LIVE_STATES and record.is_expired(where.now))
    )


def analyse_query(query: str) -> Query:
    """Read a query once. Terms beyond the limit are left out, the later ones first."""
    terms = tuple(dict.fromkeys(analysis.tokenize(query)))[:QUERY_TERMS_MAX]
    return Query(whole=analysis.fold_text(query), terms=terms)


def score_of(
    record: Record, query: Query, collection: Collection, *, impacts: Impacts | None = None
) -> Score | None:
    """How well a record of the collection answers the query; None when it does not match at all.

        total = 10^12          if the whole query is the summary, but for case and outer white space
              + 32 x the sum over the query's distinct terms of
                     rarity(df, n) x (impact(tf, length) in the summary + 15 if in the metadata)
              + 16             if the record is active
              + recency        15 for the newest hour, one less for each doubling of the age

    A worked example. Seven records pass the filter; `deploy` stands in three of them and `canary` in one. The
    newest is five hours younger than this one, whose summary has four terms (`the`, `with`, `a` are none):

    >>> from datetime import UTC, datetime
    >>> from runlore.domain.record import Kind, Layer, RecordId, State
    >>> from runlore.domain.scope import WORKSPACE
    >>> record = Record(
    ...     record_id=RecordId("r1"), layer=Layer.SEMANTIC, kind=Kind.FACT, state=State.ACTIVE,
    ...     scope=WORKSPACE, summary="Deploy the shop with a canary release",
    ...     metadata={"topic_tags": ["deployment"]}, created_by="example",
    ...     created_at=datetime(2026, 1, 1, tzinfo=UTC))
    >>> newest_at_ms = to_milliseconds(datetime(2026, 1, 1, 5, tzinfo=UTC))
    >>> frequency = {"deploy": 3, "canari": 1}
    >>> collection = Collection(size=7, newest_at_ms=newest_at_ms, document_frequency=frequency)
    >>> rarity(3, 7), rarity(1, 7)     # 16 x log2(16/7) = 19.08, 16 x log2(16/3) = 38.6
    (19, 38)
    >>> impact(1, length=4)            # 16 + 23552 / (128 + 96 + 4) = 119.3
    119
    >>> score_of(record, analyse_query("deploying canaries"), collection)
    Score(exact=0, summary=217056, metadata=9120, state=16, recency=12, neighbours=0, meaning=0)

    The summary's part is 32 x (19 x 119 + 38 x 119), the metadata's 32 x 19 x 15 (`deployment` has the stem
    of `deploy`), and at five hours the age has doubled three times: it is below 8, not below 4.

    Whoever has analysed the record already hands its `impacts` in.
    """
    impacts = impacts or impacts_of(record)
    exact = bool(query.whole) and analysis.fold_text(record.summary) == query.whole
    summary = metadata = 0
    for term in query.terms:
        in_summary, in_metadata = impacts.summary.get(term, 0), impacts.metadata.get(term, 0)
        if in_summary or in_metadata:
            weight = rarity(collection.document_frequency[term], collection.size)
            summary += weight * in_summary
            metadata += weight * in_metadata
    if not (exact or summary or metadata):
        return None
    return Score(
        exact=EXACT if exact else 0,
        summary=TOKEN_SCALE * summary,
        metadata=TOKEN_SCALE * metadata,
        state=state_points(record.state),
        recency=recency(collection.newest_at_ms - to_milliseconds(record.created_at)),
    )


def session_of(record: Record) -> str | None:
    """The session in whose order a record stands: the one it is of, or was made in; None for all others."""
    return record.scope.id if record.scope.kind is ScopeKind.SESSION else record.source.session_id


def neighbour_points(own: Sequence[int], beside: Iterable[tuple[int, Sequence[int]]]) -> int:
    """What a hit gains by those beside it, each with its distance and what the query's terms give there.

    A term counts half of what it gives one place away, three and two tenths at two and three, rounded down;
    the greatest counts, and only what it is above the hit's own.

    >>> neighbour_points([100, 0], [(1, [300, 0]), (2, [0, 90]), (3, [900, 90])])
    107

    The first term gives 180 three places away, 80 above its own; the second 27 at two places.
    """
    best = list(own)
    for distance, gains in beside:
        tenths = NEIGHBOUR_TENTHS[distance - 1]
        best = [max(most, gain * tenths // 10) for most, gain in zip(best, gains, strict=True)]
    return sum(best) - sum(own)


@lru_cache(maxsize=4_096)
def rarity(document_frequency: int, size: int) -> int:
    """Sixteen times the binary logarithm of (n + 1) / (df + 1/2), rounded down, and at least one.

    The logarithm is exact and needs no floating point: the number of binary digits of the sixteenth power.
    """
    ratio = (2 * size + 2) ** 16 // (2 * document_frequency + 1) ** 16
    return max(1, ratio.bit_length() - 1)


def impact(occurrences: int, *, length: int) -> int:
    """What a term counts in a summary of `length` terms: 108 when it stands once among 32, always 16 to 199.

    BM25's saturation with k1 = 1, b = 1/4 and a constant pivot of 32 terms, as far as 48 terms.
    Behind them length counts eight times as much, without end: a long text has every word somewhere. What
    is left of a word in the longest summary is still more than one of the metadata counts.
    """
    counted = length if length <= LENGTH_KNEE else LENGTH_STEEPNESS * length - _KNEE_EXCESS
    return IMPACT_LEAST + _IMPACT_RANGE * occurrences // (128 * occurrences + 96 + counted)


_IMPACT_RANGE = 25_600 - 128 * IMPACT_LEAST
_KNEE_EXCESS = (LENGTH_STEEPNESS - 1) * LENGTH_KNEE


def impacts_of(record: Record, *, wanted: tuple[str, ...] | None = None) -> Impacts:
    """The terms of a record, or those `wanted` of them. A term counts once for all metadata, however often it
    stands there."""
    if wanted is None:
        terms, others = analysis.tokenize(record.summary), analysis.tokenize(metadata_text(record))
        length = len(terms)
    else:
        length, terms = analysis.terms_among(record.summary, wanted)
        _, others = analysis.terms_among(metadata_text(record), wanted)
    summary = dict.fromkeys(terms, impact(1, length=length))
    if len(summary) < len(terms):
        summary |= {term: impact(count, length=length) for term, count in Counter(terms).items() if count > 1}
    return Impacts(summary=summary, metadata=dict.fromkeys(others, IMPACT_METADATA))


def metadata_text(record: Record) -> str:
    """All strings of the metadata, to be read at once: a line break joins no words."""
    return "\n".join(strings_of(record.metadata))


def state_points(state: State) -> int:
    """Active records stand above stale and waiting ones that match as well."""
    return STATE_ACTIVE if state is State.ACTIVE else 0


def recency(age_ms: int) -> int:
    """15 for an age below one hour, 14 below two, 13 below four, and so on down to 0 from 16,384 on."""
    return RECENCY_MAX - bisect_right(RECENCY_STEPS_MS, age_ms)


def strings_of(value: JsonValue) -> list[str]:
    """Every string in a metadata value, however deep. Keys and numbers say nothing about the content."""
    if isinstance(value, str):
        return [value]
    # Plain containers first: to ask whether something is any mapping takes longer than all else here.
    values: Iterable[JsonValue] = ()
    if isinstance(value, dict):
        values = value.values()
    elif isinstance(value, (list, Sequence)):
        values = value
    elif isinstance(value, Mapping):
        values = value.values()
    found = list[str]()
    for inner in values:
        if isinstance(inner, str):
            found.append(inner)
        else:
            found += strings_of(inner)
    return found


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
