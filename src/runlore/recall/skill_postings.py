"""What the index of skills is made of: the postings of stems and words, gathered skill by skill."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from runlore.domain.skill import SkillDocument
from runlore.domain.skill_matching.profiles import Profile, texts_of

Rows: TypeAlias = NDArray[np.intp]
Points: TypeAlias = NDArray[np.int32]
Fields: TypeAlias = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Stem:
    """The skills that have a stem, its points in each, and the fields where it stands there."""

    rows: Rows
    points: Points
    fields: Fields


@dataclass(frozen=True, eq=False)
class StemLists:
    """The skills of every stem. Slices are made when they are asked for: there are too many to hold them."""

    numbers: Mapping[str, int]
    start: Sequence[int]
    rows: Rows
    points: Points
    fields: Fields

    def find(self, key: str) -> Stem | None:
        """The skills of one stem."""
        number = self.numbers.get(key)
        if number is None:
            return None
        part = slice(self.start[number], self.start[number + 1])
        return Stem(self.rows[part], self.points[part], self.fields[part])

    def frequency(self, bits: int) -> dict[str, int]:
        """In how many skills each stem stands in any of these fields."""
        counted = np.concatenate(([0], np.cumsum((self.fields & bits) != 0)))
        counts = np.diff(counted[np.array(self.start, dtype=np.intp)])
        return dict(zip(self.numbers, counts.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class WordLists:
    """For every word as it is written, the places in its stem's list of the skills that say it."""

    numbers: Mapping[str, int]
    start: Sequence[int]
    places: Rows

    def find(self, word: str) -> Rows | None:
        """The places of one word."""
        number = self.numbers.get(word)
        return None if number is None else self.places[self.start[number] : self.start[number + 1]]


class KnownSkillWords:
    """What was read of skills, by the digest of what there was to read."""

    def __init__(self) -> None:
        self.row: dict[bytes, int] = {}
        self.keys: list[str] = []
        self.words: list[str] = []
        # For each row where its stems and its words begin; for each word which stem of the row is its own.
        self.stem_start, self.word_start = [0], [0]
        self.stem, self.points, self.fields = array("i"), array("i"), array("B")
        self.word, self.word_stem = array("i"), array("i")

    def profile(self, digest: bytes) -> Profile | None:
        """The profile of a skill that was read before."""
        row = self.row.get(digest)
        if row is None:
            return None
        stems = slice(self.stem_start[row], self.stem_start[row + 1])
        said = slice(self.word_start[row], self.word_start[row + 1])
        keys = [self.keys[number] for number in self.stem[stems]]
        return Profile(
            points=dict(zip(keys, self.points[stems], strict=True)),
            fields=dict(zip(keys, self.fields[stems], strict=True)),
            words={
                self.words[number]: keys[place]
                for number, place in zip(self.word[said], self.word_stem[said], strict=True)
            },
        )


class PostingsBuilder:
    """Postings as they come, skill by skill."""

    def __init__(self) -> None:
        self._known = KnownSkillWords()
        self._stem_numbers: dict[str, int] = {}
        self._word_numbers: dict[str, int] = {}
        self._stem_row, self._word_posting = array("q"), array("q")

    def add(self, profile: Profile) -> None:
        """Take the next skill in."""
        known, row = self._known, len(self._known.stem_start) - 1
        first = len(known.stem)
        numbers = self._stem_numbers
        known.stem.extend([numbers.setdefault(key, len(numbers)) for key in profile.points])
        known.points.extend(profile.points.values())
        known.fields.extend(profile.fields.values())
        known.stem_start.append(len(known.stem))
        self._stem_row.extend([row] * len(profile.points))
        place = {key: place for place, key in enumerate(profile.points)}
        places = [place[key] for key in profile.words.values()]
        numbers = self._word_numbers
        known.word.extend([numbers.setdefault(word, len(numbers)) for word in profile.words])
        known.word_stem.extend(places)
        known.word_start.append(len(known.word))
        self._word_posting.extend([first + each for each in places])

    def known_words(self, digests: Sequence[bytes]) -> KnownSkillWords:
        """What was read, for the index that comes after this one."""
        self._known.row = {digest: row for row, digest in enumerate(digests)}
        self._known.keys, self._known.words = [*self._stem_numbers], [*self._word_numbers]
        return self._known

    def stem_lists(self) -> StemLists:
        """The skills of each stem."""
        order, start = _by_number(self._known.stem, len(self._stem_numbers))
        return StemLists(
            numbers=self._stem_numbers,
            start=start,
            rows=np.frombuffer(self._stem_row, dtype=np.int64).astype(np.intp)[order],
            points=np.frombuffer(self._known.points, dtype=np.int32)[order],
            fields=np.frombuffer(self._known.fields, dtype=np.uint8)[order],
        )

    def word_lists(self) -> WordLists:
        """The places of each word."""
        order, start = _by_number(self._known.stem, len(self._stem_numbers))
        stem = np.frombuffer(self._known.stem, dtype=np.int32)
        place = np.empty_like(order)
        place[order] = np.arange(order.size) - np.array(start, dtype=np.intp)[stem[order]]
        order, start = _by_number(self._known.word, len(self._word_numbers))
        places = place[np.frombuffer(self._word_posting, dtype=np.int64)[order]]
        return WordLists(numbers=self._word_numbers, start=start, places=places)


def digest_of(document: SkillDocument) -> bytes:
    """What tells apart documents that are read differently."""
    digest = blake2b(digest_size=16)
    for field, text in texts_of(document):
        digest.update(f"{field} {len(text)} {text}".encode("utf-8", "surrogatepass"))
    return digest.digest()


def _by_number(numbers: "array[int]", count: int) -> tuple[Rows, Sequence[int]]:
    """The order that groups postings by their number and keeps their rows ascending; where each begins."""
    found = np.frombuffer(numbers, dtype=np.int32)
    order = np.argsort(found, kind="stable")
    start = np.searchsorted(found[order], np.arange(count + 1))
    return order, start.tolist()
