"""Several daemons on one database: each candidate is reviewed once under each revision of the policy."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from runlore.daemon.background.jobs import do_one_job
from runlore.daemon.parts import Parts
from runlore.domain.record import PublishTier, Record, State
from runlore.domain.runs.job import JobKind, JobState
from runlore.ports.model import Question
from tests.flow.automation import (
    Judge,
    automatic,
    jobs,
    offered,
    put_policy,
    taught,
    work,
)
from tests.waiting import PATIENCE_S
from tests.world import World

pytestmark = pytest.mark.req("POL-10", "OPS-4")

DAEMONS = 3


def at_once(daemons: list[Parts]) -> list[int]:
    """All of them at work until nothing is left: how many jobs each did."""
    starting = threading.Barrier(len(daemons))

    def working(parts: Parts) -> int:
        starting.wait(PATIENCE_S)
        return work(parts)

    with ThreadPoolExecutor(len(daemons)) as pool:
        return [each.result() for each in [pool.submit(working, parts) for parts in daemons]]


def several(world: World, judge: Judge | None = None) -> list[Parts]:
    """Several daemons, with a judge where one is given."""
    daemons = [world.parts, *(world.another().parts for _ in range(DAEMONS - 1))]
    return [parts if judge is None else replace(parts, models=judge) for parts in daemons]


def once_each(world: World, candidates: list[Record]) -> bool:
    """Whether automation wrote exactly one event for each."""
    return all(len(automatic(world, candidate)) == 1 for candidate in candidates)


def test_each_candidate_is_reviewed_once_whoever_comes_first(postgres_world: World) -> None:
    world = postgres_world
    put_policy(world, "publish_provisional")
    daemons = several(world)
    work(world)
    candidates = [offered(world, f"Fact number {number} is so") for number in range(24)]

    done = at_once(daemons)

    assert sum(done) == len(candidates)
    assert once_each(world, candidates)
    assert {world.record(candidate).publish_tier for candidate in candidates} == {PublishTier.PROVISIONAL}
    assert jobs(world) == ()


def test_the_judge_is_asked_once_for_each(postgres_world: World) -> None:
    world = postgres_world
    judge = Judge(lambda _: "manual_review")
    put_policy(world, judge={"enabled": True})
    daemons = several(world, judge)
    work(world)
    candidates = [taught(world, f"The codename of part {number} is Atlas") for number in range(9)]

    at_once(daemons)

    asked = Counter(str(_content(question)) for question in judge.asked)
    assert asked == Counter(candidate.summary for candidate in candidates)
    assert once_each(world, candidates)


def test_equal_candidates_that_are_reviewed_at_once_leave_one_learning(postgres_world: World) -> None:
    world = postgres_world
    put_policy(world)
    daemons = several(world)
    work(world)
    candidates = [taught(world) for _ in range(6)]

    at_once(daemons)

    states = Counter(world.record(candidate).state for candidate in candidates)
    assert states == {State.ACTIVE: 1, State.TOMBSTONED: 5}
    assert jobs(world) == ()


def test_candidates_that_contradict_each_other_are_not_both_published(postgres_world: World) -> None:
    world = postgres_world
    put_policy(world)
    daemons = several(world)
    work(world)
    candidates = [taught(world, f"The project codename is Atlas{number}") for number in range(6)]

    at_once(daemons)

    states = Counter(world.record(candidate).state for candidate in candidates)
    assert states == {State.ACTIVE: 1, State.CONSTRAINED: 5}
    assert once_each(world, candidates)


def test_one_that_sleeps_while_its_judge_thinks_writes_nothing_when_it_wakes(postgres_world: World) -> None:
    world = postgres_world
    put_policy(world, judge={"enabled": True})
    asleep, awake = threading.Event(), threading.Event()

    def sleeping(_question: Question) -> str:
        asleep.set()
        assert awake.wait(PATIENCE_S)
        return "publish_active"

    work(world)
    sleeper = replace(world.parts, models=Judge(sleeping))
    other = replace(world.another().parts, models=Judge(lambda _: "reject"))
    candidate = taught(world)
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(work, sleeper)
        assert asleep.wait(PATIENCE_S)
        assert work(other) == 0
        world.clock.advance(seconds=200)
        assert work(other) == 1
        decided = world.record(candidate)
        awake.set()
        late.result()

    assert decided.state is State.TOMBSTONED
    assert world.record(candidate) == decided
    assert once_each(world, [candidate])
    assert jobs(world) == ()


def test_a_policy_that_is_enforced_by_two_at_once_queues_everything_once(postgres_world: World) -> None:
    world = postgres_world
    put_policy(world, mode="manual_only")
    work(world)
    daemons = several(world)
    candidates = [offered(world, f"Fact number {number} is so") for number in range(30)]
    put_policy(world, "manual_review")

    at_once(daemons)

    assert once_each(world, candidates)
    assert jobs(world) == ()


def test_a_job_that_waits_for_a_leased_one_is_not_lost(postgres_world: World) -> None:
    world = postgres_world
    candidate = offered(world)
    with world.parts.store.transaction() as tx:
        now = world.clock.now()
        job = tx.jobs.claim(frozenset({JobKind.REVIEW}), holder="x", now=now, lease_until=now)
    assert job is not None
    put_policy(world, "publish_provisional")

    work(world)

    assert [each.state for each in jobs(world)] in ([], [JobState.WAITING])
    work(world)
    assert world.record(candidate).publish_tier is PublishTier.PROVISIONAL


class _Interrupted:
    """A part of a store's transaction that calls back before one of its methods answers."""

    def __init__(self, real: Any, method: str, happens: Callable[[], None]) -> None:
        self._real, self._method, self._happens = real, method, happens

    def __getattr__(self, name: str) -> Any:
        if name == self._method:
            self._happens()
        found = getattr(self._real, name)
        return _Interrupted(found, self._method, self._happens) if name == "records" else found


class _InterruptedStore(_Interrupted):
    """A store whose write transactions are interrupted."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A write transaction."""
        with self._real.transaction() as tx:
            yield _Interrupted(tx, self._method, self._happens)


def test_a_policy_that_comes_between_the_check_and_the_end_of_a_review_is_not_missed(
    postgres_world: World,
) -> None:
    world = postgres_world
    put_policy(world, "manual_review")
    work(world)
    candidate = offered(world)
    other = world.another().parts
    changing: list[threading.Thread] = []

    def changes() -> None:
        put_policy(world, "publish_provisional")
        assert do_one_job(other, kinds=frozenset({JobKind.MAINTAIN}))

    def meanwhile() -> None:
        if not changing:
            changing.append(threading.Thread(target=changes))
            changing[0].start()
            # Whoever queues the review again waits for this one's end, so this one does not wait for that.
            changing[0].join(1.0)

    store: Any = _InterruptedStore(world.parts.store, "matching_subjects", meanwhile)
    assert do_one_job(replace(world.parts, store=store), kinds=frozenset({JobKind.REVIEW}))
    changing[0].join(PATIENCE_S)
    work(world)

    assert [event.reason.partition(",")[0] for event in automatic(world, candidate)] == [
        "policy revision 1",
        "policy revision 2",
    ]
    assert world.record(candidate).publish_tier is PublishTier.PROVISIONAL


def _content(question: Question) -> object:
    candidate = question.document["candidate"]
    assert isinstance(candidate, dict)
    return candidate["content"]
