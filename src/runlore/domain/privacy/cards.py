"""Payment card numbers: a known issuer, a length that it uses, and the Luhn check."""

from collections.abc import Iterator

from runlore.domain.guard.patterns import compile_pattern
from runlore.domain.privacy.check_digits import luhn
from runlore.domain.privacy.view import PersonalFinding, PersonalView

KIND = "card"
_START = rb"\b[2-6]\d{3}(?:\d{9}|[ -]\d{4})"
_NUMBER = rb"\d{13,19}|\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{1,4}(?:[ -]\d{3})?|\d{4}[ -]\d{6}[ -]\d{4,5}"
_CHARS_MAX = 24

# From, to, and the lengths: the first digits are compared as a text.
ISSUERS: tuple[tuple[str, str, frozenset[int]], ...] = (
    ("2200", "2204", frozenset({16, 17, 18, 19})),
    ("2221", "2720", frozenset({16})),
    ("300", "305", frozenset({14, 16})),
    ("309", "309", frozenset({14, 16})),
    ("34", "34", frozenset({15})),
    ("3528", "3589", frozenset({16, 17, 18, 19})),
    ("36", "36", frozenset({14, 16})),
    ("37", "37", frozenset({15})),
    ("38", "39", frozenset({14, 16})),
    ("4", "4", frozenset({13, 16, 19})),
    ("50", "50", frozenset(range(13, 20))),
    ("51", "55", frozenset({16})),
    ("56", "58", frozenset(range(13, 20))),
    ("60", "69", frozenset(range(13, 20))),
)


def find_cards(view: PersonalView) -> Iterator[PersonalFinding]:
    at = 0
    search = compile_pattern(_START).search
    while (start := search(view.data, at)) is not None:
        begin = start.start()
        at = begin + 1
        # With a plus before it, it is somebody's phone number.
        if not view.begins_alone(begin) or view.data[max(0, begin - 1) : begin] == b"+":
            continue
        number = compile_pattern(_NUMBER).match(view.data, begin, begin + _CHARS_MAX)
        if number is None:
            continue
        end = number.end()
        if is_card(view.data[begin:end]) and view.ends_alone(end):
            yield PersonalFinding(KIND, begin, end)
            at = end


def is_card(written: bytes) -> bool:
    """Whether the digits, written with one kind of sign between them or none, are a card's number."""
    if b" " in written and b"-" in written:
        return False
    digits = written.replace(b" ", b"").replace(b"-", b"")
    text = digits.decode("ascii")
    issued = any(
        first <= text[: len(first)] <= last and len(text) in lengths for first, last, lengths in ISSUERS
    )
    return issued and luhn(digits) and len(set(text)) > 1
