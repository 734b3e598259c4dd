"""The same act again, with the same result, answers 200 and changes nothing, whichever act it is."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from runlore.config.settings import Settings
from runlore.daemon.parts import Parts
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind
from runlore.domain.run import RunId
from runlore.domain.runs.job import Job, JobId, JobKind
from tests.flow.saved_skills import offered
from tests.surfaces.api_client import Api, Json, path_of, serving
from tests.surfaces.rollout_things import procedure, promote
from tests.surfaces.skill_files_of import skill_md
from tests.world import World

pytestmark = pytest.mark.req("SUR-7")

Asked = tuple[str, str, Any]


class Outside:
    """What the builders of suggestions need of a world, on a Runlore that is served."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.ids, self.clock = parts, parts.ids, parts.clock


FINDING = {"summary": "s", "repo_slug": "a/b", "source_handle": "hn", "source_url": "https://example.org"}


class Scene:
    """A served Runlore in which every act finds something to act on."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._number = 0

    def proposal(self) -> str:
        """The id of a profile proposal of its own."""
        self._number += 1
        body = {"key": f"editor-{self._number}", "value": "vim", "reason": "they said so"}
        return str(self.api.post("/v1/memory/profile-proposals", body, status=201)["record_id"])

    def candidate(self, **more: Any) -> str:
        """The id of a candidate of its own."""
        self._number += 1
        body = {"kind": "fact", "content": f"Thing {self._number} takes {self._number} minutes", **more}
        return str(self.api.post("/v1/learning-candidates", body, status=201)["record_id"])

    def learning(self, **more: Any) -> str:
        """The id of a published learning."""
        record_id = self.candidate(**more)
        self.api.post(path_of("v1", "learning-candidates", record_id, "publish"))
        return record_id

    def replaced(self) -> str:
        """The id of a record that was superseded, by one that was rolled back since."""
        old = self.learning()
        new = self.api.post(path_of("v1", "learnings", old, "supersede"), {"content": "It is otherwise"})
        self.api.post(path_of("v1", "memory", "records", new["record_id"], "rollback"))
        return old

    def finding(self) -> str:
        """The id of a finding."""
        self._number += 1
        body = {**FINDING, "summary": f"Tool {self._number}", "repo_slug": f"a/b{self._number}"}
        return str(self.api.post("/v1/memory/radar", body, status=201)["items"][1]["record_id"])

    def adopted(self) -> str:
        """The id of an adopted finding."""
        record_id = self.finding()
        self.api.post(path_of("v1", "memory", "radar", record_id, "adopt"))
        return record_id

    def run(self) -> str:
        """The id of a run."""
        self._number += 1
        session_id = self.api.post("/v1/sessions", {}, status=201)["session_id"]
        body = {"request": "Do it"}
        return str(self.api.post(path_of("v1", "sessions", session_id, "runs"), body, status=201)["run_id"])

    def promoted(self) -> str:
        """The name of a promoted skill in draft."""
        self._number += 1
        name = f"release-{self._number}"
        assert promote(self.api, procedure(self.api, f"Tag {self._number}, then push it"), name).status == 200
        return name

    def skill(self) -> str:
        """The name of a skill of somebody's."""
        self._number += 1
        name = f"tidy-{self._number}"
        self.api.post("/v1/skills", {"text": skill_md(name), "source": "a friend"}, status=201)
        return name

    def accepted_skill(self) -> str:
        """The name of one that agents get."""
        name = self.skill()
        self.api.post(path_of("v1", "skills", name, "accept"), {"force": True})
        return name

    def deleted_skill(self) -> str:
        """The name of one that is gone."""
        name = self.skill()
        self.api.call("DELETE", path_of("v1", "skills", name))
        return name

    def suggestion(self) -> str:
        """The id of a suggestion that waits."""
        self._number += 1
        world = cast("World", Outside(self.api.service.parts))
        return offered(world, f"deploy-{self._number}").suggestion_id

    def skipped(self) -> str:
        """The id of one that was skipped."""
        suggestion_id = self.suggestion()
        self.api.post(path_of("v1", "skill-suggestions", suggestion_id, "skip"))
        return suggestion_id

    def skipped_skill(self) -> str:
        """The id of a suggestion that was skipped after it was saved: its skill is there."""
        suggestion_id = self.suggestion()
        self.api.post(path_of("v1", "skill-suggestions", suggestion_id, "save"), {"accept_untrusted": True})
        self.api.post(path_of("v1", "skill-suggestions", suggestion_id, "skip"))
        return suggestion_id

    def curation(self) -> str:
        """The id of a curation that took something away."""
        self.skipped_skill()
        answer = self.api.post("/v1/skills/curate", {"apply": True})
        return str(answer["curation"]["curation_id"])

    def approval(self) -> str:
        """The id of what a run waits for."""
        self._number += 1
        parts, run_id = self.api.service.parts, RunId(self.run())
        with parts.store.snapshot() as snapshot:
            session_id = snapshot.runs.get(run_id).session_id
        asked = Approval(
            approval_id=ApprovalId(f"ask-{self._number}"),
            run_id=run_id,
            session_id=session_id,
            kind=ApprovalKind.CALL,
            tool="shell",
            arguments={"command": "ls"},
            created_at=parts.clock.now(),
        )
        with parts.store.transaction() as tx:
            tx.approvals.insert(asked)
        return asked.approval_id

    def dead_job(self) -> str:
        """The id of a job that failed for good."""
        self._number += 1
        parts, kind = self.api.service.parts, JobKind.REMEMBER
        now = parts.clock.now()
        job_id, until = JobId(f"job-{self._number}"), now + timedelta(minutes=1)
        with parts.store.transaction() as tx:
            tx.jobs.put(
                Job(job_id=job_id, kind=kind, subject=f"run-{self._number}", due_at=now, created_at=now)
            )
            claimed = tx.jobs.claim(frozenset({kind}), holder="test", now=now, lease_until=until)
            assert claimed is not None
            assert claimed.job_id == job_id
            tx.jobs.fail(claimed, error="the disk was full", retry_at=None)
        return job_id

    def given(self) -> Asked:
        """A run's word on a learning that it was given."""
        self._number += 1
        word = f"zeppelin{self._number}"
        record_id = self.learning(content=f"The {word} flies at noon")
        session_id = self.api.post("/v1/sessions", {}, status=201)["session_id"]
        body = {"request": f"When does the {word} fly?", "context": True}
        run = self.api.post(path_of("v1", "sessions", session_id, "runs"), body, status=201)
        path = path_of("v1", "learnings", record_id, "feedback")
        return "POST", path, {"run_id": run["run_id"], "verdict": "helped"}

    def token(self) -> str:
        """The name of a token."""
        self._number += 1
        name = f"token-{self._number}"
        self.api.post("/v1/tokens", {"name": name, "role": "reader"}, status=201)
        return name


def record_act(kind: Callable[[Scene], str], *where: str, body: Any = None) -> Callable[[Scene], Asked]:
    """An act on something that is made for it: its path has the id before its last part."""

    def asked(scene: Scene) -> Asked:
        *head, act = where
        return "POST", path_of("v1", *head, kind(scene), act), body

    return asked


ACTS: dict[str, Callable[[Scene], Asked]] = {
    "confirm": record_act(Scene.proposal, "review", "confirm", body={"reason": "yes"}),
    "confirm in other words": record_act(Scene.proposal, "review", "confirm", body={"summary": "It is vi"}),
    "reject": record_act(Scene.proposal, "review", "reject", body={"reason": "no"}),
    "rollback": record_act(Scene.learning, "memory", "records", "rollback"),
    "rollback and restore": record_act(
        Scene.learning, "memory", "records", "rollback", body={"restore_sources": True}
    ),
    "restore": record_act(Scene.replaced, "memory", "records", "restore"),
    "forget": record_act(Scene.learning, "memory", "records", "forget"),
    "publish": record_act(Scene.candidate, "learning-candidates", "publish", body={}),
    "publish in other words": record_act(
        Scene.candidate, "learning-candidates", "publish", body={"content": "It takes an hour"}
    ),
    "reject a candidate": record_act(Scene.candidate, "learning-candidates", "reject"),
    "revoke": record_act(Scene.learning, "learnings", "revoke", body={"reason": "wrong"}),
    "supersede": record_act(Scene.learning, "learnings", "supersede", body={"content": "It takes two days"}),
    "verify": record_act(Scene.learning, "learnings", "verify", body={"on_my_word": True}),
    "adopt": record_act(Scene.finding, "memory", "radar", "adopt"),
    "undo an adoption": record_act(Scene.adopted, "memory", "radar", "undo"),
    "finish": record_act(Scene.run, "runs", "finish", body={"status": "completed"}),
    "revoke a promoted skill": record_act(Scene.promoted, "learning-skills", "revoke"),
    "restart a promoted skill": record_act(
        Scene.promoted, "learning-skills", "advance", body={"to": "draft"}
    ),
    "accept a skill": record_act(Scene.skill, "skills", "accept", body={"force": True}),
    "delete a skill": lambda scene: ("DELETE", path_of("v1", "skills", scene.skill()), None),
    "restore a skill": record_act(Scene.deleted_skill, "skills", "restore"),
    "settle a file": record_act(Scene.skill, "skills", "settle", body={"keep": "stored"}),
    "use a skill": lambda scene: (
        "POST",
        path_of("v1", "skills", scene.accepted_skill(), "use"),
        {"run_id": scene.run()},
    ),
    "save a suggestion": record_act(
        Scene.suggestion, "skill-suggestions", "save", body={"accept_untrusted": True}
    ),
    "skip a suggestion": record_act(Scene.suggestion, "skill-suggestions", "skip"),
    "reset a suggestion": record_act(Scene.skipped, "skill-suggestions", "reset"),
    "reset one whose skill is there": record_act(Scene.skipped_skill, "skill-suggestions", "reset"),
    "reset all skips": lambda scene: (
        "POST",
        "/v1/skill-suggestions/reset",
        {"name": scene.skipped()},
    ),
    "undo a curation": record_act(Scene.curation, "skill-curations", "undo"),
    "curate": lambda scene: (scene.skipped_skill(), ("POST", "/v1/skills/curate", {"apply": True}))[1],
    "put a policy": lambda _: ("PUT", "/v1/policies/retention", {"policy": {"journal_days": 90}}),
    "roll a policy back": lambda _: ("POST", "/v1/policies/retention/rollback", {"to_revision": 0}),
    "approve": lambda scene: ("POST", path_of("v1", "approvals", scene.approval()), {"approve": True}),
    "deny": lambda scene: ("POST", path_of("v1", "approvals", scene.approval()), {"approve": False}),
    "retry a job": record_act(Scene.dead_job, "jobs", "retry"),
    "feedback": Scene.given,
    "pause": lambda _: ("POST", "/v1/capture/pause", None),
    "resume": lambda _: ("POST", "/v1/capture/resume", None),
    "put a persona": lambda _: ("PUT", "/v1/personas/ada", {}),
    "revoke a token": lambda scene: ("POST", path_of("v1", "tokens", scene.token(), "revoke"), None),
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One for all acts."""
    root: Path = tmp_path_factory.mktemp("repeats") / "runlore"
    with serving(Settings(state_root=str(root))) as api:
        yield Scene(api)


@pytest.mark.parametrize("act", ACTS)
def test_the_same_act_again_changes_nothing_and_answers_the_same(scene: Scene, act: str) -> None:
    method, path, body = ACTS[act](scene)
    first = scene.api.call(method, path, body)
    assert first.status in {200, 204}, first
    before = unmoved(scene.api.tables())

    again = scene.api.call(method, path, body)

    assert again.status == first.status, again
    assert unmoved(scene.api.tables()) == before


def test_a_skill_that_is_there_already_is_not_made_again(scene: Scene) -> None:
    name = scene.skill()
    before = unmoved(scene.api.tables())

    again = scene.api.call("POST", "/v1/skills", {"text": skill_md(name), "source": "another friend"})

    assert (again.status, again.headers["location"]) == (200, f"/v1/skills/{name}")
    assert again.json["was_there_before"] is True
    assert unmoved(scene.api.tables()) == before


def unmoved(tables: Json) -> Json:
    """What acts write, without what time alone brings about."""
    return {name: rows for name, rows in tables.items() if name not in {"processes", "notes", "jobs"}}
