"""A process that dies, stops or cannot write while it works a run: one end, and nothing half."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, current_thread
from typing import Any

import pytest

from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.background.jobs import QUICK_KINDS, do_due_jobs
from runlore.daemon.background.maintenance import sweep
from runlore.daemon.boot import boot_daemon
from runlore.daemon.wiring import open_embedded
from runlore.domain.agent.approval import ApprovalId
from runlore.domain.errors import Unavailable
from runlore.domain.record import Layer
from runlore.domain.run import MemoryState, RunId, RunStatus
from runlore.domain.runs.job import JobKind
from runlore.domain.runs.journal import EventType
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from runlore.ports.operations import RunEventKind
from runlore.ports.store import Snapshot, Store
from tests.flow.agent_deaths import mortal_operator, operator_on
from tests.flow.agent_world import ASKING, AtWork, Held, at_work
from tests.flow.dying import Died
from tests.flow.kill_points import WALKED, Fuse
from tests.model_server import Received, Reply, calls, says
from tests.waiting import PATIENCE_S
from tests.world import OPERATOR, World, inconsistencies

pytestmark = pytest.mark.req("AGT-5", "JRN-2", "RUN-1")

ENDS = (RunStatus.COMPLETED, RunStatus.INTERRUPTED)


@pytest.fixture
def folder(disk_path: Path) -> Path:
    """A working folder, on a disk."""
    return disk_path / "work"


def script(received: Received) -> Reply:
    """A note, a command that somebody has to approve, then an answer."""
    turn = len(received.conversation)
    if turn == 1:
        return calls("scratch", {"note": "first the command"}) + calls("shell", {"command": "echo hi"})
    return says("Done.")


def approving(operator: Application, run_id: RunId) -> None:
    """Follow a run to its end, and say yes to what it asks."""
    for event in operator.follow_run(ops.FollowRun(run_id=run_id)):
        if event.kind is RunEventKind.APPROVAL and event.data["state"] == "waiting":
            operator.decide_approval(
                ops.ApprovalDecision(approval_id=ApprovalId(str(event.data["approval_id"])), approve=True)
            )


def dies(work: AtWork, fuse: Fuse, session_id: SessionId) -> None:
    """Work one input on a process that dies with the fuse."""
    operator = mortal_operator(work.world, fuse)
    agent = operator.parts.agent
    try:
        run_id = operator.start_input(ops.NewInput(session_id=session_id, text="Say hi")).run.run_id
        approving(operator, run_id)
    except Died:
        pass
    finally:
        for run in work.operator.list_runs(ops.RunsRequest(session_id=session_id)).items:
            live = agent.hub.find(run.run.run_id)
            assert live is None or live.wait(PATIENCE_S)
        agent.interrupt()


def swept(world: World) -> None:
    """What another process does when the lease has lapsed."""
    world.clock.advance(seconds=31)
    sweep(world.parts)
    do_due_jobs(world.parts, kinds=QUICK_KINDS)


def started(world: World) -> None:
    """What the next start does; on a shared database when the lease has lapsed."""
    if world.parts.store.is_shared:
        world.clock.advance(seconds=31)
    world.restart()
    do_due_jobs(world.parts, kinds=QUICK_KINDS)


def assert_whole(work: AtWork, session_id: SessionId) -> RunStatus | None:
    """One run at most, ended once, remembered once, with nothing left open."""
    world = work.world
    runs = [view.run for view in work.operator.list_runs(ops.RunsRequest(session_id=session_id)).items]
    assert len(runs) <= 1
    assert work.operator.list_approvals(ops.ApprovalsRequest()).items == ()
    with world.parts.store.snapshot() as snapshot:
        notes = snapshot.records.count()
    assert not [job for job in world.operator.list_jobs() if job.kind in (JobKind.REMEMBER, JobKind.DETECT)]
    assert not [
        count for (layer, state), count in notes.items() if layer is Layer.WORKING and state == "active"
    ]
    if not runs:
        return None
    run = runs[0]
    events = work.journal(run.run_id)
    ends = [event.body["status"] for event in events if event.body.get("status") in ENDS]
    assert ends == [run.status]
    assert events[-1].type is EventType.STATUS
    asked = [event.body["call_id"] for event in events if event.type is EventType.TOOL_CALL]
    answered = [event.body["call_id"] for event in events if event.type is EventType.TOOL_RESULT]
    assert answered == asked[: len(answered)]
    assert run.memory is MemoryState.STORED
    memory = world.memory(run)
    assert memory is not None
    assert memory.status == run.status
    return run.status


@WALKED
def test_a_death_at_any_point_leaves_one_end_and_nothing_half(
    settings: Settings, folder: Path, step: int
) -> None:
    with at_work(settings, folder, script, rules=ASKING) as work:
        whole = Fuse()
        dies(work, whole, work.talk("alive"))
        assert assert_whole(work, SessionId("alive")) is RunStatus.COMPLETED
        assert {"before a turn", "behind a command", "before a commit"} <= set(whole.passed)

        statuses = []
        # Both databases are written by the same transactions: on the slower one every other point will do.
        for burns_at in whole.points(step)[:: 2 if settings.database_url else 1]:
            session_id = work.talk(f"dead-{burns_at}")
            dies(work, Fuse(burns_at), session_id)
            asked = len(work.server.requests)
            swept(work.world)
            statuses.append(assert_whole(work, session_id))
            assert len(work.server.requests) == asked, "nothing is run twice"
        settled = work.world.tables()
        started(work.world)

        for table in ("runs", "journal", "records", "approvals", "artifacts", "run_pointers", "jobs"):
            assert work.world.tables()[table] == settled[table], table
        assert inconsistencies(work.world.settings) == []
        opened = statuses.index(RunStatus.INTERRUPTED)
        ended = statuses.index(RunStatus.COMPLETED)
        assert statuses[:opened] == [None] * opened, "before it is opened nothing is there"
        assert set(statuses[opened:ended]) == {RunStatus.INTERRUPTED}
        assert set(statuses[ended:]) == {RunStatus.COMPLETED}


def test_a_process_that_stops_interrupts_its_runs(settings: Settings, folder: Path) -> None:
    held = Held(lambda _: says("Too late."))
    with at_work(settings, folder, held) as work:
        run_id = work.start()
        held.wait()
        work.world.parts.agent.close()

        run = work.operator.get_run(run_id).run
        assert (run.status, run.reason) == (
            RunStatus.INTERRUPTED,
            "the process that worked it was stopped",
        )
        assert run.memory is MemoryState.STORED
        assert work.world.tables()["processes"] == []
        held.let_go.set()


def test_a_command_that_leaves_interrupts_its_runs_and_does_what_follows_from_that(
    tmp_path: Path, folder: Path
) -> None:
    held = Held(lambda _: says("Too late."))
    settings = Settings(state_root=str(tmp_path / "home"))
    with at_work(settings, folder, held) as work:
        given = work.world.settings
        work.world.close()
        with open_embedded(given) as operations:
            session_id = operations.create_session(ops.NewSession()).session_id
            run_id = operations.start_input(ops.NewInput(session_id=session_id, text="Hello")).run.run_id
            held.wait()
        held.let_go.set()
        assert work.world.tables()["jobs"] == [], "what needs no model is left to nobody"
        with open_embedded(given) as operations:
            assert operations.get_run(run_id).run.status is RunStatus.INTERRUPTED
        work.world.restart()


def test_a_daemon_ends_what_a_dead_one_has_left(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, script, rules=ASKING) as work:
        dies(work, Fuse(25), work.talk())
        (left,) = work.operator.list_runs(ops.RunsRequest()).items
        assert not left.run.is_terminal
        work.world.restart()
        boot_daemon(work.world.parts)
        if work.world.parts.store.is_shared:
            assert not work.operator.get_run(left.run.run_id).run.is_terminal, "its lease has not lapsed yet"
            work.world.clock.advance(seconds=31)
            sweep(work.world.parts)

        run = work.operator.get_run(left.run.run_id).run
        assert (run.status, run.reason) == (RunStatus.INTERRUPTED, "the process that worked it ended")


def test_a_machine_that_has_slept_does_not_take_its_own_run_for_abandoned(
    settings: Settings, folder: Path
) -> None:
    held = Held(lambda _: says("Awake."))
    with at_work(settings, folder, held) as work:
        run_id = work.start()
        held.wait()
        work.world.clock.advance(seconds=31)
        sweep(work.world.parts)
        assert work.status(run_id) is RunStatus.RUNNING
        held.let_go.set()

        assert work.ended(run_id).run.status is RunStatus.COMPLETED


@pytest.mark.parametrize("from_write", range(3, 12))
@pytest.mark.sampled(every=3)
def test_a_full_disk_interrupts_the_run_as_soon_as_there_is_room(
    settings: Settings, folder: Path, from_write: int
) -> None:
    """The disk is full from one write on. The run does nothing more, and ends when it can be written."""
    writes: list[int] = []
    room = Event()

    def is_full() -> bool:
        writes.append(1)
        return len(writes) >= from_write and not room.is_set()

    def busy(received: Received) -> Reply:
        return calls("shell", {"command": f"echo {len(received.conversation)}"})

    with at_work(settings, folder, busy) as work:
        operator = operator_on(work.world, is_full)
        run_id = operator.start_input(ops.NewInput(session_id=work.talk(), text="Go")).run.run_id
        live = operator.parts.agent.hub.find(run_id)
        assert live is not None
        assert live.wait(PATIENCE_S)
        assert work.status(run_id) is RunStatus.RUNNING
        asked = len(work.server.requests)
        operator.parts.agent.settle()
        assert work.status(run_id) is RunStatus.RUNNING
        room.set()
        operator.parts.agent.settle()

        run = operator.get_run(run_id).run
        assert run.status is RunStatus.INTERRUPTED
        assert "the disk is full" in run.reason
        assert run.memory is MemoryState.STORED
        assert len(work.server.requests) == asked
        operator.parts.agent.close()


def test_a_full_disk_that_stays_leaves_the_end_to_the_next_start(settings: Settings, folder: Path) -> None:
    full = Event()
    with at_work(settings, folder, calls("shell", {"command": "echo hi"}), says("Done.")) as work:
        operator = operator_on(work.world, full.is_set)
        held = Held(lambda _: says("Done."))
        work.server.script[:] = [held]
        run_id = operator.start_input(ops.NewInput(session_id=work.talk(), text="Go")).run.run_id
        held.wait()
        full.set()
        held.let_go.set()
        live = operator.parts.agent.hub.find(run_id)
        assert live is not None
        assert live.wait(PATIENCE_S)
        operator.parts.agent.close()
        started(work.world)

        assert assert_whole(work, work.talk()) is RunStatus.INTERRUPTED


class Forgetful:
    """A store that cannot be read at one moment: right behind the opening of a run."""

    def __init__(self, real: Store) -> None:
        self._real = real
        self.fails = False

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """A read transaction, once it can be."""
        if self.fails and current_thread().name.startswith("runlore-agent-"):
            self.fails = False
            raise Unavailable("the store is busy", code="store.busy", hint="try again")
        with self._real.snapshot() as snapshot:
            yield snapshot

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def test_a_run_whose_work_cannot_begin_ends_at_once(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, says("Never.")) as work:
        store = Forgetful(work.world.parts.store)
        operator = Application(replace(work.world.parts, store=store), OPERATOR)
        session_id = work.talk()
        store.fails = True
        run = operator.start_input(ops.NewInput(session_id=session_id, text="Go", wait=True)).run

        assert (run.status, run.reason) == (RunStatus.INTERRUPTED, "the store is busy")
        assert work.server.requests == []
