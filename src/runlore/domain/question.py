"""Which question a value answers about its subject: two values can clash only where they answer the same one.

"The API is versioned" and "The API is documented in docs/api.md" are about one thing and both hold. The rules
are tables of English words. They are careful in one direction: a value that they do not know answers the open
question "what is it", as every other unknown value does, so that names and numbers always meet.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from runlore.domain import question_words as table

WHAT, WHEN, WHERE, HOW, WITH, NAME, FORMAT = "what", "when", "where", "how", "with", "name", "format"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The questions that a value answers, and for each scale of opposites the side that it is on."""

    questions: frozenset[str]
    sides: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The question in a few words; the open one has none."""
        if WHAT in self.questions:
            return ""
        return min(self.sides, default=min(self.questions, key=lambda question: (len(question), question)))

    def agrees(self, other: "Claim") -> bool:
        """Whether both say the same in other words: on every scale that they share, one side."""
        shared = self.sides.keys() & other.sides.keys()
        return bool(shared) and all(self.sides[scale] == other.sides[scale] for scale in shared)


def claim_of(subject: str, value: str) -> Claim:
    """What a value answers. A subject that names a slot ("log level") asks the open question itself."""
    said = value.split()
    words = _without_degree(said)
    claim = _claim_of_words(words)
    if not claim.sides and _is_addition(said):
        return _asked(f"also {value}")  # it leaves room for every other answer
    if words and words[0] in table.UNMEASURED:
        claim = Claim(questions=claim.questions | table.MEASURES, sides=claim.sides)
    if _is_slot(subject) and not _is_phrase(words) and not _relates(words):
        return Claim(questions=claim.questions | {WHAT}, sides=claim.sides)
    return claim


def _claim_of_words(words: Sequence[str]) -> Claim:
    if not words or _is_amount(words):
        return _asked(*(_amount(words) if words else {WHAT}))
    first, rest = words[0], words[1:]
    if _is_phrase(words) or first in table.FREQUENCIES:
        return _asked(*_relation(words))
    if _is_participle(first, rest):
        return _state(first) if not rest or rest[0] in table.JOINING else _act(first, rest)
    if _is_adjective(first):
        return _quality(first, rest)
    if rest or _is_time(first):
        return _asked(WHAT, WHEN if _is_time(first) else WHAT)
    return _asked(WHAT, WHERE if _is_place(first) else NAME)


def _is_phrase(words: Sequence[str]) -> bool:
    """Whether a preposition opens it. The "on" of "on" and "on by default" is a state, as "off" is."""
    if not words or words[0] not in table.PREPOSITIONS:
        return False
    is_bare = len(words) == 1 or words[1] in table.JOINING
    is_state = is_bare or (words[1] in table.PREPOSITIONS and words[1] not in ("each", "every"))
    return not (is_state and words[0] in table.SCALES_OF)


def _is_addition(words: Sequence[str]) -> bool:
    return len(words) > 1 and (words[0] == "also" or words[-1] == "too" or (*words[-2:],) == ("as", "well"))


def _is_slot(subject: str) -> bool:
    last = subject.rpartition(" ")[2]
    return last in table.SLOTS or last.endswith("name")


def _asked(*questions: str) -> Claim:
    return Claim(questions=frozenset(questions))


def _without_degree(words: list[str]) -> list[str]:
    """Without the adverbs before the word that counts: "fully automatic", "still", "only"."""
    at = 0
    while at < len(words) - 1 and (words[at] in table.DEGREES or is_adverb(words[at])):
        at += 1
    return words[at:]


def is_adverb(word: str) -> bool:
    """Whether a word is an adverb by its ending: "daily" says when, and "family" is none."""
    return len(word) > 4 and word.endswith("ly") and word not in table.FREQUENCIES | table.NOT_ADVERBS


def _is_amount(words: Sequence[str]) -> bool:
    """A number with or without its unit, "at least 12 characters", "up to 3"."""
    if tuple(words[:2]) in table.BOUNDS:
        return True
    return not _is_time(words[0]) and _is_number(words[0])


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in table.NUMBERS


def _amount(words: Sequence[str]) -> frozenset[str]:
    """What an amount measures: 4 GB and 27 inches both hold, a number without a unit meets both."""
    at = next((index for index, word in enumerate(words) if _is_number(word)), len(words) - 1)
    glued = _GLUED_UNIT.fullmatch(words[at])
    behind = [*([glued[1]] if glued else []), *words[at + 1 :], "", ""]
    unit, follower = behind[:2]
    ends = {"", *table.JOINING, *table.PREPOSITIONS}
    if unit in ends:
        return table.MEASURES | {WHAT}
    # "27 inch display" names a thing, "3 nodes" is counted in no unit, and the letter of "3D" may be none.
    measured = table.UNITS.get(unit, frozenset()) if follower in ends else frozenset()
    return measured | {WHAT} if not measured or (len(unit) == 1 and unit.isalpha()) else measured


def _is_time(word: str) -> bool:
    return word.removesuffix("s") in table.TIMES or word in table.TIMES or bool(_CLOCK.fullmatch(word))


def _is_place(word: str) -> bool:
    return "/" in word or word.startswith("~")


def _is_participle(word: str, rest: Sequence[str]) -> bool:
    if word.endswith("ing"):
        # Many nouns end so: it is a verb where something is said about the doing.
        return bool(rest) and rest[0] in table.PREPOSITIONS and word not in table.NOT_PARTICIPLES
    regular = len(word) > 4 and word.endswith("ed") and word not in table.NOT_PARTICIPLES
    return (regular and "-" not in word) or word in table.PARTICIPLES


def _is_adjective(word: str) -> bool:
    suffixed = len(word) > 5 and word.endswith(table.ADJECTIVE_ENDS) and word not in table.NOT_ADJECTIVES
    hyphenated = "-" in word.strip("-") and word.replace("-", "").isalpha()
    return suffixed or hyphenated or word in table.ADJECTIVES or word in table.SCALES_OF


def _relates(words: Sequence[str]) -> bool:
    """Whether a participle says more than a state: what was done, and where, when or by whom."""
    return len(words) > 1 and _is_participle(words[0], words[1:]) and words[1] not in table.JOINING


def _act(participle: str, rest: Sequence[str]) -> Claim:
    """What is asked about something that was done: "documented where", "run by", "kept for"."""
    if participle in table.NAMING and rest[0] not in table.PREPOSITIONS:
        return _asked(NAME)
    if len(rest) > 1 and rest[0] in table.PARTICLES:
        participle, rest = f"{participle} {rest[0]}", rest[1:]
    asked = _relation(rest)
    if participle in table.MANIFOLD.get(rest[0], ()) and asked.isdisjoint({WHEN, HOW}):
        asked = {" ".join(rest)}
    acts = (participle, *(f"scale {scale}" for scale in table.SCALES_OF.get(participle, ())))
    found = {f"{act} {question}" for act in acts for question in asked}
    # "Located in Berlin" says what "in Berlin" says, and a "managed service" is a thing.
    if participle in table.BEING_SOMEWHERE or asked == {WHAT}:
        found |= asked
    by_whom = _state(table.MANNERS[rest[-1]]) if asked == {HOW} and rest[-1] in table.MANNERS else _asked()
    return Claim(questions=by_whom.questions | found, sides=by_whom.sides)


def _relation(words: Sequence[str]) -> set[str]:
    """The question that a phrase answers, by its preposition or adverb."""
    first, rest = words[0], words[1:]
    if first in table.FREQUENCIES or first in table.OF_TIME or any(map(_is_time, words[:3])):
        return {WHEN}
    if is_adverb(first) or (first == "by" and "hand" in rest[:1]):
        return {HOW}
    if first == "in" and "front" in rest[:1]:
        return {"in front of"}
    with_what = f"{WITH} {' '.join(rest)}"
    if first == "without":
        return {with_what}
    if first == "in":
        return _within(rest)
    group = table.PREPOSITIONS.get(first, WHAT)
    return {group, with_what} if group == WITH else {group}


def _within(words: Sequence[str]) -> set[str]:
    """ "In WebP" is a format and "in S3" a place; what is known as neither may be either."""
    if not table.PLACES.isdisjoint(words) or any(map(_is_place, words)):
        return {WHERE}
    return {WHERE, FORMAT} if table.FORMATS.isdisjoint(words) else {FORMAT}


def _quality(adjective: str, rest: Sequence[str]) -> Claim:
    if not rest or rest[0] in table.JOINING:
        stated = _state(adjective)
        kind = {WHAT} if adjective in table.KINDS else set()
        return Claim(questions=stated.questions | kind, sides=stated.sides)
    if rest[0] not in table.PREPOSITIONS:
        return _asked(WHAT)  # it stands before a noun: "single-page app"
    stated = _state(adjective)
    if stated.sides:
        return stated
    return _asked(*(f"{adjective} {question}" for question in _relation(rest)))


def _state(word: str) -> Claim:
    """A word that is a state by itself: it meets itself, its own negation and the other sides of a scale."""
    scales = table.SCALES_OF.get(word, {})
    questions = {f"is {word}", *(f"scale {scale}" for scale in scales)}
    questions |= {f"is {plain}" for plain in _plain_forms(word)}
    return Claim(questions=frozenset(questions), sides={**scales})


def _plain_forms(word: str) -> set[str]:
    """What a word with a negating or counting part is about: "unlocked", "stateless", "multi-threaded"."""
    head, dash, tail = word.rpartition("-")
    found = {f"{head}{dash}{tail.removeprefix(each)}" for each in table.NEGATING if tail.startswith(each)}
    if dash and head in table.COUNTING:
        found.add(f"*-{tail}")
    if dash and tail == "only":
        found.add("*-only")
    found |= {word.removesuffix(end) for end in ("less", "ful") if word.endswith(end)}
    return found


_GLUED_UNIT = re.compile(r"\d[\d.,]*([^\W\d]+|[%°].?)")
_CLOCK = re.compile(r"\d{1,2}(:\d{2}){1,2}(am|pm)?|\d{1,2}(am|pm)|\d{4}-\d{2}(-\d{2})?|q[1-4]")
