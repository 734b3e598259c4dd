"""A daemon's background work, step by step: leases, sweeps, jobs that fail, and a prompt stop."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from runlore.daemon.app import Application
from runlore.daemon.background.jobs import Heartbeat, do_one_job
from runlore.daemon.background.maintenance import interrupt_abandoned, interrupt_idle, sweep
from runlore.daemon.background.workers import Workers
from runlore.daemon.boot import boot_daemon
from runlore.daemon.parts import Parts
from runlore.domain import limits
from runlore.domain.errors import Conflict, Unavailable
from runlore.domain.policies.policy import PolicyName
from runlore.domain.run import MemoryState, ProcessId, RunId, RunStatus
from runlore.domain.runs.job import Job, JobId, JobKind, JobState
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.flow.dying import Died, Watched, assert_remembered_once, dies, watched
from tests.waiting import until
from tests.world import OPERATOR, World

TALK = SessionId("talk")
UPKEEP = frozenset({JobKind.REMEMBER, JobKind.MAINTAIN})


class TestRunsOfDeadProcesses:
    """A run that a Runlore process works is interrupted once its lease has lapsed, and only once."""

    pytestmark = pytest.mark.req("JRN-2")

    def test_it_is_interrupted_exactly_once_whichever_daemon_comes_first(self, world: World) -> None:
        run = world.executed(ProcessId("proc_dead"))
        other = replace(world.parts, process_id=ProcessId("proc_other"))

        ended = [interrupt_abandoned(parts) for parts in (other, world.parts, other)]

        now = world.operator.get_run(run.run_id).run
        assert ended == [1, 0, 0]
        assert (now.status, now.reason) == (RunStatus.INTERRUPTED, "the process that worked it ended")
        assert_remembered_once(world, run)

    def test_a_process_that_wakes_up_during_the_sweep_keeps_its_run(self, world: World) -> None:
        runs = [world.executed(ProcessId(f"proc_{number}")) for number in range(2)]
        waking = Workers(replace(world.parts, process_id=ProcessId("proc_1")))

        ended = interrupt_abandoned(world.parts, waking.heartbeat)

        statuses = [world.operator.get_run(run.run_id).run.status for run in runs]
        assert (ended, statuses) == (1, [RunStatus.INTERRUPTED, RunStatus.RUNNING])

    def test_a_live_process_keeps_its_runs_until_its_lease_lapses(self, world: World) -> None:
        workers = Workers(world.parts)
        workers.heartbeat()
        run = world.executed(world.parts.process_id)

        for _ in range(5):
            world.clock.advance(seconds=limits.PROCESS_LEASE_S - 1)
            workers.heartbeat()
            sweep(world.parts)
        assert world.operator.get_run(run.run_id).run.status is RunStatus.RUNNING
        world.clock.advance(seconds=limits.PROCESS_LEASE_S)
        sweep(world.parts)

        assert world.operator.get_run(run.run_id).run.status is RunStatus.INTERRUPTED

    def test_a_restart_ends_neither_external_runs_nor_those_of_another_live_daemon(
        self, world: World
    ) -> None:
        external = world.run("External")
        other = Workers(replace(world.parts, process_id=ProcessId("proc_alive")))
        other.heartbeat()
        executed = world.executed(ProcessId("proc_alive"))

        world.restart()
        boot_daemon(world.parts)

        assert world.operator.get_run(external.run_id).run.status is RunStatus.RUNNING
        is_alive = world.operator.get_run(executed.run_id).run.status is RunStatus.RUNNING
        assert is_alive == world.parts.store.is_shared, "on a file of its own there is no other daemon"

    def test_one_that_ends_properly_leaves_nothing_to_wait_for(self, world: World) -> None:
        workers = Workers(world.parts)
        workers.start()
        run = world.executed(world.parts.process_id)
        workers.stop()

        sweep(world.parts)

        assert world.operator.get_run(run.run_id).run.status is RunStatus.INTERRUPTED
        with world.parts.store.snapshot() as snapshot:
            assert dict(snapshot.processes.leases()) == {}

    @pytest.mark.req("RUN-7")
    def test_whoever_died_while_its_clock_was_ahead_keeps_its_runs_no_longer_than_others(
        self, world: World
    ) -> None:
        ahead = ProcessId("proc_ahead")
        run = world.executed(ahead)
        until = world.clock.now() + timedelta(days=40)
        with world.parts.store.transaction() as tx:
            tx.processes.heartbeat(ahead, lease_until=until, description="a clock 40 days ahead")

        sweep(world.parts)

        assert world.operator.get_run(run.run_id).run.status is RunStatus.INTERRUPTED
        with world.parts.store.snapshot() as snapshot:
            assert ahead not in snapshot.processes.leases()

    def test_processes_that_died_long_ago_are_taken_off_the_list(self, world: World) -> None:
        Workers(replace(world.parts, process_id=ProcessId("proc_old"))).heartbeat()
        world.clock.advance(days=2)
        Workers(world.parts).heartbeat()

        sweep(world.parts)

        with world.parts.store.snapshot() as snapshot:
            assert list(snapshot.processes.leases()) == [world.parts.process_id]


class TestIdleRuns:
    """An external run of which nothing is heard is interrupted after the policy's hours."""

    pytestmark = pytest.mark.req("JRN-2")

    def test_exactly_the_limit_is_waited_and_no_longer(self, world: World) -> None:
        run = world.run()
        world.clock.advance(seconds=24 * 3_600)
        assert interrupt_idle(world.parts) == 0
        world.clock.advance(milliseconds=1)

        assert interrupt_idle(world.parts) == 1

        now = world.operator.get_run(run.run_id).run
        assert (now.status, now.reason) == (RunStatus.INTERRUPTED, "nothing was reported for 24 hours")
        assert_remembered_once(world, run)

    @pytest.mark.parametrize(
        "sign",
        [
            lambda world, run: world.say(run, "still here"),
            lambda world, run: world.operator.add_scratch(ops.NewScratch(run_id=run.run_id, text="note")),
            lambda world, run: world.operator.add_artifact(
                ops.NewArtifact(run_id=run.run_id, name="log", text="x")
            ),
        ],
    )
    def test_every_sign_of_life_counts(self, world: World, sign: Callable[[World, object], object]) -> None:
        run = world.run()
        world.clock.advance(seconds=20 * 3_600)
        sign(world, run)
        world.clock.advance(seconds=20 * 3_600)

        assert interrupt_idle(world.parts) == 0

    def test_one_that_is_heard_of_during_the_sweep_goes_on(self, world: World) -> None:
        runs = [world.run(f"Task {number}") for number in range(2)]
        world.clock.advance(days=2)

        def heard() -> None:
            world.say(runs[1], "still here")

        ended = interrupt_idle(world.parts, heard)

        statuses = [world.operator.get_run(run.run_id).run.status for run in runs]
        assert (ended, statuses) == (1, [RunStatus.INTERRUPTED, RunStatus.RUNNING])

    def test_the_limit_is_policy(self, world: World) -> None:
        world.operator.put_policy(
            ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy={"external_run_idle_hours": 1})
        )
        world.run()
        world.clock.advance(seconds=3_600, milliseconds=1)

        assert interrupt_idle(world.parts) == 1

    def test_a_run_that_runlore_works_is_never_idle(self, world: World) -> None:
        world.executed(ProcessId("proc_alive"))
        world.clock.advance(days=9)

        assert interrupt_idle(world.parts) == 0


class TestSteps:
    """What one step of the worker does."""

    pytestmark = pytest.mark.req("POL-10")

    def test_a_step_takes_over_the_memory_that_a_dead_daemon_owed(self, world: World) -> None:
        run = world.run()
        with pytest.raises(Died):
            watched(world, "before put", dies).finish_run(
                ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)
            )
        workers = Workers(world.parts)

        assert not workers.step()
        world.clock.advance(seconds=limits.JOB_LEASE_S)
        assert workers.step()

        assert_remembered_once(world, run)
        assert not workers.step()

    def test_a_job_that_fails_backs_off_and_ends_among_the_dead(self, world: World) -> None:
        run = world.run()
        failing = failing_parts(world)
        workers = Workers(failing)
        assert_unavailable(failing, run.run_id)
        attempts = 0
        delays = []

        while job(world).state is not JobState.DEAD:
            waiting = job(world)
            due = waiting.lease_until or waiting.due_at
            delays.append(due - world.clock.now())
            world.clock.advance(milliseconds=(due - world.clock.now()) // timedelta(milliseconds=1))
            workers.step()
            attempts += 1
            assert attempts < 20

        dead = job(world)
        assert dead.attempts == limits.JOB_ATTEMPTS_MAX
        assert dead.error == "the disk is full"
        assert delays[1:] == sorted(delays[1:])
        assert not workers.step()
        assert world.operator.get_run(run.run_id).run.memory is MemoryState.PENDING
        world.operator.retry_job(dead.job_id)
        Workers(world.parts).step()
        assert_remembered_once(world, run)

    def test_a_changed_policy_prunes_at_the_next_step(self, world: World) -> None:
        runs = []
        for number in range(4):
            runs.append(world.finished(f"Task {number}"))
            world.clock.advance(seconds=3_600)
        world.clock.advance(seconds=21 * 3_600)
        world.operator.put_policy(ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy={"retention_days": 1}))

        assert Workers(world.parts).step()

        assert world.pointers() == [run.run_id for run in runs[1:]]
        assert jobs(world) == ()

    def test_an_hour_later_everything_is_maintained_once(self, world: World) -> None:
        lost = world.finished()
        workers = Workers(world.parts)
        assert not workers.step()
        world.parts.run_memories.delete(lost.run_id)
        world.clock.advance(seconds=3_600)

        assert workers.step()

        assert world.pointers() == []
        assert not workers.step()

    @pytest.mark.req("POL-10")
    def test_reviews_are_done_beside_captures_that_were_there_before_them(self, sqlite_world: World) -> None:
        world, now = sqlite_world, sqlite_world.clock.now()
        kinds = [JobKind.CAPTURE] * 20 + [JobKind.REVIEW] * 4
        with world.parts.store.transaction() as tx:
            for number, kind in enumerate(kinds):
                due_at = now + timedelta(milliseconds=number)
                name = f"gone_{number:02}"
                job = Job(job_id=JobId(name), kind=kind, subject=name, due_at=due_at, created_at=now)
                assert tx.jobs.put(job)
        world.clock.advance(seconds=1)
        workers = Workers(world.parts)

        for _ in range(3):
            assert workers.think()

        with world.parts.store.snapshot() as snapshot:
            untried = [job for job in snapshot.jobs.list(frozenset(JobState), limit=100) if not job.attempts]
        assert {job.kind for job in untried} == {JobKind.CAPTURE}

    def test_records_expire_without_a_restart(self, world: World) -> None:
        record = world.episode(expires_at=world.clock.now() + timedelta(seconds=10))
        workers = Workers(world.parts)
        workers.step()
        world.clock.advance(seconds=60)
        workers.step()

        assert world.record(record).state_reason == "expired"

    def test_an_idle_worker_writes_nothing(self, world: World) -> None:
        world.finished()
        workers = Workers(world.parts)
        workers.step()
        before = world.tables()

        for _ in range(10):
            world.clock.advance(seconds=31)
            workers.step()

        assert world.tables() == before

    def test_a_step_that_fails_is_logged_and_the_next_one_comes(
        self, world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        workers = Workers(world.parts)
        world.parts.store.close()

        with caplog.at_level(logging.WARNING):
            assert not workers.step()

        assert "a step of the background work" in caplog.text

    def test_a_stop_in_the_middle_of_long_work_leaves_the_rest_to_the_next(self, world: World) -> None:
        runs = [world.finished(f"Task {number}") for number in range(3)]
        put_job(world, "hourly")
        pieces: list[int] = []

        def stopping() -> None:
            pieces.append(len(pieces))
            raise Unavailable("the daemon is stopping", code="daemon.stopping")

        assert do_one_job(world.parts, stopping, kinds=UPKEEP)

        waiting = job(world)
        assert (pieces, waiting.state, waiting.error) == ([0], JobState.WAITING, "the daemon is stopping")
        with world.parts.store.snapshot() as snapshot:
            assert snapshot.counters.note("run_memory.maintenance") is None
        assert do_one_job(world.parts, kinds=UPKEEP)
        assert jobs(world) == ()
        assert world.pointers() == [run.run_id for run in runs]

    def test_a_heartbeat_holds_a_job_and_a_lost_one_is_noticed(self, world: World) -> None:
        maintenance = put_job(world, "hourly")
        with world.parts.store.transaction() as tx:
            now = world.clock.now()
            ours = tx.jobs.claim(
                frozenset(JobKind), holder="one", now=now, lease_until=now + timedelta(seconds=30)
            )
        assert ours is not None
        beat = Heartbeat(world.parts, [ours])
        for _ in range(5):
            world.clock.advance(seconds=20)
            beat()
            assert not do_one_job(world.parts)
        world.clock.advance(seconds=31)
        assert do_one_job(world.parts)

        with pytest.raises(Conflict) as lost:
            beat()

        assert (lost.value.code, ours.job_id) == ("job.lost", maintenance.job_id)


@pytest.mark.req("OPS-4")
def test_several_daemons_on_one_database_do_each_job_once(postgres_world: World) -> None:
    world = postgres_world
    others = [world.another().parts for _ in range(2)]
    runs = [world.run(f"Task {number}") for number in range(6)]
    for run in runs:
        with pytest.raises(Died):
            watched(world, "before put", dies).finish_run(
                ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)
            )
    world.clock.advance(seconds=limits.JOB_LEASE_S)

    owed = frozenset({JobKind.REMEMBER})
    done = [do_one_job(parts, kinds=owed) for _ in range(3) for parts in (world.parts, *others)]

    assert done.count(True) == 6
    for run in runs:
        assert_remembered_once(world, run, of=6)


@pytest.mark.req("JRN-2", "POL-10")
def test_threads_do_the_work_and_stop_promptly(world: World) -> None:
    run = world.run()
    with pytest.raises(Died):
        watched(world, "before put", dies).finish_run(
            ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)
        )
    world.clock.advance(seconds=limits.JOB_LEASE_S)
    workers = Workers(world.parts)

    workers.start()
    until(lambda: world.memory(run) is not None and jobs(world) == ())
    workers.stop()

    assert_remembered_once(world, run)


def failing_parts(world: World) -> Parts:
    """Parts whose run memories cannot be written."""

    class Full(Watched):
        def _at(self, moment: str) -> None:
            if moment == "before put":
                raise Unavailable("the disk is full", code="run-memory.disk-full")

    return replace(world.parts, run_memories=Full(world.parts.run_memories, "", dies))


def assert_unavailable(parts: Parts, run_id: RunId) -> None:
    """The end of a run whose memory cannot be written."""
    with pytest.raises(Unavailable):
        Application(parts, OPERATOR).finish_run(ops.RunEnd(run_id=run_id, status=RunStatus.COMPLETED))


def jobs(world: World) -> tuple[Job, ...]:
    """All jobs about the memories of runs; what is learned from runs is another matter."""
    with world.parts.store.snapshot() as snapshot:
        found = snapshot.jobs.list(frozenset(JobState), limit=100)
    return tuple(job for job in found if job.kind in UPKEEP)


def job(world: World) -> Job:
    """The only job."""
    (only,) = jobs(world)
    return only


def put_job(world: World, subject: str) -> Job:
    """A maintenance that waits."""
    now = world.clock.now()
    waiting = Job(job_id=JobId("job_1"), kind=JobKind.MAINTAIN, subject=subject, due_at=now, created_at=now)
    with world.parts.store.transaction() as tx:
        assert tx.jobs.put(waiting)
    return waiting
