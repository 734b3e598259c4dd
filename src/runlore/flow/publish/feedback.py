"""Feedback on a learning: a run that was given it says whether it helped or was wrong."""

from dataclasses import replace

from runlore.domain.prompts.projection import Receipt
from runlore.domain.record import Move, Record, RecordId, transition
from runlore.domain.records.audit import Act, apply_record_move
from runlore.domain.records.feedback import (
    FeedbackVerdict,
    count_verdict,
    reason_of,
    refuse_more,
    verdict_of,
    without_note,
)
from runlore.domain.run import Run, RunId
from runlore.flow.publish.decide import refuse_expired
from runlore.ports.store import Transaction


def was_given(receipt: Receipt | None, record_id: RecordId) -> bool:
    return receipt is not None and record_id in _source_ids(receipt)


def give_feedback(
    tx: Transaction, record: Record, run: Run, act: Act, *, verdict: FeedbackVerdict, note: str
) -> Record:
    """Count a run's verdict, in place of its earlier one; the same once more changes nothing."""
    refuse_expired(record, act.at)
    transition(record, Move.AMEND)
    events = tx.records.events(record.record_id)
    earlier = verdict_of(events, run.run_id)
    if earlier is verdict:
        return record
    refuse_more(events, run.run_id)
    because = replace(act, reason=reason_of(verdict, run, note))
    change = apply_record_move(
        record, Move.AMEND, because, after=count_verdict(record, earlier, verdict, act.at)
    )
    tx.write([change])
    return change.record


def forget_notes(tx: Transaction, run_id: RunId) -> None:
    """Erase what a forgotten run said beside its verdicts; the verdicts stay, for they are counted."""
    receipt = tx.runs.get_receipt(run_id)
    named = () if receipt is None else tuple(map(RecordId, _source_ids(receipt)))
    for record_id, events in tx.records.events_of_many(named).items():
        changed = [after for event in events if (after := without_note(event, run_id)) != event]
        if changed:
            tx.erase(record_id, changed)


def _source_ids(receipt: Receipt) -> frozenset[str]:
    return frozenset(entry.source_id for section in receipt.sections for entry in section.entries)
