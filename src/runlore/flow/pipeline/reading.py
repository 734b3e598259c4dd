"""Reading sessions with a model (SKL-20): what users said and what was run for it goes out in batches, in
order, and what the answers name becomes candidates.

A batch is read from the store in a snapshot and asked about outside any transaction. What came of it is
written in one, with the receipts of its runs: a run is asked about once, and whatever dies in between leaves
a batch that is asked about again only because its answer was not kept.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.errors import Corrupt, Invalid, Refused
from runlore.domain.lazy import dataclass
from runlore.domain.learning.own_words import fold_quote, is_said
from runlore.domain.policies.learning_policy import ModelBudget, OwnWords
from runlore.domain.project import project_name
from runlore.domain.prompts.run_memory import Capture, CaptureState
from runlore.domain.record import (
    OWN_WORDS,
    EvidenceRef,
    JsonObject,
    JsonValue,
    Kind,
    Move,
    Origin,
    Proposal,
    Record,
    Source,
    State,
)
from runlore.domain.records.admission import Draft
from runlore.domain.records.audit import DAEMON, Act, apply_record_move
from runlore.domain.run import Run, RunId
from runlore.domain.runs.job import JobKind
from runlore.domain.runs.journal import EventType
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import Session, SessionId
from runlore.domain.skills.repetition import DIGEST, procedure_digest
from runlore.domain.statements.candidates import scope_of
from runlore.domain.statements.passages import (
    SESSIONS_MIN,
    MessageBatch,
    Passage,
    PassageCollector,
    batches_of,
)
from runlore.domain.statements.ranks import Rank, rank_of, sessions_of
from runlore.domain.statements.reading import SCHEMA, ReadFindings, ReadProcedure, ReadStatement, check_answer
from runlore.domain.taint import TRUSTED, Provenance, inherit
from runlore.flow.capture.provenance import run_provenance
from runlore.flow.capture.sessions import is_captured
from runlore.flow.model_budget import BudgetedModels
from runlore.flow.pipeline.capturing import draft_record, find_equal_record, is_turned_down, note_said_again
from runlore.flow.pipeline.recurring import may_teach
from runlore.flow.policies import current_capture, current_learning, current_run_memory, current_skills
from runlore.flow.record.intake import Intake, propose
from runlore.ports.ids import Ids
from runlore.ports.model import ModelFailure, ModelPurpose, Question, TokenUsage
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Collections, RecordFilter, Store, Transaction

REASON = "a model found it in what was said"
TIMEOUT_S = 180.0
# What a model will say of this batch again, however often it is asked.
_FINAL = frozenset({"model.question", "model.refused"})
_WORDED = Provenance(needs_review=True, sources=("content: put into words by a model",))


@dataclass(frozen=True, kw_only=True)
class BatchRead:
    """What came of one batch; `usage` is what it took, `is_answered` whether the model answered at all."""

    messages: int
    runs: int
    statements: int = 0
    procedures: int = 0
    thrown: Mapping[str, int]
    usage: TokenUsage
    is_answered: bool = True


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Who has sessions read."""

    store: Store
    memories: RunMemories
    asking: BudgetedModels
    ids: Ids

    def read_next(self) -> BatchRead | None:
        """Have the next batch read; None where nothing is left. ModelFailure where it cannot be asked now,
        and then nothing was written."""
        with self.store.snapshot() as snapshot:
            budget = current_learning(snapshot).model_budget
            batch = next(unread_batches(snapshot), None)
        if batch is None:
            return None
        try:
            reply = self.asking.ask(question_about(batch), budget)
        except ModelFailure as failure:
            if failure.code not in _FINAL:
                raise
            self._write(batch, ReadFindings(), "")
            counts = {failure.code: 1}
            return _batch_read(batch, ReadFindings(), counts, failure.usage, is_answered=False)
        found = check_answer(batch, reply.output)
        kept = self._write(batch, found, f"{reply.model} {reply.prompt}")
        counts = {why.value: count for why, count in found.thrown.items() if count}
        return _batch_read(batch, kept, counts, reply.usage)

    def _write(self, batch: MessageBatch, found: ReadFindings, read_by: str) -> ReadFindings:
        """Write what was found in those runs that are as they were, and their receipts; what was written."""
        with self.store.snapshot() as snapshot:
            before = _receipts(snapshot, batch.runs)
            bindings = _sessions(snapshot, batch)
            scopes = {WORKSPACE, *(Scope(ScopeKind.SESSION, name) for name in batch.sessions)}
            scopes |= {scope_of(kind, [each.binding]) for each in bindings.values() for kind in _SCOPED}
            scopes |= {record.scope for record in _waiting(snapshot, batch.runs)}
        with self.store.transaction() as tx:
            tx.lock(scopes)
            unread, noted = _list_unread(tx, batch.runs)
            receipts = {
                run.run_id: noted.get(run.run_id, before[run.run_id])
                for run in unread
                if run.run_id in before
            }
            sessions = _sessions(tx, batch)
            act = Act(actor=DAEMON, at=self.asking.clock.now(), reason=REASON)
            kept = ReadFindings(
                statements=tuple(
                    each for each in found.statements if _is_open(each.passage, receipts, sessions)
                ),
                procedures=tuple(
                    each
                    for each in found.procedures
                    if all(_is_open(passage, receipts, sessions) for passage in each.passages)
                ),
            )
            _fold_others(tx, [run for run in batch.runs if run in receipts], kept.statements, act)
            for stated in kept.statements:
                self._propose(tx, statement_draft(stated, sessions, read_by), act)
            for procedure in kept.procedures:
                self._propose_procedure(tx, procedure_draft(procedure, sessions, receipts), act)
            tx.captures.put(*(replace(each, state=CaptureState.COMPLETED) for each in receipts.values()))
            tx.pointers.set_capture(dict.fromkeys(receipts, CaptureState.COMPLETED))
        self.memories.note_captures(dict.fromkeys(receipts, CaptureState.COMPLETED))
        return kept

    def _propose(self, tx: Transaction, draft: Draft, act: Act) -> None:
        """Propose it, unless people turned it down; what a live record says already gets its evidence."""
        with suppress(Invalid, Refused):
            record = draft_record(draft, act.at)
            known = find_equal_record(tx, record, act.at)
            if known is not None:
                note_said_again(tx, self.ids, known, record, at=act.at)
            elif not is_turned_down(tx, record):
                propose(tx, Intake(ids=self.ids, act=act, origin=Origin.DAEMON), [draft])

    def _propose_procedure(self, tx: Transaction, draft: Draft, act: Act) -> None:
        if not tx.records.proposals_for(str(draft.metadata[DIGEST])):
            with suppress(Invalid, Refused):
                propose(tx, Intake(ids=self.ids, act=act, origin=Origin.DAEMON), [draft])


_SCOPED = (ScopeKind.PERSONA, ScopeKind.PROJECT)


def is_reading_allowed(collections: Collections) -> bool:
    """Whether people let a model read what users say."""
    is_heard = current_capture(collections).own_words is OwnWords.PROPOSE
    return is_heard and current_skills(collections).llm_learn


def question_about(batch: MessageBatch) -> Question:
    return Question(purpose=ModelPurpose.READING, document=batch.document, schema=SCHEMA, timeout_s=TIMEOUT_S)


def unread_batches(collections: Collections) -> Iterator[MessageBatch]:
    """What no model has read, session after session, the oldest first, in batches of the policy's size."""
    if not is_reading_allowed(collections):
        return iter(())
    budget: ModelBudget = current_learning(collections).model_budget
    return batches_of(_unread_passages(collections), tokens_max=budget.batch_tokens)


def _unread_passages(collections: Collections) -> Iterator[tuple[Passage, ...]]:
    personal = current_run_memory(collections).redact_pii
    recurring = _count_sessions(collections)
    for session, runs in _unread_sessions(collections):
        project = next(iter(session.binding.project_ids), "")
        collector = PassageCollector(
            session_id=session.session_id,
            project=project_name(project, session.working_folder or ""),
            personal=personal,
        )
        heard: RunId | None = None
        for run in collections.runs.of_session(session.session_id):
            if run.run_id in runs:
                if heard is not None:
                    collector.spoken = collections.journal.latest_text(heard)
                passages = _passages(collections, run, collector)
                yield tuple(
                    replace(each, sessions=recurring.get((each.message.run_id, each.message.event_number), 0))
                    for each in passages
                )
            heard = run.run_id


def _passages(collections: Collections, run: Run, collector: PassageCollector) -> tuple[Passage, ...]:
    mined = collections.mined_runs.find(run.run_id)
    day = run.opened_at.date().isoformat()
    try:
        return collector.hear_run(
            run.run_id, _events(collections, run.run_id), () if mined is None else mined.steps, day=day
        )
    except Corrupt:
        return ()


def _events(collections: Collections, run_id: RunId) -> Iterator[tuple[int, EventType, JsonObject]]:
    after = 0
    while page := collections.journal.page(run_id=run_id, after=after, limit=limits.JOURNAL_PAGE_DEFAULT):
        yield from ((event.number, event.type, event.body) for event in page)
        after = page[-1].number


def _unread_sessions(collections: Collections) -> Iterator[tuple[Session, frozenset[RunId]]]:
    """The sessions that may be read and have unread runs, in the order in which they began, with those."""
    runs: dict[SessionId, list[Run]] = {}
    before = None
    while page := collections.runs.page(limit=limits.LIST_LIMIT_MAX, before=before):
        for run in _list_unread(collections, [run.run_id for run in page])[0]:
            runs.setdefault(run.session_id, []).append(run)
        before = (page[-1].opened_at, page[-1].run_id)
    for session_id in sorted(runs, key=lambda name: (runs[name][-1].opened_at, name)):
        session = _find_readable(collections, session_id)
        if session is not None:
            yield session, frozenset(run.run_id for run in runs[session_id])


def _find_readable(collections: Collections, session_id: SessionId) -> Session | None:
    session = collections.sessions.find(session_id)
    if session is None or session.forgotten_at is not None or not is_captured(collections, session):
        return None
    return session


def _list_unread(
    collections: Collections, run_ids: Sequence[RunId]
) -> tuple[list[Run], dict[RunId, Capture]]:
    """Those of the runs that nobody has forgotten and no model has read, and the receipts that there are for
    them. One without is read where it was brought in and capture will not come to it."""
    found, noted = collections.runs.get_many(run_ids), collections.captures.get_many(run_ids)
    unread = [run for run_id in run_ids if (run := found.get(run_id)) is not None and may_teach(run)]
    return [run for run in unread if _is_due(collections, run, noted.get(run.run_id))], noted


def _is_due(collections: Collections, run: Run, noted: Capture | None) -> bool:
    if noted is None:
        return run.imported and collections.jobs.find(JobKind.CAPTURE, run.run_id) is None
    return noted.state is not CaptureState.COMPLETED


def _receipts(collections: Collections, run_ids: Sequence[RunId]) -> dict[RunId, Capture]:
    """The receipts of those that no model has read; one that is missing is made of what the run has read."""
    unread, noted = _list_unread(collections, run_ids)
    return {
        run.run_id: noted.get(run.run_id)
        or Capture(
            run_id=run.run_id,
            session_id=run.session_id,
            opened_at=run.opened_at,
            state=CaptureState.SKIPPED,
            provenance=run_provenance(collections, run),
        )
        for run in unread
    }


def _count_sessions(collections: Collections) -> dict[tuple[RunId, int], int]:
    """In how many sessions the same is asked for as in a message, as it was found without a model."""
    found: dict[tuple[RunId, int], int] = {}
    where = RecordFilter(states=frozenset({State.CONSTRAINED, State.ACTIVE}), ranks=frozenset(Rank))
    for record in collections.records.page(where, limit=limits.LIST_LIMIT_MAX):
        if sessions_of(record) >= SESSIONS_MIN:
            for ref in record.evidence_refs:
                if ref.run_id is not None and ref.event_number is not None:
                    found[RunId(ref.run_id), ref.event_number] = sessions_of(record)
    return found


def _sessions(collections: Collections, batch: MessageBatch) -> dict[SessionId, Session]:
    """The sessions of a batch that may still be read."""
    found = [_find_readable(collections, name) for name in batch.sessions]
    return {each.session_id: each for each in found if each is not None}


def _is_open(
    passage: Passage, receipts: Mapping[RunId, Capture], sessions: Mapping[SessionId, Session]
) -> bool:
    return passage.message.run_id in receipts and passage.message.session_id in sessions


def _waiting(collections: Collections, run_ids: Iterable[RunId]) -> list[Record]:
    """What waits for review of what users said in these runs, as it was found without a model."""
    return [
        record
        for run_id in run_ids
        for record in collections.records.of_run(run_id)
        if record.state is State.CONSTRAINED
        and rank_of(record) is not None
        and "read_by" not in _notes(record)
    ]


def _fold_others(tx: Transaction, run_ids: Sequence[RunId], found: Sequence[ReadStatement], act: Act) -> None:
    """Fold what was found without a model in runs that a model has read now, unless it comes back in several
    sessions: what the model names stands first, in its place."""
    said = {fold_quote(each.text) for each in found}
    for record in _waiting(tx, run_ids):
        is_named = fold_quote(record.summary) in said
        if rank_of(record) is Rank.FIRST and not is_named and sessions_of(record) < SESSIONS_MIN:
            notes: dict[str, JsonValue] = {**_notes(record), "first": False}
            after = replace(record, metadata={**record.metadata, OWN_WORDS: notes})
            tx.write([apply_record_move(record, Move.AMEND, act, after=after)])


def _notes(record: Record) -> JsonObject:
    noted = record.metadata.get(OWN_WORDS)
    return noted if isinstance(noted, Mapping) else {}


def statement_draft(stated: ReadStatement, sessions: Mapping[SessionId, Session], read_by: str) -> Draft:
    """The candidate of a statement. What the user says in so many words is trusted; what a model has put into
    words is for a person to read."""
    message = stated.passage.message
    session = sessions[message.session_id]
    is_own = is_said(stated.passage.own, stated.text)
    notes: dict[str, JsonValue] = {
        "first": stated.is_first,
        "sessions": max(1, stated.passage.sessions),
        "refusal": False,
        "parts": {},
        "read_by": read_by,
        "quote": stated.quote,
    }
    return Draft(
        kind=stated.kind,
        summary=stated.text,
        scope=scope_of(stated.scope, [session.binding]),
        metadata={OWN_WORDS: notes},
        confidence=stated.confidence,
        source=Source(session_id=message.session_id, run_id=message.run_id, agent=session.agent),
        evidence_refs=(EvidenceRef(run_id=message.run_id, event_number=message.event_number),),
        provenance=TRUSTED if is_own else _WORDED,
        is_own=is_own,
    )


def procedure_draft(
    found: ReadProcedure, sessions: Mapping[SessionId, Session], receipts: Mapping[RunId, Capture]
) -> Draft:
    """The candidate of a procedure, which only a person decides on. It belongs to the project that all of its
    sessions have, and is as trusted as what these runs had read."""
    steps = "".join(f"\n{place}. {step}" for place, step in enumerate(found.steps, start=1))
    met = f"\nThe error: {found.error}" if found.error else ""
    messages = [each.message for each in found.passages]
    first = messages[0]
    bindings = [sessions[name].binding for name in dict.fromkeys(each.session_id for each in messages)]
    digest = procedure_digest(f"read: {' ; '.join(found.steps)}")
    return Draft(
        kind=Kind.PROCEDURE,
        summary=f"{found.name}: {found.when}{met}{steps}"[: limits.SUMMARY_CHARS_MAX],
        scope=scope_of(ScopeKind.PROJECT, bindings),
        metadata={"workflow": found.name, "canonical": False, DIGEST: digest},
        source=Source(session_id=first.session_id, run_id=first.run_id),
        evidence_refs=tuple(
            EvidenceRef(run_id=each.run_id, event_number=each.event_number)
            for each in messages[: limits.EVIDENCE_REFS_MAX]
        ),
        provenance=inherit([_WORDED, *(receipts[each.run_id].provenance for each in messages)]),
        proposal=Proposal.EPISODES,
    )


def _batch_read(
    batch: MessageBatch,
    kept: ReadFindings,
    thrown: Mapping[str, int],
    usage: TokenUsage,
    *,
    is_answered: bool = True,
) -> BatchRead:
    return BatchRead(
        messages=len(batch.passages),
        runs=len(batch.runs),
        statements=len(kept.statements),
        procedures=len(kept.procedures),
        thrown=thrown,
        usage=usage,
        is_answered=is_answered,
    )
