"""Answers as JSON, and back: what `--json` prints and the API answers, byte for byte the same.

The types say how they are written (`domain.serialization.codec`); here is what belongs to a connection
alone. What is read comes from a server, and so from outside: whatever does not have the shape is one error,
`answer.format`.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

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
from runlore.domain.guard import redact
from runlore.domain.json_form import JsonForm
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.record import JsonValue, Record
from runlore.domain.serialization.codec import Plain, as_list, as_object, as_text, deserialize, serialize
from runlore.ports import operations as ops

if TYPE_CHECKING:
    from runlore.domain.runs import transcript
else:
    transcript = LazyModule("runlore.domain.runs.transcript")

ValueT = TypeVar("ValueT")

_NOT_STORED: Plain = {"stored": False}
_SHOWN_CHARS_MAX = 200


def write(answer: object) -> Plain:
    if answer is None:
        return dict(_NOT_STORED)
    if isinstance(answer, list | tuple):
        return {"items": [serialize(item) for item in answer], "next_cursor": None}
    return serialize(answer)


def read(kind: type[ValueT], plain: object) -> ValueT:
    try:
        return deserialize(kind, plain)
    except Corrupt as error:
        cause = error.__cause__
        raise not_an_answer(f"{type(cause).__name__}: {cause}") from error


def read_answer(kind: object, plain: object) -> object:
    """Read what an operation answers: a value, a whole list, or that nothing was stored."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return read_list(arguments[0], plain)
    if origin is dict:
        return read_positions(plain)
    if arguments:
        return None if plain == _NOT_STORED else read(arguments[0], plain)
    return read(typing.cast("type", kind), plain)


def read_list(kind: type[ValueT], plain: object) -> tuple[ValueT, ...]:
    return tuple(read(kind, item) for item in _items_of(plain))


@JsonForm(flat=("hits",))
@dataclass(frozen=True, kw_only=True)
class SearchResults:
    """The best matches first."""

    query: str
    hits: ops.SearchHits


@JsonForm(unpaged=True)
@dataclass(frozen=True, kw_only=True)
class Merges:
    """Possible merges, and the records that were proposed for them."""

    items: tuple[ops.MergeItem, ...]
    count: int
    records: tuple[Record, ...]


@JsonForm(flat=("position",))
@dataclass(frozen=True, kw_only=True)
class TranscriptPosition:
    """How far a source has been read."""

    source: str
    position: transcript.Position


def write_hits(query: str, hits: ops.SearchHits) -> Plain:
    return serialize(SearchResults(query=query, hits=hits))


def write_merges(items: Iterable[ops.MergeItem]) -> Plain:
    """Possible merges, and the records that were proposed for them."""
    found = tuple(items)
    proposed = tuple(item.proposal for item in found if item.proposal and item.status == "proposed")
    return serialize(Merges(items=found, count=len(proposed), records=proposed))


def write_positions(positions: Mapping[str, transcript.Position]) -> Plain:
    return write([TranscriptPosition(source=source, position=each) for source, each in positions.items()])


def read_positions(plain: object) -> dict[str, transcript.Position]:
    return {each.source: each.position for each in read_list(TranscriptPosition, plain)}


# What is answered otherwise than by its type alone: its type over HTTP, and what writes it.
_OTHERWISE: Mapping[str, tuple[object, Callable[[Any, Any], Plain]]] = {
    "search": (SearchResults, lambda asked, hits: write_hits(asked["request"].query, hits)),
    "compact": (Merges, lambda _, items: write_merges(items)),
    "dedup": (Merges, lambda _, items: write_merges(items)),
    "transcript_positions": (tuple[TranscriptPosition, ...], lambda _, found: write_positions(found)),
}


def write_answer(name: str, arguments: Mapping[str, object], answer: object) -> Plain:
    """The answer of an operation, as HTTP tells it."""
    otherwise = _OTHERWISE.get(name)
    return write(answer) if otherwise is None else otherwise[1](arguments, answer)


def answer_type(name: str, kind: object) -> object:
    """The type of an operation's answer, as HTTP tells it."""
    otherwise = _OTHERWISE.get(name)
    return kind if otherwise is None else otherwise[0]


def not_an_answer(what: str) -> Unavailable:
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
    """The problem document of an error (RFC 9457), with its stable code and hint. What a caller has sent is
    repeated without secrets."""
    return {
        "type": f"urn:runlore:error:{error.code}",
        "title": error.title,
        "status": status,
        "code": error.code,
        "detail": redact(error.sentence)[0],
        "hint": redact(error.hint)[0],
    }


def read_problem(plain: JsonValue) -> RunloreError:
    """The error that a problem document tells of: the same class, code, sentence and hint."""
    try:
        fields = as_object(plain)
        kind = _BY_TITLE[as_text(fields["title"])]
        return kind(as_text(fields["detail"]), code=as_text(fields["code"]), hint=as_text(fields["hint"]))
    except (KeyError, TypeError) as error:
        raise not_an_answer(f"{type(error).__name__}: {error}") from error
