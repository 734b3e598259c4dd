"""What the store holds around a record, read inside the caller's transaction. Decides nothing.

What has expired is not there any more, whether the sweep has been round yet or not.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from runlore.domain.claims.contradictions import Surroundings, list_agreed
from runlore.domain.claims.subject import SemanticKey
from runlore.domain.record import Layer, Record, RecordId, State
from runlore.domain.records.publication import MERGES
from runlore.ports.store import Records


def surroundings(
    records: Records,
    candidate: Record,
    now: datetime,
    *,
    named: RecordId | None = None,
    near: Sequence[Record] | None = None,
) -> Surroundings:
    """What is around a candidate. `near` are the active records of its subject where they were read."""
    sources = candidate.source.record_ids if candidate.proposal in MERGES else ()
    found = records.get_many(sources) if sources else {}
    if near is None:
        near = records_near(records, [candidate]).get(candidate.record_id, ())
    same_subject = _lasting(near, now)
    noted = _noted_target(candidate) if named is None else None
    replaced = records.get_many([noted]).get(noted) if noted is not None else None
    present = same_profile_key(records, candidate, now)
    return Surroundings(
        same_subject=same_subject,
        same_profile_key=present,
        sources=tuple(found[source] for source in sources if source in found),
        missing_sources=tuple(source for source in sources if source not in found),
        named=replaced if named is None else records.get(named),
        missing_named=noted if replaced is None else None,
        agreed=_find_agreed(records, candidate, (*same_subject, *present)),
    )


def records_near(records: Records, candidates: Iterable[Record]) -> dict[RecordId, tuple[Record, ...]]:
    """The active records of the scope, the kind and the subject of each candidate."""
    about = {
        each.record_id: (each.scope, each.kind, SemanticKey.parse(each.semantic_key).subject)
        for each in candidates
        if each.semantic_key
    }
    found = records.matching_subjects(about.values())
    return {record_id: found.get(subject, ()) for record_id, subject in about.items()}


def _find_agreed(records: Records, candidate: Record, others: Sequence[Record]) -> frozenset[RecordId]:
    named = {named for each in (candidate, *others) for named in each.both_hold}
    return list_agreed(candidate, others, records.get_many(sorted(named))) if named else frozenset()


def same_profile_key(records: Records, candidate: Record, now: datetime) -> tuple[Record, ...]:
    if candidate.layer is not Layer.PROFILE:
        return ()
    present = records.active_profile(candidate.scope, str(candidate.metadata["profile_key"]))
    return _lasting(present, now)


def _noted_target(candidate: Record) -> RecordId | None:
    """What a candidate was made to replace. That of a profile record tells what its key held, and no more."""
    is_waiting = candidate.state is State.CONSTRAINED and candidate.layer is not Layer.PROFILE
    return candidate.supersedes if is_waiting else None


def replacements(records: Records, record: Record, now: datetime) -> Iterator[Record]:
    seen = {record.record_id}
    following = record.superseded_by
    while following and following not in seen:
        seen.add(following)
        record = records.get(following)
        if not record.is_expired(now):
            yield record
        following = record.superseded_by


def _lasting(records: Iterable[Record], now: datetime) -> tuple[Record, ...]:
    return tuple(record for record in records if not record.is_expired(now))
