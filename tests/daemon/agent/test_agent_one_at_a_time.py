"""One input of a session at a time: a second one is refused, and a run that was opened is worked or ended."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from runlore.config.settings import Settings
from runlore.daemon.agent.run_worker import begun_or_ended
from runlore.daemon.app import Application
from runlore.daemon.own_runs.service import RunSlot
from runlore.domain.errors import Conflict, Unavailable
from runlore.domain.run import RunId, RunStatus
from runlore.domain.runs.job import Job, JobId, JobKind, JobState
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from runlore.ports.store import Snapshot, Store, Transaction
from tests.flow.agent_deaths import operator_with
from tests.flow.agent_world import ASKING, Held, at_work, waiting_run
from tests.model_server import calls, says
from tests.waiting import PATIENCE_S
from tests.world import OPERATOR, outcome

pytestmark = pytest.mark.req("AGT-5", "JRN-2")

BUSY = "agent.session-busy"


@pytest.fixture
def folder(disk_path: Path) -> Path:
    """A working folder, on a disk."""
    return disk_path / "work"


@pytest.fixture
def local(tmp_path: Path) -> Settings:
    """A state root: what is told here no database changes."""
    return Settings(state_root=str(tmp_path / "home"))


@pytest.mark.parametrize("private", [False, True])
def test_a_second_input_is_refused_until_the_first_has_ended(
    local: Settings, folder: Path, private: bool
) -> None:
    held = Held(lambda _: says("Done."))
    with at_work(local, folder, held) as work:
        session_id = work.talk(private=private)
        work.world.run("What another agent does there", session_id=session_id)
        first = ops.NewInput(session_id=session_id, text="First", run_id=RunId("first"))
        second = ops.NewInput(session_id=session_id, text="Second")
        run_id = work.operator.start_input(first).run.run_id
        held.wait()
        before = work.world.tables()
        with pytest.raises(Conflict) as busy:
            work.operator.start_input(second)
        assert busy.value.code == BUSY
        assert busy.value.hint.endswith(f"runlore session run cancel {run_id}")
        assert work.operator.start_input(first).run.run_id == run_id, "the same once more is no second one"
        assert work.world.tables() == before
        assert work.start(session_id=work.talk("other")), "another session is not touched by it"
        held.let_go.set()
        work.ended(run_id)

        view = work.operator.start_input(replace(second, wait=True))
        assert view.run.status is RunStatus.COMPLETED


def test_while_the_first_waits_for_a_person_the_second_is_refused_and_a_cancelled_one_is_out_of_the_way(
    local: Settings, folder: Path
) -> None:
    with at_work(local, folder, calls("shell", {"command": "id"}), says("Done."), rules=ASKING) as work:
        run_id = work.start()
        work.asked(run_id)
        assert outcome(work.start) == BUSY
        work.operator.cancel_run(run_id)

        assert work.ask().run.status is RunStatus.COMPLETED


def test_a_run_that_another_process_works_is_in_the_way_until_that_process_is_dead(
    settings: Settings, folder: Path
) -> None:
    with at_work(settings, folder, says("Done.")) as work:
        waiting_run(work.world, work.talk())
        assert outcome(work.start) == BUSY
        work.world.clock.advance(seconds=31)

        assert work.ask().run.status is RunStatus.COMPLETED


@pytest.mark.req("OPS-4")
def test_what_a_killed_process_held_is_free_at_the_next_start_where_no_other_process_can_live(
    settings: Settings, folder: Path
) -> None:
    with at_work(settings, folder, says("Done.")) as work:
        world = work.world
        run_id = waiting_run(world, work.talk()).run_id
        now = world.clock.now()
        job = Job(
            job_id=JobId("job_held"),
            kind=JobKind.MAINTAIN,
            subject="hourly",
            state=JobState.LEASED,
            lease_until=now + timedelta(seconds=30),
            holder="proc_elsewhere",
            fence=1,
            due_at=now,
            created_at=now,
        )
        with world.parts.store.transaction() as tx:
            tx.jobs.put(job)
        world.restart()

        is_free = not world.parts.store.is_shared
        with world.parts.store.snapshot() as snapshot:
            assert (snapshot.jobs.find(job.kind, job.subject) is None) == is_free, "the start has done it"
        assert (work.status(run_id) is RunStatus.INTERRUPTED) == is_free
        assert outcome(work.ask) == ("done" if is_free else BUSY)


def test_of_two_processes_at_once_one_begins(settings: Settings, folder: Path) -> None:
    held = Held(lambda _: says("Done."))
    with at_work(settings, folder, held) as work, ThreadPoolExecutor(2) as threads:
        processes = [operator_with(work.world, work.world.parts.store) for _ in range(2)]
        for number in range(3):
            session_id = work.talk(f"talk-{number}")
            together = threading.Barrier(2, timeout=PATIENCE_S)

            def begin(operator: Application, name: SessionId, start: threading.Barrier) -> str:
                start.wait()
                return outcome(lambda: operator.start_input(ops.NewInput(session_id=name, text="Go")))

            told = threads.map(lambda each: begin(each, session_id, together), processes)  # noqa: B023
            assert sorted(told) == [BUSY, "done"]
        held.let_go.set()
        for process in processes:
            process.parts.agent.close()


def test_a_run_that_was_over_before_its_place_was_let_go_of_takes_none_from_the_next(
    local: Settings, folder: Path
) -> None:
    with at_work(local, folder) as work, ExitStack() as later:
        agent, session_id = work.world.parts.agent, work.talk()
        with agent.place(session_id) as first:
            run = work.world.run("Quick", session_id=session_id)
            first.take(run.run_id)
            assert agent.start(run, lambda _: None).live.wait(PATIENCE_S)
            later.enter_context(agent.place(session_id)).take(RunId("second"))
        third = later.enter_context(agent.place(session_id))

        assert outcome(lambda: third.take(RunId("third"))) == BUSY


class Failing:
    """A store that cannot be read, for a mistake of ours, right behind the opening of a run; and where told
    so, it cannot be written from then on either, for a while."""

    def __init__(self, real: Store) -> None:
        self._real = real
        self._runs = 0
        self.is_full = threading.Event()
        self.stays_full = False

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A write transaction."""
        if self.is_full.is_set():
            raise Unavailable("the disk is full", code="store.disk-full", hint="make room")
        with self._real.transaction() as tx:
            yield tx

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """A read transaction."""
        with self._real.snapshot() as snapshot:
            before, self._runs = self._runs, sum(snapshot.runs.count().values())
            if self._runs > before:
                if self.stays_full:
                    self.is_full.set()
                raise OSError("the roof is gone")
            yield snapshot

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.mark.parametrize("stays_full", [False, True])
def test_a_run_that_was_opened_and_cannot_be_begun_is_ended_at_once_or_once_that_can_be_written(
    local: Settings, folder: Path, stays_full: bool
) -> None:
    with at_work(local, folder, says("Done.")) as work:
        store = Failing(work.world.parts.store)
        store.stays_full = stays_full
        operator = operator_with(work.world, store)
        request = ops.NewInput(session_id=work.talk(), text="Go", run_id=RunId("first"))
        with pytest.raises(OSError, match="the roof is gone"):
            operator.start_input(request)
        if stays_full:
            assert work.status(RunId("first")) is RunStatus.RUNNING
            store.is_full.clear()
            operator.parts.agent.settle()

        run = work.operator.get_run(RunId("first")).run
        assert run.status is RunStatus.INTERRUPTED
        assert run.reason == "an unexpected error ended it; the log tells more"
        assert work.server.requests == []
        assert work.ask("The next one").run.status is RunStatus.COMPLETED
        operator.parts.agent.close()


def test_a_run_of_somebody_else_that_has_taken_the_id_is_left_as_it_is(local: Settings, folder: Path) -> None:
    with at_work(local, folder) as work:
        session_id = work.talk()
        others = [
            waiting_run(work.world, session_id).run_id,
            work.world.run("x", session_id=session_id).run_id,
        ]
        for run_id in others:
            place = RunSlot(session_id)
            place.take(run_id)
            with pytest.raises(Conflict), begun_or_ended(work.world.parts, place):
                raise Conflict("the id is taken", code="run.exists", hint="use another one")

        assert not any(work.operator.get_run(run_id).run.is_terminal for run_id in others)


@contextmanager
def without_threads() -> Iterator[None]:
    """No thread can be started: none is given so large a stack."""
    before = threading.stack_size(1 << 46)
    try:
        yield
    finally:
        threading.stack_size(before)


def test_where_no_thread_can_be_started_nothing_is_left_open_and_the_next_one_is_worked(
    local: Settings, folder: Path
) -> None:
    with at_work(local, folder, says("Done.")) as work:
        request = ops.NewInput(session_id=work.talk(), text="Go")
        with without_threads(), pytest.raises(RuntimeError):
            work.operator.start_input(request)
        assert work.operator.list_runs(ops.RunsRequest()).items == ()
        assert work.ask().run.status is RunStatus.COMPLETED
        with without_threads():
            run_id = work.operator.start_input(request).run.run_id
        run = work.operator.get_run(run_id).run

        assert (run.status, run.reason) == (
            RunStatus.INTERRUPTED,
            "this process can start no more threads",
        )
        assert "runlore-agents" in {thread.name for thread in threading.enumerate()}, "it says that it lives"


class Undeletable:
    """Run memories of which none can be deleted."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def delete(self, run_id: RunId) -> None:
        """It cannot be."""
        raise Unavailable(f"{run_id} cannot be deleted", code="store.io", hint="look at the disk")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def test_a_memory_that_cannot_be_deleted_keeps_no_run_from_being_worked(
    local: Settings, folder: Path
) -> None:
    with at_work(local, folder, says("Done.")) as work:
        work.ask("Long ago")
        work.world.clock.advance(seconds=400 * 86_400)
        stuck = Undeletable(work.world.parts.run_memories)
        operator = Application(replace(work.world.parts, run_memories=stuck), OPERATOR)
        view = operator.start_input(ops.NewInput(session_id=work.talk(), text="Now", wait=True))

        assert view.run.status is RunStatus.COMPLETED


def test_a_key_is_answered_with_its_run_whatever_has_become_of_the_session(
    local: Settings, folder: Path
) -> None:
    with at_work(local, folder, says("Done.")) as work:
        request = ops.NewInput(session_id=work.talk(), text="Go", idempotency_key="k1")
        first = work.operator.start_input(request)
        assert work.operator.start_input(replace(request, wait=True)).run.is_terminal, "it is the same call"
        work.operator.change_session(ops.SessionChange(session_id=request.session_id, ended=True))
        again = work.operator.start_input(request)

        assert (again.run.run_id, again.sections) == (first.run.run_id, first.sections)
        assert len(work.server.requests) == 1
