"""What a transcript tells, as the journal keeps it: cleaned like everything that is reported, and in time.

Events keep their places whatever they hold: one that the journal would refuse leaves an empty one of its
type, so that an event has the same number whether its transcript is only looked at or stored.

How much may stand in what is told of a run beside its events, and in a position.

Readers keep to it. Whoever else sends runs is told which field is too long.
"""

from collections.abc import Mapping
from datetime import datetime

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.guard.entry import without_secret
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.runs.journal import REPORTED, WORDS_OF, Entry, EventType, text_of, words_of
from runlore.domain.runs.journal_entry import input_entry, parse_entry
from runlore.domain.runs.transcript import Position, ToldRun
from runlore.domain.serialization.storable_json import make_json_storable
from runlore.domain.text.safe_text import make_storable
from runlore.domain.timestamps import truncate

_UNTOLD = "unknown"
_CHARS_MAX = {
    "source_session": limits.PATH_CHARS_MAX,
    "folder": limits.PATH_CHARS_MAX,
    "branch": limits.TITLE_CHARS_MAX,
    "model": limits.MODEL_CHARS_MAX,
    "agent_version": limits.ID_CHARS_MAX,
    "title": limits.TITLE_CHARS_MAX,
    "project": limits.PATH_CHARS_MAX,
    "project_name": limits.PATH_CHARS_MAX,
    "project_folder": limits.PATH_CHARS_MAX,
    "parent_session": limits.PATH_CHARS_MAX,
}


def to_journal_entries(run: ToldRun) -> tuple[Entry, ...]:
    """The entries of a run, the input first. Invalid (`transcript.run`) for what no reader tells."""
    kinds = [event.entry.type for event in run.events]
    if kinds[:1] != [EventType.INPUT] or not REPORTED.issuperset(kinds[1:]):
        raise Invalid(
            "a run of a transcript is its input and what an agent reports of its work",
            code="transcript.run",
            hint="begin each run with one input event, and leave other types out",
        )
    first, *others = (event.entry for event in run.events)
    return (_input(run, first), *map(_report, others))


def event_times(
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
        times.append(truncate(at))
    return tuple(times)


def _input(run: ToldRun, entry: Entry) -> Entry:
    said_by = words_of(entry.body)
    told = {"branch": run.branch, "agent_version": run.agent_version, WORDS_OF: said_by}
    metadata: dict[str, JsonValue] = {name: make_storable(text) for name, text in told.items() if text}
    try:
        return input_entry(make_storable(text_of(entry.body)), metadata)
    except Invalid:
        return input_entry("", {WORDS_OF: make_storable(said_by)[: limits.ID_CHARS_MAX]} if said_by else {})


def _report(entry: Entry) -> Entry:
    body = make_json_storable(entry.body)
    try:
        return parse_entry({**body, "type": entry.type.value} if isinstance(body, Mapping) else {})
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
        plain = {"type": EventType.TOOL_RESULT.value, "call_id": make_json_storable(value), "output": ""}
        kept = parse_entry(plain).body["call_id"]
    except Invalid:
        return _UNTOLD
    return kept if isinstance(kept, str) else _UNTOLD


def check_transcript_run(run: ToldRun) -> None:
    """Refuse a run that tells more than is kept; Invalid (`transcript.field`) names the field."""
    for field, chars_max in _CHARS_MAX.items():
        _check_length(field, getattr(run, field), chars_max)
    check_position("after", run.after)


def check_position(name: str, position: Position) -> None:
    """Refuse a position that holds more than one can; Invalid (`transcript.field`) names the field."""
    _check_length(f"{name}.fingerprint", position.fingerprint, limits.ID_CHARS_MAX)
    without_secret(f"{name}.fingerprint", position.fingerprint)
    if len(position.carried) > limits.POSITION_CARRIED_MAX:
        raise _beyond(f"{name}.carried", f"more than {limits.POSITION_CARRIED_MAX:,} things")
    for key, value in position.carried.items():
        # A key names a session, and tells what is kept of it.
        _check_length(f"a name in {name}.carried", key, 2 * limits.PATH_CHARS_MAX)
        if isinstance(value, str):
            _check_length(f"a text in {name}.carried", value, limits.POSITION_TEXT_CHARS_MAX)
        elif abs(value) > limits.NUMBER_MAX:
            raise _beyond(f"a number in {name}.carried", f"more than {limits.NUMBER_MAX}")


def _check_length(field: str, text: str, chars_max: int) -> None:
    if len(text) > chars_max:
        raise _beyond(field, f"more than {chars_max:,} characters")


def _beyond(field: str, what: str) -> Invalid:
    return Invalid(
        f"{field} has {what}",
        code="transcript.field",
        hint="shorten it, or leave it out",
    )
