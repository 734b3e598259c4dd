"""What fails: of its own fault it ends among the dead, for anything that passes it waits, and says why."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from runlore.daemon.background.jobs import do_due_jobs, do_on_leaving, do_one_job
from runlore.daemon.background.maintenance import maintain
from runlore.daemon.background.workers import Workers
from runlore.domain import limits
from runlore.domain.errors import RunloreError, Unavailable
from runlore.domain.policies.learning_policy import Action
from runlore.domain.prompts.run_memory import CaptureState
from runlore.domain.record import Kind
from runlore.domain.runs.job import ASKED_LATER, JobKind, JobState
from runlore.flow.capture.session_lock import Beat
from runlore.ports.model import ModelFailure
from tests.fakes import ScriptedModels
from tests.flow.automation import action, jobs, offered, put_policy, taught, with_judge, work
from tests.flow.capturing import CAPTURE, allow, captured, receipts, start
from tests.world import World

pytestmark = pytest.mark.req("POL-10")

PASSING = (
    "store.disk-full",
    "store.busy",
    "store.unreachable",
    "store.read-only",
    "store.locked",
    "store.closed",
    "store.connection-lost",
    "store.interrupted",
    "store.io",
)


def raises(error: Exception) -> Beat:
    """What a job meets when it begins."""

    def beat() -> None:
        raise error

    return beat


def passing(code: str = "store.disk-full") -> Unavailable:
    """What is nobody's fault."""
    return Unavailable("there is no room", code=code, hint="wait")


class TestPassing:
    """A full disk, a busy store, a server that is away, a daemon that stops: no job dies of these."""

    @pytest.mark.parametrize("code", PASSING)
    def test_a_job_waits_for_as_long_as_it_lasts_and_is_done_then(
        self, sqlite_world: World, code: str
    ) -> None:
        world = sqlite_world
        put_policy(world, "reject", judge={"enabled": True})
        candidate = taught(world)
        is_over: list[bool] = []

        def say(_question: object) -> str:
            if is_over:
                return "reject"
            raise passing(code)

        parts, judge = with_judge(world, say)
        for _ in range(5 * limits.JOB_ATTEMPTS_MAX):
            do_due_jobs(parts)
            (waiting,) = (job for job in jobs(world) if job.subject == candidate.record_id)
            assert (waiting.state, waiting.attempts) == (JobState.WAITING, 0)
            assert waiting.error == "there is no room"
            assert waiting.due_at <= world.clock.now() + timedelta(seconds=limits.JOB_POSTPONED_S_MAX)
            world.clock.advance(seconds=limits.JOB_POSTPONED_S_MAX)
        asked = len(judge.asked)
        assert asked >= 5 * limits.JOB_ATTEMPTS_MAX

        is_over.append(True)
        do_due_jobs(parts)

        assert (action(world, candidate), jobs(world)) == (Action.REJECT, ())

    def test_it_is_asked_less_and_less_often(self, world: World) -> None:
        world.finished("Build it")
        waits = []
        for _ in range(9):
            now = world.clock.now()
            assert do_one_job(world.parts, raises(passing()), kinds=CAPTURE)
            (waiting,) = jobs(world)
            waits.append(int((waiting.due_at - now).total_seconds()))
            world.clock.advance(seconds=waits[-1])

        assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]

    @pytest.mark.parametrize(
        "error",
        [Unavailable("no", code="store.server", hint="-"), ValueError("no"), passing("review.moving")],
        ids=str,
    )
    def test_anything_else_counts(self, sqlite_world: World, error: RunloreError | ValueError) -> None:
        world = sqlite_world
        world.finished("Build it")
        for _ in range(limits.JOB_ATTEMPTS_MAX):
            assert do_one_job(world.parts, raises(error), kinds=CAPTURE)
            world.clock.advance(seconds=limits.JOB_BACKOFF_S_MAX)

        assert [job.state for job in jobs(world)] == [JobState.DEAD]

    def test_a_daemon_that_stops_leaves_its_job_as_it_was(self, world: World) -> None:
        world.finished("Build it")
        (before,) = jobs(world)
        workers = Workers(world.parts)
        workers.start()
        workers.stop()
        if jobs(world) == (before,):
            assert workers.think()

        assert [job.attempts for job in jobs(world)] in ([], [0])

    @pytest.mark.req("CAP-1", "CAP-5")
    def test_the_summary_of_a_run_that_is_not_captured_outlives_a_full_disk(self, world: World) -> None:
        run = world.finished("Build it")
        assert receipts(world, run)[1] is CaptureState.SKIPPED
        for _ in range(2 * limits.JOB_ATTEMPTS_MAX):
            assert do_one_job(world.parts, raises(passing()), kinds=CAPTURE)
            world.clock.advance(seconds=limits.JOB_POSTPONED_S_MAX)

        work(world)

        assert len(captured(world, Kind.RUN_SUMMARY)) == 1

    @pytest.mark.req("CAP-1", "CAP-5")
    def test_the_summary_of_one_that_failed_for_good_is_there_for_whoever_retries_it(
        self, world: World
    ) -> None:
        world.finished("Build it")
        for _ in range(limits.JOB_ATTEMPTS_MAX):
            do_one_job(world.parts, raises(ValueError("no")), kinds=CAPTURE)
            world.clock.advance(seconds=limits.JOB_BACKOFF_S_MAX)
        maintain(world.parts, source="hourly")
        (dead,) = world.operator.list_jobs(frozenset({JobState.DEAD}))

        world.operator.retry_job(dead.job_id)
        work(world)

        assert len(captured(world, Kind.RUN_SUMMARY)) == 1


@pytest.mark.req("RUN-10", "CAP-5")
class TestGivenUp:
    """A capture that failed for good stays where people find it, until something may have been mended."""

    @pytest.fixture
    def given_up(self, world: World) -> tuple[World, ScriptedModels]:
        """A run whose capture has failed for good."""
        allow(world)
        models = ScriptedModels(ModelFailure("no entry", code="model.auth"))
        world.parts = replace(world.parts, models=models)
        world.finished("Build it")
        for _ in range(limits.JOB_ATTEMPTS_MAX):
            work(world)
            world.clock.advance(seconds=limits.JOB_BACKOFF_S_MAX)
        assert [job.state for job in jobs(world)] == [JobState.DEAD]
        return world, models

    def test_the_hourly_maintenance_leaves_it(self, given_up: tuple[World, ScriptedModels]) -> None:
        world, models = given_up
        before, asked = jobs(world), len(models.questions)

        for _ in range(3):
            world.clock.advance(seconds=3_600)
            maintain(world.parts, source="hourly")
            work(world)

        assert (jobs(world), len(models.questions)) == (before, asked)

    @pytest.mark.parametrize(
        "mended", [start, lambda world: allow(world, summaries=True)], ids=["start", "policy"]
    )
    def test_a_daemons_start_and_a_new_policy_try_it_again(
        self, given_up: tuple[World, ScriptedModels], mended: Callable[[World], None]
    ) -> None:
        world, _ = given_up

        mended(world)

        (job,) = jobs(world)
        assert (job.kind, job.state, job.attempts) == (JobKind.CAPTURE, JobState.WAITING, 0)

    def test_one_that_lost_its_job_is_queued_within_the_hour(self, world: World) -> None:
        allow(world)
        run = world.finished("Build it")
        with world.parts.store.transaction() as tx:
            tx.jobs.cancel(JobKind.CAPTURE, run.run_id)

        maintain(world.parts, source="hourly")

        assert [job.subject for job in jobs(world)] == [run.run_id]


class TestWithoutAModel:
    """A command without a daemon does what it can, however much waits for a model before that."""

    def test_many_that_wait_for_a_model_keep_nothing_else_waiting(self, sqlite_world: World) -> None:
        world = sqlite_world
        parts, judge = with_judge(world, lambda _: "reject")
        put_policy(world, "publish_provisional", judge={"enabled": True})
        for number in range(60):
            offered(world, f"The port of host {number} is {8_000 + number}")
        while any(not job.error for job in jobs(world)):
            do_on_leaving(parts)
            world.clock.advance(seconds=2)
        plain = offered(world, "We deploy on Fridays", kind=Kind.DECISION)

        do_on_leaving(parts)

        assert action(world, plain) is Action.MANUAL_REVIEW
        assert (judge.asked, {job.error for job in jobs(world)}) == ([], {ASKED_LATER})

    def test_what_needs_a_model_no_longer_is_done(self, world: World) -> None:
        parts, judge = with_judge(world, lambda _: "reject")
        put_policy(world, "publish_provisional", judge={"enabled": True})
        candidate = taught(world)
        do_on_leaving(parts)
        world.clock.advance(seconds=2)
        do_on_leaving(parts)
        assert [job.error for job in jobs(world)] == [ASKED_LATER]

        put_policy(world, "manual_review")
        do_on_leaving(parts)

        assert (action(world, candidate), judge.asked, jobs(world)) == (Action.MANUAL_REVIEW, [], ())


@pytest.mark.req("CAP-5")
def test_a_capture_that_reads_long_journals_is_kept_by_whoever_does_it(world: World) -> None:
    run = world.run("Build it")
    for _ in range(3):
        world.say(run, *(f"Step {number}" for number in range(limits.JOURNAL_PAGE_DEFAULT)))
    world.finish(run)
    taken: list[object] = []

    def slow() -> None:
        world.clock.advance(seconds=limits.JOB_LEASE_S - 1)
        now = world.clock.now()
        with world.parts.store.transaction() as tx:
            taken.append(tx.jobs.claim(CAPTURE, holder="other", now=now, lease_until=now))

    assert do_one_job(world.parts, slow, kinds=CAPTURE)

    assert len(taken) > 3
    assert set(taken) == {None}
    assert len(captured(world, Kind.RUN_SUMMARY)) == 1
