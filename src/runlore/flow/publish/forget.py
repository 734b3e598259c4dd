"""Forgetting: a record with all that was derived from it; runs and sessions, with bodies, memories,
artifacts, receipts and all that was made of them.

What stays says that there was something, when, and how it ended. A forgotten run's memory is never rebuilt.
What it read is still in the conversation behind it, so what was learned there names its sources: what it
alone had read is named no more. That something came from outside stays known.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from runlore.domain import limits
from runlore.domain.errors import Corrupt
from runlore.domain.lazy import dataclass
from runlore.domain.prompts.projection import Receipt, ReceiptSection
from runlore.domain.record import Record, RecordId, StateReason
from runlore.domain.records.audit import Act, RecordEvent, erase_event, forget_record
from runlore.domain.run import MemoryState, Run, RunId, RunMove, apply_run_move
from runlore.domain.runs.job import JobKind
from runlore.domain.runs.journal import JournalEvent
from runlore.domain.runs.journal_entry import status_entry
from runlore.domain.scope import Scope
from runlore.domain.session import UNBOUND, Session, SessionId
from runlore.domain.taint_sources import read_outside
from runlore.flow.families import family
from runlore.flow.origins import place_of
from runlore.flow.publish.decide import forget_notes
from runlore.ports.store import Collections, Records, Transaction

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


def to_forget(records: Records, record: Record) -> tuple[Record, ...]:
    """The record and everything derived from it, nearest first; what is forgotten already is left out."""
    return tuple(
        each for each in _with_derived(records, record) if each.state_reason is not StateReason.FORGOTTEN
    )


def forget(tx: Transaction, record: Record, act: Act) -> tuple[Record, ...]:
    """Leave contentless tombstones."""
    tombstones: list[Record] = []
    for each in to_forget(tx.records, record):
        tx.erase(each.record_id, [erase_event(event) for event in tx.records.events(each.record_id)])
        tombstones += tx.write([forget_record(each, act)])
    return tuple(tombstones)


def _with_derived(records: Records, record: Record) -> tuple[Record, ...]:
    found: dict[RecordId, Record] = {record.record_id: record}
    waiting = [record.record_id]
    while waiting:
        for derived in records.derived_from(waiting.pop(0)):
            if derived.record_id not in found:
                found[derived.record_id] = derived
                waiting.append(derived.record_id)
    return tuple(found.values())


@dataclass(frozen=True, kw_only=True)
class Forgotten:
    """What a forgetting erases; `requests` are those that other runs have kept."""

    records: tuple[Record, ...] = ()
    runs: tuple[RunId, ...] = ()
    sessions: tuple[SessionId, ...] = ()
    events: int = 0
    artifacts: int = 0
    requests: int = 0


def would_forget_run(collections: Collections, run: Run) -> Forgotten:
    return Forgotten(
        records=_living(collections, collections.records.of_run(run.run_id)),
        runs=(run.run_id,),
        events=collections.journal.count(run_id=run.run_id),
        artifacts=len(collections.runs.artifact_names(run.run_id)),
    )


def would_forget_session(collections: Collections, session: Session) -> Forgotten:
    """What forgetting a session would erase: all of its runs too, and the sessions of its subagents."""
    return _would_forget_all(collections, family(collections, session))


def forget_run(tx: Transaction, run: Run, act: Act) -> Forgotten:
    """Erase a run. One that is still open ends here."""
    forgotten = would_forget_run(tx, run)
    sources = sources_of(tx, run)
    records = _forget_records(tx, forgotten.records, act)
    forget_sources(tx, run, sources)
    _erase_run(tx, run, act)
    _blank_title(tx, run)
    tx.journal.erase_run(run.run_id)
    _forget_answers(tx, records, () if run.memory is MemoryState.FORGOTTEN else forgotten.runs)
    return replace(forgotten, records=records)


def forget_session(tx: Transaction, session: Session, act: Act) -> Forgotten:
    """Erase a session, the sessions of its subagents, and all of their runs."""
    sessions = family(tx, session)
    forgotten = _would_forget_all(tx, sessions)
    records = _forget_records(tx, forgotten.records, act)
    names: list[str] = []
    for each in sessions:
        if each.forgotten_at is None:
            names += [each.session_id, *(run.run_id for run in tx.runs.of_session(each.session_id))]
    # By id, as pruning takes these rows too: nobody waits for somebody who waits for them.
    for run in sorted(tx.runs.get_many(forgotten.runs).values(), key=lambda run: run.run_id):
        _erase_run(tx, run, act)
    for each in sorted(sessions, key=lambda each: each.session_id):
        tx.journal.erase_session(each.session_id)
        _blank_session(tx, each, act)
    _forget_answers(tx, records, names)
    return replace(forgotten, records=records)


def tombstones_of_run(collections: Collections, run_id: RunId) -> tuple[Record, ...]:
    return _filter_forgotten(collections.records.of_run(run_id))


def tombstones_of_session(collections: Collections, session_id: SessionId) -> tuple[Record, ...]:
    return _filter_forgotten(collections.records.of_session(session_id))


def _would_forget_all(collections: Collections, sessions: Sequence[Session]) -> Forgotten:
    runs = {session.session_id: collections.runs.of_session(session.session_id) for session in sessions}
    every = [run for of_one in runs.values() for run in of_one]
    made = (record for each in sessions for record in _list_derived(collections, each, runs[each.session_id]))
    return Forgotten(
        records=_living(collections, made),
        runs=tuple(run.run_id for run in every),
        sessions=tuple(runs),
        events=sum(collections.journal.count(session_id=session_id) for session_id in runs),
        artifacts=sum(len(collections.runs.artifact_names(run.run_id)) for run in every),
    )


def _blank_session(tx: Transaction, session: Session, act: Act) -> None:
    if session.forgotten_at is not None:
        return
    blank = replace(
        session,
        title="",
        agent=None,
        working_folder=None,
        binding=UNBOUND,
        ended_at=session.ended_at or act.at,
        forgotten_at=act.at,
        checkpoint_number=None,
        revision=session.revision + 1,
    )
    tx.sessions.update(blank, expected_revision=session.revision)


def _blank_title(tx: Transaction, run: Run) -> None:
    """Take the title off a session that is called by what this run was asked, or may be: what is damaged
    cannot say."""
    session = tx.sessions.get(run.session_id)
    try:
        asked = " ".join(tx.journal.inputs([run.run_id]).get(run.run_id, "").split())
    except Corrupt:
        asked = session.title
    if session.title and asked.startswith(session.title.removesuffix("…")):
        blank = replace(session, title="", revision=session.revision + 1)
        tx.sessions.update(blank, expected_revision=session.revision)


def _erase_run(tx: Transaction, run: Run, act: Act) -> None:
    """All of a run but its journal, which the caller erases."""
    tx.jobs.cancel(JobKind.REMEMBER, run.run_id)
    tx.jobs.cancel(JobKind.CAPTURE, run.run_id)
    tx.jobs.cancel(JobKind.DETECT, run.run_id)
    tx.pointers.delete([run.run_id])
    tx.captures.delete([run.run_id])
    tx.outside_words.delete([run.run_id])
    artifact_ids = tx.runs.artifact_names(run.run_id)
    tx.runs.delete_artifacts(artifact_ids)
    tx.counters.forget_answers(list(artifact_ids))
    forget_notes(tx, run.run_id)
    tx.runs.delete_receipts([run.run_id])
    tx.outcomes.delete([run.run_id])
    for receipt in tx.runs.receipts_naming(run.run_id):
        blanked = _without_text(receipt, run.run_id)
        if blanked != receipt:
            tx.runs.put_receipt(blanked)
    after = run if run.is_terminal else apply_run_move(run, RunMove.INTERRUPT, act.at)
    blank = replace(
        after,
        agent=None,
        model=None,
        error="",
        reason="",
        artifact_ids=(),
        memory=MemoryState.FORGOTTEN,
        revision=run.revision + 1,
    )
    if replace(blank, revision=run.revision) == run:
        return
    tx.runs.update(blank, expected_revision=run.revision)
    if not run.is_terminal:
        tx.journal.append(run.session_id, run.run_id, [status_entry(blank)], act.at)


def _forget_answers(tx: Transaction, records: Iterable[Record], names: Iterable[str]) -> None:
    """Kept answers tell a digest of what was sent. The answer of an earlier forgetting tells nothing, so
    `names` are of what was not forgotten before."""
    tx.counters.forget_answers([*(record.record_id for record in records), *names])


def _forget_records(tx: Transaction, records: Iterable[Record], act: Act) -> tuple[Record, ...]:
    """Forget what was found; what one takes along is not there any more when its turn comes."""
    tombstones: list[Record] = []
    for record in records:
        present = tx.records.get(record.record_id)
        if present.state_reason is not StateReason.FORGOTTEN:
            tombstones.extend(forget(tx, present, act))
    return tuple(tombstones)


def _living(collections: Collections, records: Iterable[Record]) -> tuple[Record, ...]:
    """These and everything derived from them, each once, without what is forgotten already."""
    found: dict[RecordId, Record] = {}
    for record in records:
        found.update((each.record_id, each) for each in to_forget(collections.records, record))
    return tuple(found.values())


def _list_derived(collections: Collections, session: Session, runs: Iterable[Run]) -> Iterable[Record]:
    yield from collections.records.of_session(session.session_id)
    for run in runs:
        yield from collections.records.of_run(run.run_id)


def _filter_forgotten(records: Iterable[Record]) -> tuple[Record, ...]:
    return tuple(record for record in records if record.state_reason is StateReason.FORGOTTEN)


def _without_text(receipt: Receipt, run_id: RunId) -> Receipt:
    return replace(receipt, sections=tuple(_blank(section, run_id) for section in receipt.sections))


def _blank(section: ReceiptSection, run_id: RunId) -> ReceiptSection:
    entries = (replace(entry, text=None) if entry.source_id == run_id else entry for entry in section.entries)
    return replace(section, entries=tuple(entries))
