"""Learnings: what was published, and what operators and agents do with it afterwards."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from runlore.daemon.calls.access import (
    may_see,
    narrow_scopes,
    readable_scopes,
    require_visible,
    require_writable,
    visible_id,
    visible_ids,
)
from runlore.daemon.calls.idempotency import Call, Done
from runlore.daemon.calls.lookups import (
    as_it_was,
    batch_for,
    check_words,
    holds,
    lock_record,
    read_newest_first,
    scanned_page,
    storable,
)
from runlore.daemon.calls.requests import check_limit, whole_milliseconds
from runlore.daemon.candidate_sources import (
    candidate_provenance,
    check_candidate,
    check_evidence,
    require_own_evidence,
)
from runlore.daemon.operations.bound import Bound, operation, reasoned_call
from runlore.daemon.operations.projection import bound_then
from runlore.daemon.runs.contexts import reached_scopes
from runlore.daemon.runs.run_access import explained_run
from runlore.domain import limits
from runlore.domain.access import Caller
from runlore.domain.errors import Invalid, NotFound, Refused
from runlore.domain.lazy import LazyModule
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.prompts.injected import without_notes
from runlore.domain.record import LEARNING_KINDS, REVIEWED_KINDS, Record, RecordId, State, StateReason
from runlore.domain.records.admission import Draft, Edits, check_revalidation
from runlore.domain.records.audit import Act
from runlore.domain.records.contracts import check_text
from runlore.domain.records.publication import PublishTerms
from runlore.domain.run import Run
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.flow.origins import rests_on
from runlore.flow.pipeline.verifying import Vouching, gather_support, verify
from runlore.flow.publish.decide import (
    ended_before,
    expect_revision,
    give_feedback,
    published_before,
    set_standing,
    superseded_before,
    was_given,
)
from runlore.flow.reactions import confirm_learning, revoke_learnings, supersede
from runlore.flow.record.intake import propose_once
from runlore.ports import operations as ops
from runlore.ports.operations import LearningFilters
from runlore.ports.store import Collections, RecordFilter, Transaction

if TYPE_CHECKING:
    from runlore.flow.pipeline import by_origin
else:
    by_origin = LazyModule("runlore.flow.pipeline.by_origin")

MatchedT = TypeVar("MatchedT", ops.Revoked, ops.Cleared)
_LISTED_KINDS = LEARNING_KINDS & REVIEWED_KINDS
REVOKED_MAX = 10_000


class LearningActs(Bound):
    """Candidates until their publication, and what becomes of what was published."""

    @operation
    def create_candidate(self, request: ops.NewCandidate) -> Record:
        """A candidate; it waits for review. The answer is the one that the caller has waiting already."""
        checked = check_candidate(request)
        with self.parts.store.snapshot() as snapshot:
            # What is read behind this moment cannot have been behind these words.
            provenance = candidate_provenance(snapshot, self.caller, self.parts.private_runs, checked)
        draft = Draft(
            kind=checked.kind,
            summary=checked.content,
            scope=checked.scope,
            metadata=checked.metadata,
            confidence=checked.confidence,
            sensitivity=checked.sensitivity,
            source=checked.source,
            evidence_refs=checked.evidence_refs,
            provenance=provenance,
            expires_at=whole_milliseconds(checked.expires_at),
        )

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            require_writable(tx, self.caller, checked.scope)
            return [propose_once(tx, self.intake(act), draft)]

        call = Call(operation="create_candidate", request=request, key=request.idempotency_key)
        return self.write(call, body)[0]

    @operation
    def list_candidates(self, request: ops.CandidateRequest) -> ops.Page:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        words = check_words(request.text)
        with self.parts.store.snapshot() as snapshot:
            readable = readable_scopes(snapshot, self.caller, request.session_id)
            where = RecordFilter(
                kinds=(request.kinds & LEARNING_KINDS) if request.kinds else _LISTED_KINDS,
                states=request.states or frozenset({State.CONSTRAINED}),
                scopes=narrow_scopes(request.scopes, readable),
                scope_kinds=request.scope_kinds or None,
                decisions=request.decisions or None,
                now=self.parts.clock.now(),
            )
            return scanned_page(
                snapshot.records,
                where,
                lambda record: may_see(self.caller, record) and holds(record, words),
                limit=limit,
                cursor=request.cursor,
                batch=batch_for(limit, words),
            )

    @operation
    def get_candidate(self, record_id: RecordId, *, session_id: SessionId | None = None) -> Record:
        with self.parts.store.snapshot() as snapshot:
            readable = readable_scopes(snapshot, self.caller, session_id)
            record = self.require_seen(snapshot.records.get(storable(record_id)), readable)
        if record.kind not in LEARNING_KINDS:
            raise NotFound(
                f"record {record_id} is a {record.kind}, and was never a candidate",
                code="candidate.not-found",
                hint="`runlore memory inspect` shows records of every kind",
            )
        return record

    @operation
    def publish(self, publication: ops.Publication) -> Record:
        edits = _edits_of(publication)

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            candidate = self.ours(tx, publication.record_id, publication.scope)
            expect_revision(candidate, publication.expected_revision)
            if publication.scope not in (None, candidate.scope):
                require_writable(tx, self.caller, publication.scope)
            supersedes = visible_id(tx, self.caller, publication.supersedes)
            tier = publication.publish_tier
            before = published_before(
                tx.records,
                candidate,
                edits,
                now=act.at,
                tier=tier,
                supersedes=supersedes,
                standing=publication.standing,
            )
            return [
                before
                or confirm_learning(
                    tx,
                    candidate,
                    act,
                    terms=PublishTerms(
                        tier=tier,
                        both_hold=visible_ids(tx, self.caller, publication.both_hold),
                        standing=publication.standing,
                    ),
                    edits=edits,
                    supersedes=supersedes,
                    accept_untrusted=publication.accept_untrusted,
                )
            ]

        published = self.write(reasoned_call("publish", publication), body)[0]
        self.follow_skills()
        return published

    def ours(self, tx: Transaction, record_id: RecordId, other: Scope | None = None) -> Record:
        """A record to act on, read again once its scope, and another one that it may go to, are ours."""
        others = () if other is None else (other,)
        return require_visible(lock_record(tx, record_id, *others), self.caller.scopes)

    @operation
    def list_learnings(self, request: ops.LearningRequest) -> ops.Page:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        words = check_words(request.filters.text)
        now = request.as_of or self.parts.clock.now()
        with self.parts.store.snapshot() as snapshot:
            readable = readable_scopes(snapshot, self.caller, request.session_id, at=request.as_of)
            return scanned_page(
                snapshot.records,
                published_where(request.filters, readable, now),
                lambda record: may_see(self.caller, record) and passes(snapshot, record, request.filters),
                limit=limit,
                cursor=request.cursor,
                batch=batch_for(limit, words or request.filters.origin),
                as_of=request.as_of,
            )

    @operation
    def get_learning(
        self, record_id: RecordId, *, as_of: datetime | None = None, session_id: SessionId | None = None
    ) -> Record:
        with self.parts.store.snapshot() as snapshot:
            readable = readable_scopes(snapshot, self.caller, session_id, at=as_of)
            stored = storable(record_id)
            present = snapshot.records.get(stored)
            record = present if as_of is None else as_it_was(snapshot.records, stored, as_of)
        return _require_published(self.require_seen(record, readable))

    @operation
    def revoke(self, decision: ops.Decision) -> Record:
        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            learning = self.target(tx, decision)
            if ended_before(learning, StateReason.REVOKED):
                return [learning]
            return revoke_learnings(tx, [learning], act)

        revoked = self.write(reasoned_call("revoke", decision), body)[0]
        self.follow_skills()
        return revoked

    @operation
    def set_standing(self, decision: ops.Decision) -> Record:
        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            learning = _require_published(self.target(tx, decision))
            return [set_standing(tx, learning, act, standing=decision.standing is not False)]

        return self.write(reasoned_call("set_standing", decision), body)[0]

    @operation
    def revoke_matching(self, request: ops.MatchingRevocation) -> ops.Revoked:
        require_filter(request.filters)
        call = reasoned_call("revoke_matching", request)
        return self._act_on_matching(call, request.filters, ops.Revoked, dry_run=request.dry_run)

    @operation
    def clear_origin(self, request: ops.OriginClearance) -> ops.Cleared:
        filters = LearningFilters(origin=check_text("the origin", request.origin).strip())
        require_filter(filters)
        call = reasoned_call("clear_origin", request)
        return self._act_on_matching(call, filters, ops.Cleared, dry_run=request.dry_run)

    def _act_on_matching(
        self, call: Call, filters: LearningFilters, answer: type[MatchedT], *, dry_run: bool
    ) -> MatchedT:
        """Revoke all that passes the filters, or clear all that rests on their origin alone."""
        is_clearing = answer is ops.Cleared
        # Suggestions and skills belong to the workspace: whoever has but some scopes reaches none.
        origin = filters.origin.strip() if self.caller.scopes is None else ""
        with self.parts.store.snapshot() as snapshot:
            found = revocable(snapshot, filters, self.caller, self.parts.clock.now(), alone=is_clearing)
            others = by_origin.find_origin_items(snapshot, origin, alone=is_clearing)
        if dry_run:
            return answer(items=found, others=others.names, dry_run=True)

        def do(tx: Transaction, act: Act) -> Done[MatchedT]:
            present = by_origin.take_turns(tx, {record.scope for record in found}, others)
            done = (by_origin.clear if is_clearing else by_origin.take_back)(tx, present, act)
            items = still_revocable(tx, found, filters, act.at, alone=is_clearing)
            records = (by_origin.clear_records if is_clearing else by_origin.end_records)(tx, items, act)
            result = answer(items=records, others=done.names, dry_run=False)
            return Done(result, records=records, numbers=dict.fromkeys(done.names, 0))

        result = self.acting.perform(
            call, do, lambda kept: answer(items=kept.records, others=kept.names, dry_run=False)
        )
        if origin:
            with self.parts.store.snapshot() as snapshot:
                skills = [snapshot.skills.get(each.skill_id) for each in others.skills]
            self.parts.library.project(skills)
            self.parts.library.mirror_skips()
        self.follow_skills()
        return result

    @operation
    def supersede(self, request: ops.Supersession) -> Record:
        edits = _edits_of(request)

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            old = self.ours(tx, request.record_id)
            expect_revision(old, request.expected_revision)
            terms = PublishTerms(
                tier=request.publish_tier,
                revalidate_at=edits.revalidate_at,
                both_hold=visible_ids(tx, self.caller, request.both_hold),
            )
            before = superseded_before(tx.records, old, edits, now=act.at, tier=terms.tier)
            return [
                before
                or supersede(
                    tx,
                    self.intake(act),
                    old,
                    edits,
                    terms=terms,
                    accept_untrusted=request.accept_untrusted,
                )
            ]

        superseding = self.write(reasoned_call("supersede", request), body)[0]
        self.follow_skills()
        return superseding

    @operation
    def verify(self, request: ops.VerifyRequest) -> Record:
        vouching = Vouching(
            evidence=check_evidence(request.evidence_refs),
            on_my_word=request.on_my_word,
            both_hold=request.both_hold,
            revalidate_at=whole_milliseconds(request.revalidate_at),
        )
        with self.parts.store.snapshot() as snapshot:
            require_own_evidence(snapshot, self.caller, vouching.evidence)
            found = snapshot.records.get(storable(request.record_id))
            seen = _require_published(require_visible(found, self.caller.scopes))
            support = gather_support(snapshot, self.parts.run_memories, seen, vouching)

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            record = self.ours(tx, request.record_id)
            expect_revision(record, request.expected_revision)
            check_revalidation(vouching.revalidate_at, act.at)
            visible_ids(tx, self.caller, vouching.both_hold)
            if (record.summary, record.evidence_refs) != (seen.summary, seen.evidence_refs):
                expect_revision(record, seen.revision)
            return [verify(tx, record, act, support=support, vouching=vouching)]

        return self.write(reasoned_call("verify", request), body)[0]

    @operation
    def feedback(self, note: ops.FeedbackNote) -> Record:
        text = _checked_note(note.note)

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            run, record = self._require_given(tx, note)
            return [give_feedback(tx, record, run, act, verdict=note.verdict, note=text)]

        return self.write(Call(operation="feedback", request=note, key=note.idempotency_key), body)[0]

    def _require_given(self, tx: Transaction, note: ops.FeedbackNote) -> tuple[Run, Record]:
        """A run that the caller may ask about, and the record that it was given. No other is told of."""
        run, session = explained_run(tx, self.caller, note.run_id, is_alone=self.parts.is_alone)
        record = None
        if was_given(tx.runs.get_receipt(run.run_id), note.record_id):
            reached = reached_scopes(self.caller, session, bound_then(tx, session, run.opened_at))
            record = tx.records.get_many([note.record_id]).get(note.record_id)
        if record is None or record.scope not in reached:
            raise Refused(
                f"run {run.run_id!r} was not given this record",
                code="feedback.not-given",
                hint="`runlore why RUN` shows what a run was given",
            )
        return run, lock_record(tx, record.record_id)


def _edits_of(request: ops.Publication | ops.Supersession) -> Edits:
    return Edits(
        content=request.content,
        scope=request.scope,
        kind=request.kind,
        sensitivity=request.sensitivity,
        confidence=request.confidence,
        expires_at=whole_milliseconds(request.expires_at),
        revalidate_at=whole_milliseconds(request.revalidate_at),
    )


def _require_published(record: Record) -> Record:
    if record.published_at is None:
        raise NotFound(
            f"record {record.record_id} was never published",
            code="learning.not-found",
            hint="`runlore learning candidates get` shows candidates",
        )
    return record


def _checked_note(note: str) -> str:
    text = check_text("the note", note).strip()
    if len(text) > limits.REASON_CHARS_MAX:
        raise Invalid(
            f"the note has {len(text):,} characters, more than {limits.REASON_CHARS_MAX:,}",
            code="feedback.note",
            hint="shorten it",
        )
    return redact_text(without_notes(text)).text.strip()


def published_where(
    filters: LearningFilters, readable: frozenset[Scope] | None, now: datetime
) -> RecordFilter:
    """What was once published, as the filters narrow it; its text is looked at by the caller.

    Invalid for an actor or a rule that is blank: nothing has no name, and it looks like a filter.
    """
    for what, name in (("an actor", filters.actor), ("a rule", filters.rule)):
        if name is not None and not name.strip():
            raise Invalid(
                f"{what} without a name was asked for",
                code="learning.filter",
                hint=f"name {what}, or leave it out",
            )
    return RecordFilter(
        published=True,
        kinds=filters.kinds or None,
        states=filters.states or None,
        scopes=narrow_scopes(filters.scopes, readable),
        scope_kinds=filters.scope_kinds or None,
        tiers=filters.tiers or None,
        decisions=filters.decisions or None,
        actor=filters.actor,
        rule=filters.rule,
        standing=filters.standing,
        now=now,
    )


def require_filter(filters: LearningFilters) -> None:
    """Refuse to revoke without a filter: a state alone is none, for only what is active can be revoked."""
    if filters.states and State.ACTIVE not in filters.states:
        raise Invalid(
            f"only active learnings can be revoked, not {', '.join(sorted(filters.states))} ones",
            code="learning.filter",
            hint="leave the state out",
        )
    narrowing = (filters.scopes, filters.scope_kinds, filters.kinds, filters.tiers, filters.decisions)
    texts = (filters.text.strip(), filters.origin.strip())
    if not any((*narrowing, *texts)) and filters.actor is None and filters.rule is None:
        raise Invalid(
            "revoke-matching without a filter would revoke everything",
            code="learning.filter",
            hint="name a scope, a kind, a tier, a decision, an actor, a rule, a text or an origin",
        )


def passes(
    collections: Collections, record: Record, filters: LearningFilters, *, alone: bool = False
) -> bool:
    """Whether a record has what filters ask for that no query of the store tells; with `alone`, whether it is
    marked for their origin and nothing else."""
    origin = filters.origin.strip()
    if alone:
        return by_origin.rests_alone(record.provenance, origin)
    is_told = holds(record, check_words(filters.text))
    return is_told and (not origin or rests_on(collections, record, origin))


def revocable(
    collections: Collections, filters: LearningFilters, caller: Caller, now: datetime, *, alone: bool
) -> tuple[Record, ...]:
    """What of learnings, and of candidates, passes the filters and is in the caller's reach, newest first; a
    bounded lot."""
    found: list[Record] = []
    wheres = _wheres(filters, caller.scopes, now)
    for record in chain.from_iterable(read_newest_first(collections.records, where) for where in wheres):
        if passes(collections, record, filters, alone=alone):
            found.append(record)
        if len(found) > REVOKED_MAX:
            raise Invalid(
                f"more than {REVOKED_MAX:,} learnings pass the filter",
                code="learning.too-many",
                hint="narrow it, and revoke them in several calls",
            )
    return tuple(found)


def still_revocable(
    tx: Transaction, found: Sequence[Record], filters: LearningFilters, now: datetime, *, alone: bool
) -> tuple[Record, ...]:
    """Those found that pass the filters as they are now, with their scopes in hand."""
    wheres = _wheres(filters, None, now)
    present = tx.records.get_many([record.record_id for record in found])
    locked = {record.scope for record in found}
    return tuple(
        record
        for record in (present[each.record_id] for each in found if each.record_id in present)
        if record.scope in locked
        and any(where.admits(record) for where in wheres)
        and passes(tx, record, filters, alone=alone)
    )


def _wheres(
    filters: LearningFilters, readable: frozenset[Scope] | None, now: datetime
) -> tuple[RecordFilter, ...]:
    """Active learnings; of an origin also the candidates that wait."""
    published = published_where(filters, readable, now)
    active = replace(published, states=frozenset({State.ACTIVE}))
    waiting = replace(published, states=frozenset({State.CONSTRAINED}), published=False)
    return (active, waiting) if filters.origin.strip() else (active,)
