"""Where nobody asks a model, several captures or reviews are written in one transaction."""

import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from runlore.config.settings import Settings
from runlore.daemon.background.jobs import TOGETHER, TOGETHER_MAX, do_due_jobs, do_some_jobs
from runlore.daemon.background.workers import Workers
from runlore.daemon.parts import Backlog
from runlore.domain import limits
from runlore.domain.policies.verdict import review_of
from runlore.domain.record import PolicyDecision, PublishTier, State, StateReason
from runlore.domain.run import Run
from runlore.domain.runs.job import JobKind, JobState
from runlore.ports import operations as ops
from tests.fakes import ScriptedModels
from tests.flow.automation import offered, put_policy, reviewed, taught
from tests.flow.capturing import CAPTURE, answer, jobs, receipts
from tests.postgres_server import PostgresServer
from tests.world import World

pytestmark = pytest.mark.req("CAP-5", "POL-6")

REVIEW = frozenset({JobKind.REVIEW})


def finished_runs(world: World, number: int) -> list[Run]:
    """As many runs, each in a session of its own."""
    sessions = [world.session(f"s{each}") for each in range(number)]
    return [
        world.finished("Look at it. Always use pnpm here", session_id=each.session_id) for each in sessions
    ]


def commits(world: World) -> int:
    return cast("int", world.parts.store.description()["commits"])


def test_what_is_due_together_shares_its_commits(sqlite_world: World) -> None:
    world = sqlite_world
    runs = finished_runs(world, TOGETHER[JobKind.CAPTURE])
    for kinds in (CAPTURE, REVIEW):
        before = commits(world)
        waiting = sum(len(jobs(world, kind)) for kind in kinds)
        assert do_some_jobs(world.parts, kinds=kinds, at_once=TOGETHER_MAX) == waiting
        # One claims them, one ends them.
        assert commits(world) - before == 2

    assert all(None not in receipts(world, run) for run in runs)
    assert all(review_of(record) is not None for record in world.proposals())


def test_runs_of_one_session_are_captured_one_behind_the_other(world: World) -> None:
    runs = [world.finished(f"Fact: port {number} is the one of part {number}") for number in range(5)]

    assert do_due_jobs(world.parts, kinds=CAPTURE) == len(runs)

    assert jobs(world) == []
    assert all(None not in receipts(world, run) for run in runs)


def test_one_that_cannot_be_done_keeps_no_other_from_it(sqlite_world: World) -> None:
    world = sqlite_world
    runs = finished_runs(world, 4)
    world.close()
    world.damage(f"UPDATE journal SET body = '{{}}' WHERE run_id = '{runs[1].run_id}'")
    world.restart()

    do_due_jobs(world.parts, kinds=CAPTURE)

    left = jobs(world)
    assert [job.subject for job in left if job.state is JobState.WAITING] in ([], [runs[1].run_id])
    assert all(None not in receipts(world, run) for run in runs if run is not runs[1])


def test_what_was_tried_before_is_done_alone(world: World) -> None:
    """The process may have died of it: it takes none along."""
    finished_runs(world, 3)
    with world.parts.store.transaction() as tx:
        now = world.clock.now()
        assert tx.jobs.claim(CAPTURE, holder="dead", now=now, lease_until=now) is not None
    world.clock.advance(seconds=limits.JOB_LEASE_S)

    done = [do_some_jobs(world.parts, kinds=CAPTURE, at_once=TOGETHER_MAX) for _ in range(3)]

    assert sorted(done) == [0, 1, 2]


def test_with_a_model_each_is_held_for_as_long_as_it_is_asked(world: World) -> None:
    finished_runs(world, 3)
    parts = replace(world.parts, models=ScriptedModels(answer()))

    assert do_some_jobs(parts, kinds=CAPTURE, at_once=TOGETHER_MAX) == 1


@pytest.mark.parametrize(
    "said", ["The project codename is Atlas", "The project codename is Borealis"], ids=["the same", "another"]
)
def test_what_the_first_of_several_brings_about_is_seen_by_the_next(
    world: World, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    put_policy(world)
    first = taught(world, "The project codename is Atlas")
    second = taught(world, said)
    unrelated = taught(world, "The staging port is 5433")

    assert do_some_jobs(world.parts, kinds=REVIEW, at_once=TOGETHER_MAX) == 3

    assert "one by one" not in caplog.text
    assert first.record_id in reviewed(world, second).reason
    assert world.record(first).publish_tier is PublishTier.ACTIVE
    assert world.record(unrelated).publish_tier is PublishTier.ACTIVE
    after = world.record(second)
    if said == first.summary:
        assert (after.state, after.state_reason) == (State.TOMBSTONED, StateReason.DUPLICATE)
    else:
        assert (after.state, after.policy_decision) == (State.CONSTRAINED, PolicyDecision.ESCALATED)


def test_what_is_decided_meanwhile_keeps_no_other_from_its_review(world: World) -> None:
    put_policy(world, "manual_review")
    candidates = [offered(world, f"The port of part {number} is 5{number}00") for number in range(3)]
    world.operator.reject(ops.Decision(record_id=candidates[1].record_id, reason="no"))

    assert do_some_jobs(world.parts, kinds=REVIEW, at_once=TOGETHER_MAX) in (2, 3)

    assert [review_of(world.record(each)) is not None for each in candidates] == [True, False, True]
    assert jobs(world, JobKind.REVIEW) == []


def test_what_reviews_read_is_read_once_for_many(
    postgres_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, asked = postgres_world, list[str]()
    put_policy(world, "manual_review")
    for number in range(TOGETHER[JobKind.REVIEW]):
        offered(world, f"The port of part {number} is 5{number}00")
    execute, executemany = psycopg.Cursor.execute, psycopg.Cursor.executemany

    def counting(cursor: psycopg.Cursor[Any], sql: bytes, *rest: Any, **more: Any) -> Any:
        asked.append(repr(sql))
        return execute(cursor, sql, *rest, **more)

    def counting_many(cursor: psycopg.Cursor[Any], sql: bytes, *rest: Any, **more: Any) -> Any:
        asked.append(repr(sql))
        return executemany(cursor, sql, *rest, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", counting)
    monkeypatch.setattr(psycopg.Cursor, "executemany", counting_many)

    assert do_some_jobs(world.parts, kinds=REVIEW, at_once=TOGETHER_MAX) == TOGETHER[JobKind.REVIEW]

    assert 0 < len(asked) < TOGETHER[JobKind.REVIEW], "\n".join(asked)


def test_what_is_due_together_asks_the_server_once_for_all_it_can(
    postgres_server: PostgresServer, new_postgres_database: str, tmp_path: Path
) -> None:
    """Statements are what a capture costs here: 56 each where every one reads and writes for itself."""
    postgres_server.note_statements(new_postgres_database)
    world = World(Settings(state_root=str(tmp_path / "root"), database_url=new_postgres_database))
    try:
        finished_runs(world, TOGETHER[JobKind.CAPTURE])
        for kinds, most in ((CAPTURE, 30), (REVIEW, 7)):
            waiting = sum(len(jobs(world, kind)) for kind in kinds)
            with postgres_server.statements() as asked:
                assert do_some_jobs(world.parts, kinds=kinds, at_once=TOGETHER_MAX) == waiting
            assert waiting <= len(asked) <= most * waiting
    finally:
        world.close()


class TestBacklog:
    """Runs that end faster than they are looked at make whoever ends them wait, and nobody else."""

    def test_whoever_ends_a_run_waits_while_they_become_more(self, sqlite_world: World) -> None:
        backlog = sqlite_world.parts.backlog
        run = sqlite_world.run()
        backlog.note(0)
        backlog.note(limits.BACKLOG_GROWTH_MAX + 1)
        began = time.monotonic()

        sqlite_world.finish(run)

        assert time.monotonic() - began >= limits.BACKLOG_WAIT_S
        backlog.note(limits.BACKLOG_GROWTH_MAX)
        began = time.monotonic()
        backlog.wait()
        assert time.monotonic() - began < limits.BACKLOG_WAIT_S

    @pytest.mark.parametrize("noted", [(5_000, 4_000), (9, None, 5_000, 5_000), (None, None)])
    def test_nobody_waits_for_what_was_there_before(self, noted: tuple[int | None, ...]) -> None:
        backlog = Backlog()
        for waiting in noted:
            backlog.note(waiting)
        began = time.monotonic()

        backlog.wait()

        assert time.monotonic() - began < limits.BACKLOG_WAIT_S

    def test_the_worker_notes_what_its_steps_leave(self, sqlite_world: World) -> None:
        world, noted = sqlite_world, Noted()
        workers = Workers(replace(world.parts, backlog=noted))
        finished_runs(world, 2 * TOGETHER[JobKind.CAPTURE])

        while workers.think():
            pass

        assert (noted.told[0] or 0) >= TOGETHER[JobKind.CAPTURE]
        assert noted.told[-1] is None


class Noted(Backlog):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[int | None] = []

    def note(self, waiting: int | None) -> None:
        """Note it, and keep that."""
        self.told.append(waiting)
        super().note(waiting)
