"""Merges become proposals: one for each set of sources, and none for a set that was turned down before."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from runlore.domain.errors import Refused
from runlore.domain.lazy import dataclass
from runlore.domain.record import Layer, Proposal, Record, RecordId, Source, State, StateReason
from runlore.domain.records.admission import Draft
from runlore.domain.records.curation import Merge
from runlore.domain.records.publication import MERGES
from runlore.flow.record.intake import Intake, propose
from runlore.ports.store import Records, Transaction


class MergeStatus(StrEnum):
    """Where a possible merge stands."""

    POSSIBLE = "possible"
    PROPOSED = "proposed"
    WAITING = "waiting"
    REJECTED = "rejected before"
    ROLLED_BACK = "rolled back before"
    REFUSED = "refused: together they look like a secret"


@dataclass(frozen=True, kw_only=True)
class MergeView:
    """A merge that could be made, and the proposal made for it, now or earlier."""

    merge: Merge
    status: MergeStatus
    proposal: Record | None = None


def view(records: Records, merge: Merge, now: datetime) -> MergeView:
    for earlier in records.proposals_for(merge.digest):
        if earlier.state is State.CONSTRAINED and not earlier.is_expired(now):
            return MergeView(merge=merge, status=MergeStatus.WAITING, proposal=earlier)
        if earlier.state_reason is StateReason.REJECTED:
            return MergeView(merge=merge, status=MergeStatus.REJECTED, proposal=earlier)
        if earlier.state_reason is StateReason.ROLLED_BACK:
            return MergeView(merge=merge, status=MergeStatus.ROLLED_BACK, proposal=earlier)
    waiting = _waiting(records, merge, now)
    if waiting is not None:
        return MergeView(merge=merge, status=MergeStatus.WAITING, proposal=waiting)
    return MergeView(merge=merge, status=MergeStatus.POSSIBLE)


def propose_merges(
    tx: Transaction, intake: Intake, merges: Sequence[Merge], sources: Mapping[RecordId, Record]
) -> tuple[MergeView, ...]:
    """Propose each merge that nobody has decided on yet.

    `sources` are the records that the merges were made from, read before the transaction. A merge of which
    one has moved or expired since is left out: what was forgotten meanwhile must not come back in a summary.
    """
    tx.lock({merge.scope for merge in merges})
    present = tx.records.get_many([source for merge in merges for source in merge.sources])
    standing = {
        record_id
        for record_id, record in present.items()
        if record == sources[record_id] and not record.is_expired(intake.act.at)
    }
    return tuple(_propose_merge(tx, intake, merge) for merge in merges if standing.issuperset(merge.sources))


def _propose_merge(tx: Transaction, intake: Intake, merge: Merge) -> MergeView:
    seen = view(tx.records, merge, intake.act.at)
    if seen.status is not MergeStatus.POSSIBLE:
        return seen
    try:
        proposal = propose(tx, intake, [_draft(merge)])[0]
    except Refused:
        # Each text is harmless alone; this one pair must not keep all others from being proposed.
        return MergeView(merge=merge, status=MergeStatus.REFUSED)
    return MergeView(merge=merge, status=MergeStatus.PROPOSED, proposal=proposal)


def _waiting(records: Records, merge: Merge, now: datetime) -> Record | None:
    """A proposal that waits for some of these sources: deciding on both would apply one of them twice."""
    return next(
        (
            proposal
            for source in merge.sources
            for proposal in records.derived_from(source)
            if proposal.proposal in MERGES
            and proposal.state is State.CONSTRAINED
            and not proposal.is_expired(now)
        ),
        None,
    )


def _draft(merge: Merge) -> Draft:
    dedup = merge.kind.layer is Layer.PROCEDURAL
    return Draft(
        kind=merge.kind,
        summary=merge.summary,
        scope=merge.scope,
        metadata={**merge.metadata, "sources_digest": merge.digest},
        confidence=merge.confidence,
        sensitivity=merge.sensitivity,
        provenance=merge.provenance,
        source=Source(record_ids=merge.sources),
        proposal=Proposal.DEDUP if dedup else Proposal.COMPACTION,
        expires_at=merge.expires_at,
    )
