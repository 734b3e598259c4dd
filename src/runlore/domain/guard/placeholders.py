"""Values that stand where a secret would stand: masks, templates, references, types, plain words.

Documentation and code are full of them. Refusing them would teach people to work around the guard.
"""

import hashlib
from itertools import groupby

from runlore.domain.guard.names import words_of
from runlore.domain.guard.patterns import matches
from runlore.domain.guard.vocabulary import (
    CREDENTIAL_NOUNS,
    METHODS,
    PLACEHOLDER_PARTS,
    PLACEHOLDERS,
    PLAIN_WORDS,
)

# `$TOKEN`, `${TOKEN}`, `$(cmd)`, `{{ token }}`, `<token>`, `%TOKEN%`, `%s`, `[token]`, `@token@`, `:token`.
TEMPLATE = (
    rb"^(?:\$[A-Za-z_][\w.:-]*$|\$[{(\d]|\{\{|#\{|<|@[\w.]+@$|%[A-Za-z_]+%$|%[-+#0 ]?[a-zA-Z]$|%\("
    rb"|\{[\w.: -]*\}?$|\[[\w .-]*\]?$|__\w+__$|:[a-z_]+$|\\[({]|\{[\"']|\^\w+\^|\+[ \t]*[A-Za-z_])"
)
# What people type over a secret, or an ellipsis where they cut it.
MASK = (
    rb"[xX]{5,}|(?:^|[^A-Za-z])[xX]{3,}(?:$|[^A-Za-z])|(?:1234-){2,}|123456789012345"
    rb"|[*#\xb7]{3,}|\.{3,}|\xff{3,}"
)
CONSTANT = rb"^[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)+$"
PRODUCT_KEY = b"|".join(rb"^[A-Z0-9]{%d}(?:-[A-Z0-9]{%d}){3,7}$" % (size, size) for size in (4, 5, 6))
PRODUCT_PARTS_MIN = 3
TEMPLATE_OR_MASK = TEMPLATE + b"|" + MASK
RUN_CHARS = frozenset(b"xX0123456789aA_-.")
READ_CHARS_MAX = 128
"""How much of a value is read to see whether a person wrote it."""

# `config.token`, `settings::TOKEN`: also the form of some tokens, so the value decides.
DOTTED = rb"^[!&(\[]{0,3}[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+[\])!?;,]*$"
# `get_token()`, `environ["X"]`, `Optional<T>`, `nextToken`, `next_token`, `&token`, `/run/x`, `s3://`, `--x`.
CODE = (
    rb"^[!&(\[]{0,3}(?:[A-Za-z_$][\w$.]*[(\[<\]]|[A-Za-z_$][\w$.]{2,}\{"
    rb"|[a-z]+(?:[A-Z][a-z]+)+[;,]?$|[a-z]+(?:_[a-z]+)+[;,]?$"
    rb"|[&*!][a-z_]\w*$|(?:\.{0,2}|~)/[\w./-]*$|[a-z]+://|--?[a-z])"
)
INTERPOLATION = rb"\$\{|\{\{"
TYPE_NAME = rb"^[A-Z][a-z]+(?:[A-Z][a-z]+)*[;,?]*$"
NUMBER = (
    rb"^(?:\d+(?:-[a-z]+)+|v?\d{1,11}(?:[.,:/-]\d{1,6})*(?:%|[a-zA-Z]{1,7})?"
    rb"|0x[0-9a-fA-F]{1,8}|[<>~^]=?\d.*)$"
)

DIGEST_CHARS = 16
DOCUMENTED = frozenset(
    {
        "f56e323494a6ffc2",
        "2037abcaffb2b777",
        "3f370c9dd8225c63",
        "e4a5542bb7fd7b67",
        "a19f89ab3555eac1",
        "0b476bdf9acf2123",
        "eb540d2b6ee2a0a4",
        "37f8f09bdf12c2f2",
        "8731261cb72d8626",
        "49f777db995e8260",
        "27a9a42931dff7eb",
        "dc0fcf046c61640c",
        "4c98242dcadc8b29",
        "ea9bb1082cf95663",
        "3a8b61d0f636b007",
        "a6c814bc555ae62c",
        "2f21fd9c81678e39",
    }
)
"""Keys that vendors print in their public documentation, by the beginning of their SHA-256."""


def is_placeholder(value: str, data: bytes) -> bool:
    """Whether a value says of itself that it is not the secret; `data` is the same value in bytes."""
    if matches(TEMPLATE_OR_MASK, data) or not any(char.isalnum() for char in value):
        return True
    # A key of a product is written like the name of a constant, with digits in most of its groups.
    if matches(CONSTANT, data) and not (
        matches(PRODUCT_KEY, data)
        and sum(not part.isalpha() for part in value.split("-")) >= PRODUCT_PARTS_MIN
    ):
        return True
    if "EXAMPLE" in value or _is_filler(data) or is_documented(value):
        return True
    words = words_of(value[:READ_CHARS_MAX])
    if not PLACEHOLDERS.isdisjoint(words):
        return True
    lower = value.lower()
    if len(value) <= 24 and any(part in lower for part in PLACEHOLDER_PARTS):
        return True
    # `real_key` and `my-secret-token` are names of a secret.
    return len(words) <= 3 and words[-1] in CREDENTIAL_NOUNS and all(word.isalpha() for word in words)


def is_masked(data: bytes) -> bool:
    """Whether somebody typed over the value or cut it short."""
    return matches(MASK, data) or _is_filler(data)


def is_documented(value: str) -> bool:
    """Whether a value is a published example, such as the keys in the manuals of AWS and Google."""
    if value.endswith("EXAMPLE"):
        return True
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:DIGEST_CHARS] in DOCUMENTED


def is_code(data: bytes) -> bool:
    """Whether an unquoted value is an expression, a path or an address rather than the value itself."""
    return matches(CODE, data)


def is_dotted(data: bytes) -> bool:
    """Whether an unquoted value may be an attribute of something."""
    return matches(DOTTED, data)


def is_interpolated(data: bytes) -> bool:
    """Whether an unquoted value has a part that is filled in later."""
    return matches(INTERPOLATION, data)


def is_type_name(data: bytes) -> bool:
    """Whether an unquoted value is a capitalised name, as after a parameter in typed code."""
    return matches(TYPE_NAME, data)


def is_plain(value: str, data: bytes) -> bool:
    """Whether a value is an everyday word, a type, a number or a version."""
    return value.lower() in PLAIN_WORDS or matches(NUMBER, data)


def is_technical(value: str) -> bool:
    """Whether digits in a value come from the name of a method, as in `SHA-256` and `base64-encoded`."""
    return not METHODS.isdisjoint(value.lower().replace("_", "-").replace(".", "-").split("-"))


def _is_filler(data: bytes) -> bool:
    """Whether more than half of a value repeats one character that masks and fillers are made of."""
    head = data[:READ_CHARS_MAX]
    runs = (len(list(group)) for byte, group in groupby(head) if byte in RUN_CHARS)
    return max(runs, default=0) * 2 > len(head)
