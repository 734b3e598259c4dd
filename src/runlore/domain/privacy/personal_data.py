"""Redaction of personal data: e-mail and IP addresses, phone and card numbers, IBANs, national ids.

What is found becomes `<redacted:KIND>`. Addresses that mean "this machine" or "any" stay (127.0.0.1, 0.0.0.0,
::1); those of private networks go, because they tell where somebody sits. Dates, times, versions, hashes and
plain numbers stay. Only what has a shape is found: names and postal addresses are not.
"""

from collections.abc import Callable, Iterable, Iterator

from runlore.domain.guard.finding import MARKER
from runlore.domain.privacy.addresses import find_emails, find_v4, find_v6
from runlore.domain.privacy.checked_numbers import find_cards, find_ibans, find_national_ids
from runlore.domain.privacy.phones import find_phones
from runlore.domain.privacy.view import PersonalFinding, PersonalView, personal_view

ROUNDS_MAX = 8
RULE_CHARS_MAX = 48
_RULE_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")

# Where two kinds claim the same place the earlier one has it: what has a check digit before what has none.
FINDERS: tuple[Callable[[PersonalView], Iterator[PersonalFinding]], ...] = (
    find_emails,
    find_ibans,
    find_national_ids,
    find_cards,
    find_v6,
    find_v4,
    find_phones,
)


def redact_personal_data(text: str) -> tuple[str, int]:
    """The text with personal data replaced by `<redacted:KIND>`, and how many pieces there were.

    Markers that are there already stay as they are, and doing it twice changes nothing more.
    """
    count = 0
    for _ in range(ROUNDS_MAX):
        found = _find(text)
        if not found:
            return text, count
        text = _replace(text, found)
        count += len(found)
    # What keeps turning into personal data while it is being redacted is not worth keeping.
    return f"{MARKER}unstable>", count


def _find(text: str) -> list[PersonalFinding]:
    view = personal_view(text)
    taken = list(_markers(view.text))
    for find in FINDERS:
        taken = _merge(taken, find(view))
    return [
        PersonalFinding(found.kind, *view.original_span(found.start, found.end))
        for found in taken
        if found.kind
    ]


def _markers(text: str) -> Iterator[PersonalFinding]:
    """The markers that are in the text: places that nobody may claim."""
    start = text.find(MARKER)
    while start >= 0:
        behind = start + len(MARKER)
        end = text.find(">", behind, behind + RULE_CHARS_MAX) + 1
        # A rule's name is a plain word: what else stands there hides behind a marker and is none.
        if end and set(text[behind : end - 1]) <= _RULE_SIGNS:
            yield PersonalFinding("", start, end)
        start = text.find(MARKER, behind)


def _merge(taken: list[PersonalFinding], found: Iterable[PersonalFinding]) -> list[PersonalFinding]:
    """Both in order, without those that overlap a place that is taken."""
    merged: list[PersonalFinding] = []
    waiting = iter(taken)
    current = next(waiting, None)
    for claim in found:
        while current is not None and current.end <= claim.start:
            merged.append(current)
            current = next(waiting, None)
        if current is None or claim.end <= current.start:
            merged.append(claim)
    if current is not None:
        merged.append(current)
    return [*merged, *waiting]


def _replace(text: str, findings: Iterable[PersonalFinding]) -> str:
    parts: list[str] = []
    done = 0
    for found in findings:
        parts += text[done : found.start], f"{MARKER}{found.kind}>"
        done = found.end
    return "".join([*parts, text[done:]])
