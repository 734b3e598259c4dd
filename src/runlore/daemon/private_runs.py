"""Runs of which nothing is stored: that they exist, and where they work, is known to this process alone,
while it lives."""

import threading
from collections import OrderedDict

from runlore.domain import limits
from runlore.domain.run import Run, RunId
from runlore.domain.session import SessionId

PRIVATE_PREFIX = "private"


class PrivateRuns:
    """The latest private runs, a bounded number. Ids that Runlore made for them tell by themselves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[RunId, Run] = OrderedDict()
        self._folders: OrderedDict[SessionId, str] = OrderedDict()

    def keep(self, run: Run) -> None:
        """Remember a run, or its new state, for as long as this process lives."""
        with self._lock:
            self._runs[run.run_id] = run
            self._runs.move_to_end(run.run_id)
            while len(self._runs) > limits.PRIVATE_RUNS_MAX:
                del self._runs[self._oldest(run)]

    def _oldest(self, kept: Run) -> RunId:
        """Which one makes room: the oldest of whoever opened the latest, else the oldest of all."""
        others = (name for name in self._runs if name != kept.run_id)
        own = (name for name in self._runs if self._runs[name].created_by == kept.created_by)
        return next((name for name in own if name != kept.run_id), next(others))

    def drop(self, run_id: RunId) -> None:
        with self._lock:
            self._runs.pop(run_id, None)

    def find(self, run_id: RunId) -> Run | None:
        with self._lock:
            return self._runs.get(run_id)

    def is_private(self, run_id: RunId) -> bool:
        return run_id.startswith(f"{PRIVATE_PREFIX}_") or self.find(run_id) is not None

    def keep_folder(self, session_id: SessionId, folder: str) -> None:
        """Remember where a private session works, for as long as this process lives: it is stored nowhere."""
        with self._lock:
            self._folders[session_id] = folder
            self._folders.move_to_end(session_id)
            while len(self._folders) > limits.PRIVATE_RUNS_MAX:
                self._folders.popitem(last=False)

    def folder_of(self, session_id: SessionId) -> str | None:
        """Where a private session works, as far as this process knows."""
        with self._lock:
            return self._folders.get(session_id)
