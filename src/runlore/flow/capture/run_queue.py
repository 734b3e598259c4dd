"""Runlore's own agent works through one input of a session at a time.

Two would write into one folder at once, and neither would know what the other was told.
"""

from collections.abc import Iterator
from datetime import datetime

from runlore.domain import limits
from runlore.domain.errors import Conflict
from runlore.domain.run import OPEN, Run, RunId
from runlore.domain.session import SessionId
from runlore.flow.capture.sweeps import is_abandoned
from runlore.ports.store import Collections


def require_unworked(collections: Collections, session_id: SessionId, now: datetime) -> None:
    """Refuse an input of a session in which a living process works another one, this one or any other; the
    caller has the session's turn. What other agents report there stands in nobody's way."""
    for run in _open_runs(collections, session_id):
        if run.executor is not None and not is_abandoned(collections, run, now):
            raise session_busy(session_id, run.run_id)


def session_busy(session_id: SessionId, run_id: RunId | None) -> Conflict:
    named = "another input" if run_id is None else f"run {run_id!r}"
    return Conflict(
        f"{named} is being worked in session {session_id!r}",
        code="agent.session-busy",
        hint=f"wait until it has ended, or stop it: runlore session run cancel {run_id or 'RUN'}",
    )


def _open_runs(collections: Collections, session_id: SessionId) -> Iterator[Run]:
    before = None
    while page := collections.runs.page(
        limit=limits.LIST_LIMIT_MAX, session_id=session_id, statuses=OPEN, before=before
    ):
        yield from page
        before = (page[-1].opened_at, page[-1].run_id)
