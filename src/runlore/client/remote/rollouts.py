"""Promoted procedures: from a published learning to a skill, step by step."""

from runlore.client.remote.calls import Asked, Remote, Sent, given, path_of, repeated
from runlore.client.remote.following import until_ended
from runlore.daemon import answers
from runlore.domain.record import JsonValue
from runlore.domain.rollout import PromotedSkill
from runlore.ports import operations as ops

_SKILLS = "learning-skills"


class RemoteRollouts(Remote):
    """Promoted skills, and how they are rolled out."""

    def promote_learning(self, request: ops.PromoteLearning) -> PromotedSkill:
        """Promote a procedure that is active, with the active tier, in the workspace's scope."""
        allowed, blocked = request.allowed_tools, request.blocked_tools
        body: Sent = {
            "skill_name": request.skill_name,
            "instructions": request.instructions,
            "description": request.description,
            "when_to_use": request.when_to_use,
            "version": request.version,
            "allowed_tools": None if allowed is None else list(allowed),
            "blocked_tools": None if blocked is None else list(blocked),
            "context": request.context,
            "agent_profile": request.agent_profile,
            "provider": request.provider,
            "model": request.model,
            "fallback_model": request.fallback_model,
            "accept_untrusted": request.accept_untrusted,
            "expected_revision": request.expected_revision,
        }
        path = path_of("learnings", request.record_id, "promote-skill")
        return answers.read(PromotedSkill, self.act(path, body, key=request.idempotency_key))

    def list_promoted(self, request: ops.PromotedRequest) -> ops.PromotedPage:
        """Promoted skills by name, whatever their status."""
        asked: list[tuple[str, Asked]] = [
            *repeated("status", request.statuses),
            ("source_record_id", request.source_record_id),
            ("limit", request.limit),
            ("cursor", request.cursor),
        ]
        return answers.read(ops.PromotedPage, self.read(path_of(_SKILLS), asked))

    def get_promoted(self, skill_name: str) -> PromotedSkill:
        """One promoted skill."""
        return answers.read(PromotedSkill, self.read(path_of(_SKILLS, skill_name)))

    def promoted_history(self, request: ops.PromotedHistoryRequest) -> ops.PromotedHistory:
        """How it stood after each change, oldest first."""
        asked: list[tuple[str, Asked]] = [("limit", request.limit), ("cursor", request.cursor)]
        path = path_of(_SKILLS, request.skill_name, "history")
        return answers.read(ops.PromotedHistory, self.read(path, asked))

    def try_promoted(self, request: ops.TrialRequest) -> ops.RunView:
        """Run it once; the run that executes it."""
        body: Sent = given(
            {
                "input": request.input,
                "session_id": request.session_id,
                "working_folder": request.working_folder,
            }
        )
        told = self._done(request.skill_name, "trial", body, request.idempotency_key)
        view = answers.read(ops.RunView, told)
        return until_ended(self, view) if request.wait else view

    def record_result(self, request: ops.RolloutResult) -> PromotedSkill:
        """Record a result; the same run once more changes nothing."""
        body: Sent = {
            "kind": request.kind.value,
            "run_id": request.run_id,
            "expected_output_contains": request.expected_output_contains,
            "definition_fingerprint": request.definition_fingerprint,
        }
        told = self._done(request.skill_name, "rollout-result", body, request.idempotency_key)
        return answers.read(PromotedSkill, told)

    def advance_promoted(self, request: ops.AdvanceRequest) -> PromotedSkill:
        """Move it on, where its evidence allows."""
        sessions = request.sessions
        body: Sent = {
            "to": request.to.value,
            "sessions": None if sessions is None else list(sessions),
            "share": request.share,
            "expected_revision": request.expected_revision,
        }
        told = self._done(request.skill_name, "advance", body, request.idempotency_key)
        return answers.read(PromotedSkill, told)

    def revoke_promoted(self, request: ops.RevokePromoted) -> PromotedSkill:
        """Take it out of use at once; once more changes nothing."""
        body: Sent = {"reason": request.reason}
        told = self._done(request.skill_name, "revoke", body, request.idempotency_key)
        return answers.read(PromotedSkill, told)

    def rollback_promoted(self, request: ops.RevokePromoted) -> PromotedSkill:
        """Put the newest snapshot that was active back, where its learning still stands."""
        body: Sent = {"reason": request.reason}
        told = self._done(request.skill_name, "rollback", body, request.idempotency_key)
        return answers.read(PromotedSkill, told)

    def _done(self, name: str, act: str, body: Sent, key: str | None) -> JsonValue:
        return self.act(path_of(_SKILLS, name, act), body, key=key)
