"""The same wish in several sessions: two words that requests put close together, again and again.

Two words are a wish of their own where they stand together in the requests of several sessions, mostly in
requests, and where one of them is seldom said without the other. Names that everything is about ("the session
branch") fail the second test, everyday requests ("commit and push") are left out by the language's table, and
requests that name another number each time ("look at issue 12") are tasks in a row, no wish. In scripts
without spaces four characters in a row take the place of the two words.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import combinations

from runlore.domain.languages.language import Language
from runlore.domain.session import SessionId
from runlore.domain.text.analysis import is_stop_word, stem

Key = tuple[str, ...]

_TERMS_MAX = 30
_DISTANCE_MAX = 2
_SESSIONS_MIN = 2
# Of the times that the two stand together, how many are requests; how often the rarer one has the other.
_REQUESTS_MIN = 0.6
_TOGETHER_MIN = 0.4
# From so many requests with a number on, most of them another one, they are tasks.
_TASKS_MIN = 3
_TASKS_PART = 0.5
_GRAM_CHARS = 4
# A word of its own: no part of a path, an address, a file's or a branch's name, and nothing with a digit.
_WORD = re.compile(r"(?<![\w./@:#-])[a-z\u00df-\u024f]+(?:['-][a-z\u00df-\u024f]+)*(?![\w/@-]|[.:]\w)")
_NUMBER = re.compile(r"\d+")
_UNSPACED_RUN = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]+")


class Recurrence:
    """Counts over sentences, then answers which wish a sentence repeats and in how many sessions."""

    def __init__(self) -> None:
        self._sessions: dict[Key, set[SessionId]] = defaultdict(set)
        self._times: Counter[Key] = Counter()
        self._requests: Counter[Key] = Counter()
        self._numbers: dict[Key, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self._terms: Counter[str] = Counter()
        self._stems: dict[str, str] = {}

    def terms_of(self, plain: str, language: Language) -> tuple[str, ...]:
        """The stems by which a wish is known again, in order, each once. Weak ones begin with a dash."""
        found: dict[str, None] = {}
        if not language.is_spaced:
            for run in _UNSPACED_RUN.findall(plain):
                grams = (run[at : at + _GRAM_CHARS] for at in range(len(run) - _GRAM_CHARS + 1))
                found.update(dict.fromkeys(grams))
            return tuple(found)[:_TERMS_MAX]
        weak, empty = _stems(language.weak), language.empty_words
        for word in _WORD.findall(plain):
            if word not in empty and not is_stop_word(word) and len(word) > 1:
                stemmed = self._stem(word)
                found[f"-{stemmed}" if stemmed in weak else stemmed] = None
        return tuple(found)[:_TERMS_MAX]

    def add(self, session_id: SessionId, plain: str, terms: Sequence[str], *, is_request: bool) -> None:
        """Count one sentence, by its terms and its numbers."""
        self._terms.update(set(terms))
        numbers = tuple(_NUMBER.findall(plain))
        for key in _keys(terms):
            self._times[key] += 1
            if is_request:
                self._requests[key] += 1
                self._sessions[key].add(session_id)
                self._numbers[key][numbers] += 1

    def of(self, terms: Sequence[str]) -> tuple[int, Key]:
        """The wish that a request repeats and that most sessions have: in how many, and its key."""
        found = [(len(self._sessions[key]), key) for key in _keys(terms) if self._is_wish(key)]
        return max(found, default=(0, ()))

    def _stem(self, word: str) -> str:
        if word not in self._stems:
            self._stems[word] = stem(word)
        return self._stems[word]

    def _is_wish(self, key: Key) -> bool:
        if len(self._sessions.get(key, ())) < _SESSIONS_MIN:
            return False
        if self._requests[key] < _REQUESTS_MIN * self._times[key]:
            return False
        if self._is_row_of_tasks(key):
            return False
        rarer = min((self._terms[term] for term in key), default=0)
        return self._times[key] >= _TOGETHER_MIN * rarer

    def _is_row_of_tasks(self, key: Key) -> bool:
        numbered = {numbers: count for numbers, count in self._numbers[key].items() if numbers}
        many = sum(numbered.values())
        most = _TASKS_PART * self._requests[key]
        return many >= _TASKS_MIN and many > most and len(numbered) > _TASKS_PART * many


def _keys(terms: Sequence[str]) -> set[Key]:
    """What a sentence may share with others. Two weak terms, which begin with a dash, are none."""
    if terms and all(len(term) == _GRAM_CHARS and _UNSPACED_RUN.fullmatch(term) for term in terms):
        return {(term,) for term in terms}
    return {
        (min(pair), max(pair))
        for (first, one), (second, other) in combinations(enumerate(terms), 2)
        if second - first <= _DISTANCE_MAX
        for pair in [(one, other)]
        if not (one.startswith("-") and other.startswith("-"))
    }


@cache
def _stems(words: str) -> frozenset[str]:
    return frozenset(map(stem, words.split()))
