"""Redaction: secrets always, on the way in and out; personal data where the policy says so."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from runlore.domain.guard import first_secret, redact
from runlore.domain.personal.view import personal_view
from runlore.domain.personal_data import redact_personal_data
from runlore.domain.record import JsonObject, JsonValue

# What an assignment's value is told by stands at its beginning.
NAMED_CHARS_MAX, NAME_CHARS_MAX, WORD_CHARS_MAX = 4_096, 256, 32
# Values of the kinds that only their name gives away.
CREDENTIALS = (
    "Zk39x0Qm71LpRt5wUy8b",
    "hunter2!Kp",
    "493817",
    "legal winner thank year wave sausage worth useful legal winner thank yellow",
)
BEGINNING_CHARS, SHOWN_CHARS_MIN = 16_384, 1_024
_NAMING_KEYS = ("name", "key")


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """A text without what must not be kept, and how much was taken out."""

    text: str
    count: int


def redacted(text: str, *, personal: bool = False) -> Redaction:
    """Secrets first, then personal data where asked for."""
    clean, count = redact(text)
    if personal:
        clean, more = redact_personal_data(clean)
        count += more
    return Redaction(text=clean, count=count)


def redacted_beginning(text: str, *, personal: bool = False) -> Redaction:
    """As `redacted`, with personal data looked for only as far as a preview of the text can reach.

    What is found is told by what is near it, and a marker is never much shorter than what it stands for.
    Where little of the beginning is left, or little of it can be seen, the whole text is looked at.
    """
    clean, count = redact(text)
    if not personal:
        return Redaction(text=clean, count=count)
    beginning, more = redact_personal_data(clean[:BEGINNING_CHARS])
    if len(clean) > BEGINNING_CHARS and len(personal_view(beginning).text) < SHOWN_CHARS_MIN:
        beginning, more = redact_personal_data(clean)
    return Redaction(text=beginning, count=count + more)


def redacted_json(value: JsonValue, *, name: str = "") -> tuple[JsonValue, int]:
    """A JSON value without secrets in its strings and keys, and how many there were.

    A key names its value, so `{"api_key": "..."}` is an assignment too; so are `{"name": "API_KEY", "value":
    "..."}` and `["--password", "..."]`. Keys that become alike are numbered: none is lost.
    """
    if isinstance(value, str):
        return _redacted_text(value, name)
    if isinstance(value, Mapping):
        return _redacted_object(value)
    if isinstance(value, Sequence):
        items = [redacted_json(item, name=told) for told, item in _named_items(value, name)]
        return [item for item, _ in items], sum(count for _, count in items)
    return value, 0


def _redacted_object(value: JsonObject) -> tuple[JsonValue, int]:
    pairs: dict[str, JsonValue] = {}
    alike: Counter[str] = Counter()
    total = 0
    for key, item in value.items():
        clean_key, in_key = _redacted_key(key)
        if in_key:
            alike[clean_key] += 1
            clean_key = _free_key(clean_key, alike, value)
        clean_item, in_item = redacted_json(item, name=_name_of(value, key))
        pairs[clean_key] = clean_item
        total += in_key + in_item
    return pairs, total


def _redacted_key(key: str) -> tuple[str, int]:
    return (key, 0) if _is_word(key) and not _is_secret_word(key) else redact(key)


def _is_word(key: str) -> bool:
    """Whether a key is a plain name. Only these are remembered below: a secret must not stay in memory."""
    return len(key) <= WORD_CHARS_MAX and key.isidentifier() and not any(sign.isdigit() for sign in key)


@lru_cache(maxsize=4_096)
def _is_secret_word(key: str) -> bool:
    return redact(key)[1] > 0


def _free_key(key: str, alike: Counter[str], taken: JsonObject) -> str:
    """The key itself for the first that is redacted to it, then `KEY 2`, `KEY 3`."""
    while True:
        free = key if alike[key] == 1 else f"{key} {alike[key]}"
        if free not in taken:
            return free
        alike[key] += 1


def _name_of(value: JsonObject, key: str) -> str:
    """The key, or in a pair of name and value what the pair says its name is."""
    if key == "value":
        for naming in _NAMING_KEYS:
            name = value.get(naming)
            if isinstance(name, str) and name:
                return name
    return key


def _named_items(value: Sequence[JsonValue], name: str) -> Iterator[tuple[str, JsonValue]]:
    """The items, each with the list's name, or with the option that stands before it."""
    before: JsonValue = None
    for item in value:
        is_option = isinstance(before, str) and before.startswith("-") and "=" not in before
        yield (str(before).lstrip("-") if is_option else name), item
        before = item


def _redacted_text(text: str, name: str) -> tuple[str, int]:
    clean, count = redact(text)
    if count or not text or not name or not _names_credential(name[:NAME_CHARS_MAX]):
        return clean, count
    beginning = text[:NAMED_CHARS_MAX]
    if first_secret(beginning):
        return clean, count
    finding = first_secret(f"{name[:NAME_CHARS_MAX]}: {beginning}")
    return (f"<redacted:{finding.rule}>", 1) if finding else (text, 0)


def _names_credential(name: str) -> bool:
    """Whether a value under this name could be a credential: then the value is looked at with its name."""
    return not _is_word(name) or _is_credential_word(name)


@lru_cache(maxsize=4_096)
def _is_credential_word(name: str) -> bool:
    return any(first_secret(f"{name}: {value}") for value in CREDENTIALS)
