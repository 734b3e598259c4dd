"""A Runlore with a model that follows a script, a project to work in, and a promoted skill to work by."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from runlore.config.settings import AgentSettings, Settings
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.domain.agent.conversation import AssistantSaid, ToolAnswered
from runlore.domain.record import Kind
from runlore.domain.run import Run, RunId
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import (
    Canary,
    Evidence,
    Execution,
    PromotedSkill,
    RolloutKind,
    RolloutMove,
    RolloutStatus,
)
from runlore.ports import operations as ops
from tests.model_server import ModelServer, Received, Reply, Script, calls, model_server, says
from tests.world import World

SKILL = "check-logs"
MARKER = "LOGS-OK"
WORKS = AgentSettings(approval=ApprovalRules(shell=Stance.ALLOW))


@dataclass
class Cast:
    """Two models in one: the child's, which has no `use_skill`, and that of whoever uses the skill.

    Each says its lines in order, the last one again and again.
    """

    child: list[Script] = field(default_factory=lambda: [says(f"{MARKER}: all is well.")])
    caller: list[Script] = field(
        default_factory=lambda: [calls("use_skill", {"name": SKILL, "arguments": "June"}), says("Done.")]
    )
    heard: dict[str, list[Received]] = field(default_factory=lambda: {"child": [], "caller": []})

    def __call__(self, received: Received) -> Any:
        """The next line of whoever is asked."""
        name = "caller" if "use_skill" in received.tools else "child"
        self.heard[name].append(received)
        # By how much it has said itself: two conversations at once have each its own place.
        said = sum(isinstance(each, AssistantSaid) for each in received.conversation)
        lines = self.child if name == "child" else self.caller
        line = lines[min(said, len(lines) - 1)]
        return line(received) if callable(line) else line


class Scene:
    """The world, the project, and what is done in it. Without a project its sessions work nowhere, which
    spares every child its copy."""

    def __init__(self, world: World, server: ModelServer, cast: Cast, project: Path | None) -> None:
        self.world, self.server, self.cast = world, server, cast
        self._project = project

    @property
    def project(self) -> Path:
        """Where its sessions work."""
        assert self._project is not None, "this scene is nowhere"
        return self._project

    def promoted(self, *, until: datetime | None = None, **fields: Any) -> PromotedSkill:
        """The skill, in draft; its learning may have an end."""
        operator = self.world.operator
        candidate = operator.create_candidate(
            ops.NewCandidate(kind=Kind.PROCEDURE, content="Check the logs with ./check before a release")
        )
        learning = operator.publish(ops.Publication(record_id=candidate.record_id, expires_at=until))
        wanted = {"instructions": f"1. Run ./check.\n2. Report {MARKER}.", **fields}
        return operator.promote_learning(
            ops.PromoteLearning(record_id=learning.record_id, skill_name=SKILL, **wanted)
        )

    def session(self, session_id: str = "talk", **fields: Any) -> SessionId:
        """A session that works in the project, where there is one."""
        folder = None if self._project is None else str(self._project)
        wanted = {"working_folder": folder, **fields}
        return self.world.session(session_id, **wanted).session_id

    def trial(self, **fields: Any) -> ops.RunView:
        """A trial to its end, for the session unless told otherwise."""
        wanted: dict[str, Any] = {"skill_name": SKILL, "input": "June", "wait": True, **fields}
        if "working_folder" not in wanted and "session_id" not in wanted:
            wanted["session_id"] = self.session()
        return self.world.operator.try_promoted(ops.TrialRequest(**wanted))

    def used(self, session_id: str = "talk", **fields: Any) -> Run:
        """An input to its end, whose agent follows the caller's lines."""
        request = ops.NewInput(session_id=self.session(session_id), text="Check the logs.", wait=True)
        return self.world.operator.start_input(replace(request, **fields)).run

    def in_canary(self, *sessions: str) -> PromotedSkill:
        """The skill tried, verified, and shown to some sessions."""
        operator = self.world.operator
        said = self.cast.child
        # A trial that calls no tool verifies nothing.
        self.cast.child = [calls("memory_search", {"query": "logs"}), *said]
        self.recorded(RolloutKind.VERIFICATION, self.trial().run.run_id)
        self.cast.child = said
        operator.advance_promoted(ops.AdvanceRequest(skill_name=SKILL, to=RolloutStatus.VERIFIED))
        return operator.advance_promoted(
            ops.AdvanceRequest(
                skill_name=SKILL,
                to=RolloutStatus.CANARY,
                sessions=tuple(map(SessionId, sessions or ("talk",))),
            )
        )

    def shown(self, *sessions: str) -> PromotedSkill:
        """The same without its trials: the record as they would leave it."""
        skill = self.world.operator.get_promoted(SKILL)
        evidence = Evidence(
            kind=RolloutKind.VERIFICATION,
            run_id=RunId("tried"),
            success=True,
            fingerprint=skill.fingerprint,
            at=self.world.clock.now(),
            actor="operator",
        )
        event = replace(skill.events[-1], move=RolloutMove.RECORD, to_status=RolloutStatus.DRAFT)
        shown = replace(
            skill,
            status=RolloutStatus.CANARY,
            canary=Canary(sessions=tuple(map(SessionId, sessions))),
            evidence=(evidence,),
            events=(*skill.events, event),
            revision=skill.revision + 1,
        )
        with self.world.parts.store.transaction() as tx:
            tx.promotions.put(shown, expected_revision=skill.revision)
        return shown

    def active(self) -> PromotedSkill:
        """The skill for everybody: its canary went well."""
        self.in_canary()
        self.recorded(RolloutKind.CANARY, self.used().run_id)
        request = ops.AdvanceRequest(skill_name=SKILL, to=RolloutStatus.ACTIVE)
        return self.world.operator.advance_promoted(request)

    def recorded(self, kind: RolloutKind, run_id: RunId) -> PromotedSkill:
        """The result of a run, which says the marker where it went well."""
        return self.world.operator.record_result(
            ops.RolloutResult(skill_name=SKILL, kind=kind, run_id=run_id, expected_output_contains=MARKER)
        )

    def executions(self, run_id: str) -> tuple[Execution, ...]:
        """What is kept of a run as an execution of the skill."""
        with self.world.parts.store.snapshot() as snapshot:
            return snapshot.promotions.executions(SKILL, RunId(run_id))

    def artifacts(self, run_id: str) -> dict[str, str]:
        """What a run has left behind, by name."""
        operator = self.world.operator
        kept = operator.list_artifacts(RunId(run_id)).items
        return {each.name: operator.get_artifact(each.artifact_id).text for each in kept}

    def result(self) -> dict[str, Any]:
        """What the latest caller's model was told of the child."""
        told = answers(self.cast.heard["caller"][-1])[-1]
        found: dict[str, Any] = orjson.loads(told.output)
        return found

    def is_clean(self) -> bool:
        """Whether nothing of a child is left in the project."""
        found = subprocess.run(
            ["git", "status", "--short", "--ignored"],
            cwd=self.project,
            capture_output=True,
            text=True,
            check=True,
        )
        trees = subprocess.run(
            ["git", "worktree", "list"], cwd=self.project, capture_output=True, text=True, check=True
        )
        notes = self.world.root / "worktrees"
        has_notes = notes.exists() and any(notes.iterdir())
        return not found.stdout and len(trees.stdout.splitlines()) == 1 and not has_notes


def answers(received: Received) -> list[ToolAnswered]:
    """What the tools have answered in a conversation so far."""
    return [each for each in received.conversation if isinstance(each, ToolAnswered)]


def repository(folder: Path) -> Path:
    """A project under git, with a check that says that all is fine."""
    folder.mkdir()
    (folder / "check").write_text("#!/bin/sh\necho fine\n")
    (folder / "check").chmod(0o755)
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        named = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
        subprocess.run(["git", *named, *arguments], cwd=folder, check=True, capture_output=True)
    return folder.resolve()


@contextmanager
def scene(
    settings: Settings,
    project: Path | None,
    *,
    agent: AgentSettings = WORKS,
    protocol: str = "compatible",
    cast: Cast | None = None,
) -> Iterator[Scene]:
    """A whole scene, ended whatever happens."""
    cast = cast or Cast()
    with model_server(cast) as server:
        world = World(replace(server.settings(settings, protocol), agent=agent))
        try:
            yield Scene(world, server, cast, project)
        finally:
            world.close()


def then(*acts: Callable[[Received], object]) -> Callable[[Received], Reply]:
    """A line that does something before it says that all is well."""

    def line(received: Received) -> Reply:
        for act in acts:
            act(received)
        return says(f"{MARKER}: all is well.")

    return line
