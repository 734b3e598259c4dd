"""One immutable piece of the index: columns of its records and, for each term, the rows that have it.

Rows are numbered in the order of ties (`created_at` descending, then `record_id`), so that of two rows with
one score the smaller row comes first. Nothing here changes after it is made; which rows live is kept outside.
"""

from dataclasses import field, fields
from itertools import product

import numpy as np
from numpy.typing import NDArray

from runlore.domain.lazy import dataclass
from runlore.domain.record import Kind, Layer, Record, RecordId, Sensitivity, State
from runlore.recall.arrays import Impacts, Keys, Numbers, Points, Positions, Rows
from runlore.recall.keys import find, find_all

# The facts that a filter asks for, but for scope and expiry, as one number.
CATEGORIES = tuple(product(Layer, Kind, State, Sensitivity))
_CATEGORY_NUMBER = {category: number for number, category in enumerate(CATEGORIES)}

# A longer list is kept in two: all rows up to an impact that few exceed, and what those few have beyond it.
# Without the few, the most that the long list can give is close to what it does give.
_SPLIT_LENGTH = 4096
_EXCESS_SHARE = 16
# A term in more than one row of 32 also has an impact for each row, to be read without bisection.
_COLUMN_ROWS_MIN = 4096
_COLUMN_SHARE = 32
_COLUMNS_MAX = 64


def category_of(record: Record) -> int:
    """The number of what a record is."""
    return _CATEGORY_NUMBER[record.layer, record.kind, record.state, record.sensitivity]


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Rows, ascending, with the impact that a term has there, or a share of it."""

    rows: Rows
    impacts: Impacts
    impact_max: int
    # For a common term: one impact for each row of the segment.
    column: Impacts | None = None

    def at(self, rows: Positions) -> Points:
        """The impact in each of these rows, 0 where there is none."""
        if self.column is not None:
            return self.column.take(rows).astype(np.int32)
        place = np.searchsorted(self.rows, rows.astype(np.uint32))
        place[place == self.rows.size] = 0
        return np.where(self.rows.take(place) == rows, self.impacts.take(place), np.uint8(0)).astype(np.int32)


@dataclass(frozen=True, kw_only=True, eq=False)
class Segment:
    """Arrays alone, so that a snapshot is these fields in their order. Sorted where bisection needs it."""

    id_text: NDArray[np.uint8]
    id_start: Numbers
    id_key: Keys
    id_row: Rows
    summary_key: Keys
    summary_row: Rows
    scope_key: Keys
    scope: Rows
    category: NDArray[np.uint16]
    created_at_us: Numbers
    revision: Numbers
    expiry_at_us: Numbers
    expiry_row: Rows
    term_key: Keys
    term_start: Numbers
    term_impact_max: Impacts
    posting_row: Rows
    posting_impact: Impacts
    _long: dict[int, tuple[Postings, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_long", self._long_terms())

    def __len__(self) -> int:
        return self.category.size

    def record_id(self, row: int) -> RecordId:
        """The id of a row."""
        text = self.id_text[self.id_start[row] : self.id_start[row + 1]].tobytes()
        return RecordId(text.decode("utf-8", "surrogatepass"))

    def rows_of(self, wanted: Keys) -> Positions:
        """The row of each id; -1 where it is not here."""
        place = find(self.id_key, wanted)
        return np.where(place < 0, -1, self.id_row[place].astype(np.int64)) if len(self) else place

    def rows_saying(self, summary: bytes) -> Positions:
        """Every row whose folded summary has this digest."""
        return np.sort(self.summary_row[find_all(self.summary_key, summary)].astype(np.int64))

    def postings(self, term: int) -> Postings:
        """The rows that have a term."""
        here = slice(self.term_start[term], self.term_start[term + 1])
        return Postings(self.posting_row[here], self.posting_impact[here], int(self.term_impact_max[term]))

    def lists(self, term: int) -> tuple[Postings, ...]:
        """The same in lists that add up to it."""
        return self._long.get(term) or (self.postings(term),)

    def column(self, term: int) -> Impacts | None:
        """Something for each row that has the term and zero for every other, where that is at hand."""
        return self._long[term][0].column if term in self._long else None

    def _long_terms(self) -> dict[int, tuple[Postings, ...]]:
        lengths = np.diff(self.term_start)
        long = np.flatnonzero(lengths > _SPLIT_LENGTH)
        long = long[np.argsort(-lengths[long], kind="stable")]
        column_length = max(len(self) // _COLUMN_SHARE, _COLUMN_ROWS_MIN)
        columns = long[lengths[long] > column_length][:_COLUMNS_MAX].tolist()
        return {term: self._split(self.postings(term), with_column=term in columns) for term in long.tolist()}

    def _split(self, whole: Postings, *, with_column: bool) -> tuple[Postings, ...]:
        counts = np.bincount(whole.impacts, minlength=256)
        few = whole.rows.size // _EXCESS_SHARE
        cap = np.uint8(np.argmax(whole.rows.size - np.cumsum(counts) <= few))
        capped, exceeding = np.minimum(whole.impacts, cap), np.flatnonzero(whole.impacts > cap)
        column = None
        if with_column:
            column = np.zeros(len(self), dtype=np.uint8)
            column[whole.rows] = capped
        excess_max = whole.impact_max - int(cap)
        excess = Postings(whole.rows[exceeding], whole.impacts[exceeding] - cap, excess_max)
        parts = (Postings(whole.rows, capped, int(cap), column), excess)
        return parts if excess_max else parts[:1]


STORED_FIELDS = tuple(field.name for field in fields(Segment) if field.init)
