"""Fakes that implement a port: time and ids that only move when a test says so."""

from datetime import UTC, datetime, timedelta

from runlore.domain.record import RecordId

START = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """A clock that stands still."""

    def __init__(self, now: datetime = START) -> None:
        self._now = now

    def now(self) -> datetime:
        """The moment that the test has set."""
        return self._now

    def advance(self, *, milliseconds: int = 0, seconds: int = 0, days: int = 0) -> datetime:
        """Move on, and tell the new moment."""
        self._now += timedelta(milliseconds=milliseconds, seconds=seconds, days=days)
        return self._now


class SequentialIds:
    """`rec_000001`, `rec_000002` and so on."""

    def __init__(self) -> None:
        self._latest = 0

    def record_id(self, now: datetime) -> RecordId:
        """The next id, whatever the time."""
        return RecordId(self.new("rec", now))

    def new(self, prefix: str, now: datetime) -> str:
        """The next id with a prefix, whatever the time."""
        self._latest += 1
        return f"{prefix}_{self._latest:06}"
