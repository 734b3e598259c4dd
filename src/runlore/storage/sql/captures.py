"""What capture has made of runs, in SQL that both databases run.

Where a run read from is content, and stands among the texts that can be emptied. Whether it did is not: that
is kept of a forgotten run too, for what was read may stand in the rest of the conversation, and a run that
was looked at and read nothing does not cast doubt on the others.
"""

from collections.abc import Sequence
from datetime import datetime

from runlore.domain.prompts.run_memory import Capture
from runlore.domain.record import JsonObject
from runlore.domain.run import RunId
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.domain.session import SessionId
from runlore.domain.taint import TRUSTED, Provenance
from runlore.domain.timestamps import to_milliseconds
from runlore.storage.sql import columns, texts
from runlore.storage.sql.session import Parameters, Row, SqlCollection, id_chunks, writing

TABLE = texts.TextTable(
    "run_captures", "capture", "run_id session_id opened_at_ms state is_untrusted", row="c"
)
_UNTRUSTED = (
    f"{TABLE.select} WHERE c.session_id = ? AND c.is_untrusted = 1 AND c.opened_at_ms < ?"
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
# Where the text of a row stands that was there before.
_STOOD = "SELECT run_id, text_revision FROM run_captures WHERE run_id IN ({ids})"
# What waited to be captured never will be.
_BLANK = (
    "UPDATE run_captures SET text_revision = NULL,"
    " state = CASE WHEN state = 'pending' THEN 'skipped' ELSE state END WHERE run_id = ?"
)
_KNOWN = "SELECT run_id FROM run_captures WHERE run_id IN ({ids})"


class SqlCaptures(SqlCollection):
    """What capture has made of runs: the receipts, and what each run read from outside."""

    def get(self, run_id: RunId) -> Capture | None:
        """What was made of a run; None where nobody has looked at it yet."""
        return self._read_first(_read, f"{TABLE.select} WHERE c.run_id = ?", run_id)

    def get_many(self, run_ids: Sequence[RunId]) -> dict[RunId, Capture]:
        rows = self._rows_of(f"{TABLE.select} WHERE c.run_id IN ({{ids}})", run_ids)
        return {capture.run_id: capture for capture in map(_read, rows)}

    @writing
    def put(self, *captures: Capture) -> None:
        if not captures:
            return
        for capture in captures:
            columns.check_storable(capture.run_id, capture.session_id)
        self._session.make_room(freeing=False)
        self._execute(TABLE.put, *map(_values, captures))
        # The rows are ours from here on, so nobody else writes their texts.
        stood: dict[RunId, int | None] = dict(self._rows_of(_STOOD, [capture.run_id for capture in captures]))
        for capture in captures:
            text = {} if capture.provenance == TRUSTED else serialize(capture.provenance)
            if text or stood[capture.run_id] is not None:
                owner = TABLE.owner(capture.run_id)
                revision, statements = texts.replace_statements(self._session, owner, text)
                self._run(*statements, (TABLE.place, [(revision, capture.run_id)]))

    def untrusted_before(self, session_id: SessionId, moment: datetime) -> tuple[Capture, ...]:
        """The captures of a session's runs opened before a moment that read from outside, oldest first."""
        return tuple(map(_read, self._rows(_UNTRUSTED, session_id, to_milliseconds(moment))))

    def missing_before(self, session_id: SessionId, moment: datetime) -> tuple[RunId, ...]:
        """The runs of a session opened before a moment that nobody has looked at yet, oldest first."""
        return tuple(RunId(row[0]) for row in self._rows(_MISSING, session_id, to_milliseconds(moment)))

    def count_without_memory(self, *, session_id: SessionId | None, since: datetime | None) -> int:
        """How many completed runs have no memory any more, and nothing was taken from them: those of one
        session, and those that ended since a moment."""
        start = 0 if since is None else to_milliseconds(since)
        if session_id is None:
            return self._number(_WITHOUT_MEMORY, start)
        return self._number(f"{_WITHOUT_MEMORY} AND r.session_id = ?", start, session_id)

    @writing
    def delete(self, run_ids: Sequence[RunId]) -> None:
        """Delete what was noted of forgotten runs. Whether one read from outside stays known, without from
        where: what it read may stand in the rest of the conversation. What waited is skipped."""
        self._session.make_room(freeing=True)
        known = sorted(row[0] for row in self._rows_of(_KNOWN, run_ids))
        for chunk in id_chunks(known):
            emptied = texts.erase_statement(self._session, map(TABLE.owner, chunk))
            self._run((_BLANK, [(run_id,) for run_id in chunk]), emptied)


def _values(capture: Capture) -> Parameters:
    return (*columns.values_of(capture, TABLE.columns[:-1]), int(capture.provenance.tainted))


def _provenance(text: JsonObject, is_untrusted: int) -> Provenance:
    unknown = Provenance(untrusted=is_untrusted == 1, needs_review=is_untrusted == 1)
    found = deserialize(Provenance, text) if text else unknown
    if int(found.tainted) != is_untrusted:
        raise ValueError("the row and its text do not agree")
    return found


def _read(row: Row) -> Capture:
    text = texts.read(row)
    with columns.Readable(f"the capture of run {row[0]}"):
        provenance = _provenance(text, row[len(TABLE.columns) - 1])
        return Capture(provenance=provenance, **columns.fields_of(Capture, TABLE.columns[:-1], row))
