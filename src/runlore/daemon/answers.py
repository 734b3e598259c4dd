"""Answers as JSON, and back: what `--json` prints and the API answers, byte for byte the same.

The types say how they are written (`domain.codec`); here is what belongs to a connection alone. What is read
comes from a server, and so from outside: whatever does not have the shape is one error, `answer.format`.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from runlore.domain.codec import Plain, as_list, as_object, as_text, deserialize, serialize
from runlore.domain.errors import (
    Conflict,
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    Refused,
    RunloreError,
    Unavailable,
)
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.transcript import Position
from runlore.ports import operations as ops

ValueT = TypeVar("ValueT")

_NOT_STORED: Plain = {"stored": False}
_SHOWN_CHARS_MAX = 200


def write(answer: object) -> Plain:
    """An answer: an object, a whole list, or that nothing was stored."""
    if answer is None:
        return dict(_NOT_STORED)
    if isinstance(answer, list | tuple):
        return {"items": [serialize(item) for item in answer], "next_cursor": None}
    return serialize(answer)


def read(kind: type[ValueT], plain: object) -> ValueT:
    """Read an answer."""
    try:
        return deserialize(kind, plain)
    except Corrupt as error:
        cause = error.__cause__
        raise not_an_answer(f"{type(cause).__name__}: {cause}") from error


def read_list(kind: type[ValueT], plain: object) -> tuple[ValueT, ...]:
    """Read a whole list."""
    return tuple(read(kind, item) for item in _items_of(plain))


def read_stored(kind: type[ValueT], plain: object) -> ValueT | None:
    """Read an answer, or that nothing was stored."""
    return None if plain == _NOT_STORED else read(kind, plain)


def write_hits(query: str, hits: ops.SearchHits) -> Plain:
    """Search results, and what they were searched for."""
    return {"query": query, **serialize(hits)}


def write_merges(items: Iterable[ops.MergeItem]) -> Plain:
    """Possible merges, and the records that were proposed for them."""
    found = tuple(items)
    proposed = [serialize(item.proposal) for item in found if item.proposal and item.status == "proposed"]
    return {**write(found), "count": len(proposed), "records": proposed}


def write_positions(positions: Mapping[str, Position]) -> Plain:
    """How far sources have been read."""
    items = [{"source": source, **serialize(position)} for source, position in positions.items()]
    return {"items": items, "next_cursor": None}


def read_positions(plain: JsonValue) -> dict[str, Position]:
    """Read how far sources have been read."""
    try:
        return {as_text(as_object(item)["source"]): read(Position, item) for item in _items_of(plain)}
    except (KeyError, TypeError) as error:
        raise not_an_answer(f"{type(error).__name__}: {error}") from error


def not_an_answer(what: str) -> Unavailable:
    """The error for a server that answers something else than what was asked for."""
    return Unavailable(
        f"the server answered something else than what was asked for ({what[:_SHOWN_CHARS_MAX]})",
        code="answer.format",
        hint="check that the address is that of a Runlore, and of the same version as this one",
    )


def _items_of(plain: object) -> Iterable[JsonValue]:
    try:
        return as_list(as_object(plain)["items"])
    except (KeyError, TypeError) as error:
        raise not_an_answer(f"{type(error).__name__}: {error}") from error


# The title tells the classes apart that share a status: 422 is Invalid or Refused, 500 Corrupt or unforeseen.
_CLASSES: tuple[type[RunloreError], ...] = (
    Invalid,
    Refused,
    Denied,
    NotFound,
    Conflict,
    Unavailable,
    Corrupt,
    RunloreError,
)
_BY_TITLE = {kind.title: kind for kind in _CLASSES}


def problem(error: RunloreError, status: int) -> Plain:
    """The problem document of an error (RFC 9457), with its stable code and hint."""
    return {
        "type": f"urn:runlore:error:{error.code}",
        "title": error.title,
        "status": status,
        "code": error.code,
        "detail": error.sentence,
        "hint": error.hint,
    }


def read_problem(plain: JsonValue) -> RunloreError:
    """The error that a problem document tells of: the same class, code, sentence and hint."""
    try:
        fields = as_object(plain)
        kind = _BY_TITLE[as_text(fields["title"])]
        return kind(as_text(fields["detail"]), code=as_text(fields["code"]), hint=as_text(fields["hint"]))
    except (KeyError, TypeError) as error:
        raise not_an_answer(f"{type(error).__name__}: {error}") from error


def text_of_event(data: JsonObject) -> str:
    """The words of a `text`, `output` or `remark`; empty where it has none."""
    text = data.get("text", "")
    return text if isinstance(text, str) else ""
