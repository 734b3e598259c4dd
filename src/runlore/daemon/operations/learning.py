"""Learnings: what was published, and what operators and agents do with it afterwards."""

from collections.abc import Sequence
from datetime import datetime

from runlore.daemon.access import may_see, readable_scopes, require_visible, visible_ids
from runlore.daemon.acts import Call, Done
from runlore.daemon.candidate_sources import checked_evidence, require_own_evidence
from runlore.daemon.contexts import reached_scopes
from runlore.daemon.lookups import as_it_was, locked, storable
from runlore.daemon.matching import published_where, require_filter, revocable, still_revocable
from runlore.daemon.operations.bound import operation
from runlore.daemon.operations.candidates import CandidateActs
from runlore.daemon.operations.projection import bound_then
from runlore.daemon.requests import checked_limit, whole_milliseconds
from runlore.daemon.run_access import own_run
from runlore.daemon.scanning import batch_for, checked_words, holds, scanned_page
from runlore.domain import limits
from runlore.domain.errors import Invalid, NotFound, Refused
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.prompts.injected import without_notes
from runlore.domain.record import Record, RecordId, StateReason
from runlore.domain.records.admission import Edits, check_revalidation
from runlore.domain.records.audit import Act
from runlore.domain.records.contracts import check_text
from runlore.domain.records.publication import PublishTerms
from runlore.domain.run import Run
from runlore.domain.session import SessionId
from runlore.flow.pipeline.operator_verification import Vouching, gather_support, verify
from runlore.flow.pipeline.replacing import supersede
from runlore.flow.publish.decide import expect_revision
from runlore.flow.publish.feedback import give_feedback, was_given
from runlore.flow.publish.repeats import ended_before, superseded_before
from runlore.flow.reactions import revoke_learnings
from runlore.ports import operations as ops
from runlore.ports.store import Transaction


class LearningActs(CandidateActs):
    """What was published: lists of it, and what becomes of it."""

    @operation
    def list_learnings(self, request: ops.LearningRequest) -> ops.Page:
        """What was once published, newest first."""
        limit = checked_limit(request.limit, limits.LIST_LIMIT_MAX)
        words = checked_words(request.filters.text)
        now = request.as_of or self.parts.clock.now()
        with self.parts.store.snapshot() as snapshot:
            readable = readable_scopes(snapshot, self.caller, request.session_id, at=request.as_of)
            return scanned_page(
                snapshot.records,
                published_where(request.filters, readable, now),
                lambda record: may_see(self.caller, record) and holds(record, words),
                limit=limit,
                cursor=request.cursor,
                batch=batch_for(limit, words),
                as_of=request.as_of,
            )

    @operation
    def get_learning(
        self, record_id: RecordId, *, as_of: datetime | None = None, session_id: SessionId | None = None
    ) -> Record:
        """One learning, now or as it was."""
        with self.parts.store.snapshot() as snapshot:
            readable = readable_scopes(snapshot, self.caller, session_id, at=as_of)
            stored = storable(record_id)
            present = snapshot.records.get(stored)
            record = present if as_of is None else as_it_was(snapshot.records, stored, as_of)
        return _published(self.seen(record, readable))

    @operation
    def revoke(self, decision: ops.Decision) -> Record:
        """Take a learning back."""

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            learning = self.target(tx, decision)
            if ended_before(learning, StateReason.REVOKED):
                return [learning]
            return revoke_learnings(tx, [learning], act)

        revoked = self.decide("revoke", decision, body)[0]
        self.follow_skills()
        return revoked

    @operation
    def revoke_matching(self, request: ops.MatchingRevocation) -> ops.Revoked:
        """Take back all that pass a filter, in one transaction."""
        require_filter(request.filters)
        with self.parts.store.snapshot() as snapshot:
            found = revocable(snapshot.records, request.filters, self.caller, self.parts.clock.now())
        if request.dry_run:
            return ops.Revoked(items=found, dry_run=True)

        def do(tx: Transaction, act: Act) -> Done[ops.Revoked]:
            tx.lock({record.scope for record in found})
            revoked = revoke_learnings(tx, still_revocable(tx.records, found, request.filters, act.at), act)
            return Done(answer=ops.Revoked(items=revoked, dry_run=False), records=revoked)

        call = Call(
            operation="revoke_matching", request=request, key=request.idempotency_key, reason=request.reason
        )
        answer = self.acting.perform(call, do, lambda _tx, kept: ops.Revoked(items=kept, dry_run=False))
        self.follow_skills()
        return answer

    @operation
    def supersede(self, request: ops.Supersession) -> Record:
        """Replace a learning by new content; the new record answers."""
        edits = Edits(
            content=request.content,
            scope=request.scope,
            kind=request.kind,
            sensitivity=request.sensitivity,
            confidence=request.confidence,
            expires_at=whole_milliseconds(request.expires_at),
            revalidate_at=whole_milliseconds(request.revalidate_at),
        )

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

        call = Call(
            operation="supersede", request=request, key=request.idempotency_key, reason=request.reason
        )
        superseding = self.write(call, body)[0]
        self.follow_skills()
        return superseding

    @operation
    def verify(self, request: ops.VerifyRequest) -> Record:
        """Look for support, and raise a provisional learning that has it, or on the operator's word."""
        vouching = Vouching(
            evidence=checked_evidence(request.evidence_refs),
            on_my_word=request.on_my_word,
            both_hold=request.both_hold,
            revalidate_at=whole_milliseconds(request.revalidate_at),
        )
        with self.parts.store.snapshot() as snapshot:
            require_own_evidence(snapshot, self.caller, vouching.evidence)
            found = snapshot.records.get(storable(request.record_id))
            seen = _published(require_visible(found, self.caller.scopes))
            support = gather_support(snapshot, self.parts.run_memories, seen, vouching)

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            record = self.ours(tx, request.record_id)
            expect_revision(record, request.expected_revision)
            check_revalidation(vouching.revalidate_at, act.at)
            visible_ids(tx, self.caller, vouching.both_hold)
            if (record.summary, record.evidence_refs) != (seen.summary, seen.evidence_refs):
                expect_revision(record, seen.revision)
            return [verify(tx, record, act, support=support, vouching=vouching)]

        call = Call(operation="verify", request=request, key=request.idempotency_key, reason=request.reason)
        return self.write(call, body)[0]

    @operation
    def feedback(self, note: ops.FeedbackNote) -> Record:
        """Say whether a learning that a run was given helped it or was wrong."""
        text = _checked_note(note.note)

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            run, record = self._given(tx, note)
            return [give_feedback(tx, record, run, act, verdict=note.verdict, note=text)]

        return self.write(Call(operation="feedback", request=note, key=note.idempotency_key), body)[0]

    def _given(self, tx: Transaction, note: ops.FeedbackNote) -> tuple[Run, Record]:
        """A run of the caller's, and the record that it was given. Of no other record anything is told."""
        run, session = own_run(tx, self.caller, note.run_id)
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
        return run, locked(tx, record.record_id)


def _published(record: Record) -> Record:
    if record.published_at is None:
        raise NotFound(
            f"record {record.record_id} was never published",
            code="learning.not-found",
            hint="`runlore learning candidates get` shows candidates",
        )
    return record


def _checked_note(note: str) -> str:
    """A note as it can be kept: bounded, without what Runlore rendered, and without secrets."""
    text = check_text("the note", note).strip()
    if len(text) > limits.REASON_CHARS_MAX:
        raise Invalid(
            f"the note has {len(text):,} characters, more than {limits.REASON_CHARS_MAX:,}",
            code="feedback.note",
            hint="shorten it",
        )
    return redact_text(without_notes(text)).text.strip()
