"""From records to a segment."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from runlore.domain.lazy import dataclass
from runlore.domain.record import Record
from runlore.domain.search.ranking import LIVE_STATES, impacts_of
from runlore.domain.text.analysis import fold_text
from runlore.recall.arrays import Impacts, Keys, Numbers, Positions, Rows
from runlore.recall.keys import digest, keys_of, order_of, term_digest
from runlore.recall.segment import Segment, category_of

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
    for term, impact in found.summary.items():
        impacts[term] = impacts.get(term, 0) + impact
    return Document(record=record, whole=fold_text(record.summary), impacts=impacts)


def to_microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970: all that a `datetime` has, so that ties and expiry are exact."""
    return (moment - _EPOCH) // _MICROSECOND


def seal(documents: Sequence[Document]) -> Segment:
    """A segment of these documents, which are distinct by id."""
    ordered = sorted(documents, key=lambda each: each.record.record_id)
    ordered.sort(key=lambda each: each.record.created_at, reverse=True)
    records = [each.record for each in ordered]
    id_texts = [record.record_id.encode("utf-8", "surrogatepass") for record in records]
    rows = np.arange(len(records), dtype=np.uint32)
    id_key, id_row = sorted_keys(keys_of(digest(record.record_id) for record in records), rows)
    summary_key, summary_row = sorted_keys(keys_of(digest(each.whole) for each in ordered), rows)
    scope_key, scope = _scopes_of(records)
    expiry_at_us, expiry_row = _expiry_of(records)
    term_key, term, row, impact = _postings_of(ordered)
    term_start, posting_row, posting_impact = group_postings(term, row, impact, terms=term_key.shape[1])
    return Segment(
        id_text=np.frombuffer(b"".join(id_texts), dtype=np.uint8),
        id_start=np.concatenate(([0], np.cumsum([len(text) for text in id_texts], dtype=np.int64))),
        id_key=id_key,
        id_row=id_row,
        summary_key=summary_key,
        summary_row=summary_row,
        scope_key=scope_key,
        scope=scope,
        category=np.array([category_of(record) for record in records], dtype=np.uint16),
        created_at_us=np.array([to_microseconds(record.created_at) for record in records], dtype=np.int64),
        revision=np.array([record.revision for record in records], dtype=np.int64),
        expiry_at_us=expiry_at_us,
        expiry_row=expiry_row,
        term_key=term_key,
        term_start=term_start,
        term_impact_max=impact_maxima(term_start, posting_impact),
        posting_row=posting_row,
        posting_impact=posting_impact,
    )


def sorted_keys(keys: Keys, rows: Rows) -> tuple[Keys, Rows]:
    """The keys in their order, and the row of each."""
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


def _scopes_of(records: Sequence[Record]) -> tuple[Keys, Rows]:
    scopes = list(dict.fromkeys(record.scope for record in records))
    keys = keys_of(digest(str(scope)) for scope in scopes)
    order = order_of(keys)
    number = {scopes[old]: new for new, old in enumerate(order.tolist())}
    return keys[:, order], np.array([number[record.scope] for record in records], dtype=np.uint32)


def _expiry_of(records: Sequence[Record]) -> tuple[Numbers, Rows]:
    """When live records expire, soonest first. Records that have ended no longer do."""
    expiry = sorted(
        (to_microseconds(record.expires_at), row)
        for row, record in enumerate(records)
        if record.expires_at is not None and record.state in LIVE_STATES
    )
    times, rows = [at for at, _ in expiry], [row for _, row in expiry]
    return np.array(times, dtype=np.int64), np.array(rows, dtype=np.uint32)


def _postings_of(documents: Sequence[Document]) -> tuple[Keys, Positions, Positions, Impacts]:
    texts = [text for each in documents for text in each.impacts]
    impacts = [impact for each in documents for impact in each.impacts.values()]
    distinct = list(dict.fromkeys(texts))
    keys = keys_of(map(term_digest, distinct))
    order = order_of(keys)
    number = {distinct[old]: new for new, old in enumerate(order.tolist())}
    term = np.fromiter(map(number.__getitem__, texts), dtype=np.int64, count=len(texts))
    row = np.repeat(np.arange(len(documents)), [len(each.impacts) for each in documents])
    return keys[:, order], term, row, np.array(impacts, dtype=np.uint8)
