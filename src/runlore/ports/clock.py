"""What time it is, and how much of it has passed."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time, in UTC, in whole milliseconds."""

    def now(self) -> datetime:
        """The present moment."""
        ...

    def elapsed_s(self) -> float:
        """The seconds since some moment, for limits: whoever sets the machine's clock does not move it."""
        ...
