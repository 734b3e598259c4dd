"""How far transcripts have been read, in SQL that both databases run.

A position tells the folder that an agent worked in, so it stands among the texts that can be emptied.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from runlore.domain.runs.transcript import Position
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.domain.session import SessionId
from runlore.domain.timestamps import to_milliseconds
from runlore.storage.sql import columns, texts
from runlore.storage.sql.session import Row, SqlCollection, id_chunks, in_list, writing

TABLE = texts.TextTable("transcript_positions", "transcript", "source at_ms", row="p")
_PUT_SESSION = "INSERT INTO transcript_sessions (session_id, source) VALUES (?, ?) ON CONFLICT DO NOTHING"
_OF_SESSIONS = (
    "SELECT source FROM transcript_positions WHERE source IN"
    " (SELECT source FROM transcript_sessions WHERE session_id IN ({ids})) ORDER BY source"
)
_DELETE_SESSIONS = "DELETE FROM transcript_sessions WHERE source = ?"


class SqlTranscriptPositions(SqlCollection):
    """How far transcripts have been read. `source` is a digest: no path of anybody's machine is kept."""

    def get_many(self, sources: Sequence[str]) -> dict[str, Position]:
        return dict(map(_read, self._rows_of(f"{TABLE.select} WHERE p.source IN ({{ids}})", sources)))

    @writing
    def put(
        self, source: str, position: Position, at: datetime, *, session_ids: Collection[SessionId] = ()
    ) -> None:
        """Note how far one has been read, with what was stored of it; `session_ids` are sessions that it
        tells of, beside those which were noted before."""
        columns.check_storable(source, *session_ids)
        self._session.make_room(freeing=False)
        self._execute(TABLE.put, (source, to_milliseconds(at)))
        rows = [(session_id, source) for session_id in sorted(set(session_ids))]
        self._execute(_PUT_SESSION, *rows)
        # The row is ours from here on, so nobody else writes its text.
        owner = TABLE.owner(source)
        revision, statements = texts.replace_statements(self._session, owner, serialize(position))
        self._run(*statements, (TABLE.place, [(revision, source)]))

    @writing
    def delete_of_sessions(self, session_ids: Sequence[SessionId]) -> None:
        """Delete the positions in transcripts that tell of forgotten sessions, of these alone or not."""
        self._session.make_room(freeing=True)
        locked = self._session.dialect.for_update
        for chunk in id_chunks(session_ids):
            found = self._session.rows(_OF_SESSIONS.format(ids=in_list(chunk)) + locked, chunk)
            emptied = texts.erase_statement(self._session, (TABLE.owner(row[0]) for row in found))
            deleted = [(sql, found) for sql in (TABLE.delete, _DELETE_SESSIONS)]
            self._run(*deleted, emptied)


def _read(row: Row) -> tuple[str, Position]:
    source = row[0]
    text = texts.read(row)
    with columns.Readable(f"transcript {source}"):
        return source, deserialize(Position, text)
