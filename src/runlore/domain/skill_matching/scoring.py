"""How well a skill answers a request: whole numbers only, the same on every machine.

    score = the sum over the request's distinct words of the best of its ways, each
            rarity of the stem that is found x sixteenths of the way x points of the stem in the skill

A word counts once however often it is said, and by one way only: as it is, by its stem, by another name of
the same, or by a word that is near it. A stem of a skill counts for one word of the request only. Nothing
here searches: an index and a loop over all skills give the same answer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runlore.domain.search.ranking import rarity
from runlore.domain.skill_matching.profiles import BRIEF_BITS, NAMING_BITS, Profile, ProfileField, fields_in
from runlore.domain.skill_matching.requests import RequestWord, SkillRequest, Way, ways_of

SIXTEENTHS: Mapping[Way, int] = {Way.EXACT: 16, Way.SAME: 14, Way.STEM: 14, Way.NEAR: 6}
# A weak word beside others counts so many times less.
WEAK_PARTS = 4
# What a skill has to have on average for each word of a request, of a long one as if it were so many words.
FLOOR_POINTS = 40
FLOOR_WORDS_MAX = 12


@dataclass(frozen=True, kw_only=True)
class SkillCollection:
    """The skills that a score is relative to: how many, and how many say a stem outside their bodies."""

    size: int
    frequency: Mapping[str, int]

    def rarity(self, key: str) -> int:
        """How much a stem counts: the rarer the more. What nobody says is as rare as can be."""
        return rarity(max(1, self.frequency.get(key, 0)), self.size)


@dataclass(frozen=True, kw_only=True)
class WordMatch:
    """What one word of a request found: by which way, as which stem, in which fields, and its points."""

    word: str
    way: Way
    found: str
    fields: tuple[ProfileField, ...]
    points: int


def collection_of(profiles: Iterable[Profile]) -> SkillCollection:
    """Count the skills and their stems."""
    size, frequency = 0, Counter[str]()
    for profile in profiles:
        size += 1
        frequency.update(key for key, bits in profile.fields.items() if bits & BRIEF_BITS)
    return SkillCollection(size=size, frequency=frequency)


def parts_of(profile: Profile, request: SkillRequest, collection: SkillCollection) -> tuple[WordMatch, ...]:
    """What each word of a request finds in a skill, in the order of the request."""
    found = (_best_part(profile, asked, collection) for asked in request.words)
    return tuple(part for part in found if part is not None)


def is_evident(profile: Profile, request: SkillRequest) -> bool:
    """Whether a skill has to do with a request: it is named or triggered by a telling word of it, or says two
    of them outside its body. A word in passing is enough only where there is no second one."""
    found = 0
    for asked in request.words:
        bits = 0
        for _, other in () if asked.weak else asked.ways:
            bits |= profile.fields.get(other, 0)
        if bits & NAMING_BITS:
            return True
        found += asked.words if bits & BRIEF_BITS else 0
    return found >= request.needed


def floor_of(request: SkillRequest, collection: SkillCollection) -> int:
    """The least score that counts as a match: a share of what the request asks for, and at least one. What a
    phrase asks for its words do."""
    asked = sum(_asked_weight(asked, collection) for asked in request.words if asked.words == 1)
    most = FLOOR_WORDS_MAX * SIXTEENTHS[Way.EXACT] * rarity(1, collection.size)
    return max(1, FLOOR_POINTS * min(asked, most))


def weight_of(way: Way, rarity_: int, *, weak: bool) -> int:
    """What a point of a stem is worth by a way; less for a word that is weak beside others."""
    weight = rarity_ * SIXTEENTHS[way]
    return weight // WEAK_PARTS if weak else weight


def _asked_weight(asked: RequestWord, collection: SkillCollection) -> int:
    """What a word of a request asks for: the weight of the first of its ways that any skill says."""
    known = (other for _, other in ways_of(asked.key) if collection.frequency.get(other))
    return weight_of(Way.EXACT, collection.rarity(next(known, asked.key)), weak=asked.weak)


def _best_part(profile: Profile, asked: RequestWord, collection: SkillCollection) -> WordMatch | None:
    """The way that gives most; of equal ones the first."""
    best: WordMatch | None = None
    for way, other in asked.ways:
        if other not in profile.points:
            continue
        met = Way.STEM if way is Way.EXACT and asked.word not in profile.words else way
        points = weight_of(met, collection.rarity(other), weak=asked.weak) * profile.points[other]
        if points > (best.points if best else 0):
            fields = fields_in(profile.fields[other])
            best = WordMatch(word=asked.word, way=met, found=other, fields=fields, points=points)
    return best
