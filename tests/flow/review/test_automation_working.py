"""Who does the work: a daemon's two threads, a command on its way out, and `jobs work`."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.background.jobs import QUICK_KINDS, THINKING_KINDS, do_due_jobs, do_on_leaving
from runlore.daemon.background.workers import Workers
from runlore.daemon.wiring import open_embedded
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.policies.learning_policy import Action
from runlore.domain.policies.policy import PolicyName
from runlore.domain.policies.verdict import review_of
from runlore.domain.record import Kind, RecordId, State
from runlore.domain.run import RunStatus
from runlore.domain.runs.job import ASKED_LATER, Job, JobId, JobKind, JobState
from runlore.ports import operations as ops
from runlore.ports.model import ModelFailure, Question
from tests.flow.automation import (
    CONTENT,
    Judge,
    action,
    jobs,
    offered,
    put_policy,
    reviewed,
    taught,
    with_judge,
    work,
)
from tests.flow.dying import Died, dies, watched
from tests.waiting import PATIENCE_S, until
from tests.world import World

pytestmark = pytest.mark.req("POL-10")


class TestThreads:
    """A slow judge keeps nobody waiting who needs none."""

    def test_a_memory_is_written_while_the_judge_thinks(self, world: World) -> None:
        put_policy(world, judge={"enabled": True})
        work(world)
        thinking, answering = threading.Event(), threading.Event()

        def slow(_question: Question) -> str:
            thinking.set()
            assert answering.wait(PATIENCE_S)
            return "publish_active"

        parts, _ = with_judge(world, slow)
        candidate = taught(world)
        workers = Workers(parts)
        workers.start()
        try:
            assert thinking.wait(PATIENCE_S)
            owed = world.run("Owed")
            with pytest.raises(Died):
                watched(world, "before put", dies).finish_run(
                    ops.RunEnd(run_id=owed.run_id, status=RunStatus.COMPLETED)
                )
            hasten_lease(world)
            until(lambda: world.memory(owed) is not None)
            assert world.record(candidate).state is State.CONSTRAINED
        finally:
            answering.set()
        until(lambda: world.record(candidate).state is State.ACTIVE)
        workers.stop()

    def test_the_steps_share_the_kinds_between_them(self, world: World) -> None:
        put_policy(world, "manual_review")
        candidate = offered(world)
        workers = Workers(world.parts)

        assert workers.step()
        assert {job.kind for job in jobs(world)} == {JobKind.REVIEW}
        assert not workers.step()
        assert workers.think()
        assert not workers.think()

        assert (jobs(world), action(world, candidate)) == ((), Action.MANUAL_REVIEW)

    def test_every_kind_is_some_threads(self) -> None:
        assert frozenset(JobKind) == QUICK_KINDS | THINKING_KINDS
        assert not QUICK_KINDS & THINKING_KINDS


def hasten_lease(world: World) -> None:
    """The lease of whoever died has lapsed; that of the judge's job has not."""
    world.clock.advance(seconds=limits.JOB_LEASE_S)


class TestLeaving:
    """A command without a daemon does what needs no model, and leaves the rest."""

    def test_a_candidate_is_reviewed_by_the_command_that_made_it(self, tmp_path: Path) -> None:
        settings = Settings(state_root=str(tmp_path / "home"))
        with open_embedded(settings) as operations:
            made = operations.create_candidate(ops.NewCandidate(kind=Kind.FACT, content=CONTENT))

        with open_embedded(settings) as operations:
            assert review_of(operations.get_record(made.record_id)) is not None
            assert operations.list_jobs() == ()

    def test_one_that_fails_leaves_its_error_and_not_its_work(self, tmp_path: Path) -> None:
        settings = Settings(state_root=str(tmp_path / "home"))

        def failing() -> None:
            with open_embedded(settings) as operations:
                operations.create_candidate(ops.NewCandidate(kind=Kind.FACT, content=CONTENT))
                raise KeyError

        with pytest.raises(KeyError):
            failing()

        with open_embedded(settings) as operations:
            (made,) = operations.list_candidates(ops.CandidateRequest()).items
            assert review_of(made) is None

    def test_what_needs_the_judge_waits_and_says_for_whom(self, world: World) -> None:
        put_policy(world, "publish_active", judge={"enabled": True})
        work(world)
        parts, judge = with_judge(world, lambda _: "publish_active")
        candidate = taught(world)
        plain = offered(world, "Run the tests first", kind=Kind.PROCEDURE)

        do_on_leaving(parts)

        (waiting,) = jobs(world)
        assert (judge.asked, waiting.error, waiting.attempts) == ([], ASKED_LATER, 0)
        assert action(world, plain) is Action.MANUAL_REVIEW
        world.clock.advance(seconds=1)
        assert do_due_jobs(parts) == 1
        assert (len(judge.asked), world.record(candidate).state) == (1, State.ACTIVE)

    def test_what_only_waits_for_a_model_costs_the_next_command_nothing(self, world: World) -> None:
        put_policy(world, "publish_active", judge={"enabled": True})
        work(world)
        parts, _ = with_judge(world, lambda _: "publish_active")
        for number in range(3):
            taught(world, f"The codename of part {number} is Atlas")
        do_on_leaving(parts)
        world.clock.advance(seconds=5)
        before = world.tables()

        do_on_leaving(parts)

        assert world.tables() == before

    def test_a_bounded_number_is_done(self, sqlite_world: World) -> None:
        world = sqlite_world
        put_policy(world, mode="manual_only")
        work(world)
        for number in range(30):
            offered(world, f"Fact number {number} is so")
        put_policy(world, "manual_review")

        do_on_leaving(world.parts)

        left = len(jobs(world))
        assert 0 < left < 31
        do_on_leaving(world.parts)
        assert len(jobs(world)) < left

    def test_nothing_to_do_writes_nothing(self, world: World) -> None:
        offered(world)
        work(world)
        before = world.tables()

        do_on_leaving(world.parts)

        assert world.tables() == before

    def test_a_start_asks_no_model(self, world: World) -> None:
        put_policy(world, judge={"enabled": True})
        candidate = taught(world)
        work_before = len(jobs(world))

        world.restart()

        assert 0 < len(jobs(world)) <= work_before
        assert world.record(candidate) == candidate


class TestWorkJobs:
    """`runlore jobs work`."""

    def test_it_does_what_is_due_and_tells_what_is_left(self, world: World) -> None:
        put_policy(world, judge={"enabled": True}, model_budget={"calls_per_day": 1})
        work(world)
        world.parts = replace(world.parts, models=Judge(lambda _: "publish_active"))
        taught(world)
        taught(world, "The release day is Friday")
        dead = offered(world, "A dead one")
        bury(world, dead.record_id)

        answer = world.operator.work_jobs()

        assert (answer.done, answer.waiting, answer.dead) == (2, 1, 1)
        (waiting,) = jobs(world, JobState.WAITING)
        assert "budget" in waiting.error
        assert world.operator.work_jobs() == ops.WorkAnswer(done=0, waiting=1, dead=1)

    def test_its_limit_holds(self, world: World) -> None:
        put_policy(world, "manual_review")
        work(world)
        for number in range(3):
            offered(world, f"Fact number {number} is so")

        assert world.operator.work_jobs(limit=2) == ops.WorkAnswer(done=2, waiting=1, dead=0)
        for limit in (0, -1, limits.LIST_LIMIT_MAX + 1):
            with pytest.raises(Invalid):
                world.operator.work_jobs(limit=limit)

    def test_a_dead_review_is_told_and_can_be_tried_again(self, world: World) -> None:
        put_policy(world, "manual_review")
        work(world)
        candidate = offered(world)
        bury(world, candidate.record_id)
        assert world.operator.work_jobs().done == 0
        (dead,) = world.operator.list_jobs(frozenset({JobState.DEAD}))
        assert (dead.subject, dead.error) == (candidate.record_id, "it broke")

        world.operator.retry_job(dead.job_id)

        assert world.operator.work_jobs() == ops.WorkAnswer(done=1, waiting=0, dead=0)
        assert reviewed(world, candidate).action is Action.MANUAL_REVIEW


def bury(world: World, subject: RecordId) -> None:
    """Let the review of a record fail for good."""
    now = world.clock.now()
    claimed = Job(
        job_id=JobId(f"job_{subject}"),
        kind=JobKind.REVIEW,
        subject=subject,
        state=JobState.LEASED,
        attempts=limits.JOB_ATTEMPTS_MAX,
        holder="x",
        fence=1,
        lease_until=now,
        due_at=now,
        created_at=now,
    )
    with world.parts.store.transaction() as tx:
        tx.jobs.cancel(JobKind.REVIEW, subject)
        tx.jobs.put(claimed)
        tx.jobs.fail(claimed, error="it broke", retry_at=None)


@pytest.mark.req("POL-6")
def test_jobs_that_fail_in_any_way_back_off_and_end_among_the_dead(world: World) -> None:
    put_policy(world, judge={"enabled": True})
    work(world)

    def broken(_question: Question) -> str | ModelFailure:
        raise ValueError("the client broke")

    parts, judge = with_judge(world, broken)
    candidate = taught(world)
    for _ in range(20):
        do_due_jobs(parts)
        world.clock.advance(seconds=limits.JOB_BACKOFF_S_MAX)

    (dead,) = jobs(world)
    assert (dead.state, dead.attempts) == (JobState.DEAD, limits.JOB_ATTEMPTS_MAX)
    assert dead.error == "ValueError: the client broke"
    assert len(judge.asked) == limits.JOB_ATTEMPTS_MAX
    assert world.record(candidate) == candidate
    assert world.operator.get_policy(PolicyName.LEARNING).revision == 1
