"""What lists and searches have to answer, worked out from all events, one by one and slowly."""

from collections.abc import Iterable
from datetime import datetime
from itertools import combinations

from runlore.daemon.calls.requests import SEARCHED_LAYERS
from runlore.domain.claims.subject import SemanticKey, conflicts
from runlore.domain.record import Layer, Record, RecordId, State
from runlore.domain.records.publication import MERGES
from runlore.domain.records.visibility import hidden_because
from runlore.domain.search.ranking import Collection, RankFilter, analyse_query, impacts_of, passes, score_of
from runlore.domain.timestamps import to_milliseconds
from runlore.ports import operations as ops

LIVE = frozenset({State.CONSTRAINED, State.ACTIVE})


def listed(records: Iterable[Record], filters: ops.Filters, now: datetime) -> list[Record]:
    """The records that a list shows at a moment, newest first."""
    states = filters.states or frozenset({State.ACTIVE})
    shown = [
        record
        for record in records
        if record.state in states
        and (not filters.layers or record.layer in filters.layers)
        and (not filters.kinds or record.kind in filters.kinds)
        and (not filters.scopes or record.scope in filters.scopes)
        and not (record.state in LIVE and record.is_expired(now))
    ]
    return sorted(shown, key=lambda record: (record.created_at, record.record_id), reverse=True)


def due(records: Iterable[Record], now: datetime) -> list[Record]:
    """The learnings that the inbox begins with: due for revalidation, the earliest first."""
    shown = [
        record
        for record in records
        if record.state is State.ACTIVE
        and record.revalidate_at is not None
        and record.revalidate_at <= now
        and not record.is_expired(now)
    ]
    return sorted(shown, key=lambda record: (record.revalidate_at, record.record_id))


def ranked(records: Iterable[Record], request: ops.SearchRequest, now: datetime) -> list[tuple[Record, int]]:
    """Every record that a search finds at a moment, best first, with its score."""
    filters = request.filters
    default_states = None if request.include_stale else frozenset({State.ACTIVE})
    where = RankFilter(
        layers=filters.layers or (None if filters.kinds else SEARCHED_LAYERS),
        kinds=filters.kinds or None,
        states=filters.states or default_states,
        scopes=filters.scopes or None,
        now=now,
    )
    seen = [record for record in records if passes(record, where)]
    query = analyse_query(request.query)
    words = [{*impacts_of(record).summary, *impacts_of(record).metadata} for record in seen]
    collection = Collection(
        size=len(seen),
        newest_at_ms=max((to_milliseconds(record.created_at) for record in seen), default=0),
        document_frequency={term: sum(term in each for each in words) for term in query.terms},
    )
    scored = [(record, score_of(record, query, collection)) for record in seen]
    found = [(record, score.total) for record, score in scored if score is not None]
    found.sort(key=lambda each: each[0].record_id)
    found.sort(key=lambda each: each[0].created_at, reverse=True)
    found.sort(key=lambda each: each[1], reverse=True)
    return found


def breaches(records: dict[RecordId, Record], now: datetime) -> list[str]:
    """What records say of each other that cannot be: empty for a store that is whole."""
    return [
        *_broken_links(records),
        *_two_in_one_place(records, now),
        *_merges_beside_their_sources(records, now),
    ]


def _broken_links(records: dict[RecordId, Record]) -> Iterable[str]:
    for record in records.values():
        for name in ("supersedes", "superseded_by", "duplicate_of"):
            link = getattr(record, name)
            if link is not None and link not in records:
                yield f"{name} of {record.record_id} names {link}, which is not there"
        if (record.state is State.SUPERSEDED) and record.superseded_by is None:
            yield f"{record.record_id} is superseded by nothing"
        if record.state is State.ACTIVE and record.superseded_by is not None:
            yield f"{record.record_id} is active and superseded by {record.superseded_by}"
        if (record.state is State.TOMBSTONED) is not (record.state_reason is not None):
            yield f"{record.record_id} is {record.state} because of {record.state_reason}"
        for source in record.source.record_ids:
            if source not in records:
                yield f"{record.record_id} was made from {source}, which is not there"


def _two_in_one_place(records: dict[RecordId, Record], now: datetime) -> Iterable[str]:
    places: dict[object, Record] = {}
    for record in records.values():
        if record.layer is Layer.PROFILE and record.state is State.ACTIVE and not record.is_expired(now):
            place = (record.scope, str(record.metadata["profile_key"]).casefold())
            if place in places:
                yield f"{record.record_id} and {places[place].record_id} are both active for {place}"
            places[place] = record
    said: dict[object, list[Record]] = {}
    for record in records.values():
        # A merge of several statements has no key, and so nothing that it could repeat or contradict.
        if record.semantic_key and hidden_because(record, now) is None:
            subject = SemanticKey.parse(record.semantic_key).subject
            said.setdefault((record.scope, record.kind, subject), []).append(record)
    for visible in said.values():
        for one, other in combinations(visible, 2):
            if _disagree(one, other):
                yield f"{one.record_id} and {other.record_id} repeat or contradict each other"


def _disagree(one: Record, other: Record) -> bool:
    ours, theirs = SemanticKey.parse(one.semantic_key), SemanticKey.parse(other.semantic_key)
    return ours == theirs or conflicts(ours, theirs)


def _merges_beside_their_sources(records: dict[RecordId, Record], now: datetime) -> Iterable[str]:
    waiting: dict[object, RecordId] = {}
    for record in records.values():
        if record.proposal not in MERGES or record.is_expired(now):
            continue
        digest = record.metadata.get("sources_digest")
        if record.state is State.CONSTRAINED:
            if digest in waiting:
                yield f"{record.record_id} and {waiting[digest]} are proposed for the same sources"
            waiting[digest] = record.record_id
        for source in record.source.record_ids if record.state is State.ACTIVE else ():
            if records[source].state is State.ACTIVE:
                yield f"{source} is active beside {record.record_id}, which replaced it"
