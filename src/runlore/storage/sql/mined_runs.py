"""What the detectors see of runs, in SQL that both databases run.

It is taken from what was said in a run, so all of it stands among the texts that can be emptied.
"""

from collections.abc import Sequence

from runlore.domain.detectors.mined import MinedRun
from runlore.domain.detectors.mined_json import parse_mined, serialize_mined
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.storage.sql import columns, texts
from runlore.storage.sql.session import Row, SqlCollection, id_chunks, writing

TABLE = texts.TextTable("mined_runs", "mined run", "run_id session_id number")
_NUMBER_MAX = 2**62
_OF_SESSION = (
    f"SELECT {TABLE.selected} FROM (SELECT * FROM mined_runs WHERE session_id = ? AND number < ?"
    f" ORDER BY number DESC, run_id DESC LIMIT ?) m {TABLE.join} ORDER BY m.number, m.run_id"
)
_SESSIONS = "SELECT DISTINCT session_id FROM mined_runs WHERE session_id > ? ORDER BY session_id LIMIT ?"


class SqlMinedRuns(SqlCollection):
    """What the detectors see of runs. Derived from journals; it goes when a run is forgotten."""

    def find(self, run_id: RunId) -> MinedRun | None:
        return self._read_first(_read, f"{TABLE.select} WHERE m.run_id = ?", run_id)

    def of_session(
        self, session_id: SessionId, *, limit: int, before: int | None = None
    ) -> tuple[MinedRun, ...]:
        """The latest runs of a session, oldest first; those that began `before` an event of it."""
        end = _NUMBER_MAX if before is None else before
        return tuple(map(_read, self._rows(_OF_SESSION, session_id, end, max(limit, 0))))

    def sessions(self, *, after: SessionId | None = None, limit: int) -> tuple[SessionId, ...]:
        return tuple(SessionId(row[0]) for row in self._rows(_SESSIONS, after or "", max(limit, 0)))

    @writing
    def put(self, mined: MinedRun) -> None:
        columns.check_storable(mined.run_id, mined.session_id)
        self._session.make_room(freeing=False)
        self._execute(TABLE.put, (mined.run_id, mined.session_id, mined.first_number))
        # The row is ours from here on, so nobody else writes its text.
        revision, statements = texts.replace_statements(
            self._session, TABLE.owner(mined.run_id), serialize_mined(mined)
        )
        self._run(*statements, (TABLE.place, [(revision, mined.run_id)]))

    @writing
    def delete(self, run_ids: Sequence[RunId]) -> None:
        """Delete what was mined of forgotten runs; those of which nothing is are passed over."""
        self._session.make_room(freeing=True)
        for chunk in id_chunks(run_ids):
            rows = [(run_id,) for run_id in chunk]
            # Whoever writes one of them has ended when its row is gone, and its text is seen.
            self._execute(TABLE.delete, *rows)
            self._run(texts.erase_statement(self._session, map(TABLE.owner, chunk)))


def _read(row: Row) -> MinedRun:
    run_id, session_id, number = row[: len(TABLE.columns)]
    text = texts.read(row)
    with columns.Readable(f"what was mined of run {run_id}"):
        mined = parse_mined(text)
        if (mined.run_id, mined.session_id, mined.first_number) != (run_id, session_id, number):
            raise ValueError("the row and its text do not agree")
    return mined
