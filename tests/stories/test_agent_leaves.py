"""What `runlore run` leaves undone when it has answered: the daemon that starts next finishes it."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from runlore.client.remote.operations import RemoteOperations
from runlore.config.settings import Settings
from runlore.domain.agent.conversation import AssistantSaid, UserSaid
from runlore.domain.runs.job import JobKind
from runlore.ports import operations as ops
from tests.model_server import KEY, KEY_VARIABLE, Received, Reply, calls, model_server, says
from tests.stories.daemons import Daemon
from tests.stories.learning import pressing_jobs
from tests.surfaces.agent_runs import Working
from tests.waiting import until

STEPS = ("lint", "biuld", "build", "package", "publish")
PREFERENCE = "releases go out on Mondays"
BETTER = "Releases the project: lint, test, build, package and publish it."
POLICY = '{"mode": "enabled", "capture": {"semantic_candidates": {"enabled": true}}}'
ALLOWED = '[agent.approval]\nshell = "allow"'


def _script(received: Received) -> Reply | dict[str, Any]:
    """A release step by step; and where a question comes, an answer that is found in its document."""
    if not received.text.startswith("<data>"):
        spoken = received.conversation
        last = max(place for place, each in enumerate(spoken) if isinstance(each, UserSaid))
        said = sum(isinstance(each, AssistantSaid) for each in spoken[last:])
        return calls("shell", {"command": f"make {STEPS[said]}"}) if said < len(STEPS) else says("All done.")
    document = received.document
    if "body" in document:
        return {
            **{name: document[name] for name in ("name", "topic", "actions", "body")},
            "description": BETTER,
        }
    if "candidate" in document:
        return {"action": "leave", "reason": "somebody should read it"}
    told = {"content": PREFERENCE, "quote": str(document["outcome"] or document["request"])[:40]}
    return {"candidates": [{"kind": "preference", "confidence": 95, **told}]}


@pytest.mark.req("SKL-1", "SKL-7", "AGT-1", "CAP-1")
def test_what_a_command_leaves_behind_is_finished_by_the_daemon_that_starts_next(
    clean_home: Path, disk_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    wrong = 'biuld:\n\t@echo "make: unknown command biuld"; exit 2\n'
    (disk_path / "Makefile").write_text(f"{wrong}%:\n\t@echo done $@\n")
    home = clean_home / "runlore"
    with model_server(_script) as server:
        runlore = Working(home, server, ALLOWED)
        policy = disk_path / "policy.json"
        policy.write_text(POLICY)
        runlore.json("policy", "set", "learning", str(policy))
        done = runlore.forked("run", "Build the release", "--folder", str(disk_path))
        asked = sum(each.text.startswith("<data>") for each in server.requests)
        left = {each["kind"] for each in runlore.items("jobs", "list")}
        ((name, before),) = _suggestions(runlore)

        assert (done.code, done.out) == (0, "All done.\n")
        assert f"Worth a skill: {name} (error-recovery)" in done.err
        assert asked == 0, "the answer waits for no further question"
        assert left == {JobKind.CAPTURE, JobKind.ENHANCE, JobKind.SAVE}
        assert (before != BETTER, runlore.items("skill", "list")) == (True, [])
        memory = runlore.json("session", "runs")["items"][0]
        assert memory["memory"] == "stored", "what the run did is remembered at once"

        daemon = Daemon(Settings(state_root=str(home)))
        daemon.start()
        try:
            with closing(daemon.transport()) as transport:
                operations = RemoteOperations(transport)
                until(lambda: not pressing_jobs(operations), told=operations.list_jobs)
                (skill,) = operations.list_skills(ops.SkillsRequest()).items
                learned = operations.list_candidates(ops.CandidateRequest()).items
        finally:
            daemon.close()

    assert (skill.name, skill.document.description) == (name, BETTER)
    assert (home / "skills" / name / "SKILL.md").exists()
    assert PREFERENCE in [each.summary for each in learned]


def _suggestions(runlore: Working) -> list[tuple[str, str]]:
    """The names and words of what was found."""
    return [(each["name"], each["description"]) for each in runlore.items("skill", "suggestions", "list")]
