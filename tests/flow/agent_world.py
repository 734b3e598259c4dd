"""Runlore's own agent at work: a world whose model is scripted, and a working folder for its tools."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from runlore.config.settings import AgentSettings, Settings
from runlore.daemon.app import Application
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.domain.run import ProcessId, Run, RunId, RunStatus
from runlore.domain.runs.journal import EventType, JournalEvent
from runlore.domain.runs.journal_entry import input_entry
from runlore.domain.session import SessionId
from runlore.flow.capture import approvals
from runlore.flow.capture.runs import open_run
from runlore.flow.capture.session_lock import session_turn
from runlore.ports import operations as ops
from runlore.ports.operations import RunEvent, RunEventKind
from tests.model_server import ModelServer, Received, Script, model_server
from tests.waiting import PATIENCE_S
from tests.world import World

ANYTHING = ApprovalRules(shell=Stance.ALLOW, writes=Stance.ALLOW)
ASKING = ApprovalRules(shell=Stance.ASK, writes=Stance.ALLOW)


class AtWork:
    """A world with a model behind it, and one session with a working folder."""

    def __init__(self, world: World, server: ModelServer, folder: Path) -> None:
        self.world = world
        self.server = server
        self.folder = folder

    @property
    def operator(self) -> Application:
        """The operator's operations."""
        return self.world.operator

    def talk(self, session_id: str = "talk", **fields: Any) -> SessionId:
        """The session; with its folder, unless told otherwise."""
        return self.world.session(session_id, **{"working_folder": str(self.folder), **fields}).session_id

    def start(self, text: str = "Look around", **fields: Any) -> RunId:
        """Begin a run."""
        session_id = fields.pop("session_id", None) or self.talk()
        request = ops.NewInput(session_id=session_id, text=text, **fields)
        return self.operator.start_input(request).run.run_id

    def ask(self, text: str = "Look around", **fields: Any) -> ops.RunView:
        """A run, worked to its end."""
        session_id = fields.pop("session_id", None) or self.talk()
        return self.operator.start_input(ops.NewInput(session_id=session_id, text=text, wait=True, **fields))

    def events(self, run_id: RunId, **fields: Any) -> list[RunEvent]:
        """All that a follower hears."""
        return list(self.operator.follow_run(ops.FollowRun(run_id=run_id, **fields)))

    def journal(self, run_id: RunId) -> list[JournalEvent]:
        """What the journal has of a run."""
        page = self.operator.journal(ops.JournalRequest(run_id=run_id, limit=1_000))
        return list(page.items)

    def told(self, run_id: RunId) -> list[str]:
        """The types of a run's events, in order; a status by what it is."""
        return [
            str(event.body["status"]) if event.type is EventType.STATUS else event.type.value
            for event in self.journal(run_id)
        ]

    def outputs(self, run_id: RunId) -> list[str]:
        """What the calls of a run came to."""
        return [
            str(event.body["output"]) for event in self.journal(run_id) if event.type is EventType.TOOL_RESULT
        ]

    def status(self, run_id: RunId) -> RunStatus:
        """How a run stands."""
        return self.operator.get_run(run_id).run.status

    def artifact(self, run_id: RunId, name: str) -> str:
        """The whole text of a run's artifact."""
        kept = {each.name: each.artifact_id for each in self.operator.list_artifacts(run_id).items}
        return self.operator.get_artifact(kept[name]).text

    def asked(self, run_id: RunId, operations: Application | None = None) -> Approval:
        """What a run waits for, as soon as it does."""
        asking = operations or self.operator
        for event in asking.follow_run(ops.FollowRun(run_id=run_id)):
            if event.kind is RunEventKind.END:
                break
            waiting = asking.list_approvals(ops.ApprovalsRequest(run_id=run_id)).items
            if waiting:
                return waiting[0]
        raise AssertionError("the run asked for nothing")

    def ended(self, run_id: RunId) -> ops.RunView:
        """A run when it has ended."""
        live = self.world.parts.agent.hub.find(run_id)
        if live is not None:
            assert live.wait(PATIENCE_S), "the run does not end"
        return self.operator.get_run(run_id)


@contextmanager
def at_work(
    settings: Settings,
    folder: Path,
    *script: Script,
    protocol: str = "compatible",
    rules: ApprovalRules = ANYTHING,
    **agent: Any,
) -> Iterator[AtWork]:
    """A Runlore whose model follows a script, on the database of the settings."""
    folder.mkdir(exist_ok=True)
    with model_server(*script) as server:
        given = replace(server.settings(settings, protocol), agent=AgentSettings(approval=rules, **agent))
        world = World(given)
        try:
            yield AtWork(world, server, folder)
        finally:
            world.close()


class Held:
    """A model that says nothing until the test lets it: whoever asks it hangs in the middle of a turn."""

    def __init__(self, then: Callable[[Received], Any]) -> None:
        self.asked = threading.Event()
        self.let_go = threading.Event()
        self._then = then

    def __call__(self, received: Received) -> Any:
        self.asked.set()
        assert self.let_go.wait(PATIENCE_S)
        return self._then(received)

    def wait(self) -> None:
        """Until it was asked."""
        assert self.asked.wait(PATIENCE_S)


def waiting_run(world: World, session_id: SessionId) -> Approval:
    """What a run asks that a process elsewhere works; that one has just said that it lives."""
    now, process_id = world.clock.now(), ProcessId("proc_elsewhere")
    run = Run(
        run_id=RunId(world.ids.new("run", now)),
        session_id=session_id,
        status=RunStatus.RUNNING,
        executor=process_id,
        input_number=0,
        created_by="operator",
        opened_at=now,
        active_at=now,
    )
    approval = Approval(
        approval_id=ApprovalId(world.ids.new("apr", now)),
        run_id=run.run_id,
        session_id=session_id,
        kind=ApprovalKind.CALL,
        tool="shell",
        arguments={"command": "make release"},
        created_at=now,
    )
    with world.parts.store.transaction() as tx:
        tx.processes.heartbeat(process_id, lease_until=now + timedelta(seconds=30), description="elsewhere")
        opened = open_run(tx, session_turn(tx, session_id), run, input_entry("Release it", {}))
        approvals.ask(tx, opened, approval)
    return approval
