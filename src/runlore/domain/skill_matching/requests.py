"""A user's turn as it is matched: its words, each with every stem that it may be found by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from runlore.domain import limits
from runlore.domain.skill_matching.words import Reader, company_of, is_weak, last_chunk

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
