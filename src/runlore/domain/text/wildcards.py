"""Patterns in which `*` stands for any text, also none, and every other character for itself."""

STAR = "*"


def matches(pattern: str, text: str) -> bool:
    """The fixed pieces between the stars, each at its first place behind the one before: no retries."""
    first, *rest = pattern.split(STAR)
    if not rest:
        return pattern == text
    *middle, last = rest
    if not text.startswith(first):
        return False
    position = len(first)
    for piece in middle:
        found = text.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return len(text) - len(last) >= position and text.endswith(last)
