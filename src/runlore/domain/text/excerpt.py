"""Cutting a text: counted in code points, never inside a grapheme, the ellipsis inside the cap."""

from typing import TYPE_CHECKING

from runlore.domain.lazy import LazyModule

if TYPE_CHECKING:
    import regex
else:
    regex = LazyModule("regex")

ELLIPSIS = "…"
_GRAPHEME = r"\X"


def excerpt(text: str, chars_max: int) -> str:
    """The text, or as much of its beginning as fits with an ellipsis.

    Where the first grapheme is longer than the cap, only the ellipsis is left: half a sign is none.
    """
    if len(text) <= chars_max:
        return text
    if chars_max < 1:
        return ""
    room = chars_max - len(ELLIPSIS)
    end = 0
    # Whether a grapheme ends somewhere is told by the one character behind it: nothing further is looked at.
    for grapheme in regex.finditer(_GRAPHEME, text[: room + 1]):
        if grapheme.end() > room:
            break
        end = grapheme.end()
    return text[:end].rstrip() + ELLIPSIS
