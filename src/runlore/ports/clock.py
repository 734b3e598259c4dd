"""What time it is."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time, in UTC, in whole milliseconds."""

    def now(self) -> datetime:
        """The present moment."""
        ...
