"""Whoever dies at any point of a capture leaves one result, and so do those who do it at once."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from runlore.daemon.app import Application
from runlore.daemon.background.jobs import do_due_jobs, do_one_job
from runlore.daemon.boot import boot, boot_daemon
from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.run_memory import CaptureState
from runlore.domain.record import JsonObject, RecordId
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.runs.job import JobKind
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from runlore.ports.model import ModelFailure, Models, Question
from tests.fakes import ScriptedModels
from tests.flow.capture_and_die import capturing
from tests.flow.capturing import CAPTURE, allow, answer, capture, captured, jobs, put, receipts, said, start
from tests.flow.dying import Died, watched
from tests.flow.kill_points import Fuse
from tests.world import OPERATOR, World

COMPLETED, PENDING, SKIPPED = CaptureState.COMPLETED, CaptureState.PENDING, CaptureState.SKIPPED
WORKED = frozenset({JobKind.REMEMBER, JobKind.CAPTURE})
PORT = answer(("fact", "The port is 80"))
ATLAS = "Fact: the codename is Atlas"


def answers() -> ScriptedModels:
    """A model that answers."""
    return ScriptedModels(PORT)


def answers_late() -> ScriptedModels:
    """A model that answers when it is asked once more."""
    return ScriptedModels(ModelFailure("Not now.", code="model.timeout"), PORT)


def refuses() -> ScriptedModels:
    """A model that has nothing to say."""
    return ScriptedModels(ModelFailure("No.", code="model.refused"))


def opened(world: World, session_id: SessionId) -> Run:
    """A run in a session in which something of it was said before."""
    world.session(session_id)
    earlier = world.finished("Fact: the port is 80", session_id=session_id)
    capture(world)
    assert receipts(world, earlier)[0] is COMPLETED
    world.clock.advance(seconds=1)
    run = world.run(f"{ATLAS}. Fact: Use Postgres.", session_id=session_id)
    world.say(run, "It listens. The port is 80.")
    return run


def worked(world: World, run: Run, models: Models, fuse: Fuse) -> None:
    """The end of a run, and the jobs behind it."""
    parts = capturing(world.parts, models, fuse)
    Application(parts, OPERATOR).finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))
    for _ in range(3):
        do_due_jobs(parts, kinds=WORKED)
        world.clock.advance(seconds=2)


def recovered(world: World, run: Run, models: Models) -> None:
    """What happens after a death: a lease lapses, a daemon starts, and the rest is done."""
    world.clock.advance(seconds=120)
    parts = replace(world.parts, models=models)
    boot(parts)
    boot_daemon(parts)
    world.finish(run)
    for _ in range(4):
        do_due_jobs(replace(world.parts, models=models), kinds=WORKED)
        world.clock.advance(seconds=60)


def state_of(world: World, session_id: SessionId, run: Run) -> JsonObject:
    """All that capture leaves in a session, but for ids and times."""
    with world.parts.store.snapshot() as snapshot:
        records = list(snapshot.records.of_session(session_id))
        events = snapshot.records.events_of_many([record.record_id for record in records])
    known = {run.run_id: "this run"}
    return {
        "records": sorted(
            repr(
                (
                    record.kind.value,
                    record.summary,
                    record.state.value,
                    record.confidence,
                    record.origin.value,
                    record.sensitivity.value,
                    known.get(RunId(record.source.run_id or ""), "another"),
                    [
                        (known.get(RunId(ref.run_id or ""), "another"), ref.event_number)
                        for ref in record.evidence_refs
                    ],
                    record.provenance,
                    [event.move.value for event in events[record.record_id]],
                )
            )
            for record in records
        ),
        "receipts": repr(receipts(world, run)),
        "jobs": len([job for job in jobs(world) if job.subject == run.run_id]),
        "reviews": sorted(
            record.summary
            for record in records
            if record.record_id in {job.subject for job in jobs(world, JobKind.REVIEW)}
        ),
    }


@pytest.mark.req("CAP-5", "RUN-10", "CAP-1")
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("script", [answers, answers_late, refuses])
def test_a_death_at_any_point_leaves_what_an_undisturbed_capture_leaves(
    sqlite_world: World, script: Callable[[], ScriptedModels], step: int
) -> None:
    # Among the three scripts every point that they have in common is passed.
    first = (answers, answers_late, refuses).index(script) % step
    assert_deaths_leave_no_trace(sqlite_world, script, points=slice(first, None, step))


@pytest.mark.req("CAP-5", "RUN-10", "CAP-1")
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.soak)])
def test_a_death_at_any_point_on_a_shared_server_leaves_the_same(postgres_world: World, step: int) -> None:
    assert_deaths_leave_no_trace(postgres_world, answers_late, points=slice(None, None, step))


def assert_deaths_leave_no_trace(
    world: World, script: Callable[[], ScriptedModels], *, points: slice
) -> None:
    """Die at points in turn, recover twice, and compare with a capture in which nobody died."""
    allow(world, mode="shadow", summaries=True, max_candidates_per_run=3)
    undisturbed, fuse = SessionId("undisturbed"), Fuse()
    run = opened(world, undisturbed)
    worked(world, run, script(), fuse)
    expected = state_of(world, undisturbed, run)
    assert fuse.passed.count("before a question") == (2 if script is answers_late else 1)
    assert "behind a receipt is noted" in fuse.passed

    for point, name in list(enumerate(fuse.passed))[points]:
        session_id, models = SessionId(f"dies-at-{point}"), script()
        run = opened(world, session_id)
        with pytest.raises(Died):
            worked(world, run, models, Fuse(point))

        recovered(world, run, models)
        assert state_of(world, session_id, run) == expected, (point, name)

        recovered(world, run, models)
        assert state_of(world, session_id, run) == expected, (point, name)


def meanwhile(act: Callable[[], object]) -> ScriptedModels:
    """A model during whose first answer something happens."""

    def first(question: Question) -> JsonObject:
        act()
        return PORT(question)

    return ScriptedModels(first, PORT)


@pytest.mark.req("CAP-5", "POL-10")
def test_two_workers_on_one_capture_leave_one_result(world: World) -> None:
    allow(world, summaries=True)
    run = world.finished(ATLAS)
    faster = ScriptedModels(PORT)

    taken_over: list[bool] = []

    def thought_dead() -> None:
        for seconds in (44, 1):
            world.clock.advance(seconds=seconds)
            taken_over.append(do_one_job(replace(world.parts, models=faster), kinds=CAPTURE))

    slower = meanwhile(thought_dead)
    capture(world, slower)

    assert taken_over == [False, True], "a lease covers the time that a model may take"
    assert (len(slower.questions), len(faster.questions)) == (1, 1)
    assert said(world) == [("fact", "the codename is Atlas"), ("fact", "The port is 80")]
    assert receipts(world, run) == (COMPLETED, COMPLETED, COMPLETED)
    assert jobs(world) == []


@pytest.mark.req("CAP-5", "POL-6")
def test_a_policy_that_changes_during_the_model_call_is_kept_to(world: World) -> None:
    allow(world, max_candidates_per_run=8)
    run = world.finished("Fact: a is b. Fact: c is d. Fact: e is f.")

    models = meanwhile(lambda: allow(world, max_candidates_per_run=2))
    capture(world, models)

    assert said(world) == [("fact", "a is b"), ("fact", "c is d")]
    assert receipts(world, run) == (COMPLETED, COMPLETED, COMPLETED)


@pytest.mark.req("CAP-5", "CAP-7", "RUN-10")
@pytest.mark.parametrize("switch", ["policy", "pause", "run memory"])
def test_a_capture_that_is_switched_off_during_the_model_call_writes_nothing(
    world: World, switch: str
) -> None:
    allow(world)
    run = world.finished(ATLAS)

    def off() -> None:
        if switch == "policy":
            put(world, {"capture": {"run_summary_candidates": False}})
        elif switch == "pause":
            world.operator.pause_capture()
        else:
            world.operator.put_policy(ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy={"enabled": False}))

    capture(world, meanwhile(off))

    assert said(world) == []
    assert receipts(world, run)[0] in (None, SKIPPED)
    assert jobs(world) == []


@pytest.mark.req("LRN-12", "CAP-5")
@pytest.mark.parametrize("whole", [True, False])
def test_a_run_that_is_forgotten_during_the_model_call_is_not_captured(world: World, whole: bool) -> None:
    allow(world, summaries=True)
    run = world.finished(ATLAS)

    capture(world, meanwhile(lambda: forget(world, run, whole=whole)))
    capture(world, ScriptedModels(PORT))

    assert captured(world) == []
    assert not any("Atlas" in repr(record) for record in world.stored().values())
    assert (receipts(world, run), jobs(world)) == ((None, None, None), [])


def forget(world: World, run: Run, *, whole: bool) -> None:
    """Forget a run, or the session that it is in."""
    name = run.session_id if whole else run.run_id
    world.operator.forget(ops.Decision(record_id=RecordId(name)))


@pytest.mark.req("RUN-10", "RUN-9")
def test_a_start_copies_the_receipt_that_counts_and_captures_nothing_again(world: World) -> None:
    allow(world)
    run = world.finished(ATLAS)
    capture(world, ScriptedModels(PORT))
    before = said(world)
    world.parts.run_memories.note_captures({run.run_id: PENDING})
    with world.parts.store.transaction() as tx:
        tx.pointers.delete([run.run_id])

    start(world)
    assert jobs(world) == []
    do_due_jobs(
        replace(world.parts, models=ScriptedModels(answer(("fact", "Something else")))), kinds=CAPTURE
    )

    assert receipts(world, run) == (COMPLETED, COMPLETED, COMPLETED)
    assert said(world) == before


@pytest.mark.req("RUN-10", "RUN-9")
def test_a_start_replays_what_is_pending_and_nothing_else(world: World) -> None:
    put(world, {"mode": "manual_only", "capture": {"run_summary_candidates": False, "own_words": "off"}})
    skipped = world.finished("Fact: it was off")
    allow(world)
    pending = world.finished(ATLAS)
    done = world.finished("Fact: it is done")
    for run in (pending, done):
        with world.parts.store.transaction() as tx:
            tx.jobs.cancel(JobKind.CAPTURE, run.run_id)
    with world.parts.store.transaction() as tx:
        tx.pointers.set_capture({done.run_id: COMPLETED})

    boot_daemon(world.parts)
    assert [job.subject for job in jobs(world)] == [pending.run_id]
    capture(world)

    assert said(world) == [("fact", "the codename is Atlas")]
    assert receipts(world, skipped) == (None, SKIPPED, SKIPPED)


@pytest.mark.req("RUN-10")
def test_what_was_begun_and_is_switched_off_counts_as_captured(world: World) -> None:
    allow(world)
    run = world.finished(f"{ATLAS}. Fact: the api_key is Zk39x0Qm71LpRt5wUy8b.")
    capture(world, ScriptedModels(ModelFailure("Not now.", code="model.timeout")))
    world.reject(captured(world)[0])
    put(world, {"mode": "manual_only"})
    world.clock.advance(seconds=2)
    capture(world)
    assert receipts(world, run) == (COMPLETED, COMPLETED, COMPLETED)

    allow(world)
    assert world.operator.backfill_capture(ops.BackfillRequest()).runs == ()
    assert len(captured(world)) == 1


@pytest.mark.req("CAP-4")
def test_what_is_dropped_is_counted_once_however_often_it_is_tried(world: World) -> None:
    allow(world)
    world.finished(f"{ATLAS}. Fact: the api_key is Zk39x0Qm71LpRt5wUy8b.")
    late = ModelFailure("Not now.", code="model.timeout")
    secret = answer(("fact", "The api_key is Zk39x0Qm71LpRt5wUy8b"))
    models = ScriptedModels(late, late, secret)

    for _ in range(3):
        capture(world, models)
        world.clock.advance(seconds=10)

    assert world.counters()["capture.dropped_secret_total"] == 1


@pytest.mark.req("RUN-10")
def test_turning_capture_on_later_captures_nothing_by_itself(world: World) -> None:
    put(world, {"mode": "manual_only"})
    run = world.finished(ATLAS)
    allow(world, summaries=True)

    capture(world)
    boot_daemon(world.parts)
    capture(world)

    assert said(world) == []
    assert receipts(world, run) == (SKIPPED, SKIPPED, SKIPPED)


@pytest.mark.req("RUN-10")
def test_a_policy_that_changes_while_a_run_ends_is_the_one_its_receipt_tells_of(world: World) -> None:
    put(world, {"mode": "manual_only", "capture": {"run_summary_candidates": False}})
    run = world.run(ATLAS)

    ending = watched(world, "behind put", lambda: allow(world))
    ending.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))

    assert receipts(world, run) == (None, PENDING, PENDING)
    capture(world)
    assert said(world) == [("fact", "the codename is Atlas")]
