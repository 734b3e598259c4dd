"""What a skill is found by: its stems, with their points, from the parts of it that are read.

What a skill says at length counts for less: one that is stuffed with words has a little of each. However long
its texts are, no more than a bounded part of them is read.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from runlore.domain import limits
from runlore.domain.skill import SkillDocument
from runlore.domain.skill_matching.words import Reader, is_only_weak

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
