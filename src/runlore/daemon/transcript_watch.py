"""Learning goes on by itself: transcripts are read when a hook says that a run is done, and now and then.

What the hook program wrote while no daemon was there (`runlore.hook`) is taken first, each report once.
"""

import json
import logging
import os
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from runlore.daemon import agents_folder
from runlore.domain.errors import RunloreError, Unavailable
from runlore.domain.lazy import LazyModule
from runlore.domain.timestamps import from_milliseconds
from runlore.hook import SPOOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runlore.agents.hooks import reports
    from runlore.daemon import notifications
    from runlore.daemon.mining import local_transcripts, store_runs
    from runlore.domain.runs import transcript
    from runlore.ports import operations as ops
else:
    notifications = LazyModule("runlore.daemon.notifications")
    reports = LazyModule("runlore.agents.hooks.reports")
    local_transcripts = LazyModule("runlore.daemon.mining.local_transcripts")
    store_runs = LazyModule("runlore.daemon.mining.store_runs")
    transcript = LazyModule("runlore.domain.runs.transcript")
    ops = LazyModule("runlore.ports.operations")

# An agent writes the end of a run a moment after its hook has told of it.
_WRITTEN_AFTER_S = 1.0
_LOOK_EVERY_S = 60.0
_SUGGEST_EVERY_S = 600.0
_LOOKED_BACK = timedelta(days=30)
_REPORT_NOTED_S = 5.0
_HEARD_AFTER_S = 10.0
_log = logging.getLogger(__name__)


class TranscriptWatch:
    """What is left to read of the transcripts on this machine. Hooks report to it, one thread reads."""

    def __init__(self, state_root: str, elapsed: "Callable[[], float]" = time.monotonic) -> None:
        self._root = state_root
        self._elapsed = elapsed
        self._lock = threading.Lock()
        self._due: dict[tuple[str, str, str], float] = {}
        self._noted: dict[str, float] = {}
        self._looked_s: float | None = None
        self._suggested_s: float | None = None
        self._unsuggested = 0
        self._count_s: float | None = None

    def note_report(self, agent: str) -> None:
        """Note that an agent has reported, for those who ask whether its hooks work."""
        now_s = self._elapsed()
        if now_s - self._noted.get(agent, -_REPORT_NOTED_S) < _REPORT_NOTED_S:
            return
        self._noted[agent] = now_s
        with suppress(OSError):
            path = agents_folder.report_path(self._root, agent)
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            os.close(os.open(path, flags, 0o600))

    def read_soon(self, agent: str, session: str, path: str) -> None:
        """Have a session's transcript read: its last run is done."""
        with self._lock:
            self._due[agent, session, path] = self._elapsed() + _WRITTEN_AFTER_S

    def step(self, operations: "ops.Operations") -> bool:
        """Take what was spooled, read what is due, and look around now and then; whether there was work."""
        worked = self._drain(operations)
        for agent, session, path in self._take_due():
            found = self._find(agent, session, path)
            self._read(operations, [replace(source, is_ended=True) for source in found])
            worked = True
        now_s = self._elapsed()
        if self._looked_s is None or now_s - self._looked_s >= _LOOK_EVERY_S:
            self._looked_s = now_s
            if is_followed(self._root):
                # First, so that what waited before anything was read is no news.
                notifications.count_notifications(self._root, operations)
                self._read(operations, local_transcripts.local_transcripts().find((), since=_long_ago()))
        if self._unsuggested and (self._suggested_s is None or now_s - self._suggested_s >= _SUGGEST_EVERY_S):
            self._suggested_s, self._unsuggested = now_s, 0
            operations.suggest(ops.SuggestRequest())
            self._count_s = now_s
        if self._count_s is not None and now_s >= self._count_s:
            self._count_s = None
            notifications.count_notifications(self._root, operations)
        return worked

    def _find(self, agent: str, session: str, path: str) -> "Iterable[transcript.TranscriptSource]":
        """The sources of one session: where its hook says, else where its agent keeps them. A hook may name
        any file; one that lies elsewhere is nobody's transcript."""
        reader, transcripts = reports.find_agent(agent).reader, local_transcripts.local_transcripts()
        if not path:
            found = transcripts.find((), since=_long_ago())
            return [each for each in found if each.agent is reader and session in (each.part or each.path)]
        connected = agents_folder.read_records(self._root).values()
        if not local_transcripts.is_transcript(path, connected):
            return ()
        return [each for each in transcripts.find([path]) if each.agent is reader]

    def _take_due(self) -> list[tuple[str, str, str]]:
        now_s = self._elapsed()
        with self._lock:
            due = [name for name, due_s in self._due.items() if due_s <= now_s]
            for name in due:
                del self._due[name]
        return due

    def _read(self, operations: "ops.Operations", sources: "Iterable[transcript.TranscriptSource]") -> None:
        found = list(sources)
        if not found:
            return
        answer = store_runs.store(operations, local_transcripts.local_transcripts(), found)
        self._unsuggested += answer.stored
        if answer.stored:
            # What is in them is heard in the background, in a moment.
            self._count_s = self._elapsed() + _HEARD_AFTER_S

    def _drain(self, operations: "ops.Operations") -> bool:
        folder = os.path.join(self._root, SPOOL)
        try:
            names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
        except OSError:
            return False
        worked = False
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.isfile(path):
                # A folder or a pipe: what hooks have written does not wait for it.
                continue
            try:
                self._take_spooled(operations, name, path)
            except (Unavailable, OSError):
                # It is tried again with the next step.
                return worked
            except (ValueError, RecursionError, RunloreError) as error:
                _log.warning("a spooled report was left out: %s", type(error).__name__)
            with suppress(OSError):
                os.unlink(path)
                worked = True
        return worked

    def _take_spooled(self, operations: "ops.Operations", name: str, path: str) -> None:
        _, agent_name, event = name.split(".", 2)
        with open(path, "rb") as file:
            payload = json.loads(file.read())
        agent = reports.find_agent(agent_name)
        report = reports.read_report(agent, event, payload) if isinstance(payload, dict) else None
        if report is None:
            return
        self.note_report(agent.name)
        if agent.reader is not None:
            # Its transcript tells it all, at the right times.
            self.read_soon(agent.name, report.session, report.transcript)
            return
        operations.report_hook(
            ops.HookEvent(agent=agent.name, event=event, payload=payload, idempotency_key=name)
        )


def is_followed(state_root: str) -> bool:
    """Whether an agent is connected here, and its transcripts are to be read as they grow."""
    return any(each.get("follows", True) for each in agents_folder.read_records(state_root).values())


def _long_ago() -> datetime:
    return from_milliseconds(int(time.time() * 1000)) - _LOOKED_BACK
