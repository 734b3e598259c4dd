"""Values out of lines, and texts of bounded length: what every reader does with a stranger's JSON.

Programs cut texts in the middle of a character and write what is left: half a surrogate, half a UTF-8
sequence. Such a line is read all the same, with the broken character replaced.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias, cast

import orjson

from runlore.domain import limits
from runlore.domain.guard import SecretFinding, secret_spans
from runlore.domain.guard.structures import KEY_CHARS_MAX, MANIFEST_CHARS_MAX, MANIFEST_KIND
from runlore.domain.guard.view import view_of
from runlore.domain.record import JsonObject, JsonValue

Plain: TypeAlias = dict[str, object]
"""An object as it was parsed: nothing in it has been looked at yet."""

BROKEN = "not JSON"
NO_OBJECT = "not an object"
UNFINISHED = "cut off"
UNKNOWN = "unknown kind of line"

_MARK = "\n[... {:,} characters left out ...]\n"
# How far behind a cut a text has to be known, so that what is cut in two there is told by it.
NEAR_CHARS = 4_096
# No rule of the guard but those for keys, manifests and unbroken values looks over more than 1,000
# characters; those look over as many as a key may have, of which each may be written as an escape of three.
_RULE_CHARS, _KEY_CHARS, _ESCAPE_CHARS = 1_536, KEY_CHARS_MAX + MANIFEST_CHARS_MAX, 3
_LONG = ("-----begin", "putty-user-key-file", MANIFEST_KIND)
# Where a value without quotes, a token or anything encoded ends at the latest.
_ENDS = "\n \"'`<;\t\r"
_DEPTH_MAX = 32
# About what a number takes, or the signs around a text.
_SCALAR_CHARS = 8
_LOADS = orjson.loads
_REFUSED = orjson.JSONDecodeError


def parse_json(line: bytes) -> object:
    try:
        return _LOADS(line)
    except _REFUSED:
        return _parse_leniently(line)


def object_of(value: object) -> Plain:
    return cast("Plain", value) if type(value) is dict else {}


def list_of(value: object) -> list[object]:
    return value if type(value) is list else []


def text_of(value: object) -> str:
    return value if type(value) is str else ""


def shorten(text: str, chars_max: int = limits.TOLD_TEXT_CHARS_MAX) -> str:
    """The text, or the beginning and the end of one that is too long."""
    if len(text) <= chars_max:
        return text
    half = half_of(chars_max)
    left_out = len(text) - 2 * half
    # A text from a cut on; what tells a secret may stand before the cut.
    cut = len(text) - half
    kept, done = [""], cut
    for span in _secrets(text, cut)[1]:
        if span.end > cut:
            kept += text[done : span.start], f"<redacted:{span.rule}>"
            done = span.end
    return beginning(text, half) + _MARK.format(left_out) + "".join([*kept, text[done:]])[cut - len(text) :]


def half_of(chars_max: int) -> int:
    """How much of the beginning, and of the end, is kept of a text that is too long."""
    return chars_max // 2 - len(_MARK)


def beginning(text: str, chars: int) -> str:
    """The first characters of a text. A secret that would not be told from these alone is redacted while it
    can be: what is left of one half of it, or without what stands behind it, shows no longer what it is."""
    start, spans = _secrets(text, chars)
    kept, done = [text[:start]], start
    for span in spans:
        if span.start < chars:
            kept += text[done : span.start], f"<redacted:{span.rule}>"
            done = span.end
    # What stands for a secret may be longer than the secret.
    return "".join([*kept, text[done:chars]])[:chars]


def _secrets(text: str, cut: int) -> tuple[int, list[SecretFinding]]:
    """Where the part of a text around a cut begins that shows each secret which the cut takes something of,
    and all secrets in it. That is a few lines where nothing long begins: to look for secrets takes long, and
    most texts have none."""
    start, end = max(0, cut - _RULE_CHARS), cut + _RULE_CHARS
    part = text[max(0, cut - _KEY_CHARS) : end]
    seen = view_of(part)
    # Where some characters show nothing, what belongs together stands far apart.
    if len(seen.text) < len(part) or any(mark in seen.lower for mark in _LONG):
        start, end = max(0, cut - _KEY_CHARS - _RULE_CHARS), end + _KEY_CHARS
    # A name may stand before a value that goes on and on.
    start = _end_before(text, max(0, _end_before(text, start) - _RULE_CHARS // 3))
    end = _end_behind(text, end)
    return start, [
        replace(span, start=start + span.start, end=start + span.end)
        for span in secret_spans(text[start:end])
    ]


def _end_before(text: str, at: int) -> int:
    start = max(0, at - _ESCAPE_CHARS * _KEY_CHARS)
    for sign in _ENDS:
        start = max(start, text.rfind(sign, start, at))
    return start


def _end_behind(text: str, at: int) -> int:
    end = min(len(text), at + _ESCAPE_CHARS * _KEY_CHARS)
    for sign in _ENDS:
        found = text.find(sign, at, end)
        end = found if found >= 0 else end
    return end


def bound_arguments(given: Plain) -> tuple[JsonObject, int]:
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
    bounded = cast("JsonObject", bound_value(given))
    return bounded, size_of(bounded)


def bound_value(value: object, depth: int = 0) -> JsonValue:
    """A value of JSON with every text in it shortened, and nothing nested without end."""
    if type(value) is str:
        return shorten(value)
    if type(value) is dict:
        if depth >= _DEPTH_MAX:
            return {}
        return {shorten(str(key)): bound_value(item, depth + 1) for key, item in value.items()}
    if type(value) is list:
        if depth >= _DEPTH_MAX:
            return []
        return [bound_value(item, depth + 1) for item in value]
    return cast("JsonValue", value)


def size_of(value: JsonValue) -> int:
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
    return value if type(value) is int and -(2**63) <= value < 2**63 else None


def _parse_leniently(line: bytes) -> object:
    try:
        value = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError) as error:
        raise ValueError(BROKEN) from error
    return _repair(value, 0)


def _repair(value: object, depth: int) -> object:
    """Without halves of surrogates, which no text may hold, and without numbers that JSON has no word for."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if depth >= 4 * _DEPTH_MAX:
        return None
    if isinstance(value, Mapping):
        return {str(_repair(key, depth)): _repair(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_repair(item, depth + 1) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        # What is read strictly has no such number either.
        value = float(value) if value.bit_length() <= 1_000 else None
    return None if isinstance(value, float) and not math.isfinite(value) else value
