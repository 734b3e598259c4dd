"""One event loop in a thread of its own: a caller in any thread waits for exactly as long as it said."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

# How long a caller waits beyond its time for the loop to say that it is over.
GRACE_S = 0.5
_CLOSE_S = 5.0

Result = TypeVar("Result")


class LoopClosed(Exception):
    """Nothing is run any more, and what was under way has ended."""


class LoopThread:
    """Runs what any thread hands to it, and ends all of it at once."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()
        self._lock = threading.Lock()
        self._is_ending = False

    def run(self, work: Callable[[], Coroutine[Any, Any, Result]], *, timeout_s: float) -> Result:
        """What the work gives. TimeoutError where it does not keep to its time, LoopClosed at the end."""
        waiting = self.begin(work)
        try:
            return waiting.result(timeout=timeout_s + GRACE_S)
        except concurrent.futures.CancelledError:
            raise LoopClosed from None
        finally:
            waiting.cancel()

    def begin(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> "concurrent.futures.Future[Result]":
        """Set work going, for a caller who does more than wait for it; LoopClosed at the end."""
        # Under the lock, so that whatever is under way when the end begins is ended by it.
        with self._lock:
            if self._is_ending:
                raise LoopClosed
            return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def close(self, last: Callable[[], Awaitable[None]]) -> None:
        """End what is under way, then do the last thing, then end the thread."""
        with self._lock:
            if self._is_ending:
                return
            self._is_ending = True
        ending = asyncio.run_coroutine_threadsafe(self._end(last), self._loop)
        try:
            ending.result(timeout=_CLOSE_S)
        except TimeoutError:
            # A connection that does not end in time ends with the process.
            ending.cancel()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()

    async def _end(self, last: Callable[[], Awaitable[None]]) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await last()
        await self._loop.shutdown_asyncgens()
