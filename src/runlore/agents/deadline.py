"""A stop that time sets too: what runs under it ends when it is asked to, or when its time is over."""

import time

from runlore.ports.clock import Clock
from runlore.ports.stopping import Stop

# How long a wait may miss that the outer stop was set, or that the time is over.
_STEP_S = 0.05


class Deadline:
    """A stop that is set with another one, or with its time, whichever comes first.

    It has no thread of its own: whoever asks finds out. It is the stop of what is called under it.
    """

    def __init__(self, stop: Stop, clock: Clock, seconds: float) -> None:
        self._outer = stop
        self._clock = clock
        self._ends_at_s = clock.elapsed_s() + seconds

    @property
    def left_s(self) -> float:
        return max(0.0, self._ends_at_s - self._clock.elapsed_s())

    def extend(self, by_s: float) -> None:
        """Give time back that was somebody else's."""
        self._ends_at_s += by_s

    def is_set(self) -> bool:
        return self._outer.is_set() or self.left_s <= 0

    def wait(self, timeout: float | None = None) -> bool:
        until = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            rest = _STEP_S if until is None else min(_STEP_S, until - time.monotonic())
            if rest <= 0:
                return self.is_set()
            self._outer.wait(min(rest, self.left_s))
        return True
