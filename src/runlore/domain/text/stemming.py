"""The pinned English stemmer, faster: the same rules in the same order, and the same stem for every word.

Beginnings and endings are looked up, the longest first, in place of found by bisection letter by letter. A
step is taken where the last letter is one that it looks for, and a word without `y` is not searched for one.
"""

import re
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snowballstemmer.among import Among
    from snowballstemmer.english_stemmer import EnglishStemmer
else:
    NAME = "snowballstemmer"
    if NAME in sys.modules:
        from snowballstemmer.english_stemmer import EnglishStemmer
    else:
        # The package begins by loading 34 languages, which takes longer than all else that a search reads:
        # English alone is loaded, under an empty stand-in for the package, which nobody sees afterwards.
        standing_in = ModuleType(NAME)
        standing_in.__path__ = find_spec(NAME).submodule_search_locations
        sys.modules[NAME] = standing_in
        try:
            from snowballstemmer.english_stemmer import EnglishStemmer
        finally:
            for name in [each for each in sys.modules if each.partition(".")[0] == NAME]:
                del sys.modules[name]


_STEMMED_CHARS_MIN = 3


class WordStemmer(EnglishStemmer):  # type: ignore[misc]
    """It keeps its work in itself: one for each thread, or a new one each time."""

    current: str
    cursor: int
    limit: int
    limit_backward: int

    def find_among(self, table: "list[Among]") -> int:
        found, lengths = _LISTS[id(table)]
        for length in lengths:
            end = self.cursor + length
            if end <= self.limit and (result := found.get(self.current[self.cursor : end])):
                self.cursor = end
                return result
        return 0

    def find_among_b(self, table: "list[Among]") -> int:
        found, lengths = _LISTS[id(table)]
        for length in lengths:
            start = self.cursor - length
            if start >= self.limit_backward and (result := found.get(self.current[start : self.cursor])):
                self.cursor = start
                return result
        return 0

    def _stem(self) -> bool:
        whole = _WHOLE.get(self.current)
        if whole is not None or self.limit < _STEMMED_CHARS_MIN:
            self.current = whole or self.current
            return True
        self.B_Y_found = False
        if "y" in self.current or "'" in self.current:
            super()._EnglishStemmer__r_prelude()
        first = _REGION.search(self.current)
        second = _PAIR.search(self.current, first.end()) if first else None
        self.I_p1 = first.end() if first else self.limit
        self.I_p2 = second.end() if second else self.limit
        self.limit_backward = 0
        for letters, step in _STEPS:
            if self.current[-1:] in letters:
                self.cursor = self.limit
                step(self)
        if self.B_Y_found:
            self.current = self.current.replace("Y", "y")
        return True


def _last_letters(*tables: str) -> set[str]:
    return {each.s[-1] for table in tables for each in getattr(EnglishStemmer, table) if each.s}


def _look_up(table: "list[Among]") -> tuple[dict[str, int], list[int]]:
    """What each text of a list comes to, and their lengths, the longest first."""
    assert all(each.method is None and each.result for each in table), (
        "a list of the stemmer is of another kind"
    )
    found = {each.s: each.result for each in table}
    return found, sorted({len(text) for text in found}, reverse=True)


# By what they are: the lists belong to the class, and live as long as it does.
_LISTS = {
    id(table): _look_up(table)
    for name, table in vars(EnglishStemmer).items()
    if name.startswith("a_") and isinstance(table, list)
}
# The last letters of what each step looks for, in its order.
_STEPS = tuple(
    (frozenset(letters), getattr(EnglishStemmer, f"_EnglishStemmer__r_Step_{name}"))
    for name, letters in (
        *(("1a", _last_letters("a_1", "a_2")), ("1b", _last_letters("a_5")), ("1c", "yY")),
        *(("2", _last_letters("a_7")), ("3", _last_letters("a_8"))),
        *(("4", _last_letters("a_9")), ("5", _last_letters("a_10"))),
    )
)
# Where the first region of a word begins: behind one of these beginnings, or a vowel and what is none.
_PAIR = re.compile("[aeiouy][^aeiouy]")
_REGION = re.compile(rf"\A(?:{'|'.join(each.s for each in EnglishStemmer.a_0)})|{_PAIR.pattern}")
# Words that have their stems by themselves.
_WHOLE = {
    each.s: EnglishStemmer.as_11[each.result - 1] if each.result > 0 else each.s
    for each in EnglishStemmer.a_11
}
