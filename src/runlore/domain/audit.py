"""Moves and their events: the append-only history that a record always equals the replay of.

Nobody else makes or changes a record, so no state can change without its event.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from runlore.domain.errors import Corrupt
from runlore.domain.record import (
    JsonObject,
    JsonValue,
    Move,
    Record,
    RecordId,
    State,
    opening,
    transition,
)
from runlore.domain.representation import (
    UNREADABLE,
    Plain,
    as_object,
    as_optional,
    as_text,
    as_whole,
    record_from_plain,
    record_to_plain,
    unreadable,
)
from runlore.domain.timestamps import format_time, parse_time


@dataclass(frozen=True, kw_only=True)
class Act:
    """Who moves something, why, and when."""

    actor: str
    at: datetime
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class RecordEvent:
    """One move of one record: what happened, and the fields that it changed."""

    record_id: RecordId
    revision: int
    move: Move
    from_state: State | None
    to_state: State
    actor: str
    reason: str
    at: datetime
    changes: JsonObject


@dataclass(frozen=True, kw_only=True)
class Change:
    """A record as it is after a move, with the move's event. The store writes both or neither."""

    record: Record
    event: RecordEvent
    before: Record | None = None


def made(record: Record, move: Move, act: Act) -> Change:
    """The change that brings a record into being, by PROPOSE or WRITE."""
    row = opening(record.layer, move)
    first = replace(record, state=row.end, state_reason=None, revision=1)
    return Change(record=first, event=_event(None, first, move, act))


def moved(record: Record, move: Move, act: Act, *, after: Record | None = None) -> Change:
    """The change that a move makes; `after` holds what else changes with it, its state is the table's."""
    row = transition(record, move)
    result = replace(after or record, state=row.end, state_reason=row.reason, revision=record.revision + 1)
    return Change(record=result, event=_event(record, result, move, act), before=record)


def forgotten(record: Record, act: Act) -> Change:
    """The change that leaves a contentless tombstone."""
    return moved(record, Move.FORGET, act, after=record_from_plain(_without_content(record_to_plain(record))))


def erased(event: RecordEvent) -> RecordEvent:
    """An earlier event of a forgotten record: what happened stays, what was said goes."""
    return replace(event, reason="", changes=_without_content(event.changes))


def replay(events: Iterable[RecordEvent]) -> Record:
    """The record that its events lead to."""
    plain: Plain = {}
    for number, event in enumerate(events, start=1):
        plain.update(event.changes)
        now = (plain.get("record_id"), plain.get("revision"), plain.get("state"))
        if event.revision != number or now != (event.record_id, number, event.to_state):
            raise Corrupt(
                f"record {event.record_id} lacks the event that made revision {number}",
                code="record.events",
                hint="restore the store from a backup or an export",
            )
    return record_from_plain(plain)


def as_of(events: Sequence[RecordEvent], moment: datetime) -> Record | None:
    """The record as it was at a moment: what had happened by then, replayed; None before it was made."""
    happened: list[RecordEvent] = []
    for event in events:
        if event.at > moment:
            break
        happened.append(event)
    return replay(happened) if happened else None


def event_to_plain(event: RecordEvent) -> Plain:
    """An event as JSON values."""
    return {
        "record_id": event.record_id,
        "revision": event.revision,
        "move": event.move.value,
        "from_state": None if event.from_state is None else event.from_state.value,
        "to_state": event.to_state.value,
        "actor": event.actor,
        "reason": event.reason,
        "at": format_time(event.at),
        "changes": event.changes,
    }


def event_from_plain(plain: Mapping[str, JsonValue]) -> RecordEvent:
    """Read what `event_to_plain` wrote."""
    try:
        return RecordEvent(
            record_id=RecordId(as_text(plain["record_id"])),
            revision=as_whole(plain["revision"]),
            move=Move(as_text(plain["move"])),
            from_state=as_optional(State, plain["from_state"]),
            to_state=State(as_text(plain["to_state"])),
            actor=as_text(plain["actor"]),
            reason=as_text(plain["reason"]),
            at=parse_time(as_text(plain["at"])),
            changes=as_object(plain["changes"]),
        )
    except UNREADABLE as error:
        raise unreadable("event", error) from error


def _event(before: Record | None, after: Record, move: Move, act: Act) -> RecordEvent:
    return RecordEvent(
        record_id=after.record_id,
        revision=after.revision,
        move=move,
        from_state=None if before is None else before.state,
        to_state=after.state,
        actor=act.actor,
        reason=act.reason,
        at=act.at,
        changes=_difference(before, after),
    )


def _difference(before: Record | None, after: Record) -> Plain:
    new = record_to_plain(after)
    if before is None:
        return new
    old = record_to_plain(before)
    return {name: value for name, value in new.items() if value != old[name]}


def _without_content(changes: JsonObject) -> Plain:
    kept = dict(changes)
    for name, blank in _BLANKS.items():
        if name in kept:
            kept[name] = blank
    provenance = kept.get("provenance")
    if isinstance(provenance, Mapping):
        kept["provenance"] = {**provenance, "sources": []}
    return kept


# What a text could be read from. Ids, states, times and flags are lineage and stay.
_BLANKS: Mapping[str, JsonValue] = {
    "summary": "",
    "metadata": {},
    "evidence_refs": [],
    "automation_review": None,
    "semantic_key": "",
}
