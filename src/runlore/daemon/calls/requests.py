"""What requests have in common: bounds, cursors, filters, and the digest behind an idempotency key."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.record import PERSON_KINDS, Layer, State
from runlore.domain.records.contracts import check_text
from runlore.domain.search.ranking import RankFilter
from runlore.domain.text.excerpt import excerpt
from runlore.domain.timestamps import from_milliseconds, to_milliseconds, truncate
from runlore.ports.store import RecordFilter

if TYPE_CHECKING:
    from runlore.domain.record import Record
    from runlore.ports.operations import Filters, SearchRequest


RequestT = TypeVar("RequestT")
ItemT = TypeVar("ItemT")
IdT = TypeVar("IdT")
AnswerT = TypeVar("AnswerT")
_NUMBER_DIGITS = 18
_LAST_MOMENT = datetime(9999, 12, 31, tzinfo=UTC)
_NO_EPISODES = "episodes were not searched: they are in the layer episodic"
_NO_RUNS = "what Runlore itself wrote of runs was not searched: it is in the layer episodic"
SEARCHED_LAYERS = frozenset({Layer.PROFILE, Layer.PROCEDURAL, Layer.SEMANTIC})


def check_limit(limit: int, most: int) -> int:
    if not 1 <= limit <= most:
        raise Invalid(
            f"the limit is {limit}, outside 1 to {most}",
            code="limit.range",
            hint=f"ask for 1 to {most}, and page on with the cursor where there is one",
        )
    return limit


def check_query(query: str) -> str:
    text = check_text("the query", query).strip()
    if not text:
        raise Invalid("the query is blank", code="query.blank", hint="say what to look for")
    if len(text) > limits.QUERY_CHARS_MAX:
        raise Invalid(
            f"the query has {len(text):,} characters, more than {limits.QUERY_CHARS_MAX:,}",
            code="query.long",
            hint="keep the words that matter",
        )
    return text


def check_key(key: str) -> str:
    if not key.strip() or len(check_text("the idempotency key", key)) > limits.ID_CHARS_MAX:
        raise Invalid(
            f"the idempotency key is blank or longer than {limits.ID_CHARS_MAX} characters",
            code="idempotency.key",
            hint="use a random identifier for every new call",
        )
    return key


def short_text(name: str, text: str, chars_max: int) -> str:
    """A trimmed text of one line that can be stored and is not endless."""
    trimmed = check_text(name, text).strip()
    if len(trimmed) > chars_max or len(trimmed.splitlines()) > 1:
        raise Invalid(
            f"{name} has more than one line or more than {chars_max} characters",
            code="text.short",
            hint="shorten it",
        )
    return trimmed


def clean_text(name: str, text: str, chars_max: int) -> str:
    """As `short_text`, and without secrets and without what Runlore itself put into a prompt."""
    return excerpt(redact_text(strip_injected(short_text(name, text, chars_max))).text, chars_max)


def whole_milliseconds(moment: datetime | None) -> datetime | None:
    """A time as it can be stored, so that what is answered now is what is read later."""
    return None if moment is None else truncate(moment)


def record_filter(
    filters: Filters, *, default_states: frozenset[State] | None, now: datetime
) -> RecordFilter:
    return RecordFilter(
        layers=filters.layers or None,
        kinds=filters.kinds or None,
        states=filters.states or default_states,
        scopes=filters.scopes or None,
        now=filters.as_of or now,
    )


def search_filter(request: SearchRequest, now: datetime) -> RankFilter:
    """What a search asks the index for: active records of the three searched layers unless told otherwise."""
    filters = request.filters
    layers = filters.layers or (None if filters.kinds else SEARCHED_LAYERS)
    default_states = None if request.include_stale else frozenset({State.ACTIVE})
    return RankFilter(
        layers=layers,
        kinds=filters.kinds or None,
        states=filters.states or default_states,
        scopes=filters.scopes or None,
        now=filters.as_of or now,
    )


def list_unsearched(filters: Filters) -> tuple[str, ...]:
    """What a search without a layer passed over, for whoever has found nothing."""
    if filters.layers or filters.kinds not in (frozenset(), PERSON_KINDS):
        return ()
    return (_NO_RUNS if filters.kinds else _NO_EPISODES,)


def list_name(operation: str, *arguments: object) -> str:
    """The name of a list that cursors are bound to: its operation, and what it is a list of: a run's journal
    or a session's, a skill's log."""
    parts = (each for argument in arguments for each in (argument, *_fields(argument)))
    of = [part for part in parts if isinstance(part, str)]
    return f"{operation}:{request_digest(operation, of)[:16]}" if of else operation


def _fields(argument: object) -> Iterator[object]:
    if dataclasses.is_dataclass(argument):
        named = (field.name for field in dataclasses.fields(argument))
        yield from (getattr(argument, name) for name in named if name not in ("cursor", "idempotency_key"))


def decode_cursor(name: Callable[[], str], request: RequestT) -> RequestT:
    """A request with the place that its cursor names; Invalid where another list gave it, or none. The list's
    `name` is made where there is a cursor."""
    cursor: str | None = getattr(request, "cursor", None)
    if cursor is None:
        return request
    try:
        text = base64.urlsafe_b64decode(f"{cursor}{'=' * (-len(cursor) % 4)}".encode()).decode()
        given, _, place = check_text("the cursor", text).partition(" ")
    except (ValueError, Invalid):
        raise wrong_cursor() from None
    if given != name():
        raise wrong_cursor()
    return dataclasses.replace(request, cursor=place)  # type: ignore[type-var]


def encode_cursor(name: Callable[[], str], answer: AnswerT) -> AnswerT:
    """An answer whose cursor is opaque, and says which list it is of."""
    place: str | None = getattr(answer, "next_cursor", None)
    if place is None:
        return answer
    cursor = base64.urlsafe_b64encode(f"{name()} {place}".encode()).decode().rstrip("=")
    return dataclasses.replace(answer, next_cursor=cursor)  # type: ignore[type-var]


def wrong_cursor() -> Invalid:
    return Invalid(
        "the cursor is not one that this list gave",
        code="cursor.format",
        hint="take next_cursor from the page before, or leave it out",
    )


def cursor_after(record: Record) -> str:
    return cursor_at(record.created_at, record.record_id)


def first_cursor() -> str:
    """The place before the newest record, where a list goes on that has told something else first."""
    return cursor_at(_LAST_MOMENT, "")


def cursor_at(moment: datetime, name: str) -> str:
    return f"{to_milliseconds(moment)}:{name}"


def read_cursor(cursor: str | None, kind: Callable[[str], IdT]) -> tuple[datetime, IdT] | None:
    """The place that a list goes on behind: a time, and an id of the kind."""
    if cursor is None:
        return None
    moment, _, name = cursor.partition(":")
    try:
        return from_milliseconds(int(moment)), kind(name)
    except (ValueError, OverflowError):
        raise wrong_cursor() from None


def number_of(cursor: str | None) -> int:
    """The number that a list goes on behind; 0 where there is none."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= _NUMBER_DIGITS):
        raise wrong_cursor()
    return int(cursor)


def request_digest(operation: str, request: object) -> str:
    """What makes two keyed calls the same call."""
    # Whatever a request holds has a digest, halves of surrogate pairs too; what is wrong is said later.
    plain = json.dumps([operation, request], default=_plain, sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(str(item) for item in value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} has no plain form")


def cut_page(
    found: Sequence[ItemT], limit: int, cursor_of: Callable[[ItemT], str]
) -> tuple[tuple[ItemT, ...], str | None]:
    """A page of what was found, one more than asked for, and the cursor of the next one."""
    return tuple(found[:limit]), cursor_of(found[limit - 1]) if len(found) > limit else None
