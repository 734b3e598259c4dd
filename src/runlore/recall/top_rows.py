"""The best rows of one segment: exact, and without looking at most of its postings.

Lists are taken by the most they can give for their length, which is about the rarest first. Once all that the
remaining lists could give together is less than what the last of the best rows has for sure (`floor`), no
unseen row can come in: the remaining lists are then read only at the rows that can still reach the floor.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from runlore.domain.lazy import dataclass
from runlore.recall.arrays import Impacts, Mask, Numbers, Points, Positions
from runlore.recall.segment import Postings

# A list this long is worth a look at whether it has to be read at all.
_LONG_LIST = 4096
# How many of the seen rows are followed to the end to raise the floor, and among how many they are chosen.
_LEADERS_PER_HIT = 2
_LEADERS_FROM = 1 << 14
# From this share of all rows on, a sum over the whole column is faster than one over a list of rows.
_WHOLE_COLUMN_SHARE = 12


@dataclass(frozen=True, slots=True, eq=False)
class TermPostings:
    """A list of a term of the query, with the term's rarity and the most that a row can gain by it."""

    postings: Postings
    weight: int
    gain_max: int

    @classmethod
    def of(cls, postings: Postings, weight: int) -> "TermPostings":
        """How much a list is wanted."""
        return cls(postings, weight, weight * postings.impact_max)

    @property
    def length(self) -> int:
        """How many rows it has."""
        return self.postings.rows.size

    def gains_at(self, rows: Positions) -> Points:
        """What each of these rows gains."""
        return self.postings.at(rows) * np.int32(self.weight)


def best_rows(
    mask: Mask, wanted: Sequence[TermPostings], *, limit: int, floor: int
) -> tuple[Positions, Points]:
    """Every row with at least `floor` points (and one) that is not below the `limit` best, with its points.

    Rows with the points of the last of the best are all returned: what breaks their tie is not known here.
    """
    if sum(each.gain_max for each in wanted) < max(1, floor):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    ordered = sorted(wanted, key=lambda each: (each.gain_max << 32) // each.length, reverse=True)
    contest = _TopRows(mask, ordered, limit=limit, floor=max(1, floor))
    return contest.decide(contest.gather())


def points_at(rows: Positions, wanted: Sequence[TermPostings]) -> Points:
    """The points of given rows."""
    points = np.zeros(rows.size, dtype=np.int32)
    for each in wanted:
        points += each.gains_at(rows)
    return points


def greatest(numbers: Points | Numbers, count: int) -> int:
    """The smallest of the `count` greatest numbers. There are at least as many."""
    return int(np.partition(numbers, numbers.size - count)[numbers.size - count])


class _TopRows:
    def __init__(self, mask: Mask, wanted: Sequence[TermPostings], *, limit: int, floor: int) -> None:
        self._mask = mask
        self._wanted = wanted
        self._limit = limit
        gains = [each.gain_max for each in reversed(wanted)]
        # What the lists from each one on can give together.
        self._rest = [*accumulate(gains, initial=0)][::-1]
        self._points = np.zeros(mask.size, dtype=np.int32)
        self._seen: list[Positions] = []
        self._saw_all = False
        self._leaders = np.zeros(0, dtype=np.int64)
        self._leader_points_min = 1
        # Where every list is short, reading them costs less than finding out which could be left out.
        self._has_long_lists = any(each.length > _LONG_LIST for each in wanted)
        self._floor = floor

    def gather(self) -> int:
        """Read whole lists until no unseen row can reach the floor; how many were read."""
        for step, each in enumerate(self._wanted):
            if each.length > _LONG_LIST:
                self._raise_floor(step)
            if self._rest[step] < self._floor:
                return step
            column = each.postings.column
            if column is not None and each.length * _WHOLE_COLUMN_SHARE > column.size:
                self._add_column(column, each.weight)
            else:
                self._add_list(each)
        return len(self._wanted)

    def decide(self, step: int) -> tuple[Positions, Points]:
        """Read the remaining lists at the rows that can still reach the floor."""
        self._raise_floor(step)
        rows, points = self._seen_rows(self._floor - self._rest[step])
        rest = self._rest[step]
        # Columns first: they cost least, and leave fewer rows to look for in the lists.
        for each in sorted(self._wanted[step:], key=lambda each: each.postings.column is None):
            able = np.flatnonzero(points >= self._floor - rest)
            rows, points = rows.take(able), points.take(able)
            points += each.gains_at(rows)
            rest -= each.gain_max
        if points.size > self._limit:
            self._floor = max(self._floor, greatest(points, self._limit))
        best = np.flatnonzero(points >= self._floor)
        return rows.take(best), points.take(best)

    def _add_list(self, each: TermPostings) -> None:
        rows = each.postings.rows.astype(np.int64)
        visible = np.flatnonzero(self._mask.take(rows))
        rows = rows.take(visible)
        gains = each.postings.impacts.take(visible).astype(np.int32)
        gains *= np.int32(each.weight)
        gains += self._points.take(rows)
        self._points[rows] = gains
        self._seen.append(rows)
        if self._has_long_lists:
            self._follow(rows, gains)

    def _add_column(self, column: Impacts, weight: int) -> None:
        gains = (column * self._mask).astype(np.int32)
        gains *= np.int32(weight)
        self._points += gains
        self._saw_all = True
        rows = np.flatnonzero(self._points >= self._leader_points_min)[:_LEADERS_FROM]
        self._follow(rows, self._points.take(rows))

    def _follow(self, rows: Positions, points: Points) -> None:
        """Keep the rows with the most points so far. Missing some is no fault: the floor only stays lower."""
        count = self._limit * _LEADERS_PER_HIT
        able = np.flatnonzero(points >= self._leader_points_min)[:_LEADERS_FROM]
        rows, points = rows.take(able), points.take(able)
        if rows.size > count:
            rows = rows.take(np.argpartition(points, rows.size - count)[rows.size - count :])
        self._leaders = np.unique(np.concatenate((self._leaders, rows)))
        if self._leaders.size > count:
            points = self._points.take(self._leaders)
            most = np.argpartition(points, points.size - count)[points.size - count :]
            self._leaders = self._leaders.take(most)
            self._leader_points_min = max(1, int(points.take(most).min()))

    def _raise_floor(self, step: int) -> None:
        """What the leaders have when all lists are read is a floor for the best."""
        if self._leaders.size >= self._limit:
            points = self._points.take(self._leaders)
            points += points_at(self._leaders, self._wanted[step:])
            self._floor = max(self._floor, greatest(points, self._limit))

    def _seen_rows(self, points_min: int) -> tuple[Positions, Points]:
        """The rows seen so far that have at least so many points, each once."""
        points_min = max(1, points_min)
        if self._saw_all:
            rows = np.flatnonzero(self._points >= points_min)
            return rows, self._points.take(rows)
        rows_seen, points_seen = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        for rows in self._seen:
            points = self._points.take(rows)
            able = np.flatnonzero(points >= points_min)
            rows_seen.append(rows.take(able))
            points_seen.append(points.take(able))
            # So that a row that stands in a later list too is not taken twice.
            self._points[rows_seen[-1]] = 0
        return np.concatenate(rows_seen), np.concatenate(points_seen)
