"""Values out of lines, and texts of bounded length: what every reader does with a stranger's JSON.

Programs cut texts in the middle of a character and write what is left: half a surrogate, half a UTF-8
sequence. Such a line is read all the same, with the broken character replaced.
"""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias, cast

import orjson

from runlore.domain import limits
from runlore.domain.guard import find_secrets
from runlore.domain.guard.finding import REDACTION_MARKER
from runlore.domain.guard.view import view_of
from runlore.domain.record import JsonObject, JsonValue

Plain: TypeAlias = dict[str, object]
"""An object as it was parsed: nothing in it has been looked at yet."""

BROKEN = "not JSON"
NO_OBJECT = "not an object"
UNFINISHED = "cut off"
UNKNOWN = "unknown kind of line"

_MARK = "\n[... {:,} characters left out ...]\n"
_HALF = limits.TOLD_TEXT_CHARS_MAX // 2 - len(_MARK)
# How far around a cut secrets are looked for, and how far behind a name its value stands.
NEAR_CHARS, _NAME_CHARS = 4_096, 256
# How far apart the words of a secret and of what tells it stand; keys alone go on over many lines.
_LINES_CHARS = 1_536
_BEGIN_KEYS = ("-----begin", "putty-user-key-file", "%2d%2d%2d%2d%2d")
_BLANKS = "\n "
_DEPTH_MAX = 32
# About what a number takes, or the signs around a text.
_SCALAR_CHARS = 8
_LOADS = orjson.loads
_REFUSED = orjson.JSONDecodeError


def parsed(line: bytes) -> object:
    """The value of a line of JSON; ValueError where it is none."""
    try:
        return _LOADS(line)
    except _REFUSED:
        return _parsed_leniently(line)


def object_of(value: object) -> Plain:
    """The value where it is an object, else an empty one."""
    return cast("Plain", value) if type(value) is dict else {}


def list_of(value: object) -> list[object]:
    """The value where it is a list, else an empty one."""
    return value if type(value) is list else []


def text_of(value: object) -> str:
    """The value where it is a text, else an empty one."""
    return value if type(value) is str else ""


def shortened(text: str) -> str:
    """The text, or the beginning and the end of one that is too long."""
    if len(text) <= limits.TOLD_TEXT_CHARS_MAX:
        return text
    left_out = len(text) - 2 * _HALF
    return beginning(text, _HALF) + _MARK.format(left_out) + _ending(text, len(text) - _HALF)


def beginning(text: str, chars: int) -> str:
    """The first characters of a text. A secret that stands across the cut is redacted while it can still be
    told: what is left of one half of it shows no longer what it is."""
    start, near = _around(text, chars, max(0, chars - NEAR_CHARS), chars + NEAR_CHARS)
    for rule, found, end in _secrets(text, start, near):
        if found < chars < end:
            return (text[:found] + rule)[:chars]
    return text[:chars]


def _ending(text: str, cut: int) -> str:
    """A text from a cut on; a secret may also be told by a name that stands before the cut."""
    start, near = _around(text, cut, max(0, cut - 2 * NEAR_CHARS), cut + NEAR_CHARS)
    found = _secrets(text, start, near)
    if any(end == near for _, _, end in found):
        found = _secrets(text, start, len(text))
    kept, done = "", cut
    for rule, first, end in found:
        if end > cut and first < cut + _NAME_CHARS:
            kept += text[done : max(first, cut)] + rule
            done = end
    # What stands for a secret may be longer than the secret.
    return (kept + text[done:])[cut - len(text) :]


def _around(text: str, cut: int, start: int, end: int) -> tuple[int, int]:
    """The part of a text around a cut, from `start` to `end` at most, that shows whether the cut goes through
    a secret. Where no key begins that is a few lines, with the whole of the words at both ends: to look for
    secrets takes long, and most texts have none."""
    part = text[start:end]
    seen = view_of(part)
    if len(seen.text) < len(part) or any(mark in seen.lower for mark in _BEGIN_KEYS):
        return start, end
    before, behind = max(start, cut - _LINES_CHARS), min(end, cut + _LINES_CHARS)
    blanks = [at for sign in _BLANKS if (at := text.find(sign, behind, end)) >= 0]
    return max(start, *(text.rfind(sign, start, before) for sign in _BLANKS)), min([*blanks, end])


def _secrets(text: str, start: int, end: int) -> list[tuple[str, int, int]]:
    """The secrets in a part of a text: what stands for each, and where it begins and ends."""
    return [
        (f"<redacted:{found.rule}>", start + found.start, start + found.end)
        for found in find_secrets(text[start:end])
        if found.rule != REDACTION_MARKER
    ]


def bounded_arguments(given: Plain) -> tuple[JsonObject, int]:
    """The arguments of a call, bounded, and how long their texts are together. Most are small and flat."""
    size = 0
    for name, value in given.items():
        kind = type(value)
        size += len(name) + _SCALAR_CHARS
        if kind is str:
            size += len(cast("str", value))
        elif kind is dict or kind is list:
            size = limits.TOLD_TEXT_CHARS_MAX + 1
    if size <= limits.TOLD_TEXT_CHARS_MAX:
        return cast("JsonObject", given), size
    told = cast("JsonObject", bounded(given))
    return told, size_of(told)


def bounded(value: object, depth: int = 0) -> JsonValue:
    """A value of JSON with every text in it shortened, and nothing nested without end."""
    if type(value) is str:
        return shortened(value)
    if type(value) is dict:
        if depth >= _DEPTH_MAX:
            return {}
        return {shortened(str(key)): bounded(item, depth + 1) for key, item in value.items()}
    if type(value) is list:
        if depth >= _DEPTH_MAX:
            return []
        return [bounded(item, depth + 1) for item in value]
    return cast("JsonValue", value)


def size_of(value: JsonValue) -> int:
    """How many characters a value has as JSON at most, before they are escaped."""
    if isinstance(value, str):
        return len(value) + 1
    if isinstance(value, Mapping):
        return _SCALAR_CHARS + sum(len(key) + size_of(item) for key, item in value.items())
    if isinstance(value, Sequence):
        return _SCALAR_CHARS + sum(map(size_of, value))
    return _SCALAR_CHARS


def moment(value: object) -> datetime | None:
    """The moment that a timestamp names: ISO 8601, or seconds or milliseconds since 1970; None for others."""
    try:
        if type(value) is str:
            at = datetime.fromisoformat(value)
            if at.tzinfo is UTC:
                return at
            return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
        if type(value) is int or type(value) is float:
            # A number beyond the year 5000 in seconds is one of milliseconds.
            seconds = cast("float", value)
            return datetime.fromtimestamp(seconds / 1000 if abs(seconds) > 1e11 else seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def whole_number(value: object) -> int | None:
    """The value where it is a whole number that can be stored, else None."""
    return value if type(value) is int and -(2**63) <= value < 2**63 else None


def _parsed_leniently(line: bytes) -> object:
    try:
        value = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError) as error:
        raise ValueError(BROKEN) from error
    return _mended(value, 0)


def _mended(value: object, depth: int) -> object:
    """Without halves of surrogates, which no text may hold, and without numbers that JSON has no word for."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if depth >= 4 * _DEPTH_MAX:
        return None
    if isinstance(value, Mapping):
        return {str(_mended(key, depth)): _mended(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_mended(item, depth + 1) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        # What is read strictly has no such number either.
        value = float(value) if value.bit_length() <= 1_000 else None
    return None if isinstance(value, float) and not math.isfinite(value) else value
