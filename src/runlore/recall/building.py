"""Records into one segment, a few of them at a time: what is held meanwhile is little more than the segment.

Texts become numbers of chunks as they come, and each distinct chunk is taken apart once. Terms are counted at
the end, when the order of the rows is known.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runlore.domain.lazy import dataclass
from runlore.domain.record import Record, RecordId
from runlore.domain.search.ranking import IMPACT_METADATA, LIVE_STATES, impact, metadata_text, session_of
from runlore.domain.text.analysis import chunks_of, fold_text, tokenize_chunk
from runlore.recall.keys import (
    DIGEST_BYTES,
    Impacts,
    Keys,
    Numbers,
    Positions,
    Rows,
    digest,
    keys_of,
    order_of,
)
from runlore.recall.segment import (
    CATEGORY_NUMBERS,
    Segment,
    impact_maxima,
    order_of_ties,
    pick_texts,
    sorted_keys,
    to_microseconds,
)

# New chunks, the numbers of the chunks that texts have behind one another, and how many each text has.
Said: TypeAlias = tuple[list[str], bytes, bytes]

_POSTINGS_AT_ONCE = 1 << 18
_NO_SESSION = ""


class ChunkReader(Protocol):
    """Takes texts apart and numbers their distinct chunks by their first appearance."""

    def read(self, texts: Sequence[str]) -> Said:
        """The chunks that are new, and what these texts have, as 32-bit numbers."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Occurrences:
    """Which chunks each text has, two texts a row, and which terms each chunk has."""

    chunk: Rows
    # Where each text begins.
    text_start: Numbers
    # The terms of all chunks by their place among `terms` sorted ones, and where those of each chunk begin.
    term: Rows
    chunk_start: Numbers
    terms: int


class TermCounter(Protocol):
    """What the kernel does of building."""

    def chunk_reader(self) -> ChunkReader:
        """A new one."""

    def count(self, said: Occurrences, order: Rows) -> tuple[Numbers, Rows, Rows, Rows]:
        """Where the postings of each term begin, the row of each by its place in the order, how often its
        summary says it, doubled, and one more where the metadata do, and how many terms each summary has."""


class Vocabulary:
    """The distinct chunks that were read so far, the terms of each, and the digests of those."""

    def __init__(self, counter: TermCounter | None = None) -> None:
        self.counter = counter or PlainCounter()
        self._reader = self.counter.chunk_reader()
        self._numbers: dict[str, int] = {}
        self._digests = bytearray()
        self._term, self._chunk_start = array("I"), array("q", [0])

    @property
    def size(self) -> int:
        """How many chunks it has."""
        return len(self._chunk_start) - 1

    def read(self, texts: Sequence[str]) -> tuple[bytes, bytes]:
        """The numbers of the chunks of these texts, and how many each has."""
        new, said, many = self._reader.read(texts)
        numbers = self._numbers
        for chunk in new:
            self._term.extend([numbers.setdefault(term, len(numbers)) for term in tokenize_chunk(chunk)])
            self._chunk_start.append(len(self._term))
        return said, many

    def sorted_terms(self) -> tuple[Keys, Rows, Numbers]:
        """The keys of all terms, sorted, the terms of all chunks by their place there, and where those of
        each chunk begin."""
        known = len(self._digests) // DIGEST_BYTES
        self._digests += b"".join(map(digest, islice(self._numbers, known, None)))
        keys = keys_of([bytes(self._digests)])
        order = order_of(keys)
        return keys[:, order], _places(order)[_column(self._term)], _column(self._chunk_start).copy()


class SegmentBuilder:
    """Columns that grow by a few records at a time, until a segment is made of them."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._id_text, self._id_length = bytearray(), array("I")
        self._id_digests, self._summary_digests = bytearray(), bytearray()
        self._scopes: dict[str, int] = {}
        self._sessions: dict[str, int] = {_NO_SESSION: 0}
        self._scope, self._session, self._category = array("I"), array("I"), array("H")
        self._created_at_us, self._revision = array("q"), array("q")
        self._expiry_at_us, self._expiry_row = array("q"), array("q")
        self._chunk, self._chunks_of_text = array("I"), array("I")

    def __len__(self) -> int:
        return len(self._category)

    def add(self, records: Sequence[Record]) -> None:
        """Read a few."""
        self._add_columns(records)
        texts = [text for each in records for text in (each.summary, metadata_text(each))]
        said, many = self._vocabulary.read(texts)
        self._chunk.frombytes(said)
        self._chunks_of_text.frombytes(many)

    def _add_columns(self, records: Sequence[Record]) -> None:
        first = len(self)
        ids = [each.record_id.encode("utf-8", "surrogatepass") for each in records]
        self._id_text += b"".join(ids)
        self._id_length.extend(map(len, ids))
        self._id_digests += b"".join([digest(each.record_id) for each in records])
        self._summary_digests += b"".join([digest(fold_text(each.summary)) for each in records])
        scopes, sessions = self._scopes, self._sessions
        self._scope.extend([scopes.setdefault(str(each.scope), len(scopes)) for each in records])
        self._session.extend(
            [sessions.setdefault(session_of(each) or _NO_SESSION, len(sessions)) for each in records]
        )
        self._category.extend(
            [CATEGORY_NUMBERS[each.layer, each.kind, each.state, each.sensitivity] for each in records]
        )
        self._created_at_us.extend([to_microseconds(each.created_at) for each in records])
        self._revision.extend([each.revision for each in records])
        for row, each in enumerate(records, start=first):
            if each.expires_at is not None and each.state in LIVE_STATES:
                self._expiry_at_us.append(to_microseconds(each.expires_at))
                self._expiry_row.append(row)

    def newest(self) -> tuple[Positions, Keys, Numbers]:
        """The row of the newest version of each record, of equals that which came last, with its key and its
        revision, in the order of their keys."""
        keys, revision = keys_of([bytes(self._id_digests)]), _column(self._revision)
        order = order_of(keys)
        ordered = keys[:, order]
        if (ordered[:, 1:] == ordered[:, :-1]).all(axis=0).any():
            order = np.lexsort((revision, keys[1], keys[0]))
            ordered = keys[:, order]
            is_last = np.append((ordered[:, 1:] != ordered[:, :-1]).any(axis=0), True)
            order, ordered = order[is_last], ordered[:, is_last]
        return order, ordered, revision[order]

    def finish(self, kept: Positions, keys: Keys) -> Segment:
        """A segment of the rows that are kept; they come with their keys, in the order of these."""
        created = _column(self._created_at_us)
        id_length = _column(self._id_length).astype(np.int64)
        id_start = np.cumsum(id_length) - id_length
        text = np.frombuffer(self._id_text, dtype=np.uint8)

        def id_at(place: int) -> RecordId:
            start, size = id_start[kept[place]], id_length[kept[place]]
            return RecordId(text[start : start + size].tobytes().decode("utf-8", "surrogatepass"))

        order = kept[order_of_ties(created[kept], id_at)]
        term_key, term_start, posting_row, posting_impact = self._postings(order)
        row = np.full(len(self), -1, dtype=np.int64)
        row[order] = np.arange(order.size)
        summaries = keys_of([bytes(self._summary_digests)])[:, order]
        summary_key, summary_row = sorted_keys(summaries, np.arange(order.size, dtype=np.uint32))
        scope_key, scope = _number_texts(self._scopes, _column(self._scope)[order])
        session_key, session = self._number_sessions(order)
        expiry_at_us, expiry_row = self._expiry(row)
        return Segment(
            id_text=pick_texts(text, id_start[order], id_length[order]),
            id_start=np.append(0, np.cumsum(id_length[order])),
            id_key=keys,
            id_row=row[kept].astype(np.uint32),
            summary_key=summary_key,
            summary_row=summary_row,
            scope_key=scope_key,
            scope=scope,
            session_key=session_key,
            session=session,
            category=_column(self._category)[order],
            created_at_us=created[order],
            revision=_column(self._revision)[order],
            expiry_at_us=expiry_at_us,
            expiry_row=expiry_row,
            term_key=term_key,
            term_start=term_start,
            term_impact_max=impact_maxima(term_start, posting_impact),
            posting_row=posting_row,
            posting_impact=posting_impact,
        )

    def _number_sessions(self, order: Positions) -> tuple[Keys, Rows]:
        """Sessions are numbered from 1 on; 0 is none."""
        said = _column(self._session)[order]
        key, number = _number_texts(self._sessions, said[said > 0])
        session = np.zeros(said.size, dtype=np.uint32)
        session[said > 0] = number + np.uint32(1)
        return key, session

    def _expiry(self, row: Positions) -> tuple[Numbers, Rows]:
        """When live records expire, soonest first. Records that have ended no longer do."""
        at, rows = _column(self._expiry_at_us), row[_column(self._expiry_row)]
        at, rows = at[rows >= 0], rows[rows >= 0]
        order = np.lexsort((rows, at))
        return at[order], rows[order].astype(np.uint32)

    def _postings(self, order: Positions) -> tuple[Keys, Numbers, Rows, Impacts]:
        keys, term, chunk_start = self._vocabulary.sorted_terms()
        text_start = np.append(0, np.cumsum(_column(self._chunks_of_text), dtype=np.int64))
        said = Occurrences(
            chunk=_column(self._chunk),
            text_start=text_start,
            term=term,
            chunk_start=chunk_start,
            terms=keys.shape[1],
        )
        start, row, counts, length = self._vocabulary.counter.count(said, order.astype(np.uint32))
        # Nothing else needs them: what is held is least where they go first.
        del said
        self._chunk, self._chunks_of_text = array("I"), array("I")
        used = np.flatnonzero(np.diff(start))
        return (
            np.ascontiguousarray(keys[:, used]),
            np.append(start[used], row.size),
            row,
            _impacts_of(counts, row, length),
        )


class _PlainReader:
    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def read(self, texts: Sequence[str]) -> Said:
        numbers, known = self._numbers, len(self._numbers)
        chunks = [chunks_of(text) for text in texts]
        said = array("I", [numbers.setdefault(chunk, len(numbers)) for each in chunks for chunk in each])
        return list(islice(numbers, known, None)), said.tobytes(), array("I", map(len, chunks)).tobytes()


class PlainCounter:
    """A `TermCounter` without a compiler."""

    def chunk_reader(self) -> ChunkReader:
        return _PlainReader()

    def count(self, said: Occurrences, order: Rows) -> tuple[Numbers, Rows, Rows, Rows]:
        rows = order.size
        texts = (2 * order.astype(np.int64)[:, None] + (0, 1)).reshape(-1)
        chunk, text = _gather(said.chunk, said.text_start, texts)
        term, at = _gather(said.term, said.chunk_start, chunk)
        text = text[at]
        # By term and row, and of these first what stands in the summary.
        place, times = np.unique((term * np.int64(rows) + text // 2) * 2 + text % 2, return_counts=True)
        counts = np.where(place % 2, 1, 2 * times)
        first = np.flatnonzero(np.diff(place // 2, prepend=-1))
        counts = np.add.reduceat(counts, first) if first.size else counts
        found, row = np.divmod(place[first] // 2, max(1, rows))
        start = np.searchsorted(found, np.arange(said.terms + 1)).astype(np.int64)
        length = np.bincount(text, minlength=2 * rows)[::2]
        return start, row.astype(np.uint32), counts.astype(np.uint32), length.astype(np.uint32)


def _gather(values: Rows, start: Numbers, wanted: Rows | Positions) -> tuple[Rows, Positions]:
    """The values of some lists behind one another, and the place of the list that each is of."""
    many = np.diff(start)[wanted]
    at = np.repeat(np.arange(many.size), many)
    return values[np.arange(at.size) + (start[wanted] - np.cumsum(many) + many)[at]], at


def seal(records: Sequence[Record], counter: TermCounter | None = None) -> Segment:
    """A segment of so few records that they are all at hand, each of them once."""
    builder = SegmentBuilder(Vocabulary(counter))
    builder.add(records)
    rows, keys, _ = builder.newest()
    return builder.finish(rows, keys)


def _column(values: "array[int]") -> NDArray[Any]:
    return np.frombuffer(values, dtype=values.typecode)


def _places(order: Positions) -> Rows:
    """The place of each in an order."""
    place = np.empty(order.size, dtype=np.uint32)
    place[order] = np.arange(order.size, dtype=np.uint32)
    return place


def _number_texts(texts: Iterable[str], said: Rows) -> tuple[Keys, Rows]:
    """The keys of those texts that are said, sorted, and the number of each among them."""
    used, number = np.unique(said, return_inverse=True)
    digests = list(map(digest, texts))
    keys = keys_of([digests[each] for each in used.tolist()])
    order = order_of(keys)
    return np.ascontiguousarray(keys[:, order]), _places(order)[number]


def _impacts_of(counts: Rows, rows: Rows, lengths: Rows) -> Impacts:
    """What terms count that stand so often in summaries of these rows' lengths, and in the metadata."""
    impacts = np.empty(counts.size, dtype=np.uint8)
    cases, case = np.unique(lengths, return_inverse=True)
    once = np.array([impact(1, length=length) for length in cases.tolist()], dtype=np.uint8)[case]
    for first in range(0, counts.size, _POSTINGS_AT_ONCE):
        here = slice(first, first + _POSTINGS_AT_ONCE)
        count, row = counts[here], rows[here]
        gain = once[row]
        gain[count < 2] = 0
        several = np.flatnonzero(count > 3)
        pairs = (count[several].astype(np.int64) >> 1 << 32) | lengths[row[several]]
        cases, case = np.unique(pairs, return_inverse=True)
        more = [impact(each >> 32, length=each & 0xFFFFFFFF) for each in cases.tolist()]
        gain[several] = np.array(more, dtype=np.uint8)[case]
        impacts[here] = gain + (count & 1).astype(np.uint8) * np.uint8(IMPACT_METADATA)
    return impacts
