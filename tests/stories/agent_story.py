"""The story of an agent that remembers: a preference is learned, a procedure becomes a skill, step by step.

A real daemon works the runs, with a model that speaks a provider's protocol; everything is asked for with the
client's own code. Each step is done when it returns, whatever happens to the daemon afterwards.
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import orjson
import psycopg

from runlore.client.remote.operations import RemoteOperations
from runlore.config.settings import Settings
from runlore.domain.agent.approval import ApprovalState
from runlore.domain.agent.conversation import AssistantSaid, ToolAnswered, UserSaid
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import Kind
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.skill import Usage
from runlore.domain.skills.rollout import PromotedSkill, RolloutKind, RolloutStatus
from runlore.ports import operations as ops
from tests.model_server import KEY_VARIABLE, Received, Reply, calls, hangs, says
from tests.stories.daemons import Daemon
from tests.stories.learning import Model, lapse_leases, pressing_jobs
from tests.waiting import until

SKILL, MARKER = "check-project", "CHECK-OK-7"
PREFERENCE = "commit messages are written in the imperative"
FIRST = f"Preference: {PREFERENCE}.\n\nPlease run the check of this project."
SECOND = "Please write the commit messages for what you did before."
THIRD = "Please go through the check as it is usually done."
TALK, TRYING, OTHER = SessionId("talk"), SessionId("trying"), SessionId("other")
POLICY: dict[str, Any] = {
    "mode": "enabled",
    "capture": {"semantic_candidates": {"enabled": True}},
    "publication": {"rules": [{"name": "preferences", "kind": "preference", "action": "publish_active"}]},
}
CONFIG = """
[models]
default = "test:scripted"
[models.providers.test]
kind = "{kind}"
base_url = "{base_url}"
api_key_env = "{key}"
[agent.approval]
shell = "ask"
allow = ["./check*"]
"""
_DEAD = "UPDATE processes SET lease_until_ms = 0"


@dataclass
class Agents:
    """What the model says: to each input its lines in order, to a child its own, to every question nothing.

    Where `silent_child` is set, a child is not answered.
    """

    questions: Model = field(default_factory=Model)
    silent_child: bool = False
    heard: list[Received] = field(default_factory=list)

    def __call__(self, received: Received) -> Any:
        """The next line of whoever is asked."""
        if received.text.startswith("<data>"):
            return self.questions(received)
        self.heard.append(received)
        if "use_skill" not in received.tools:
            return hangs() if self.silent_child else self._line(received, CHILD)
        asked = [each.text for each in received.conversation if isinstance(each, UserSaid)][-1]
        return self._line(received, LINES[asked])

    def _line(self, received: Received, lines: tuple[Reply, ...]) -> Reply:
        spoken = received.conversation
        last = max(place for place, each in enumerate(spoken) if isinstance(each, UserSaid))
        said = sum(isinstance(each, AssistantSaid) for each in spoken[last:])
        return lines[min(said, len(lines) - 1)]


CHILD = (
    calls("shell", {"command": "./check"}),
    calls("write_file", {"path": "report.txt", "content": "checked\n"}),
    says(f"{MARKER}: the check went well."),
)
LINES: dict[str, tuple[Reply, ...]] = {
    FIRST: (
        calls("shell", {"command": "./chek"}),
        calls("shell", {"command": "./check"}),
        says("The check goes well; its name is ./check."),
    ),
    SECOND: (says("Run the check of the project"),),
    THIRD: (
        calls("list_skills"),
        calls("use_skill", {"name": SKILL, "arguments": "this project"}),
        says("I am done."),
    ),
}


class Story:
    """One daemon, and what is asked of it."""

    def __init__(self, settings: Settings, project: Path, *, base_url: str, kind: str) -> None:
        self.settings = settings
        self.project = project
        self.daemon = Daemon(settings)
        root = Path(settings.state_root)
        root.mkdir(parents=True, mode=0o700)
        told = CONFIG.format(kind=kind, base_url=base_url, key=KEY_VARIABLE)
        (root / "config.toml").write_text(told, encoding="utf-8")

    @contextmanager
    def operations(self) -> Iterator[ops.Operations]:
        """All operations, over the daemon's socket."""
        with closing(self.daemon.transport()) as transport:
            yield RemoteOperations(transport)

    def steps(self) -> tuple[Callable[[], None], ...]:
        """The story, in its order."""
        return (
            self.prepare,
            self.state_a_preference,
            self.learn_it,
            self.remember_it,
            self.publish_a_procedure,
            self.promote_it,
            self.try_it,
            self.record_the_trial,
            self.verify_it,
            self.show_it_to_a_session,
            self.use_it_there,
            self.record_the_use,
            self.activate_it,
            self.use_it_elsewhere,
        )

    def die(self) -> None:
        """Kill the daemon, let it be missed, and start it again."""
        self.daemon.kill()
        lapse_leases(self.settings)
        _lapse_processes(self.settings)
        self.daemon.start()

    def prepare(self) -> None:
        with self.operations() as daemon:
            daemon.put_policy(ops.PolicyChange(name=PolicyName.LEARNING, policy=POLICY))
            for session_id in (TALK, TRYING, OTHER):
                daemon.create_session(ops.NewSession(session_id=session_id, working_folder=str(self.project)))

    def state_a_preference(self) -> None:
        assert self.run("first", FIRST, TALK).status is RunStatus.COMPLETED

    def learn_it(self) -> None:
        with self.operations() as daemon:
            until(lambda: self.learned(daemon))
            until(lambda: not pressing_jobs(daemon), told=daemon.list_jobs)

    def remember_it(self) -> None:
        assert self.run("second", SECOND, TALK).status is RunStatus.COMPLETED

    def publish_a_procedure(self) -> None:
        candidate = ops.NewCandidate(
            kind=Kind.PROCEDURE, content="Check the project with ./check", idempotency_key="candidate"
        )
        with self.operations() as daemon:
            made = daemon.create_candidate(candidate)
            daemon.publish(ops.Publication(record_id=made.record_id, idempotency_key="publication"))

    def promote_it(self) -> None:
        with self.operations() as daemon:
            (source,) = [each for each in self.learned(daemon) if each.kind is Kind.PROCEDURE]
            daemon.promote_learning(
                ops.PromoteLearning(
                    record_id=source.record_id,
                    skill_name=SKILL,
                    instructions=f"1. Run ./check.\n2. Write report.txt.\n3. Report {MARKER}.",
                    description="Checks the project.",
                    idempotency_key="promotion",
                )
            )

    def try_it(self) -> None:
        request = ops.TrialRequest(
            skill_name=SKILL, input="", session_id=TALK, wait=True, idempotency_key="trial"
        )
        with self.operations() as daemon:
            assert daemon.try_promoted(request).run.status is RunStatus.COMPLETED

    def record_the_trial(self) -> None:
        with self.operations() as daemon:
            (run_id,) = [each.run_id for each in self.children(daemon)]
            self.record(daemon, RolloutKind.VERIFICATION, run_id)

    def verify_it(self) -> None:
        self.advance(RolloutStatus.VERIFIED)

    def show_it_to_a_session(self) -> None:
        self.advance(RolloutStatus.CANARY, sessions=(TRYING,))

    def use_it_there(self) -> None:
        assert self.run("third", THIRD, TRYING).status is RunStatus.COMPLETED

    def record_the_use(self) -> None:
        with self.operations() as daemon:
            self.record(daemon, RolloutKind.CANARY, RunId("third"))

    def activate_it(self) -> None:
        self.advance(RolloutStatus.ACTIVE)

    def use_it_elsewhere(self) -> None:
        assert self.run("fourth", THIRD, OTHER).status is RunStatus.COMPLETED

    def run(self, run_id: str, text: str, session_id: SessionId) -> Run:
        """An input to its end, its calls approved by whoever follows it."""
        request = ops.NewInput(session_id=session_id, text=text, run_id=RunId(run_id))
        with self.operations() as daemon, self.operations() as deciding:
            daemon.start_input(request)
            for event in daemon.follow_run(ops.FollowRun(run_id=RunId(run_id))):
                if event.kind is ops.RunEventKind.APPROVAL and event.data["state"] == "waiting":
                    approval_id = str(event.data["approval_id"])
                    deciding.decide_approval(ops.ApprovalDecision(approval_id=approval_id, approve=True))  # type: ignore[arg-type]
            return daemon.get_run(RunId(run_id)).run

    def advance(self, to: RolloutStatus, **fields: Any) -> None:
        """Move the skill on."""
        with self.operations() as daemon:
            daemon.advance_promoted(
                ops.AdvanceRequest(skill_name=SKILL, to=to, idempotency_key=f"to {to}", **fields)
            )

    def record(self, daemon: ops.Operations, kind: RolloutKind, run_id: RunId) -> None:
        """Record how a run of it went."""
        daemon.record_result(
            ops.RolloutResult(
                skill_name=SKILL,
                kind=kind,
                run_id=run_id,
                expected_output_contains=MARKER,
                idempotency_key=f"{kind} {run_id}",
            )
        )

    def learned(self, daemon: ops.Operations) -> tuple[Any, ...]:
        """What is published."""
        return daemon.list_learnings(ops.LearningRequest()).items

    def children(self, daemon: ops.Operations) -> list[Run]:
        """The runs that nobody of this story has named, oldest first: those of child agents."""
        named = {"first", "second", "third", "fourth"}
        runs = [view.run for view in daemon.list_runs(ops.RunsRequest(limit=100)).items]
        return [run for run in reversed(runs) if run.run_id not in named]

    def told(self, run_id: str, call: str) -> dict[str, Any]:
        """What a run's call of a tool has answered, where that is JSON."""
        with self.operations() as daemon:
            page = daemon.journal(ops.JournalRequest(run_id=RunId(run_id), limit=100)).items
        asked = {e.body["call_id"]: e.body["name"] for e in page if e.type == "tool_call"}
        (output,) = [
            e.body["output"] for e in page if e.type == "tool_result" and asked[e.body["call_id"]] == call
        ]
        found: dict[str, Any] = orjson.loads(str(output))
        return found

    def ending(self) -> dict[str, Any]:
        """All that has come of it, in words that do not differ from one telling to the next."""
        with self.operations() as daemon:
            until(lambda: not pressing_jobs(daemon), told=daemon.list_jobs)
            views = daemon.list_runs(ops.RunsRequest(limit=100)).items
            children = {run.run_id for run in self.children(daemon)}
            approvals = daemon.list_approvals(ops.ApprovalsRequest(states=frozenset(ApprovalState))).items
            return {
                "runs": sorted(
                    ("child" if v.run.run_id in children else v.run.run_id, v.run.status.value, v.request)
                    for v in views
                ),
                "remembered": sorted(v.run.memory.value for v in views),
                "used": _used(daemon.get_skill(SKILL).usage),
                "learned": sorted((r.kind.value, r.summary, r.state.value) for r in self.learned(daemon)),
                "skill": _skill(daemon.get_promoted(SKILL)),
                "seen": [skill.name for skill in daemon.session_skills(OTHER)],
                "approvals": [(each.tool, each.state.value, each.arguments) for each in approvals],
                "project": self.left_in_project(),
                "copies": self.left_copies(),
            }

    def left_in_project(self) -> tuple[str, int]:
        """What git tells of the project, ignored files too, and how many worktrees it has."""
        trees = _git(self.project, "worktree", "list")
        return _git(self.project, "status", "--short", "--ignored"), len(trees.splitlines())

    def left_copies(self) -> list[str]:
        """The copies that are noted."""
        folder = Path(self.settings.state_root) / "worktrees"
        return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


def requests_of(agents: Agents, text: str) -> list[Received]:
    """The requests about an input, as they came to the model."""
    return [
        each
        for each in agents.heard
        if [said.text for said in each.conversation if isinstance(said, UserSaid)][-1] == text
    ]


def outputs_of(received: Received) -> list[str]:
    """What tools have answered in a conversation."""
    return [each.output for each in received.conversation if isinstance(each, ToolAnswered)]


def _skill(skill: PromotedSkill) -> dict[str, Any]:
    return {
        "status": skill.status.value,
        "fingerprint": skill.fingerprint,
        "evidence": [(each.kind.value, each.success, each.session_id) for each in skill.evidence],
        "events": [(each.move.value, each.to_status.value) for each in skill.events],
    }


def _used(usage: Usage) -> tuple[int, int, int]:
    return usage.times, usage.succeeded, usage.failed


def _git(folder: Path, *arguments: str) -> str:
    told = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return told.stdout


def _lapse_processes(settings: Settings) -> None:
    """Let half a minute pass for processes that are dead."""
    if settings.database_url:
        with psycopg.connect(settings.database_url, autocommit=True) as server:
            server.execute(_DEAD)
        return
    file = apsw.Connection(f"{settings.state_root}/runlore.db")
    file.set_busy_timeout(10_000)
    file.execute(_DEAD)
    file.close()
