"""A wall clock that jumps: noticed, told and waited out. Nothing is deleted on the word of one reading."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from runlore.config.settings import Settings
from runlore.daemon.app import Application, Parts
from runlore.daemon.background.jobs import ALL_KINDS, do_due_jobs
from runlore.daemon.background.maintenance import BOOT, maintain, sweep
from runlore.daemon.clock import CERTAIN_S, SETTLED_S, Readings, SystemClock
from runlore.daemon.wiring import open_parts, system_clock
from runlore.domain.access import LOCAL_OPERATOR
from runlore.domain.policies.policy import PolicyName
from runlore.domain.run import RunId, RunStatus
from runlore.domain.runs.job import JobKind
from runlore.domain.session import SessionId
from runlore.flow.queueing import queue
from runlore.ports import operations as ops
from runlore.storage.open import open_store
from tests.flow.skill_shelf import rows, saved
from tests.world import World

pytestmark = pytest.mark.req("RUN-8", "OPS-6")

START = datetime(2026, 3, 1, tzinfo=UTC)
JUMP = timedelta(days=40)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


class Machine:
    """The two clocks of a machine: time passes on both, and one of them can be set."""

    def __init__(self) -> None:
        self.wall, self.steady = START, 1_000.0

    def go_on(self, seconds: float) -> None:
        """Let time pass."""
        self.wall += timedelta(seconds=seconds)
        self.steady += seconds

    def clock(self, before: Readings | None = None) -> SystemClock:
        """A process's clock."""
        return SystemClock(before, wall=lambda: self.wall, steady_s=lambda: self.steady)


@pytest.mark.parametrize("by", [JUMP, -JUMP, timedelta(minutes=2)], ids=str)
def test_a_jump_that_does_not_last_changes_nothing(by: timedelta) -> None:
    machine = Machine()
    clock = machine.clock()
    machine.wall += by
    for _ in range(5):
        machine.go_on(1)
        assert clock.now() == clock.earliest_now() == machine.wall - by
        assert "the clock stepped" in clock.doubt()

    machine.wall -= by
    machine.go_on(1)

    assert clock.now() == clock.earliest_now() == machine.wall
    assert clock.doubt() == ""


@pytest.mark.parametrize("by", [JUMP, -JUMP], ids=str)
def test_a_jump_that_lasts_is_followed_and_nothing_is_deleted_by_it_for_an_hour(by: timedelta) -> None:
    machine = Machine()
    clock = machine.clock()
    machine.wall += by
    clock.now()
    machine.go_on(SETTLED_S)

    assert clock.now() == machine.wall
    assert clock.earliest_now() <= min(machine.wall, machine.wall - by)
    machine.go_on(CERTAIN_S - 1)
    assert clock.earliest_now() <= min(machine.wall, machine.wall - by)
    machine.go_on(1)
    assert clock.now() == clock.earliest_now() == machine.wall
    assert clock.doubt() == ""


def test_a_sleep_and_small_corrections_are_no_jump() -> None:
    machine = Machine()
    clock = machine.clock()
    for step in (30, -20, 0):
        machine.wall += timedelta(seconds=step)
        machine.go_on(12 * 3_600)

        assert clock.earliest_now() == clock.now() >= machine.wall
        assert clock.doubt() == ""


def test_across_starts_a_moment_is_certain_when_two_readings_an_hour_apart_agree_on_it() -> None:
    """Each row: when a process starts, and what is certain then; both in hours behind the first start."""
    machine = Machine()
    readings = Readings(certain_at=START)
    for wall_h, certain_h in (
        *((0.5, 0.5), (1.0, 1.0), (9.0, 1.0), (9.5, 1.0), (12.0, 9.0)),
        # Forty days ahead for a moment, then right again: nothing of that is left.
        *((972.0, 12.0), (972.01, 12.0), (13.0, 13.0), (15.0, 13.0)),
        # Behind what was certain: it is not known to have come.
        *((2.0, 2.0), (2.5, 2.5)),
    ):
        machine.wall = START + wall_h * HOUR
        clock = machine.clock(readings)
        readings = clock.readings()

        assert readings.certain_at == START + certain_h * HOUR, wall_h
        assert clock.now() == machine.wall


def test_a_process_is_certain_after_an_hour_of_its_own() -> None:
    machine = Machine()
    machine.wall += JUMP
    clock = machine.clock(Readings(certain_at=START))
    assert (clock.earliest_now(), "40 days ahead" in clock.doubt()) == (START, True)

    machine.go_on(CERTAIN_S)

    assert (clock.earliest_now(), clock.doubt()) == (machine.wall, "")


@pytest.mark.parametrize("back_to", [timedelta(), 30 * HOUR], ids=["at once", "after a day off"])
@pytest.mark.parametrize("starts_ahead", [True, False], ids=["at a start", "in a process"])
def test_a_clock_that_is_set_right_is_followed_at_once(back_to: timedelta, *, starts_ahead: bool) -> None:
    machine = Machine()
    clock = machine.clock(Readings(certain_at=START))
    machine.wall += JUMP
    if starts_ahead:
        clock = machine.clock(Readings(certain_at=START))
    else:
        clock.now()
        machine.go_on(SETTLED_S)
    assert clock.now() == machine.wall
    machine.go_on(5)

    machine.wall += back_to - JUMP
    assert clock.now() == machine.wall
    assert clock.earliest_now() == machine.wall - back_to
    assert bool(clock.doubt()) == bool(back_to)

    # What was read before counts for nothing: after a day off the hour begins anew.
    machine.go_on(CERTAIN_S - 6)
    assert clock.earliest_now() == machine.wall - back_to
    machine.go_on(6)
    assert (clock.earliest_now(), clock.doubt()) == (machine.wall, "")


def test_before_what_is_certain_a_clock_is_not_followed_at_once() -> None:
    machine = Machine()
    machine.wall += JUMP
    clock = machine.clock(Readings(certain_at=START))

    machine.wall -= 2 * JUMP

    assert clock.now() == START + JUMP
    assert "stepped back" in clock.doubt()


@contextmanager
def started(settings: Settings, machine: Machine) -> Iterator[Parts]:
    """A process on a machine, with what its predecessors have noted."""
    with_note = open_store(database_url=None, state_root=settings.state_root)
    clock = system_clock(
        settings.state_root, with_note, wall=lambda: machine.wall, steady_s=lambda: machine.steady
    )
    with_note.close()
    parts = open_parts(settings, clock=clock)
    try:
        yield parts
    finally:
        parts.close()


def keep_everything(operations: Application) -> None:
    """Something of all that goes by itself: a memory, a journal, an artifact, an idle run, what expires."""
    session = SessionId("talk")
    operations.create_session(ops.NewSession(session_id=session))
    for run_id in ("ended", "open"):
        operations.open_run(ops.NewRun(session_id=session, request="Look around", run_id=RunId(run_id)))
    operations.finish_run(ops.RunEnd(run_id=RunId("ended"), status=RunStatus.COMPLETED))
    operations.propose_profile(
        ops.ProfileProposal(
            key="editor",
            value="vim",
            reason="said so",
            expires_at=operations.parts.clock.now() + timedelta(days=20),
        )
    )
    do_due_jobs(operations.parts, kinds=ALL_KINDS)


def everything(parts: Parts) -> dict[str, Any]:
    """What is there of it."""
    with parts.store.snapshot() as snapshot:
        return {
            "records": snapshot.records.count(),
            "pointers": [pointer.run_id for pointer in snapshot.pointers.everything()],
            "runs": snapshot.runs.count(),
            "journal": snapshot.journal.bytes(),
            "memories": sorted(str(found.run_id) for found in parts.run_memories.everything()),
        }


def sweep_all(parts: Parts) -> None:
    """All that a daemon takes away by itself."""
    maintain(parts, source=BOOT)
    sweep(parts)
    do_due_jobs(parts, kinds=ALL_KINDS)


@pytest.mark.parametrize("noted", [True, False], ids=["noted", "by the newest stamp"])
def test_a_clock_that_is_ahead_for_a_moment_takes_nothing_away(tmp_path: Path, *, noted: bool) -> None:
    settings, machine = Settings(state_root=str(tmp_path / "home")), Machine()
    with started(settings, machine) as parts:
        keep_everything(Application(parts, LOCAL_OPERATOR))
        before = everything(parts)
        machine.wall += JUMP
        sweep_all(parts)
        assert everything(parts) == before
        Application(parts, LOCAL_OPERATOR).open_run(
            ops.NewRun(session_id=SessionId("talk"), request="Go on", run_id=RunId("third"))
        )
        with parts.store.snapshot() as snapshot:
            assert snapshot.runs.get(RunId("third")).opened_at < START + HOUR
        before = everything(parts)
    if not noted:
        (tmp_path / "home" / "clock.json").unlink()

    # The next two starts are in the same moment, or in the next one like it.
    for _ in range(2):
        machine.go_on(60)
        with started(settings, machine) as parts:
            sweep_all(parts)
            assert everything(parts) == before
            status = Application(parts, LOCAL_OPERATOR).status()
            assert "40 days ahead" in str(status.sections["clock"])
            findings = Application(parts, LOCAL_OPERATOR).doctor().findings
            assert ["40 days ahead" in found.detail for found in findings if found.check == "clock"] == [True]

    machine.go_on(CERTAIN_S)
    with started(settings, machine) as parts:
        sweep_all(parts)
        left = everything(parts)
        assert "ended" not in (*left["pointers"], *left["memories"])


def test_what_a_clock_that_was_ahead_has_put_off_is_done_when_it_is_right_again(tmp_path: Path) -> None:
    settings, machine = Settings(state_root=str(tmp_path / "home")), Machine()
    with started(settings, machine):
        pass
    machine.wall += JUMP
    with started(settings, machine) as parts:
        operations = Application(parts, LOCAL_OPERATOR)
        operations.create_session(ops.NewSession(session_id=SessionId("talk")))
        for run_id in ("waits", "dies"):
            operations.open_run(
                ops.NewRun(session_id=SessionId("talk"), request="Look", run_id=RunId(run_id))
            )
            operations.finish_run(ops.RunEnd(run_id=RunId(run_id), status=RunStatus.COMPLETED))
        now = parts.clock.now()
        with parts.store.transaction() as tx:
            tx.jobs.claim(ALL_KINDS, holder="dead", now=now, lease_until=now + timedelta(seconds=30))

    machine.wall -= JUMP
    with started(settings, machine) as parts:
        do_due_jobs(parts, kinds=ALL_KINDS)
        assert sorted(everything(parts)["memories"]) == ["dies", "waits"]
        with parts.store.snapshot() as snapshot:
            assert snapshot.jobs.count() == {}


@pytest.mark.req("SUR-3", "SUR-11")
def test_a_clock_in_doubt_is_told_in_a_section_of_status_that_its_schema_has(sqlite_world: World) -> None:
    schema = ops.Status.json_schema()
    assert "clock" not in sqlite_world.operator.status().sections

    sqlite_world.clock.doubted = timedelta(days=400)
    told = sqlite_world.operator.status()

    assert told.sections["clock"] == {"doubt": sqlite_world.clock.doubt()}
    jsonschema.validate(told.to_json(), {**schema, "additionalProperties": False})


@pytest.mark.req("SKL-9")
def test_whatever_goes_for_its_age_goes_by_what_is_certain(sqlite_world: World) -> None:
    world = sqlite_world
    world.operator.put_policy(
        ops.PolicyChange(name=PolicyName.SKILLS, policy={"curation": {"auto_prune": True}})
    )
    saved(world, "drafted")
    keep_everything(world.operator)
    before, skills = everything(world.parts), rows(world)
    world.clock.advance(days=400)
    world.clock.doubted = timedelta(days=400)

    curate_and_sweep(world)
    assert (everything(world.parts), rows(world)) == (before, skills)
    # A new input prunes what its session keeps no longer.
    world.operator.open_run(ops.NewRun(session_id=SessionId("talk"), request="Go on", run_id=RunId("next")))
    assert everything(world.parts)["memories"] == before["memories"]

    world.clock.doubted = timedelta()
    curate_and_sweep(world)
    assert rows(world) == {}
    after = everything(world.parts)
    assert {name for name in before if before[name] != after[name]} == set(before)


def curate_and_sweep(world: World) -> None:
    """As after a session that has saved a skill."""
    with world.parts.store.transaction() as tx:
        queue(tx, world.ids, JobKind.CURATE, [SessionId("talk")], at=world.clock.now())
    sweep_all(world.parts)
