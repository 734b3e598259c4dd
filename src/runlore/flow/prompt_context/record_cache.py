"""The records read last, at their revisions, with the terms that they are found by.

A revision never changes what it says, so what is kept needs no check. After forgetting, all of it is let
go of.
"""

import threading
from collections import OrderedDict
from functools import cached_property

from runlore.domain.record import Record, RecordId
from runlore.domain.search.ranking import Impacts, impacts_of

_RECORDS_MAX = 1_024


class Analysed:
    """A record, and its terms once somebody has asked for them."""

    def __init__(self, record: Record) -> None:
        self.record = record

    @cached_property
    def impacts(self) -> Impacts:
        return impacts_of(self.record)


class RecordCache:
    """A bounded number of records, for threads that may all ask at once."""

    def __init__(self, records_max: int = _RECORDS_MAX) -> None:
        self._records_max = records_max
        self._kept: OrderedDict[tuple[RecordId, int], Analysed] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, record_id: RecordId, revision: int) -> Analysed | None:
        with self._lock:
            kept = self._kept.get((record_id, revision))
            if kept is not None:
                self._kept.move_to_end((record_id, revision))
            return kept

    def keep(self, record: Record) -> Analysed:
        """Keep a record, and let go of the one that was not asked for longest."""
        analysed = Analysed(record)
        with self._lock:
            self._kept[record.record_id, record.revision] = analysed
            while len(self._kept) > self._records_max:
                self._kept.popitem(last=False)
        return analysed
