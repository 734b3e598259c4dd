"""The pinned English stemmer, faster: the same rules in the same order, and the same stem for every word.

Beginnings and endings are looked up, the longest first, in place of found by bisection letter by letter; a
word without `y` is not searched for one.
"""

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

    def _EnglishStemmer__r_prelude(self) -> bool:  # noqa: N802
        if "y" in self.current or "'" in self.current:
            return bool(super()._EnglishStemmer__r_prelude())
        self.B_Y_found = False
        return True


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
