"""One immutable piece of the index: columns of its records and, for each term, the rows that have it.

Rows are numbered in the order of ties (`created_at` descending, then `record_id`), so that of two rows with
one score the smaller row comes first. Nothing here changes after it is made; which rows live is kept outside.
"""

from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import chain, product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from runlore.domain.lazy import dataclass
from runlore.domain.record import Kind, Layer, Record, RecordId, Sensitivity, State
from runlore.domain.search.ranking import (
    IMPACT_METADATA,
    LIVE_STATES,
    impact,
    impacts_of,
    metadata_text,
    session_of,
    state_points,
)
from runlore.domain.text.analysis import chunks_of, fold_text, tokenize_chunk
from runlore.recall.keys import (
    Impacts,
    Keys,
    Numbers,
    Points,
    Positions,
    Rows,
    SaidChunks,
    digest,
    find,
    find_all,
    keys_of,
    order_of,
    term_digest,
)

# The facts that a filter asks for, but for scope and expiry, as one number.
CATEGORIES = tuple(product(Layer, Kind, State, Sensitivity))
_CATEGORY_NUMBER = {category: number for number, category in enumerate(CATEGORIES)}
# What a row gets for its state, by its category.
STATE_POINTS = np.array([state_points(state) for _, _, state, _ in CATEGORIES], dtype=np.int64)


def category_of(record: Record) -> int:
    return _CATEGORY_NUMBER[record.layer, record.kind, record.state, record.sensitivity]


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Rows, ascending, with the impact that a term has there."""

    rows: Rows
    impacts: Impacts

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
        return Postings(self.posting_row[start:end], self.posting_impact[start:end])

    @cached_property
    def ids(self) -> memoryview:
        return self.id_text.data


STORED_FIELDS = tuple(field.name for field in fields(Segment))


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


class TermCounter(Protocol):
    """Takes texts apart and counts their terms; the kernel does."""

    def split(self, texts: Sequence[str]) -> tuple[list[str], SaidChunks]:
        """The distinct chunks of some texts by their first appearance, and how they are said."""

    def count(
        self, said: SaidChunks, chunk_terms: Positions, terms_of_chunks: Numbers, *, terms: int
    ) -> tuple[Numbers, Rows, Rows, Numbers]:
        """Where the postings of each term begin, the row of each, how often the summary says it, doubled, and
        one more where the metadata do, and how many terms each summary has. Each row has two texts."""


def seal(records: Sequence[Record], counter: TermCounter | None = None) -> Segment:
    ordered = sorted(records, key=lambda each: each.record_id)
    ordered.sort(key=lambda each: each.created_at, reverse=True)
    id_texts = [record.record_id.encode("utf-8", "surrogatepass") for record in ordered]
    rows = np.arange(len(ordered), dtype=np.uint32)
    id_key, id_row = sorted_keys(keys_of(digest(record.record_id) for record in ordered), rows)
    wholes = keys_of(digest(fold_text(record.summary)) for record in ordered)
    summary_key, summary_row = sorted_keys(wholes, rows)
    scope_key, scope = _number_texts([str(record.scope) for record in ordered])
    session_key, session = _number_texts([session_of(record) or "" for record in ordered])
    if (outside := find(session_key, keys_of([digest("")]))[0]) >= 0:
        session_key = np.delete(session_key, outside, axis=1)
        session = np.where(session == outside, 0, session + (session < outside)).astype(np.uint32)
    else:
        session = session + np.uint32(1)
    expiry_at_us, expiry_row = _expiry_of(ordered)
    term_key, term_start, posting_row, posting_impact = _postings_of(ordered, counter)
    return Segment(
        id_text=np.frombuffer(b"".join(id_texts), dtype=np.uint8),
        id_start=np.concatenate(([0], np.cumsum([len(text) for text in id_texts], dtype=np.int64))),
        id_key=id_key,
        id_row=id_row,
        summary_key=summary_key,
        summary_row=summary_row,
        scope_key=scope_key,
        scope=scope,
        session_key=session_key,
        session=session,
        category=np.array([category_of(record) for record in ordered], dtype=np.uint16),
        created_at_us=np.array([to_microseconds(record.created_at) for record in ordered], dtype=np.int64),
        revision=np.array([record.revision for record in ordered], dtype=np.int64),
        expiry_at_us=expiry_at_us,
        expiry_row=expiry_row,
        term_key=term_key,
        term_start=term_start,
        term_impact_max=impact_maxima(term_start, posting_impact),
        posting_row=posting_row,
        posting_impact=posting_impact,
    )


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


def _number_texts(texts: Sequence[str]) -> tuple[Keys, Rows]:
    """The distinct texts as sorted keys, and the number of each text among them."""
    distinct = list(dict.fromkeys(texts))
    keys = keys_of(map(digest, distinct))
    order = order_of(keys)
    number = {distinct[old]: new for new, old in enumerate(order.tolist())}
    return np.ascontiguousarray(keys[:, order]), np.array([number[text] for text in texts], dtype=np.uint32)


def _expiry_of(records: Sequence[Record]) -> tuple[Numbers, Rows]:
    """When live records expire, soonest first. Records that have ended no longer do."""
    expiry = sorted(
        (to_microseconds(record.expires_at), row)
        for row, record in enumerate(records)
        if record.expires_at is not None and record.state in LIVE_STATES
    )
    times, rows = [at for at, _ in expiry], [row for _, row in expiry]
    return np.array(times, dtype=np.int64), np.array(rows, dtype=np.uint32)


def _postings_of(
    records: Sequence[Record], counter: TermCounter | None
) -> tuple[Keys, Numbers, Rows, Impacts]:
    """What `document_of` says of each record, of all of them at once: the terms, and their postings."""
    texts = [text for each in records for text in (each.summary, metadata_text(each))]
    chunks, said = counter.split(texts) if counter else _split(texts)
    terms_said = [tokenize_chunk(chunk) for chunk in chunks]
    terms = list(dict.fromkeys(chain.from_iterable(terms_said)))
    keys = keys_of(map(term_digest, terms))
    order = order_of(keys)
    places = {terms[old]: new for new, old in enumerate(order.tolist())}
    # The terms of the chunks behind one another, and how many each has.
    flat = np.array([places[term] for each in terms_said for term in each], dtype=np.int64)
    sizes = np.array([len(each) for each in terms_said], dtype=np.int64)
    count = counter.count if counter else _count
    start, row, counts, length = count(said, flat, sizes, terms=len(terms))
    return np.ascontiguousarray(keys[:, order]), start, row, _impacts_of(counts, length[row])


def _split(texts: Sequence[str]) -> tuple[list[str], SaidChunks]:
    chunks = [chunks_of(text) for text in texts]
    said = [chunk for each in chunks for chunk in each]
    numbers = {chunk: number for number, chunk in enumerate(dict.fromkeys(said))}
    chunk = np.fromiter(map(numbers.__getitem__, said), dtype=np.uint32, count=len(said))
    return list(numbers), (chunk, np.array([len(each) for each in chunks], dtype=np.int64))


def _count(
    said: SaidChunks, chunk_terms: Positions, terms_of_chunks: Numbers, *, terms: int
) -> tuple[Numbers, Rows, Rows, Numbers]:
    chunk, chunks_of_texts = said
    starts = np.cumsum(terms_of_chunks) - terms_of_chunks
    text, many = np.repeat(np.arange(chunks_of_texts.size), chunks_of_texts), terms_of_chunks[chunk]
    term = chunk_terms[np.repeat(starts[chunk] - np.cumsum(many) + many, many) + np.arange(many.sum())]
    text = np.repeat(text, many)
    rows = chunks_of_texts.size // 2
    # By term and row, and of these first what stands in the summary.
    place, times = np.unique((term * rows + text // 2) * 2 + text % 2, return_counts=True)
    counts = np.where(place % 2, 1, 2 * times)
    first = np.flatnonzero(np.diff(place // 2, prepend=-1))
    counts = np.add.reduceat(counts, first) if first.size else counts
    term, row = np.divmod(place[first] // 2, max(1, rows))
    start = np.searchsorted(term, np.arange(terms + 1)).astype(np.int64)
    length = np.bincount(text, minlength=2 * rows)[::2]
    return start, row.astype(np.uint32), counts.astype(np.uint32), length


def _impacts_of(counts: Rows, lengths: Numbers) -> Impacts:
    """What terms count that stand so often in summaries of these lengths, and in the metadata."""
    cases, case = np.unique(lengths, return_inverse=True)
    gain = np.array([impact(1, length=length) for length in cases.tolist()], dtype=np.uint8)[case]
    gain[counts < 2] = 0
    several = np.flatnonzero(counts > 3)
    cases, case = np.unique(
        (counts[several].astype(np.int64) >> 1 << 32) | lengths[several], return_inverse=True
    )
    more = [impact(each >> 32, length=each & 0xFFFFFFFF) for each in cases.tolist()]
    gain[several] = np.array(more, dtype=np.uint8)[case]
    return gain + (counts & 1).astype(np.uint8) * np.uint8(IMPACT_METADATA)
