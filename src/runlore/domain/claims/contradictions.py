"""What else is held about the same thing: which record says the same, and which conflict with it (clash).

Prompts need not see a record for it to count here: automation is careful about everything that holds.
"""

from collections.abc import Iterable, Mapping

from runlore.domain.claims.subject import SemanticKey, conflicts
from runlore.domain.lazy import dataclass
from runlore.domain.record import Record, RecordId, VerificationStatus


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the store holds around a candidate: read once, inside the deciding transaction.

    `agreed` are those that a reviewer said hold beside what it says, in whatever words that was said then.
    """

    same_subject: tuple[Record, ...] = ()
    same_profile_key: tuple[Record, ...] = ()
    sources: tuple[Record, ...] = ()
    missing_sources: tuple[RecordId, ...] = ()
    named: Record | None = None
    missing_named: RecordId | None = None
    agreed: frozenset[RecordId] = frozenset()


def contradicts(record: Record, other: Record) -> bool:
    """Whether two records cannot both hold, by what they say. Where a person said that they do, they do."""
    if not (record.semantic_key and other.semantic_key) or are_known_to_hold(record, other):
        return False
    return conflicts(SemanticKey.parse(record.semantic_key), SemanticKey.parse(other.semantic_key))


def are_known_to_hold(record: Record, other: Record) -> bool:
    """Whether a reviewer answered for this pair that both hold."""
    return other.record_id in record.both_hold or record.record_id in other.both_hold


def list_agreed(
    record: Record, others: Iterable[Record], known: Mapping[RecordId, Record]
) -> frozenset[RecordId]:
    """Those that a reviewer said hold beside what a record says. `known` are the records that such answers
    name: they need not be in force any more, their words tell what was compared."""
    return frozenset(
        other.record_id
        for other in others
        if any(_means_the_same(record, known[named]) for named in other.both_hold if named in known)
        or any(_means_the_same(other, known[named]) for named in record.both_hold if named in known)
    )


def _means_the_same(record: Record, other: Record) -> bool:
    if (record.scope, record.kind) != (other.scope, other.kind):
        return False
    keys = (record.semantic_key, other.semantic_key)
    return all(keys) and SemanticKey.parse(keys[0]).meaning == SemanticKey.parse(keys[1]).meaning


def overrules(narrow: Record, wide: Record) -> bool:
    """Whether a record of a narrower scope answers the question that one of a wider scope answers."""
    if not narrow.semantic_key or not narrow.scope.is_narrower_than(wide.scope):
        return False
    return narrow.semantic_key == wide.semantic_key or contradicts(narrow, wide)


def find_duplicate(record: Record, around: Surroundings) -> Record | None:
    """The live record that says the same, if there is one."""
    if not record.semantic_key:
        return None
    return next(
        (other for other in neighbours(record, around) if other.semantic_key == record.semantic_key), None
    )


def find_contradictions(record: Record, around: Surroundings) -> tuple[Record, ...]:
    """The live records that cannot hold together with this one; what was refuted does not count."""
    return tuple(
        other
        for other in neighbours(record, around)
        if other.verification_status is not VerificationStatus.FAILED
        and other.record_id not in around.agreed
        and contradicts(record, other)
    )


def find_blocking_records(record: Record, around: Surroundings) -> tuple[Record, ...]:
    """What keeps automation from giving prompts a record: what has its profile key, or contradicts it."""
    taken = (other for other in around.same_profile_key if other.record_id != record.record_id)
    found = {other.record_id: other for other in (*taken, *find_contradictions(record, around))}
    return tuple(found.values())


def neighbours(record: Record, around: Surroundings) -> tuple[Record, ...]:
    """The others of the same subject or profile key that hold and have a key to compare."""
    others = {other.record_id: other for other in (*around.same_subject, *around.same_profile_key)}
    return tuple(
        other
        for other in others.values()
        if other.record_id != record.record_id and other.superseded_by is None and other.semantic_key
    )
