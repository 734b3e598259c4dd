"""What a transcript tells, as the journal keeps it: cleaned like everything that is reported, and in time.

Events keep their places whatever they hold: one that the journal would refuse leaves an empty one of its
type, so that an event has the same number whether its transcript is only looked at or stored.
"""

from collections.abc import Mapping
from datetime import datetime

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.journal import REPORTED, Entry, EventType, text_of
from runlore.domain.journal_entry import entered, input_entry
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.storable import made_storable
from runlore.domain.storable_json import storable_json
from runlore.domain.timestamps import truncated
from runlore.domain.transcript import ToldRun
from runlore.domain.whose_words import WORDS_OF, words_of

_UNTOLD = "unknown"


def told_entries(run: ToldRun) -> tuple[Entry, ...]:
    """The entries of a run, the input first. Invalid (`transcript.run`) for what no reader tells."""
    kinds = [event.entry.type for event in run.events]
    if kinds[:1] != [EventType.INPUT] or not REPORTED.issuperset(kinds[1:]):
        raise Invalid(
            "a run of a transcript is its input and what an agent reports of its work",
            code="transcript.run",
            hint="begin each run with one input event, and leave other types out",
        )
    first, *others = (event.entry for event in run.events)
    return (_input(run, first), *map(_reported, others))


def told_times(
    run: ToldRun, *, earliest: datetime | None, latest: datetime, otherwise: datetime
) -> tuple[datetime, ...]:
    """The time of each event: its own, never before that of the event in front of it, never after `latest`.

    One without a time has that of the event in front of it, the first ones that of the first that has one;
    where none has any it is `otherwise`.
    """
    known = next((event.at for event in run.events if event.at is not None), otherwise)
    at = min(known if earliest is None else max(known, earliest), latest)
    times: list[datetime] = []
    for event in run.events:
        at = max(at, min(event.at or at, latest))
        times.append(truncated(at))
    return tuple(times)


def _input(run: ToldRun, entry: Entry) -> Entry:
    said_by = words_of(entry.body)
    told = {"branch": run.branch, "agent_version": run.agent_version, WORDS_OF: said_by}
    metadata: dict[str, JsonValue] = {name: made_storable(text) for name, text in told.items() if text}
    try:
        return input_entry(made_storable(text_of(entry.body)), metadata)
    except Invalid:
        return input_entry("", {WORDS_OF: made_storable(said_by)[: limits.ID_CHARS_MAX]} if said_by else {})


def _reported(entry: Entry) -> Entry:
    body = storable_json(entry.body)
    try:
        return entered({**body, "type": entry.type.value} if isinstance(body, Mapping) else {})
    except (Invalid, RecursionError):
        return Entry(type=entry.type, body=_stand_in(entry))


def _stand_in(entry: Entry) -> JsonObject:
    """What stands for an event that cannot be kept: that there was one, and which call it belongs to."""
    if entry.type is EventType.ASSISTANT_MESSAGE:
        return {"text": ""}
    if entry.type is EventType.USAGE:
        return {}
    call: dict[str, JsonValue] = {"call_id": _name(entry.body.get("call_id"))}
    if entry.type is EventType.TOOL_CALL:
        return {**call, "name": _name(entry.body.get("name")), "arguments": ""}
    return {**call, "output": ""}


def _name(value: JsonValue) -> str:
    """A name that the journal takes, where it is one."""
    try:
        plain = {"type": EventType.TOOL_RESULT.value, "call_id": storable_json(value), "output": ""}
        kept = entered(plain).body["call_id"]
    except Invalid:
        return _UNTOLD
    return kept if isinstance(kept, str) else _UNTOLD
