"""Which question a value answers about its subject: two values can clash only where they answer the same one.

"The API is versioned" and "The API is documented in docs/api.md" are about one thing and both hold. The rules
are tables of English words. They are careful in one direction: a value that they do not know answers the open
question "what is it", as every other unknown value does, so that names and numbers always meet.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import field, replace
from itertools import pairwise

from runlore.domain.claims import question_words as table
from runlore.domain.claims.answers import NUMBER, Answer, answers_in, hold_together, is_path
from runlore.domain.claims.subject_words import TONGUES
from runlore.domain.lazy import dataclass
from runlore.domain.text.analysis import tokenize

WHAT, WHEN, WHERE, HOW, WITH, NAME, FORMAT = "what", "when", "where", "how", "with", "name", "format"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The questions that a value answers, for each scale of opposites the side that it is on, and the exact
    answers. `context` is where or for whom it holds, as far as the value says so itself."""

    questions: frozenset[str]
    sides: dict[str, int] = field(default_factory=dict)
    answers: Mapping[str, Answer] = field(default_factory=dict)
    context: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The question in a few words; the open one has none."""
        if WHAT in self.questions:
            return ""
        return min(self.sides, default=min(self.questions, key=lambda question: (len(question), question)))

    def meets(self, other: "Claim") -> bool:
        """Whether both answer the same question: "30 s in staging" and "60 s in production" do not."""
        is_apart = bool(self.context and other.context) and self.context != other.context
        exact = self.answers.keys(), other.answers.keys()
        is_other = all(exact) and exact[0].isdisjoint(exact[1]) and not _is_vague(exact[0] | exact[1])
        return not (is_apart or is_other) and not self.questions.isdisjoint(other.questions)

    def excepts(self, other: "Claim") -> bool:
        """Whether one of the two holds for less than the other: "on Fridays", "in staging"."""
        return self.context != other.context or self.answers.keys() != other.answers.keys()

    def agrees(self, other: "Claim") -> bool:
        """Whether both can be so: on every scale that they share they are on one side, what they answer
        exactly goes together, or one says what the other says and more."""
        if _is_coarser(self.words, other.words) or _is_coarser(other.words, self.words):
            return True
        scales = self.sides.keys() & other.sides.keys()
        if scales:
            return all(self.sides[scale] == other.sides[scale] for scale in scales)
        exact = self.answers.keys() & other.answers.keys()
        if exact:
            return all(hold_together(self.answers[each], other.answers[each]) for each in exact)
        return _is_within(self.words, other.words) or _is_within(other.words, self.words)


def claim_of(subject: str, value: str) -> Claim:
    """What a value answers. A subject that names a slot ("log level") asks the open question itself; a value
    in which a verb stands in brackets, "[use] port 8080", is what the subject does."""
    verb = _VERB.match(value)
    if verb is not None:
        return _claim_of_verb(verb[1], value[verb.end() :].split())
    words = _without_degree(_with_verb_first(value.split()))
    claim = _open_claim(subject, " ".join(_with_verb_first(value.split())))
    is_act = len(words) > 1 and _is_participle(words[0], words[1:])
    lead = _stem(words[0]) if is_act and words[0] not in table.BEING_SOMEWHERE else ""
    answers = {} if _is_addition(value.split()) else answers_in(words)
    exact = {f"{lead} {question}".strip(): answer for question, answer in answers.items()}
    return replace(
        claim,
        questions=claim.questions | exact.keys(),
        answers=exact,
        context=_context(words[1:] if is_act else words),
        words=tuple(words),
    )


def _with_verb_first(words: list[str]) -> list[str]:
    """German closes with its participle: "in Go geschrieben" is "geschrieben in Go"."""
    is_last = len(words) > 1 and words[0] in table.PREPOSITIONS and _is_foreign_participle(words[-1], ())
    return [words[-1], *words[:-1]] if is_last else words


def is_asked(verb: str, words: Sequence[str]) -> bool:
    """Whether what stands behind a verb is one answer to a question, and leaves no room for others."""
    return bool(_asked_of_verb(verb, words))


def _claim_of_verb(verb: str, words: Sequence[str]) -> Claim:
    asked = _asked_of_verb(verb, words)
    return Claim(
        questions=frozenset(asked) or frozenset({f"{verb} {' '.join(words)}"}),
        answers={question: answer for question, answer in asked.items() if answer is not None},
        context=_context(words),
        words=tuple(words),
    )


def _asked_of_verb(verb: str, words: Sequence[str]) -> dict[str, Answer | None]:
    """The questions that a verb and what stands behind it answer, with the exact answers to them."""
    lead = "" if verb in table.HAPPENING else _stem(verb)
    is_span = len(words) == 2 and words[0] in table.SPANNING and words[1] in table.SPANS
    exact = answers_in([words[0], "1", words[1]] if is_span else words)
    is_room = verb in table.ADDING or _is_addition(words)
    if is_room:
        # Who needs Java 17 does not need Java 21, and may need two ports.
        counted = (*_COUNTED, _NUMBERED) if verb in table.NEEDING and _PORT not in exact else _COUNTED
        exact = {question: exact[question] for question in exact if question.startswith(counted)}
    asked: dict[str, Answer | None] = {f"{lead} {each}".strip(): exact[each] for each in exact}
    if not asked and len(words) > 1 and words[0] in table.ORDERING:
        asked[f"{_stem(verb)} order of {' '.join(words[1:])}"] = None
    is_room = is_room or (words[:1] == ["on"] and not table.EVENTS.isdisjoint(words[1:2]))
    if not asked and not is_room and len(words) > 1 and words[0] in table.ASKING:
        asked[f"{_stem(verb)} {table.PREPOSITIONS[words[0]]}"] = None
    return asked


def _context(words: Sequence[str]) -> frozenset[str]:
    """The terms of what limits an answer that stands before it: "in staging", "for admins"."""
    found: list[str] = []
    starts = [at for at in range(1, len(words)) if words[at] in table.PREPOSITIONS]
    for start, end in pairwise((*starts, len(words))):
        phrase = words[start:end]
        if phrase[0] in table.LIMITING and not answers_in(phrase):
            found += tokenize(" ".join(phrase[1:]))
    return frozenset(found)


def _is_vague(questions: Set[str]) -> bool:
    """Whether answers to other questions may still be meant as one: a bare number has a unit that nobody
    told, and a name may be of more families than one."""
    return NUMBER in questions or all(_NAMED in question for question in questions)


def _is_within(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether a value is told in another one, word for word and in its order."""
    rest = iter(whole)
    return bool(part) and all(any(_is_same(word, each) for each in rest) for word in part)


def _is_same(word: str, other: str) -> bool:
    """Whether a word names what the other one names, or a version of it: "C" and "C99"."""
    return word == other or (word.isalpha() and other.startswith(word) and other[len(word) :].isdigit())


def _is_coarser(words: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one word tells in general what the other tells exactly: Austria and Graz, spring and May."""
    if len(words) != len(other) or not words:
        return False
    wide, narrow = next(((one, two) for one, two in zip(words, other, strict=True) if one != two), ("", ""))
    grain = table.GRAINS.get(wide)
    if grain is None or (words[0] not in table.PREPOSITIONS and not _is_participle(words[0], words[1:])):
        return False
    topic, size = table.GRAINS.get(narrow, (_PLACE, 0))
    return topic == grain[0] and size < grain[1] and narrow[:1].isalpha()


def _stem(verb: str) -> str:
    return next(iter(tokenize(verb)), verb)


def _open_claim(subject: str, value: str) -> Claim:
    said = value.split()
    words = _without_degree(said)
    claim = _claim_of_words(words)
    if not claim.sides and _is_addition(said):
        return _make_claim(f"also {value}")  # it leaves room for every other answer
    if words and words[0] in table.UNMEASURED:
        claim = Claim(questions=claim.questions | table.MEASURES, sides=claim.sides)
    is_name = not table.LETTERS.isdisjoint(words) and subject.rpartition(" ")[2] in table.NAMED
    if is_name or (_is_slot(subject) and not _is_phrase(words) and not _relates(words)):
        return Claim(questions=claim.questions | {WHAT}, sides=claim.sides)
    return claim


def _claim_of_words(words: Sequence[str]) -> Claim:
    if not words or _is_amount(words):
        return _make_claim(*(_amount(words) if words else {WHAT}))
    first, rest = words[0], words[1:]
    if _is_phrase(words) or first in table.FREQUENCIES:
        return _make_claim(*_relation(words))
    if _is_participle(first, rest):
        return _state(first) if not rest or rest[0] in table.JOINING else _act(first, rest)
    return _quality(first, rest) if _is_adjective(first) else _make_claim(*_kind(words))


def _kind(words: Sequence[str]) -> set[str]:
    """What is asked about a thing that has a name or is of a kind; one person may have two offices."""
    first, rest = words[0], words[1:]
    if words[-1] in table.OFFICES:
        return {f"is {' '.join(words)}"}
    if rest or is_time(first):
        return {WHAT, WHEN if is_time(first) else WHAT}
    return {WHAT, WHERE if is_path(first) else NAME}


def _is_phrase(words: Sequence[str]) -> bool:
    """Whether a preposition opens it: alone it is a name, MIT, or a state, and so is the "on" of "on by
    default"."""
    if len(words) < _PHRASE_WORDS_MIN or words[0] not in table.PREPOSITIONS:
        return False
    follower = words[1]
    is_state = follower in table.JOINING or (
        follower in table.PREPOSITIONS and follower not in ("each", "every")
    )
    return not (is_state and words[0] in table.SCALES_OF)


def _is_addition(words: Sequence[str]) -> bool:
    ends = {*words[:1], *words[-1:]}
    return len(words) > 1 and (not table.ALSO.isdisjoint(ends) or (*words[-2:],) == ("as", "well"))


def _is_slot(subject: str) -> bool:
    last = subject.rpartition(" ")[2]
    return last in table.SLOTS or last.endswith("name")


def _make_claim(*questions: str) -> Claim:
    return Claim(questions=frozenset(questions))


def _without_degree(words: list[str]) -> list[str]:
    """Without what stands before the word that counts: "fully automatic", "still", "turned off"."""
    at = 0
    while at < len(words) - 1 and (words[at] in table.DEGREES or is_adverb(words[at])):
        at += 1
    is_switch = len(words) > at + 1 and words[at] in table.SWITCHING and words[at + 1] in table.SCALES_OF
    return words[at + 1 :] if is_switch else words[at:]


def is_adverb(word: str) -> bool:
    """Whether a word is an adverb by its ending: "daily" says when, and "family" is none."""
    return len(word) > 4 and word.endswith("ly") and word not in table.NOT_ADVERBS


def _is_amount(words: Sequence[str]) -> bool:
    """A number with or without its unit, "at least 12 characters", "up to 3"."""
    if tuple(words[:2]) in table.BOUNDS:
        return True
    return not is_time(words[0]) and _is_number(words[0])


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


def is_time(word: str) -> bool:
    """Whether a word names a day, a month, a time of day or a date."""
    return word in table.TIMES or word.removesuffix("s") in table.TIMES or bool(_CLOCK.fullmatch(word))


def _is_participle(word: str, rest: Sequence[str]) -> bool:
    if word.endswith("ing"):
        # Many nouns end so: it is a verb where something is said about the doing.
        return bool(rest) and rest[0] in table.PREPOSITIONS and word not in table.NOT_PARTICIPLES
    regular = len(word) > 4 and word.endswith("ed") and word not in table.NOT_PARTICIPLES
    return (regular and "-" not in word) or word in table.PARTICIPLES or _is_foreign_participle(word, rest)


def _is_foreign_participle(word: str, rest: Sequence[str]) -> bool:
    """German by its form ("geschrieben", "verschlüsselt"), French only with what was done: names end so."""
    french = word.endswith(("é", "ée", "és", "ées")) and bool(rest) and rest[0] in table.PREPOSITIONS
    return _GERMAN.fullmatch(word) is not None or french


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
        return _make_claim(NAME)
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
    by_whom = (
        _state(table.MANNERS[rest[-1]]) if asked == {HOW} and rest[-1] in table.MANNERS else _make_claim()
    )
    return Claim(questions=by_whom.questions | found, sides=by_whom.sides)


def _relation(words: Sequence[str]) -> set[str]:
    """The question that a phrase answers, by its preposition or adverb."""
    first, rest = words[0], words[1:]
    if first in table.ORDERING and not answers_in(words):
        return {f"order of {' '.join(rest)}"}
    if (first, *rest[:1]) == ("in", "front") or (first == "on" and not table.EVENTS.isdisjoint(rest[:1])):
        return {" ".join(words)}
    if first in table.FREQUENCIES or first in table.OF_TIME or any(map(is_time, words[:3])):
        return {WHEN}
    if is_adverb(first) or (first == "by" and "hand" in rest[:1]):
        return {HOW}
    if first == "in":
        return _within(rest)
    group = table.PREPOSITIONS.get(first, WHAT)
    with_what = {f"{WITH} {' '.join(rest)}"} if first == "without" or group == WITH else set()
    return with_what if first == "without" else {group} | with_what


def _within(words: Sequence[str]) -> set[str]:
    """ "In WebP" is a format and "in S3" a place; what is known as neither may be either."""
    if not table.PLACES.isdisjoint(words) or any(map(is_path, words)):
        return {WHERE}
    return {WHERE, FORMAT} if (table.FORMATS | TONGUES).isdisjoint(words) else {FORMAT}


def _quality(adjective: str, rest: Sequence[str]) -> Claim:
    if not rest or rest[0] in table.JOINING:
        stated = _state(adjective)
        kind = {WHAT} if adjective in table.KINDS else set()
        return Claim(questions=stated.questions | kind, sides=stated.sides)
    if rest[0] not in table.PREPOSITIONS:
        return _make_claim(WHAT)  # it stands before a noun: "single-page app"
    stated = _state(adjective)
    if stated.sides:
        return stated
    return _make_claim(*(f"{adjective} {question}" for question in _relation(rest)))


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


_VERB = re.compile(r"\[(\w+)\] ")
_NAMED = "kind of"
_PHRASE_WORDS_MIN = 2
_PLACE = "place"
_GERMAN = re.compile(
    r"\w{3,}iert|(?:ab|an|auf|aus|ein|vor|zu)?ge\w{4,}(?:t|en)|(?:ver|be|ent|er|zer|über|unter)\w{5,}t"
)
_COUNTED, _NUMBERED, _PORT = ("count of", "amount of"), "number of", "number of port"
_GLUED_UNIT = re.compile(r"\d[\d.,]*([^\W\d]+|[%°].?)")
_CLOCK = re.compile(r"\d{1,2}(:\d{2}){1,2}(am|pm)?|\d{1,2}(am|pm)|\d{4}-\d{2}(-\d{2})?|q[1-4]")
