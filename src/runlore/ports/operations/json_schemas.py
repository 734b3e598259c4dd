"""JSON schemas of what is asked and answered, from the types. `domain.serialization.codec` says how answers
are written."""

import inspect
import types
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Literal, TypeAlias, cast, get_origin

from runlore.domain.json_form import About, Shape, form_of
from runlore.domain.scope import Scope
from runlore.domain.serialization.codec import Key, keys_of, split_type
from runlore.ports.operations.declaration import CallField, about, fields_of, request_form_of

Schema: TypeAlias = dict[str, Any]

TEXT: Schema = {"type": "string"}
_NULL: Schema = {"type": "null"}
_TIME: Schema = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$",
    "description": "RFC 3339, UTC, milliseconds.",
}
_MOMENT: Schema = {
    "type": "string",
    "description": "A time (RFC 3339).",
    "examples": ["2027-01-31T00:00:00Z"],
}
_PLAIN: Mapping[object, Schema] = {
    str: TEXT,
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    object: {},
    type(None): _NULL,
}
_BOUNDS = {
    "string": ("", "maxLength"),
    "integer": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "object": ("", "maxProperties"),
}


class Schemas:
    """Schemas, and the components that they refer to by `place` and their name."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.components: dict[str, Schema] = {}
        self._kinds: dict[str, object] = {}

    def of_answer(self, hint: object) -> Schema:
        kind, arguments, _ = split_type(hint)
        if kind is tuple:
            return self._component(f"{_name_of(arguments[0])}List", hint, lambda: self._list_of(arguments[0]))
        return self._of(hint, self._answer_part)

    def of_request(self, hint: object) -> Schema:
        told = about(hint)
        for each in getattr(hint, "__metadata__", ()):
            if isinstance(each, Shape):
                return _with_text(self._shape(hint, each), told)
        return _with_text(self._of(hint, self._request_part), told)

    def of_query(self, hint: object) -> Schema:
        """The schema of a parameter, in which a scope is a text."""
        _, arguments, _ = split_type(hint)
        scopes: Schema = {"type": "array", "items": TEXT}
        return _with_text(scopes, about(hint)) if Scope in arguments else self.of_request(hint)

    def body_of(self, fields: Sequence[CallField], text: str, *, is_open: bool = False) -> Schema:
        needed = [each.key for each in fields if each.is_required]
        return {
            "type": "object",
            "description": text,
            "properties": {each.key: self.of_request(each.hint) for each in fields},
            **({"required": needed} if needed else {}),
            "additionalProperties": is_open,
        }

    def _of(self, hint: object, inner: Any) -> Schema:
        kind, arguments, _ = split_type(hint)
        if kind is types.UnionType:
            parts = [each for each in arguments if get_origin(each) is not Literal]
            return {"anyOf": [inner(each) for each in parts]}
        if kind in (tuple, frozenset, Sequence):
            return {"type": "array", "items": inner(arguments[0])}
        if kind is Mapping:
            # Without a word on them, generators of clients take an object for one that has no fields.
            is_any = split_type(arguments[1])[0] is object
            return {"type": "object", "additionalProperties": is_any or inner(arguments[1])}
        if isinstance(kind, type) and issubclass(kind, Enum):
            words = {"type": "string", "enum": [member.value for member in kind]}
            return self._component(kind.__name__, kind, lambda: words)
        return dict(_PLAIN[kind]) if kind in _PLAIN else cast("Schema", inner(hint, kind))

    def _answer_part(self, hint: object, kind: object = None) -> Schema:
        if kind is None:
            return self._of(hint, self._answer_part)
        if kind is datetime:
            return _TIME
        assert isinstance(kind, type), f"{hint} has no schema"
        return self._component(_name_of(kind), kind, lambda: self._answer(kind))

    def _answer(self, kind: type) -> Schema:
        own = getattr(kind, "json_schema", None)
        if own is not None:
            return cast("Schema", own())
        keys = keys_of(kind)
        return {
            "type": "object",
            "description": _text_of(kind),
            "properties": {key.key: self._value(key) for key in keys},
            "required": [key.key for key in keys if not key.unless],
            "additionalProperties": False,
        }

    def _value(self, key: Key) -> Schema:
        if not key.path or key.is_null_if_empty:
            return {"anyOf": [TEXT, _NULL]}
        hint = key.hint
        kind, arguments, _ = split_type(hint)
        if key.unless and key.unless[0] is None:
            # It is left out where it would be null.
            hint = next(each for each in arguments if each is not type(None))
            kind, arguments, _ = split_type(hint)
        if kind is tuple and key.names:
            parts = arguments
            is_list = parts[-1] is Ellipsis
            if is_list:
                _, parts, _ = split_type(parts[0])
            fields = {name: self._answer_part(part) for name, part in zip(key.names, parts, strict=True)}
            pair = {
                "type": "object",
                "properties": fields,
                "required": [*fields],
                "additionalProperties": False,
            }
            return {"type": "array", "items": pair} if is_list else pair
        told = about(hint)
        # Of what is answered only numbers have bounds: a text may be older than its bound.
        return _with_text(self._answer_part(hint), told if kind is int else About(told.text))

    def _list_of(self, item: object) -> Schema:
        items = {"type": "array", "items": self._answer_part(item)}
        fields = {"items": items, "next_cursor": {"anyOf": [TEXT, _NULL]}}
        return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}

    def _request_part(self, hint: object, kind: object = None) -> Schema:
        if kind is None:
            return self.of_request(hint)
        if kind is datetime:
            return _MOMENT
        assert isinstance(kind, type), f"{hint} has no schema"
        named = self._component(f"{kind.__name__}Body", kind, lambda: self._request(kind))
        if kind is not Scope:
            return named
        told = "`{kind, id}`, or the text `KIND:ID`."
        return {"anyOf": [named, TEXT], "description": told, "examples": ["project:acme", "workspace"]}

    def _request(self, kind: type) -> Schema:
        shape = self.body_of(fields_of(kind), _text_of(kind), is_open=request_form_of(kind).open)
        if kind is Scope:
            shape["required"] = ["kind"]
        return shape

    def _shape(self, hint: object, shape: Shape) -> Schema:
        found = self._request_part(shape.of, shape.of) if isinstance(shape.of, type) else dict(shape.of)
        kind, arguments, _ = split_type(hint)
        return {"anyOf": [found, _NULL]} if kind is types.UnionType and type(None) in arguments else found

    def _component(self, name: str, kind: object, make: Any) -> Schema:
        assert self._kinds.setdefault(name, kind) == kind, f"two types are called {name}"
        if name not in self.components:
            self.components[name] = {}
            self.components[name] = make()
        return {"$ref": f"{self._place}{name}"}


def _with_text(schema: Schema, told: About) -> Schema:
    found = _with_bounds(schema, told)
    return {**found, "description": told.text} if told.text else found


def _with_bounds(schema: Schema, told: About) -> Schema:
    if told.least is None and told.most is None:
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [_with_bounds(part, told) for part in schema["anyOf"]]}
    least, most = _BOUNDS.get(schema.get("type", ""), ("", ""))
    bounds = {
        name: value for name, value in ((least, told.least), (most, told.most)) if name and value is not None
    }
    return {**schema, **bounds}


def _name_of(kind: object) -> str:
    found, _, _ = split_type(kind)
    return form_of(cast("type", found)).document or cast("type", found).__name__


def _text_of(kind: object) -> str:
    return (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
