"""Which texts can be kept at all: no database holds a NUL character or half of a surrogate pair."""


def is_storable(text: str) -> bool:
    """Whether every character can be written as UTF-8, and none ends a text."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def make_storable(text: str) -> str:
    """The text with a sign in place of what no database holds: an error has to be told whatever it holds."""
    if is_storable(text):
        return text
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()
