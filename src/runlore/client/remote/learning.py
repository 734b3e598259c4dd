"""The learning plane: candidates, learnings, and the work that automation does on them."""

from collections.abc import Iterable
from datetime import datetime

from runlore.client.remote.calls import LONG_S, Asked, Remote, Sent, path_of, repeated, time_or_none
from runlore.client.remote.review import decided
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.record import EvidenceRef, JsonValue, Record, RecordId, Source
from runlore.domain.session import SessionId
from runlore.ports import operations as ops


class RemoteLearning(Remote):
    """Candidates and learnings over the one record model."""

    def create_candidate(self, request: ops.NewCandidate) -> Record:
        """A candidate; it waits for review."""
        body: Sent = {
            "kind": request.kind.value,
            "content": request.content,
            "scope": str(request.scope),
            "metadata": request.metadata,
            "confidence": request.confidence,
            "sensitivity": request.sensitivity.value,
            "source": _source(request.source),
            "evidence_refs": _evidence(request.evidence_refs),
            "expires_at": time_or_none(request.expires_at),
        }
        made = self.act(path_of("learning-candidates"), body, key=request.idempotency_key)
        return answers.read(Record, made)

    def list_candidates(self, request: ops.CandidateRequest) -> ops.Page:
        """Candidates by filter, newest first."""
        asked: list[tuple[str, Asked]] = [
            *repeated("scope", request.scopes),
            *repeated("scope_kind", request.scope_kinds),
            *repeated("kind", request.kinds),
            *repeated("state", request.states),
            *repeated("policy_decision", request.decisions),
            ("text", request.text or None),
            ("limit", request.limit),
            ("cursor", request.cursor),
            ("session_id", request.session_id),
        ]
        return answers.read(ops.Page, self.read(path_of("learning-candidates"), asked))

    def get_candidate(self, record_id: RecordId, *, session_id: SessionId | None = None) -> Record:
        """One candidate, also after it was decided on."""
        path = path_of("learning-candidates", record_id)
        return answers.read(Record, self.read(path, [("session_id", session_id)]))

    def publish(self, publication: ops.Publication) -> Record:
        """Publish a candidate, in a tier; the original answers for a duplicate."""
        body: Sent = {**_terms(publication), "supersedes": publication.supersedes}
        path = path_of("learning-candidates", publication.record_id, "publish")
        return answers.read(Record, self.act(path, body, key=publication.idempotency_key))

    def list_learnings(self, request: ops.LearningRequest) -> ops.Page:
        """What was once published, newest first."""
        filters = request.filters
        asked: list[tuple[str, Asked]] = [
            *repeated("scope", filters.scopes),
            *repeated("scope_kind", filters.scope_kinds),
            *repeated("kind", filters.kinds),
            *repeated("state", filters.states),
            *repeated("publish_tier", filters.tiers),
            *repeated("policy_decision", filters.decisions),
            ("policy_actor", filters.actor),
            ("rule", filters.rule),
            ("text", filters.text or None),
            ("as_of", request.as_of),
            ("limit", request.limit),
            ("cursor", request.cursor),
            ("session_id", request.session_id),
        ]
        return answers.read(ops.Page, self.read(path_of("learnings"), asked))

    def get_learning(
        self, record_id: RecordId, *, as_of: datetime | None = None, session_id: SessionId | None = None
    ) -> Record:
        """One learning, now or as it was."""
        asked: list[tuple[str, Asked]] = [("as_of", as_of), ("session_id", session_id)]
        return answers.read(Record, self.read(path_of("learnings", record_id), asked))

    def revoke(self, decision: ops.Decision) -> Record:
        """Take a learning back."""
        path = path_of("learnings", decision.record_id, "revoke")
        return answers.read(Record, self.act(path, decided(decision), key=decision.idempotency_key))

    def revoke_matching(self, request: ops.MatchingRevocation) -> ops.Revoked:
        """Take back all that pass a filter, in one transaction."""
        filters = request.filters
        body: Sent = {
            "scope": sorted(str(scope) for scope in filters.scopes),
            "scope_kind": sorted(filters.scope_kinds),
            "kind": sorted(filters.kinds),
            "state": sorted(filters.states),
            "publish_tier": sorted(filters.tiers),
            "policy_decision": sorted(filters.decisions),
            "policy_actor": filters.actor,
            "rule": filters.rule,
            "text": filters.text,
            "reason": request.reason,
            "dry_run": request.dry_run,
        }
        path = path_of("learnings", "revoke-matching")
        told = self.act(path, body, key=request.idempotency_key, timeout_s=LONG_S)
        return answers.read(ops.Revoked, told)

    def supersede(self, request: ops.Supersession) -> Record:
        """Replace a learning by new content; the new record answers."""
        path = path_of("learnings", request.record_id, "supersede")
        return answers.read(Record, self.act(path, _terms(request), key=request.idempotency_key))

    def verify(self, request: ops.VerifyRequest) -> Record:
        """Look for support, and raise a provisional learning that has it, or on the operator's word."""
        body: Sent = {
            "evidence_refs": _evidence(request.evidence_refs),
            "on_my_word": request.on_my_word,
            "both_hold": list(request.both_hold),
            "revalidate_at": time_or_none(request.revalidate_at),
            "reason": request.reason,
            "expected_revision": request.expected_revision,
        }
        path = path_of("learnings", request.record_id, "verify")
        return answers.read(Record, self.act(path, body, key=request.idempotency_key))

    def feedback(self, note: ops.FeedbackNote) -> Record:
        """Say whether a learning that a run was given helped it or was wrong."""
        body: Sent = {"run_id": note.run_id, "verdict": note.verdict.value, "note": note.note}
        path = path_of("learnings", note.record_id, "feedback")
        return answers.read(Record, self.act(path, body, key=note.idempotency_key))

    def test_policy(self, trial: ops.PolicyTrial) -> ops.TrialAnswer:
        """What a policy would do, beside what the present one does; nothing is changed."""
        body: Sent = {"policy": trial.policy, "limit": trial.limit}
        path = path_of("policies", trial.name.value, "test")
        return answers.read(ops.TrialAnswer, self.ask(path, body, repeatable=True))

    def backfill_capture(self, request: ops.BackfillRequest) -> ops.BackfillAnswer:
        """Queue the capture of runs that were skipped while it was off."""
        body: Sent = {
            "session_id": request.session_id,
            "since": time_or_none(request.since),
            "limit": request.limit,
            "dry_run": request.dry_run,
        }
        return answers.read(
            ops.BackfillAnswer, self.ask(path_of("capture", "backfill"), body, repeatable=True)
        )

    def delete_run_memories(self, request: ops.RunMemoryDeletion) -> ops.DeletedRunMemories:
        """Delete what is remembered of runs, for good; journals and records stay."""
        body: Sent = {
            "session_id": request.session_id,
            "confirm": request.confirm,
            "dry_run": request.dry_run,
            "reason": request.reason,
        }
        path = path_of("capture", "delete-memories")
        return answers.read(ops.DeletedRunMemories, self.act(path, body, key=request.idempotency_key))

    def work_jobs(self, *, limit: int = limits.LIST_LIMIT_DEFAULT) -> ops.WorkAnswer:
        """Do what waits now, models asked where needed: for a Runlore without a daemon."""
        told = self.ask(path_of("jobs", "work"), {"limit": limit}, repeatable=True, timeout_s=LONG_S)
        return answers.read(ops.WorkAnswer, told)


def _terms(request: ops.Publication | ops.Supersession) -> dict[str, JsonValue]:
    """How something is published."""
    return {
        "content": request.content,
        "scope": None if request.scope is None else str(request.scope),
        "kind": request.kind,
        "sensitivity": request.sensitivity,
        "confidence": request.confidence,
        "expires_at": time_or_none(request.expires_at),
        "revalidate_at": time_or_none(request.revalidate_at),
        "publish_tier": request.publish_tier.value,
        "both_hold": list(request.both_hold),
        "accept_untrusted": request.accept_untrusted,
        "reason": request.reason,
        "expected_revision": request.expected_revision,
    }


def _source(source: Source) -> dict[str, JsonValue]:
    return {
        "session_id": source.session_id,
        "run_id": source.run_id,
        "agent": source.agent,
        "record_ids": list(source.record_ids),
        "imported_from": source.imported_from,
    }


def _evidence(references: Iterable[EvidenceRef]) -> list[JsonValue]:
    return [
        {
            "run_id": reference.run_id,
            "artifact_id": reference.artifact_id,
            "event_number": reference.event_number,
            "note": reference.note,
        }
        for reference in references
    ]
