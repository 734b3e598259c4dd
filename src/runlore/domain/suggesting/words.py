"""The words of a command as it is written, each with the place where it stands."""

import re
from typing import NamedTuple

# One word: bare signs, escapes and quoted texts that stand together. Every character is read once.
_WORD = re.compile(r"""(?:[^\s'"\\;|&<>()]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|['"\\])+""", re.DOTALL)
_QUOTED = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)""", re.DOTALL)
_ESCAPED = re.compile(r'\\([$`"\\])')


class CommandWord(NamedTuple):
    """A word without its quotes, and where it stands in the text with them."""

    text: str
    start: int
    end: int


def words_of(text: str) -> tuple[CommandWord, ...]:
    """The words of a command, operators left out."""
    return tuple(
        CommandWord(unquote_word(found[0]), found.start(), found.end()) for found in _WORD.finditer(text)
    )


def unquote_word(word: str) -> str:
    """A word as the program is given it; what the shell would fill in stays as it is written."""
    if not any(sign in word for sign in "'\"\\"):
        return word
    return _QUOTED.sub(_inside, word)


def _inside(found: re.Match[str]) -> str:
    if found[1] is not None:
        return found[1]
    if found[2] is not None:
        return _ESCAPED.sub(r"\1", found[2])
    return "" if found[3] == "\n" else found[3]
