"""The real clock and the real ids.

A wall clock can be wrong for a while: set by hand, by a bad time server, by a machine that wakes up. So it is
compared with a clock that nobody sets. A step is not followed before it has held for a while; nothing is
deleted by a time that no two readings, an hour apart, agree on. What earlier processes have read is kept in
the state root, for a step may come with a start.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import orjson

from runlore.atomic_write import atomic_write
from runlore.domain.lazy import dataclass
from runlore.domain.record import RecordId
from runlore.domain.timestamps import format_time, from_milliseconds, to_milliseconds, truncate

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS = 80
# A step of the wall clock up to this is followed at once; a larger one when it has held for so long.
STEP = timedelta(minutes=1)
SETTLED_S = 600.0
# For so long two readings have to agree before anything is deleted by them.
CERTAIN_S = 3600.0
# A process may have been away for so long before its start is a step, and for so long before that is told.
_AWAY = timedelta(hours=1)
_TOLD_AWAY = timedelta(days=1)
_NOTE_NAME = "clock.json"
_NOTED_EVERY = timedelta(minutes=10)
_NOTE_BYTES_MAX = 1_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Readings:
    """What earlier processes knew: which moment is certain to have come, and the first one that was read
    beyond it, where that was not certain yet."""

    certain_at: datetime
    read_at: datetime | None = None

    def at_start(self, wall: datetime) -> "Readings":
        """What a process knows that starts now, as its wall clock says."""
        if wall - self.certain_at <= _AWAY:
            return Readings(certain_at=wall)
        read = self.read_at if self.read_at is not None and self.read_at <= wall else None
        if read is not None and wall - read >= timedelta(seconds=CERTAIN_S):
            # The earlier of two readings is certain; the later one waits for the next.
            return Readings(certain_at=max(read, self.certain_at), read_at=wall)
        return Readings(certain_at=self.certain_at, read_at=read or wall)

    def in_milliseconds(self) -> "Readings":
        read = None if self.read_at is None else truncate(self.read_at)
        return Readings(certain_at=truncate(self.certain_at), read_at=read)


def _wall() -> datetime:
    return datetime.now(UTC)


def _steady_s() -> float:
    """Seconds that nobody sets, those that the machine slept included where the system counts them."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass(frozen=True, kw_only=True)
class _Step:
    """A step of the wall clock: by how much, and when it was seen."""

    by: timedelta
    seen_s: float


class SystemClock:
    """The machine's time, told by a wall clock that is believed while it goes with the steady one."""

    def __init__(
        self,
        before: Readings | None = None,
        *,
        wall: Callable[[], datetime] = _wall,
        steady_s: Callable[[], float] = _steady_s,
    ) -> None:
        self._lock = threading.Lock()
        self._wall, self._steady_s = wall, steady_s
        self._right_at, self._right_s = wall(), steady_s()
        self._latest = from_milliseconds(0)
        self._step: _Step | None = None
        start = Readings(certain_at=self._right_at) if before is None else before.at_start(self._right_at)
        self._certain_at, self._certain_s = start.certain_at, self._right_s
        self._read_at = start.read_at
        if start.read_at is not None and start.read_at - start.certain_at > _TOLD_AWAY:
            _log.warning("%s", self._doubt())

    def now(self) -> datetime:
        with self._lock:
            return self._now()

    def earliest_now(self) -> datetime:
        with self._lock:
            now, steady = self._now(), self._steady_s()
            if self._read_at is None:
                return now
            if self._step is None and steady - self._certain_s >= CERTAIN_S:
                self._read_at = None
                return now
            return min(now, truncate(self._certain(steady)))

    def elapsed_s(self) -> float:
        return time.monotonic()

    def doubt(self) -> str:
        self.earliest_now()
        with self._lock:
            is_told = self._step is not None or (
                self._read_at is not None and self._read_at - self._certain_at > _TOLD_AWAY
            )
            return self._doubt() if is_told else ""

    def readings(self) -> Readings:
        """What the next process is to know."""
        certain = self.earliest_now()
        with self._lock:
            return Readings(certain_at=certain, read_at=self._read_at)

    def _now(self) -> datetime:
        wall, steady = self._wall(), self._steady_s()
        expected = self._right_at + timedelta(seconds=steady - self._right_s)
        by = wall - expected
        if abs(by) <= STEP:
            if self._step is not None:
                _log.warning("the clock is right again")
            self._right_at, self._right_s, self._step = wall, steady, None
        elif self._is_nearer_to_what_is_certain(wall, expected, steady):
            # Believe a clock at once that is set right: what it said before was never certain.
            start = Readings(certain_at=self._certain(steady)).at_start(wall)
            self._certain_at, self._certain_s, self._read_at = start.certain_at, steady, start.read_at
            self._right_at, self._right_s, self._step = wall, steady, None
            self._latest = from_milliseconds(0)
            _log.warning("the clock was set back to %s, and is followed", format_time(wall))
        elif self._step is None or abs(by - self._step.by) > STEP:
            self._step = _Step(by=by, seen_s=steady)
            _log.warning("%s", self._doubt())
            wall = expected
        elif steady - self._step.seen_s < SETTLED_S:
            wall = expected
        else:
            self._follow(wall, expected, steady)
        self._latest = max(self._latest, truncate(wall))
        return self._latest

    def _certain(self, steady: float) -> datetime:
        return self._certain_at + timedelta(seconds=steady - self._certain_s)

    def _is_nearer_to_what_is_certain(self, wall: datetime, expected: datetime, steady: float) -> bool:
        """Whether a clock that was ahead of what is certain was set back towards that."""
        return self._read_at is not None and self._certain(steady) - STEP <= wall < expected

    def _follow(self, wall: datetime, expected: datetime, steady: float) -> None:
        """Believe a step that has held; nothing is deleted by it before it has held for longer."""
        if self._read_at is None:
            self._certain_at, self._certain_s = min(expected, wall), steady
        self._read_at = wall
        self._right_at, self._right_s, self._step = wall, steady, None
        self._latest = from_milliseconds(0)
        _log.warning("the clock has stayed where it stepped to, and is followed: %s", format_time(wall))

    def _doubt(self) -> str:
        if self._step is not None:
            direction = "ahead" if self._step.by > timedelta() else "back"
            doubt = f"the clock stepped {direction} by {_duration(self._step.by)}"
        else:
            away = (self._read_at or self._certain_at) - self._certain_at
            doubt = f"the clock is {_duration(away)} ahead of what was known when it was last certain"
        return f"{doubt}; nothing is deleted by it until it has stayed so for {CERTAIN_S / 3600:g} hour"


def read_clock_note(state_root: str) -> Readings | None:
    """What earlier processes have noted in the state root; None where that is nothing that can be read."""
    try:
        with open(os.path.join(state_root, _NOTE_NAME), "rb") as file:
            document = orjson.loads(file.read(_NOTE_BYTES_MAX))
        read = document["read_ms"]
        return Readings(
            certain_at=from_milliseconds(document["certain_ms"]),
            read_at=None if read is None else from_milliseconds(read),
        )
    except (OSError, ValueError, TypeError, KeyError, OverflowError):
        return None


def write_clock_note(state_root: str, readings: Readings) -> None:
    """Note what is known, where that is something else by now; a full disk has it wait."""
    noted = read_clock_note(state_root)
    readings = readings.in_milliseconds()
    is_known = noted is not None and noted.read_at == readings.read_at
    if noted is not None and is_known and abs(readings.certain_at - noted.certain_at) < _NOTED_EVERY:
        return
    read = None if readings.read_at is None else to_milliseconds(readings.read_at)
    path = os.path.join(state_root, _NOTE_NAME)
    note = orjson.dumps({"certain_ms": to_milliseconds(readings.certain_at), "read_ms": read})
    with suppress(OSError):
        atomic_write(path, note, durable=False)


def _duration(by: timedelta) -> str:
    seconds = abs(by).total_seconds()
    for unit, length in (("days", 86_400), ("hours", 3_600)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 60:.0f} minutes"


class TimeOrderedIds:
    """A prefix and 26 characters: 48 bits of milliseconds, then 80 random bits that only grow within one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest = 0

    def record_id(self, now: datetime) -> RecordId:
        return RecordId(self.new("rec", now))

    def new(self, prefix: str, now: datetime) -> str:
        with self._lock:
            fresh = (to_milliseconds(now) << _RANDOM_BITS) | int.from_bytes(os.urandom(_RANDOM_BITS // 8))
            if fresh <= self._latest:
                fresh = self._latest + 1
            self._latest = fresh
            return f"{prefix}_{_base32(fresh)}"


def _base32(number: int) -> str:
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
