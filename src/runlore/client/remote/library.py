"""The library of skills: saved, read, matched, used, curated, undone."""

from runlore.client.remote.calls import LONG_S, Asked, Remote, Sent, given, path_of, repeated
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.session import SessionId
from runlore.domain.skill import Skill
from runlore.domain.skill_curation import Curation, CurationId
from runlore.domain.suggestion import StoredSuggestion
from runlore.ports import operations as ops


class RemoteLibrary(Remote):
    """Skills, and what is done with them."""

    def save_skill(self, request: ops.SaveSkill) -> Skill:
        """Keep a suggestion as a skill, with its file."""
        body: Sent = {
            "name": request.name,
            "accept_untrusted": request.accept_untrusted,
            "expected_revision": request.expected_revision,
        }
        path = path_of("skill-suggestions", request.suggestion, "save")
        return answers.read(Skill, self.act(path, body, key=request.idempotency_key))

    def import_skill(self, request: ops.ImportSkill) -> Skill:
        """Bring a skill in, tainted until it is promoted."""
        body: Sent = {"text": request.text, "source": request.source, "name": request.name}
        return answers.read(Skill, self.act(path_of("skills"), body, key=request.idempotency_key))

    def list_skills(self, request: ops.SkillsRequest) -> ops.SkillPage:
        """Skills by name."""
        asked: list[tuple[str, Asked]] = [
            *repeated("state", request.states),
            *repeated("origin", request.origins),
            ("limit", request.limit),
            ("cursor", request.cursor),
        ]
        return answers.read(ops.SkillPage, self.read(path_of("skills"), asked))

    def get_skill(self, name: str) -> Skill:
        """One skill by its name or id."""
        return answers.read(Skill, self.read(path_of("skills", name)))

    def accept_skill(self, request: ops.AcceptSkill) -> Skill:
        """Clear its taint after reading it; the act is logged."""
        body: Sent = {
            "force": request.force,
            "reason": request.reason,
            "expected_revision": request.expected_revision,
        }
        path = path_of("skills", request.name, "accept")
        return answers.read(Skill, self.act(path, body, key=request.idempotency_key))

    def delete_skill(self, name: str) -> Skill:
        """Take a skill away, with its file where that is as it was written."""
        return answers.read(Skill, self.remove(path_of("skills", name)))

    def restore_skill(self, name: str) -> Skill:
        """Bring back a skill that was deleted or merged."""
        return answers.read(Skill, self.ask(path_of("skills", name, "restore"), repeatable=True))

    def settle_skill_file(self, request: ops.SettleFile) -> Skill:
        """Say which stands: a skill's file, or its stored text."""
        path = path_of("skills", request.name, "settle")
        return answers.read(Skill, self.ask(path, {"keep": request.keep.value}, repeatable=True))

    def match_skills(self, request: ops.MatchRequest) -> ops.FittingSkills:
        """The skills that fit a turn."""
        asked: list[tuple[str, Asked]] = [
            ("query", request.query),
            ("session_id", request.session_id),
            ("limit", request.limit),
        ]
        return answers.read(ops.FittingSkills, self.read(path_of("skills"), asked))

    def session_skills(self, session_id: SessionId) -> tuple[Skill, ...]:
        """The skills that a session may use, by name."""
        return answers.read_list(Skill, self.read(path_of("sessions", session_id, "skills")))

    def use_skill(self, request: ops.UseSkill) -> Skill:
        """Open a skill, and count that a run used it."""
        body: Sent = given({"run_id": request.run_id, "session_id": request.session_id})
        return answers.read(Skill, self.ask(path_of("skills", request.name, "use"), body, repeatable=True))

    def curate_skills(self, request: ops.CurateRequest) -> ops.CurateAnswer:
        """Merge, drop, delete and prune drafts by the rules of the policy, or only tell."""
        body: Sent = {"apply": request.apply}
        path = path_of("skills", "curate")
        told = self.act(path, body, key=request.idempotency_key, timeout_s=LONG_S)
        return answers.read(ops.CurateAnswer, told)

    def undo_curation(self, curation_id: CurationId | None, idempotency_key: str | None = None) -> Curation:
        """Put back what a curation did, the newest one unless named."""
        named = () if curation_id is None else (curation_id,)
        path = path_of("skill-curations", *named, "undo")
        return answers.read(Curation, self.act(path, key=idempotency_key))

    def list_curations(self, limit: int = limits.LIST_LIMIT_DEFAULT) -> tuple[Curation, ...]:
        """What curation did, the newest first."""
        return answers.read_list(Curation, self.read(path_of("skill-curations"), [("limit", limit)]))

    def reset_skips(self, name: str | None = None) -> tuple[StoredSuggestion, ...]:
        """Let skipped suggestions wait again: all of them, or the one of a name."""
        path = path_of("skill-suggestions", "reset")
        return answers.read_list(StoredSuggestion, self.ask(path, given({"name": name}), repeatable=True))

    def skill_log(self, request: ops.SkillLogRequest) -> ops.SkillLog:
        """What happened to skills, the newest first."""
        asked: list[tuple[str, Asked]] = [
            ("name", request.name),
            ("limit", request.limit),
            ("cursor", request.cursor),
        ]
        return answers.read(ops.SkillLog, self.read(path_of("skill-log"), asked))
