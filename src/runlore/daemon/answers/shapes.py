"""What all answers have in common: lists, scopes, times, and how an answer is read back.

What is read comes from a server, and so from outside: whatever does not have the shape is one error.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from runlore.domain.errors import RunloreError, Unavailable
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.representation import Plain, as_object, as_optional, as_text, as_whole
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.timestamps import format_time, parse_time

ValueT = TypeVar("ValueT")

_SHOWN_CHARS_MAX = 200


def reader(read: Callable[[JsonValue], ValueT]) -> Callable[[JsonValue], ValueT]:
    """A function that reads an answer back; anything but such an answer is `answer.format`."""

    @functools.wraps(read)
    def guarded(plain: JsonValue) -> ValueT:
        try:
            return read(plain)
        except (KeyError, TypeError, ValueError, AttributeError, RunloreError) as error:
            if isinstance(error, RunloreError) and error.code == "answer.format":
                raise
            raise not_an_answer(f"{type(error).__name__}: {error}"[:_SHOWN_CHARS_MAX]) from error

    return guarded


def not_an_answer(what: str) -> Unavailable:
    """The error for a server that answers something else than what was asked for."""
    return Unavailable(
        f"the server answered something else than what was asked for ({what})",
        code="answer.format",
        hint="check that the address is that of a Runlore, and of the same version as this one",
    )


def listed(items: Iterable[JsonValue], next_cursor: str | None = None) -> Plain:
    """The one shape of a list."""
    return {"items": list(items), "next_cursor": next_cursor}


def items_of(plain: JsonValue, read: Callable[[JsonValue], ValueT]) -> tuple[ValueT, ...]:
    """The items of a list."""
    return each(read, as_object(plain)["items"])


def cursor_of(plain: JsonValue) -> str | None:
    """The cursor of the next page."""
    return optional_text(as_object(plain)["next_cursor"])


def each(read: Callable[[JsonValue], ValueT], value: JsonValue) -> tuple[ValueT, ...]:
    """The value, when it is a list, with each element read."""
    if not isinstance(value, list | tuple):
        raise TypeError(f"a list was expected, not {type(value).__name__}")
    return tuple(read(element) for element in value)


def texts(value: JsonValue) -> tuple[str, ...]:
    """A list of texts."""
    return each(as_text, value)


def flag(value: JsonValue) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise TypeError(f"true or false was expected, not {type(value).__name__}")
    return value


def optional(read: Callable[[JsonValue], ValueT], value: JsonValue) -> ValueT | None:
    """What is read of a value, or None where there is none."""
    return None if value is None else read(value)


def optional_text(value: JsonValue) -> str | None:
    """A text, or None."""
    return optional(as_text, value)


def optional_whole(value: JsonValue) -> int | None:
    """A whole number, or None."""
    return optional(as_whole, value)


def time_of(value: JsonValue) -> datetime:
    """A moment."""
    return parse_time(as_text(value))


def optional_time(value: JsonValue) -> datetime | None:
    """A moment, or None."""
    return as_optional(parse_time, value)


def time_to_plain(moment: datetime | None) -> str | None:
    """A moment as text, or None."""
    return None if moment is None else format_time(moment)


def value_of(member: StrEnum | None) -> str | None:
    """The word of an enumeration, or None."""
    return None if member is None else member.value


def numbers(value: JsonValue) -> dict[str, int]:
    """An object of whole numbers."""
    return {name: as_whole(number) for name, number in as_object(value).items()}


def as_document(value: JsonValue) -> JsonObject:
    """An object that stays as it is."""
    return dict(as_object(value))


def scope_to_plain(scope: Scope) -> Plain:
    """A scope."""
    return {"kind": scope.kind.value, "id": scope.id}


def scope_from_plain(value: JsonValue) -> Scope:
    """Read a scope."""
    plain: Mapping[str, JsonValue] = as_object(value)
    return Scope(ScopeKind(as_text(plain["kind"])), as_text(plain["id"]))


def scopes_to_plain(scopes: Iterable[Scope]) -> list[JsonValue]:
    """Several scopes, in their order."""
    return [scope_to_plain(scope) for scope in scopes]
