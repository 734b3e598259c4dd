"""What capture has made of runs, in SQL that both databases run.

Where a run read from is content, and stands among the texts that can be emptied. Whether it did is not: that
is kept of a forgotten run too, for what was read may stand in the rest of the conversation, and a run that
was looked at and read nothing does not cast doubt on the others.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from runlore.domain.prompts.run_memory import Capture, CaptureState
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.taint import TRUSTED, Provenance
from runlore.domain.text.storable import is_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql import columns, texts
from runlore.storage.sql.session import (
    Parameters,
    Row,
    SqlCollection,
    SqlStatement,
    SqlValue,
    id_chunks,
    in_list,
    writing,
)

_COLUMNS = ("run_id", "session_id", "opened_at_ms", "state", "is_untrusted")
_SELECT = (
    f"SELECT {', '.join(f'c.{column}' for column in _COLUMNS)}, {texts.SELECTED}"
    f" FROM run_captures c {texts.join_clause('capture', 'c', 'run_id')}"
)
_UNTRUSTED = (
    f"{_SELECT} WHERE c.session_id = ? AND c.is_untrusted = 1 AND c.opened_at_ms < ?"
    " ORDER BY c.opened_at_ms, c.run_id"
)
# One that waits to be captured has not been looked at either.
_MISSING = (
    "SELECT r.run_id FROM runs r LEFT JOIN run_captures c ON c.run_id = r.run_id AND c.state <> 'pending'"
    " WHERE r.session_id = ? AND r.opened_at_ms < ? AND c.run_id IS NULL ORDER BY r.opened_at_ms, r.run_id"
)
# What was brought in too old for a memory never had one; of all others `none` is what people asked for.
_WITHOUT_MEMORY = (
    "SELECT count(*) FROM runs r LEFT JOIN run_captures c ON c.run_id = r.run_id AND c.state <> 'skipped'"
    " WHERE r.status = 'completed' AND c.run_id IS NULL"
    """ AND (r.memory = 'pruned' OR (r.memory = 'none' AND r.body LIKE '%"imported":true%'))"""
    " AND r.finished_at_ms >= ?"
)
# It answers where the text of the row stands that was there before.
_PUT = (
    f"INSERT INTO run_captures ({', '.join(_COLUMNS)}) VALUES ({in_list(_COLUMNS)}) ON CONFLICT (run_id)"
    f" DO UPDATE SET {', '.join(f'{column} = excluded.{column}' for column in _COLUMNS[1:])}"
    " RETURNING text_revision"
)
_SET_TEXT = "UPDATE run_captures SET text_revision = ? WHERE run_id = ?"
# What waited to be captured never will be.
_BLANK = (
    "UPDATE run_captures SET text_revision = NULL,"
    " state = CASE WHEN state = 'pending' THEN 'skipped' ELSE state END WHERE run_id = ?"
)
_KNOWN = "SELECT run_id FROM run_captures WHERE run_id IN ({ids})"
_owner = "capture:{}".format


class SqlCaptures(SqlCollection):
    """`ports.run_store.Captures` on one database session."""

    def get(self, run_id: RunId) -> Capture | None:
        if not is_storable(run_id):
            return None
        rows = self._session.rows(f"{_SELECT} WHERE c.run_id = ?", (run_id,))
        return _read(rows[0]) if rows else None

    def get_many(self, run_ids: Sequence[RunId]) -> dict[RunId, Capture]:
        rows = self._rows_of(f"{_SELECT} WHERE c.run_id IN ({{ids}})", run_ids)
        return {capture.run_id: capture for capture in map(_read, rows)}

    @writing
    def put(self, capture: Capture) -> None:
        columns.check_storable(capture.run_id, capture.session_id)
        self._session.make_room(freeing=False)
        stood = self._session.rows(_PUT, _values(capture))[0][0]
        text = _text(capture.provenance)
        if stood is None and not text:
            return
        # The row is ours from here on, so nobody else writes its text.
        revision, statements = texts.replace_statements(self._session, _owner(capture.run_id), text)
        placed: Parameters = (revision, capture.run_id)
        self._session.run([*statements, SqlStatement(sql=_SET_TEXT, rows=[placed])])

    def untrusted_before(self, session_id: SessionId, moment: datetime) -> tuple[Capture, ...]:
        return tuple(map(_read, self._of_session(_UNTRUSTED, session_id, moment)))

    def missing_before(self, session_id: SessionId, moment: datetime) -> tuple[RunId, ...]:
        return tuple(RunId(row[0]) for row in self._of_session(_MISSING, session_id, moment))

    def count_without_memory(self, *, session_id: SessionId | None, since: datetime | None) -> int:
        if session_id is not None and not is_storable(session_id):
            return 0
        start = 0 if since is None else to_milliseconds(since)
        if session_id is None:
            return int(self._session.rows(_WITHOUT_MEMORY, (start,))[0][0])
        sql = f"{_WITHOUT_MEMORY} AND r.session_id = ?"
        return int(self._session.rows(sql, (start, session_id))[0][0])

    @writing
    def delete(self, run_ids: Sequence[RunId]) -> None:
        """Delete what was noted of forgotten runs, but for whether one read from outside."""
        self._session.make_room(freeing=True)
        known = sorted(row[0] for row in self._rows_of(_KNOWN, run_ids))
        for chunk in id_chunks(known):
            emptied = texts.erase_statement(self._session, map(_owner, chunk))
            self._session.run([SqlStatement(sql=_BLANK, rows=[(run_id,) for run_id in chunk]), emptied])

    def _of_session(self, sql: str, session_id: SessionId, moment: datetime) -> list[Row]:
        if not is_storable(session_id):
            return []
        return self._session.rows(sql, (session_id, to_milliseconds(moment)))


def _values(capture: Capture) -> tuple[SqlValue, ...]:
    return (
        capture.run_id,
        capture.session_id,
        to_milliseconds(capture.opened_at),
        capture.state.value,
        int(capture.provenance.tainted),
    )


def _text(provenance: Provenance) -> JsonObject:
    if provenance == TRUSTED:
        return {}
    return {
        "untrusted": provenance.untrusted,
        "needs_review": provenance.needs_review,
        "sources": list(provenance.sources),
    }


def _provenance(text: JsonObject, is_untrusted: int) -> Provenance:
    if text:
        sources = cast("Sequence[JsonValue]", text["sources"])
        found = Provenance(
            untrusted=bool(text["untrusted"]),
            needs_review=bool(text["needs_review"]),
            sources=tuple(map(str, sources)),
        )
    else:
        found = Provenance(untrusted=is_untrusted == 1, needs_review=is_untrusted == 1)
    if int(found.tainted) != is_untrusted:
        raise ValueError("the row and its text do not agree")
    return found


def _read(row: Row) -> Capture:
    run_id, session_id, opened_at_ms, state, is_untrusted = row[: len(_COLUMNS)]
    text = texts.read(row)
    with columns.Readable(f"the capture of run {run_id}"):
        return Capture(
            run_id=RunId(run_id),
            session_id=SessionId(session_id),
            opened_at=from_milliseconds(opened_at_ms),
            state=CaptureState(state),
            provenance=_provenance(text, is_untrusted),
        )
