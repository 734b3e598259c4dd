"""Whoever dies between two steps of a run's end leaves one memory, one pointer and one episode."""

from collections.abc import Callable
from functools import partial
from threading import Barrier, Thread

import pytest

from runlore.daemon.background.jobs import do_due_jobs, do_one_job
from runlore.daemon.boot import boot_daemon
from runlore.domain.errors import Unavailable
from runlore.domain.record import RecordId
from runlore.domain.run import MemoryState, Run, RunStatus
from runlore.domain.runs.job import JobKind
from runlore.domain.runs.journal import EventType
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.flow.dying import Died, assert_remembered_once, dies, watched
from tests.world import World, outcome

pytestmark = pytest.mark.req("RUN-1", "JRN-1")

TALK = SessionId("talk")


def start_of_a_command(world: World, _run: Run) -> None:
    """An embedded command that starts; others may live on a shared database until the lease has lapsed."""
    if world.parts.store.is_shared:
        world.clock.advance(seconds=31)
    world.restart()


def start_of_a_daemon(world: World, _run: Run) -> None:
    """A daemon that starts at once."""
    world.restart()
    boot_daemon(world.parts)


def worker(world: World, _run: Run) -> None:
    """Another worker, when the lease has lapsed."""
    assert not do_one_job(world.parts, kinds=frozenset({JobKind.REMEMBER}))
    world.clock.advance(seconds=31)
    do_due_jobs(world.parts)


def the_same_call(world: World, run: Run) -> None:
    """The caller, who got no answer and asks once more."""
    world.finish(run)


RECOVERIES = [start_of_a_command, start_of_a_daemon, worker, the_same_call]
MOMENTS = ["before put", "behind put"]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.sampled(every=3)
def test_a_death_during_the_end_leaves_one_of_everything(
    world: World, moment: str, recovery: Callable[[World, Run], None]
) -> None:
    run = world.run("Build it")
    world.say(run, "Built")
    with pytest.raises(Died):
        watched(world, moment, dies).finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))

    recovery(world, run)
    assert_remembered_once(world, run)
    do_due_jobs(world.parts)
    settled = world.tables()
    for again in RECOVERIES:
        again(world, run)

    assert_remembered_once(world, run)
    for table in ("records", "record_events", "journal", "runs", "run_pointers", "run_memories", "jobs"):
        assert world.tables()[table] == settled[table], table


def test_a_memory_that_is_written_late_tells_what_was_seen_when_the_run_ended(world: World) -> None:
    world.session(project_ids=("first",))
    run = world.run("Build it")
    world.clock.advance(seconds=1)
    world.operator.change_session(ops.SessionChange(session_id=TALK, project_ids=("second",)))
    with pytest.raises(Died):
        watched(world, "before put", dies).finish_run(
            ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)
        )
    world.clock.advance(seconds=1)
    world.operator.change_session(ops.SessionChange(session_id=TALK, project_ids=("third",)))

    start_of_a_daemon(world, run)

    memory = world.memory(run)
    assert memory is not None
    assert [str(scope) for scope in memory.scope_keys] == [
        "session:talk",
        "project:second",
        "workspace:default",
    ]


@pytest.mark.parametrize("moment", ["before delete", "behind delete"])
def test_a_death_while_old_memories_go_leaves_none_of_them(world: World, moment: str) -> None:
    runs = []
    for number in range(32):
        runs.append(world.finished(f"Task {number}"))
        world.clock.advance(milliseconds=1)
    last = world.run("The last one")
    with pytest.raises(Died):
        watched(world, moment, dies).finish_run(ops.RunEnd(run_id=last.run_id, status=RunStatus.COMPLETED))

    start_of_a_daemon(world, last)
    do_due_jobs(world.parts)

    assert world.memory(runs[0]) is None
    assert world.memory(last) is not None
    assert world.pointers() == sorted(run.run_id for run in (*runs[1:], last))


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_full_disk_during_the_end_is_told_and_made_up_for(world: World, moment: str) -> None:
    run = world.run()

    def full() -> None:
        raise Unavailable("the disk is full", code="run-memory.disk-full", hint="make room")

    end = ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED, idempotency_key="k")

    assert outcome(lambda: watched(world, moment, full).finish_run(end)) == "run-memory.disk-full"
    assert world.operator.get_run(run.run_id).run.memory is MemoryState.PENDING
    assert world.operator.finish_run(end).run.memory is MemoryState.STORED
    assert_remembered_once(world, run)


@pytest.mark.parametrize("moment", MOMENTS)
def test_one_that_was_suspended_while_another_took_over_changes_nothing(world: World, moment: str) -> None:
    run = world.run("Build it")

    def suspended() -> None:
        world.clock.advance(seconds=31)
        assert do_one_job(world.parts)

    answer = watched(world, moment, suspended).finish_run(
        ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)
    )

    assert answer.run.memory is MemoryState.STORED
    assert_remembered_once(world, run)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("taken_over", [True, False])
def test_one_that_was_suspended_does_not_bring_back_what_was_forgotten(
    world: World, moment: str, taken_over: bool
) -> None:
    run = world.run("Play the xylophone")

    def suspended() -> None:
        world.clock.advance(seconds=31)
        if taken_over:
            assert do_one_job(world.parts)
        world.operator.forget(ops.Decision(record_id=RecordId(run.run_id)))

    answer = watched(world, moment, suspended).finish_run(
        ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)
    )

    assert answer.run.memory is MemoryState.FORGOTTEN
    assert (world.memory(run), world.pointers()) == (None, [])
    assert "xylophone" not in repr(world.tables())
    assert world.files_with("xylophone") == []


def test_one_that_was_suspended_does_not_bring_back_what_was_pruned(world: World) -> None:
    run = world.run()

    def suspended() -> None:
        world.clock.advance(days=31)
        assert do_one_job(world.parts)

    watched(world, "before put", suspended).finish_run(
        ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)
    )

    assert (world.memory(run), world.pointers()) == (None, [])
    assert world.operator.get_run(run.run_id).run.memory is MemoryState.PRUNED


def test_many_who_end_a_run_at_once_end_it_once(world: World) -> None:
    run = world.run("Build it")
    barrier, codes = Barrier(6), []

    def end(status: RunStatus) -> None:
        barrier.wait()
        codes.append((status, outcome(lambda: world.finish(run, status))))

    statuses = [RunStatus.COMPLETED, RunStatus.FAILED] * 3
    at_once([partial(end, status) for status in statuses])

    ended = world.operator.get_run(run.run_id).run.status
    assert sorted(codes) == sorted((s, "done" if s is ended else "run.move") for s in statuses)
    assert_remembered_once(world, run)


def test_nothing_is_journalled_behind_the_end_of_a_run(world: World) -> None:
    run = world.run("Build it")
    barrier = Barrier(5)

    def say() -> None:
        barrier.wait()
        while outcome(lambda: world.say(run, "word")) == "done":
            pass

    def end() -> None:
        barrier.wait()
        world.finish(run)

    at_once([say, say, say, say, end])

    events = world.journal()
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert events[-1].type is EventType.STATUS
    assert_remembered_once(world, run)


def at_once(works: list[Callable[[], None]]) -> None:
    """Let threads do their work, and wait for them."""
    threads = [Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_session_whose_end_was_cut_short_owes_no_memory_after_the_next_start(world: World) -> None:
    runs = [world.run(f"Task {number}") for number in range(3)]
    with pytest.raises(Died):
        watched(world, "behind put", dies).change_session(ops.SessionChange(session_id=TALK, ended=True))

    start_of_a_daemon(world, runs[0])

    for run in runs:
        assert_remembered_once(world, run, of=3)
