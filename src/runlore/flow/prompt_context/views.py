"""What prompts may and may not see of several scopes: the views of each, put together by their priority.

The same as looking at all records of the scopes at once, without reading again what has not changed. Where a
record is being superseded while the link back is missing, the views cannot tell, and there are none.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import permutations

from runlore.domain import limits
from runlore.domain.lazy import dataclass
from runlore.domain.prompts.selection import Candidate, filter_eligible, order_candidates, shadowed_by
from runlore.domain.record import PROMPT_KINDS, RecordId, State
from runlore.domain.records.visibility import Hidden
from runlore.domain.scope import Scope
from runlore.domain.search.ranking import EXACT, TOKEN_SCALE, Query, RankFilter, passes, rarity
from runlore.flow.prompt_context.hidden import (
    LOOKED_AT_MAX,
    HiddenRecords,
    count_live,
    find_overruled,
    is_due,
    is_whole,
    may_be_visible,
    reasons_of,
    standing_in,
    visible_lines,
)
from runlore.flow.prompt_context.scope_view import HiddenLine, Place, ScopeView
from runlore.flow.prompt_context.search import SearchSnapshot
from runlore.ports.store import RecordFilter, RecordLine

_ACTIVE = frozenset({State.ACTIVE})


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The best first, as many as were asked for; the names of the next ones, and how many there are."""

    best: Sequence[Candidate]
    next_ids: tuple[RecordId, ...]
    count: int


@dataclass(frozen=True, kw_only=True)
class Views:
    """The views of scopes, the first priority first; a scope that holds nothing has none. `overruled` are
    those of the visible that a narrower scope keeps out."""

    scopes: tuple[Scope, ...]
    each: tuple[ScopeView, ...]
    overruled: frozenset[RecordId] = frozenset()

    @property
    def is_complete(self) -> bool:
        return sum(view.learnings for view in self.each) <= LOOKED_AT_MAX

    def score(self, query: Query, *, most: int, named: int) -> Scored:
        """What a query finds among what prompts get, by its content's score, and how much that is."""
        size = sum(len(view.ranked) for view in self.each)
        weights: dict[str, int] = {}
        for term in query.terms:
            found_in = [view.postings[term].frequency for view in self.each if term in view.postings]
            if found_in:
                weights[term] = TOKEN_SCALE * rarity(sum(found_in), size)
        scores = [score for view in self.each for score in _scores(view, query, weights)]
        records = [each.record for view in self.each for each in view.visible]
        seen = (record.record_id not in self.overruled for record in records)
        found = [
            number
            for number, (score, is_seen) in enumerate(zip(scores, seen, strict=True))
            if score and is_seen
        ]
        # Of the same score the one that stands first comes first: sorting leaves it so.
        found.sort(key=scores.__getitem__, reverse=True)
        best = [Candidate(record=records[number], score=scores[number]) for number in found[:most]]
        next_ids = tuple(records[number].record_id for number in found[most : most + named])
        return Scored(best=best, next_ids=next_ids, count=len(found))

    def list_hidden(self) -> HiddenRecords:
        """What prompts do not get: the newest with their reasons, and how many more there are."""
        lines: list[HiddenLine] = []
        for view in self.each:
            lines.extend(view.hidden)
            records = (each.record for each in view.visible) if self.overruled else ()
            lines.extend(
                HiddenLine((record.created_at, record.record_id), Hidden.OVERRULED, for_good=False)
                for record in records
                if record.record_id in self.overruled
            )
        more = 0
        if sum(len(view.places) for view in self.each) > LOOKED_AT_MAX:
            if lines:
                # Each view has its own in order, so that sorting is little more than merging them.
                places = sorted((place for view in self.each for place in view.places), reverse=True)
                lines = [line for line in lines if line.place >= places[LOOKED_AT_MAX - 1]]
            for_good = sum(view.count - view.live_count for view in self.each)
            more = max(0, for_good - sum(line.for_good for line in lines))
        lines.sort(reverse=True)
        listed = lines[: limits.HIDDEN_LISTED_MAX]
        return HiddenRecords(
            listed=tuple((line.place[1], line.reason) for line in listed),
            omitted=len(lines) - len(listed) + more,
        )


def views_of(reading: SearchSnapshot, scopes: Sequence[Scope], now: datetime) -> Views | None:
    """The views of scopes in their priority; None for a past moment, and where views cannot tell."""
    if reading.past is not None:
        return None
    stamps = reading.records.stamps(scopes)
    present = [scope for scope in dict.fromkeys(scopes) if scope in stamps]
    views = tuple(_view(reading, scope, stamps[scope], now) for scope in present)
    if any(view.shadows for view in views):
        shadows = frozenset().union(*(view.shadows for view in views))
        if any(not shadows.isdisjoint(view.live) for view in views):
            return None
    # What the narrower views overrule; where one of them does not tell of all, the store is asked.
    found: set[RecordId] = set()
    for (narrow, narrow_view), (wide, wide_view) in permutations(zip(present, views, strict=True), 2):
        if not narrow.is_narrower_than(wide):
            continue
        if narrow_view.is_large:
            found |= find_overruled(reading, wide_view.prompt_records, [narrow], now)
        else:
            found |= wide_view.overruled_by(narrow_view)
    return Views(scopes=tuple(present), each=views, overruled=frozenset(found))


def _view(reading: SearchSnapshot, scope: Scope, stamp: int | None, now: datetime) -> ScopeView:
    if stamp is None:
        return _build_view(reading, scope, None, now)
    view = reading.views.get(scope, stamp, now)
    if view is None:
        view = _build_view(reading, scope, stamp, now)
        reading.views.keep(scope, view)
    return view


def _build_view(reading: SearchSnapshot, scope: Scope, stamp: int | None, now: datetime) -> ScopeView:
    """A scope as it is: what `list_hidden_records` and `all_learned` would find in it alone."""
    lines = visible_lines(reading, (scope,))
    first = lines[:LOOKED_AT_MAX]
    unsure = tuple(line for line in first if may_be_visible(line))
    learnings = _learnings(reading, scope, lines, now)
    newest = {each.record.record_id: each for each in reading.of_lines(learnings[:LOOKED_AT_MAX])}
    is_large = len(learnings) > LOOKED_AT_MAX
    # Of a large scope some that stand may be older than all that is looked at.
    rules = (
        reading.records.lines(standing_in((scope,), now), limit=limits.STANDING_RULES_MAX) if is_large else ()
    )
    older = [each.record for each in reading.of_lines(rules) if each.record.record_id not in newest]
    live = [
        *(each.record for each in newest.values()),
        *(each.record for each in reading.of_lines(unsure)),
        *older,
    ]
    records = [*(each.record for each in newest.values()), *older]
    found = order_candidates(filter_eligible((Candidate(record=each) for each in records), now), (scope,))
    reasons = dict(reasons_of(reading, first, now))
    where = RankFilter(include_sensitive=False, now=now)
    count, live_count = (len(lines), len(unsure)) if is_whole(lines) else count_live(reading, (scope,))
    return ScopeView(
        stamp=stamp,
        since=now,
        until=_next_expiry((*lines, *learnings, *rules), now),
        places=tuple(_place(line) for line in lines),
        hidden=tuple(
            HiddenLine(_place(line), reasons[line.record_id], not may_be_visible(line))
            for line in first
            if line.record_id in reasons
        ),
        count=count,
        live_count=live_count,
        visible=tuple(newest[each.record.record_id] for each in found if each.record.record_id in newest),
        ranked=tuple(each for each in newest.values() if passes(each.record, where)),
        standing=tuple(each.record for each in found if each.record.standing),
        learnings=len(learnings),
        is_large=is_large,
        live=frozenset(record.record_id for record in live),
        shadows=shadowed_by(live, now),
    )


def _learnings(
    reading: SearchSnapshot, scope: Scope, lines: tuple[RecordLine, ...], now: datetime
) -> tuple[RecordLine, ...]:
    """The newest that prompts may get and that have not expired, and one more where there are more."""
    if is_whole(lines):
        return tuple(line for line in lines if may_be_visible(line) and not is_due(line, now))
    where = RecordFilter(kinds=PROMPT_KINDS, states=_ACTIVE, scopes=frozenset({scope}), now=now)
    return reading.records.lines(where, limit=LOOKED_AT_MAX + 1)


def _next_expiry(lines: Iterable[RecordLine], now: datetime) -> datetime | None:
    return min((line.due_at for line in lines if line.due_at is not None and line.due_at > now), default=None)


def _place(line: RecordLine) -> Place:
    return line.created_at, line.record_id


def _scores(view: ScopeView, query: Query, weights: Mapping[str, int]) -> list[int]:
    scores = [0] * len(view.visible)
    for term, weight in weights.items():
        posting = view.postings.get(term)
        if posting is not None:
            for number, impact in posting.impacts:
                scores[number] += weight * impact
    for number in view.wholes.get(query.whole, ()) if query.whole else ():
        scores[number] += EXACT
    return scores
