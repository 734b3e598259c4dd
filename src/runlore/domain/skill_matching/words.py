"""From a text to what skills are matched by: stems of words, and the phrases that the tables name.

The words are those of `domain.text.analysis`: the same folding, stop words and n-grams. Two things are added.
Where the stemmer throws together what developers keep apart (`import`, `important`), a table keeps it apart.
And words that every request is full of (`make`, `go`, `need`) are weak: they count in full only where a
request has nothing else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import TypeAlias

from runlore.domain import limits
from runlore.domain.skill_matching.synonyms import NEAR, SAME, company
from runlore.domain.text.analysis import chunks_of, is_stop_word, stem, words_of_chunk

# Words that share a stem with another word of quite another meaning, and the stem that they get instead.
OWN_STEMS: Mapping[str, str] = {
    form: own
    for own, forms in {
        "important": "important importance importantly",
        "experiment": "experiment experiments experimental experimentation experimenting experimented",
        "production": "production",
        "authoriz": "authorize authorized authorizes authorizing authorization authorizations",
        "authority": "authority authorities",
        "animation": "animation animations animate animated animating",
        "relativity": "relativity relative relatively",
        "operator": "operator operators",
        "objective": "objective objectives",
        "executive": "executive executives",
        "settings": "settings",
        "customer": "customer customers",
        "fail": "fail fails failed failing failure failures",
    }.items()
    for form in forms.split()
}

_WEAK = """
    able actually add again agree ahead already always another anyone anything ask back bad begin best
    better bit bring call change come continue day different done easy else enough even ever every
    everything example feel file fine first get give go going gone good got great guess happen hard hear
    hello help hey hi hope idea instead interesting keep kind know last late later least leave let like
    little long look lot love made make many maybe mean mind much need never new next nice nothing oh ok
    okay old one other over part people please point possible pretty probably put quick quickly quite
    rather ready really right run said same say second see seem show simple simply since skill someone
    something sometimes soon sorry start still stop stuff sure take tell thank thanks thing think time
    today together told tomorrow try turn two use user using usual usually want way week well went wish
    work world would wrong year yes
"""


_Others: TypeAlias = dict[str, dict[str, None]]


@dataclass(frozen=True, kw_only=True)
class Company:
    """What else is looked for beside a stem: other names of the same, and words that are near it."""

    same: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


NO_COMPANY = Company()


class Reader:
    """Reads texts. What it remembers of words goes with it, so that erased content is kept nowhere."""

    def __init__(self) -> None:
        self._stems: dict[str, str] = {}
        self._chunks: dict[str, tuple[tuple[str, str], ...]] | None = {}

    def read(self, text: str) -> list[tuple[str, str]]:
        """The stems of a text in its order, each with its word; a phrase stands behind its first word."""
        pairs = list(chain.from_iterable(map(self._of_chunk, chunks_of(text))))
        phrases = _phrases()
        found: list[tuple[str, str]] = []
        for position, pair in enumerate(pairs):
            key = pair[0]
            if key[0] != _DROPPED:
                found.append(pair)
            if key in phrases:
                found += _phrases_at(pairs, position, phrases[key])
        return found

    def learn(self, stems: Mapping[str, str]) -> None:
        """Take over words that were read before, with their stems."""
        self._stems.update(stems)

    def freeze(self) -> "Reader":
        """One that knows the words read so far and remembers no others: many threads may use it."""
        reader = Reader()
        reader._stems, reader._chunks = self._stems, None
        return reader

    def _of_chunk(self, chunk: str) -> tuple[tuple[str, str], ...]:
        if self._chunks is None:
            return tuple((self._stems.get(word) or _stem_of(word), word) for word in words_of_chunk(chunk))
        known = self._chunks.get(chunk)
        if known is None:
            words = words_of_chunk(chunk)
            for word in words:
                if word not in self._stems:
                    self._stems[word] = _stem_of(word)
            known = self._chunks[chunk] = tuple((self._stems[word], word) for word in words)
        return known


def last_chunk(text: str) -> str:
    """The last word of a text, with all that hangs together in it."""
    chunks = chunks_of(text)
    return chunks[-1] if chunks else ""


def is_weak(key: str) -> bool:
    """Whether a stem says little about what somebody wants."""
    return key in _weak()


def is_only_weak(key: str) -> bool:
    """Whether a weak stem is no other name of anything: it counts in names and triggers alone."""
    return key in _weak() and not company_of(key).same


def company_of(key: str) -> Company:
    """What a stem or phrase is also found by."""
    return _companies().get(key, NO_COMPANY)


# Marks what is no word of its own and still part of a phrase, as `up` is in `set up`.
_DROPPED = "\0"
_DIGITS_MIN = 3


def _stem_of(word: str) -> str:
    if is_stop_word(word) or (word.isdecimal() and len(word) < _DIGITS_MIN):
        return _DROPPED + word
    return OWN_STEMS.get(word) or stem(word)


def _stems_of(name: str) -> tuple[str, ...]:
    """The stems of a name of the tables, which is one word or several with blanks between them."""
    return tuple(_stem_of(part) for part in name.replace("-", "").split())


def _key_of(name: str) -> str:
    return " ".join(_stems_of(name)).replace(_DROPPED, "")


@dataclass(frozen=True, kw_only=True)
class _Phrase:
    """A phrase of the tables: its stems, as it is written there, and what it is known by."""

    stems: tuple[str, ...]
    name: str
    key: str


def _phrases_at(
    pairs: Sequence[tuple[str, str]], position: int, phrases: Iterable[_Phrase]
) -> list[tuple[str, str]]:
    return [
        (phrase.key, phrase.name)
        for phrase in phrases
        if len(pairs) - position >= len(phrase.stems)
        and all(pairs[position + place][0] == stem for place, stem in enumerate(phrase.stems))
    ]


@cache
def _weak() -> frozenset[str]:
    return frozenset(_stem_of(word) for word in _WEAK.split())


@cache
def _phrases() -> Mapping[str, tuple[_Phrase, ...]]:
    """The phrases of the tables by their first stem."""
    names = sorted({name for table in (SAME, NEAR) for name in company(table) if " " in name}, reverse=True)
    phrases = {
        stems: _Phrase(stems=stems, name=name, key=_key_of(name))
        for name in names
        for stems in [_stems_of(name)]
    }
    found: dict[str, list[_Phrase]] = {}
    for stems in sorted(phrases):
        found.setdefault(stems[0], []).append(phrases[stems])
    return {first: tuple(those) for first, those in found.items()}


@cache
def _companies() -> Mapping[str, Company]:
    same, near = _by_key(SAME), _by_key(NEAR)
    return {
        key: Company(same=tuple(same.get(key, ())), near=tuple(_near(key, same, near)))
        for key in {*same, *near}
    }


def _near(key: str, same: _Others, near: _Others) -> Iterable[str]:
    """What is near a name: near any name of the same, under any of its own names."""
    own = dict.fromkeys((key, *same.get(key, ())))
    others = dict.fromkeys(other for name in own for other in near.get(name, ()))
    return dict.fromkeys(
        name for other in others for name in (other, *same.get(other, ())) if name not in own
    )


def _by_key(table: str) -> _Others:
    found: _Others = {}
    for name, others in company(table).items():
        key = _key_of(name)
        found.setdefault(key, {}).update(
            dict.fromkeys(other for other in map(_key_of, others) if other != key)
        )
    return found


# What is read of a request; of a long one the beginning and the end.
QUERY_CHARS_MAX = limits.QUERY_CHARS_MAX
QUERY_WORDS_MAX = 64
EVIDENT_WORDS = 2


class Way(StrEnum):
    """How a word of a request meets one of a skill; the best first."""

    EXACT = "exact"
    SAME = "same"
    STEM = "stem"
    NEAR = "near"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestWord:
    """A word of a request, its stem, and every stem that it may be found by: itself first, as EXACT, for
    whether the word is the same as well is known of a skill only."""

    word: str
    key: str
    ways: tuple[tuple[Way, str], ...]
    weak: bool = False

    @property
    def words(self) -> int:
        return self.key.count(" ") + 1


@dataclass(frozen=True, kw_only=True)
class SkillRequest:
    """A user's turn as it is matched: what it asks for, each once, in its order."""

    words: tuple[RequestWord, ...]
    is_weak: bool = False

    @property
    def needed(self) -> int:
        """How many of its telling words, which are all but the weak ones, a skill has to say where none of
        them names it. One that only a weak word is left of has to be named by that."""
        if self.is_weak:
            return sum(asked.words for asked in self.words) + 1
        return min(EVIDENT_WORDS, sum(not asked.weak for asked in self.words))


def request_of(query: str, reader: Reader) -> SkillRequest:
    """Read a query once, within bounds: of a long one, as many words of its beginning as of its end.

    Where all words are weak, the last is what it is about, if it ends in one: `how do I use make`, but
    neither `go on` nor `make it`.
    """
    half = QUERY_CHARS_MAX // 2
    if len(query) > QUERY_CHARS_MAX:
        query = f"{query[:half]}\n{query[-half:]}"
    distinct: dict[str, str] = {}
    for key, word in reader.read(query):
        distinct.setdefault(key, word)
    if all(map(is_weak, distinct)):
        last = reader.read(last_chunk(query))[-1:]
        return SkillRequest(words=_assign_stems(last, whole_weak=True), is_weak=True)
    words = list(distinct.items())
    if len(words) > QUERY_WORDS_MAX:
        half = QUERY_WORDS_MAX // 2
        words = [*words[:half], *words[-half:]]
    return SkillRequest(words=_assign_stems(words))


def _assign_stems(words: Sequence[tuple[str, str]], *, whole_weak: bool = False) -> tuple[RequestWord, ...]:
    """The words with their ways. A stem belongs to the word that it is the stem of, else to the first that it
    is another name of, else to the first that it is near to."""
    owners = {key: key for key, _ in words}
    for key, _ in words:
        for other in company_of(key).same:
            owners.setdefault(other, key)
    for key, _ in words:
        for other in company_of(key).near:
            owners.setdefault(other, key)
    return tuple(
        RequestWord(
            word=word,
            key=key,
            ways=tuple(
                (way, other)
                for way, other in ways_of(key)
                if owners[other] == key and not (whole_weak and way is Way.NEAR)
            ),
            weak=not whole_weak and is_weak(key),
        )
        for key, word in words
    )


def ways_of(key: str) -> Iterator[tuple[Way, str]]:
    """Every stem that a stem of a request may be found by."""
    yield Way.EXACT, key
    company = company_of(key)
    for other in company.same:
        yield Way.SAME, other
    for other in company.near:
        yield Way.NEAR, other
