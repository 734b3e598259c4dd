"""Maintenance while others work, take back what it enforces, or have left something damaged behind."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from runlore.daemon.background.jobs import do_one_job
from runlore.daemon.background.maintenance import enforce_policies, maintain
from runlore.daemon.background.workers import Workers
from runlore.daemon.boot import boot_daemon
from runlore.daemon.parts import Parts
from runlore.daemon.runs.run_ends import remembering
from runlore.daemon.scrubbing import ScrubNotes
from runlore.domain.errors import Corrupt, Unavailable
from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.record import JsonObject
from runlore.domain.run import MemoryState, Run, RunId, RunStatus
from runlore.domain.runs.job import Job, JobKind, JobState
from runlore.domain.runs.journal import EventType
from runlore.domain.session import SessionId
from runlore.flow.capture.maintenance import Maintenance, Report
from runlore.ports import operations as ops
from runlore.ports.run_memories import Unreadable
from runlore.storage.run_memories import FOLDER, name_of
from tests.flow.dying import Died, Watched, assert_remembered_once, dies, watched
from tests.world import World, decision, outcome

UPKEEP = frozenset({JobKind.REMEMBER, JobKind.MAINTAIN})
TALK = SessionId("talk")


def jobs(world: World) -> tuple[Job, ...]:
    """All jobs about the memories of runs; what is learned from runs is another matter."""
    with world.parts.store.snapshot() as snapshot:
        found = snapshot.jobs.list(frozenset(JobState), limit=100)
    return tuple(job for job in found if job.kind in UPKEEP)


def put_policy(world: World, name: PolicyName, policy: JsonObject) -> None:
    """Put a policy."""
    world.operator.put_policy(ops.PolicyChange(name=name, policy=policy))


def emptied(world: World) -> set[RunId | None]:
    """The runs whose events say nothing any more."""
    return {event.run_id for event in world.journal() if event.type is EventType.INPUT and not event.body}


def finished(world: World, count: int, *, days: int = 0) -> list[RunId]:
    """Runs that ended one after the other."""
    made = []
    for number in range(count):
        made.append(world.finished(f"Task {number}").run_id)
        world.clock.advance(days=days, milliseconds=1)
    return made


def stored(world: World, run: Run) -> Run:
    """A run as the store has it."""
    with world.parts.store.snapshot() as snapshot:
        return snapshot.runs.get(run.run_id)


def owed(world: World, status: RunStatus = RunStatus.COMPLETED, **fields: Any) -> Run:
    """A run whose process died before it wrote the memory."""
    run = world.run()
    with pytest.raises(Died):
        watched(world, "before put", dies).finish_run(ops.RunEnd(run_id=run.run_id, status=status, **fields))
    return run


class OutOfReach(Watched):
    """Run memories whose place cannot be read."""

    def everything(self) -> Iterator[RunMemory | Unreadable]:
        """None of them."""
        raise Unavailable("the folder cannot be read", code="run-memory.folder")


class TestJobs:
    """What keeps being asked for is done, whatever became of it before."""

    pytestmark = pytest.mark.req("OPS-4", "RUN-9")

    def test_maintenance_that_failed_for_good_is_tried_again_within_the_hour(self, world: World) -> None:
        lost = world.finished()
        world.parts.run_memories.delete(lost.run_id)
        broken = replace(world.parts, run_memories=OutOfReach(world.parts.run_memories, "", dies))
        workers = Workers(broken)
        world.clock.advance(seconds=3_600)
        for _ in range(14):
            workers.step()
            world.clock.advance(seconds=200)
        assert [job.state for job in jobs(world)] == [JobState.DEAD]

        mended = Workers(world.parts)
        world.clock.advance(seconds=3_600)
        assert mended.step()

        assert jobs(world) == ()
        assert world.pointers() == []

    @pytest.mark.parametrize("late", [0, 1])
    def test_a_policy_that_changes_while_the_one_before_is_enforced_is_enforced_too(
        self, world: World, late: int
    ) -> None:
        runs = finished(world, 5, days=1)
        put_policy(world, PolicyName.RUN_MEMORY, {"retention_days": 4})
        beats: list[int] = []

        def change() -> None:
            beats.append(1)
            if len(beats) == late + 1:
                put_policy(world, PolicyName.RUN_MEMORY, {"retention_days": 2})

        assert do_one_job(world.parts, change, kinds=UPKEEP)
        assert do_one_job(world.parts, kinds=UPKEEP)

        assert world.pointers() == runs[4:]
        assert jobs(world) == ()

    def test_however_often_policies_change_there_is_one_job_for_each(self, world: World) -> None:
        for days in range(1, 20):
            put_policy(world, PolicyName.RUN_MEMORY, {"retention_days": days})
            put_policy(world, PolicyName.RETENTION, {"journal_days": days})

        assert [job.subject for job in jobs(world)] == ["run-memory@19", "retention@19"]


class TestRetention:
    """Nothing goes under a policy that is not in force, or by the hand of one who lost the job."""

    pytestmark = pytest.mark.req("OPS-6")

    def test_a_policy_that_is_taken_back_erases_nothing_more(self, world: World) -> None:
        runs = finished(world, 4)
        world.clock.advance(days=3)
        put_policy(world, PolicyName.RETENTION, {"journal_days": 1})
        taken_back: list[int] = []

        def take_back() -> None:
            if not taken_back and emptied(world):
                taken_back.append(1)
                world.operator.rollback_policy(ops.PolicyRollback(name=PolicyName.RETENTION))

        enforce_policies(world.parts, source="test", beat=take_back)

        assert emptied(world) == {runs[0]}

    @pytest.mark.parametrize("seen", ["heartbeat", "fence"])
    def test_whoever_lost_the_job_erases_nothing_more(self, world: World, seen: str) -> None:
        runs = finished(world, 4)
        world.clock.advance(days=3)
        put_policy(world, PolicyName.RETENTION, {"journal_days": 1})
        taken: list[Job | None] = []

        def take_over() -> None:
            if taken or not emptied(world):
                return
            # Behind our clock's back only the fence can tell.
            now = world.clock.now() + timedelta(seconds=60)
            if seen == "heartbeat":
                now = world.clock.advance(seconds=60)
            with world.parts.store.transaction() as tx:
                lease = now + timedelta(seconds=30)
                taken.append(tx.jobs.claim(UPKEEP, holder="other", now=now, lease_until=lease))

        assert do_one_job(world.parts, take_over, kinds=UPKEEP)

        assert [job.holder for job in jobs(world)] == ["other"]
        assert emptied(world) == {runs[0]}

    def test_old_checkpoints_lose_their_texts_and_bindings_stay(self, world: World) -> None:
        world.session(project_ids=("acme",))
        checkpoint(world, "Old words")
        world.clock.advance(days=2)
        checkpoint(world, "New words")
        put_policy(world, PolicyName.RETENTION, {"journal_days": 2})
        enforce_policies(world.parts, source="test")
        assert all(event.body for event in world.journal())

        world.clock.advance(milliseconds=1)
        enforce_policies(world.parts, source="test")

        told = [(event.type, bool(event.body)) for event in world.journal()]
        kinds = (EventType.BINDING, EventType.CHECKPOINT, EventType.CHECKPOINT)
        assert told == list(zip(kinds, (True, False, True), strict=True))

    def test_a_damaged_session_keeps_no_other_from_its_retention(self, sqlite_world: World) -> None:
        world = sqlite_world
        bad = world.finished(session_id=world.session("bad").session_id)
        world.clock.advance(milliseconds=1)
        good = world.finished()
        world.clock.advance(days=3)
        put_policy(world, PolicyName.RETENTION, {"journal_days": 1})
        world.damage("UPDATE sessions SET body = 'broken' WHERE session_id = 'bad'")

        report = enforce_policies(world.parts, source="test")

        assert emptied(world) == {good.run_id}
        assert [each.action for each in report.diagnostics] == ["left"]
        assert stored(world, bad).status is RunStatus.COMPLETED


def checkpoint(world: World, text: str, key: str | None = None) -> ops.Appended:
    """A checkpoint."""
    request = ops.NewCheckpoint(session_id=TALK, text=text, idempotency_key=key)
    return world.operator.add_checkpoint(request)


@pytest.mark.req("LRN-12")
def test_the_kept_answer_of_a_checkpoint_goes_with_its_session(world: World) -> None:
    world.session()
    first = checkpoint(world, "So far", "k")
    assert checkpoint(world, "So far", "k") == first

    world.forget(TALK)  # type: ignore[arg-type]

    assert (world.tables()["answers"], world.tables()["answer_names"]) == ([], [])


class TestRaces:
    """What has become good meanwhile stays, and what has gone meanwhile does not come back."""

    pytestmark = pytest.mark.req("RUN-9", "OPS-4")

    @pytest.mark.parametrize("moment", ["before discard", "behind discard"])
    def test_a_memory_that_is_written_in_place_of_a_damaged_one_stays(
        self, world: World, moment: str
    ) -> None:
        run = owed(world)
        damaged_memory(world, run)
        parts = watched(world, moment, lambda: remembering(world.parts).settle(run.run_id)).parts

        report = Report(source="test")

        Maintenance(remembering=remembering(parts), report=report).rebuild()

        assert_remembered_once(world, run)
        assert report.pruned_unreadable == len(report.diagnostics) == (moment == "behind discard")

    def test_a_run_that_is_forgotten_while_its_pointer_is_written_has_none(
        self, postgres_world: World
    ) -> None:
        world = postgres_world
        run = world.finished()
        other = world.another()
        with world.parts.store.transaction() as tx:
            tx.pointers.delete([run.run_id])
        parts = replace(other.parts, store=Interleaved(other.parts, lambda: world.forget(run.run_id)))  # type: ignore[arg-type]

        Maintenance(remembering=remembering(parts), report=Report(source="test")).rebuild()

        assert world.operator.get_run(run.run_id).run.memory is MemoryState.FORGOTTEN
        assert world.pointers() == []


def damaged_memory(world: World, run: Run) -> None:
    """Something unreadable in place of a run's memory."""
    if world.settings.database_url:
        with psycopg.connect(world.settings.database_url, autocommit=True) as connection:
            connection.execute("INSERT INTO run_memories VALUES (%s, '00', '{}')", (run.run_id,))
        return
    (world.root / FOLDER).mkdir(exist_ok=True)
    (world.root / FOLDER / name_of(run.run_id)).write_text("{")


class Interleaved:
    """A store on which something happens once, behind the first look for a run in a transaction."""

    def __init__(self, parts: Parts, happens: Callable[[], object]) -> None:
        self._store = parts.store
        self._happens: Callable[[], object] | None = happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A transaction whose look for a run is watched."""
        with self._store.transaction() as tx:
            yield _Seen(tx, runs=_Seen(tx.runs, find=self._finding(tx.runs.find)))

    def _finding(self, find: Callable[[RunId], Run | None]) -> Callable[[RunId], Run | None]:
        def found(run_id: RunId) -> Run | None:
            run = find(run_id)
            happens, self._happens = self._happens, None
            if happens is not None:
                happens()
            return run

        return found


class _Seen:
    """Something with a few of its parts replaced."""

    def __init__(self, real: object, **replaced: object) -> None:
        self._real = real
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class TestDamage:
    """One damaged row costs what it says, and nothing else."""

    pytestmark = pytest.mark.req("OPS-2", "JRN-1")

    def test_a_run_with_a_damaged_input_ends_and_is_remembered_and_forgotten(
        self, sqlite_world: World
    ) -> None:
        world = sqlite_world
        run = world.run("Say the xylophone")
        world.say(run, "Said")
        damage_input(world, run)

        # Its request cannot be shown, so the answer says that; the end is an end all the same.
        assert outcome(lambda: world.finish(run)) in ("done", "journal.damaged")

        assert stored(world, run).status is RunStatus.COMPLETED
        memory = world.memory(run)
        assert memory is not None
        assert (memory.request_preview or "", memory.outcome_preview) == ("", "Said")
        assert world.forget(run.run_id).events == 3  # type: ignore[arg-type]
        assert emptied(world) == {run.run_id}

    @pytest.mark.parametrize("executed", [False, True])
    def test_a_daemon_starts_and_interrupts_what_nobody_ends(
        self, sqlite_world: World, executed: bool
    ) -> None:
        world = sqlite_world
        worst, bad, worse, good = (
            world.executed("gone") if executed else world.run(f"Task {number}")  # type: ignore[arg-type]
            for number in range(4)
        )
        damage_input(world, bad)
        move_to_damaged_session(world, worst)
        world.damage(f"UPDATE runs SET body = 'broken' WHERE run_id = '{worse.run_id}'")
        world.clock.advance(days=2)

        boot_daemon(world.parts)

        for run in (bad, good):
            assert stored(world, run).status is RunStatus.INTERRUPTED
        assert world.pointers() == [bad.run_id, good.run_id]

    def test_a_run_that_cannot_be_read_is_told_and_keeps_its_memory(self, sqlite_world: World) -> None:
        world = sqlite_world
        bad, good = world.run("Bad"), world.finished("Good")
        world.finish(bad, RunStatus.FAILED, error="boom")
        with world.parts.store.transaction() as tx:
            tx.pointers.delete([good.run_id])
        damage_text(world, bad)

        report = maintain(world.parts, source="test")

        assert [(each.action, each.run_id) for each in report.diagnostics] == [("left", bad.run_id)]
        assert world.memory(bad) is not None
        assert world.pointers() == [bad.run_id, good.run_id]

    def test_a_run_that_cannot_be_read_keeps_no_other_from_its_memory(self, sqlite_world: World) -> None:
        world = sqlite_world
        bad, good = owed(world, RunStatus.FAILED, error="boom"), owed(world)
        damage_text(world, bad)

        boot_daemon(world.parts)

        assert world.pointers() == [good.run_id]
        assert world.memory(good) is not None

    def test_a_damaged_policy_stops_no_start(
        self, sqlite_world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        world = sqlite_world
        put_policy(world, PolicyName.RUN_MEMORY, {"retention_days": 3})
        world.damage("UPDATE policies SET body = 'broken'")

        boot_daemon(world.parts)

        assert "the start has left something undone" in caplog.text


def damage_input(world: World, run: Run) -> None:
    """Another text in a run's input than was written."""
    world.damage(f"UPDATE journal SET body = '{{}}x' WHERE type = 'input' AND run_id = '{run.run_id}'")


def move_to_damaged_session(world: World, run: Run) -> None:
    """A run that can be read, of a session that cannot."""
    world.session("bad")
    world.damage(f"UPDATE runs SET session_id = 'bad' WHERE run_id = '{run.run_id}'")
    world.damage("UPDATE sessions SET body = 'broken' WHERE session_id = 'bad'")


def damage_text(world: World, run: Run) -> None:
    """Another error in a run's text than was written."""
    world.damage(f"UPDATE texts SET body = 'x' WHERE owner = 'run:{run.run_id}'")


class TestScrubbing:
    """The note of a forgetting stays until it was seen through."""

    pytestmark = pytest.mark.req("LRN-12")

    def test_what_goes_wrong_behind_a_forgetting_is_made_up_for_at_the_next_start(self, world: World) -> None:
        run = world.finished("Play the xylophone")

        def broken() -> None:
            raise Corrupt("something else is damaged", code="journal.damaged")

        operations = watched(world, "before delete", broken)
        assert outcome(lambda: operations.forget(decision(run.run_id))) == "journal.damaged"  # type: ignore[arg-type]

        assert ScrubNotes(str(world.root)).is_owed()
        world.restart()
        assert not ScrubNotes(str(world.root)).is_owed()
        assert world.memory(run) is None
        assert world.files_with("xylophone") == []

    def test_a_damaged_run_keeps_no_start_from_making_up_for_it(self, sqlite_world: World) -> None:
        world = sqlite_world
        run, damaged = world.finished("Play the xylophone"), world.run()
        world.finish(damaged, RunStatus.FAILED, error="boom")
        with pytest.raises(Died):
            watched(world, "before delete", dies).forget(decision(run.run_id))  # type: ignore[arg-type]
        damage_text(world, damaged)

        world.restart()

        assert not ScrubNotes(str(world.root)).is_owed()
        assert (world.memory(run), world.memory(damaged) is None) == (None, False)
        assert world.files_with("xylophone") == []

    def test_a_refused_forgetting_owes_nothing(self, world: World) -> None:
        run = world.finished()

        told = outcome(lambda: world.forget(run.run_id, expected_revision=99))  # type: ignore[arg-type]

        assert told == "record.revision"
        assert not ScrubNotes(str(world.root)).is_owed()
        assert [name for name in os.listdir(world.root) if name.startswith("scrub")] == []


@pytest.mark.req("OPS-2")
def test_the_doctor_counts_anew_what_a_journal_takes(sqlite_world: World) -> None:
    world = sqlite_world
    world.finished()
    world.damage("UPDATE sessions SET journal_bytes = journal_bytes - 7")

    assert not world.operator.doctor().healthy
    repaired = world.operator.doctor(repair=True)
    assert [each.outcome for each in repaired.findings if each.check == "database"] == ["repaired"]
    assert world.operator.doctor().healthy
    with world.parts.store.snapshot() as snapshot:
        taken = [size for _, _, _, _, _, size, *_ in world.tables()["journal"] if isinstance(size, int)]
        assert snapshot.journal.bytes() == sum(taken) > 0
