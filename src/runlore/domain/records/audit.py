"""Moves and their events: the append-only history that a record always equals the replay of.

Nobody else makes or changes a record, so no state can change without its event.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from runlore.domain.errors import Corrupt
from runlore.domain.json_form import Damage, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject, Move, Record, RecordId, State, opening, transition
from runlore.domain.serialization.codec import Plain, deserialize, erase, erase_json, serialize

# Who acts where nobody asked for it.
DAEMON = "daemon"


@dataclass(frozen=True, kw_only=True)
class Act:
    """Who moves something, why, and when."""

    actor: str
    at: datetime
    reason: str = ""


@JsonForm(
    damage=Damage(thing="event", code="record.damaged", hint="restore the store from a backup or an export")
)
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
class RecordChange:
    """A record as it is after a move, with the move's event. The store writes both or neither."""

    record: Record
    event: RecordEvent
    before: Record | None = None


def create_record(record: Record, move: Move, act: Act) -> RecordChange:
    """The change that brings a record into being, by PROPOSE or WRITE."""
    row = opening(record.layer, move)
    first = replace(record, state=row.end, state_reason=None, revision=1)
    return RecordChange(record=first, event=_event(None, first, move, act))


def apply_record_move(record: Record, move: Move, act: Act, *, after: Record | None = None) -> RecordChange:
    """The change that a move makes; `after` holds what else changes with it, its state is the table's."""
    row = transition(record, move)
    result = replace(after or record, state=row.end, state_reason=row.reason, revision=record.revision + 1)
    return RecordChange(record=result, event=_event(record, result, move, act), before=record)


def forget_record(record: Record, act: Act) -> RecordChange:
    """The change that leaves a contentless tombstone."""
    return apply_record_move(record, Move.FORGET, act, after=erase(record))


def erase_event(event: RecordEvent) -> RecordEvent:
    """An earlier event of a forgotten record: what happened stays, what was said goes."""
    return replace(event, reason="", changes=erase_json(Record, event.changes))


def replay(events: Iterable[RecordEvent]) -> Record:
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
    return deserialize(Record, plain)


def as_of(events: Sequence[RecordEvent], moment: datetime) -> Record | None:
    """The record as it was at a moment: what had happened by then, replayed; None before it was made."""
    happened: list[RecordEvent] = []
    for event in events:
        if event.at > moment:
            break
        happened.append(event)
    return replay(happened) if happened else None


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
    new = serialize(after)
    if before is None:
        return new
    old = serialize(before)
    return {name: value for name, value in new.items() if value != old[name]}
