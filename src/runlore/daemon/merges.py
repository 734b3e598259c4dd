"""Possible merges as answers, also when a keyed call is made again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from runlore.domain.record import Layer, Record, RecordId
from runlore.domain.records.curation import Basis, Merge
from runlore.flow.record.curate import MergeStatus, MergeView
from runlore.ports.operations import MergeItem

Grouping: TypeAlias = Callable[[Sequence[Record]], tuple[Merge, ...]]


def merge_item(each: MergeView, sources: Mapping[RecordId, Record]) -> MergeItem:
    """A possible merge with its sources."""
    return MergeItem(
        merge=each.merge,
        status=each.status.value,
        sources=tuple(sources[record_id] for record_id in each.merge.sources),
        proposal=each.proposal,
    )


def records_of(items: Sequence[MergeItem]) -> list[Record]:
    """What is kept with the key: each proposal that was made, followed by its sources."""
    return [
        record
        for item in items
        if item.proposal and item.status == MergeStatus.PROPOSED
        for record in (item.proposal, *item.sources)
    ]


def items_again(
    present: Sequence[MergeItem], kept: Sequence[Record], group: Grouping
) -> tuple[MergeItem, ...]:
    """What a call proposed, told again, among what is possible or waiting now."""
    made = {proposal.source.record_ids: (proposal, sources) for proposal, sources in _pairs(kept)}
    items: list[MergeItem] = []
    for item in present:
        again = made.pop(item.merge.sources, None)
        items.append(item if again is None else _proposed(item.merge, *again))
    gone = (_proposed(_merge(*again, group), *again) for again in made.values())
    return (*items, *gone)


def _pairs(records: Sequence[Record]) -> Iterator[tuple[Record, Sequence[Record]]]:
    at = 0
    while at < len(records):
        end = at + 1 + len(records[at].source.record_ids)
        yield records[at], records[at + 1 : end]
        at = end


def _proposed(merge: Merge, proposal: Record, sources: Sequence[Record]) -> MergeItem:
    status = MergeStatus.PROPOSED.value
    return MergeItem(merge=merge, status=status, sources=tuple(sources), proposal=proposal)


def _merge(proposal: Record, sources: Sequence[Record], group: Grouping) -> Merge:
    ids = proposal.source.record_ids
    found = next((merge for merge in group(sources) if merge.sources == ids), None)
    if found is not None:
        return found
    # Since then something of it was forgotten; what the proposal itself says has to do.
    metadata = {name: value for name, value in proposal.metadata.items() if name != "sources_digest"}
    return Merge(
        scope=proposal.scope,
        kind=proposal.kind,
        sources=ids,
        summary=proposal.summary,
        metadata=metadata,
        confidence=proposal.confidence,
        provenance=proposal.provenance,
        sensitivity=proposal.sensitivity,
        expires_at=proposal.expires_at,
        digest=str(proposal.metadata.get("sources_digest", "")),
        basis=Basis.WORKFLOW if proposal.layer is Layer.PROCEDURAL else Basis.TEXT,
        shared=(),
    )
