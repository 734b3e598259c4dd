"""Whoever dies between any two steps of a review leaves what an undisturbed one leaves, and no more.

Every transaction, before and behind its commit, every read and every question of the judge is a point to die
at; each is tried. Then another process goes on once the lease has lapsed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from runlore.config.settings import Settings
from runlore.daemon.parts import Parts
from runlore.domain.policies.verdict import review_of
from runlore.domain.record import Kind, Record, RecordId, State
from tests.builders import fact
from tests.flow.automation import (
    CONTENT,
    TALK_SCOPE,
    Judge,
    captured,
    jobs,
    offered,
    put_policy,
    taught,
    work,
)
from tests.flow.kill_points import WALKED, Fuse, dies_at, mortal
from tests.flow.learnings import learn
from tests.world import World

pytestmark = pytest.mark.req("POL-10", "LRN-1")

Scenario = Callable[[World], list[Record]]


def published(world: World) -> list[Record]:
    """A fact that the judge lets through."""
    put_policy(world, judge={"enabled": True})
    work(world)
    return [taught(world)]


def unsupported(world: World) -> list[Record]:
    """A fact that ends as a provisional one, without a judge."""
    put_policy(world)
    work(world)
    return [taught(world, request="Hello there")]


def rejected(world: World) -> list[Record]:
    """One that the rules reject."""
    put_policy(world, "reject")
    work(world)
    return [offered(world)]


def escalated(world: World) -> list[Record]:
    """One that contradicts a learning."""
    put_policy(world, judge={"enabled": True})
    work(world)
    rival = fact("The project codename is Borealis", scope=TALK_SCOPE, record_id=RecordId("rec_rival"))
    learn(world, rival)
    return [taught(world)]


def repeated(world: World) -> list[Record]:
    """One that brings support to a provisional learning, which is then raised by a job of its own."""
    put_policy(world)
    first = taught(world, request="Hello there")
    work(world)
    run = world.finished(f"Fact: {CONTENT}.")
    return [first, captured(world, run)]


def watched(world: World) -> list[Record]:
    """One in shadow mode."""
    put_policy(world, mode="shadow", judge={"enabled": True})
    work(world)
    return [taught(world)]


def changed(world: World) -> list[Record]:
    """Two that waited, and a policy that is put afterwards: all are queued again and reviewed."""
    put_policy(world, "manual_review")
    candidates = [taught(world, f"The codename of part {number} is Atlas{number}") for number in range(2)]
    work(world)
    put_policy(world)
    return candidates


SCENARIOS: tuple[Scenario, ...] = (
    published,
    unsupported,
    rejected,
    escalated,
    repeated,
    watched,
    changed,
)


@dataclass
class SkipReason:
    """What is left of a scenario: the records without their times, and what happened to each."""

    records: list[Record] = field(default_factory=list)
    moves: list[list[str]] = field(default_factory=list)
    asked: int = 0


@contextmanager
def scene(folder: Path, scenario: Scenario) -> Iterator[tuple[World, Parts, Judge, list[Record]]]:
    """A world in which a scenario is set up, and its parts with a judge that agrees."""
    world = World(Settings(state_root=str(folder)))
    judge = Judge(lambda _: "publish_active")
    try:
        world.parts = replace(world.parts, models=judge)
        candidates = scenario(world)
        yield world, world.parts, judge, candidates
    finally:
        world.close()


def left(world: World, judge: Judge, candidates: list[Record]) -> SkipReason:
    """What is left."""
    assert jobs(world) == ()
    return SkipReason(
        records=[_timeless(world.record(candidate)) for candidate in candidates],
        moves=[
            [
                f"{event.move} by {event.actor}: {event.reason}"
                for event in world.operator.history(each.record_id)
            ]
            for each in candidates
        ],
        asked=len(judge.asked),
    )


def _told(world: World, record: Record) -> list[str]:
    events = world.operator.history(record.record_id)
    return [f"{event.move} by {event.actor}: {event.reason}" for event in events]


def _timeless(record: Record) -> Record:
    review = review_of(record)
    plain: dict[str, Any] | None = None
    if review is not None:
        plain = {"action": review.action, "reason": review.reason, "revision": review.policy_revision}
        plain["judge"] = review.judge and (review.judge.action, review.judge.failure)
    return replace(record, automation_review=plain, published_at=None)


@WALKED
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_death_at_any_point_leaves_what_no_death_leaves(
    tmp_path: Path, scenario: Scenario, step: int
) -> None:
    with scene(tmp_path / "undisturbed", scenario) as (world, parts, judge, candidates):
        fuse = Fuse()
        work(mortal(parts, fuse))
        expected = left(world, judge, candidates)
    assert len(fuse.passed) > 8

    for point in fuse.points(step):
        with scene(tmp_path / f"{point}", scenario) as (world, parts, judge, candidates):
            where = f"dying {fuse.passed[point]} ({point})"
            assert dies_at(work, parts, point), where
            world.clock.advance(seconds=300)
            world.restart()
            world.parts = replace(world.parts, models=judge)
            work(world)
            found = left(world, judge, candidates)
        assert (found.records, found.moves) == (expected.records, expected.moves), where
        assert found.asked <= expected.asked + 1, where


def test_the_points_are_all_that_a_review_consists_of(tmp_path: Path) -> None:
    with scene(tmp_path / "home", published) as (_, parts, _, _):
        fuse = Fuse()
        work(mortal(parts, fuse))

    writing = [point.removeprefix("before a ") for point in fuse.passed if point.startswith("before a ")]
    asked = writing.index("question")
    # Kept for the judge and counted before the question, counted and written behind it.
    assert writing[asked - 4 : asked + 5] == [
        *("transaction", "commit", "transaction", "commit"),
        "question",
        *("transaction", "commit", "transaction", "commit"),
    ]
    assert writing.count("question") == 1


def test_a_death_after_the_answer_asks_once_more_and_counts_both(tmp_path: Path) -> None:
    with scene(tmp_path / "home", published) as (_, parts, _, _):
        fuse = Fuse()
        work(mortal(parts, fuse))
        behind = fuse.passed.index("behind an answer")
    with scene(tmp_path / "again", published) as (world, parts, judge, candidates):
        assert dies_at(work, parts, behind)
        world.clock.advance(seconds=300)
        work(world)

        with world.parts.store.snapshot() as snapshot:
            (use,) = snapshot.model_use.since("2026-01-01")
        assert (use.calls, len(judge.asked)) == (2, 2)
        assert world.record(candidates[0]).state is State.ACTIVE


def test_a_candidate_that_waits_without_a_job_is_queued_at_the_next_start(tmp_path: Path) -> None:
    world = World(Settings(state_root=str(tmp_path / "home")))
    candidate, proposal = offered(world, kind=Kind.PROCEDURE), world.propose()
    with world.parts.store.transaction() as tx:
        for job in jobs(world):
            tx.jobs.cancel(job.kind, job.subject)

    world.restart()
    assert [job.subject for job in jobs(world)] == [candidate.record_id]
    work(world)
    world.restart()

    assert jobs(world) == ()
    assert review_of(world.record(candidate)) is not None
    assert review_of(world.record(proposal)) is None
    world.close()
