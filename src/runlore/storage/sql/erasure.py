"""Erasing what a forgotten record said, from its stored events.

A row only ever gets shorter, and is overwritten where it stands. A row that grew could push its neighbours to
another page, and SQLite leaves copies of their texts in the space that they left: in an earlier layout, whose
rows grew, 1 text in 100 could still be read after it was erased.
"""

from collections.abc import Sequence

from runlore.domain.audit import RecordEvent
from runlore.domain.codec import Plain
from runlore.domain.errors import NotFound
from runlore.domain.record import RecordId
from runlore.storage.sql.record_rows import BODY, CHECKSUM, EVENT_COLUMNS, event_row, read_event, to_json
from runlore.storage.sql.session import Parameters, Row, SqlSession, SqlStatement

_STORED = f"SELECT {', '.join(EVENT_COLUMNS)} FROM record_events WHERE record_id = ? ORDER BY revision"
_ERASE = (
    "UPDATE record_events SET checksum = ?, actor = ?, reason = ?, changes = ?, body = ?"
    " WHERE record_id = ? AND revision = ?"
)


def erase(session: SqlSession, record_id: RecordId, events: Sequence[RecordEvent]) -> None:
    """Replace stored events by their contentless versions, and the bases that were made from them."""
    erased = {event.revision: event for event in events}
    plain: Plain = {}
    rows: list[Parameters] = []
    for stored in session.rows(_STORED, (record_id,)):
        old = read_event(stored)
        event = erased.pop(old.revision, old)
        plain.update(event.changes)
        rows.append(_erasure_row(event, stored, plain))
    if erased:
        raise NotFound(
            f"record {record_id} has no event that made revision {min(erased)}",
            code="record.event-not-found",
            hint="erase the events that its history shows",
        )
    session.make_room(freeing=True)
    session.run([SqlStatement(sql=_ERASE, rows=rows)])


def _erasure_row(event: RecordEvent, stored: Row, plain: Plain) -> Parameters:
    body = None if stored[BODY] is None else to_json(plain)
    row = event_row(event, to_json(event.changes), body)
    return (*row[CHECKSUM:], event.record_id, event.revision)
