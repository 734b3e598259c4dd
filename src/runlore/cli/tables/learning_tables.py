"""What people see of candidates and learnings: where each stands, why, and whether prompts get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runlore.cli.tables.record_tables import (
    RECORDS_NEXT,
    cut_summary,
    feedback_text,
    state_cell,
    verdict_rows,
    verdict_word,
)
from runlore.cli.tables.table_cells import (
    FIELDS,
    STATE_WORDS,
    field_rows,
    plural,
    scope_text,
    show_page,
    time_text,
)
from runlore.cli.terminal import Column, say, show_table
from runlore.domain.records.visibility import hidden_because
from runlore.domain.statements.ranks import confidence_reasons

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from runlore.cli.terminal import Cell
    from runlore.domain.record import EvidenceRef, Record
    from runlore.ports import operations as ops

_SUMMARY = Column(title="SUMMARY", wraps=True)


def show_candidates(page: ops.Page, names: Mapping[str, str]) -> None:
    show_page(
        page,
        "No candidates match.",
        ["ID", "KIND", "SCOPE", "STATE", Column(title="AUTOMATION", labelled=True), _SUMMARY],
        lambda r: (*_cells(r, names), verdict_word(r), cut_summary(r)),
        then="What waits, the newest first. `runlore inbox` decides on it.",
        has_places=True,
    )


def show_learnings(page: ops.Page, names: Mapping[str, str]) -> None:
    labelled = (Column(title=title, labelled=True) for title in ("TIER", "DECISION", "VERIFICATION"))
    show_page(
        page,
        "No learnings match.",
        ["ID", "KIND", "SCOPE", "STATE", *labelled, _SUMMARY],
        lambda r: (*_cells(r, names), *_publication(r), cut_summary(r)),
        then=RECORDS_NEXT,
        has_places=True,
    )


def _cells(record: Record, names: Mapping[str, str]) -> tuple[Cell, ...]:
    return record.record_id, record.kind, scope_text(record.scope, names), state_cell(record)


def _publication(record: Record) -> tuple[str, ...]:
    return record.publish_tier or "-", record.policy_decision or "-", record.verification_status


def show_learning(record: Record, now: datetime) -> None:
    say(f"{record.record_id}  {record.kind} in {scope_text(record.scope)}", "bold")
    rows: list[tuple[Cell, Cell]] = [
        (("says", "bold"), record.summary),
        (("prompts", "bold"), _prompts(record, now)),
    ]
    rows += [((name, "bold"), text) for name, text in _standing(record) if text]
    rows += [((name, "bold"), text) for name, text in verdict_rows(record)]
    rows += [((name, "bold"), text) for name, text in _origin(record) if text]
    rows += [(("why", "bold"), reason) for reason in confidence_reasons(record)]
    rows += [((name, "bold"), text) for name, text in field_rows("metadata", dict(record.metadata))]
    show_table(FIELDS, rows, indent=2)


def show_published(record: Record, *, asked_for: str | None = None) -> None:
    if asked_for is not None and record.record_id != asked_for:
        say(f"{asked_for} says the same as {record.record_id} and ends as its duplicate.")
        return
    replaced = f", in place of {record.supersedes}" if record.supersedes else ""
    say(f"Published {record.record_id} in the {record.publish_tier} tier{replaced}: {record.summary}")
    show_outside(record)


def show_outside(record: Record) -> None:
    for source in record.provenance.sources:
        say(f"  came from outside: {source}", "yellow")


def show_verified(record: Record) -> None:
    say(f"{record.record_id} is {record.verification_status}, in the {record.publish_tier} tier.")
    if record.revalidate_at is not None:
        say(f"  to be looked at again from {time_text(record.revalidate_at)}", "dim")


def show_feedback(record: Record) -> None:
    say(f"Noted for {record.record_id}: {feedback_text(record)}.")
    if record.revalidate_at is not None:
        say(f"  to be looked at again from {time_text(record.revalidate_at)}", "dim")


def show_revoked(answer: ops.Revoked, *, on_stderr: bool = False) -> None:
    deed = "Would revoke" if answer.dry_run else "Revoked"
    _show_matched(answer, deed, "No active learning matches.", on_stderr=on_stderr)


def show_cleared(answer: ops.Cleared, *, on_stderr: bool = False) -> None:
    deed = "Would clear" if answer.dry_run else "Cleared"
    _show_matched(answer, deed, "Nothing is marked for it alone.", on_stderr=on_stderr)


def _show_matched(answer: ops.Revoked | ops.Cleared, deed: str, nothing: str, *, on_stderr: bool) -> None:
    rows = [
        *((deed, str(record.record_id), cut_summary(record)) for record in answer.items),
        *((deed, *each.split(" ", 1)) for each in answer.others),
    ]
    if not rows:
        say(nothing, "dim", on_stderr=on_stderr)
        return
    show_table((Column(), Column(), Column(wraps=True)), rows, on_stderr=on_stderr)


def show_backfill(answer: ops.BackfillAnswer) -> None:
    if answer.beyond_retention:
        left = plural(answer.beyond_retention, "run")
        say(f"{left} cannot be captured any more: too old for a run memory to be kept.", "dim")
    if not answer.runs:
        say("No run was left out that could be captured now.", "dim")
        return
    will = "would be" if answer.dry_run else "will be"
    say(f"{plural(len(answer.runs), 'run')} {will} captured:")
    for run_id in answer.runs:
        say(f"  {run_id}")
    if answer.more:
        say("There are more: call it again, or with a higher --limit.", "dim")


def show_deleted_memories(answer: ops.DeletedRunMemories, *, on_stderr: bool = False) -> None:
    if not answer.memories:
        say("Nothing is remembered of runs there.", "dim", on_stderr=on_stderr)
        return
    deed = "Would delete" if answer.dry_run else "Deleted"
    of = f"{plural(answer.memories, 'run memory', 'run memories')} of {plural(answer.sessions, 'session')}"
    say(f"{deed} {of}.", on_stderr=on_stderr)
    if answer.more:
        say("There are more: call it again.", "dim", on_stderr=on_stderr)


def show_work(answer: ops.WorkAnswer) -> None:
    dead = f", {answer.dead} failed for good: `runlore jobs list --state dead`" if answer.dead else ""
    waiting = plural(answer.waiting, "waits", "wait")
    say(f"Did {plural(answer.done, 'job')}; {waiting}{dead}.")


def _prompts(record: Record, now: datetime) -> Cell:
    hidden = hidden_because(record, now)
    return (
        (
            "given to every prompt of its scope" if record.standing else "given to prompts that are about it",
            "green",
        )
        if hidden is None
        else (f"not given: {hidden}", "yellow")
    )


def _standing(record: Record) -> Iterator[tuple[str, str]]:
    reason = f" ({record.state_reason})" if record.state_reason else ""
    tier = f", {record.publish_tier} tier" if record.publish_tier else ""
    by = f", by {record.policy_actor}" if record.policy_actor else ""
    yield "state", f"{STATE_WORDS[record.state][0]}{reason}{tier}"
    yield "decision", f"{record.policy_decision}{by}" if record.policy_decision else ""
    yield "verification", record.verification_status
    yield "confidence", str(record.confidence)
    yield "sensitivity", record.sensitivity
    yield "standing", "in every prompt of its scope" if record.standing else ""
    yield "feedback", feedback_text(record) if record.feedback.wrong or record.feedback.helped else ""
    yield "supersedes", record.supersedes or ""
    yield "superseded by", record.superseded_by or ""
    yield "duplicate of", record.duplicate_of or ""
    yield "holds beside", ", ".join(record.both_hold)
    yield "created", time_text(record.created_at)
    yield "published", time_text(record.published_at)
    yield "expires", time_text(record.expires_at)
    yield "look again", time_text(record.revalidate_at)
    yield "revision", str(record.revision)


def _origin(record: Record) -> Iterator[tuple[str, str]]:
    source = record.source
    named = (("session", source.session_id), ("run", source.run_id), ("agent", source.agent))
    yield "origin", f"{record.origin}, created by {record.created_by}"
    yield "source", ", ".join(f"{name} {text}" for name, text in named if text)
    yield "made of", ", ".join(source.record_ids)
    for reference in record.evidence_refs:
        yield "evidence", evidence_text(reference)
    if record.provenance.tainted:
        yield "trust", "from outside; an operator has to read and accept it"
    for outside in record.provenance.sources:
        yield "from outside", outside


def evidence_text(reference: EvidenceRef) -> str:
    number = None if reference.event_number is None else str(reference.event_number)
    named = (("run", reference.run_id), ("artifact", reference.artifact_id), ("event", number))
    told = [f"{name} {text}" for name, text in named if text]
    return ", ".join([*told, *([reference.note] if reference.note else [])])
