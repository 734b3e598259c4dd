"""Options that several commands share, and their text read into domain values with our own errors."""

import re
import sys
from collections.abc import Iterable
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, TypeVar

import orjson
import typer

from runlore.domain import limits
from runlore.domain.errors import Invalid, Refused
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject, Kind, Layer, RecordId, Sensitivity, State
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.domain.timestamps import parse_time
from runlore.ports import operations as ops

WordT = TypeVar("WordT", bound=StrEnum)
# Every list that narrows by a state takes the older word too.
STATE_NAMES = ("--state", "--status")


def require_person(told: str) -> None:
    """Refused (`command.unconfirmed`) where nobody is at the terminal to say yes to what is told."""
    if not sys.stdin.isatty():
        raise Refused(
            f"{told}, and nobody is at the terminal to be asked",
            code="command.unconfirmed",
            hint="look at it with --dry-run, then ask again with --yes",
        )


RecordArgument = Annotated[str, typer.Argument(metavar="ID", help="The record's id.")]
SessionArgument = Annotated[str, typer.Argument(metavar="ID", help="The session's id.")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]
SessionOption = Annotated[
    str | None,
    typer.Option("--session", metavar="ID", help="Only what this session sees."),
]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the history.")]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="Answer as at a past time, such as 2026-11-15T08:30:00Z."),
]
ConfidenceOption = Annotated[str, typer.Option("--confidence", metavar="N", help="From 0 to 100.")]
AcceptOption = Annotated[
    bool, typer.Option("--accept-untrusted", help="I have read this text from outside and accept it.")
]
BothHoldOption = Annotated[
    list[str] | None,
    typer.Option(
        "--both-hold", metavar="ID", help="It seems to contradict this record, and both hold. Repeatable."
    ),
]
ScopeOption = Annotated[
    str, typer.Option("--scope", metavar="KIND[:ID]", help="The scope, such as project:acme.")
]
KeyOption = Annotated[
    str | None,
    typer.Option("--idempotency-key", metavar="KEY", help="The same call with the same key happens once."),
]
ExpectedOption = Annotated[
    str | None,
    typer.Option("--expected-revision", metavar="N", help="Refuse when it is not at this revision."),
]


@dataclass(frozen=True, kw_only=True)
class Scoping:
    """`--scope`, repeatable."""

    scope: Annotated[
        list[str],
        typer.Option(
            "--scope", metavar="KIND[:ID]", help="Only this scope, such as project:acme. Repeatable."
        ),
    ] = field(default_factory=list)

    def scopes(self) -> frozenset[Scope]:
        return frozenset(Scope.parse(text) for text in self.scope)


@dataclass(frozen=True, kw_only=True)
class Narrowing(Scoping):
    """`--kind` and `--scope`, repeatable."""

    kind: Annotated[
        list[str], typer.Option("--kind", metavar="KIND", help="Only this kind, such as fact. Repeatable.")
    ] = field(default_factory=list)

    def kinds(self) -> frozenset[Kind]:
        return words(Kind, self.kind, "kind")


@dataclass(frozen=True, kw_only=True)
class FilterOptions(Narrowing):
    """What lists and searches narrow by."""

    layer: Annotated[
        list[str],
        typer.Option("--layer", metavar="LAYER", help=f"Only this layer: {', '.join(Layer)}. Repeatable."),
    ] = field(default_factory=list)
    state: Annotated[
        list[str],
        typer.Option(*STATE_NAMES, metavar="STATE", help=f"Only this state: {', '.join(State)}. Repeatable."),
    ] = field(default_factory=list)
    as_of: AsOfOption = None
    session: SessionOption = None

    def read(self) -> "ops.Filters":
        return ops.Filters(
            layers=words(Layer, self.layer, "layer"),
            kinds=self.kinds(),
            states=words(State, self.state, "state"),
            scopes=self.scopes(),
            as_of=moment(self.as_of),
            session_id=session_id(self.session),
        )


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """How much of a list, and from where."""

    limit: Annotated[
        str, typer.Option("--limit", metavar="N", help=f"How many at most, up to {limits.LIST_LIMIT_MAX}.")
    ] = str(limits.LIST_LIMIT_DEFAULT)
    cursor: Annotated[
        str | None,
        typer.Option("--cursor", metavar="CURSOR", help="Go on after the page that gave this cursor."),
    ] = None

    def read_limit(self) -> int:
        return whole_number(self.limit, "--limit")


@dataclass(frozen=True, kw_only=True)
class JournalOptions(PageOptions):
    """How much of a journal, and from where."""

    limit: Annotated[
        str, typer.Option("--limit", metavar="N", help=f"How many at most, up to {limits.LIST_LIMIT_MAX}.")
    ] = str(limits.JOURNAL_PAGE_DEFAULT)


@dataclass(frozen=True, kw_only=True)
class DecisionOptions:
    """What every act on a record takes."""

    record_id: RecordArgument
    reason: ReasonOption = ""
    expected_revision: ExpectedOption = None
    idempotency_key: KeyOption = None

    def read(self) -> "ops.Decision":
        return ops.Decision(
            record_id=RecordId(self.record_id),
            reason=self.reason,
            expected_revision=optional_number(self.expected_revision, "--expected-revision"),
            idempotency_key=self.idempotency_key,
        )


@dataclass(frozen=True, kw_only=True)
class DraftOptions:
    """What every new record takes."""

    scope: ScopeOption = "workspace"
    sensitive: Annotated[
        bool, typer.Option("--sensitive", help="Keep it out of prompts and session search.")
    ] = False
    expires_at: Annotated[
        str | None,
        typer.Option(
            "--expires-at", metavar="TIME", help="From when it is no longer used, such as 2027-01-31."
        ),
    ] = None
    idempotency_key: KeyOption = None

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity.SENSITIVE if self.sensitive else Sensitivity.NORMAL


def moment(text: str | None) -> datetime | None:
    return None if text is None else parse_time(text)


def session_id(text: str | None) -> SessionId | None:
    return None if text is None else SessionId(text)


def optional_number(text: str | None, name: str) -> int | None:
    return None if text is None else whole_number(text, name)


def query_text(argument: str | None, option: str | None) -> str:
    given = [text for text in (argument, option) if text is not None]
    if len(given) != 1:
        raise Invalid(
            f"{'no' if not given else 'more than one'} query was given",
            code="query.count",
            hint='give one: runlore memory search "deploy on friday"',
        )
    return given[0]


def whole_number(text: str, name: str) -> int:
    if not _WHOLE_NUMBER.fullmatch(text):
        raise Invalid(
            f"{name} is {shorten_text(text)!r}, which is not a whole number",
            code="number.format",
            hint=f"write it in digits: {name} 20",
        )
    return int(text)


def words(choices: type[WordT], texts: Iterable[str], name: str) -> frozenset[WordT]:
    return frozenset(word(choices, text, name) for text in texts)


def word(choices: type[WordT], text: str, name: str) -> WordT:
    try:
        return choices(text)
    except ValueError:
        raise Invalid(
            f"{shorten_text(text)!r} is not {'an' if name[0] in 'aeiou' else 'a'} {name}",
            code="word.unknown",
            hint=f"use one of: {', '.join(choices)}",
        ) from None


def json_object(text: str | None, name: str, *, example: str = '{"outcome": "kept"}') -> JsonObject:
    if text is None:
        return {}
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _not_an_object(f"{name} is not JSON: {error}", name, example) from None
    if not isinstance(value, dict):
        raise _not_an_object(f"{name} is JSON, but not an object", name, example)
    return value


def shorten_text(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS_MAX else text[: _SHOWN_CHARS_MAX - 1] + "…"


def _not_an_object(sentence: str, name: str, example: str) -> Invalid:
    return Invalid(sentence, code="json.format", hint=f"write it as {name} '{example}'")


_SHOWN_CHARS_MAX = 80
_WHOLE_NUMBER = re.compile("-?[0-9]{1,18}")
