"""Belated capture: asked for, bounded, done once, and refused where it would do nothing."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, cast

import pytest

from runlore.daemon.app import Application
from runlore.daemon.background.maintenance import maintain
from runlore.domain.errors import RunloreError
from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.run_memory import CaptureState
from runlore.domain.record import Kind
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.session import PersonaId, SessionId
from runlore.flow.capture.backfill import BackfillSelection, to_capture
from runlore.ports import operations as ops
from runlore.ports.run_memories import RunMemories
from tests.fakes import ScriptedModels
from tests.flow.capturing import CAPTURE, allow, answer, capture, captured, jobs, put, receipts, said, start
from tests.flow.telling import bring, told
from tests.flow.waiting import until_somebody_waits_for_a_lock
from tests.waiting import PATIENCE_S
from tests.world import OPERATOR, World, outcome

pytestmark = pytest.mark.req("RUN-10")

COMPLETED, PENDING, SKIPPED = CaptureState.COMPLETED, CaptureState.PENDING, CaptureState.SKIPPED


def left_out(world: World, count: int = 3, **fields: Any) -> list[Run]:
    """Runs that ended while semantic capture was off, the oldest first."""
    put(world, {"mode": "manual_only"})
    runs = []
    for number in range(count):
        runs.append(world.finished(f"Fact: port {number} is open", **fields))
        world.clock.advance(seconds=1)
    capture(world)
    return runs


def ask(world: World, **fields: Any) -> ops.BackfillAnswer:
    """Ask for belated capture."""
    return world.operator.backfill_capture(ops.BackfillRequest(**fields))


def test_what_was_skipped_is_captured_when_it_is_asked_for(world: World) -> None:
    runs = left_out(world)
    failed = world.run("Fact: this one failed")
    world.finish(failed, RunStatus.FAILED)
    capture(world)
    allow(world, summaries=True)
    ids = tuple(run.run_id for run in runs)

    assert ask(world, dry_run=True) == ops.BackfillAnswer(runs=ids, dry_run=True)
    assert jobs(world) == []
    assert receipts(world, runs[0]) == (SKIPPED, SKIPPED, SKIPPED)

    assert ask(world) == ops.BackfillAnswer(runs=ids, dry_run=False)
    assert receipts(world, runs[0]) == (SKIPPED, PENDING, PENDING)
    assert ask(world) == ops.BackfillAnswer(runs=(), dry_run=False)
    assert capture(world) == len(runs)

    assert said(world) == [("fact", f"port {number} is open") for number in range(3)]
    assert receipts(world, runs[0]) == (COMPLETED, COMPLETED, COMPLETED)
    assert len(captured(world, Kind.RUN_SUMMARY)) == 4
    assert ask(world).runs == ()


def test_a_start_between_asking_and_doing_changes_nothing(world: World) -> None:
    [run] = left_out(world, 1)
    allow(world)
    ask(world)
    world.parts.run_memories.note_captures({run.run_id: SKIPPED})

    world.restart()
    start(world)
    assert receipts(world, run) == (SKIPPED, PENDING, PENDING)
    capture(world)

    assert said(world) == [("fact", "port 0 is open")]


@pytest.mark.req("CAP-10", "RUN-8")
def test_what_is_not_reached_because_no_memory_of_it_is_kept_is_told(world: World) -> None:
    old = left_out(world, 2)
    world.clock.advance(days=31)
    maintain(world.parts, source="test")
    [kept] = left_out(world, 1, session_id=world.session("other").session_id)
    ago = world.clock.now() - timedelta(days=300)
    bring(world, told("Build it", "Done", at=ago))
    allow(world)

    for dry_run in (True, False):
        assert ask(world, dry_run=dry_run) == ops.BackfillAnswer(
            runs=(kept.run_id,), dry_run=dry_run, beyond_retention=3
        )
    assert ask(world, session_id=old[0].session_id).beyond_retention == 2
    assert ask(world, since=world.clock.now() - timedelta(days=32)).beyond_retention == 2


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_it_is_bounded_and_tells_when_there_is_more(world: World, limit: int) -> None:
    runs = left_out(world)
    allow(world)

    first = ask(world, limit=limit)
    assert first.runs == tuple(run.run_id for run in runs[:limit])
    assert first.more is (limit < 3)
    second = ask(world, limit=limit)

    assert second.runs == tuple(run.run_id for run in runs[limit : 2 * limit])


def test_it_can_be_asked_for_one_session_or_since_a_moment(world: World) -> None:
    world.session("other")
    there = left_out(world, 1, session_id="other")
    since = world.clock.now()
    here = left_out(world, 2)
    allow(world)

    of_session = ask(world, session_id=SessionId("other"), dry_run=True)
    assert of_session.runs == (there[0].run_id,)
    assert ask(world, since=since, dry_run=True).runs == tuple(run.run_id for run in here)


@pytest.mark.parametrize("limit", [3, 11, 500])
def test_runs_that_ended_at_one_moment_are_found_across_pages(sqlite_world: World, limit: int) -> None:
    put(sqlite_world, {"mode": "manual_only", "capture": {"run_summary_candidates": False}})
    runs = [sqlite_world.finished(f"Fact: port {number} is open") for number in range(7)]
    sqlite_world.clock.advance(seconds=1)
    runs += [sqlite_world.finished(f"Fact: port {number} is shut") for number in range(4)]

    with sqlite_world.parts.store.snapshot() as snapshot:
        wanted = BackfillSelection(session_id=None, since=None, limit=limit, page=2)
        found, more = to_capture(snapshot, wanted)

    assert list(found) == [run.run_id for run in runs][:limit]
    assert more is (limit < len(runs))


@pytest.mark.req("CAP-7")
def test_sessions_whose_people_said_no_are_left_out(world: World) -> None:
    left_out(world, 1)
    allow(world)
    world.operator.put_persona(ops.PersonaChange(persona_id=PersonaId("quiet"), name="Quiet", capture=False))
    world.operator.change_session(
        ops.SessionChange(session_id=SessionId("talk"), persona_id=PersonaId("quiet"))
    )

    assert ask(world).runs == ()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("semantic off", "capture.off"),
        ("run memory off", "capture.off"),
        ("paused", "capture.paused"),
        ("no such session", "session.not-found"),
        ("limit", "limit.range"),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_it_is_refused_where_it_would_do_nothing(world: World, given: str, code: str, dry_run: bool) -> None:
    left_out(world, 1)
    fields: dict[str, Any] = {"dry_run": dry_run}
    if given != "semantic off":
        allow(world)
    if given == "run memory off":
        world.operator.put_policy(ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy={"enabled": False}))
    if given == "paused":
        world.operator.pause_capture()
    if given == "no such session":
        fields["session_id"] = SessionId("nobody")
    if given == "limit":
        fields["limit"] = 0

    with pytest.raises(RunloreError) as refused:
        ask(world, **fields)
    assert refused.value.code == code
    assert refused.value.hint
    assert jobs(world) == []


def test_only_an_operator_asks_for_it(world: World) -> None:
    for role in (ops.Role.AGENT, ops.Role.READER):
        ask_as = partial(world.caller(role).backfill_capture, ops.BackfillRequest())
        assert outcome(ask_as) == "role.denied"


def test_a_model_is_asked_once_for_each_belated_run(world: World) -> None:
    left_out(world, 2)
    allow(world)
    ask(world)
    models = ScriptedModels(answer(("fact", "The host is blue")))

    capture(world, models)
    ask(world)
    capture(world, models)

    assert len(models.questions) == 2


class _Overtaken:
    """Memories into which a worker notes what it captured just before anybody else notes something."""

    def __init__(self, memories: RunMemories, work: Callable[[], object]) -> None:
        self._memories, self._work = memories, work

    def note_captures(self, states: Mapping[RunId, CaptureState]) -> None:
        self._work()
        self._memories.note_captures(states)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memories, name)


def test_a_worker_that_was_quicker_is_not_overwritten(world: World) -> None:
    [run] = left_out(world, 1)
    allow(world)
    overtaken = cast("RunMemories", _Overtaken(world.parts.run_memories, partial(capture, world)))
    parts = replace(world.parts, run_memories=overtaken)

    Application(parts, OPERATOR).backfill_capture(ops.BackfillRequest())

    assert receipts(world, run) == (COMPLETED, COMPLETED, COMPLETED)


@pytest.mark.req("OPS-4")
def test_asking_while_a_worker_has_the_run_waits_for_it_and_neither_stands_in_the_others_way(
    postgres_world: World,
) -> None:
    world = postgres_world
    put(world, {"mode": "manual_only"})
    run = world.finished("Fact: port 0 is open")
    allow(world, summaries=True)
    now = world.clock.now()
    with world.parts.store.transaction() as tx:
        job = tx.jobs.claim(CAPTURE, holder="worker", now=now, lease_until=now + timedelta(minutes=1))
    assert job is not None
    with ThreadPoolExecutor(1) as pool:
        with world.parts.store.transaction() as tx:
            tx.jobs.check(job)
            asking = pool.submit(ask, world)
            until_somebody_waits_for_a_lock(world)
            tx.pointers.set_capture({run.run_id: SKIPPED})
            tx.jobs.finish(job)
        assert asking.result(timeout=PATIENCE_S).runs == (run.run_id,)
    capture(world)

    assert said(world) == [("fact", "port 0 is open")]


def test_of_a_session_the_oldest_run_is_captured_first(world: World) -> None:
    ids = [RunId(f"run_{name}") for name in "cab"]
    put(world, {"mode": "manual_only"})
    for run_id in ids:
        world.finished("Fact: a port is open", run_id=run_id)
        world.clock.advance(seconds=1)
    capture(world)
    allow(world)

    ask(world)

    assert [job.subject for job in sorted(jobs(world), key=lambda job: job.job_id)] == ids
