"""No candidate waits for ever because nobody knows of it, and none keeps the others or a start waiting."""

import logging
from datetime import timedelta

import pytest

from runlore.daemon.background.maintenance import maintain
from runlore.daemon.boot import boot_daemon
from runlore.domain.policies.learning_policy import Action, Mode
from runlore.domain.policies.verdict import review_of
from runlore.domain.record import Kind, Record, State
from runlore.domain.records.admission import Draft
from runlore.domain.records.audit import Act
from runlore.domain.runs.job import JobKind, JobState
from runlore.flow.record.intake import Intake, propose
from runlore.flow.review.requeueing import LOOKED_NOTE, QUEUED_NOTE
from tests.flow.automation import TALK_SCOPE, action, jobs, offered, put_policy, reviewed, work
from tests.world import World

pytestmark = pytest.mark.req("POL-6", "POL-10")

HOURLY = "hourly"


def lose(world: World, *candidates: Record) -> None:
    """The jobs of candidates are gone, whatever became of them."""
    with world.parts.store.transaction() as tx:
        for candidate in candidates:
            tx.jobs.cancel(JobKind.REVIEW, candidate.record_id)


def bury(world: World, candidate: Record) -> None:
    """The review of a candidate has failed for good."""
    now = world.clock.now()
    with world.parts.store.transaction() as tx:
        claimed = tx.jobs.claim(frozenset({JobKind.REVIEW}), holder="x", now=now, lease_until=now)
        assert claimed is not None
        assert claimed.subject == candidate.record_id
        tx.jobs.fail(claimed, error="it broke", retry_at=None)


def forget_notes(world: World) -> None:
    """As a store of an older release is: nobody has noted anything."""
    with world.parts.store.transaction() as tx:
        for name in (QUEUED_NOTE, LOOKED_NOTE):
            tx.counters.set_note(name, "2000-01-01T00:00:00.000Z" if name == LOOKED_NOTE else "")


def damage(world: World, *records: Record) -> None:
    """Spoil the histories of records, with nobody at work."""
    world.close()
    for record in records:
        world.damage(f"UPDATE record_events SET reason = 'bad' WHERE record_id = '{record.record_id}'")


@pytest.mark.req("OPS-2")
class TestDamage:
    """A candidate that cannot be read is named, and nobody waits for it."""

    def test_one_damaged_candidate_stops_no_start_and_keeps_no_other_waiting(
        self, sqlite_world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        world = sqlite_world
        candidates = [offered(world, f"Fact number {number} is so") for number in range(3)]
        lose(world, *candidates)
        forget_notes(world)
        damage(world, candidates[1])

        with caplog.at_level(logging.WARNING):
            world.restart()
        work(world)

        assert [review_of(world.record(each)) is not None for each in (candidates[0], candidates[2])] == [
            True
        ] * 2
        assert candidates[1].record_id in caplog.text
        assert candidates[1].record_id in str(world.operator.doctor())
        assert jobs(world) == ()

    def test_a_changed_policy_is_applied_to_all_the_others(self, sqlite_world: World) -> None:
        world = sqlite_world
        candidates = [offered(world, f"Fact number {number} is so") for number in range(3)]
        work(world)
        damage(world, candidates[2])
        world.restart()

        put_policy(world, "reject")
        work(world)

        assert [world.record(each).state for each in candidates[:2]] == [State.TOMBSTONED] * 2
        assert jobs(world) == ()

    def test_what_has_expired_and_is_damaged_stops_no_start(self, sqlite_world: World) -> None:
        world = sqlite_world
        expiring = offered(world, expires_at=world.clock.now() + timedelta(seconds=60))
        world.clock.advance(seconds=120)
        damage(world, expiring)

        world.restart()

        assert expiring.record_id in str(world.operator.doctor())


class TestImport:
    """What waits in an export that is read as it stands was reviewed under another store's policy."""

    def test_all_that_waits_is_reviewed_under_the_policy_of_its_new_store(
        self, world: World, other: World
    ) -> None:
        put_policy(other, None, mode="shadow")
        before = offered(other, "The port of the server is 8080")
        work(other)
        unseen = offered(other, "The codename of it is Atlas")
        assert reviewed(other, before).policy_revision == 1
        put_policy(world, "reject")
        work(world)
        world.clock.advance(seconds=60)

        assert world.operator.import_records(other.operator.export().path).mode == "exact"
        assert world.record(before) == other.record(before)
        work(world)

        # The number of the revision is the same; the policy is not.
        for candidate in (before, unseen):
            assert world.record(candidate).state is State.TOMBSTONED
            assert (reviewed(world, candidate).policy_revision, action(world, candidate)) == (
                1,
                Action.REJECT,
            )
        assert jobs(world) == ()

    def test_it_is_reviewed_once(self, world: World, other: World) -> None:
        put_policy(other, None, mode="shadow")
        candidate = offered(other, "The port of the server is 8080")
        work(other)
        put_policy(world, "manual_review")
        work(world)
        world.clock.advance(seconds=60)
        world.operator.import_records(other.operator.export().path)
        work(world)
        after = world.record(candidate)
        assert reviewed(world, candidate).mode is Mode.ENABLED

        world.clock.advance(seconds=3_600)
        maintain(world.parts, source=HOURLY)
        world.restart()
        work(world)

        assert world.record(candidate) == after

    def test_a_store_in_manual_mode_reviews_it_once_it_is_in_another(
        self, world: World, other: World
    ) -> None:
        put_policy(other, mode="shadow")
        put_policy(other, None, mode="shadow")
        candidate = offered(other, "The port of the server is 8080")
        work(other)
        put_policy(world, mode="manual_only")
        world.clock.advance(seconds=60)
        world.operator.import_records(other.operator.export().path)
        work(world)
        assert world.record(candidate) == other.record(candidate)

        assert put_policy(world, "reject") == reviewed(other, candidate).policy_revision
        work(world)

        assert world.record(candidate).state is State.TOMBSTONED


class TestNet:
    """Whatever loses a job, somebody looks: every hour, and at a start."""

    def test_the_hourly_maintenance_queues_what_has_no_job(self, world: World) -> None:
        candidate, waiting = offered(world), offered(world, "The port of it is 80")
        lose(world, candidate)
        known = {job.subject: job.job_id for job in jobs(world, JobState.WAITING)}

        maintain(world.parts, source=HOURLY)

        queued = {job.subject: job.job_id for job in jobs(world) if job.kind is JobKind.REVIEW}
        assert set(queued) == {candidate.record_id, waiting.record_id}
        assert queued[waiting.record_id] == known[waiting.record_id]
        work(world)
        assert review_of(world.record(candidate)) is not None

    def test_what_was_reviewed_or_is_an_operators_is_not_queued_again(self, world: World) -> None:
        offered(world)
        work(world)
        world.propose()
        before = jobs(world)

        maintain(world.parts, source=HOURLY)

        assert jobs(world) == before == ()

    def test_nothing_is_queued_in_manual_mode(self, world: World) -> None:
        put_policy(world, mode="manual_only")
        work(world)
        offered(world)

        maintain(world.parts, source=HOURLY)

        assert jobs(world) == ()

    def test_a_start_looks_once_an_hour(self, world: World) -> None:
        candidate = offered(world)
        work(world)
        world.restart()
        lost = offered(world, "The port of it is 80")
        lose(world, lost)

        world.clock.advance(seconds=3_599)
        world.restart()
        assert jobs(world) == ()
        world.clock.advance(seconds=1)
        world.restart()

        assert [job.subject for job in jobs(world)] == [lost.record_id]
        assert review_of(world.record(candidate)) is not None

    def test_one_behind_many_that_were_reviewed_is_found(self, sqlite_world: World) -> None:
        world = sqlite_world
        lost = offered(world)
        world.clock.advance(seconds=1)
        for number in range(201):
            offered(world, f"Fact number {number} is so")
        lose(world, lost)
        work(world)
        forget_notes(world)

        world.restart()

        assert [job.subject for job in jobs(world)] == [lost.record_id]

    def test_what_failed_for_good_stays_visible_until_a_daemon_starts(self, world: World) -> None:
        candidate = offered(world)
        world.restart()
        bury(world, candidate)

        for _ in range(3):
            world.clock.advance(seconds=3_600)
            maintain(world.parts, source=HOURLY)
            world.restart()
            assert [job.error for job in jobs(world, JobState.DEAD)] == ["it broke"]
        boot_daemon(world.parts)
        work(world)

        assert (jobs(world), review_of(world.record(candidate)) is not None) == ((), True)


@pytest.mark.req("OPS-4")
def test_one_that_is_proposed_while_the_policy_changes_is_reviewed_within_the_hour(
    postgres_world: World,
) -> None:
    world = postgres_world
    world.session()
    put_policy(world, mode="manual_only")
    work(world)
    act = Act(actor="operator", at=world.clock.now(), reason="said so")
    draft = Draft(kind=Kind.FACT, summary="The port of it is 80", scope=TALK_SCOPE)

    with world.parts.store.transaction() as tx:
        (candidate,) = propose(tx, Intake(ids=world.ids, act=act), [draft])
        put_policy(world, "manual_review")
        work(world)
    assert jobs(world) == ()

    maintain(world.parts, source=HOURLY)
    work(world)

    assert action(world, candidate) is Action.MANUAL_REVIEW


class TestCheapStarts:
    """A start asks whether anything waits, and reads none of it."""

    def test_a_start_with_nothing_waiting_changes_nothing(self, world: World) -> None:
        before = world.tables()

        world.restart()

        assert world.tables() == before

    def test_starts_within_the_hour_change_nothing(self, world: World) -> None:
        offered(world)
        work(world)
        world.restart()
        before = world.tables()

        for _ in range(3):
            world.clock.advance(seconds=600)
            world.restart()

        assert world.tables() == before

    def test_starts_within_the_hour_read_no_candidate(
        self, sqlite_world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        world = sqlite_world
        candidates = [offered(world, f"Fact number {number} is so") for number in range(3)]
        work(world)
        world.restart()
        damage(world, *candidates)

        with caplog.at_level(logging.WARNING):
            world.restart()

        assert caplog.records == []
