"""Review: what waits, and the decisions on it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from runlore.daemon.calls.access import (
    may_see,
    narrow_scopes,
    readable_scopes,
    require_reach,
    visible_id,
    visible_ids,
)
from runlore.daemon.calls.idempotency import Call, Done
from runlore.daemon.calls.lookups import active_records
from runlore.daemon.calls.requests import check_limit, cursor_after, cut_page, first_cursor, read_cursor
from runlore.daemon.operations.bound import operation, reasoned_call
from runlore.daemon.operations.forgetting import ForgetActs
from runlore.domain import limits
from runlore.domain.record import Layer, Record, RecordId, StateReason
from runlore.domain.records.admission import Edits
from runlore.domain.records.audit import Act
from runlore.domain.records.curation import Basis, Merge, compactions, dedups
from runlore.domain.records.publication import PublishTerms
from runlore.domain.scope import Scope
from runlore.domain.statements.conduct import may_stand
from runlore.domain.statements.ranks import confidence_reasons
from runlore.flow.publish.decide import (
    ended_before,
    published_before,
    reject,
    replaced_by,
    restore,
    restored_before,
)
from runlore.flow.reactions import confirm_learning, roll_back_learning
from runlore.flow.record.curate import MergeStatus, MergeView, propose_merges, view
from runlore.flow.review.inbox import (
    due_items,
    held_items,
    list_held_and_due,
    only_folded,
    waiting_for_review,
    without_folded,
)
from runlore.flow.review.inbox import items as review_items
from runlore.ports import operations as ops
from runlore.ports.operations import MergeItem
from runlore.ports.store import Transaction

Grouping: TypeAlias = Callable[[Sequence[Record]], tuple[Merge, ...]]


class ReviewActs(ForgetActs):
    """What waits for review, and the decisions on it."""

    @operation
    def review_list(self, request: ops.ReviewRequest) -> ops.ReviewPage:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        now, place = self.parts.clock.now(), read_cursor(request.cursor, RecordId)
        with self.parts.store.snapshot() as snapshot:
            readable = readable_scopes(snapshot, self.caller, request.session_id)
            where = waiting_for_review(
                now, kinds=request.kinds, scopes=narrow_scopes(request.scopes, readable)
            )
            is_onward = place or request.folded
            held, due = ((), ()) if is_onward else list_held_and_due(snapshot.records, where, now)
            held = tuple(record for record in held if may_see(self.caller, record))[:limit]
            due = due[: limit - len(held)]
            room = limit - len(held) - len(due)
            shown = only_folded(where) if request.folded else without_folded(where)
            found = snapshot.records.page(shown, limit=room + 1, before=place)
            under = 0 if request.folded else snapshot.records.count_lines(only_folded(where))
            # Where there is no room for any, the list goes on before the newest.
            page, onward = cut_page(found, room, cursor_after if room else lambda _: first_cursor())
            seen = tuple(record for record in page if may_see(self.caller, record))
            listed = (
                *held_items(snapshot.records, held, now),
                *due_items(due),
                *review_items(snapshot.records, seen, now),
            )
        return ops.ReviewPage(
            items=tuple(
                ops.ReviewItem(
                    record=item.record,
                    outcome=item.outcome,
                    rivals=item.rivals,
                    attention=item.attention,
                    why=tuple(confidence_reasons(item.record)),
                    offers_standing=may_stand(item.record.kind, item.record.summary),
                )
                for item in listed
            ),
            next_cursor=onward,
            folded=under,
        )

    @operation
    def confirm(self, decision: ops.Decision) -> Record:
        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            candidate = self.target(tx, decision)
            supersedes = visible_id(tx, self.caller, decision.supersedes)
            edits = Edits(content=decision.summary)
            before = published_before(
                tx.records, candidate, edits, now=act.at, supersedes=supersedes, standing=decision.standing
            )
            return [
                before
                or confirm_learning(
                    tx,
                    candidate,
                    act,
                    terms=PublishTerms(
                        both_hold=visible_ids(tx, self.caller, decision.both_hold), standing=decision.standing
                    ),
                    edits=edits,
                    supersedes=supersedes,
                    accept_untrusted=decision.accept_untrusted,
                )
            ]

        confirmed = self.write(reasoned_call("confirm", decision), body)[0]
        self.follow_skills()
        return confirmed

    @operation
    def reject(self, decision: ops.Decision) -> Record:
        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            candidate = self.target(tx, decision)
            is_done = ended_before(candidate, StateReason.REJECTED)
            return [candidate if is_done else reject(tx, candidate, act)]

        return self.write(reasoned_call("reject", decision), body)[0]

    @operation
    def rollback(self, decision: ops.Decision) -> ops.RollbackAnswer:
        def do(tx: Transaction, act: Act) -> Done[ops.RollbackAnswer]:
            record = self.target(tx, decision)
            if ended_before(record, StateReason.ROLLED_BACK):
                before = describe(tx, (record,))
                if not decision.restore_sources or not before.restorable:
                    return Done(before, records=(record,))
            done = roll_back_learning(tx, record, act, restore_sources=decision.restore_sources)
            return Done(done, records=(done.record, *done.restored))

        def describe(tx: Transaction, records: tuple[Record, ...]) -> ops.RollbackAnswer:
            # What can come back is told as it is now: an old list would be wrong.
            restorable, blocked = replaced_by(tx.records, records[0].record_id, self.parts.clock.now())
            return ops.RollbackAnswer(
                record=records[0], restorable=restorable, restored=records[1:], blocked=blocked
            )

        answer = self.acting.perform(
            reasoned_call("rollback", decision), do, lambda kept: describe(kept.tx, kept.records)
        )
        self.follow_skills()
        return answer

    @operation
    def restore(self, decision: ops.Decision) -> Record:
        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            record = self.target(tx, decision)
            return [record if restored_before(tx.records, record) else restore(tx, record, act)]

        return self.write(reasoned_call("restore", decision), body)[0]

    @operation
    def compact(self, request: ops.MergeRequest) -> tuple[ops.MergeItem, ...]:
        return self._merges("compact", request, Layer.SEMANTIC, compactions)

    @operation
    def dedup(self, request: ops.MergeRequest) -> tuple[ops.MergeItem, ...]:
        return self._merges("dedup", request, Layer.PROCEDURAL, dedups)

    def _merges(
        self, name: str, request: ops.MergeRequest, layer: Layer, group: Grouping
    ) -> tuple[ops.MergeItem, ...]:
        """What would merge is worked out before the transaction, and checked again inside it."""
        now = self.parts.clock.now()
        with self.parts.store.snapshot() as snapshot:
            sources = active_records(snapshot.records, layer, self._reachable_scopes(request.scopes), now)
            merges = group(tuple(sources.values()))
            views = tuple(view(snapshot.records, merge, now) for merge in merges)
        present = tuple(merge_item(each, sources) for each in views)
        if not request.create_proposals:
            return present

        def do(tx: Transaction, act: Act) -> Done[tuple[ops.MergeItem, ...]]:
            proposed = propose_merges(tx, self.intake(act), merges, sources)
            items = tuple(merge_item(each, sources) for each in proposed)
            return Done(items, records=records_of(items))

        call = Call(operation=name, request=request, key=request.idempotency_key, reason=f"memory {name}")
        return self.acting.perform(call, do, lambda kept: items_again(present, kept.records, group))

    def _reachable_scopes(self, asked: frozenset[Scope]) -> frozenset[Scope]:
        scopes = narrow_scopes(asked, self.caller.scopes)
        if scopes is not None and not scopes:
            require_reach(self.caller, asked)
        return scopes or frozenset()


def merge_item(each: MergeView, sources: Mapping[RecordId, Record]) -> MergeItem:
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
        items.append(item if again is None else _proposed_item(item.merge, *again))
    gone = (_proposed_item(_merge(*again, group), *again) for again in made.values())
    return (*items, *gone)


def _pairs(records: Sequence[Record]) -> Iterator[tuple[Record, Sequence[Record]]]:
    at = 0
    while at < len(records):
        end = at + 1 + len(records[at].source.record_ids)
        yield records[at], records[at + 1 : end]
        at = end


def _proposed_item(merge: Merge, proposal: Record, sources: Sequence[Record]) -> MergeItem:
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
