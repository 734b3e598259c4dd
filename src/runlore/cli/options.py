"""Options that several commands share, and their text read into domain values with our own errors."""

import errno
import os
import re
import sys
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, TypeVar

import orjson

from runlore.cli.terminal import say
from runlore.cli.typer_commands import CommandParameter, argument, option
from runlore.domain import limits
from runlore.domain.errors import Invalid, Refused
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject, Kind, Layer, RecordId, Sensitivity, State
from runlore.domain.run import RunId
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.domain.timestamps import parse_time
from runlore.ports import operations as ops
from runlore.regular_file import NotRegular, open_regular

WordT = TypeVar("WordT", bound=StrEnum)
# Every list that narrows by a state takes the older word too.
STATE_NAMES = "--state --status"


def require_person(told: str) -> None:
    """Refused (`command.unconfirmed`) where nobody is at the terminal to say yes to what is told."""
    if not sys.stdin.isatty():
        raise Refused(
            f"{told}, and nobody is at the terminal to be asked",
            code="command.unconfirmed",
            hint="look at it with --dry-run, then ask again with --yes",
        )


def number(usage: str, about: str) -> CommandParameter:
    name = usage.partition(" ")[0]
    return option(usage, about, lambda text: whole_number(text, name))


def json_option(usage: str, about: str, *, example: str) -> CommandParameter:
    name = usage.partition(" ")[0]
    return option(usage, about, lambda text: _json_object(text, name, example=example))


def one_of(choices: type[WordT], name: str) -> Callable[[str], WordT]:
    return lambda text: word(choices, text, name)


def any_of(
    usage: str, choices: type[WordT], name: str, *, about: str = "", otherwise: str = ""
) -> CommandParameter:
    """A repeatable option that narrows a list; `otherwise` is what the list holds without it."""
    left_out = f"; {otherwise} if left out" if otherwise else ""
    text = f"{about or f'Only this {name}'}: {', '.join(choices)}{left_out}. Repeatable."
    return option(usage, text, one_of(choices, name), completes=tuple(choices))


RecordArgument = Annotated[RecordId, argument("ID", "The record's id.")]
SessionArgument = Annotated[SessionId, argument("ID", "The session's id.")]
RunArgument = Annotated[RunId, argument("RUN", "The run's id.")]
SessionOption = Annotated[SessionId | None, option("--session ID", "Only what this session sees.")]
ReasonOption = Annotated[str, option("--reason TEXT", "Why; kept in the history.")]
AsOfOption = Annotated[
    datetime | None,
    option("--as-of TIME", "Answer as at a past time, such as 2026-11-15T08:30:00Z.", parse_time),
]
ConfidenceOption = Annotated[int, number("--confidence N", "From 0 to 100.")]
AcceptOption = Annotated[
    bool, option("--accept-untrusted", "I have read this text from outside and accept it.")
]
BothHoldOption = Annotated[
    tuple[RecordId, ...],
    option("--both-hold ID", "It seems to contradict this record, and both hold. Repeatable."),
]
StandingOption = Annotated[
    bool, option("--standing", "In every prompt of its scope, whatever it is about: a rule.")
]
ScopeOption = Annotated[
    str, option("--scope KIND[:ID]", "The scope, such as project:acme.", completes="scope")
]
ScopesOption = Annotated[
    frozenset[Scope],
    option("--scope KIND[:ID]", "Only this scope, such as project:acme. Repeatable.", Scope.parse, "scope"),
]
StatesOption = Annotated[frozenset[State], any_of(f"{STATE_NAMES} STATE", State, "state")]
KeyOption = Annotated[
    str | None, option("--idempotency-key KEY", "The same call with the same key happens once.")
]
ExpectedOption = Annotated[
    int | None, number("--expected-revision N", "Refuse when it is not at this revision.")
]
LimitOption = Annotated[int, number("--limit N", f"How many at most, up to {limits.LIST_LIMIT_MAX}.")]
SearchLimitOption = Annotated[int, number("--limit N", f"How many at most, up to {limits.SEARCH_LIMIT_MAX}.")]
CapabilityOption = Annotated[
    JsonObject | None,
    json_option(
        "--capability-scope JSON",
        "The tools and skills left to it: allow_tools, deny_tools, allow_skills, deny_skills.",
        example='{"deny_tools": ["shell"]}',
    ),
]
ExplainOption = Annotated[bool, option("--explain", "Show the score, and the parts that it is made of.")]
YesOption = Annotated[bool, option("--yes -y", "Do not ask.")]


@dataclass(frozen=True, kw_only=True)
class Narrowing:
    """`--kind` and `--scope`, repeatable."""

    scopes: ScopesOption = frozenset()
    kinds: Annotated[
        frozenset[Kind],
        option("--kind KIND", "Only this kind, such as fact. Repeatable.", one_of(Kind, "kind"), tuple(Kind)),
    ] = frozenset()


@dataclass(frozen=True, kw_only=True)
class FilterOptions(Narrowing):
    """What lists and searches narrow by."""

    layers: Annotated[frozenset[Layer], any_of("--layer LAYER", Layer, "layer")] = frozenset()
    states: StatesOption = frozenset()
    as_of: AsOfOption = None
    session_id: SessionOption = None

    def read(self) -> "ops.Filters":
        return ops.Filters(**vars(self))


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """How much of a list, and from where."""

    limit: LimitOption = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[
        str | None,
        option("--cursor CURSOR", "Go on after the page that gave this cursor; `next` for the last one."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class JournalOptions(PageOptions):
    """How much of a journal, and from where."""

    limit: LimitOption = limits.JOURNAL_PAGE_DEFAULT


@dataclass(frozen=True, kw_only=True)
class DecisionOptions:
    """What every act on a record takes."""

    record_id: RecordArgument
    reason: ReasonOption = ""
    expected_revision: ExpectedOption = None
    idempotency_key: KeyOption = None

    def read(self) -> "ops.Decision":
        return ops.Decision(**vars(self))


@dataclass(frozen=True, kw_only=True)
class DraftOptions:
    """What every new record takes."""

    scope: ScopeOption = "workspace"
    sensitive: Annotated[bool, option("--sensitive", "Keep it out of prompts and session search.")] = False
    expires_at: Annotated[
        datetime | None,
        option("--expires-at TIME", "From when it is no longer used, such as 2027-01-31.", parse_time),
    ] = None
    idempotency_key: KeyOption = None

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity.SENSITIVE if self.sensitive else Sensitivity.NORMAL


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


def word(choices: type[WordT], text: str, name: str) -> WordT:
    try:
        return choices(text)
    except ValueError:
        raise Invalid(
            f"{shorten_text(text)!r} is not {'an' if name[0] in 'aeiou' else 'a'} {name}",
            code="word.unknown",
            hint=f"use one of: {', '.join(choices)}",
        ) from None


def _json_object(text: str, name: str, *, example: str) -> JsonObject:
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


def read_bytes(path: str, *, mib_max: int, too_large: str, code: str, follow_links: bool = True) -> bytes:
    """What a file holds; Invalid under this code where it cannot be had. Of what is endless no more is read
    than tells that it is too large."""
    most = mib_max << 20
    try:
        if path == "-":
            content = sys.stdin.buffer.read(most + 1)
        else:
            with open_regular(path, follow_links=follow_links) as file:
                content = file.read(most + 1)
    except NotRegular:
        hint = "name a file, or - for standard input"
        raise Invalid(f"{path} is not a file", code=code, hint=hint) from None
    except OSError as error:
        if error.errno == errno.ELOOP and not follow_links:
            raise Invalid(
                f"{path} is a link", code=code, hint="name the file itself, if you trust it"
            ) from error
        raise Invalid(f"{path} cannot be read: {error.strerror}", code=code, hint="check the path") from error
    if len(content) > most:
        raise Invalid(f"{path} is larger than {mib_max} MiB", code=code, hint=too_large)
    return content


def folder_of(path: str) -> str:
    """The whole path of a folder of this machine. What its project file says without meaning anything is told
    here: a daemon would tell it only to its log."""
    from runlore.daemon.calls.working_folders import take_warnings

    folder = os.path.abspath(os.path.expanduser(path))
    for warning in take_warnings(folder):
        say(warning, "yellow", on_stderr=True)
    return folder


def read_text(path: str, *, mib_max: int, too_large: str, code: str, follow_links: bool = True) -> str:
    content = read_bytes(path, mib_max=mib_max, too_large=too_large, code=code, follow_links=follow_links)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Invalid(
            f"{path} is not a text in UTF-8", code=code, hint="write it again with a text editor"
        ) from None
