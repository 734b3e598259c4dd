"""The index of skills behind `ports/skill_index`: what a request brings in, without a look at every skill.

What a score is stands in `domain/skill_matching`; here it is only reached faster, and the parts of a match
are told by the same function as in the loop over all skills.

What the index of skills is made of: the postings of stems and words, gathered skill by skill.

What was read of skills, on disk: one file that is either whole and of these rules, or as good as absent.

    magic, digest of all that follows, length of the header, header (JSON), the lists one behind another

Reading skills is most of what an index costs, and a command without a daemon needs one for a single question.
The file belongs to the rules that made it: where any of their texts is another, it is absent.
"""

import json
import os
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runlore.atomic_write import atomic_write
from runlore.domain import skill_matching
from runlore.domain.errors import Unavailable
from runlore.domain.skill import SkillDocument, SkillId
from runlore.domain.skill_matching import SkillMatch, Way
from runlore.domain.skill_matching.scoring import (
    BRIEF_BITS,
    NAMING_BITS,
    Profile,
    SkillCollection,
    floor_of,
    parts_of,
    profile_of,
    texts_of,
    weight_of,
)
from runlore.domain.skill_matching.words import Reader, SkillRequest, request_of
from runlore.domain.text import analysis

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
        self._known.row = {digest: row for row, digest in enumerate(digests)}
        self._known.keys, self._known.words = [*self._stem_numbers], [*self._word_numbers]
        return self._known

    def stem_lists(self) -> StemLists:
        order, start = _by_number(self._known.stem, len(self._stem_numbers))
        return StemLists(
            numbers=self._stem_numbers,
            start=start,
            rows=np.frombuffer(self._stem_row, dtype=np.int64).astype(np.intp)[order],
            points=np.frombuffer(self._known.points, dtype=np.int32)[order],
            fields=np.frombuffer(self._known.fields, dtype=np.uint8)[order],
        )

    def word_lists(self) -> WordLists:
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


_MAGIC = b"runlore skill words 1\n"
_DIGEST_BYTES = 32
_LENGTH_BYTES = 8
_LISTS = ("stem", "points", "fields", "word", "word_stem")


def save_skill_words(path: str, known: KnownSkillWords) -> None:
    lists = [getattr(known, name).tobytes() for name in _LISTS]
    header = json.dumps(
        {
            "rules": _rules(),
            "digests": [digest.hex() for digest in known.row],
            "rows": list(known.row.values()),
            "keys": known.keys,
            "words": known.words,
            "stem_start": known.stem_start,
            "word_start": known.word_start,
            "bytes": [len(each) for each in lists],
        }
    ).encode()
    content = b"".join([len(header).to_bytes(_LENGTH_BYTES, "little"), header, *lists])

    def write(file: BinaryIO) -> None:
        file.write(_MAGIC + blake2b(content, digest_size=_DIGEST_BYTES).digest() + content)

    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        atomic_write(path, write)
    except OSError as error:
        raise Unavailable(
            f"what was read of skills was not saved to {path}: {error}",
            code="index.save",
            hint="nothing is lost: the skills are read again by the next command",
        ) from error


def load_skill_words(path: str) -> KnownSkillWords | None:
    """What a file holds; None where it is absent, damaged, or made by other rules."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST_BYTES
    magic, digest, content = content[: len(_MAGIC)], content[len(_MAGIC) : start], content[start:]
    if magic != _MAGIC or blake2b(content, digest_size=_DIGEST_BYTES).digest() != digest:
        return None
    length = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    header = json.loads(content[_LENGTH_BYTES:length])
    if header["rules"] != _rules():
        return None
    known = KnownSkillWords()
    known.row = dict(zip(map(bytes.fromhex, header["digests"]), header["rows"], strict=True))
    known.keys, known.words = header["keys"], header["words"]
    known.stem_start, known.word_start = header["stem_start"], header["word_start"]
    for name, size in zip(_LISTS, header["bytes"], strict=True):
        held: array[int] = getattr(known, name)
        held.frombytes(content[length : length + size])
        length += size
    return known


@cache
def _rules() -> str:
    """What skills are read by: the texts of the rules, and how numbers lie in memory here."""
    digest = blake2b(f"{array('i').itemsize} {sys.byteorder}".encode(), digest_size=_DIGEST_BYTES)
    folder = Path(str(skill_matching.__file__)).parent
    files = [*sorted(folder.glob("*.py")), Path(str(analysis.__file__)), Path(str(analysis.__file__))]
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


# How many of the best rows are looked at first, and how many times as many each time that was too few.
_LOOKED_AT, _MORE = 16, 8


@dataclass(frozen=True, slots=True, eq=False)
class _Lead:
    """A stem that a word of the request leads to, and what its points are worth by that way."""

    key: str
    stem: Stem
    weight: int


@dataclass(frozen=True, slots=True, eq=False)
class _QueryWord:
    """A word of the request with its leads.

    The first of them is its own stem where `weight_by_stem` is not 0: that is what a point is worth where the
    word itself is not said, and `said` are the places of the stem's list where it is.
    """

    word: str
    telling_words: int
    leads: Sequence[_Lead]
    weight_by_stem: int
    said: Rows | None


class SkillIndex:
    """Skills by their words. It is built whole and never changes, so that many threads may ask it.

    Of the index `before` it takes over what was read of skills that are still the same; nothing else stays.
    """

    def __init__(
        self,
        skills: Iterable[tuple[SkillId, SkillDocument]],
        *,
        before: "SkillIndex | KnownSkillWords | None" = None,
    ) -> None:
        # Rows in the order that breaks ties.
        ordered = sorted(skills, key=lambda each: (each[1].name, each[0]))
        self._ids = [skill_id for skill_id, _ in ordered]
        self._names = [document.name for _, document in ordered]
        reader = Reader()
        gathered = PostingsBuilder()
        known = before._known if isinstance(before, SkillIndex) else before or KnownSkillWords()
        self.read_anew = 0
        digests = [digest_of(document) for _, document in ordered]
        for digest, (_, document) in zip(digests, ordered, strict=True):
            profile = known.profile(digest)
            if profile is None:
                profile = profile_of(document, reader)
                self.read_anew += 1
            else:
                reader.learn(profile.words)
            gathered.add(profile)
        self._reader = reader.freeze()
        self._known: KnownSkillWords = gathered.known_words(digests)
        self._stems = gathered.stem_lists()
        self._said = gathered.word_lists()
        frequency = self._stems.frequency(BRIEF_BITS)
        self._collection = SkillCollection(size=len(ordered), frequency=frequency)

    def __len__(self) -> int:
        return len(self._ids)

    def save(self, path: str) -> None:
        """Keep what was read of the skills in a file; Unavailable where it cannot be written."""
        save_skill_words(path, self._known)

    def match(self, query: str, *, limit: int) -> tuple[SkillMatch, ...]:
        """The best `limit` skills for a query, exactly as `best_matches` has them."""
        request = request_of(query, self._reader)
        if limit <= 0 or not request.words or not self._ids:
            return ()
        asked = self._find_words(request)
        rows = self._evident(asked, request, limit)
        matches = []
        for row, profile in zip(rows.tolist(), _profiles(rows, asked), strict=True):
            parts = parts_of(profile, request, self._collection)
            score = sum(part.points for part in parts)
            matches.append(
                SkillMatch(skill_id=self._ids[row], name=self._names[row], score=score, parts=parts)
            )
        return tuple(matches)

    def postings_of(self, query: str) -> list[tuple[Rows, Points]]:
        """The lists that a match reads: for measuring what it costs beside reading them."""
        asked = self._find_words(request_of(query, self._reader))
        return [(lead.stem.rows, lead.stem.points) for each in asked for lead in each.leads]

    def _find_words(self, request: SkillRequest) -> list[_QueryWord]:
        found = []
        for asked in request.words:
            leads = []
            weight_by_stem = 0
            for way, key in asked.ways:
                stem = self._stems.find(key)
                if stem is not None:
                    rarity = self._collection.rarity(key)
                    leads.append(_Lead(key, stem, weight_of(way, rarity, weak=asked.weak)))
                    if way is Way.EXACT:
                        weight_by_stem = weight_of(Way.STEM, rarity, weak=asked.weak)
            if leads:
                telling_words = 0 if asked.weak else asked.words
                said = self._said.find(asked.word)
                found.append(_QueryWord(asked.word, telling_words, leads, weight_by_stem, said))
        return found

    def _evident(self, asked: Sequence[_QueryWord], request: SkillRequest, limit: int) -> Rows:
        """The best rows that reach the floor and have to do with the request."""
        totals = _totals(asked, len(self._ids))
        floor = floor_of(request, self._collection)
        looked_at = max(_LOOKED_AT, 2 * limit)
        while True:
            # The rows of the greatest totals that reach the floor; of equal ones the first row.
            rows = (totals >= floor).nonzero()[0]
            # One number that is the greater the better: the total, then the row backwards.
            packed = (totals[rows].astype(np.int64) << 32) - rows
            if packed.size > looked_at:
                chosen = np.argpartition(packed, packed.size - looked_at)[packed.size - looked_at :]
                rows, packed = rows[chosen], packed[chosen]
            best = rows[np.argsort(-packed)]
            evident = best[_are_evident(best, asked, request.needed)]
            if evident.size >= limit or best.size < looked_at:
                return evident[:limit]
            looked_at *= _MORE


def _totals(asked: Sequence[_QueryWord], size: int) -> Points:
    totals = np.zeros(size, dtype=np.int32)
    best = np.zeros_like(totals)
    for each in asked:
        if len(each.leads) == 1:
            totals[each.leads[0].stem.rows] += _gains(each, 0)
            continue
        for number, lead in enumerate(each.leads):
            rows = lead.stem.rows
            best[rows] = np.maximum(best[rows], _gains(each, number))
        totals += best
        best.fill(0)
    return totals


def _gains(asked: _QueryWord, number: int) -> Points:
    """What the skills of a lead gain by it: less by the stem alone than where the word itself is said."""
    lead = asked.leads[number]
    points, weight = lead.stem.points, np.int32(lead.weight)
    if number or not asked.weight_by_stem or (asked.said is not None and asked.said.size == points.size):
        return points * weight
    gains = points * np.int32(asked.weight_by_stem)
    if asked.said is not None:
        gains[asked.said] = points[asked.said] * weight
    return gains


def _are_evident(rows: Rows, asked: Sequence[_QueryWord], needed: int) -> NDArray[np.bool_]:
    named = np.zeros(rows.size, dtype=np.bool_)
    found = np.zeros(rows.size, dtype=np.int32)
    for each in asked:
        if each.telling_words:
            bits = np.zeros(rows.size, dtype=np.uint8)
            for lead in each.leads:
                places, there = _locate(lead.stem.rows, rows)
                bits |= lead.stem.fields[places] * there
            named |= (bits & NAMING_BITS) != 0
            found += ((bits & BRIEF_BITS) != 0) * each.telling_words
    return named | (found >= needed)


def _profiles(rows: Rows, asked: Sequence[_QueryWord]) -> list[Profile]:
    points: list[dict[str, int]] = [{} for _ in rows]
    fields: list[dict[str, int]] = [{} for _ in rows]
    words: list[dict[str, str]] = [{} for _ in rows]
    for each in asked:
        for place, lead in enumerate(each.leads):
            places, there = _locate(lead.stem.rows, rows)
            says = _says(each, places) if not place and each.weight_by_stem else None
            for number in there.nonzero()[0].tolist():
                points[number][lead.key] = int(lead.stem.points[places[number]])
                fields[number][lead.key] = int(lead.stem.fields[places[number]])
                if says is not None and says[number]:
                    words[number][each.word] = lead.key
    return [
        Profile(points=each_points, fields=each_fields, words=each_words)
        for each_points, each_fields, each_words in zip(points, fields, words, strict=True)
    ]


def _says(asked: _QueryWord, places: Rows) -> NDArray[np.bool_] | None:
    """Whether the word itself is said at places of its stem's list."""
    return None if asked.said is None else _locate(asked.said, places)[1]


def _locate(rows: Rows, wanted: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """Where the wanted rows would stand among the rows, and whether they do."""
    places = rows.searchsorted(wanted)
    places[places == rows.size] = 0
    return places, rows[places] == wanted
