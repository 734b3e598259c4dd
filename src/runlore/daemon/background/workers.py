"""The background work of a daemon: it says that it lives, does jobs, and sweeps on a schedule.

What may ask a model is done by a thread of its own: a slow answer keeps no memory of a run waiting.

Threads only call single steps, which tests call too. Whatever a step raises is logged, and the next one
comes all the same: a daemon whose disk is full for a minute works on when it is not.
"""

import logging
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from runlore.daemon.agents_folder import has_agents, local_operator
from runlore.daemon.background.jobs import QUICK_KINDS, THINKING_KINDS, TOGETHER, TOGETHER_MAX, do_some_jobs
from runlore.daemon.background.maintenance import sweep, sweep_expired
from runlore.daemon.parts import Parts
from runlore.daemon.skills.mounting import MountFollower
from runlore.domain import limits
from runlore.domain.errors import Unavailable
from runlore.domain.lazy import LazyModule
from runlore.domain.runs.job import Job, JobId, JobKind, Turns

if TYPE_CHECKING:
    from runlore.daemon.runs import contexts
else:
    contexts = LazyModule("runlore.daemon.runs.contexts")

HOURLY = "hourly"
_IDLE_S = 0.5
_JOIN_S = 10.0
_SWEEP_EVERY_S = 30.0
_INDEX_EVERY_S = 2.0
_MAINTAIN_EVERY_S = 3600.0
_log = logging.getLogger(__name__)


class Workers:
    """One daemon's threads. `start` and `stop` once each."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._stopping = threading.Event()
        self._index_wanted = threading.Event()
        self._threads: list[threading.Thread] = []
        self._swept_s: float | None = None
        self._is_thinking = False
        self._quick, self._thinking = Turns(), Turns()
        self._mounts = MountFollower(parts.store, parts.state_root)
        # The start of a daemon has maintained everything.
        self._maintained_s = parts.clock.elapsed_s()

    def start(self) -> None:
        # On a full disk it is written later, and what can be read is served meanwhile.
        self._try_step(self.heartbeat)
        self._threads = [
            self._thread("heartbeat", self._beats),
            self._thread("worker", self._works),
            self._thread("thinker", self._thinks),
            self._thread("reader", self._reads),
            self._thread("indexer", self._indexes),
        ]
        if self._parts.meaning.is_configured:
            self._threads.append(self._thread("embedder", self._embeds))
        for follower in self._parts.followers:
            follower.leave_building(self._index_wanted.set)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let what is being done end, and take this process off the list."""
        self._stopping.set()
        self._index_wanted.set()
        for thread in self._threads:
            thread.join(_JOIN_S)
        for follower in self._parts.followers:
            follower.leave_building(None)
        self._try_step(self._leave)

    def step(self) -> bool:
        """One step of the worker: a sweep where one is due, then one job; False when there was no job.

        What may ask a model is left to `think`.
        """
        self._do_periodic_work()
        return self._do_job(QUICK_KINDS, self._quick) > 0

    def _do_periodic_work(self) -> None:
        # What was promoted from a learning goes with it at once, out of files too (ROL-10).
        if self._try_step(lambda: sweep_expired(self._parts)):
            self._try_step(self._parts.library.warm)
            self._try_step(self._mounts.follow)
        now_s = self._parts.clock.elapsed_s()
        if self._swept_s is None or now_s - self._swept_s >= _SWEEP_EVERY_S:
            self._swept_s = now_s
            self._try_step(self._parts.note_clock)
            self._try_step(lambda: sweep(self._parts, self._go_on))
            self._try_step(self._parts.library.warm)
            self._try_step(self._mounts.follow)
        if now_s - self._maintained_s >= _MAINTAIN_EVERY_S:
            self._maintained_s = now_s
            self._try_step(self._queue_maintenance)

    def think(self) -> bool:
        """One job that may ask a model, or some vectors of skills; False when there was neither."""
        done = self._do_job(THINKING_KINDS, self._thinking, is_busy=self._is_thinking)
        self._is_thinking = done > 0
        self._try_step(lambda: self._note_backlog(done))
        return self._is_thinking or bool(self._try_step(self._parts.library.embed_some))

    def _note_backlog(self, done: int) -> None:
        """Behind a step that had all it can take. A model that takes its time makes nobody wait."""
        if done < min(TOGETHER.values()):
            self._parts.backlog.note(None)
            return
        with self._parts.store.snapshot() as snapshot:
            waiting = snapshot.jobs.count_due(frozenset(TOGETHER), self._parts.clock.now())
        self._parts.backlog.note(waiting)

    def embed(self) -> bool:
        return bool(self._try_step(self._parts.meaning.step))

    def index(self) -> bool:
        """Make an index ready that is far behind; False where none is."""
        behind = [
            each for each in self._parts.followers if each.is_building or self._try_step(each.is_behind)
        ]
        for follower in behind:
            self._try_step(follower.build)
        return bool(behind)

    def heartbeat(self) -> None:
        until = self._parts.clock.now() + timedelta(seconds=limits.PROCESS_LEASE_S)
        with self._parts.store.transaction() as tx:
            tx.processes.heartbeat(
                self._parts.process_id, lease_until=until, description=f"runlore daemon, pid {os.getpid()}"
            )

    def _go_on(self) -> None:
        """Asked between the pieces of long work: a daemon that stops leaves the rest for later."""
        if self._stopping.is_set():
            raise Unavailable(
                "the daemon is stopping", code="daemon.stopping", hint="the next start goes on with it"
            )

    def _leave(self) -> None:
        with self._parts.store.transaction() as tx:
            tx.processes.delete(self._parts.process_id)

    def _queue_maintenance(self) -> None:
        now = self._parts.clock.now()
        job = Job(
            job_id=JobId(self._parts.ids.new("job", now)),
            kind=JobKind.MAINTAIN,
            subject=HOURLY,
            due_at=now,
            created_at=now,
        )
        with self._parts.store.transaction() as tx:
            tx.jobs.put(job)

    def _do_job(self, kinds: frozenset[JobKind], turns: Turns, *, is_busy: bool = False) -> int:
        step = partial(
            do_some_jobs,
            self._parts,
            self._go_on,
            kinds=kinds,
            turns=turns,
            is_busy=is_busy,
            at_once=TOGETHER_MAX,
        )
        return self._try_step(step) or 0

    def _beats(self) -> None:
        while not self._stopping.wait(limits.PROCESS_HEARTBEAT_S):
            self._try_step(self.heartbeat)

    def _works(self) -> None:
        self._repeat(self.step)

    def _thinks(self) -> None:
        self._repeat(self.think)

    def read(self) -> bool:
        """Read what agents have written since."""
        operations = self._parts.operations(local_operator(self._parts.state_root))
        return bool(self._try_step(lambda: self._parts.watch.step(operations)))

    def get_ready(self) -> None:
        """Be ready for the first prompt of an agent that is connected."""
        if has_agents(self._parts.state_root):
            operations = self._parts.operations(local_operator(self._parts.state_root))
            self._try_step(lambda: contexts.get_ready(self._parts, operations))

    def _reads(self) -> None:
        # Whoever waits for the daemon to start does not wait for this.
        self._stopping.wait(_IDLE_S)
        self.get_ready()
        self._repeat(self.read)

    def _embeds(self) -> None:
        self._repeat(self.embed)

    def _indexes(self) -> None:
        while not self._stopping.is_set():
            self._index_wanted.clear()
            self.index()
            self._index_wanted.wait(_INDEX_EVERY_S)

    def _repeat(self, step: Callable[[], bool]) -> None:
        while not self._stopping.is_set():
            if not step():
                self._stopping.wait(_IDLE_S)

    def _thread(self, name: str, target: Callable[[], None]) -> threading.Thread:
        return threading.Thread(target=target, name=f"runlore-{name}", daemon=True)

    def _try_step(self, step: Callable[[], int | None]) -> int | None:
        try:
            return step()
        except Unavailable as error:
            _log.warning("a step of the background work has to wait: %s", error.with_code)
            return None
        except Exception:
            # The outer loop of background work: nothing that one step meets may end the others.
            _log.exception("a step of the background work failed; the next one tries again")
            return None
