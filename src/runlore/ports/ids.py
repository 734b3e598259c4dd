"""Where new ids come from."""

from datetime import datetime
from typing import Protocol

from runlore.domain.record import RecordId


class Ids(Protocol):
    """Makes ids that are unique and ordered by time."""

    def record_id(self, now: datetime) -> RecordId:
        """A new record's id, greater than every one that this process made before."""

    def new(self, prefix: str, now: datetime) -> str:
        """A new id of something else, after a prefix: `ses`, `run`, `art`, `tok`, `job` or `proc`."""
