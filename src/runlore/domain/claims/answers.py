"""What a value says exactly: amounts, numbers, times, formats, names of one family and paths.

Each answers a question of its own, so that "on Fridays at 5pm" and "at 6pm" meet at the hour and nowhere
else. Two answers that can both be so do not clash: "1 hour" and "60 minutes", "at least 2" and "up to 5",
"Friday" and "Monday and Friday".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from runlore.domain.claims import question_words as table
from runlore.domain.text.analysis import is_stop_word, tokenize


@dataclass(frozen=True)
class Range:
    """An amount between two bounds, which are one where it is told exactly."""

    least: float
    most: float

    def holds_with(self, other: "Range") -> bool:
        """Whether an amount can be in both: two different bounds on one side are two opinions."""
        if self.most == other.most == _UNBOUNDED or self.least == other.least == 0:
            return self == other
        return self.least <= other.most and other.least <= self.most


Answer: TypeAlias = Range | frozenset[str]
_UNBOUNDED = float("inf")


def answers_in(words: Sequence[str]) -> dict[str, Answer]:
    """The exact answers in some words, each by its question."""
    found: dict[str, Answer] = {}
    at = 0
    while at < len(words):
        question, answer, length = _answer_at(words, at)
        present = found.get(question)
        if isinstance(answer, frozenset) and isinstance(present, frozenset):
            answer |= present
        if question:
            found[question] = answer
        at += length
    return found


def hold_together(one: Answer, other: Answer) -> bool:
    """Whether two answers to one question can both be so."""
    if isinstance(one, Range) and isinstance(other, Range):
        return one.holds_with(other)
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return one <= other or other <= one
    return False


_Found: TypeAlias = tuple[str, Answer, int]
_NOTHING: _Found = ("", frozenset(), 1)


def _answer_at(words: Sequence[str], at: int) -> _Found:
    """The question, the answer and how many words it takes; no question where none begins here."""
    word = table.ALIASES.get(words[at], words[at])
    named = (
        ("day", table.WEEKDAYS.get(word, "")),
        ("month", table.MONTHS.get(word, "")),
        ("hour", "" if _has_unit(words, at) else _clock(word, words[at - 1] if at else "")),
    )
    found: list[_Found] = [(question, frozenset({answer}), 1) for question, answer in named if answer]
    found += [each for each in (_rate(words, at), _amount(words, at)) if each[0]]
    if word in table.FAMILY_OF:
        found.append((f"kind of {table.FAMILY_OF[word]}", frozenset({word}), 1))
    elif is_path(word):
        found.append(("path", frozenset({word.rstrip("/.")}), 1))
    return found[0] if found else _NOTHING


def is_path(word: str) -> bool:
    """Whether a word names a file, a folder or an address."""
    return "/" in word or word.startswith("~")


def _clock(word: str, before: str) -> str:
    """A time of day as 17:00; a bare number is one behind "at"."""
    match = _CLOCK.fullmatch(word)
    if match is None or not (match[2] or match[3] or before in table.AT_TIME):
        return ""
    hour = int(match[1]) % 24
    if match[3] == "pm" and hour < _NOON:
        hour += _NOON
    return f"{hour}:{match[2] or '00'}"


def _has_unit(words: Sequence[str], at: int) -> bool:
    return at + 1 < len(words) and words[at + 1] in table.UNITS


def _rate(words: Sequence[str], at: int) -> _Found:
    """How often: "nightly", "every two weeks", "once a week"."""
    word, rest = words[at], [each for each in words[at + 1 : at + 4] if each not in table.RATE_FILLERS]
    if word in table.FREQUENCIES:
        times = table.FREQUENCIES[word]
        if times > _PERIOD_MIN:
            return "rate", _period(times), 1
        found = _seconds(rest[0] if rest else "")
        return ("rate", _period(found / times), 2) if found else _NOTHING
    if word not in table.EVERY or not rest:
        return _NOTHING
    count = number_of(rest[0])
    found = _seconds(rest[1] if count and len(rest) > 1 else rest[0])
    return ("rate", _period((count or 1) * found), 3 if count else 2) if found else _NOTHING


def _period(seconds: float) -> Range:
    return Range(seconds, seconds)


def _seconds(unit: str) -> float:
    is_time = "amount of time" in table.UNITS.get(unit, ())
    return table.SCALES.get(unit, 0.0) if is_time else table.PERIODS.get(unit, 0.0)


def number_of(word: str) -> float:
    """The number that a word is; nothing where it is none, and nothing for zero."""
    if word in table.NUMBERS:
        return table.NUMBERS[word]
    match = _NUMBER.fullmatch(word)
    return float(match[1].replace(",", "")) if match and match[1].count(".") < 2 else 0.0


def _amount(words: Sequence[str], at: int) -> _Found:
    """A number with what it counts or measures, or with the name before it: "4 threads", "port 8080"."""
    word = words[at]
    match = _NUMBER.fullmatch(word)
    if match is None and word not in table.NUMBERS:
        return _NOTHING
    glued = match[2] if match else ""
    unit = glued or (words[at + 1] if at + 1 < len(words) else "")
    length = 1 if glued or not unit else 2
    if unit in table.UNITS:
        measures = table.UNITS[unit]
        amount = number_of(word) * table.SCALES.get(unit, 1.0)
        # One letter may measure several things: that is left to the words around it.
        return (min(measures), _read_bound(words, at, amount), length) if len(measures) == 1 else _NOTHING
    if glued:
        return "", frozenset(), 1
    if unit and _is_noun(unit):
        return f"count of {tokenize(unit)[0]}", _read_bound(words, at, number_of(word)), 2
    name = next((tokenize(each)[0] for each in words[max(at - 1, 0) : at] if _is_noun(each)), "")
    if not name and at and table.PREPOSITIONS.get(words[at - 1]) == "on":
        name = "port"
    return f"number of {name}" if name else NUMBER, frozenset({word}), 1


def _read_bound(words: Sequence[str], at: int, amount: float) -> Range:
    before = {tuple(words[max(at - count, 0) : at]) for count in (1, 2)}
    if before & table.LOWER_BOUNDS:
        return Range(amount, _UNBOUNDED)
    return Range(0, amount) if before & table.UPPER_BOUNDS else Range(amount, amount)


def _is_noun(word: str) -> bool:
    is_small = is_stop_word(word) or word in table.PREPOSITIONS or word in table.JOINING
    return not is_small and word[:1].isalpha() and bool(tokenize(word))


NUMBER = "number"
_NOON = 12
_PERIOD_MIN = 60
_CLOCK = re.compile(r"(\d{1,2})(?:[:h](\d{2}))?\s?(am|pm|h|uhr)?")
_NUMBER = re.compile(r"v?(\d+(?:[.,]\d+)*)([^\W\d]+|%)?")
