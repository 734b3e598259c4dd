"""What is given to a name, and whether that may be a secret.

Whether a value looks drawn at random, rather than written by a person or a program.

Words use few of the possible letter pairs, keep to one case and keep digits at their end. A random
value does none of that. No dictionary is needed, and a value is read once from left to right.
"""

import math
import re
from collections import Counter
from enum import Enum, auto

from runlore.domain.guard.patterns import compile_pattern
from runlore.domain.guard.view import View
from runlore.domain.guard.vocabulary import (
    COMMON_PAIRS,
    Promise,
    is_code,
    is_dotted,
    is_interpolated,
    is_placeholder,
    is_plain,
    is_technical,
    is_type_name,
)
from runlore.domain.lazy import dataclass

HEX = frozenset("0123456789abcdefABCDEF")
UUID_DASHES = (8, 13, 18, 23)
RANDOM_SCORE_MIN = 0.55
"""Words reach 0.2, camel case 0.4; random letters and digits have a mean of 1."""
READ_CHARS_MAX = 128
DIGITS_MIN = 12
BITS_MIN = 2.75
DIGITS_BITS_MIN = 2.0
LETTERS_MIN = 16
FEW_LETTERS_MIN = 10
FEW_LETTERS_SCORE_MIN = 0.8
"""How long a value without any digit has to be: shorter ones are mostly names such as WebAuthn, unless next
to nothing of them is a word."""
PART = re.compile(r"[^\W_]+")
PAIR = re.compile(r"(?=([^\W\d_]{2}))")
# A capital before a small letter begins a word, in camel case as in a sentence.
CHANGE = re.compile(r"\d(?=\D)|[^\W\d_A-Z](?=[\dA-Z])|[A-Z](?=\d)")
SEQUENCES = ("0123456789", "abcdefghijklmnopqrstuvwxyz", "1234567890", "qwertyuiop")
SEQUENCE_CHARS = 8


def looks_random(value: str, chars_min: int) -> bool:
    """Whether a value without spaces is as good as random and has `chars_min` characters that are."""
    value = value[:READ_CHARS_MAX]
    if len(value) < chars_min or is_repetitive(value) or is_sequence(value):
        return False
    if is_uuid(value) or is_hex(value):
        return True
    if value.isdigit():
        return len(value) >= DIGITS_MIN
    if len(value) < LETTERS_MIN and not any(char.isdigit() for char in value):
        return len(value) >= FEW_LETTERS_MIN and value.isalpha() and _score(value) >= FEW_LETTERS_SCORE_MIN
    return random_chars(value) >= chars_min


def random_chars(value: str) -> int:
    """How many characters stand in parts that look random; parts are cut at punctuation."""
    return sum(len(part) for part in parts_of(value) if _is_random_part(part))


def parts_of(value: str) -> list[str]:
    """The runs of letters and digits in a value."""
    return PART.findall(value)


def is_uuid(value: str) -> bool:
    return (
        len(value) == 36
        and all(value[at] == "-" for at in UUID_DASHES)
        and HEX.issuperset(value.replace("-", ""))
        and len(value) - value.count("-") == 32
    )


def is_hex(value: str) -> bool:
    """Whether a value is hexadecimal, long, and neither a number nor a word."""
    return len(value) >= 16 and HEX.issuperset(value) and not value.isdigit() and not value.isalpha()


def is_repetitive(value: str) -> bool:
    """Whether a value is built from so few characters that nobody drew it at random."""
    bits_min = DIGITS_BITS_MIN if value.isdigit() else BITS_MIN
    return entropy(value) < min(bits_min, 0.7 * math.log2(len(value) or 1))


def is_sequence(value: str) -> bool:
    """Whether most of a value counts up a well-known row: the alphabet, the digits, a keyboard."""
    lower = value.lower()
    covered = sum(len(row) for row in SEQUENCES for at in [lower.find(row[:SEQUENCE_CHARS])] if at >= 0)
    return covered * 2 > len(value)


def entropy(value: str) -> float:
    """Shannon entropy in bits a character."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())


def wordlike_share(value: str) -> float:
    """The share of neighbouring letters that are a common pair; 1 when there are no two letters."""
    pairs = PAIR.findall(value.lower())
    return sum(map(COMMON_PAIRS.__contains__, pairs)) / len(pairs) if pairs else 1.0


def _is_random_part(part: str) -> bool:
    if len(part) < 4 or part.isdigit():
        return False
    if len(part) >= 8 and HEX.issuperset(part) and not part.isalpha():
        return True
    return _score(part) >= RANDOM_SCORE_MIN


def _score(part: str) -> float:
    """How random letters and digits look: how often their kind changes, and how few pairs words have."""
    return len(CHANGE.findall(part)) / (len(part) - 1) + 1 - wordlike_share(part)


VALUE_CHARS_MAX = 512
WHOLE_CHARS_MAX = 16_384
QUOTES = b"\"'`"
# An environment is printed with a zero byte behind each of its values.
UNQUOTED = rb"[^\s\"'`<;\x00]{1,512}"
UNQUOTED_REST = rb"[^\s\"'`<;\x00]+"
# A literal line end inside a string, the next query parameter, the next pair of a list.
CUT = rb"\\[nrt]|&(?:[\w.-]+=|$)|,[\w.-]+="
# Not a value at all, but the next name.
NEXT_NAME = rb"[A-Za-z_]{2,40}=[\w\"']"
ENDING = b".,;:!?)]}*_\\"
ENDS_LINE = frozenset(b"\r\n#;|<>=&\\/\"'`)]}-")

SIGNS = frozenset("!#$%^&*+?~")
"""Signs of passwords that are not signs of paths, addresses and slugs."""

RANDOM_CHARS_MIN = {
    Promise.SERVICE: 16,
    Promise.KEY: 20,
    Promise.CREDENTIAL: 10,
    Promise.EXPLICIT: 10,
    Promise.PASSWORD: 10,
}
"""How many random characters a value has to have to be a secret by itself."""
BELOW_CHARS_MIN = 16
MIXED_CHARS_MIN = 8
EXPLICIT_CHARS_MIN = 3
PROSE_CHARS_MIN = 6
TOKEN_CHARS_MIN = 12
PICKED_CHARS_MIN = 8
SHORT_DIGEST = re.compile("[0-9a-f]{7,12}")
"""How a commit is written in front of what it is called."""


class Join(Enum):
    """What stands between a name and its value."""

    WRAPPED = auto()
    ASSIGN = auto()
    ATTRIBUTE = auto()
    COLON = auto()
    BELOW = auto()
    LISTED = auto()
    HEADED = auto()
    ELEMENT = auto()
    CALL = auto()
    ARGUMENT = auto()
    CELL = auto()
    PROSE = auto()
    SPACE = auto()


FIRM = frozenset({Join.ASSIGN, Join.ATTRIBUTE, Join.ELEMENT})
"""Joins that give a value to a name and do nothing else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """A value as it stands in the view.

    `alone` says that no further word follows it in its line, `tight` that a bare `=` stands before it.
    """

    text: str
    data: bytes
    start: int
    end: int
    join: Join
    quoted: bool
    alone: bool
    tight: bool


def take_value(view: View, opener: tuple[int, int], join: Join, *, tight: bool = False) -> Value | None:
    """The value behind `opener`: up to the closing quote, or up to a space when there is none."""
    start = opener[1]
    quote = next((byte for byte in view.data[slice(*opener)] if byte in QUOTES), None)
    end = _closing_quote(view.data, start, quote) if quote is not None else None
    quoted = end is not None
    if end is None:
        end = _unquoted_end(view.data, start)
    if end <= start or (not quoted and _is_type_argument(view.data, end)):
        return None
    return Value(
        text=view.text[start:end],
        data=view.data[start:end],
        start=start,
        end=end,
        join=join,
        quoted=quoted,
        alone=not _line_goes_on(view.data[end : end + 16]),
        tight=tight,
    )


def whole_end(data: bytes, value: Value) -> int:
    """Where a value really ends: one that is longer than what was judged is a secret to its end, and a sign
    behind it may be its last."""
    if value.end - value.start < VALUE_CHARS_MAX - len(ENDING):
        return value.end + (not value.quoted and data[value.end : value.end + 1] in {b"!", b"?", b"*"})
    rest = compile_pattern(UNQUOTED_REST).match(data, value.end, value.end + WHOLE_CHARS_MAX)
    return rest.end() if rest else value.end


def is_secret(value: Value, promise: Promise, *, prose_name: bool) -> bool:
    if " " in value.text or "\t" in value.text or is_placeholder(value.text, value.data):
        return False
    if not value.quoted and _is_expression(value, promise):
        return False
    if value.join in {Join.WRAPPED, Join.BELOW, Join.HEADED}:
        is_given = value.join is not Join.HEADED or (promise >= Promise.EXPLICIT and value.alone)
        return is_given and looks_random(value.text, BELOW_CHARS_MIN)
    if looks_random(value.text, RANDOM_CHARS_MIN[promise]):
        return (
            promise is not Promise.SERVICE
            or value.join in FIRM
            or value.join in {Join.COLON, Join.ARGUMENT, Join.CALL}
        )
    if promise is Promise.CREDENTIAL:
        return len(value.text) >= MIXED_CHARS_MIN and (
            _has_signs(value)
            or (value.join in FIRM and _is_mixed(value))
            or (value.join is Join.PROSE and value.quoted and is_made_up(value.text))
        )
    return promise > Promise.CREDENTIAL and _is_plausible(value, promise, prose_name=prose_name)


def is_password(text: str) -> bool:
    """Whether what stands where a password belongs may be one."""
    data = text.encode("latin-1", "replace")
    return len(text) >= EXPLICIT_CHARS_MIN and not is_placeholder(text, data) and not is_plain(text, data)


def is_mixed(text: str) -> bool:
    """Whether it looks like a password too: where something else might stand as well."""
    return len(text) >= PROSE_CHARS_MIN and is_password(text) and _has_mixed_letters(text)


def is_made_up(text: str) -> bool:
    """Whether nobody would write it who does not mean a password."""
    return _has_marks(text) and is_mixed(text)


def is_picked(text: str) -> bool:
    """Whether it is made up, or drawn at random, and no word."""
    return (_has_marks(text) or looks_random(text, PICKED_CHARS_MIN)) and is_mixed(text)


def is_odd(text: str) -> bool:
    """Whether neither prose nor code has it: letters with digits, and signs or no words."""
    bare = text.rstrip(".?:")
    if not any(map(str.isdigit, bare)) or HEX.issuperset(bare) or is_uuid(bare):
        return False
    if SIGNS.isdisjoint(bare) and not looks_random(bare, PICKED_CHARS_MIN):
        return False
    return is_picked(bare) and not is_code(text.encode("latin-1", "replace"))


def _has_marks(text: str) -> bool:
    return (
        any(map(str.isdigit, text))
        and any(map(str.islower, text))
        and (any(map(str.isupper, text)) or not SIGNS.isdisjoint(text))
    )


def is_token(text: str) -> bool:
    """Whether what stands where a token belongs may be one."""
    return not is_placeholder(text, text.encode("latin-1", "replace")) and looks_random(text, TOKEN_CHARS_MIN)


def _is_plausible(value: Value, promise: Promise, *, prose_name: bool) -> bool:
    """Whether a value that does not look random may be a password or a key somebody made up."""
    if len(value.text) < EXPLICIT_CHARS_MIN or is_plain(value.text, value.data):
        return False
    if value.join in FIRM:
        return value.quoted or value.alone or value.tight or _is_mixed(value)
    if promise is Promise.EXPLICIT and not value.alone and SHORT_DIGEST.fullmatch(value.text):
        return False
    if value.join is Join.COLON and not (value.text.isalpha() and prose_name and promise is Promise.EXPLICIT):
        return value.quoted or (value.alone and not is_type_name(value.data)) or _is_mixed(value)
    if len(value.text) < PROSE_CHARS_MIN or not (value.quoted or value.alone or promise is Promise.PASSWORD):
        return False
    return _is_mixed(value) or (value.quoted and value.join is Join.PROSE)


def _is_expression(value: Value, promise: Promise) -> bool:
    if is_code(value.data) or (value.join is Join.ASSIGN and is_interpolated(value.data)):
        return True
    if not is_dotted(value.data) or looks_random(value.text, RANDOM_CHARS_MIN[Promise.KEY]):
        return False
    # Two words with a dot between them and a number behind are a password that somebody made up.
    return promise is not Promise.PASSWORD or not (
        looks_random(value.text, RANDOM_CHARS_MIN[promise])
        or (value.text[-2:].isdigit() and is_made_up(value.text))
    )


def _is_mixed(value: Value) -> bool:
    """Whether letters stand together with digits or signs, as they do in made-up passwords only."""
    return _has_mixed_letters(value.text)


def _has_mixed_letters(text: str) -> bool:
    text = text[:READ_CHARS_MAX]
    if is_technical(text) or not any(char.isalpha() for char in text):
        return False
    if any(char.isdigit() for char in text) or not SIGNS.isdisjoint(text):
        return True
    return text.isalpha() and looks_random(text, FEW_LETTERS_MIN)


def _has_signs(value: Value) -> bool:
    return value.join is not Join.PROSE and not SIGNS.isdisjoint(value.text)


def _line_goes_on(after: bytes) -> bool:
    """Whether another word follows, as it does in a sentence."""
    rest = after.lstrip(b" \t")
    return len(rest) < len(after) and bool(rest) and rest[0] not in ENDS_LINE


def _is_type_argument(data: bytes, end: int) -> bool:
    """Whether the value is followed by `<`, and not by a closing tag."""
    return data[end : end + 1] == b"<" and data[end + 1 : end + 2] != b"/"


def _closing_quote(data: bytes, start: int, quote: int) -> int | None:
    end = data.find(quote, start, start + VALUE_CHARS_MAX)
    if end < 0 or data.find(b"\n", start, end) >= 0:
        return None
    return start + len(data[start:end].rstrip(b"\\"))


def _unquoted_end(data: bytes, start: int) -> int:
    run = compile_pattern(UNQUOTED).match(data, start, start + VALUE_CHARS_MAX)
    if run is None or compile_pattern(NEXT_NAME).match(data, start, run.end()):
        return start
    cut = compile_pattern(CUT).search(data, start, run.end())
    end = cut.start() if cut else run.end()
    # A value cut short with dots keeps them, so that it is seen as cut.
    return end if data[start:end].endswith(b"...") else start + len(data[start:end].rstrip(ENDING))
