"""Redaction: secrets always, on the way in and out; personal data where the policy says so."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from runlore.domain.guard import first_secret, redact
from runlore.domain.guard.entry import apart, is_used_up
from runlore.domain.guard.finding import ASSIGNMENT, MARKER, UNREAD
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.text.excerpt import ELLIPSIS

if TYPE_CHECKING:
    from runlore.domain.privacy import personal_data, view
else:
    personal_data = LazyModule("runlore.domain.privacy.personal_data")
    view = LazyModule("runlore.domain.privacy.view")

# What an assignment's value is told by stands at its beginning.
NAMED_CHARS_MAX, NAME_CHARS_MAX, WORD_CHARS_MAX = 4_096, 256, 32
# Values of the kinds that only their name gives away.
CREDENTIALS = (
    "Zk39x0Qm71LpRt5wUy8b",
    "hunter2!Kp",
    "493817",
    "legal winner thank year wave sausage worth useful legal winner thank yellow",
)
# Something that only a password's or a key's name makes a secret.
PASSWORD, SECRET_DIGITS_MIN = "hunter2k", 4
# Fewer digits than this are no token, whatever they are called.
TOKEN_DIGITS_MIN = 12
BEGINNING_CHARS, SHOWN_CHARS_MIN, MARGIN_CHARS = 16_384, 1_024, 1_024
MARKER_CHARS_MAX = 64
HIDDEN_CHARS_MAX = 16 * BEGINNING_CHARS
_NAMING_KEYS = ("name", "key")
# Keys whose values tell something about a credential and are none.
_DESCRIBING_KEYS = frozenset(
    {"type", "kind", "name", "namespace", "id", "title", "description", "format", "url", "uri", "path"}
)


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """A text without what must not be kept, and how much was taken out."""

    text: str
    count: int


def redact_text(text: str, *, personal: bool = False) -> Redaction:
    """Secrets first, then personal data where asked for."""
    clean, count = redact(text)
    if personal:
        clean, more = personal_data.redact_personal_data(clean)
        count += more
    return Redaction(text=clean, count=count)


def redact_beginning(text: str, *, personal: bool = False) -> Redaction:
    """As `redact_text`, for no more of a text than a preview of it can reach, however long the text is.

    What is found is told by what is near it, and a marker is never much shorter than what it stands for.
    Where little of the beginning can be seen, more of it is looked at; what hides longer is not shown at all.
    """
    beginning = _beginning(text)
    if beginning is None:
        return Redaction(text="", count=0)
    found = redact_text(beginning, personal=personal)
    return found if len(beginning) == len(text) else replace(found, text=f"{found.text}{ELLIPSIS}")


def _beginning(text: str) -> str | None:
    """The part of a text to look at; None where next to nothing of it can be seen for too long."""
    for chars in (BEGINNING_CHARS, HIDDEN_CHARS_MAX):
        if len(text) <= chars:
            return text
        beginning = text[: _cut(text, chars)]
        if len(view.personal_view(beginning).text) >= SHOWN_CHARS_MIN:
            return beginning
    return None


def _cut(text: str, chars: int) -> int:
    """Where a text is cut so that nothing which was redacted, and no word, is cut in two."""
    at = next((found for end in "\n " if (found := text.rfind(end, chars - MARGIN_CHARS, chars)) > 0), chars)
    marker = text.rfind("<", max(0, at - MARKER_CHARS_MAX), at)
    is_cut = marker >= 0 and text.startswith(MARKER, marker) and text.find(">", marker, at) < 0
    return marker if is_cut else at


def redact_json(value: JsonValue, *, name: str = "") -> tuple[JsonValue, int]:
    """A JSON value without secrets in its strings, numbers and keys, and how many there were.

    A key names its value, so `{"api_key": "..."}` is an assignment too; so are `{"name": "API_KEY", "value":
    "..."}`, `["--password", "..."]` and `{"api_key": {"value": "..."}}`. Keys that become alike are numbered:
    none is lost.
    """
    if isinstance(value, str):
        return _redact_string(value, name)
    if isinstance(value, (dict, Mapping)):
        return _redact_object(value, name)
    if isinstance(value, Sequence):
        items = [redact_json(item, name=key) for key, item in _named_items(value, name)]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, int) and not isinstance(value, bool) and _is_secret_number(value, name):
        return f"<redacted:{ASSIGNMENT}>", 1
    return value, 0


def _redact_object(value: JsonObject, name: str) -> tuple[JsonValue, int]:
    pairs: dict[str, JsonValue] = {}
    alike: Counter[str] = Counter()
    total = 0
    for key, item in value.items():
        is_plain = _is_word(key) and not is_used_up() and not _is_secret_word(key)
        clean_key, in_key = (key, 0) if is_plain else redact(key)
        if in_key:
            alike[clean_key] += 1
            clean_key = _free_key(clean_key, alike, value)
        clean_item, in_item = redact_json(item, name=_name_of(value, key, name))
        pairs[clean_key] = clean_item
        total += in_key + in_item
    return pairs, total


def _is_word(key: str) -> bool:
    """Whether a key is a plain name. Only these are remembered below: a secret must not stay in memory."""
    if len(key) > WORD_CHARS_MAX or not key.isidentifier():
        return False
    # A digit is of no letter's kind, so that a key of letters alone has none.
    return key.replace("_", "").isalpha() or not any(map(str.isdigit, key))


@lru_cache(maxsize=4_096)
def _is_secret_word(key: str) -> bool:
    with apart():
        return redact(key)[1] > 0


def _free_key(key: str, alike: Counter[str], taken: JsonObject) -> str:
    """The key itself for the first that is redacted to it, then `KEY 2`, `KEY 3`."""
    while True:
        free = key if alike[key] == 1 else f"{key} {alike[key]}"
        if free not in taken:
            return free
        alike[key] += 1


def _name_of(value: JsonObject, key: str, outer: str) -> str:
    """The key, or in a pair of name and value what the pair says its name is.

    Inside something that a credential's name is given to, that name goes before keys that name none.
    """
    if key == "value":
        for naming in _NAMING_KEYS:
            name = value.get(naming)
            if isinstance(name, str) and name:
                return name
    if not outer or key.lower() in _DESCRIBING_KEYS or not _names_credential(outer[:NAME_CHARS_MAX]):
        return key
    return key if _names_credential(key[:NAME_CHARS_MAX]) and _is_word(key) else outer


def _named_items(value: Sequence[JsonValue], name: str) -> Iterator[tuple[str, JsonValue]]:
    """The items, each with the list's name, or with the option that stands before it."""
    before: JsonValue = None
    for item in value:
        is_option = isinstance(before, str) and before.startswith("-") and "=" not in before
        yield (str(before).lstrip("-") if is_option else name), item
        before = item


def _redact_string(text: str, name: str) -> tuple[str, int]:
    if len(text) <= NAMED_CHARS_MAX and is_used_up():
        # Little is judged any more: mostly one look tells whether there is anything to judge.
        asking = first_secret(f"{name[:NAME_CHARS_MAX]}: {text}" if name else text)
        if asking is None:
            return text, 0
        if asking.rule == UNREAD and text:
            return f"<redacted:{UNREAD}>", 1
    clean, count = redact(text)
    if count or not text or not name or not _names_credential(name[:NAME_CHARS_MAX]):
        return clean, count
    beginning = text[:NAMED_CHARS_MAX]
    finding = first_secret(f"{name[:NAME_CHARS_MAX]}: {beginning}")
    # A marker of what was taken out before is a finding in itself.
    if finding is None or first_secret(beginning):
        return text, 0
    return f"<redacted:{finding.rule}>", 1


def _is_secret_number(number: int, name: str) -> bool:
    """Whether a number is what a credential's name promises. Only a password may be made of digits alone."""
    beginning, digits = name[:NAME_CHARS_MAX], str(abs(number))
    if len(digits) < SECRET_DIGITS_MIN or not beginning or not _names_credential(beginning):
        return False
    is_long = len(digits) >= TOKEN_DIGITS_MIN
    return _makes_secret(beginning, PASSWORD) or (is_long and _makes_secret(beginning, str(number)))


def _makes_secret(name: str, value: str) -> bool:
    """Whether it is the name that makes a secret of a value; the name itself may hold one."""
    found = first_secret(f"{name}: {value}")
    return found is not None and found.start > len(name)


def _names_credential(name: str) -> bool:
    """Whether a value under this name could be a credential: then the value is looked at with its name."""
    return not _is_word(name) or is_used_up() or _is_credential_word(name)


@lru_cache(maxsize=4_096)
def _is_credential_word(name: str) -> bool:
    with apart():
        return any(first_secret(f"{name}: {value}") for value in CREDENTIALS)
