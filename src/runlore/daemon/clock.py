"""The real clock and the real ids."""

import os
import threading
import time
from datetime import UTC, datetime

from runlore.domain.record import RecordId
from runlore.domain.timestamps import from_milliseconds, to_milliseconds, truncated

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS = 80


class SystemClock:
    """The machine's time, never going back within a process: a corrected clock must not reorder events."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest = from_milliseconds(0)

    def now(self) -> datetime:
        """The present moment, in whole milliseconds."""
        with self._lock:
            self._latest = max(self._latest, truncated(datetime.now(UTC)))
            return self._latest

    def elapsed_s(self) -> float:
        """The seconds since some moment; those that the machine slept do not count."""
        return time.monotonic()


class TimeOrderedIds:
    """A prefix and 26 characters: 48 bits of milliseconds, then 80 random bits that only grow within one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest = 0

    def record_id(self, now: datetime) -> RecordId:
        """A new record's id, greater than every one that this process made before."""
        return RecordId(self.new("rec", now))

    def new(self, prefix: str, now: datetime) -> str:
        """A new id, greater than every one with this prefix that this process made before."""
        with self._lock:
            fresh = (to_milliseconds(now) << _RANDOM_BITS) | int.from_bytes(os.urandom(_RANDOM_BITS // 8))
            if fresh <= self._latest:
                fresh = self._latest + 1
            self._latest = fresh
            return f"{prefix}_{_base32(fresh)}"


def _base32(number: int) -> str:
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
