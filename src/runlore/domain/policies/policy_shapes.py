"""Shapes of policy fields: how a value is read from a document, written back, and described.

A shape reads one value or refuses it with the field's path. What needs two fields of a table is checked by
the table itself, after all of them were read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.guard import first_secret
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonValue

MadeT = TypeVar("MadeT")
_SHOWN_CHARS_MAX = 80
_PLACE = re.compile(r"rule\s*\d+", re.IGNORECASE)
_HIDDEN = "(a name that looks like it holds a secret)"
MODEL = r"([A-Za-z0-9][A-Za-z0-9_-]*:(?!//)[!-~]+)?"


class ValueShape(Protocol):
    """One kind of value."""

    def read(self, path: str, value: JsonValue) -> object:
        """The value, or Invalid that names the path."""
        ...

    def plain(self, value: object) -> JsonValue:
        """The value as a document holds it; reading it again gives the same."""
        ...


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def read(self, path: str, value: JsonValue) -> bool:
        """Nothing but the two: 1 is not true."""
        if not isinstance(value, bool):
            raise bad_field(path, "is neither true nor false")
        return value

    def plain(self, value: object) -> JsonValue:
        return value is True


@dataclass(frozen=True, kw_only=True)
class PolicyField:
    """One field of a table: its name, its shape, what it does, which requirement asks for it, and an example
    unless it is a table itself."""

    name: str
    shape: ValueShape = Flag()
    about: str
    requirement: str
    example: str = ""
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A whole number of a range. With `optional` it may be left open, which JSON writes as null."""

    least: int
    most: int
    optional: bool = False

    def read(self, path: str, value: JsonValue) -> int | None:
        if value is None and self.optional:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise bad_field(path, "is not a whole number")
        if not self.least <= value <= self.most:
            # Python does not print a number of thousands of digits.
            said = str(value) if abs(value) < 10**20 else "a number of more than 20 digits"
            raise bad_field(path, f"is {said}, outside {self.least} to {self.most}")
        return value

    def plain(self, value: object) -> JsonValue:
        return value if isinstance(value, int) else None


@dataclass(frozen=True, kw_only=True)
class WordChoice:
    """One of a few words. `refused` says why a word that exists elsewhere is none here."""

    words: tuple[StrEnum, ...]
    optional: bool = False
    refused: Mapping[str, str] | None = None

    def read(self, path: str, value: JsonValue) -> StrEnum | None:
        if value is None and self.optional:
            return None
        if isinstance(value, str):
            for word in self.words:
                if word.value == value:
                    return word
            if value in (self.refused or {}):
                raise bad_field(path, f"is {value}; {(self.refused or {})[value]}")
        raise bad_field(path, f"is not one of {', '.join(self.words)}")

    def plain(self, value: object) -> JsonValue:
        return value.value if isinstance(value, StrEnum) else None


@dataclass(frozen=True, kw_only=True)
class RuleName:
    """A name that people give: one line, no outer white space; empty where `blank` allows it."""

    blank: bool = True

    def read(self, path: str, value: JsonValue) -> str:
        text = _text(path, value, limits.RULE_NAME_CHARS_MAX)
        if not text and self.blank:
            return text
        if not text.strip():
            raise bad_field(path, "is blank")
        if text != text.strip():
            raise bad_field(path, "has white space around it")
        if not text.isprintable():
            raise bad_field(path, "holds control or hidden characters")
        if _PLACE.fullmatch(text):
            raise bad_field(path, "reads like the place of a rule without a name")
        return text

    def plain(self, value: object) -> JsonValue:
        return str(value)


@dataclass(frozen=True)
class ScopeIdText:
    """The id of a scope, or nothing. Which ids there are depends on the scope's kind."""

    def read(self, path: str, value: JsonValue) -> str:
        return _text(path, value, limits.ID_CHARS_MAX)

    def plain(self, value: object) -> JsonValue:
        return str(value)


@dataclass(frozen=True)
class ModelName:
    """`provider:name`, or nothing for the configured model. An address is not a name."""

    def read(self, path: str, value: JsonValue) -> str:
        text = _text(path, value, limits.MODEL_CHARS_MAX)
        if not re.fullmatch(MODEL, text):
            raise bad_field(path, "is neither empty nor a model as provider:name")
        return text

    def plain(self, value: object) -> JsonValue:
        return str(value)


@dataclass(frozen=True, kw_only=True)
class Many:
    """A list of values of one shape."""

    shape: ValueShape
    most: int
    things: str

    def read(self, path: str, value: JsonValue) -> tuple[object, ...]:
        """Each of them, with its place in the path."""
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            raise bad_field(path, "is not a list")
        if len(value) > self.most:
            raise bad_field(path, f"has {len(value):,} {self.things}, more than {self.most}")
        return tuple(self.shape.read(f"{path}[{index}]", item) for index, item in enumerate(value))

    def plain(self, value: object) -> JsonValue:
        return [self.shape.plain(item) for item in value] if isinstance(value, tuple) else []


@dataclass(frozen=True, kw_only=True)
class Table(Generic[MadeT]):
    """A table of fields that makes one value. `check` is what needs several fields."""

    made: Callable[..., MadeT]
    fields: tuple[PolicyField, ...]
    check: Callable[[str, MadeT], None] | None = None

    def read(self, path: str, value: JsonValue) -> MadeT:
        """The value made of the fields that are given; what is left out takes its default."""
        if not isinstance(value, Mapping):
            raise bad_field(path or "the policy", "is not a table of fields")
        known = self._known
        for name in value:
            if name not in known:
                shown = _HIDDEN if first_secret(str(name)) else str(name)
                raise bad_field(_join_path(path, shown), f"is not a field; there are {', '.join(known)}")
        for field in self.fields:
            if field.required and field.name not in value:
                raise bad_field(_join_path(path, field.name), "is missing")
        read = {name: known[name].shape.read(_join_path(path, name), item) for name, item in value.items()}
        made = self.made(**read)
        if self.check is not None:
            self.check(path, made)
        return made

    def plain(self, value: object) -> dict[str, JsonValue]:
        return {field.name: field.shape.plain(getattr(value, field.name)) for field in self.fields}

    @cached_property
    def _known(self) -> Mapping[str, PolicyField]:
        return {field.name: field for field in self.fields}


def bad_field(path: str, problem: str) -> Invalid:
    """The refusal of a field. A path may hold a stranger's word, so it is bounded and escaped."""
    return Invalid(
        f"{path!r:.{_SHOWN_CHARS_MAX}} {problem}",
        code="policy.field",
        hint="mend the field and put the policy again; the one in force has not changed",
    )


def _join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _text(path: str, value: JsonValue, chars_max: int) -> str:
    if not isinstance(value, str):
        raise bad_field(path, "is not a text")
    if len(value) > chars_max:
        raise bad_field(path, f"has {len(value):,} characters, more than {chars_max}")
    return value
