"""Where the system cannot keep commands inside the working folder: it is told, and settled beforehand."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runlore.agents.workspace.local_workspace import open_workspace
from runlore.agents.workspace.permissions import build_permissions
from runlore.agents.workspace.shell import CommandRunner
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.domain.run import RunStatus
from runlore.ports import operations as ops
from runlore.ports.workspaces import Workspace, Workspaces
from tests.agents.commands import environment
from tests.flow.agent_world import AtWork, at_work
from tests.model_server import calls, says
from tests.world import OPERATOR, World

pytestmark = pytest.mark.req("AGT-4")

TOUCH = calls("shell", {"command": "touch made.txt"})
WARNING = "on this system nothing keeps a command inside the working folder: it can do all that its user can"


class UnconfinedFolders:
    """Working folders of a system that confines nothing."""

    confinement = "none"

    def __init__(self, real: Workspaces, home: Path) -> None:
        self._real = real
        self._home = home

    def open(self, folder: str) -> Workspace:
        """A folder."""
        free = CommandRunner(build_permissions(environment(self._home)), abi=0)
        return open_workspace(folder, lambda _: free, home=str(self._home))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The databases cannot differ here."""
    return Settings(state_root=str(tmp_path / "home"))


@contextmanager
def unconfined(settings: Settings, home: Path, **rules: Any) -> Iterator[tuple[AtWork, Application]]:
    """An agent that wants to run a command, and the operator of a system that confines nothing."""
    given = ApprovalRules(**{"shell": Stance.ALLOW, **rules})
    with at_work(settings, home / "work", TOUCH, says("Done."), rules=given) as work:
        yield work, _operator(work.world, home)


def _operator(world: World, home: Path) -> Application:
    workspaces = UnconfinedFolders(world.parts.workspaces, home)
    return Application(replace(world.parts, workspaces=workspaces), OPERATOR)


def _started(work: AtWork, operator: Application, *, wait: bool = False) -> ops.RunView:
    request = ops.NewInput(session_id=work.talk(), text="Make it", wait=wait)
    return operator.start_input(request)


def test_a_person_is_asked_about_every_command_whatever_else_is_allowed(
    settings: Settings, tmp_path: Path
) -> None:
    with unconfined(settings, tmp_path, allow=("touch *",)) as (work, operator):
        run_id = _started(work, operator).run.run_id
        asked = work.asked(run_id, operator)

        assert asked.why == WARNING
        assert not (work.folder / "made.txt").exists()
        operator.decide_approval(ops.ApprovalDecision(approval_id=asked.approval_id, approve=True))

        assert work.ended(run_id).run.status is RunStatus.COMPLETED
        assert (work.folder / "made.txt").exists()
        assert "Nothing keeps it inside the working folder" in work.artifact(run_id, "request-first.json")


@pytest.mark.parametrize(("stance", "is_made"), [(Stance.ALLOW, True), (Stance.DENY, False)])
def test_what_is_settled_is_done_without_asking(
    settings: Settings, tmp_path: Path, stance: Stance, is_made: bool
) -> None:
    with unconfined(settings, tmp_path, unconfined=stance) as (work, operator):
        run_id = _started(work, operator, wait=True).run.run_id

        assert (work.folder / "made.txt").exists() is is_made
        told = work.outputs(run_id)[0]
        assert told == ("[exit code 0]" if is_made else f"the call was not made: {WARNING}")


@pytest.mark.req("OPS-2")
@pytest.mark.parametrize(
    ("stance", "told"),
    [
        (Stance.ASK, "a person is asked about each"),
        (Stance.ALLOW, "they can do all that this user can, as the other rules allow"),
        (Stance.DENY, "none is run"),
    ],
)
def test_the_doctor_says_so_and_it_is_no_illness(
    settings: Settings, tmp_path: Path, stance: Stance, told: str
) -> None:
    with unconfined(settings, tmp_path, unconfined=stance) as (work, operator):
        here, there = work.operator.doctor(), operator.doctor()

    (confined,) = [finding for finding in here.findings if finding.check == "confinement"]
    (free,) = [finding for finding in there.findings if finding.check == "confinement"]
    assert confined.detail == "the kernel keeps agents' commands inside the working folder"
    assert (there.healthy, free.outcome) == (True, "ok")
    assert free.detail == f"this system cannot keep agents' commands inside the working folder: {told}"
    assert "agent.approval.unconfined" in free.hint
