"""The learnings of a session's visible scopes: those that an input finds, or all of them in their order.

A set that is small is scored whole: from the views of its scopes, or one by one, as the ranking is defined. A
large one is scored by the index, which gives the same scores. Either way the answer is bounded, and says how
many more there would be.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from runlore.domain.lazy import dataclass
from runlore.domain.limits import STANDING_RULES_MAX
from runlore.domain.prompts.injected import without_notes
from runlore.domain.prompts.memory_request import asks_for_memory
from runlore.domain.prompts.projection import LearnedEntry
from runlore.domain.prompts.selection import (
    Candidate,
    content_score,
    entry_of,
    filter_eligible,
    order_candidates,
    query_of,
    shadowed_by,
)
from runlore.domain.record import PROMPT_KINDS, Layer, Record, RecordId, State
from runlore.domain.records.visibility import hidden_from_planning
from runlore.domain.scope import Scope
from runlore.domain.search.ranking import (
    Collection,
    Query,
    RankFilter,
    WordHit,
    analyse_query,
    passes,
    score_of,
)
from runlore.domain.timestamps import to_milliseconds
from runlore.flow.prompt_context.hidden import LOOKED_AT_MAX, find_overruled, standing_in
from runlore.flow.prompt_context.scope_view import Analysed
from runlore.flow.prompt_context.search import FoundRecord, SearchSnapshot
from runlore.flow.prompt_context.vector_search import (
    NEAREST_MAX,
    VectorQuery,
    among,
    by_id,
    fuse_candidates,
    gaining,
    nearest_first,
)
from runlore.flow.prompt_context.views import Views
from runlore.ports.index import Ranking
from runlore.ports.store import RecordFilter

# Up to so many learnings are scored without the index.
_WHOLE_MAX = LOOKED_AT_MAX
# Of those that an input finds, so many are looked at, in parts: some of them prompts may not see. Mostly the
# first part is enough.
_RANKED_SPARE, _RANKED_FURTHER, _RANKED_MAX = 8, 64, 256
_SPARE, _READ_AT_ONCE = 2, 16
# So many times what is wanted by words may be passed by what is nearer.
_NEAR_SHARE = 2
# Without an input, so many of the newest of each scope.
_LISTED_MAX = 256
# How many of those that were too many are named.
_LEFT_OUT_MAX = 32
_ACTIVE = frozenset({State.ACTIVE})


@dataclass(frozen=True, kw_only=True)
class Learned:
    """The best first. `left_out` names some of those that were too many; `omitted` counts them all, as far
    as was looked. `standing` are those that every input of the scopes is given, found by it or not."""

    standing: tuple[LearnedEntry, ...] = ()
    entries: tuple[LearnedEntry, ...] = ()
    left_out: tuple[RecordId, ...] = ()
    omitted: int = 0


def select_learnings(
    reading: SearchSnapshot,
    text: str,
    *,
    scopes: Sequence[Scope],
    now: datetime,
    entries_max: int,
    views: Views | None,
) -> Learned:
    """The learnings that an input is given; `views` are those of the scopes, where there are any."""
    found = _find_learnings(reading, text, scopes=scopes, now=now, entries_max=entries_max, views=views)
    return replace(found, standing=list_standing(reading, scopes=scopes, now=now, views=views))


def list_standing(
    reading: SearchSnapshot, *, scopes: Sequence[Scope], now: datetime, views: Views | None
) -> tuple[LearnedEntry, ...]:
    """What every input of these scopes is given: by the priority of its scope, then the latest published."""
    if views is not None:
        records = [record for view in views.each for record in view.standing]
        return tuple(
            entry_of(Candidate(record=each)) for each in records if each.record_id not in views.overruled
        )
    found = reading.page(standing_in(scopes, now), limit=STANDING_RULES_MAX * len(scopes))
    lost = find_overruled(reading, found, scopes, now)
    seen = filter_eligible((Candidate(record=each) for each in found), now, overruled=lost)
    return tuple(map(entry_of, order_candidates(seen, scopes)))


def _find_learnings(
    reading: SearchSnapshot,
    text: str,
    *,
    scopes: Sequence[Scope],
    now: datetime,
    entries_max: int,
    views: Views | None,
) -> Learned:
    # What an agent repeats of an earlier prompt's sections is no question of its own.
    text = without_notes(text)
    query = query_of(text)
    asked = analyse_query(query)
    if asked.terms or asked.whole:
        where = _prompt_kinds(scopes, now)
        # Views that lack something are of more than are scored one by one: nobody has to look.
        few = _few(reading, where) if views is None else None
        best = None
        if reading.near is not None:
            lost = _find_overruled(reading, few or (), scopes, now)
            looked_at = _all_visible(views, few, asked, where=where, scopes=scopes, lost=lost)
            if looked_at is not None:
                best = _with_meaning(reading.near, *looked_at)
            else:
                best = _rank_with_vectors(reading, query, where=where, scopes=scopes, wanted=entries_max)
            # Who asks for everything and whose words find nothing is given everything, not what is alike.
            if best and not any(each.has_words for each in best) and asks_for_memory(text):
                best = []
        if best is not None:
            found = _take_first(best, entries_max)
        elif views is not None and views.is_complete:
            found = _take_scored(views, asked, entries_max)
        elif few is not None:
            lost = _find_overruled(reading, few, scopes, now)
            seen = filter_eligible(_one_by_one(few, asked), now, overruled=lost)
            found = _take_first(order_candidates(seen, scopes), entries_max)
        else:
            held = scopes if views is None else views.scopes
            ranked = _best_ranked(reading, query, where=where, scopes=held, wanted=entries_max)
            found = _take_first(ranked, entries_max)
        if found.entries or found.omitted:
            return found
    if asks_for_memory(text):
        return all_learned(reading, scopes=scopes, now=now, entries_max=entries_max, views=views)
    return Learned()


def all_learned(
    reading: SearchSnapshot,
    *,
    scopes: Sequence[Scope],
    now: datetime,
    entries_max: int,
    views: Views | None,
) -> Learned:
    """All that is eligible, by the priority of its scope and then the latest published."""
    standing = list_standing(reading, scopes=scopes, now=now, views=views)
    if views is not None:
        entries = (entry for view in views.each for entry in view.entries)
        every = [entry for entry in entries if entry.record_id not in views.overruled]
        beyond = every[entries_max:]
        return Learned(
            standing=standing,
            entries=tuple(every[:entries_max]),
            left_out=tuple(entry.record_id for entry in beyond[:_LEFT_OUT_MAX]),
            omitted=len(beyond),
        )
    records = _list_newest(reading, frozenset(scopes), now)
    if len(records) > _LISTED_MAX:
        # The newest of all could leave no place for those of a narrower scope, which come first.
        records = [
            each for scope in scopes for each in _list_newest(reading, frozenset({scope}), now)[:_LISTED_MAX]
        ]
    lost = _find_overruled(reading, records, scopes, now)
    found = filter_eligible((Candidate(record=each.record) for each in records), now, overruled=lost)
    return replace(_take_first(order_candidates(found, scopes), entries_max), standing=standing)


def _find_overruled(
    reading: SearchSnapshot, records: Iterable[Analysed], scopes: Sequence[Scope], now: datetime
) -> frozenset[RecordId]:
    return find_overruled(reading, (each.record for each in records), scopes, now)


def _take_first(candidates: Sequence[Candidate], entries_max: int) -> Learned:
    beyond = candidates[entries_max:]
    return Learned(
        entries=tuple(entry_of(candidate) for candidate in candidates[:entries_max]),
        left_out=tuple(candidate.record.record_id for candidate in beyond[:_LEFT_OUT_MAX]),
        omitted=len(beyond),
    )


def _take_scored(views: Views, asked: Query, entries_max: int) -> Learned:
    found = views.score(asked, most=entries_max, named=_LEFT_OUT_MAX)
    entries = tuple(entry_of(candidate) for candidate in found.best)
    return Learned(entries=entries, left_out=found.next_ids, omitted=found.count - len(entries))


def _all_visible(
    views: Views | None,
    few: Sequence[Analysed] | None,
    asked: Query,
    *,
    where: RankFilter,
    scopes: Sequence[Scope],
    lost: frozenset[RecordId],
) -> tuple[list[Candidate], dict[RecordId, Record]] | None:
    """What words find, in its order, and all that prompts may see; None where that is too much to look at."""
    if views is not None and views.is_complete:
        records = [each.record for view in views.each for each in view.visible]
        visible = [record for record in records if record.record_id not in views.overruled]
        return list(views.score(asked, most=len(visible), named=0).best), by_id(visible)
    if few is None:
        return None
    found = order_candidates(filter_eligible(_one_by_one(few, asked), where.now, overruled=lost), scopes)
    seen = filter_eligible((Candidate(record=each.record) for each in few), where.now, overruled=lost)
    return found, by_id(each.record for each in seen)


def _with_meaning(
    near: VectorQuery, found: Sequence[Candidate], visible: Mapping[RecordId, Record]
) -> list[Candidate] | None:
    """What an input finds by both among what prompts may see; None where nothing is known about meaning."""
    also = [each.record.record_id for each in found]
    similar = near.similar(allowed=visible.keys(), also=also, limit=NEAREST_MAX)
    return None if similar is None else fuse_candidates(found, visible, similar)


def _rank_with_vectors(
    reading: SearchSnapshot, query: str, *, where: RankFilter, scopes: Sequence[Scope], wanted: int
) -> list[Candidate] | None:
    """The same where there is too much to look at: the best by words, and the nearest that may be seen."""
    assert reading.near is not None, "whoever has no vector asks for words alone"
    most = wanted * _NEAR_SHARE
    whole = reading.ranking(query, where=where, limit=_RANKED_MAX + 1)
    found = _best_ranked(reading, query, where=where, scopes=scopes, wanted=most, whole=whole)[:most]
    known = {each.record.record_id for each in found}
    similar = reading.near.similar(allowed=reading.index.passing(where), also=known, limit=NEAREST_MAX)
    if similar is None:
        return None
    # The nearest that may be seen tells what nearness counts. Beyond it only what may be among the best is
    # read.
    read: dict[RecordId, Analysed] = {}
    visible = _visible(reading, found, read, where)
    for start in range(0, len(order := nearest_first(similar, known)), _READ_AT_ONCE):
        read.update(reading.newest(order[start : start + _READ_AT_ONCE]))
        visible = _visible(reading, found, read, where)
        if not visible.keys().isdisjoint(read):
            break
    hits = [WordHit(key=each.record.record_id, total=each.score or 0) for each in found]
    totals = {str(hit.record_id): hit.total for hit in whole.hits}
    beyond = whole.hits[-1].total if len(whole.hits) > _RANKED_MAX else 0
    sight = among(similar, similar.of.keys() - (read.keys() - visible.keys()))
    wordy = gaining(hits, sight, limit=wanted + 1, at_most=lambda key: totals.get(key, beyond))
    read.update(reading.newest(wordy - read.keys()))
    visible = _visible(reading, found, read, where)
    found = [each for each in found if each.record.record_id in visible]
    seen = [read[record_id] for record_id in wordy if record_id in visible]
    found += order_candidates(_content(seen, analyse_query(query), whole.collection), scopes)
    return fuse_candidates(found, visible, similar)


def _visible(
    reading: SearchSnapshot, found: Iterable[Candidate], read: Mapping[RecordId, Analysed], where: RankFilter
) -> dict[RecordId, Record]:
    both = (*found, *(Candidate(record=each.record) for each in read.values()))
    lost = find_overruled(reading, (each.record for each in both), tuple(where.scopes or ()), where.now)
    return by_id(each.record for each in filter_eligible(both, where.now, overruled=lost))


def _content(records: Iterable[Analysed], query: Query, collection: Collection) -> Iterator[Candidate]:
    for each in records:
        score = score_of(each.record, query, collection, impacts=each.impacts)
        if score is not None and content_score(score):
            yield Candidate(record=each.record, score=content_score(score))


def _prompt_kinds(scopes: Sequence[Scope], now: datetime) -> RankFilter:
    """What scores are relative to: all that prompts might get of these scopes."""
    return RankFilter(
        kinds=PROMPT_KINDS, states=_ACTIVE, scopes=frozenset(scopes), include_sensitive=False, now=now
    )


def _best_ranked(
    reading: SearchSnapshot,
    query: str,
    *,
    where: RankFilter,
    scopes: Sequence[Scope],
    wanted: int,
    whole: Ranking | None = None,
) -> list[Candidate]:
    """What the query finds among what prompts may see, by its content, and at least so many of the best.

    The index ranks by the total, of which content is a part. So hits are read in their order only until the
    total of the next one is no more than the content of the last one that is wanted.
    """
    best: list[Candidate] = []
    shadowed: frozenset[RecordId] = frozenset()
    # A few more than are wanted: they tell that something is left out, and mostly are all that is read.
    for hits, next_total in _hits(reading, query, where, first=wanted + _SPARE, whole=whole):
        found = reading.explain(hits, query)
        lost = find_overruled(reading, (each.record for each in found), scopes, where.now)
        shadowed |= shadowed_by((each.record for each in found), where.now)
        scored = (Candidate(record=each.record, score=content_score(each.score)) for each in found)
        best += filter_eligible((each for each in scored if each.score), where.now, overruled=lost)
        seen = (each for each in best if each.record.record_id not in shadowed)
        best = order_candidates(seen, scopes)
        if len(best) > wanted and (wanted == 0 or (best[wanted - 1].score or 0) >= next_total):
            break
    return best


def _hits(
    reading: SearchSnapshot, query: str, where: RankFilter, *, first: int, whole: Ranking | None
) -> Iterator[tuple[Ranking, int]]:
    """The best hits in parts, each with the total of the first one behind it; `whole` are all, if known."""
    start, end = 0, first
    steps = (min(first + _RANKED_SPARE, _RANKED_FURTHER), _RANKED_FURTHER, _RANKED_MAX)
    for limit in steps if whole is None else (_RANKED_MAX,):
        ranking = whole or reading.ranking(query, where=where, limit=limit + 1)
        while start < min(limit, len(ranking.hits)):
            end = min(end, limit)
            next_total = ranking.hits[end].total if end < len(ranking.hits) else 0
            yield replace(ranking, hits=ranking.hits[start:end]), next_total
            # Twice as many each time.
            start, end = end, end + max(_READ_AT_ONCE, end)
        if len(ranking.hits) <= limit:
            return


def _few(reading: SearchSnapshot, where: RankFilter) -> list[Analysed] | None:
    """All records of the filtered set, where they are few."""
    assert where.scopes is not None, "a prompt sees the scopes of its session"
    found = _list_newest(reading, where.scopes, where.now, limit=_WHOLE_MAX)
    if len(found) > _WHOLE_MAX:
        return None
    return [each for each in found if passes(each.record, where)]


def _list_newest(
    reading: SearchSnapshot, scopes: frozenset[Scope], now: datetime, *, limit: int = _LISTED_MAX
) -> list[Analysed]:
    """The newest active records of the kinds that prompts get, and one more where there are more."""
    where = RecordFilter(kinds=PROMPT_KINDS, states=_ACTIVE, scopes=scopes, now=now)
    if reading.past is not None:
        return [Analysed(record) for record in reading.page(where, limit=limit + 1)]
    return reading.of_lines(reading.records.lines(where, limit=limit + 1))


def _one_by_one(records: Sequence[Analysed], query: Query) -> list[Candidate]:
    frequency: Counter[str] = Counter(dict.fromkeys(query.terms, 0))
    for each in records:
        for term in query.terms:
            if term in each.impacts.summary or term in each.impacts.metadata:
                frequency[term] += 1
    newest = max((to_milliseconds(each.record.created_at) for each in records), default=0)
    collection = Collection(size=len(records), newest_at_ms=newest, document_frequency=frequency)
    return list(_content(records, query, collection))


# So many hits are looked at for those that may be seen, and then once as many more.
_RANKED_FIRST, _GOAL_RANKED_MAX = 32, 512


def best_for_goal(
    reading: SearchSnapshot,
    goal: str,
    layer: Layer,
    *,
    scopes: frozenset[Scope] | None,
    limit: int,
    now: datetime,
    in_session: bool = False,
) -> tuple[FoundRecord, ...]:
    """The best records of a layer for a goal; `in_session` the scopes are those that one session sees."""
    where = RankFilter(
        layers=frozenset({layer}),
        states=frozenset({State.ACTIVE}),
        scopes=scopes,
        include_sensitive=False,
        now=now,
    )
    asked = _RANKED_FIRST
    while True:
        found = reading.search(goal, where=where, limit=asked)
        shadowed = shadowed_by((each.record for each in found), now)
        seen_together = tuple(scopes or ()) if in_session else ()
        lost = find_overruled(reading, (each.record for each in found), seen_together, now)
        seen = [
            each
            for each in found
            if hidden_from_planning(each.record, now, shadowed=shadowed, overruled=lost) is None
        ]
        if len(seen) >= limit or len(found) < asked or asked >= _GOAL_RANKED_MAX:
            return tuple(seen[:limit])
        asked *= 4
