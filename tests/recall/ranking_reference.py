"""The ranking once more, written from its description and slow: what the index has to agree with.

Fractions instead of whole-number tricks, sets instead of arrays. Only the analyser is shared; it has its own
tests.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import floor

from runlore.domain.record import JsonValue, Record, Sensitivity, State
from runlore.domain.scope import ScopeKind
from runlore.domain.search.ranking import QUERY_TERMS_MAX, RankFilter
from runlore.domain.text.analysis import fold_text, tokenize
from runlore.ports.index import Overlay

K1, B, PIVOT = Fraction(1), Fraction(1, 4), 32
KNEE = 48
RERANKED = 50
SHARES = {1: Fraction(1, 2), 2: Fraction(3, 10), 3: Fraction(1, 5)}
HOUR = timedelta(hours=1)


def ranking(records: Iterable[Record], query: str, where: RankFilter) -> list[tuple[str, int]]:
    """Every record that matches, the best first, with its total."""
    seen = [_Read.of(record) for record in records if is_seen(record, where)]
    wanted = list(dict.fromkeys(tokenize(query)))[:QUERY_TERMS_MAX]
    frequency = {term: sum(term in each.summary or term in each.metadata for each in seen) for term in wanted}
    weight = {term: _rarity(frequency[term], len(seen)) for term in wanted}
    newest = max((each.record.created_at for each in seen), default=datetime(1970, 1, 1, tzinfo=UTC))
    scored = []
    for each in seen:
        record = each.record
        exact = bool(fold_text(query)) and fold_text(record.summary) == fold_text(query)
        points = sum(weight[term] * each.impact(term) for term in wanted)
        if exact or points:
            below = (16 if record.state is State.ACTIVE else 0) + _recency(newest, record.created_at)
            scored.append((10**12 * exact + 32 * points + below, each))
    ordered = _in_order(scored)
    best = [(total + 32 * _beside(each, seen, weight), each) for total, each in ordered[:RERANKED]]
    return [(each.record.record_id, total) for total, each in [*_in_order(best), *ordered[RERANKED:]]]


def _in_order(scored: list[tuple[int, "_Read"]]) -> list[tuple[int, "_Read"]]:
    scored = sorted(scored, key=lambda each: each[1].record.record_id)
    scored.sort(key=lambda each: each[1].record.created_at, reverse=True)
    scored.sort(key=lambda each: each[0], reverse=True)
    return scored


def _beside(hit: "_Read", seen: list["_Read"], weight: dict[str, int]) -> int:
    """What the words around a hit in its session add to its own."""
    session = _session(hit.record)
    if session is None:
        return 0
    order = [each for _, each in _in_order([(0, each) for each in seen]) if _session(each.record) == session]
    at = order.index(hit)
    added = 0
    for term, rarity in weight.items():
        own = rarity * hit.impact(term)
        counted = [
            floor(SHARES[abs(place - at)] * rarity * each.impact(term))
            for place, each in enumerate(order)
            if abs(place - at) in SHARES
        ]
        added += max([own, *counted]) - own
    return added


def _session(record: Record) -> str | None:
    return record.scope.id if record.scope.kind is ScopeKind.SESSION else record.source.session_id


def is_seen(record: Record, where: RankFilter) -> bool:
    """Whether a record belongs to the filtered set."""
    asked = [
        (where.layers, record.layer),
        (where.kinds, record.kind),
        (where.states, record.state),
        (where.scopes, record.scope),
    ]
    if any(allowed is not None and value not in allowed for allowed, value in asked):
        return False
    if record.sensitivity is Sensitivity.SENSITIVE and not where.include_sensitive:
        return False
    waits_or_serves = record.state not in {State.SUPERSEDED, State.TOMBSTONED}
    return not (waits_or_serves and record.expires_at is not None and where.now >= record.expires_at)


def overlaid(records: Iterable[Record], overlay: Overlay) -> list[Record]:
    """The records as an overlay shows them."""
    replaced = overlay.hidden | {record.record_id for record in overlay.records}
    return [record for record in records if record.record_id not in replaced] + list(overlay.records)


def texts_in(value: JsonValue) -> list[str]:
    """Every string of a metadata value, however deep, and no key."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in texts_in(inner)]
    if isinstance(value, list | tuple):
        return [text for inner in value for text in texts_in(inner)]
    return [value] if isinstance(value, str) else []


@dataclass(frozen=True, kw_only=True)
class _Read:
    record: Record
    summary: list[str]
    metadata: set[str]

    @classmethod
    def of(cls, record: Record) -> "_Read":
        metadata = {term for text in texts_in(record.metadata) for term in tokenize(text)}
        return cls(record=record, summary=tokenize(record.summary), metadata=metadata)

    def impact(self, term: str) -> int:
        beside = 15 if term in self.metadata else 0
        count, length = self.summary.count(term), len(self.summary)
        if not count:
            return beside
        counted = length + 7 * max(0, length - KNEE)
        saturated = count * (K1 + 1) / (count + K1 * (1 - B + B * Fraction(counted, PIVOT)))
        return 16 + floor(92 * saturated) + beside


def _rarity(frequency: int, size: int) -> int:
    ratio = Fraction(size + 1) / (frequency + Fraction(1, 2))
    sixteenths = 0
    while Fraction(2) ** (sixteenths + 1) <= ratio**16:
        sixteenths += 1
    return max(1, sixteenths)


def _recency(newest: datetime, created: datetime) -> int:
    """A point less at one hour, two, four and so on; times count in whole milliseconds."""
    age = _truncated(newest) - _truncated(created)
    points, step = 15, HOUR
    while points and age >= step:
        points, step = points - 1, step * 2
    return points


def _truncated(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
