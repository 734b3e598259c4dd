"""How runs went, and which of them were given or went without what, in SQL that both databases run."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime

import orjson

from runlore.domain.run import RunId
from runlore.domain.serialization.codec import deserialize
from runlore.domain.timestamps import to_milliseconds
from runlore.domain.worth.effect import TrialRun
from runlore.domain.worth.outcome import RunFacts, RunOutcome, SaidOutcome, explain_outcome, score_outcome
from runlore.storage.sql import columns
from runlore.storage.sql.receipts import ALWAYS, HELD_BACK
from runlore.storage.sql.session import SqlCollection, id_chunks, writing

_ROW = (
    "INSERT INTO run_outcomes (run_id, opened_at_ms, said) VALUES (?, ?, ?)"
    " ON CONFLICT (run_id) DO UPDATE SET said = COALESCE(excluded.said, run_outcomes.said)"
)
# A run of longer than this counts for nothing: those behind it need not wait for it.
_COUNTED_MS = 7 * 24 * 3600 * 1000
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
    " AND COALESCE(r.finished_at_ms, ?) - r.opened_at_ms <= ?"
    " AND (o.points IS NOT NULL OR o.settled_at_ms IS NULL)"
    " ORDER BY s.source_id, r.opened_at_ms, s.run_id"
)


class SqlOutcomes(SqlCollection):
    """How runs went."""

    @writing
    def put(self, run_id: RunId, at: datetime, said: SaidOutcome | None = None) -> None:
        """Have a run that is known since a moment settled when its time has come, with what somebody says of
        it, if anybody does."""
        self._session.make_room(freeing=False)
        self._execute(_ROW, (run_id, to_milliseconds(at), said))

    def find(self, run_id: RunId) -> RunOutcome | None:
        """How a run counts, once that is settled or said."""
        sql = (
            "SELECT said, points, facts FROM run_outcomes"
            " WHERE run_id = ? AND (said IS NOT NULL OR points IS NOT NULL)"
        )
        for said, points, facts in self._session.rows(sql, (run_id,)):
            with columns.Readable(f"the outcome of run {run_id}"):
                signs = {} if facts is None else explain_outcome(deserialize(RunFacts, orjson.loads(facts)))
                return RunOutcome(
                    points=points, signs=signs, said=None if said is None else SaidOutcome(said)
                )
        return None

    def list_unsettled(self, before: datetime, *, limit: int) -> dict[RunId, SaidOutcome | None]:
        """Runs that were known and had ended before a moment and are not settled, the oldest first, with what
        was said of them."""
        at_ms = to_milliseconds(before)
        rows = self._session.rows(_UNSETTLED, (at_ms, at_ms, limit))
        return {RunId(run_id): None if said is None else SaidOutcome(said) for run_id, said in rows}

    @writing
    def settle(self, run_id: RunId, facts: RunFacts | None, at: datetime, used: Mapping[str, bool]) -> None:
        """Keep how a run went, for good, and whether it used what it was given."""
        points = None if facts is None else score_outcome(facts)
        text = None if facts is None else orjson.dumps(asdict(facts)).decode()
        self._run(
            (_SETTLE, [(to_milliseconds(at), points, text, run_id)]),
            (_USED, [(int(is_used), run_id, each) for each, is_used in used.items()]),
        )

    def trials(self, now: datetime) -> Iterator[TrialRun]:
        """What runs were given or went without, by source, in the order in which the runs were opened. Those
        that took too long to wait for, or cannot be read, are left out."""
        waited = (to_milliseconds(now), _COUNTED_MS)
        for source_id, arm, used, percent, points, group in self._session.stream(_TRIALS, waited):
            yield TrialRun(
                source_id=source_id,
                held_back=arm == HELD_BACK,
                used=None if used is None else bool(used),
                percent=0 if arm == ALWAYS else percent,
                points=points,
                group=group,
            )

    @writing
    def delete(self, run_ids: Collection[RunId]) -> None:
        for chunk in id_chunks(run_ids):
            self._execute("DELETE FROM run_outcomes WHERE run_id = ?", *((run_id,) for run_id in chunk))
