"""What the best hits gain by those beside them in their sessions: `neighbour_points` for all of them at once.

A session's records may lie in several parts of the index. Each part is asked for the few that stand next to a
hit, and the nearest of all are its neighbours.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from runlore.domain.record import RecordId
from runlore.domain.search.ranking import NEIGHBOUR_TENTHS, session_of
from runlore.recall.keys import Numbers, Positions, digest, keys_of
from runlore.recall.segment import Document, to_microseconds
from runlore.recall.visibility import Visible

# What orders a session, the newest first: the time the other way round, then the id.
Place: TypeAlias = tuple[int, RecordId]
# A record at its place: the number of the part it lies in, and its row there.
_Spot: TypeAlias = tuple[int, RecordId, int, int]

_REACH = len(NEIGHBOUR_TENTHS)
_TENTHS = np.array([*reversed(NEIGHBOUR_TENTHS), *NEIGHBOUR_TENTHS], dtype=np.int64)[:, None]


def has_sessions(parts: Sequence[Visible], documents: Sequence[Document]) -> bool:
    in_parts = [part for part in parts if part.segment.session_key.size]
    return bool(in_parts or [each for each in documents if session_of(each.record)])


class SessionOrder:
    """The records of sessions in their order, over the parts and the documents that a search sees."""

    def __init__(
        self,
        parts: Sequence[tuple[Visible, Sequence[int]]],
        documents: Sequence[Document],
        terms: Sequence[str],
    ) -> None:
        """A part comes with the number there of each of the query's terms, or -1."""
        self._parts = [part for part, _ in parts]
        self._term_numbers = [numbers for _, numbers in parts]
        self._terms = terms
        self._documents = sorted(documents, key=_place_of)
        self._rows: dict[tuple[int, bytes], tuple[Positions, Numbers]] = {}
        self._told: dict[bytes, list[int]] = defaultdict(list)
        for at, document in enumerate(self._documents):
            if (session := session_of(document.record)) is not None:
                self._told[digest(session)].append(at)

    def points(self, places: Sequence[Place], weights: Sequence[int]) -> list[int]:
        spots: dict[tuple[int, int], int] = {}
        beside = np.zeros((len(places), 2 * _REACH + 1), dtype=np.int64)
        # The first line has nothing of any term: it takes the places where nobody stands.
        for at, (place, session) in enumerate(zip(places, self._sessions_of(places), strict=True)):
            if session is None:
                continue
            before, own, after = self._around(place, session)
            for column, spot in enumerate([*before, *own, *after], start=_REACH - len(before)):
                beside[at, column] = spots.setdefault(spot[2:], len(spots) + 1)
        gains = self._gains(list(spots), weights)[beside]
        own_gains = gains[:, _REACH]
        nearby = np.delete(gains, _REACH, axis=1) * _TENTHS // 10
        gained: list[int] = (np.maximum(nearby.max(axis=1), own_gains) - own_gains).sum(axis=1).tolist()
        return gained

    def _sessions_of(self, places: Sequence[Place]) -> list[bytes | None]:
        found: list[bytes | None] = [None] * len(places)
        keys = keys_of(digest(record_id) for _, record_id in places)
        for part in self._parts:
            segment = part.segment
            for at, row in enumerate(segment.rows_of(keys).tolist()):
                if row >= 0 and part.mask[row] and (number := int(segment.session[row])):
                    found[at] = segment.session_key[:, number - 1].astype("<u8").tobytes()
        documents = {document.record.record_id: document for document in self._documents}
        for at, (_, record_id) in enumerate(places):
            if record_id in documents:
                session = session_of(documents[record_id].record)
                found[at] = None if session is None else digest(session)
        return found

    def _around(self, place: Place, session: bytes) -> tuple[list[_Spot], list[_Spot], list[_Spot]]:
        """Those next to a place, the nearest three on each side, and who stands there."""
        near = [spot for number in range(len(self._parts)) for spot in self._in_part(number, place, session)]
        near += self._in_documents(place, session)
        near.sort()
        at = bisect_left(near, place, key=lambda spot: spot[:2])
        return near[max(0, at - _REACH) : at], near[at : at + 1], near[at + 1 : at + 1 + _REACH]

    def _in_part(self, number: int, place: Place, session: bytes) -> list[_Spot]:
        rows, times = self._session_rows(number, session)
        segment = self._parts[number].segment
        first, end = (int(np.searchsorted(times, place[0], side)) for side in ("left", "right"))
        tied = range(first, end)
        at = first + bisect_left(tied, place[1], key=lambda each: segment.record_id(int(rows[each])))
        nearby = slice(max(0, at - _REACH), at + _REACH + 1)
        return [
            (time, segment.record_id(row), number, row)
            for time, row in zip(times[nearby].tolist(), rows[nearby].tolist(), strict=True)
        ]

    def _in_documents(self, place: Place, session: bytes) -> list[_Spot]:
        told = self._told.get(session, [])
        at = bisect_left(told, place, key=lambda each: _place_of(self._documents[each]))
        nearby = told[max(0, at - _REACH) : at + _REACH + 1]
        return [(*_place_of(self._documents[each]), -1, each) for each in nearby]

    def _session_rows(self, number: int, session: bytes) -> tuple[Positions, Numbers]:
        """The rows of a part that are seen of a session, and their times the other way round: ascending."""
        known = self._rows.get((number, session))
        if known is None:
            part = self._parts[number]
            rows = part.segment.rows_in_session(session)
            rows = rows[part.mask[rows]]
            known = self._rows[number, session] = rows, -part.segment.created_at_us[rows]
        return known

    def _gains(self, spots: Sequence[tuple[int, int]], weights: Sequence[int]) -> Numbers:
        """What each term gives at each spot, behind a first line of nothing."""
        gains = np.zeros((len(spots) + 1, len(weights)), dtype=np.int64)
        by_part: dict[int, list[int]] = defaultdict(list)
        for line, (number, row) in enumerate(spots, start=1):
            if number < 0:
                impacts = self._documents[row].impacts
                gains[line] = [impacts.get(term, 0) for term in self._terms]
            else:
                by_part[number].append(line)
        for number, lines in by_part.items():
            rows = np.array([spots[line - 1][1] for line in lines], dtype=np.int64)
            for column, term in enumerate(self._term_numbers[number]):
                if term >= 0:
                    gains[lines, column] = self._parts[number].segment.postings(term).at(rows)
        return gains * np.array(weights, dtype=np.int64)


def _place_of(document: Document) -> Place:
    return -to_microseconds(document.record.created_at), document.record.record_id
