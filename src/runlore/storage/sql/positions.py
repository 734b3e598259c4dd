"""How far a follower has come, and whether the database is still the one that it followed.

The witness is the event that made the latest record's revision. A copy of the database from before it, put
back and moved on since, has not got that event, even if its numbers have caught up.
"""

from runlore.ports.store import Position
from runlore.storage.sql.session import Row, Session

_LATEST = (
    "SELECT e.record_id, e.revision, e.at_ms, e.move"
    " FROM (SELECT record_id, revision FROM records ORDER BY change DESC, record_id DESC LIMIT 1) r"
    " JOIN record_events e ON e.record_id = r.record_id AND e.revision = r.revision"
)
_EVENT = "SELECT record_id, revision, at_ms, move FROM record_events WHERE record_id = ? AND revision = ?"


def position(session: Session) -> Position:
    """Where a follower stands that has seen everything in this snapshot."""
    store_id, cursor = session.rows(session.dialect.position)[0]
    latest = session.rows(_LATEST)
    return Position(store_id=store_id, cursor=cursor, witness=_witness(latest[0]) if latest else "")


def is_current(session: Session, followed: Position) -> bool:
    """Whether a follower may go on from a position."""
    store_id, cursor = session.rows(session.dialect.position)[0]
    if followed.store_id != store_id or followed.cursor > cursor:
        return False
    return not followed.witness or _is_witnessed(session, followed.witness)


def _is_witnessed(session: Session, witness: str) -> bool:
    name, _, _ = witness.rpartition("#")
    record_id, _, revision = name.rpartition("@")
    if not revision.isdecimal():
        return False
    rows = session.rows(_EVENT, (record_id, int(revision)))
    return bool(rows) and _witness(rows[0]) == witness


def _witness(row: Row) -> str:
    record_id, revision, at_ms, move = row
    return f"{record_id}@{revision}#{at_ms}-{move}"
