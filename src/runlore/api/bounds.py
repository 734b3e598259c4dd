"""Bounds as the API's document tells them. It is the operations that hold callers to them."""

from typing import Any


def number(least: int, most: int) -> dict[str, Any]:
    """A number's least and greatest value."""
    return {"minimum": least, "maximum": most}


def text(chars_max: int) -> dict[str, Any]:
    """A text's length."""
    return {"maxLength": chars_max}


def items(least: int, most: int) -> dict[str, Any]:
    """How many items a list has."""
    return {"minItems": least, "maxItems": most}


def names(most: int) -> dict[str, Any]:
    """How many names an object has."""
    return {"maxProperties": most}
