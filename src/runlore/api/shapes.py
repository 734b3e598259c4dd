"""Words for JSON schemas, so that a document's shape reads like the document."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
TIME: Schema = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$",
    "description": "RFC 3339, UTC, milliseconds.",
}


def ref(name: str) -> Schema:
    """One of the named documents."""
    return {"$ref": f"#/components/schemas/{name}"}


def maybe(schema: Schema) -> Schema:
    """It, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def many(schema: Schema) -> Schema:
    """A list of it."""
    return {"type": "array", "items": schema}


def word(kind: type[StrEnum]) -> Schema:
    """One of an enumeration's words."""
    return {"type": "string", "enum": [member.value for member in kind]}


def numbers(description: str = "") -> Schema:
    """An object of whole numbers."""
    return {"type": "object", "additionalProperties": WHOLE, "description": description}


def texts(description: str = "") -> Schema:
    """An object of texts."""
    return {"type": "object", "additionalProperties": TEXT, "description": description}


def thing(fields: Mapping[str, Schema], description: str = "", *, optional: tuple[str, ...] = ()) -> Schema:
    """An object with exactly these fields."""
    return {
        "type": "object",
        "description": description,
        "properties": dict(fields),
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
    }


def page(schema: Schema, description: str = "", **more: Schema) -> Schema:
    """The one shape of a list."""
    return thing({**more, "items": many(schema), "next_cursor": maybe(TEXT)}, description)
