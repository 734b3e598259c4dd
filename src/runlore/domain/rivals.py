"""What else is held about the same thing: which record says the same, and which ones contradict it.

Prompts need not see a record for it to count here: automation is careful about everything that holds.
"""

from runlore.domain.publication import Surroundings
from runlore.domain.record import Record, VerificationStatus
from runlore.domain.subject import SemanticKey, conflicts


def twin_of(record: Record, around: Surroundings) -> Record | None:
    """The live record that says the same, if there is one."""
    if not record.semantic_key:
        return None
    return next(
        (other for other in neighbours(record, around) if other.semantic_key == record.semantic_key), None
    )


def contradicting(record: Record, around: Surroundings) -> tuple[Record, ...]:
    """The live records that cannot hold together with this one; what was refuted does not count."""
    if not record.semantic_key:
        return ()
    ours = SemanticKey.parse(record.semantic_key)
    return tuple(
        other
        for other in neighbours(record, around)
        if other.verification_status is not VerificationStatus.FAILED
        and conflicts(ours, SemanticKey.parse(other.semantic_key))
    )


def neighbours(record: Record, around: Surroundings) -> tuple[Record, ...]:
    """The others of the same subject or profile key that hold and have a key to compare."""
    others = {other.record_id: other for other in (*around.same_subject, *around.same_profile_key)}
    return tuple(
        other
        for other in others.values()
        if other.record_id != record.record_id and other.superseded_by is None and other.semantic_key
    )
