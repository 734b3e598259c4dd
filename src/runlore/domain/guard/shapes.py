"""Tokens that can be told by their shape: a provider's prefix, alphabet and length.

The shapes are what the providers document or issue. A shape is tried only where the prefilter saw
its anchor, and its body has to look like a token: `ghp_xxxxxxxx` in a manual is not one.
"""

from collections.abc import Iterator
from enum import Enum, auto

from runlore.domain.guard.finding import SecretFinding
from runlore.domain.guard.patterns import WINDOW_CHARS, BytesMatch, compile_pattern
from runlore.domain.guard.placeholders import is_documented, is_masked
from runlore.domain.guard.randomness import is_repetitive, looks_random
from runlore.domain.guard.view import View
from runlore.domain.lazy import dataclass


class Body(Enum):
    """What a token's body has to look like, apart from its alphabet and length."""

    VARIED = auto()
    RANDOM = auto()
    UNMASKED = auto()
    ANY = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenShape:
    """A token's shape.

    `before` is how many characters of it may stand in front of the anchor. With `has_lead` the anchor
    is no part of the token but leads to it. A shape that `stands_free` has a prefix so short that it
    turns up in any encoded data.
    """

    rule: str
    anchors: tuple[str, ...]
    pattern: bytes
    body: Body = Body.VARIED
    before: int = 0
    has_lead: bool = False
    stands_free: bool = False


# A token ends where its alphabet ends; a full stop ends it only when no file name goes on behind it.
END = rb"(?:[^\w.~+-]|\.(?:\W|$)|$)"
FREE = frozenset(b" \t\r\n=:,;.\"'`")
RANDOM_CHARS_MIN = 8
SEARCH_CHARS = 512
"""How far behind its anchor a token may end when it begins in front of it."""


def find_shape(shape: TokenShape, view: View, start: int, end: int) -> SecretFinding | None:
    """The token of this shape around its anchor at `start` to `end`."""
    if shape.before:
        match = compile_pattern(shape.pattern).search(
            view.data, max(0, start - shape.before), end + SEARCH_CHARS
        )
        # The search may have found the next token instead, which has an anchor of its own.
        return _check(shape, view, match) if match is not None and match.start(1) <= start else None
    if view.continues_word(start) and not shape.has_lead:
        return None
    match = compile_pattern(shape.pattern).match(view.data, start, start + WINDOW_CHARS)
    if match is None or (shape.stands_free and not _stands_free(view.data, match)):
        return None
    return _check(shape, view, match)


def find_opaque(shape: TokenShape, view: View, start: int, end: int) -> Iterator[SecretFinding]:
    """The tokens of a shape without an anchor, in the run of token characters from `start` to `end`."""
    for match in compile_pattern(shape.pattern).finditer(view.data, start, end + 2):
        finding = _check(shape, view, match)
        if finding is not None:
            yield finding


def _check(shape: TokenShape, view: View, match: BytesMatch) -> SecretFinding | None:
    begin, stop = match.start(1), match.end(1)
    if view.continues_word(begin) or not _has_body(shape.body, view.text[begin:stop], view.data[begin:stop]):
        return None
    return SecretFinding(shape.rule, begin, stop)


def _stands_free(data: bytes, match: BytesMatch) -> bool:
    around = data[max(0, match.start(1) - 1) : match.start(1)] + data[match.end(1) : match.end(1) + 1]
    return all(byte in FREE for byte in around)


def _has_body(body: Body, token: str, data: bytes) -> bool:
    if body is Body.ANY:
        return True
    if is_masked(data) or is_documented(token):
        return False
    if body is Body.UNMASKED:
        return True
    if body is Body.RANDOM:
        return looks_random(token, RANDOM_CHARS_MIN)
    return not is_repetitive(token)
