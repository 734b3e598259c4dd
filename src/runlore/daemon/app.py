"""The operations, implemented once over the store, the index and the flow.

Each act is one transaction, and with an idempotency key one effect (`acts`).
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Concatenate, ParamSpec, TypeVar

from runlore import __version__
from runlore.daemon.acts import Acting, Call, Done, same_records
from runlore.daemon.exports import Exports
from runlore.daemon.follower import Follower
from runlore.daemon.imports import import_file
from runlore.daemon.lookups import (
    active_records,
    as_it_was,
    next_cursor,
    profile_draft,
    radar_records,
    storable,
    target,
)
from runlore.daemon.merges import Grouping, items_again, merge_item, records_of
from runlore.daemon.requests import (
    checked_limit,
    checked_query,
    place_of,
    record_filter,
    search_filter,
    whole_milliseconds,
)
from runlore.daemon.roles import require_role
from runlore.daemon.scrubbing import Scrubbing
from runlore.domain import limits
from runlore.domain.admission import Draft
from runlore.domain.audit import Act, RecordEvent
from runlore.domain.curation import compactions, dedups
from runlore.domain.errors import Invalid
from runlore.domain.radar_log import radar_markdown
from runlore.domain.record import TRANSITIONS, Kind, Layer, Record, RecordId, State, Transition
from runlore.flow.pipeline import adopt, take_findings, undo_adoption
from runlore.flow.publish import forget as forgetting
from runlore.flow.publish.decide import confirm, expect_revision, reject
from runlore.flow.publish.undo import replaced_by, restore, roll_back
from runlore.flow.record.curate import propose_merges, view
from runlore.flow.record.intake import Intake, append, propose
from runlore.flow.review.inbox import items as review_items
from runlore.ports import operations as ops
from runlore.ports.clock import Clock
from runlore.ports.ids import Ids
from runlore.ports.store import RecordFilter, Store, Transaction

ParametersT = ParamSpec("ParametersT")
AnswerT = TypeVar("AnswerT")
_REVIEWED_KINDS = frozenset(Kind) - {Kind.RUN_SUMMARY}


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What wiring picked for one Runlore."""

    store: Store
    follower: Follower
    clock: Clock
    ids: Ids
    state_root: str

    def close(self) -> None:
        """Save what is derived, then let the store go."""
        try:
            self.follower.close()
        finally:
            self.store.close()


def operation(
    method: Callable[Concatenate["Application", ParametersT], AnswerT],
) -> Callable[Concatenate["Application", ParametersT], AnswerT]:
    """An operation: it runs only when the caller's role allows it."""

    @functools.wraps(method)
    def guarded(self: "Application", /, *args: ParametersT.args, **kwargs: ParametersT.kwargs) -> AnswerT:
        require_role(self.caller, method.__name__)
        return method(self, *args, **kwargs)

    return guarded


class Application:
    """The operations of one Runlore, bound to one caller."""

    def __init__(self, parts: Parts, caller: ops.Caller) -> None:
        self.parts = parts
        self.caller = caller

    @operation
    def list_records(self, request: ops.ListRequest) -> ops.Page:
        """Records by filter, newest first."""
        limit = checked_limit(request.limit, limits.LIST_LIMIT_MAX)
        where = record_filter(
            request.filters, default_states=frozenset({State.ACTIVE}), now=self.parts.clock.now()
        )
        place = place_of(request.cursor)
        with self.parts.store.snapshot() as snapshot:
            if request.filters.as_of is None:
                found = snapshot.records.page(where, limit=limit + 1, before=place)
            else:
                moment = request.filters.as_of
                found = snapshot.records.page_as_of(where, moment, limit=limit + 1, before=place)
        return ops.Page(items=found[:limit], next_cursor=next_cursor(found, limit))

    @operation
    def get_record(self, record_id: RecordId, *, as_of: datetime | None = None) -> Record:
        """One record, now or as it was."""
        with self.parts.store.snapshot() as snapshot:
            if as_of is None:
                return snapshot.records.get(storable(record_id))
            return as_it_was(snapshot.records, storable(record_id), as_of)

    @operation
    def history(self, record_id: RecordId) -> tuple[RecordEvent, ...]:
        """Everything that happened to a record, oldest first."""
        with self.parts.store.snapshot() as snapshot:
            return snapshot.records.events(storable(record_id))

    @operation
    def search(self, request: ops.SearchRequest) -> tuple[ops.SearchHit, ...]:
        """The best matches of a query."""
        found = self.parts.follower.search(
            checked_query(request.query),
            where=search_filter(request, self.parts.clock.now()),
            limit=checked_limit(request.limit, limits.SEARCH_LIMIT_MAX),
            as_of=request.filters.as_of,
        )
        return tuple(ops.SearchHit(record=hit.record, score=hit.score) for hit in found)

    @operation
    def states(self) -> tuple[Transition, ...]:
        """The table of legal moves."""
        return TRANSITIONS

    @operation
    def propose_profile(self, proposal: ops.ProfileProposal) -> Record:
        """A candidate for the profile."""
        draft = profile_draft(proposal)
        return self._write(
            Call(
                operation="propose_profile",
                request=proposal,
                key=proposal.idempotency_key,
                reason=proposal.reason,
            ),
            lambda tx, act: propose(tx, self._intake(act), [draft]),
        )[0]

    @operation
    def add_episode(self, episode: ops.Episode) -> Record:
        """An appended episode."""
        if episode.kind.layer is not Layer.EPISODIC or episode.kind is Kind.RUN_SUMMARY:
            episodic = sorted(k for k in Kind if k.layer is Layer.EPISODIC and k is not Kind.RUN_SUMMARY)
            raise Invalid(
                f"{episode.kind} is not a kind of episode that can be added",
                code="episode.kind",
                hint=f"use one of: {', '.join(episodic)}",
            )
        draft = Draft(
            kind=episode.kind,
            summary=episode.summary,
            scope=episode.scope,
            metadata=episode.metadata,
            sensitivity=episode.sensitivity,
            expires_at=whole_milliseconds(episode.expires_at),
        )
        return self._write(
            Call(operation="add_episode", request=episode, key=episode.idempotency_key),
            lambda tx, act: append(tx, self._intake(act), [draft]),
        )[0]

    @operation
    def review_list(self, request: ops.ReviewRequest) -> ops.ReviewPage:
        """What waits, and what confirming it would do."""
        limit = checked_limit(request.limit, limits.LIST_LIMIT_MAX)
        now = self.parts.clock.now()
        where = RecordFilter(
            kinds=request.kinds or _REVIEWED_KINDS,
            states=frozenset({State.CONSTRAINED}),
            scopes=request.scopes or None,
            now=now,
        )
        with self.parts.store.snapshot() as snapshot:
            place = place_of(request.cursor)
            found = snapshot.records.page(where, limit=limit + 1, before=place)
            listed = review_items(snapshot.records, found[:limit], now)
        return ops.ReviewPage(
            items=tuple(
                ops.ReviewItem(record=item.record, outcome=item.outcome, rivals=item.rivals)
                for item in listed
            ),
            next_cursor=next_cursor(found, limit),
        )

    @operation
    def confirm(self, decision: ops.Decision) -> Record:
        """Make a candidate active; the original answers for a duplicate."""

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            candidate = target(tx, decision)
            return [
                confirm(
                    tx,
                    candidate,
                    act,
                    summary=decision.summary,
                    supersedes=None if decision.supersedes is None else storable(decision.supersedes),
                    accept_untrusted=decision.accept_untrusted,
                )
            ]

        return self._decide("confirm", decision, body)[0]

    @operation
    def reject(self, decision: ops.Decision) -> Record:
        """Tombstone a candidate."""
        return self._decide("reject", decision, lambda tx, act: [reject(tx, target(tx, decision), act)])[0]

    @operation
    def rollback(self, decision: ops.Decision) -> ops.RollbackAnswer:
        """Tombstone an active record, and bring back what it replaced where asked."""

        def do(tx: Transaction, act: Act) -> Done[ops.RollbackAnswer]:
            done = roll_back(tx, target(tx, decision), act, restore_sources=decision.restore_sources)
            answer = ops.RollbackAnswer(
                record=done.record,
                restorable=done.restorable,
                restored=done.restored,
                blocked=done.blocked,
            )
            return Done(answer=answer, records=(done.record, *done.restored))

        def again(tx: Transaction, records: tuple[Record, ...]) -> ops.RollbackAnswer:
            # What can come back is told as it is now: an old list would be wrong.
            restorable, blocked = replaced_by(tx.records, records[0].record_id, self.parts.clock.now())
            return ops.RollbackAnswer(
                record=records[0], restorable=restorable, restored=records[1:], blocked=blocked
            )

        return self._acting.perform(_call("rollback", decision), do, again)

    @operation
    def restore(self, decision: ops.Decision) -> Record:
        """Make a superseded record active again."""
        return self._decide("restore", decision, lambda tx, act: [restore(tx, target(tx, decision), act)])[0]

    @operation
    def compact(self, request: ops.MergeRequest) -> tuple[ops.MergeItem, ...]:
        """Semantic records that say the same thing in several places."""
        return self._merges("compact", request, Layer.SEMANTIC, compactions)

    @operation
    def dedup(self, request: ops.MergeRequest) -> tuple[ops.MergeItem, ...]:
        """Procedures of one workflow."""
        return self._merges("dedup", request, Layer.PROCEDURAL, dedups)

    @operation
    def forget(self, decision: ops.Decision, *, dry_run: bool = False) -> ops.ForgetAnswer:
        """Erase a record's content and everything derived from it."""
        parts, exports = self.parts, Exports(self.parts.state_root)
        if dry_run:
            with parts.store.snapshot() as snapshot:
                record = snapshot.records.get(storable(decision.record_id))
                expect_revision(record, decision.expected_revision)
                records = forgetting.to_forget(snapshot.records, record)
            held = exports.holding([decision.record_id, *(each.record_id for each in records)])
            return ops.ForgetAnswer(records=records, dry_run=True, exports_left=held)
        with Scrubbing(parts.state_root).after(parts.store):
            # The saved index holds words of the content: it goes first, so a crash leaves nothing behind.
            parts.follower.discard_snapshot()
            records = self._decide(
                "forget", decision, lambda tx, act: forgetting.forget(tx, target(tx, decision), act)
            )
            parts.follower.catch_up()
        with parts.store.snapshot() as snapshot:
            forgotten_at = snapshot.records.events(decision.record_id)[-1].at
        return ops.ForgetAnswer(
            records=records,
            dry_run=False,
            forgotten_at=forgotten_at,
            exports_left=exports.holding([decision.record_id, *(each.record_id for each in records)]),
        )

    @operation
    def radar_add(self, findings: ops.Findings) -> tuple[Record, ...]:
        """Take findings in: the scan's episode, then a candidate each."""
        if not 1 <= len(findings.findings) <= limits.RADAR_FINDINGS_MAX:
            raise Invalid(
                f"{len(findings.findings)} findings are outside 1 to {limits.RADAR_FINDINGS_MAX}",
                code="radar.findings",
                hint="give at least one, and split larger scans",
            )
        outside = self.caller.role is not ops.Role.OPERATOR
        return self._write(
            Call(operation="radar_add", request=findings, key=findings.idempotency_key),
            lambda tx, act: take_findings(
                tx, self._intake(act), findings.findings, scope=findings.scope, outside=outside
            ),
        )

    @operation
    def radar_adopt(self, request: ops.AdoptRequest) -> ops.Adoption:
        """Make a procedure of a finding."""
        finding = ops.Decision(record_id=request.finding_id, expected_revision=request.expected_revision)

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            done = adopt(
                tx,
                self._intake(act),
                target(tx, finding),
                summary=request.summary,
                workflow=request.workflow,
                accept_untrusted=request.accept_untrusted,
            )
            return [done.finding, done.procedure, done.episode]

        call = Call(
            operation="radar_adopt", request=request, key=request.idempotency_key, reason=request.reason
        )
        records = self._write(call, body)
        return ops.Adoption(finding=records[0], procedure=records[1], episode=records[2])

    @operation
    def radar_undo(self, decision: ops.Decision) -> ops.Adoption:
        """Roll back what a finding became."""

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            done = undo_adoption(tx, self._intake(act), target(tx, decision))
            return [done.finding, done.procedure, done.episode]

        records = self._decide("radar_undo", decision, body)
        return ops.Adoption(finding=records[0], procedure=records[1], episode=records[2])

    @operation
    def radar_log(self) -> ops.RadarLog:
        """The adoption registry and the promotion log."""
        now = self.parts.clock.now()
        with self.parts.store.snapshot() as snapshot:
            adoptions = radar_records(snapshot.records, frozenset({Kind.PROCEDURE}), State.ACTIVE, now)
            episodes = radar_records(
                snapshot.records, frozenset({Kind.PROMOTION, Kind.ROLLBACK}), State.ACTIVE, now
            )
            waiting = radar_records(snapshot.records, frozenset({Kind.FACT}), State.CONSTRAINED, now)
        return ops.RadarLog(
            adoptions=adoptions,
            episodes=episodes,
            waiting=waiting,
            markdown=radar_markdown(adoptions, episodes),
        )

    @operation
    def export(self, *, progress: ops.Progress = ops.unwatched) -> ops.ExportAnswer:
        """Write everything to a new file under the state root."""
        with self.parts.store.snapshot() as snapshot:
            return Exports(self.parts.state_root).write(snapshot, self.parts.clock.now(), progress)

    @operation
    def import_records(self, path: str, *, progress: ops.Progress = ops.unwatched) -> ops.ImportAnswer:
        """Read an export back: equal into an empty store, as candidates into another."""
        act = Act(actor=self.caller.actor, at=self.parts.clock.now(), reason="imported")
        return import_file(self.parts.store, path, self._intake(act), progress)

    @operation
    def status(self) -> ops.Status:
        """What this Runlore is and holds."""
        with self.parts.store.snapshot() as snapshot:
            counts = snapshot.records.count()
        return ops.Status(
            version=__version__,
            state_root=self.parts.state_root,
            store=self.parts.store.description(),
            counts=counts,
            waiting=sum(number for (_, state), number in counts.items() if state is State.CONSTRAINED),
        )

    def _intake(self, act: Act) -> Intake:
        return Intake(ids=self.parts.ids, act=act)

    @property
    def _acting(self) -> Acting:
        return Acting(store=self.parts.store, clock=self.parts.clock, caller=self.caller)

    def _decide(
        self, name: str, decision: ops.Decision, body: Callable[[Transaction, Act], Sequence[Record]]
    ) -> tuple[Record, ...]:
        return self._write(_call(name, decision), body)

    def _write(self, call: Call, body: Callable[[Transaction, Act], Sequence[Record]]) -> tuple[Record, ...]:
        """An act whose answer is its records."""

        def do(tx: Transaction, act: Act) -> Done[tuple[Record, ...]]:
            records = tuple(body(tx, act))
            return Done(answer=records, records=records)

        return self._acting.perform(call, do, same_records)

    def _merges(
        self, name: str, request: ops.MergeRequest, layer: Layer, group: Grouping
    ) -> tuple[ops.MergeItem, ...]:
        """What would merge is worked out before the transaction, and checked again inside it."""
        now = self.parts.clock.now()
        with self.parts.store.snapshot() as snapshot:
            sources = active_records(snapshot.records, layer, request.scopes, now)
            merges = group(tuple(sources.values()))
            views = tuple(view(snapshot.records, merge, now) for merge in merges)
        present = tuple(merge_item(each, sources) for each in views)
        if not request.create_proposals:
            return present

        def do(tx: Transaction, act: Act) -> Done[tuple[ops.MergeItem, ...]]:
            proposed = propose_merges(tx, self._intake(act), merges, sources)
            items = tuple(merge_item(each, sources) for each in proposed)
            return Done(answer=items, records=records_of(items))

        call = Call(operation=name, request=request, key=request.idempotency_key, reason=f"memory {name}")
        return self._acting.perform(call, do, lambda _tx, kept: items_again(present, kept, group))


def _call(name: str, decision: ops.Decision) -> Call:
    return Call(operation=name, request=decision, key=decision.idempotency_key, reason=decision.reason)
