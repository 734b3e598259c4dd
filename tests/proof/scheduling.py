"""Threads of which one works at a time, and a seed says which: the same interleaving every time.

They change places where a process hands something to the store or takes something from it, outside of
transactions; there a process can also be killed.
"""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from runlore.ports.store import Snapshot, Store, Transaction
from tests.waiting import PATIENCE_S


class Killed(BaseException):
    """The process is gone. Nothing of ours catches it."""


class Scheduler:
    """Lets one of its threads work at a time."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._turns: dict[threading.Thread, threading.Semaphore] = {}
        self._over = threading.Event()
        self._failures: list[BaseException] = []
        self.steps = 0

    def add(self, name: str, body: Callable[[], None]) -> None:
        """Somebody who works."""

        def work() -> None:
            self._turns[threading.current_thread()].acquire()
            try:
                body()
            except BaseException as failure:
                # Whatever it is, `run` raises it where the test sees it.
                self._failures.append(failure)
            finally:
                del self._turns[threading.current_thread()]
                self._hand_on()

        thread = threading.Thread(target=work, name=name, daemon=True)
        self._turns[thread] = threading.Semaphore(0)

    def run(self) -> None:
        """Let them all work to their end."""
        for thread in tuple(self._turns):
            thread.start()
        self._hand_on()
        assert self._over.wait(PATIENCE_S), f"nobody goes on: {[each.name for each in self._turns]}"
        if self._failures:
            raise self._failures[0]

    def pause(self) -> None:
        """A point where somebody else may go on."""
        own = self._turns.get(threading.current_thread())
        if own is not None:
            self.steps += 1
            self._hand_on()
            own.acquire()

    def _hand_on(self) -> None:
        if self._turns:
            self._turns[self._chance.choice(list(self._turns))].release()
        else:
            self._over.set()


class SteppingStore:
    """A store at which a process pauses, and at which it is killed."""

    def __init__(self, real: Store, pause: Callable[[], None], check_alive: Callable[[], None]) -> None:
        self._real = real
        self._pause = pause
        self._check_alive = check_alive

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A write transaction; whoever dies in it has not committed."""
        self._step()
        with self._real.transaction() as tx:
            yield tx
            self._check_alive()
        self._step()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """A read transaction, during which others write."""
        self._step()
        with self._real.snapshot() as snapshot:
            self._step()
            yield snapshot

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def _step(self) -> None:
        self._pause()
        self._check_alive()
