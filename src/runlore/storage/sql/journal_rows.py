"""The journal's events as rows, and back. Each row carries a checksum of all its other columns."""

import zlib

from runlore.domain.errors import Corrupt
from runlore.domain.run import RunId
from runlore.domain.runs.journal import Entry, EventType, JournalEvent
from runlore.domain.session import SessionId
from runlore.domain.timestamps import from_milliseconds
from runlore.storage.sql.columns import UNREADABLE, from_json
from runlore.storage.sql.record_rows import to_json
from runlore.storage.sql.session import Parameters, Row, SqlValue

COLUMNS = ("session_id", "number", "run_id", "type", "at_ms", "bytes", "checksum", "body")
CHECKSUM = COLUMNS.index("checksum")
EMPTY = "{}"


def stored_body(entry: Entry) -> tuple[str, int]:
    body = to_json(entry.body, is_sorted=True)
    return body, 0 if body == EMPTY else len(body.encode())


def row_of(entry: Entry, *, place: tuple[SqlValue, ...], at_ms: int, body: tuple[str, int]) -> Parameters:
    """The values of `COLUMNS` for an entry at its place: session, number and run."""
    text, length = body
    values = (*place, entry.type.value, at_ms, length)
    return (*values, checksum(values, text), text)


def read(row: Row) -> JournalEvent:
    verify(row)
    session_id, number, run_id, kind, at_ms, _, _, body = row
    try:
        return JournalEvent(
            session_id=SessionId(session_id),
            number=number,
            run_id=None if run_id is None else RunId(run_id),
            type=EventType(kind),
            at=from_milliseconds(at_ms),
            body=from_json(body),
        )
    except UNREADABLE as error:
        raise damage_error(session_id, number) from error


def verify(row: Row) -> None:
    if row[CHECKSUM] != checksum(row[:CHECKSUM], row[CHECKSUM + 1]):
        raise damage_error(row[0], row[1])


def checksum(values: tuple[SqlValue, ...], body: str) -> str:
    text = "\x1f".join(map(str, values))
    return f"{zlib.crc32(body.encode(), zlib.crc32(text.encode())):08x}"


def damage_error(session_id: str, number: int) -> Corrupt:
    return Corrupt(
        f"event {number} of session {session_id} is damaged in the journal",
        code="journal.damaged",
        hint="restore the store from a backup; `runlore doctor` names all that is damaged",
    )
