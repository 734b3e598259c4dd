"""Drafts become records: candidates wait for review, episodes are appended, and a run's own notes (scratch)
are seen inside the run and cleared when it closes."""

from collections.abc import Sequence
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.claims.subject import SemanticKey
from runlore.domain.lazy import dataclass
from runlore.domain.policies.learning_policy import Mode
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.record import Kind, Move, Origin, Record, Source, State
from runlore.domain.records.admission import Draft, Stamp, admit
from runlore.domain.records.audit import Act, apply_record_move, create_record
from runlore.domain.records.contracts import check_summary
from runlore.domain.run import Run, RunId
from runlore.domain.runs.job import JobKind
from runlore.domain.scope import Scope, ScopeKind
from runlore.flow.neighbours import same_profile_key
from runlore.flow.policies import current_learning
from runlore.flow.queueing import queue
from runlore.ports.ids import Ids
from runlore.ports.store import Records, Transaction


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Who brings drafts in, and how they are numbered."""

    ids: Ids
    act: Act
    origin: Origin = Origin.API


def propose(tx: Transaction, intake: Intake, drafts: Sequence[Draft]) -> tuple[Record, ...]:
    """Write candidates. A profile candidate notes what it would replace, so that a change shows.

    Automation is asked to review them, but for proposals, which are an operator's alone to decide on.
    """
    return _propose_records(tx, intake, [_record(intake, draft) for draft in drafts])


def propose_admitted(tx: Transaction, intake: Intake, *records: Record) -> tuple[Record, ...]:
    """Write candidates that were admitted before the transaction: what that costs keeps no writer waiting."""
    at = intake.act.at
    present = [replace(each, record_id=intake.ids.record_id(at), created_at=at) for each in records]
    return _propose_records(tx, intake, present)


def _propose_records(tx: Transaction, intake: Intake, records: Sequence[Record]) -> tuple[Record, ...]:
    if not records:
        return ()
    tx.lock({record.scope for record in records})
    written = tx.write(
        [create_record(_expecting(tx, record), Move.PROPOSE, intake.act) for record in records]
    )
    candidates = [record.record_id for record in written if record.proposal is None]
    if candidates and current_learning(tx).mode is not Mode.MANUAL_ONLY:
        queue(tx, intake.ids, JobKind.REVIEW, candidates, at=intake.act.at)
    return written


def propose_once(tx: Transaction, intake: Intake, draft: Draft) -> Record:
    """Write a candidate; where its author has the same one waiting, that one is the answer.

    It then has the evidence of both, and an event that says so. Another author's candidate stays another:
    whose word it rests on, and who may see it, differ.
    """
    tx.lock({draft.scope})
    new = _record(intake, draft)
    known = _waiting_alike(tx, new, intake.act)
    if known is None:
        return propose(tx, intake, [draft])[0]
    refs = known.evidence_with(new.support_refs)
    if known.was_proposed_before and refs == known.evidence_refs:
        # It is noted once that it was said again: an author who goes on saying it fills no history.
        return known
    act = replace(intake.act, reason="proposed again")
    return tx.write([apply_record_move(known, Move.AMEND, act, after=replace(known, evidence_refs=refs))])[0]


def _waiting_alike(tx: Transaction, new: Record, act: Act) -> Record | None:
    subject = SemanticKey.parse(new.semantic_key).subject
    waiting = tx.records.waiting_subject(new.scope, new.kind, subject, limit=limits.SAME_SUBJECT_MAX)
    return next(
        (
            record
            for record in waiting
            if (record.semantic_key, record.created_by, record.origin, record.sensitivity, record.proposal)
            == (new.semantic_key, act.actor, new.origin, new.sensitivity, new.proposal)
            and (record.provenance, record.source.record_ids) == (new.provenance, new.source.record_ids)
            and not record.is_expired(act.at)
        ),
        None,
    )


def append(tx: Transaction, intake: Intake, drafts: Sequence[Draft]) -> tuple[Record, ...]:
    """Write episodes: what happened is not up for review."""
    return tx.write([create_record(_record(intake, draft), Move.WRITE, intake.act) for draft in drafts])


def _record(intake: Intake, draft: Draft) -> Record:
    stamp = Stamp(
        record_id=intake.ids.record_id(intake.act.at),
        origin=intake.origin,
        created_by=intake.act.actor,
        at=intake.act.at,
    )
    return admit(draft, stamp)


def _expecting(tx: Transaction, record: Record) -> Record:
    present = same_profile_key(tx.records, record, record.created_at)
    return replace(record, supersedes=present[0].record_id) if present else record


def scratch_text(text: str) -> str:
    """A note as it can be kept: bounded first, then without what Runlore rendered, and without secrets.

    Meant to be called before the transaction: what this costs must not keep other writers waiting.
    """
    return redact_text(strip_injected(check_summary(text))).text


def add_scratch(tx: Transaction, intake: Intake, run: Run, text: str) -> Record:
    draft = Draft(
        kind=Kind.SCRATCH,
        summary=text,
        scope=Scope(ScopeKind.SESSION, run.session_id),
        source=Source(session_id=run.session_id, run_id=run.run_id, agent=run.agent),
    )
    return append(tx, intake, [draft])[0]


def scratch_of(records: Records, run_id: RunId) -> tuple[Record, ...]:
    return tuple(
        record
        for record in records.of_run(run_id)
        if record.kind is Kind.SCRATCH and record.state is State.ACTIVE
    )


def clear_scratch(tx: Transaction, scratch: tuple[Record, ...], act: Act) -> None:
    tx.write([apply_record_move(record, Move.CLEAR, act) for record in scratch])
