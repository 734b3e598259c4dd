"""Forgetting where a run read: the addresses that later runs of its session were marked with.

What a run read is still in the conversation behind it, so what was learned there names its sources. When the
run is forgotten, what it alone had read is named no more. That something came from outside stays known.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from runlore.domain import limits
from runlore.domain.errors import Corrupt
from runlore.domain.record import Record, RecordId
from runlore.domain.records.audit import RecordEvent
from runlore.domain.run import Run, RunId
from runlore.domain.runs.journal import JournalEvent
from runlore.domain.scope import Scope
from runlore.domain.taint_sources import read_outside
from runlore.flow.origins import place_of
from runlore.flow.publish.forget import to_forget
from runlore.ports.store import Collections, Transaction

_ALWAYS = datetime(9999, 1, 1, tzinfo=UTC)


def scopes_marked(collections: Collections, run: Run) -> frozenset[Scope]:
    """The scopes of the records that may name what a run alone has read."""
    if not sources_of(collections, run):
        return frozenset()
    return frozenset(record.scope for record in _find_marked(collections, run).values())


def sources_of(collections: Collections, run: Run) -> frozenset[str]:
    """What a run read, and no other run of its session: asked before any of it is erased."""
    noted = collections.captures.get(run.run_id)
    own = {*_read_sources(collections, run.run_id), *(noted.provenance.sources if noted else ())}
    if not own:
        return frozenset()
    for capture in collections.captures.untrusted_before(run.session_id, _ALWAYS):
        if capture.run_id != run.run_id:
            own.difference_update(capture.provenance.sources)
    for run_id in collections.captures.missing_before(run.session_id, _ALWAYS):
        if own and run_id != run.run_id:
            own.difference_update(_read_sources(collections, run_id))
    return frozenset(own)


def forget_sources(tx: Transaction, run: Run, sources: frozenset[str]) -> None:
    """Blank sources in the session's records and their histories, and in all that was derived from them."""
    if not sources:
        return
    for record_id, events in tx.records.events_of_many(tuple(_find_marked(tx, run))).items():
        changed = [after for event in events if (after := _without(event, sources)) != event]
        if changed:
            tx.erase(record_id, changed)


def _find_marked(collections: Collections, run: Run) -> dict[RecordId, Record]:
    found: dict[RecordId, Record] = {}
    runs = collections.runs.of_session(run.session_id)
    made = [collections.records.of_session(run.session_id)]
    made += [collections.records.of_run(each.run_id) for each in runs]
    for record in (record for records in made for record in records):
        if record.record_id not in found:
            found.update((each.record_id, each) for each in to_forget(collections.records, record))
    return found


def _read_sources(collections: Collections, run_id: RunId) -> tuple[str, ...]:
    """What a run's journal says that it read; nothing where it is damaged, for forgetting goes on."""
    with suppress(Corrupt):
        return read_outside(
            _events(collections, run_id), place_of(collections, collections.runs.get(run_id))
        ).sources
    return ()


def _events(collections: Collections, run_id: RunId) -> Iterator[JournalEvent]:
    after = 0
    while page := collections.journal.page(run_id=run_id, after=after, limit=limits.JOURNAL_PAGE_DEFAULT):
        yield from page
        after = page[-1].number


def _without(event: RecordEvent, sources: frozenset[str]) -> RecordEvent:
    provenance = event.changes.get("provenance")
    if not isinstance(provenance, Mapping):
        return event
    named = provenance.get("sources")
    if not isinstance(named, list | tuple) or sources.isdisjoint(map(str, named)):
        return event
    kept = [source for source in named if source not in sources]
    return replace(event, changes={**event.changes, "provenance": {**provenance, "sources": kept}})
