"""Whether a value looks drawn at random, rather than written by a person or a program.

Words use few of the possible letter pairs, keep to one case and keep digits at their end. A random
value does none of that. No dictionary is needed, and a value is read once from left to right.
"""

import math
from collections import Counter
from itertools import pairwise

from runlore.domain.guard.vocabulary import COMMON_PAIRS

HEX = frozenset("0123456789abcdefABCDEF")
UUID_DASHES = (8, 13, 18, 23)
RANDOM_SCORE_MIN = 0.55
"""Words reach 0.2, camel case 0.4; random letters and digits have a mean of 1."""
READ_CHARS_MAX = 128
DIGITS_MIN = 12
BITS_MIN = 2.75
DIGITS_BITS_MIN = 2.0
LETTERS_MIN = 16
"""How long a value without any digit has to be: shorter ones are mostly names such as WebAuthn."""
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
        return False
    return random_chars(value) >= chars_min


def random_chars(value: str) -> int:
    """How many characters stand in parts that look random; parts are cut at punctuation."""
    return sum(len(part) for part in parts_of(value) if _is_random_part(part))


def parts_of(value: str) -> list[str]:
    """The runs of letters and digits in a value."""
    return "".join(char if char.isalnum() else " " for char in value).split()


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
    lower = value.lower()
    pairs = [lower[i : i + 2] for i in range(len(lower) - 1) if lower[i : i + 2].isalpha()]
    return sum(pair in COMMON_PAIRS for pair in pairs) / len(pairs) if pairs else 1.0


def _is_random_part(part: str) -> bool:
    if len(part) < 4 or part.isdigit():
        return False
    if len(part) >= 8 and HEX.issuperset(part) and not part.isalpha():
        return True
    pairs = [(_kind(a), _kind(b)) for a, b in pairwise(part)]
    # A capital before a small letter begins a word, in camel case as in a sentence.
    changes = sum(one != other and (one, other) != ("upper", "lower") for one, other in pairs) / len(pairs)
    return changes + (1 - wordlike_share(part)) >= RANDOM_SCORE_MIN


def _kind(char: str) -> str:
    return "digit" if char.isdigit() else "upper" if char.isupper() else "lower"
