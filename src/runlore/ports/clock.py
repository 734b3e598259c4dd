"""What time it is, and how much of it has passed."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time, in UTC, in whole milliseconds."""

    def now(self) -> datetime: ...

    def earliest_now(self) -> datetime:
        """A moment that is certain to have come, never later than the present one: what is deleted for its
        age is deleted by this. It stays behind where the clock has jumped, until that has held."""

    def doubt(self) -> str:
        """Why `earliest_now` stays behind, in a sentence; empty where it does not, or not by much."""

    def elapsed_s(self) -> float:
        """The seconds since some moment, for limits: whoever sets the machine's clock does not move it."""
