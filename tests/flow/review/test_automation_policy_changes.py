"""A policy that changes: what waits is reviewed again, once, also where a review is under way."""

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from runlore.daemon.background.jobs import do_one_job
from runlore.daemon.parts import Parts
from runlore.domain.policies.learning_policy import Action, Mode
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import Move, PolicyDecision, PublishTier, Record, State
from runlore.domain.runs.job import JobKind, JobState
from runlore.flow.review.requeueing import QUEUED_NOTE
from runlore.ports import operations as ops
from tests.builders import changed
from tests.flow.automation import (
    action,
    automatic,
    jobs,
    offered,
    put_policy,
    reviewed,
    taught,
    with_judge,
    work,
)
from tests.world import World

pytestmark = pytest.mark.req("POL-6", "POL-10")


def revisions(world: World, record: Record) -> list[int]:
    """Under which revisions of the policy a record was reviewed, in order."""
    reviews = (event.changes.get("automation_review") for event in automatic(world, record))
    return [int(str(review["policy_revision"])) for review in reviews if isinstance(review, Mapping)]


def roll_back(world: World) -> int:
    """Back to the policy before."""
    return world.operator.rollback_policy(ops.PolicyRollback(name=PolicyName.LEARNING)).revision


class TestAgain:
    """After a change and after a rollback everything that waits is reviewed under the new revision."""

    def test_an_escalated_candidate_is_published_once_the_rules_allow_it(self, world: World) -> None:
        put_policy(world, "manual_review")
        candidate = taught(world)
        work(world)
        assert world.record(candidate).policy_decision is PolicyDecision.ESCALATED

        put_policy(world)
        work(world)

        after = world.record(candidate)
        assert (after.publish_tier, after.policy_decision) == (PublishTier.ACTIVE, PolicyDecision.AUTOMATIC)
        assert revisions(world, candidate) == [1, 2]

    def test_an_escalated_candidate_is_reviewed_again_after_a_rollback(self, world: World) -> None:
        put_policy(world, "reject", mode="shadow")
        put_policy(world, "manual_review")
        candidate = taught(world)
        work(world)
        assert action(world, candidate) is Action.MANUAL_REVIEW

        roll_back(world)
        work(world)

        after = world.record(candidate)
        assert revisions(world, candidate) == [2, 3]
        assert (action(world, candidate), reviewed(world, candidate).mode) == (Action.REJECT, Mode.SHADOW)
        # In shadow mode nothing is decided, and nothing stays decided.
        assert (after.policy_decision, after.policy_actor) == (None, None)

    def test_what_was_decided_stays_decided(self, world: World) -> None:
        put_policy(world, "publish_provisional")
        candidate = taught(world)
        work(world)
        before = world.record(candidate)

        put_policy(world, "reject")
        work(world)

        assert world.record(candidate) == before

    def test_all_pages_are_queued_and_each_candidate_once(self, sqlite_world: World) -> None:
        world = sqlite_world
        put_policy(world, mode="manual_only")
        candidates = [offered(world, f"Fact number {number} is so") for number in range(450)]
        world.propose()
        work(world)
        put_policy(world, "manual_review")

        assert do_one_job(world.parts)

        queued = [job.subject for job in jobs(world)]
        assert sorted(queued) == sorted(candidate.record_id for candidate in candidates)
        assert {job.kind for job in jobs(world)} == {JobKind.REVIEW}

    def test_a_change_to_manual_mode_queues_nothing_and_one_back_does(self, world: World) -> None:
        candidate = offered(world)
        work(world)
        put_policy(world, mode="manual_only")
        assert work(world) == 1
        assert revisions(world, candidate) == [0]

        put_policy(world, mode="shadow")
        work(world)

        assert revisions(world, candidate) == [0, 2]

    def test_a_dead_review_is_tried_again(self, world: World) -> None:
        candidate = taught(world)
        with world.parts.store.transaction() as tx:
            (waiting,) = (job for job in jobs(world) if job.kind is JobKind.REVIEW)
            now = world.clock.now()
            claimed = tx.jobs.claim(frozenset({JobKind.REVIEW}), holder="x", now=now, lease_until=now)
            assert claimed is not None
            tx.jobs.fail(claimed, error="it broke", retry_at=None)
        assert [job.error for job in jobs(world, JobState.DEAD)] == ["it broke"]

        put_policy(world)
        work(world)

        assert (jobs(world), waiting.subject) == ((), candidate.record_id)
        assert world.record(candidate).publish_tier is PublishTier.ACTIVE

    def test_only_the_latest_of_many_changes_is_enforced(self, world: World) -> None:
        candidate = taught(world)
        for said in ("reject", "manual_review", "publish_active"):
            put_policy(world, said)

        work(world)

        assert revisions(world, candidate) == [3]
        with world.parts.store.snapshot() as snapshot:
            assert snapshot.counters.note(QUEUED_NOTE) == "3"


class TestMeanwhile:
    """A change while the judge thinks: its answer was to another question, so it is asked again."""

    @pytest.mark.parametrize("is_enforced", [False, True])
    @pytest.mark.parametrize("back", [False, True])
    def test_the_review_is_done_again_under_the_new_policy(
        self, world: World, is_enforced: bool, back: bool
    ) -> None:
        put_policy(world, "publish_provisional", judge={"enabled": True})
        put_policy(world, "publish_active", judge={"enabled": True})
        work(world)
        candidate = taught(world)
        changes: list[int] = []

        def thinking(_question: object) -> str:
            if not changes:
                changes.append(roll_back(world) if back else put_policy(world, "reject"))
                if is_enforced:
                    other = replace(world.parts, models=judge)
                    assert do_one_job(other, kinds=frozenset({JobKind.MAINTAIN}))
            return "publish_active"

        parts, judge = with_judge(world, thinking)
        work(parts)

        after = world.record(candidate)
        assert revisions(world, candidate) == [3]
        assert jobs(world) == ()
        if back:
            assert (after.publish_tier, len(judge.asked)) == (PublishTier.PROVISIONAL, 2)
        else:
            assert (after.state, len(judge.asked)) == (State.TOMBSTONED, 1)

    def test_a_change_right_behind_the_review_brings_another_one(self, world: World) -> None:
        put_policy(world, "manual_review")
        work(world)
        candidate = taught(world)
        assert do_one_job(world.parts, kinds=frozenset({JobKind.REVIEW}))
        put_policy(world, "publish_provisional")

        work(world)

        assert revisions(world, candidate) == [1, 2]
        assert world.record(candidate).publish_tier is PublishTier.PROVISIONAL

    def test_an_operator_who_decides_meanwhile_has_the_last_word(self, world: World) -> None:
        put_policy(world, judge={"enabled": True})
        candidate = taught(world)

        def thinking(_question: object) -> str:
            world.reject(candidate)
            return "publish_active"

        parts, _ = with_judge(world, thinking)
        work(parts)

        after = world.record(candidate)
        assert (after.state, automatic(world, candidate), jobs(world)) == (State.TOMBSTONED, [], ())

    def test_a_candidate_that_is_amended_meanwhile_is_looked_at_again(self, world: World) -> None:
        put_policy(world, judge={"enabled": True})
        candidate = taught(world)

        def thinking(_question: object) -> str:
            if len(judge.asked) == 1:
                amend(world, candidate)
            return "publish_active"

        parts, judge = with_judge(world, thinking)
        work(parts)

        assert len(judge.asked) == 2
        assert world.record(candidate).confidence == 99

    def test_one_that_never_stands_still_backs_off_and_says_so(self, world: World) -> None:
        put_policy(world, judge={"enabled": True})
        candidate = taught(world)

        def thinking(_question: object) -> str:
            amend(world, candidate)
            return "publish_active"

        parts, judge = with_judge(world, thinking)
        while not judge.asked:
            assert do_one_job(parts)

        (waiting,) = jobs(world)
        assert (waiting.state, waiting.attempts) == (JobState.WAITING, 1)
        assert "keeps changing" in waiting.error


def amend(world: World, candidate: Record) -> None:
    """Somebody else's note on a candidate."""
    with world.parts.store.transaction() as tx:
        present = tx.records.get(candidate.record_id)
        tx.write([changed(present, Move.AMEND, confidence=99)])


@pytest.mark.req("OPS-4")
def test_any_order_of_changes_and_reviews_on_several_daemons_ends_with_the_latest_policy(
    postgres_world: World,
) -> None:
    world = postgres_world
    daemons = [world.parts, *(world.another().parts for _ in range(2))]
    put_policy(world, "manual_review")
    candidates = [offered(world, f"Fact number {number} is so") for number in range(12)]
    is_over = threading.Event()

    def reviewing(parts: Parts) -> None:
        while not is_over.is_set():
            work(parts)

    with ThreadPoolExecutor(len(daemons)) as pool:
        working = [pool.submit(reviewing, parts) for parts in daemons]
        for _ in range(8):
            latest = put_policy(world, "manual_review")
        is_over.set()
        for each in working:
            each.result()
    work(world)

    for candidate in candidates:
        seen = revisions(world, candidate)
        assert seen == sorted(set(seen)), "reviewed twice under one revision"
        assert seen[-1] == latest == reviewed(world, candidate).policy_revision
    assert jobs(world) == ()
