"""The runs that this process works: a bounded number of threads, each stopped when asked to, and the lease
that tells other processes that this one lives.

Whoever waits for a person to say something is woken here; requests of runs of which nothing is stored are
known here alone.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import contextmanager, suppress
from dataclasses import field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from runlore.daemon.own_runs.live_events import Hub
from runlore.domain import limits
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalMove, ApprovalState
from runlore.domain.agent.conversation import AssistantSaid, Message, UserSaid
from runlore.domain.errors import RunloreError, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.prompts.token_budget import estimate
from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.text.excerpt import excerpt
from runlore.flow.capture.ending import RunEnding, interruption
from runlore.flow.capture.runs import session_busy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runlore.daemon.own_runs.live_events import Live
    from runlore.domain.run import ProcessId, Run, RunId
    from runlore.domain.session import SessionId
    from runlore.ports.clock import Clock
    from runlore.ports.store import Store


Exchange = tuple[str, str]
_SESSIONS_MAX = 64
_UNANSWERED = "(This ended without an answer.)"


def conversation(newest_first: Iterable[Exchange], *, tokens_max: int) -> tuple[Message, ...]:
    """Exchanges as messages; what is older than the first that does not fit is left out. A forgotten one says
    nothing."""
    kept: list[Exchange] = []
    left = tokens_max
    for asked, answered in newest_first:
        if not asked.strip():
            continue
        exchange = shorten_text(asked), shorten_text(answered)
        left -= sum(map(estimate, exchange))
        if left < 0:
            break
        kept.append(exchange)
    messages: list[Message] = []
    for asked, answered in reversed(kept):
        messages += UserSaid(text=asked), AssistantSaid(text=answered)
    return tuple(messages)


class UnstoredConversations:
    """The conversations of sessions of which nothing is stored, while this process lives: a few of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[SessionId, list[Exchange]] = OrderedDict()

    def add(self, session_id: SessionId, asked: str, answered: str) -> None:
        with self._lock:
            exchange = shorten_text(asked), shorten_text(answered) or _UNANSWERED
            exchanges = [*self._kept.pop(session_id, []), exchange]
            self._kept[session_id] = exchanges[-limits.AGENT_HISTORY_RUNS_MAX :]
            while len(self._kept) > _SESSIONS_MAX:
                self._kept.popitem(last=False)

    def of(
        self, session_id: SessionId, *, tokens_max: int = limits.AGENT_HISTORY_TOKENS_MAX
    ) -> tuple[Message, ...]:
        with self._lock:
            exchanges = list(self._kept.get(session_id, ()))
        return conversation(reversed(exchanges), tokens_max=tokens_max)


def shorten_text(text: str) -> str:
    return excerpt(text.strip(), limits.AGENT_HISTORY_TEXT_CHARS_MAX)


STOPPED = "the process that worked it was stopped"
_LEASE = timedelta(seconds=limits.PROCESS_LEASE_S)
_JOIN_S = 10.0
# How soon it is seen that somebody has ended a run of ours elsewhere.
_LOOK_S = 1.0
_log = logging.getLogger(__name__)


class StopSignal(threading.Event):
    """What a run is stopped by: somebody cancels it, or its process ends. The first word counts."""

    def __init__(self) -> None:
        super().__init__()
        self._first = threading.Lock()
        self._ending = RunEnding(status=RunStatus.CANCELLED)

    def ending(self) -> RunEnding:
        return self._ending

    def cancel(self) -> None:
        self._stop(RunEnding(status=RunStatus.CANCELLED))

    def interrupt(self, reason: str) -> None:
        self._stop(interruption(reason))

    def _stop(self, ending: RunEnding) -> None:
        with self._first:
            if not self.is_set():
                self._ending = ending
                self.set()


class RunHandle:
    """One run that this process works: what stops it, and what can be heard of it. One that another run has
    called `has_place` not: its caller does nothing but wait. It `holds_session` while it may still change
    something there."""

    def __init__(self, run_id: RunId, session_id: SessionId, live: Live) -> None:
        self.run_id = run_id
        self.session_id = session_id
        self.live = live
        self.stopping = StopSignal()
        self.has_place = False
        self.holds_session = True


class RunSlot:
    """Room for one more run of a session. It is taken once that run is about to be opened: whoever asks again
    for one that is there needs none."""

    def __init__(self, session_id: SessionId, take: Callable[[RunSlot], None] = lambda _: None) -> None:
        self.session_id = session_id
        self.run_id: RunId | None = None
        self._take = take

    def take(self, run_id: RunId) -> None:
        """Take it for a run; Unavailable (`agent.busy`) or Conflict (`agent.session-busy`) where there is
        none. Whoever tries again has it already."""
        if self.run_id is None:
            self._take(self)
        self.run_id = run_id


class AgentService:
    """The threads of one process. `close` ends all of its runs as interrupted."""

    def __init__(self, store: Store, clock: Clock, process_id: ProcessId) -> None:
        self.hub = Hub()
        self.waiting = PendingApprovals()
        self.unkept = UnstoredConversations()
        self._store = store
        self._clock = clock
        self._process_id = process_id
        self._lock = threading.Lock()
        # By the sessions in which a run is about to be opened.
        self._opening: dict[SessionId, RunSlot] = {}
        self._handles: dict[RunId, RunHandle] = {}
        self._threads: dict[RunId, threading.Thread] = {}
        self._owed: dict[RunId, Callable[[], None]] = {}
        self._closing = threading.Event()
        self._beating: threading.Thread | None = None
        self._is_listed = False

    @contextmanager
    def place(self, session_id: SessionId) -> Iterator[RunSlot]:
        """Room for one more run while it is opened and started. This process is known to live from here on,
        so that nobody takes its run for abandoned."""
        if self._closing.is_set():
            raise _stopping()
        place = RunSlot(session_id, self._take)
        self.keep_alive()
        try:
            yield place
        finally:
            with self._lock:
                # The next one may be there already, where this one is over.
                if self._opening.get(session_id) is place:
                    del self._opening[session_id]

    def require_room(self) -> None:
        with self._lock:
            self._require_room()

    def _take(self, place: RunSlot) -> None:
        session_id = place.session_id
        with self._lock:
            for handle in self._handles.values():
                if handle.session_id == session_id and handle.holds_session:
                    raise session_busy(session_id, handle.run_id)
            if session_id in self._opening:
                raise session_busy(session_id, None)
            self._require_room()
            self._opening[session_id] = place

    def _require_room(self) -> None:
        if self._closing.is_set():
            raise _stopping()
        taken = len(self._opening) + sum(handle.has_place for handle in self._handles.values())
        if taken >= limits.AGENT_RUNS_AT_ONCE_MAX:
            raise Unavailable(
                f"{limits.AGENT_RUNS_AT_ONCE_MAX} runs are being worked already",
                code="agent.busy",
                hint="wait until one has ended, or cancel one",
            )

    def start(self, run: Run, work: Callable[[RunHandle], None]) -> RunHandle:
        """Work a run in a thread of its own. Where there can be none it is done here, stopped already."""
        run_id = run.run_id
        handle = RunHandle(run_id, run.session_id, self.hub.begin(run_id))

        def run_work() -> None:
            try:
                work(handle)
            except Exception:
                # The outer loop of a run: whatever it was, the run has been ended as far as it can be.
                _log.exception("the work on run %s failed", run_id)
            finally:
                self._finish(handle)

        thread = threading.Thread(target=run_work, name=f"runlore-agent-{run_id}", daemon=True)
        self.waiting.begin(run_id)
        with self._lock:
            handle.has_place = self._opening.pop(run.session_id, None) is not None
            self._handles[run_id] = handle
            self._threads[run_id] = thread
            if self._closing.is_set():
                handle.stopping.interrupt(STOPPED)
        try:
            thread.start()
        except RuntimeError:
            handle.stopping.interrupt("this process can start no more threads")
            run_work()
        return handle

    def find(self, run_id: RunId) -> RunHandle | None:
        with self._lock:
            return self._handles.get(run_id)

    def free_session(self, run_id: RunId) -> None:
        """The run does nothing more but be ended: from here on its end, as it is stored, is what the next
        input of its session waits for."""
        handle = self.find(run_id)
        if handle is not None:
            handle.holds_session = False

    @property
    def is_busy(self) -> bool:
        with self._lock:
            return bool(self._handles)

    def is_working(self, run_id: RunId) -> bool:
        return self.find(run_id) is not None

    def cancel(self, run_id: RunId) -> bool:
        handle = self.find(run_id)
        if handle is not None:
            handle.stopping.cancel()
        return handle is not None

    def working(self) -> tuple[RunId, ...]:
        with self._lock:
            return tuple(self._handles)

    def stop(self, run_id: RunId, reason: str) -> None:
        handle = self.find(run_id)
        if handle is not None:
            handle.stopping.interrupt(reason)

    def interrupt(self) -> None:
        self._closing.set()
        with self._lock:
            handles = list(self._handles.values())
        for handle in handles:
            handle.stopping.interrupt(STOPPED)

    def close(self) -> None:
        """Stop everything, wait a moment for it to end, and take this process off the list; once."""
        self.interrupt()
        with self._lock:
            threads = [thread for thread in self._threads.values() if thread.is_alive()]
        until = time.monotonic() + _JOIN_S
        for thread in (*threads, *filter(None, [self._beating])):
            thread.join(max(0.0, until - time.monotonic()))
        self.settle()
        if self._is_listed and not self._owed and not any(thread.is_alive() for thread in threads):
            with suppress(RunloreError):
                with self._store.transaction() as tx:
                    tx.processes.delete(self._process_id)
                self._is_listed = False

    def keep_alive(self) -> None:
        """Say that this process lives, where that was not said lately, and go on saying so."""
        now = self._clock.now()
        with self._store.snapshot() as snapshot:
            until = snapshot.processes.leases().get(self._process_id)
        if until is None or not _LEASE / 2 <= until - now <= _LEASE:
            with self._store.transaction() as tx:
                tx.processes.heartbeat(
                    self._process_id, lease_until=now + _LEASE, description=f"runlore, pid {os.getpid()}"
                )
            self._is_listed = True
        with self._lock:
            if self._beating is None and not self._closing.is_set():
                beating = threading.Thread(target=self._beats, name="runlore-agents", daemon=True)
                beating.start()
                # Only now: where no thread could be started, the next run tries again.
                self._beating = beating

    def look(self) -> None:
        """Stop the runs that somebody has ended elsewhere: another process has cancelled them, or they were
        forgotten."""
        with self._lock:
            handles = dict(self._handles)
        if not handles:
            return
        with self._store.snapshot() as snapshot:
            present = snapshot.runs.get_many(list(handles))
        for run_id, run in present.items():
            if run.is_terminal:
                handles[run_id].stopping.cancel()

    def rest(self, seconds: float) -> None:
        self._closing.wait(seconds)

    def idle(self, seconds: float) -> None:
        """Let so many seconds pass; Unavailable (`agent.stopping`) where this process stops meanwhile."""
        if self._closing.wait(seconds):
            raise _stopping()

    def owe(self, run_id: RunId, end: Callable[[], None]) -> None:
        """Have a run ended as soon as the store can be written again."""
        with self._lock:
            self._owed[run_id] = end

    def settle(self) -> None:
        """End the runs that are owed their end; what cannot be written yet is tried again."""
        with self._lock:
            owed = dict(self._owed)
        for run_id, end in owed.items():
            if self._try_step(end):
                with self._lock:
                    self._owed.pop(run_id, None)

    def _beats(self) -> None:
        beaten_at = time.monotonic()
        while not self._closing.wait(_LOOK_S):
            self._try_step(self.look)
            if time.monotonic() - beaten_at >= limits.PROCESS_HEARTBEAT_S - _LOOK_S:
                beaten_at = time.monotonic()
                self._try_step(self.keep_alive)
                self._try_step(self.settle)

    def _try_step(self, step: Callable[[], None]) -> bool:
        try:
            step()
            return True
        except RunloreError as error:
            _log.warning("a step of the runs has to wait: %s", error.with_code)
        except Exception:
            # The outer loop of a thread: whatever one step meets, the next one comes all the same.
            _log.exception("a step of the runs failed; the next one tries again")
        return False

    def _finish(self, handle: RunHandle) -> None:
        with self._lock:
            self._handles.pop(handle.run_id, None)
            self._threads.pop(handle.run_id, None)
        self.waiting.drop(handle.run_id)
        handle.live.end()


def _stopping() -> Unavailable:
    return Unavailable(
        "this process is stopping, and begins nothing any more",
        code="agent.stopping",
        hint="start it again",
    )


@dataclass
class PendingApprovals:
    """Requests by their ids, while the runs that made them go on."""

    _changed: threading.Condition = field(default_factory=threading.Condition)
    _unstored: dict[ApprovalId, Approval] = field(default_factory=dict)
    _decided: set[ApprovalId] = field(default_factory=set)
    _runs: set[RunId] = field(default_factory=set)

    def put(self, approval: Approval) -> None:
        """Keep a request of a run of which nothing is stored, or what was decided about it."""
        with self._changed:
            self._unstored[approval.approval_id] = approval
            self._changed.notify_all()

    def find(self, approval_id: ApprovalId) -> Approval | None:
        with self._changed:
            return self._unstored.get(approval_id)

    def all(self) -> tuple[Approval, ...]:
        with self._changed:
            kept = self._unstored.values()
            return tuple(sorted(kept, key=lambda each: (each.created_at, each.approval_id)))

    def drop(self, run_id: RunId) -> None:
        with self._changed:
            self._runs.discard(run_id)
            for approval_id in [name for name, each in self._unstored.items() if each.run_id == run_id]:
                del self._unstored[approval_id]
            if not self._runs:
                self._decided.clear()
            self._changed.notify_all()

    def wake(self, approval: Approval) -> None:
        """A stored request was decided: let the run that waits for it look, where it is one of ours."""
        with self._changed:
            if approval.run_id in self._runs:
                self._decided.add(approval.approval_id)
                self._changed.notify_all()

    def begin(self, run_id: RunId) -> None:
        with self._changed:
            self._runs.add(run_id)

    def wait(self, timeout_s: float) -> None:
        with self._changed:
            self._changed.wait(timeout_s)

    def is_decided(self, approval_id: ApprovalId) -> bool:
        """Whether a request was decided here since it was asked last, told once."""
        with self._changed:
            decided = approval_id in self._decided
            self._decided.discard(approval_id)
            return decided

    def lapse(self, approval_id: ApprovalId, *, at: datetime, actor: str) -> Approval | None:
        """Close a request of a run of which nothing is stored, where nobody has decided on it."""
        with self._changed:
            present = self._unstored.get(approval_id)
            if present is not None and present.state is ApprovalState.WAITING:
                present = present.apply_move(ApprovalMove.LAPSE, at=at, actor=actor)
                self._unstored[approval_id] = present
            return present

    def change(self, approval_id: ApprovalId, decide: Callable[[Approval], Approval]) -> Approval | None:
        """Decide on a request of a run of which nothing is stored; None where there is none."""
        with self._changed:
            present = self._unstored.get(approval_id)
            if present is None:
                return None
            self._unstored[approval_id] = after = decide(present)
            self._decided.add(approval_id)
            self._changed.notify_all()
            return after
