"""The text as the finders see it: folded as the guard folds it, with every script's digits as plain ones.

Positions in `text` and `data` agree; `original_span` leads back to the text that was given.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runlore.domain.guard.view import fold_character

_DASHES = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63")
_WORD = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_ASCII_LAST = "\x7f"
_SCRIPTS_WITHOUT_SPACES = "\u2e80"


@dataclass(frozen=True, slots=True)
class PersonalFinding:
    """A span of personal data and which kind it is. It holds no part of the text."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PersonalView:
    """A folded text; `data` has one byte for each of its characters, a question mark beyond Latin-1.

    `dropped` holds where those stood that are not seen: each in front of that character.
    """

    text: str
    data: bytes
    dropped: Sequence[int] = ()

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Where a span stands in the text that was given, with what was dropped behind it."""
        return start + bisect_right(self.dropped, start), end + bisect_right(self.dropped, end)

    def is_digit(self, at: int) -> bool:
        return 0 <= at < len(self.data) and 0x30 <= self.data[at] <= 0x39

    def is_word(self, at: int) -> bool:
        """Whether a letter, a digit or an underscore stands here, of a script that puts spaces between words.

        Scripts without spaces run into a number that is no part of their words.
        """
        if not 0 <= at < len(self.text):
            return False
        sign = self.text[at]
        if sign <= _ASCII_LAST:
            return sign in _WORD
        return sign < _SCRIPTS_WITHOUT_SPACES and sign.isalnum()

    def touches_word(self, start: int, end: int) -> bool:
        """Whether a span is a piece of a longer word."""
        return self.is_word(start - 1) or self.is_word(end)

    def begins_alone(self, start: int, joints: bytes = b"-./") -> bool:
        """Whether what begins here continues no word, and no joint binds it to one."""
        if self.is_word(start - 1):
            return False
        return not (start > 0 and self.data[start - 1] in joints and self.is_word(start - 2))

    def ends_alone(self, end: int, joints: bytes = b"-./") -> bool:
        """Whether what ends here is not continued, by a word or a joint with one behind it."""
        if self.is_word(end):
            return False
        return not (end < len(self.data) and self.data[end] in joints and self.is_word(end + 1))

    def stands_alone(self, start: int, end: int, joints: bytes = b"-./") -> bool:
        """Whether a span is no part of a longer word, path, version or number."""
        return self.begins_alone(start, joints) and self.ends_alone(end, joints)


def personal_view(text: str) -> PersonalView:
    """The view of a text; plain ASCII is taken as it is."""
    if text.isascii():
        return PersonalView(text, text.encode("ascii"))
    changed = {sign: new for sign in set(text) if sign > _ASCII_LAST and (new := _plain(sign)) != sign}
    dropped = sorted(at for sign, new in changed.items() if not new for at in _places(text, sign))
    if changed:
        text = text.translate({ord(sign): new for sign, new in changed.items()})
    data = text.encode("latin-1", "replace")
    return PersonalView(text, data, [at - number for number, at in enumerate(dropped)])


def _places(text: str, sign: str) -> Iterator[int]:
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + 1)


def _plain(sign: str) -> str:
    """The plain form of a sign where it is a sign too, nothing where it is not seen, else the sign itself."""
    if sign in _DASHES:
        return "-"
    if sign.isdecimal():
        return str(unicodedata.decimal(sign))
    plain = fold_character(sign)
    return plain if len(plain) <= 1 else sign
