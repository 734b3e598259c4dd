"""What prompts may and may not see of one scope: its records looked at once, for as long as nothing changes.

It holds until the scope's stamp moves or a record expires, whichever comes first.

The records read last are kept at their revisions: a revision never changes what it says, so what is kept
needs no check. After forgetting, all of it is let go of.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from runlore.domain.lazy import dataclass
from runlore.domain.prompts.projection import LearnedEntry
from runlore.domain.prompts.selection import Candidate, by_subject, entry_of, overruled_by
from runlore.domain.record import Record, RecordId
from runlore.domain.records.visibility import Hidden
from runlore.domain.scope import Scope
from runlore.domain.search.ranking import Impacts, Query, impacts_of
from runlore.domain.text.analysis import fold_text

_RECORDS_MAX = 4_096
# So many hits of a record are taken apart for their query alone.
HITS_APART = 4


class Analysed:
    """A record, and its terms once somebody has asked for them."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._hits = 0

    @cached_property
    def impacts(self) -> Impacts:
        return impacts_of(self.record)

    def impacts_for(self, query: Query) -> Impacts:
        """At least those of a query's terms: taking every word apart costs several times as much. What is
        hit again and again is taken apart whole, for all that follow."""
        self._hits += 1
        if self._hits > HITS_APART:
            return self.impacts
        return impacts_of(self.record, wanted=query.terms)


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


# Of so many records something is kept, over all scopes.
_LINES_MAX = 4_096

# Where a record stands in a list: by its time and its id, the newest first.
Place: TypeAlias = tuple[datetime, RecordId]


class HiddenLine(NamedTuple):
    """A record that is hidden. `for_good` is whether its line alone says so."""

    place: Place
    reason: Hidden
    for_good: bool


class Posting(NamedTuple):
    """In how many records a term stands, and what it counts in the summaries of the visible ones."""

    frequency: int
    impacts: Sequence[tuple[int, int]]


@dataclass(frozen=True, kw_only=True, eq=False)
class ScopeView:
    """One scope at one stamp, from one moment until another.

    `places` are of the newest records, as many as are looked at and one more; `hidden` are those among them
    that prompts do not get. `visible` is what prompts get, in its order, and `ranked` what scores are
    relative to, both of the newest learnings, of which there are `learnings` or, where it `is_large`, more;
    `standing` is what every prompt gets of it, however old.
    `count` is of all records, `live_count` of those whose line does not hide them. `live` are those that were
    read, and `shadows` what they say they supersede.
    """

    stamp: int | None
    since: datetime
    until: datetime | None
    places: tuple[Place, ...] = ()
    hidden: tuple[HiddenLine, ...] = ()
    count: int = 0
    live_count: int = 0
    visible: tuple[Analysed, ...] = ()
    ranked: tuple[Analysed, ...] = ()
    standing: tuple[Record, ...] = ()
    learnings: int = 0
    is_large: bool = False
    shadows: frozenset[RecordId] = frozenset()
    live: frozenset[RecordId] = frozenset()
    _overruled: "WeakKeyDictionary[ScopeView, frozenset[RecordId]]" = field(default_factory=WeakKeyDictionary)

    @property
    def size(self) -> int:
        return max(len(self.places), self.learnings)

    def holds(self, stamp: int, now: datetime) -> bool:
        return self.stamp == stamp and self.since <= now and (self.until is None or now < self.until)

    @cached_property
    def entries(self) -> tuple[LearnedEntry, ...]:
        return tuple(entry_of(Candidate(record=each.record)) for each in self.visible)

    @cached_property
    def prompt_records(self) -> tuple[Record, ...]:
        """All that is known here of what prompts get."""
        newest = {each.record.record_id: each.record for each in self.visible}
        return tuple((newest | {record.record_id: record for record in self.standing}).values())

    @cached_property
    def subjects(self) -> Mapping[str, Sequence[Record]]:
        return by_subject(self.prompt_records)

    def overruled_by(self, narrower: "ScopeView") -> frozenset[RecordId]:
        """What the view of a narrower scope keeps out of this one: worked out once while both hold."""
        found = self._overruled.get(narrower)
        if found is None:
            found = self._overruled[narrower] = frozenset(overruled_by(narrower.subjects, self.subjects))
        return found

    @cached_property
    def postings(self) -> Mapping[str, Posting]:
        """Which terms stand where. The numbers are places among the visible."""
        frequency: dict[str, int] = {}
        impacts: dict[str, list[tuple[int, int]]] = {}
        for each in self.ranked:
            for term in each.impacts.summary.keys() | each.impacts.metadata.keys():
                frequency[term] = frequency.get(term, 0) + 1
        for number, each in enumerate(self.visible):
            for term, impact in each.impacts.summary.items():
                impacts.setdefault(term, []).append((number, impact))
        return {term: Posting(count, impacts.get(term, ())) for term, count in frequency.items()}

    @cached_property
    def wholes(self) -> Mapping[str, Sequence[int]]:
        """Which of the visible say exactly a text, but for case."""
        found: dict[str, list[int]] = {}
        for number, each in enumerate(self.visible):
            found.setdefault(fold_text(each.record.summary), []).append(number)
        return found


class ViewCache:
    """The views that were asked for last, for threads that may all ask at once."""

    def __init__(self, lines_max: int = _LINES_MAX) -> None:
        self._lines_max = lines_max
        self._lines = 0
        self._large = 0
        self._kept: OrderedDict[Scope, ScopeView] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def has_large(self) -> bool:
        return self._large > 0

    def get(self, scope: Scope, stamp: int, now: datetime) -> ScopeView | None:
        with self._lock:
            view = self._kept.get(scope)
            if view is None or not view.holds(stamp, now):
                return None
            self._kept.move_to_end(scope)
            return view

    def keep(self, scope: Scope, view: ScopeView) -> None:
        """Keep a view instead of the one before, and let go of those that were not asked for longest."""
        with self._lock:
            self._drop(self._kept.pop(scope, None))
            self._kept[scope] = view
            self._lines += 1 + view.size
            self._large += view.is_large
            while self._lines > self._lines_max:
                self._drop(self._kept.popitem(last=False)[1])

    def _drop(self, view: ScopeView | None) -> None:
        if view is not None:
            self._lines -= 1 + view.size
            self._large -= view.is_large
