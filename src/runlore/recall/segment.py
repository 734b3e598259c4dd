"""One immutable piece of the index: columns of its records and, for each term, the rows that have it.

Rows are numbered in the order of ties (`created_at` descending, then `record_id`), so that of two rows with
one score the smaller row comes first. Nothing here changes after it is made; which rows live is kept outside.
"""

from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from runlore.domain.lazy import dataclass
from runlore.domain.record import Kind, Layer, Record, RecordId, Sensitivity, State
from runlore.domain.search.ranking import impacts_of, state_points
from runlore.domain.text.analysis import fold_text
from runlore.recall.keys import (
    Impacts,
    Keys,
    Numbers,
    Points,
    Positions,
    Rows,
    find,
    find_all,
    keys_of,
    order_of,
)

# The facts that a filter asks for, but for scope and expiry, as one number.
CATEGORIES = tuple(product(Layer, Kind, State, Sensitivity))
CATEGORY_NUMBERS = {category: number for number, category in enumerate(CATEGORIES)}
# What a row gets for its state, by its category.
STATE_POINTS = np.array([state_points(state) for _, _, state, _ in CATEGORIES], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Rows, ascending, with the impact that a term has there."""

    rows: Rows
    impacts: Impacts
    impact_max: int

    def at(self, rows: Positions) -> Points:
        """The impact in each of these rows, 0 where there is none."""
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
    session_key: Keys
    # The number of each row's session, from 1 on; 0 where it stands in none.
    session: Rows
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

    def __len__(self) -> int:
        return self.category.size

    def record_id(self, row: int) -> RecordId:
        start, end = self.id_start[row : row + 2].tolist()
        return RecordId(self.ids[start:end].tobytes().decode("utf-8", "surrogatepass"))

    def rows_of(self, wanted: Keys) -> Positions:
        place = find(self.id_key, wanted)
        return np.where(place < 0, -1, self.id_row[place].astype(np.int64)) if len(self) else place

    def rows_saying(self, summary: bytes) -> Positions:
        """Every row whose folded summary has this digest."""
        return np.sort(self.summary_row[find_all(self.summary_key, summary)].astype(np.int64))

    def rows_in_session(self, session: bytes) -> Positions:
        """The rows of a session by its digest, ascending."""
        place = int(find(self.session_key, keys_of([session]))[0])
        if place < 0:
            return np.zeros(0, dtype=np.int64)
        first, end = self._session_start[place + 1 : place + 3]
        return self._rows_by_session[first:end]

    @cached_property
    def _rows_by_session(self) -> Positions:
        return np.argsort(self.session, kind="stable")

    @cached_property
    def _session_start(self) -> Positions:
        sessions = np.arange(self.session_key.shape[1] + 2)
        return np.searchsorted(self.session[self._rows_by_session], sessions)

    def postings(self, term: int) -> Postings:
        start, end = self.term_start[term : term + 2].tolist()
        most = int(self.term_impact_max[term])
        return Postings(self.posting_row[start:end], self.posting_impact[start:end], most)

    @cached_property
    def ids(self) -> memoryview:
        return self.id_text.data


STORED_FIELDS = tuple(field.name for field in fields(Segment))

_TEXTS_AT_ONCE = 1 << 14
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A record and what it is found by: its folded summary, and the impact of each of its terms."""

    record: Record
    whole: str
    impacts: dict[str, int]


def document_of(record: Record) -> Document:
    """Analyse a record. A term that stands in both summary and metadata has the sum of both impacts."""
    found = impacts_of(record)
    impacts = dict(found.metadata)
    for term, counted in found.summary.items():
        impacts[term] = impacts.get(term, 0) + counted
    return Document(record=record, whole=fold_text(record.summary), impacts=impacts)


def to_microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970: all that a `datetime` has, so that ties and expiry are exact."""
    return (moment - _EPOCH) // _MICROSECOND


def sorted_keys(keys: Keys, rows: Rows) -> tuple[Keys, Rows]:
    order = order_of(keys, rows)
    return np.ascontiguousarray(keys[:, order]), rows[order]


def group_postings(
    term: Positions, row: Positions, impact: Impacts, *, terms: int, in_runs: bool = False
) -> tuple[Numbers, Rows, Impacts]:
    """Postings by term and then by row, with the start of each term.

    One number holds all three, so that they are sorted at the speed of plain numbers. `in_runs` says that
    they come in a few runs that are sorted already.
    """
    row_bits = int(row.max(initial=0)).bit_length()
    assert terms.bit_length() + row_bits + 8 <= 63, "a segment has too many terms and rows for one number"
    packed = ((term << row_bits) | row) << 8 | impact
    packed.sort(kind="stable" if in_runs else "quicksort")
    start = np.searchsorted(packed, np.arange(terms + 1, dtype=np.int64) << (row_bits + 8))
    rows = ((packed >> 8) & ((1 << row_bits) - 1)).astype(np.uint32)
    return start.astype(np.int64), rows, (packed & 255).astype(np.uint8)


def impact_maxima(start: Numbers, impact: Impacts) -> Impacts:
    """The greatest impact of each term; every term has at least one posting."""
    return np.maximum.reduceat(impact, start[:-1]) if impact.size else np.zeros(0, dtype=np.uint8)


def order_of_ties(created_at_us: Numbers, id_at: Callable[[int], RecordId]) -> Positions:
    """The order of rows: the newest first, and of one moment by id."""
    order = np.argsort(-created_at_us, kind="stable")
    created = created_at_us[order]
    edges = np.concatenate(([0], np.flatnonzero(np.diff(created)) + 1, [created.size]))
    tied = np.flatnonzero(np.diff(edges) > 1)
    for first, end in zip(edges[tied].tolist(), edges[tied + 1].tolist(), strict=True):
        order[first:end] = sorted(order[first:end].tolist(), key=id_at)
    return order


def pick_texts(texts: NDArray[np.uint8], starts: Numbers, lengths: Numbers) -> NDArray[np.uint8]:
    """Those texts behind one another that begin there."""
    picked = np.empty(int(lengths.sum()), dtype=np.uint8)
    filled = 0
    for first in range(0, starts.size, _TEXTS_AT_ONCE):
        start, length = starts[first : first + _TEXTS_AT_ONCE], lengths[first : first + _TEXTS_AT_ONCE]
        ends = np.cumsum(length)
        end = filled + int(ends[-1])
        picked[filled:end] = texts[np.repeat(start - ends + length, length) + np.arange(end - filled)]
        filled = end
    return picked
