"""Text from records as a person may see it: control, hidden and bidirectional characters made visible.

A hidden character is written as its code, such as `\\x1b`. Where a text already reads like such a code,
its own backslash is written as one, so that what is shown can be read back in one way only.
"""

import re
import unicodedata

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
# Fillers and blanks whose category does not tell that nobody sees them.
_BLANKS = frozenset(
    ["\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u2065", "\u2800", "\u3164", "\uffa0"]
    + [chr(code) for code in range(0xFFF0, 0xFFF9)]
)
# Signs of Arabic, Syriac and Kaithi that stand among the format characters and have a shape.
_SIGNS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_JOINERS = frozenset("\u200c\u200d")
# Scripts whose letters change their shape beside a joiner: Arabic and its kin, and those of India.
_JOINING_SCRIPTS = (
    *((0x0600, 0x0DFF), (0x0F00, 0x109F), (0x1700, 0x18AF), (0x1900, 0x1CFF), (0xA800, 0xABFF)),
    *((0xFB50, 0xFDFF), (0xFE70, 0xFEFC), (0x10A00, 0x11FFF)),
)
_VIRAMA = 9
_PLAIN = frozenset("\n\r\t\\")
# Whether they are seen for what they are, what stands beside them decides.
_DEPENDING = _JOINERS | {"\\"}
# What has two looks, between which a variation selector chooses: signs, digits, letters without case.
_VARIED = frozenset({"So", "Sm", "Po", "Pd", "Nd", "Lo"})
_READS_AS_CODE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})")


def escape(text: str, *, keep_newlines: bool = False) -> str:
    """Every character that could move the cursor, reorder the line or hide, written as its code."""
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    doubtful = _doubtful(text) - ({"\n"} if keep_newlines else set())
    if not doubtful:
        return text
    # Padded, so that every character has one before it and one behind it.
    padded = f" {text} "
    return "".join(
        _code(character) if character in doubtful and _is_unclear(padded, index) else character
        for index, character in enumerate(text, start=1)
    )


def hidden_characters(text: str) -> frozenset[str]:
    """The characters of a text that nobody sees, or that reorder what is seen; plain white space is none."""
    if text.isascii() and text.isprintable():
        return frozenset()
    doubtful = _doubtful(text) - _PLAIN
    padded = f" {text} "
    return frozenset(
        character
        for index, character in enumerate(text if doubtful else "", start=1)
        if character in doubtful and _is_unclear(padded, index)
    )


def is_shown(character: str) -> bool:
    """Whether a person sees anything of a character, however it stands."""
    return not (character.isspace() or character in _JOINERS or _is_hidden(character))


def _code(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _doubtful(text: str) -> set[str]:
    """The characters of a text that are unclear somewhere; most texts have none."""
    return {each for each in set(text) if each in _DEPENDING or _is_varying(each) or _is_hidden(each)}


def _is_varying(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\u180b" <= character <= "\u180f"


def _is_unclear(text: str, index: int) -> bool:
    character, before = text[index], text[index - 1]
    code = ord(character)
    if character == "\\":
        return _READS_AS_CODE.match(text, index) is not None
    if character in _JOINERS:
        return not _joins(before, text[index + 1])
    if 0xFE00 <= code <= 0xFE0F:
        return unicodedata.category(before) not in _VARIED or before in _BLANKS
    if 0x180B <= code <= 0x180F:
        return not "\u1820" <= before <= "\u18aa"
    return _is_hidden(character)


def _is_hidden(character: str) -> bool:
    if "\U000e0000" <= character <= "\U000e0fff" or character in _BLANKS:
        return True
    return unicodedata.category(character) in _HIDDEN_CATEGORIES and character not in _SIGNS


def _joins(before: str, after: str) -> bool:
    """Whether a joiner changes what is seen: a conjunct, a letter's form, or an emoji made of two."""
    if unicodedata.combining(before) == _VIRAMA:
        return True
    if _is_pictograph(after):
        return before == "\ufe0f" or _is_pictograph(before)
    return _is_joining(before) and _is_joining(after)


def _is_pictograph(character: str) -> bool:
    if character < "\u2190" or character in _BLANKS:
        return False
    return "\U0001f000" <= character <= "\U0001fbff" or unicodedata.category(character) in ("So", "Sm")


def _is_joining(character: str) -> bool:
    code = ord(character)
    is_letter = unicodedata.category(character) in ("Lo", "Lm", "Mn", "Mc")
    return is_letter and any(first <= code <= last for first, last in _JOINING_SCRIPTS)


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
