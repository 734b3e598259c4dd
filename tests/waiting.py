"""How long a test waits for another thread or process: far longer than that takes on a busy machine.

A test goes on as soon as what it waits for has happened; only one that fails waits this long.
"""

import threading
import time
from collections.abc import Callable

PATIENCE_S = 180.0
# It is asked for often at first, then less and less.
_BEAT_S_MIN, _BEAT_S_MAX = 0.001, 0.1


def until(
    happened: Callable[[], object],
    *,
    within_s: float = PATIENCE_S,
    told: Callable[[], object] = lambda: "",
) -> None:
    """Ask again and again until it has happened; what is `told` says why it has not."""
    deadline = time.monotonic() + within_s
    pause, beat_s = threading.Event(), _BEAT_S_MIN
    while not happened():
        assert time.monotonic() < deadline, f"it did not happen in time: {told()}"
        pause.wait(beat_s)
        beat_s = min(beat_s * 1.5, _BEAT_S_MAX)
