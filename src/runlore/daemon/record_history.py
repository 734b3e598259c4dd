"""A record's history as one caller may read it: what was never shown to the caller is not told afterwards.

A record can come from elsewhere: a candidate of another's session is edited, and published for everybody. Its
past stays where it was. What is told begins with the whole record, as it was when the caller first saw it.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from runlore.daemon.calls.access import may_see, require_visible
from runlore.daemon.runs.run_access import own_run
from runlore.domain.access import Caller, Role
from runlore.domain.errors import NotFound
from runlore.domain.record import Record
from runlore.domain.records.audit import RecordEvent
from runlore.domain.records.feedback import run_named, without_note
from runlore.domain.run import RunId
from runlore.domain.scope import Scope
from runlore.domain.serialization.codec import Plain, deserialize
from runlore.ports.store import Collections


def filter_history(
    collections: Collections,
    caller: Caller,
    readable: frozenset[Scope] | None,
    events: Sequence[RecordEvent],
) -> tuple[RecordEvent, ...]:
    """The events of the revisions that the caller may see, without notes of runs that are not its own.

    Behind a revision that it may not see, an event tells the whole record in place of what it changed.
    """
    if caller.role is not Role.AGENT and readable is None:
        return tuple(events)
    return tuple(_without_notes(collections, caller, _visible_events(caller, readable, events)))


def is_shown(caller: Caller, record: Record, readable: frozenset[Scope] | None) -> bool:
    with suppress(NotFound):
        require_visible(record, readable)
        return may_see(caller, record)
    return False


def _visible_events(
    caller: Caller, readable: frozenset[Scope] | None, events: Sequence[RecordEvent]
) -> Iterator[RecordEvent]:
    plain: Plain = {}
    was_told = False
    for event in events:
        plain.update(event.changes)
        is_told = is_shown(caller, deserialize(Record, plain), readable)
        if is_told:
            yield event if was_told else replace(event, changes=dict(plain))
        was_told = is_told


def _without_notes(
    collections: Collections, caller: Caller, events: Iterator[RecordEvent]
) -> Iterator[RecordEvent]:
    own: dict[RunId, bool] = {}
    for event in events:
        run_id = run_named(event)
        if run_id is None:
            yield event
            continue
        if run_id not in own:
            own[run_id] = _is_own(collections, caller, run_id)
        yield event if own[run_id] else without_note(event, run_id)


def _is_own(collections: Collections, caller: Caller, run_id: RunId) -> bool:
    with suppress(NotFound):
        own_run(collections, caller, run_id)
        return True
    return False
