"""Text that can be written as UTF-8, whatever came in: halves of characters are joined, or replaced."""

import re

_HALF = re.compile("[\ud800-\udfff]")
_FIRST_HALF_AT_THE_END = re.compile("[\ud800-\udbff]\\Z")


def writable(text: str) -> str:
    """The text, with U+FFFD for every half of a character that has lost the other one."""
    return join_surrogates(text, errors="replace")


def join_surrogates(text: str, *, errors: str = "strict") -> str:
    """The text, with halves of characters put together; a ValueError where one has lost the other."""
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", errors)


def split_half(text: str) -> tuple[str, str]:
    """A text, and the first half of a character at its end, whose other half may come with the next one."""
    found = _FIRST_HALF_AT_THE_END.search(text)
    return (text, "") if found is None else (text[:-1], text[-1])
