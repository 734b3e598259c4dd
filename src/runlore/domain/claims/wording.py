"""A statement as words and the punctuation behind them, which `subject` reads its meaning from.

Ranking reads a text through `analysis`, which throws away what matters here: order, colons, "not", `C++`.
"""

import re
from functools import cache
from typing import NamedTuple

from runlore.domain.claims.subject_words import CONTRACTED, COPULAS, OPERATORS
from runlore.domain.text import analysis, word_characters


class Word(NamedTuple):
    """A word without its outer punctuation, and the punctuation that followed it."""

    core: str
    tail: str = ""

    @property
    def is_label(self) -> bool:
        """Whether a colon follows; `::` belongs to a name."""
        return ":" in self.tail and "::" not in self.tail

    @property
    def ends_sentence(self) -> bool:
        """A stop after a whole word; "Mr." and "e.g." end nothing."""
        return len(self.core) >= 3 and "." not in self.core and any(stop in self.tail for stop in ".!?;。")


def fold_wording(text: str) -> str:
    """The text without differences of case, width and quotes, with single spaces."""
    return " ".join(analysis.fold_text(text.translate(_FULL_WIDTH | _INVISIBLE)).translate(_QUOTES).split())


def read_words(text: str) -> list[Word]:
    """The words of a folded text. Inner punctuation stays: `10:30`, `C++` and `https://x` are words."""
    spaced = _HALF_GLUED.sub(lambda match: f" {match[0]} ", text)
    spaced = _compiled(_UNSPACED_COPULA).sub(r" \1 ", _compiled(_UNSPACED_COLON).sub(" : ", spaced), count=1)
    tokens = spaced.split()
    words: list[Word] = []
    for index, token in enumerate(tokens):
        core, tail = _strip_punctuation(token)
        if _is_ratio(tokens, index):
            words.append(Word(token))
        elif core and core not in _DASHES and (words or core not in _BULLETS):
            *first, final = _expand(core)
            words += [*map(Word, first), Word(final, tail)]
        elif words and index == len(tokens) - 1 and _awaits_value(words[-1]):
            words.append(Word(token))  # the value is a punctuation mark
        elif words:
            words[-1] = Word(words[-1].core, words[-1].tail + tail)
    return words


def is_unspaced(text: str) -> bool:
    """Whether it has letters of a script that is written without spaces."""
    return _compiled(_UNSPACED).search(text) is not None


# Compiled when a text first needs them: they are large, and most commands read no text.
_compiled = cache(re.compile)
_UNSPACED = f"[{word_characters.UNSPACED}]"
_UNSPACED_COLON = f"(?<=[{word_characters.UNSPACED}]):|:(?=[{word_characters.UNSPACED}])"
# 是 is a copula except inside words such as 但是, 还是, 总是 and 是否.
_UNSPACED_COPULA = (
    f"(?<=[{word_characters.HAN}])(?<![但还要于可总就只凡或若正都也不])(不?是)(?!否|的)"
    f"(?=[{word_characters.UNSPACED}])"
)
_HALF_GLUED = re.compile(r"(?<=[\w'\"`)\]])(:=|!=|={1,3})(?=\s)|(?<=\s)(:=|!=|={1,3})(?=[\w'\"`({\[/.$~-])")
_FULL_WIDTH = str.maketrans({"：": " : ", "﹕": " : ", "＝": " = "})
_QUOTES = str.maketrans(dict.fromkeys("’‘ʼ´′", "'") | dict.fromkeys("“”„‟«»", '"'))
# A zero-width space divides words; marks of direction say nothing, and must not tell two statements apart.
_INVISIBLE = str.maketrans(
    {"\u200b": " "} | dict.fromkeys("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", "")
)
_OPENING, _CLOSING = "\"'`([{¿¡", "\"'`)]}.,;:!?。、"
_OPENER_OF = {")": "(", "]": "[", "}": "{"}
_DASHES = frozenset({"-", "--", "–", "—", "−", "•", "·", "▪", "◦"})
_BULLETS = frozenset({"*", "+", ">", "#", "##", "###"})


def _strip_punctuation(token: str) -> tuple[str, str]:
    core = re.sub(r"^\*\*(?=\w)", "", token).lstrip(_OPENING)
    end = len(core)
    while end and core[end - 1] in _CLOSING and _OPENER_OF.get(core[end - 1], "\0") not in core[:end]:
        end -= 1
    return re.sub(r"(?<=\w)\*\*$", "", core[:end]), core[end:]


def _expand(core: str) -> tuple[str, ...]:
    """Contractions as the words that they stand for."""
    if core in CONTRACTED:
        return CONTRACTED[core]
    if core.endswith("n't") and len(core) > 3:
        return (core[:-3], "not")
    if core.startswith("n'") and len(core) > 2:
        return ("ne", core[2:])
    return (core,)


def _is_ratio(tokens: list[str], index: int) -> bool:
    inner = 0 < index < len(tokens) - 1
    return (
        inner and tokens[index] == ":" and tokens[index - 1][-1].isdigit() and tokens[index + 1][0].isdigit()
    )


def _awaits_value(word: Word) -> bool:
    return word.is_label or word.core in OPERATORS or word.core in COPULAS
