"""Review: what waits, and the operator's acts on records."""

from runlore.client.remote.calls import LONG_S, Remote, Sent, path_of, repeated
from runlore.daemon import answers
from runlore.domain.record import JsonValue, Record
from runlore.ports import operations as ops


class RemoteReview(Remote):
    """What waits for review, and the decisions on it."""

    def review_list(self, request: ops.ReviewRequest) -> ops.ReviewPage:
        """What waits, and what confirming it would do."""
        asked = [
            *repeated("kind", request.kinds),
            *repeated("scope", request.scopes),
            ("limit", request.limit),
            ("cursor", request.cursor),
            ("session_id", request.session_id),
            ("folded", request.folded or None),
        ]
        return answers.read(ops.ReviewPage, self.read(path_of("review"), asked))

    def confirm(self, decision: ops.Decision) -> Record:
        """Make a candidate active; the original answers for a duplicate."""
        body = {
            **decided(decision),
            "summary": decision.summary,
            "supersedes": decision.supersedes,
            "both_hold": list(decision.both_hold),
            "accept_untrusted": decision.accept_untrusted,
        }
        path = path_of("review", decision.record_id, "confirm")
        return answers.read(Record, self.act(path, body, key=decision.idempotency_key))

    def reject(self, decision: ops.Decision) -> Record:
        """Tombstone a candidate."""
        path = path_of("review", decision.record_id, "reject")
        return answers.read(Record, self.act(path, decided(decision), key=decision.idempotency_key))

    def rollback(self, decision: ops.Decision) -> ops.RollbackAnswer:
        """Tombstone an active record, and bring back what it replaced where asked."""
        body = {**decided(decision), "restore_sources": decision.restore_sources}
        path = path_of("memory", "records", decision.record_id, "rollback")
        return answers.read(ops.RollbackAnswer, self.act(path, body, key=decision.idempotency_key))

    def restore(self, decision: ops.Decision) -> Record:
        """Make a superseded record active again."""
        path = path_of("memory", "records", decision.record_id, "restore")
        return answers.read(Record, self.act(path, decided(decision), key=decision.idempotency_key))

    def compact(self, request: ops.MergeRequest) -> tuple[ops.MergeItem, ...]:
        """Semantic records that say the same thing in several places."""
        return answers.read_list(ops.MergeItem, self._merges("compactions", request))

    def dedup(self, request: ops.MergeRequest) -> tuple[ops.MergeItem, ...]:
        """Procedures of one workflow."""
        return answers.read_list(ops.MergeItem, self._merges("dedups", request))

    def forget(self, decision: ops.Decision, *, dry_run: bool = False) -> ops.ForgetAnswer:
        """Erase the content of a record, a run or a session, and everything derived from it."""
        body = {**decided(decision), "dry_run": dry_run}
        path = path_of("memory", "records", decision.record_id, "forget")
        key = decision.idempotency_key
        return answers.read(ops.ForgetAnswer, self.act(path, body, key=key, timeout_s=LONG_S))

    def _merges(self, name: str, request: ops.MergeRequest) -> JsonValue:
        body: Sent = {
            "scopes": sorted(str(scope) for scope in request.scopes),
            "create_proposals": request.create_proposals,
        }
        return self.act(path_of("memory", name), body, key=request.idempotency_key, timeout_s=LONG_S)


def decided(decision: ops.Decision) -> Sent:
    """What every decision says."""
    return {"reason": decision.reason, "expected_revision": decision.expected_revision}
