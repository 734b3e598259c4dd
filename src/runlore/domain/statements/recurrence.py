"""The same wish in several sessions: two words that requests put close together, again and again.

Two words are a wish of their own where they stand together in the requests of several sessions, mostly in
requests, and where one of them is seldom said without the other. Names that everything is about ("the session
branch") fail the second test, everyday requests ("commit and push") are left out by the language's table. In
scripts without spaces four characters in a row take the place of the two words.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import combinations

from runlore.domain.analysis import is_stop_word, stem
from runlore.domain.session import SessionId
from runlore.domain.statements.languages.language import Language

Key = tuple[str, ...]

_TERMS_MAX = 30
_DISTANCE_MAX = 2
_SESSIONS_MIN = 2
# Of the times that the two stand together, how many are requests; and how often the rarer one is with the other.
_REQUESTS_MIN = 0.6
_TOGETHER_MIN = 0.4
_GRAM_CHARS = 4
_CHUNK = re.compile(r"[A-Za-z\u00c0-\u024f][\w'-]*")
_UNSPACED_RUN = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]+")


class Recurrence:
    """Counts over sentences, then answers which wish a sentence repeats and in how many sessions."""

    def __init__(self) -> None:
        self._sessions: dict[Key, set[SessionId]] = defaultdict(set)
        self._times: Counter[Key] = Counter()
        self._requests: Counter[Key] = Counter()
        self._terms: Counter[str] = Counter()

    def add(self, session_id: SessionId, terms: Sequence[str], *, is_request: bool) -> None:
        """Count one sentence, by its terms."""
        self._terms.update(set(terms))
        for key in _keys(terms):
            self._times[key] += 1
            if is_request:
                self._requests[key] += 1
                self._sessions[key].add(session_id)

    def of(self, terms: Sequence[str]) -> tuple[int, Key]:
        """In how many sessions the wish was said that a request repeats most often, and what it is known by."""
        found = [(len(self._sessions[key]), key) for key in _keys(terms) if self._is_wish(key)]
        return max(found, default=(0, ()))

    def _is_wish(self, key: Key) -> bool:
        if len(self._sessions.get(key, ())) < _SESSIONS_MIN:
            return False
        if self._requests[key] < _REQUESTS_MIN * self._times[key]:
            return False
        rarer = min((self._terms[term] for term in key), default=0)
        return self._times[key] >= _TOGETHER_MIN * rarer


def terms_of_wish(plain: str, language: Language) -> tuple[str, ...]:
    """The stems by which a wish is known again, in order, each once."""
    found: dict[str, None] = {}
    if language.is_spaced:
        weak = _stems(language.weak)
        for word in _CHUNK.findall(plain):
            if not is_stop_word(word) and len(word) > 1:
                stemmed = stem(word)
                found[f"-{stemmed}" if stemmed in weak else stemmed] = None
    else:
        for run in _UNSPACED_RUN.findall(plain):
            found.update(
                dict.fromkeys(run[at : at + _GRAM_CHARS] for at in range(len(run) - _GRAM_CHARS + 1))
            )
    return tuple(found)[:_TERMS_MAX]


def _keys(terms: Sequence[str]) -> set[Key]:
    """What a sentence may share with others. A weak term, which begins with a dash, makes none with another."""
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
def _stems(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(stem, words))
