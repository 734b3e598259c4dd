"""Whether a value is what a JSON schema asks for: the part of JSON schema that questions are written in.

A keyword that is not known here is an error of whoever wrote the schema: nothing passes unchecked.
"""

from collections.abc import Callable, Mapping, Sequence

from runlore.domain.record import JsonObject, JsonValue

_TYPES: dict[str, Callable[[JsonValue], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list | tuple),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_ANNOTATIONS = frozenset({"title", "description", "$schema", "default", "examples"})
_PLACE_CHARS_MAX = 80


def breach(value: JsonValue, schema: JsonObject, place: str = "the answer") -> str | None:
    """What is wrong with a value, in words without its text; None when it is right."""
    for keyword, asked in schema.items():
        if keyword not in _ANNOTATIONS and (found := _CHECKS[keyword](value, asked, schema, place)):
            return found
    return None


def _type(value: JsonValue, asked: JsonValue, _schema: JsonObject, place: str) -> str | None:
    names = [asked] if isinstance(asked, str) else _items(asked)
    return None if any(_TYPES[str(name)](value) for name in names) else f"{place} is no {_or(names)}"


def _enum(value: JsonValue, asked: JsonValue, _schema: JsonObject, place: str) -> str | None:
    options = _items(asked)
    is_one = any(type(value) is type(option) and value == option for option in options)
    return None if is_one else f"{place} is none of {_or(options)}"


def _properties(value: JsonValue, asked: JsonValue, _schema: JsonObject, place: str) -> str | None:
    if not isinstance(value, Mapping):
        return None
    for name, schema in _object(asked).items():
        if name in value and (found := breach(value[name], _object(schema), _inner(place, name))):
            return found
    return None


def _check_required(value: JsonValue, asked: JsonValue, _schema: JsonObject, place: str) -> str | None:
    missing = [name for name in _items(asked) if isinstance(value, Mapping) and name not in value]
    return f"{_inner(place, str(missing[0]))} is missing" if missing else None


def _additional(value: JsonValue, asked: JsonValue, schema: JsonObject, place: str) -> str | None:
    if not isinstance(value, Mapping) or asked is True:
        return None
    known = _object(schema.get("properties", {}))
    for name in value:
        if name in known:
            continue
        if asked is False:
            return f"{place} has a field that nobody asked for"
        if found := breach(value[name], _object(asked), _inner(place, "another field")):
            return found
    return None


def _items_keyword(value: JsonValue, asked: JsonValue, _schema: JsonObject, place: str) -> str | None:
    if not isinstance(value, list | tuple):
        return None
    for number, item in enumerate(value):
        if found := breach(item, _object(asked), f"{place}[{number}]"):
            return found
    return None


def _length(value: JsonValue) -> int | None:
    return len(value) if isinstance(value, str) else None


def _count(value: JsonValue) -> int | None:
    return len(value) if isinstance(value, list | tuple) else None


def _size(value: JsonValue) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _bound_check(
    measure: Callable[[JsonValue], int | float | None], *, is_most: bool, words: str
) -> Callable[[JsonValue, JsonValue, JsonObject, str], str | None]:
    def check(value: JsonValue, asked: JsonValue, _schema: JsonObject, place: str) -> str | None:
        assert isinstance(asked, int | float)
        measured = measure(value)
        if measured is None or (measured <= asked if is_most else measured >= asked):
            return None
        return f"{place} {words} {asked}"

    return check


def _items(value: JsonValue) -> Sequence[JsonValue]:
    assert isinstance(value, list | tuple)
    return value


def _object(value: JsonValue) -> JsonObject:
    assert isinstance(value, Mapping)
    return value


def _or(names: Sequence[JsonValue]) -> str:
    return " or ".join(str(name) for name in names)


def _inner(place: str, name: str) -> str:
    return f"{place}.{name}"[:_PLACE_CHARS_MAX]


_CHECKS: dict[str, Callable[[JsonValue, JsonValue, JsonObject, str], str | None]] = {
    "type": _type,
    "enum": _enum,
    "properties": _properties,
    "required": _check_required,
    "additionalProperties": _additional,
    "items": _items_keyword,
    "maxLength": _bound_check(_length, is_most=True, words="is longer than"),
    "minLength": _bound_check(_length, is_most=False, words="is shorter than"),
    "maxItems": _bound_check(_count, is_most=True, words="has more items than"),
    "minItems": _bound_check(_count, is_most=False, words="has fewer items than"),
    "maximum": _bound_check(_size, is_most=True, words="is greater than"),
    "minimum": _bound_check(_size, is_most=False, words="is less than"),
}
