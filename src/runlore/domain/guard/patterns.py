"""RE2, typed: patterns over one byte a character, compiled when first asked for.

RE2 reads its input once and cannot be made to run away, which is why no other engine is used here.
"""

from collections.abc import Iterator
from functools import cache
from typing import Protocol, cast

import re2

WINDOW_CHARS = 4096
"""How far a pattern may look from where it is tried: a hit costs at most this much."""


class BytesMatch(Protocol):
    """The part of a match the rules use."""

    def start(self, group: int = 0, /) -> int: ...
    def end(self, group: int = 0, /) -> int: ...


class Pattern(Protocol):
    """The part of a compiled pattern the rules use."""

    def match(self, data: bytes, start: int = ..., end: int = ..., /) -> BytesMatch | None: ...
    def search(self, data: bytes, start: int = ..., end: int = ..., /) -> BytesMatch | None: ...
    def finditer(self, data: bytes, start: int = ..., end: int = ..., /) -> Iterator[BytesMatch]: ...


@cache
def compile_pattern(pattern: bytes) -> Pattern:
    """A pattern ready for use; each one is compiled once in the life of the process."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return cast("Pattern", re2.compile(pattern, options))


def matches(pattern: bytes, data: bytes) -> bool:
    """Whether a short value has a pattern anywhere in it."""
    return compile_pattern(pattern).search(data, 0, WINDOW_CHARS) is not None
