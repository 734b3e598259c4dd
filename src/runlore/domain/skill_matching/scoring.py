"""How well a skill answers a request: whole numbers only, the same on every machine.

    score = the sum over the request's distinct words of the best of its ways, each
            rarity of the stem that is found x sixteenths of the way x points of the stem in the skill

A word counts once however often it is said, and by one way only: as it is, by its stem, by another name of
the same, or by a word that is near it. A stem of a skill counts for one word of the request only. Nothing
here searches: an index and a loop over all skills give the same answer.

What a skill is found by: its stems, with their points, from the parts of it that are read.

What a skill says at length counts for less: one that is stuffed with words has a little of each. However long
its texts are, no more than a bounded part of them is read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from runlore.domain import limits
from runlore.domain.search.ranking import rarity
from runlore.domain.skill import SkillDocument
from runlore.domain.skill_matching.words import Reader, RequestWord, SkillRequest, Way, is_only_weak, ways_of

# One topic or action of so many has what a match takes where nothing else is asked for.
TRIGGER_WORDS_MAX = 20
BODY_CHARS_MAX = 2_000

# What a word counts that is the whole name, the one topic or the one action; among n it counts 3 / (n + 2).
NAME_POINTS = 150
TRIGGER_POINTS = 300
# What a word counts that stands once in a text of so many words.
DESCRIPTION_POINTS, DESCRIPTION_WORDS = 200, 24
BODY_POINTS, BODY_WORDS = 20, 400


class ProfileField(StrEnum):
    """Where a skill says a word."""

    NAME = "name"
    TOPICS = "topics"
    ACTIONS = "actions"
    DESCRIPTION = "description"
    BODY = "body"


_BIT = {field: 1 << number for number, field in enumerate(ProfileField)}
# A skill is about a word that stands in one of these; one in passing says less.
NAMING_BITS = _BIT[ProfileField.NAME] | _BIT[ProfileField.TOPICS] | _BIT[ProfileField.ACTIONS]
BRIEF_BITS = NAMING_BITS | _BIT[ProfileField.DESCRIPTION]


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What a skill is found by: the points of its stems and the fields where they stand (a bit for each, see
    `fields_in`), and its words as they are written, with the stem of each."""

    points: Mapping[str, int]
    fields: Mapping[str, int]
    words: Mapping[str, str]


def profile_of(document: SkillDocument, reader: Reader) -> Profile:
    """What a skill is found by, of the parts of it that are read."""
    points: dict[str, int] = {}
    fields: dict[str, int] = {}
    words: dict[str, str] = {}
    for field, text in texts_of(document):
        read = reader.read(text)
        bit = _BIT[field]
        for key, gained in _points(field, [key for key, _ in read]):
            points[key] = points.get(key, 0) + gained
            fields[key] = fields.get(key, 0) | bit
        words.update((word, key) for key, word in read if key in points)
    return Profile(points=points, fields=fields, words=words)


def fields_in(bits: int) -> tuple[ProfileField, ...]:
    return tuple(field for field, bit in _BIT.items() if bits & bit)


def texts_of(document: SkillDocument) -> Iterator[tuple[ProfileField, str]]:
    yield ProfileField.NAME, document.name[: limits.SKILL_NAME_CHARS_MAX]
    yield ProfileField.TOPICS, _trigger(document.topics)
    yield ProfileField.ACTIONS, _trigger(document.actions)
    yield ProfileField.DESCRIPTION, document.description[: limits.SKILL_DESCRIPTION_CHARS_MAX]
    yield ProfileField.BODY, document.body[:BODY_CHARS_MAX]


def _trigger(words: tuple[str, ...]) -> str:
    """Trigger words as one text: a line break joins no words."""
    return "\n".join(word[: limits.SKILL_NAME_CHARS_MAX] for word in words[:TRIGGER_WORDS_MAX])


def _points(field: ProfileField, keys: list[str]) -> Iterator[tuple[str, int]]:
    if field is ProfileField.DESCRIPTION or field is ProfileField.BODY:
        points, pivot = (
            (DESCRIPTION_POINTS, DESCRIPTION_WORDS)
            if field is ProfileField.DESCRIPTION
            else (BODY_POINTS, BODY_WORDS)
        )
        for key, count in Counter(keys).items():
            if is_only_weak(key):
                continue
            # BM25's saturation with k1 = 1 and b = 1/2 around a constant pivot.
            yield key, 4 * points * pivot * count // (2 * pivot * count + pivot + len(keys))
    elif field is ProfileField.NAME:
        distinct = dict.fromkeys(keys)
        yield from dict.fromkeys(distinct, 3 * NAME_POINTS // (2 + len(distinct))).items()
    else:
        distinct = dict.fromkeys(islice(dict.fromkeys(keys), TRIGGER_WORDS_MAX))
        yield from dict.fromkeys(distinct, 3 * TRIGGER_POINTS // (2 + len(distinct))).items()


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
