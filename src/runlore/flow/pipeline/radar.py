"""Adopting a radar finding, and undoing that."""

from dataclasses import dataclass, replace

from runlore.domain.errors import Conflict
from runlore.domain.record import Kind, Record, Source, State, StateReason
from runlore.domain.records.admission import Draft
from runlore.domain.records.audit import Act
from runlore.domain.records.radar import (
    Finding,
    adoption_draft,
    adoption_episode,
    finding_draft,
    require_finding,
    scan_draft,
)
from runlore.domain.scope import Scope
from runlore.flow.publish.decide import ended_before, refuse_expired
from runlore.flow.reactions import confirm_learning, roll_back_learning
from runlore.flow.record.intake import Intake, append, propose
from runlore.ports.store import Transaction


@dataclass(frozen=True, kw_only=True)
class AdoptionRecords:
    """A finding, the procedure it became, and the episode that says so."""

    finding: Record
    procedure: Record
    episode: Record


def take_findings(
    tx: Transaction, intake: Intake, findings: tuple[Finding, ...], *, scope: Scope, outside: bool
) -> tuple[Record, ...]:
    """The scan's episode first, then a candidate for each finding."""
    scan = append(tx, intake, [scan_draft(findings, scope=scope, outside=outside)])[0]
    drafts = [finding_draft(f, scope=scope, scan_id=scan.record_id, outside=outside) for f in findings]
    return (scan, *propose(tx, intake, drafts))


def adopt(
    tx: Transaction,
    intake: Intake,
    finding: Record,
    *,
    summary: str | None = None,
    workflow: str | None = None,
    accept_untrusted: bool = False,
) -> AdoptionRecords:
    act = intake.act
    require_finding(finding)
    refuse_expired(finding, act.at)
    adopted = _procedure_of(tx, finding, act)
    draft = adoption_draft(finding, summary=summary, workflow=workflow)
    if adopted is not None:
        logged = _episode_of(tx, Kind.PROMOTION, finding, adopted)
        if logged is not None and _is_like(adopted, draft):
            return AdoptionRecords(finding=finding, procedure=adopted, episode=logged)
        raise Conflict(
            f"finding {finding.record_id} is adopted already, as {adopted.record_id}",
            code="radar.adopted",
            hint=f"`memory radar undo {finding.record_id}` takes that back",
        )
    if finding.state is not State.ACTIVE:
        finding = _accept(tx, finding, act, accept_untrusted=accept_untrusted)
    candidate = propose(tx, intake, [draft])[0]
    procedure = confirm_learning(tx, candidate, act, accept_untrusted=accept_untrusted)
    episode = _log_episode(tx, intake, Kind.PROMOTION, finding, procedure=procedure)
    return AdoptionRecords(finding=finding, procedure=procedure, episode=episode)


def undo_adoption(tx: Transaction, intake: Intake, finding: Record) -> AdoptionRecords:
    """Roll back the procedure that a finding became; the finding itself stays."""
    require_finding(finding)
    procedure = _procedure_of(tx, finding, intake.act)
    if procedure is None:
        undone = _find_undone(tx, finding)
        if undone is not None:
            return undone
        raise Conflict(
            f"finding {finding.record_id} is not adopted",
            code="radar.not-adopted",
            hint="`memory radar log` shows what is",
        )
    tombstone = roll_back_learning(tx, procedure, _because(intake.act)).record
    episode = _log_episode(tx, intake, Kind.ROLLBACK, finding, procedure=tombstone)
    return AdoptionRecords(finding=finding, procedure=tombstone, episode=episode)


def _accept(tx: Transaction, finding: Record, act: Act, *, accept_untrusted: bool) -> Record:
    accepted = confirm_learning(tx, finding, act, accept_untrusted=accept_untrusted)
    if accepted.record_id != finding.record_id:
        raise Conflict(
            f"finding {finding.record_id} repeats {accepted.record_id}",
            code="radar.duplicate",
            hint=f"adopt {accepted.record_id} if it is a finding, and reject this one",
        )
    return accepted


def _procedure_of(tx: Transaction, finding: Record, act: Act) -> Record | None:
    return next(
        (
            record
            for record in tx.records.derived_from(finding.record_id)
            if record.kind is Kind.PROCEDURE
            and record.state is State.ACTIVE
            and not record.is_expired(act.at)
        ),
        None,
    )


def _find_undone(tx: Transaction, finding: Record) -> AdoptionRecords | None:
    """The adoption that was undone last, where the finding was not adopted since."""
    for procedure in tx.records.derived_from(finding.record_id):
        logged = _episode_of(tx, Kind.ROLLBACK, finding, procedure)
        if logged is not None and ended_before(procedure, StateReason.ROLLED_BACK):
            return AdoptionRecords(finding=finding, procedure=procedure, episode=logged)
    return None


def _is_like(adopted: Record, draft: Draft) -> bool:
    return adopted.summary == draft.summary and draft.metadata.items() <= adopted.metadata.items()


def _episode_of(tx: Transaction, kind: Kind, finding: Record, procedure: Record) -> Record | None:
    named = (finding.record_id, procedure.record_id)
    episodes = (each for each in tx.records.derived_from(procedure.record_id) if each.kind is kind)
    return next((each for each in episodes if each.source.record_ids == named), None)


def _log_episode(
    tx: Transaction, intake: Intake, kind: Kind, finding: Record, *, procedure: Record
) -> Record:
    draft = adoption_episode(finding, procedure, kind=kind, reason=intake.act.reason)
    # It names both, so it is forgotten with either.
    source = Source(record_ids=(finding.record_id, procedure.record_id))
    return append(tx, intake, [replace(draft, source=source)])[0]


def _because(act: Act) -> Act:
    return act if act.reason else Act(actor=act.actor, at=act.at, reason="adoption undone")
