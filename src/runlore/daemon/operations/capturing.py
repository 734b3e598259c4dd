"""Belated capture, asked for by an operator."""

from runlore.daemon.lookups import askable
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.requests import checked_limit
from runlore.domain import limits
from runlore.domain.errors import Refused
from runlore.domain.session import SessionId
from runlore.flow.capture.backfill import Wanted, note_owed, owe_captures, to_capture
from runlore.flow.capture.consent import CAPTURE_PAUSED
from runlore.flow.policies import current_capture, current_run_memory
from runlore.ports import operations as ops
from runlore.ports.store import Collections


class CaptureActs(Bound):
    """Capture of what was skipped."""

    @operation
    def backfill_capture(self, request: ops.BackfillRequest) -> ops.BackfillAnswer:
        """Queue the capture of runs that were skipped while it was off."""
        wanted = Wanted(
            session_id=request.session_id,
            since=request.since,
            limit=checked_limit(request.limit, limits.LIST_LIMIT_MAX),
        )
        if request.dry_run:
            with self.parts.store.snapshot() as snapshot:
                _check(snapshot, wanted)
                runs, more = to_capture(snapshot, wanted)
            return ops.BackfillAnswer(runs=runs, dry_run=True, more=more)
        with self.parts.store.transaction() as tx:
            _check(tx, wanted)
            runs, more = to_capture(tx, wanted)
            owe_captures(tx, self.parts.ids, runs, self.parts.clock.now())
        note_owed(self.parts.store, self.parts.run_memories, runs)
        return ops.BackfillAnswer(runs=runs, dry_run=False, more=more)


def _check(collections: Collections, wanted: Wanted) -> None:
    if wanted.session_id is not None:
        collections.sessions.get(SessionId(askable(wanted.session_id, "session")))
    if not current_run_memory(collections).enabled:
        raise Refused(
            "runs are not remembered, so there is nothing to capture belatedly",
            code="capture.off",
            hint="put a run-memory policy with enabled = true",
        )
    if not current_capture(collections).semantic_candidates.enabled:
        raise Refused(
            "semantic capture is off, and nothing is taken from runs",
            code="capture.off",
            hint="put a learning policy with capture.semantic_candidates.enabled = true, then ask again",
        )
    paused = collections.counters.switch(CAPTURE_PAUSED)
    if paused is not None and paused.on:
        raise Refused(
            f"capture is paused since {paused.at:%Y-%m-%d %H:%M} by {paused.actor}",
            code="capture.paused",
            hint="resume it first: runlore capture resume",
        )
