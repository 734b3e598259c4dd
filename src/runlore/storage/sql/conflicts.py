"""Which record was in the way when fewer rows changed than there were changes."""

from collections.abc import Sequence
from dataclasses import dataclass

from runlore.domain.errors import Conflict
from runlore.domain.record import RecordId
from runlore.storage.sql.session import IN_LIST_MAX, SqlSession, chunks, in_list

_LATEST = (
    "SELECT r.record_id, r.revision, e.checksum FROM records r"
    " JOIN record_events e ON e.record_id = r.record_id AND e.revision = r.revision"
    " WHERE r.record_id IN ({ids})"
)


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What a write wanted of one record: where it had to be (0: nowhere), and where it would be now."""

    record_id: RecordId
    expected: int
    revision: int
    checksum: str


def find_conflict(session: SqlSession, wanted: Sequence[Expectation]) -> Conflict:
    """The first record whose revision, or the event that made it, is not what was written."""
    for chunk in chunks(wanted, IN_LIST_MAX):
        ids = [each.record_id for each in chunk]
        found = {row[0]: row[1:] for row in session.rows(_LATEST.format(ids=in_list(ids)), ids)}
        for each in chunk:
            revision, checksum = found.get(each.record_id, (0, ""))
            if (revision, checksum) != (each.revision, each.checksum):
                return revision_conflict(each.record_id, expected=each.expected, found=revision)
    # The very same changes are there already.
    first = wanted[0]
    return revision_conflict(first.record_id, expected=first.expected, found=first.revision)


def revision_conflict(record_id: RecordId, *, expected: int, found: int) -> Conflict:
    """The error that names the record and both revisions."""
    if expected == 0:
        return Conflict(
            f"record {record_id} exists already",
            code="record.exists",
            hint="leave the id out, or import into an empty store",
        )
    was = f"revision {found}" if found else "no such record"
    return Conflict(
        f"record {record_id} has moved: revision {expected} was expected, {was} was found",
        code="record.moved",
        hint="read the record again and decide anew",
    )
