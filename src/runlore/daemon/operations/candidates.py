"""Candidates: what callers would have remembered, the lists of them, and their publication."""

from collections.abc import Sequence

from runlore.daemon.calls.access import (
    may_see,
    narrow_scopes,
    readable_scopes,
    require_visible,
    require_writable,
    visible_id,
    visible_ids,
)
from runlore.daemon.calls.idempotency import Call
from runlore.daemon.calls.lookups import batch_for, checked_words, holds, lock_record, scanned_page, storable
from runlore.daemon.calls.requests import checked_limit, whole_milliseconds
from runlore.daemon.candidate_sources import candidate_provenance, checked_candidate
from runlore.daemon.operations.bound import Bound, operation
from runlore.domain import limits
from runlore.domain.errors import NotFound
from runlore.domain.record import LEARNING_KINDS, REVIEWED_KINDS, Record, RecordId, State
from runlore.domain.records.admission import Draft, Edits
from runlore.domain.records.audit import Act
from runlore.domain.records.publication import PublishTerms
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.flow.publish.decide import expect_revision
from runlore.flow.publish.repeats import published_before
from runlore.flow.reactions import confirm_learning
from runlore.flow.record.intake import propose_once
from runlore.ports import operations as ops
from runlore.ports.store import RecordFilter, Transaction

_LISTED_KINDS = LEARNING_KINDS & REVIEWED_KINDS


class CandidateActs(Bound):
    """Candidates, from their creation to their publication."""

    @operation
    def create_candidate(self, request: ops.NewCandidate) -> Record:
        """A candidate; it waits for review. The answer is the one that the caller has waiting already."""
        checked = checked_candidate(request)
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
        limit = checked_limit(request.limit, limits.LIST_LIMIT_MAX)
        words = checked_words(request.text)
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
        edits = Edits(
            content=publication.content,
            scope=publication.scope,
            kind=publication.kind,
            sensitivity=publication.sensitivity,
            confidence=publication.confidence,
            expires_at=whole_milliseconds(publication.expires_at),
            revalidate_at=whole_milliseconds(publication.revalidate_at),
        )

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            candidate = self.ours(tx, publication.record_id, publication.scope)
            expect_revision(candidate, publication.expected_revision)
            if publication.scope not in (None, candidate.scope):
                require_writable(tx, self.caller, publication.scope)
            supersedes = visible_id(tx, self.caller, publication.supersedes)
            tier = publication.publish_tier
            before = published_before(
                tx.records, candidate, edits, now=act.at, tier=tier, supersedes=supersedes
            )
            return [
                before
                or confirm_learning(
                    tx,
                    candidate,
                    act,
                    terms=PublishTerms(
                        tier=tier, both_hold=visible_ids(tx, self.caller, publication.both_hold)
                    ),
                    edits=edits,
                    supersedes=supersedes,
                    accept_untrusted=publication.accept_untrusted,
                )
            ]

        call = Call(
            operation="publish",
            request=publication,
            key=publication.idempotency_key,
            reason=publication.reason,
        )
        published = self.write(call, body)[0]
        self.follow_skills()
        return published

    def require_seen(self, record: Record, readable: frozenset[Scope] | None) -> Record:
        return require_visible(record, readable if may_see(self.caller, record) else frozenset())

    def ours(self, tx: Transaction, record_id: RecordId, other: Scope | None = None) -> Record:
        """A record to act on, read again once its scope, and another one that it may go to, are ours."""
        others = () if other is None else (other,)
        return require_visible(lock_record(tx, record_id, *others), self.caller.scopes)
