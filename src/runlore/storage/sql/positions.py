"""How far a follower has come, and whether the database is still the one that it followed.

The witness is the event that made the latest record's revision, and the latest run that has ended. A copy of
the database from before them, put back and moved on since, has not got them, even if its numbers have caught
up.
"""

from runlore.ports.store import StorePosition
from runlore.storage.sql.session import Row, SqlSession

_LATEST = (
    "SELECT e.record_id, e.revision, e.at_ms, e.move"
    " FROM (SELECT record_id, revision FROM records ORDER BY change DESC, record_id DESC LIMIT 1) r"
    " JOIN record_events e ON e.record_id = r.record_id AND e.revision = r.revision"
)
_EVENT = "SELECT record_id, revision, at_ms, move FROM record_events WHERE record_id = ? AND revision = ?"
_RUN = "SELECT run_id, revision, opened_at_ms, finished_at_ms FROM runs WHERE finished_at_ms IS NOT NULL"
_LATEST_RUN = f"{_RUN} ORDER BY change DESC, run_id DESC LIMIT 1"
# A run has no history to look into; it can only have gone on from where it was.
_SAME_RUN = f"{_RUN} AND run_id = ? AND revision >= ?"
# Where an id holds it too, the follower only starts over.
_AND_THE_RUN = "\x1f"


def position(session: SqlSession) -> StorePosition:
    store_id, cursor = session.rows(session.dialect.position)[0]
    records, runs = session.rows(_LATEST), session.rows(_LATEST_RUN)
    witness = _witness(records[0]) if records else ""
    if runs:
        witness += _AND_THE_RUN + _witness(runs[0])
    return StorePosition(store_id=store_id, cursor=cursor, witness=witness)


def is_current(session: SqlSession, followed: StorePosition) -> bool:
    store_id, cursor = session.rows(session.dialect.position)[0]
    if followed.store_id != store_id or followed.cursor > cursor:
        return False
    record, _, run = followed.witness.partition(_AND_THE_RUN)
    return all(
        not witness or _is_witnessed(session, sql, witness)
        for sql, witness in ((_EVENT, record), (_SAME_RUN, run))
    )


def _is_witnessed(session: SqlSession, sql: str, witness: str) -> bool:
    name, _, told = witness.rpartition("#")
    identifier, _, revision = name.rpartition("@")
    if not revision.isdecimal():
        return False
    rows = session.rows(sql, (identifier, int(revision)))
    return bool(rows) and _witness(rows[0]).rpartition("#")[2] == told


def _witness(row: Row) -> str:
    identifier, revision, at_ms, told = row
    return f"{identifier}@{revision}#{at_ms}-{told}"
