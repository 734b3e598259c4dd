"""Forgetting runs and sessions: bodies, memories, artifacts, receipts and all that was made of them.

What stays says that there was something, when, and how it ended. A forgotten run's memory is never rebuilt.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runlore.domain.lazy import dataclass
from runlore.domain.prompts.projection import Receipt, ReceiptSection
from runlore.domain.record import Record, RecordId, StateReason
from runlore.domain.records.audit import Act
from runlore.domain.run import MemoryState, Run, RunId, RunMove, apply_run_move
from runlore.domain.runs.job import JobKind
from runlore.domain.runs.journal_entry import status_entry
from runlore.domain.session import UNBOUND, Session, SessionId
from runlore.flow.families import family
from runlore.flow.publish.feedback import forget_notes
from runlore.flow.publish.forget import forget, to_forget
from runlore.flow.publish.forget_sources import forget_sources, sources_of
from runlore.ports.store import Collections, Transaction


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
