"""Whether every journal is as it was written, and numbered without gaps. Sizes are derived: see `journal`."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from runlore.domain.errors import RunloreError
from runlore.storage.sql.journal_rows import COLUMNS, EMPTY, read
from runlore.storage.sql.session import STREAM_LARGE_ROWS, Row, SqlSession

_SESSION_WIDTH = 2
_NUMBER, _BYTES, _BODY = (COLUMNS.index(name) for name in ("number", "bytes", "body"))
# LEFT, so that a session whose events are all gone is seen.
_ALL = (
    f"SELECT s.session_id, s.next_number, {', '.join(f'e.{name}' for name in COLUMNS)}"
    " FROM sessions s LEFT JOIN journal e ON e.session_id = s.session_id ORDER BY s.session_id, e.number"
)


def problems(session: SqlSession) -> Iterator[str]:
    """What is wrong with the journals, one event at a time."""
    for _, rows in groupby(session.stream(_ALL, at_once=STREAM_LARGE_ROWS), key=itemgetter(0)):
        yield from _of_session(rows)


def _of_session(rows: Iterable[Row]) -> Iterator[str]:
    expected = 1
    for row in rows:
        session_id, next_number = row[:_SESSION_WIDTH]
        event = row[_SESSION_WIDTH:]
        if event[0] is None:
            continue
        yield from _of_event(event)
        if event[_NUMBER] != expected:
            yield f"the journal of session {session_id} has {event[_NUMBER]} where {expected} should be"
        expected = event[_NUMBER] + 1
    if next_number != expected:
        yield f"the journal of session {session_id} ends before {expected}, and not before {next_number}"


def _of_event(event: Row) -> Iterator[str]:
    try:
        read(event)
    except RunloreError as error:
        yield error.sentence
        return
    body = event[_BODY]
    if event[_BYTES] != (0 if body == EMPTY else len(body.encode())):
        yield f"event {event[_NUMBER]} of session {event[0]} tells a wrong length"
