"""Sequences that several sessions share, found level by level: one of n forms is looked at only where both of
its sequences of n - 1 forms are shared too. So the work grows with what is shared and not with all there is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias, TypeVar

from runlore.domain.lazy import dataclass

FORMS_MAX = 12
SHARED_MIN = 2
_ROW_FORMS_MAX = 1 << 32

Gram: TypeAlias = tuple[str, ...]
Key = TypeVar("Key", str, tuple[int, int])


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """The forms of one row and what each does, and at which of them a step begins and ends: a sequence holds
    whole steps, and does nothing twice."""

    session: int
    forms: tuple[str, ...]
    acts: tuple[str, ...]
    begins: tuple[bool, ...]
    ends: tuple[bool, ...]


@dataclass(kw_only=True, slots=True)
class Shared:
    """A sequence that several sessions have. `places` are where it consists of whole steps, by session, the
    last place of each, as `place_of` reads it; `longer` are those of one form more that it is part of."""

    forms: Gram
    places: dict[int, int] = field(default_factory=dict)
    longer: list["Shared"] = field(default_factory=list)


def place_of(place: int) -> tuple[int, int]:
    """Which row a place is in, and from which form on."""
    return divmod(place, _ROW_FORMS_MAX)


def shared_grams(rows: Sequence[Tokens]) -> list[Shared]:
    """All sequences of 1 to 12 forms, none of which does what another does, that more than one session has.

    Rows of one session stand next to each other, in their order.
    """
    level = _first_level(rows)
    found: list[Shared] = []
    length = 1
    while level.grams:
        found.extend(level.grams)
        if length == FORMS_MAX:
            break
        length += 1
        level = _next_level(rows, level, length)
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class _Level:
    """The shared sequences of one length, and for each row which of them begins where (-1 for none)."""

    grams: list[Shared]
    at: list[list[int]]


def _first_level(rows: Sequence[Tokens]) -> _Level:
    sessions = _session_counts((row.session, form) for row in rows for form in row.forms)
    ids: dict[str, int] = {}
    grams: list[Shared] = []
    for form, count in sessions.items():
        if count >= SHARED_MIN:
            ids[form] = len(grams)
            grams.append(Shared(forms=(form,)))
    at = [[ids.get(form, -1) for form in row.forms] for row in rows]
    _note_places(rows, _Level(grams=grams, at=at), 1)
    return _Level(grams=grams, at=at)


def _next_level(rows: Sequence[Tokens], below: _Level, length: int) -> _Level:
    counts = _session_counts(
        (row.session, pair)
        for row, at in zip(rows, below.at, strict=True)
        for _, pair in _pairs(row, at, length)
    )
    ids: dict[tuple[int, int], int] = {}
    grams: list[Shared] = []
    for pair, count in counts.items():
        if count >= SHARED_MIN:
            left, right = below.grams[pair[0]], below.grams[pair[1]]
            ids[pair] = len(grams)
            gram = Shared(forms=(*left.forms, right.forms[-1]))
            grams.append(gram)
            left.longer.append(gram)
            right.longer.append(gram)
    places: list[list[int]] = []
    for row, at in zip(rows, below.at, strict=True):
        begun = [-1] * max(0, len(at) - 1)
        for start, pair in _pairs(row, at, length):
            begun[start] = ids.get(pair, -1)
        places.append(begun)
    level = _Level(grams=grams, at=places)
    _note_places(rows, level, length)
    return level


def _pairs(row: Tokens, at: Sequence[int], length: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """The places of a row where a sequence of this length can begin, with the two that it is made of."""
    for start in range(len(at) - 1):
        left, right = at[start], at[start + 1]
        if left >= 0 and right >= 0 and row.acts[start] != row.acts[start + length - 1]:
            yield start, (left, right)


def _session_counts(uses: Iterable[tuple[int, Key]]) -> Mapping[Key, int]:
    """In how many sessions each stands; the uses come session by session."""
    counts: dict[Key, int] = {}
    latest: dict[Key, int] = {}
    for session, key in uses:
        if latest.get(key) != session:
            latest[key] = session
            counts[key] = counts.get(key, 0) + 1
    return counts


def _note_places(rows: Sequence[Tokens], level: _Level, length: int) -> None:
    grams = level.grams
    for number, (row, at) in enumerate(zip(rows, level.at, strict=True)):
        begins, ends, first = row.begins, row.ends, number * _ROW_FORMS_MAX
        for start, gram in enumerate(at):
            if gram >= 0 and begins[start] and ends[start + length - 1]:
                # A number and no object: there are very many of them.
                grams[gram].places[row.session] = first + start
