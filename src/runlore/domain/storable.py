"""Which texts can be kept at all: no database holds a NUL character or half of a surrogate pair."""


def is_storable(text: str) -> bool:
    """Whether every character can be written as UTF-8, and none ends a text."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
