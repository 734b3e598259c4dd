"""Scratch: a run's own notes, in the working layer. Seen inside the run, cleared when it closes."""

from runlore.domain.privacy.redaction import redact_text
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.record import Kind, Move, Record, Source, State
from runlore.domain.records.admission import Draft
from runlore.domain.records.audit import Act, apply_record_move
from runlore.domain.records.contracts import check_summary
from runlore.domain.run import Run, RunId
from runlore.domain.scope import Scope, ScopeKind
from runlore.flow.record.intake import Intake, append
from runlore.ports.store import Records, Transaction


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
