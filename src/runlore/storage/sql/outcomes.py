"""How runs went, and which of them were given or went without what, in SQL that both databases run."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime

import orjson

from runlore.domain.run import Run, RunId
from runlore.domain.serialization.codec import deserialize
from runlore.domain.timestamps import to_milliseconds
from runlore.domain.worth.effect import TrialRun
from runlore.domain.worth.outcome import RunFacts, RunOutcome, SaidOutcome, explain_outcome, score_outcome
from runlore.storage.sql import columns
from runlore.storage.sql.session import SqlCollection, id_chunks, writing

_ROW = (
    "INSERT INTO run_outcomes (run_id, opened_at_ms, said) VALUES (?, ?, ?)"
    " ON CONFLICT (run_id) DO UPDATE SET said = COALESCE(excluded.said, run_outcomes.said)"
)
_UNSETTLED = (
    "SELECT o.run_id, o.said FROM run_outcomes o JOIN runs r ON r.run_id = o.run_id"
    " WHERE o.settled_at_ms IS NULL AND o.opened_at_ms <= ? AND r.finished_at_ms <= ?"
    " ORDER BY o.opened_at_ms, o.run_id LIMIT ?"
)
_SETTLE = "UPDATE run_outcomes SET settled_at_ms = ?, points = ?, facts = ? WHERE run_id = ?"
_USED = "UPDATE receipt_sources SET used = ? WHERE run_id = ? AND source_id = ?"
_TRIALS = (
    "SELECT s.source_id, s.arm, s.used, p.holdback_percent, o.points, r.session_created_by"
    " FROM receipt_sources s JOIN receipts p ON p.run_id = s.run_id JOIN runs r ON r.run_id = s.run_id"
    " JOIN run_outcomes o ON o.run_id = s.run_id WHERE s.arm IS NOT NULL"
    " ORDER BY s.source_id, o.settled_at_ms, s.run_id"
)


class SqlOutcomes(SqlCollection):
    """How runs went."""

    @writing
    def put(self, run: Run, said: SaidOutcome | None = None) -> None:
        """Have a run settled when its time has come, with what somebody says of it, if anybody does."""
        self._session.make_room(freeing=False)
        self._execute(_ROW, (run.run_id, to_milliseconds(run.opened_at), said))

    def find(self, run_id: RunId) -> RunOutcome | None:
        """How a run counts, if it will."""
        sql = "SELECT said, points, facts FROM run_outcomes WHERE run_id = ?"
        for said, points, facts in self._session.rows(sql, (run_id,)):
            with columns.Readable(f"the outcome of run {run_id}"):
                signs = {} if facts is None else explain_outcome(deserialize(RunFacts, orjson.loads(facts)))
                return RunOutcome(
                    points=points, signs=signs, said=None if said is None else SaidOutcome(said)
                )
        return None

    def list_unsettled(self, before: datetime, *, limit: int) -> dict[RunId, SaidOutcome | None]:
        """Runs that ended before a moment and are not settled, the oldest first, with what was said of
        them."""
        at_ms = to_milliseconds(before)
        rows = self._session.rows(_UNSETTLED, (at_ms, at_ms, limit))
        return {RunId(run_id): None if said is None else SaidOutcome(said) for run_id, said in rows}

    @writing
    def settle(self, run_id: RunId, facts: RunFacts, at: datetime, used: Mapping[str, bool]) -> None:
        """Keep how a run went, for good, and whether it used what it was given."""
        points, text = score_outcome(facts), orjson.dumps(asdict(facts)).decode()
        self._run(
            (_SETTLE, [(to_milliseconds(at), points, text, run_id)]),
            (_USED, [(int(is_used), run_id, each) for each, is_used in used.items()]),
        )

    def trials(self) -> Iterator[TrialRun]:
        """What runs were given or went without, by source, in the order in which the outcomes were
        settled."""
        for source_id, arm, used, percent, points, group in self._session.stream(_TRIALS):
            yield TrialRun(
                source_id=source_id,
                held_back=arm == "held_back",
                used=None if used is None else bool(used),
                percent=percent,
                points=points,
                group=group,
            )

    @writing
    def delete(self, run_ids: Collection[RunId]) -> None:
        for chunk in id_chunks(run_ids):
            self._execute("DELETE FROM run_outcomes WHERE run_id = ?", *((run_id,) for run_id in chunk))
