"""The index of skills behind `ports/skill_index`: what a request brings in, without a look at every skill.

What a score is stands in `domain/skill_matching`; here it is only reached faster, and the parts of a match
are told by the same function as in the loop over all skills.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runlore.domain.skill import SkillDocument, SkillId
from runlore.domain.skill_matching import SkillMatch, Way
from runlore.domain.skill_matching.profiles import BRIEF_BITS, NAMING_BITS, Profile, profile_of
from runlore.domain.skill_matching.requests import SkillRequest, request_of
from runlore.domain.skill_matching.scoring import SkillCollection, floor_of, parts_of, weight_of
from runlore.domain.skill_matching.words import Reader
from runlore.recall.skill_postings import KnownSkillWords, Points, PostingsBuilder, Rows, Stem, digest_of
from runlore.recall.skill_words import save_skill_words

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
        """The words of a request that lead anywhere."""
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
            best = _best(totals, limit=looked_at, floor=floor)
            evident = best[_are_evident(best, asked, request.needed)]
            if evident.size >= limit or best.size < looked_at:
                return evident[:limit]
            looked_at *= _MORE


def _totals(asked: Sequence[_QueryWord], size: int) -> Points:
    """The score of every skill."""
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
    """As `is_evident`, for many skills at once."""
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
    """Of these skills, all that the request has to do with."""
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


def _best(totals: Points, *, limit: int, floor: int) -> Rows:
    """The rows of the greatest totals that reach the floor; of equal ones the first row."""
    rows = (totals >= floor).nonzero()[0]
    # One number that is the greater the better: the total, then the row backwards.
    packed = (totals[rows].astype(np.int64) << 32) - rows
    if packed.size > limit:
        chosen = np.argpartition(packed, packed.size - limit)[packed.size - limit :]
        rows, packed = rows[chosen], packed[chosen]
    return rows[np.argsort(-packed)]
