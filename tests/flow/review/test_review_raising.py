"""A provisional learning that gets new support: pending, then raised, refuted, or as it was (LRN-10)."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from runlore.daemon.background.jobs import do_one_job
from runlore.domain import limits
from runlore.domain.errors import Unavailable
from runlore.domain.record import (
    EvidenceRef,
    Kind,
    Move,
    Origin,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    State,
    VerificationStatus,
)
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.records.visibility import hidden_because
from runlore.domain.run import Run
from runlore.domain.runs.job import JobKind
from runlore.domain.taint import Provenance
from runlore.flow.publish.promote_tier import note_support, raise_tier
from runlore.flow.queueing import queue
from tests.builders import changed, fact
from tests.flow.automation import (
    CONTENT,
    TALK_SCOPE,
    Judge,
    automatic,
    captured,
    jobs,
    offered,
    put_policy,
    taught,
    work,
)
from tests.flow.learnings import learn
from tests.world import World, outcome

pytestmark = pytest.mark.req("LRN-10")

VERIFY = frozenset({JobKind.VERIFY})
SAYS_IT = f"Fact: {CONTENT}."


def provisional(world: World, **fields: Any) -> Record:
    """A learning that automation published provisionally: its run does not support it."""
    candidate = taught(world, **{"request": "Hello there", **fields})
    work(world)
    record = world.record(candidate)
    assert record.publish_tier is PublishTier.PROVISIONAL
    return record


def supported(world: World, record: Record, request: str = SAYS_IT, **fields: Any) -> Record:
    """The learning with the evidence of another run, as it is while its verification waits."""
    return noted(world, record, world.finished(request), **fields)


def noted(world: World, record: Record, run: Run, origin: Origin = Origin.DAEMON) -> Record:
    """A run's evidence for a record."""
    act = Act(actor=DAEMON, at=world.clock.now(), reason="a later run says the same")
    evidence = (EvidenceRef(run_id=run.run_id, event_number=run.input_number),)
    with world.parts.store.transaction() as tx:
        present = tx.records.get(record.record_id)
        return note_support(tx, world.ids, present, act, origin=origin, evidence=evidence)


def standing(world: World, record: Record) -> tuple[PublishTier | None, VerificationStatus]:
    """Tier and verification as they are now."""
    now = world.record(record)
    return now.publish_tier, now.verification_status


STAYS = (PublishTier.PROVISIONAL, VerificationStatus.UNVERIFIED)
VERIFIED = (PublishTier.PROVISIONAL, VerificationStatus.VERIFIED)
RAISED = (PublishTier.ACTIVE, VerificationStatus.VERIFIED)
REFUTED = (PublishTier.PROVISIONAL, VerificationStatus.FAILED)


def test_new_support_raises_it_and_it_is_pending_until_then(world: World) -> None:
    put_policy(world)
    record = provisional(world)

    waiting = supported(world, record)
    assert waiting.verification_status is VerificationStatus.PENDING
    assert (JobKind.VERIFY, record.record_id) in [(job.kind, job.subject) for job in jobs(world)]
    work(world)

    after = world.record(record)
    assert standing(world, record) == RAISED
    assert (after.policy_decision, after.policy_actor) == (PolicyDecision.AUTOMATIC, DAEMON)
    assert hidden_because(after, world.clock.now()) is None
    assert [event.move for event in automatic(world, record)] == [Move.CONFIRM, Move.AMEND, Move.AMEND]
    assert jobs(world) == ()


def test_a_candidate_that_repeats_it_brings_its_evidence(world: World) -> None:
    put_policy(world)
    record = provisional(world)
    run = world.finished(SAYS_IT)
    repeated = captured(world, run)

    work(world)

    assert world.record(repeated).duplicate_of == record.record_id
    assert standing(world, record) == RAISED
    assert EvidenceRef(run_id=run.run_id, event_number=run.input_number) in world.record(record).evidence_refs


@pytest.mark.parametrize(
    ("request_text", "found"),
    [("The project codename is not Atlas.", REFUTED), ("Nothing of it.", STAYS)],
)
def test_the_opposite_refutes_it_and_nothing_leaves_it(
    world: World, request_text: str, found: tuple[PublishTier, VerificationStatus]
) -> None:
    put_policy(world)
    record = provisional(world)

    supported(world, record, request_text)
    work(world)

    assert (standing(world, record), world.record(record).state) == (found, State.ACTIVE)


@pytest.mark.parametrize("mode", ["manual_only", "shadow"])
def test_in_the_other_modes_it_stays(world: World, mode: str) -> None:
    put_policy(world)
    record = provisional(world)
    supported(world, record)
    put_policy(world, mode=mode)

    work(world)

    assert (standing(world, record), jobs(world)) == (STAYS, ())


@pytest.mark.parametrize("mode", ["manual_only", "shadow"])
@pytest.mark.parametrize("found", [VERIFIED, REFUTED])
def test_where_nobody_looks_it_gets_back_what_was_found_before(
    world: World, mode: str, found: tuple[PublishTier, VerificationStatus]
) -> None:
    put_policy(world)
    record = provisional(world)
    with world.parts.store.transaction() as tx:
        present = tx.records.get(record.record_id)
        tx.write([changed(present, Move.AMEND, verification_status=found[1])])
    assert supported(world, record).verification_status is VerificationStatus.PENDING
    put_policy(world, mode=mode)

    work(world)

    assert (standing(world, record), jobs(world)) == (found, ())


@pytest.mark.parametrize("mode", ["manual_only", "shadow"])
def test_where_nobody_will_look_it_gets_the_evidence_alone(world: World, mode: str) -> None:
    put_policy(world)
    record = provisional(world)
    put_policy(world, mode=mode)
    work(world)

    after = supported(world, record)

    assert after.evidence_refs != record.evidence_refs
    assert (standing(world, record), jobs(world)) == (STAYS, ())


class TestNoWiderThanThePolicy:
    """New support verifies; it does not widen what automation may do."""

    def test_a_rule_that_publishes_provisionally_keeps_it_there(self, world: World) -> None:
        put_policy(world, "publish_provisional")
        record = provisional(world)

        supported(world, record)
        work(world)

        assert standing(world, record) == VERIFIED

    @pytest.mark.parametrize(
        ("said", "found"), [("publish_active", RAISED), ("publish_provisional", VERIFIED)]
    )
    def test_the_judges_word_holds(
        self, world: World, said: str, found: tuple[PublishTier, VerificationStatus]
    ) -> None:
        world.parts = replace(world.parts, models=Judge(lambda _: said))
        put_policy(world, judge={"enabled": True})
        record = provisional(world)

        supported(world, record)
        work(world)

        assert standing(world, record) == found

    def test_a_judge_that_was_not_asked_then_has_not_agreed(self, world: World) -> None:
        put_policy(world)
        record = provisional(world)
        put_policy(world, judge={"enabled": True})

        supported(world, record)
        work(world)

        assert standing(world, record) == VERIFIED

    @pytest.mark.req("POL-4")
    @pytest.mark.parametrize("opted_in", [True, False])
    def test_what_came_through_the_api_needs_the_opt_in(self, world: World, opted_in: bool) -> None:
        put_policy(world, publication={"allow_api_origin_active_publication": opted_in})
        candidate = offered(world)
        work(world)

        supported(world, world.record(candidate))
        work(world)

        assert standing(world, candidate) == (RAISED if opted_in else STAYS)

    def test_evidence_of_api_callers_never_counts_for_what_was_captured(self, world: World) -> None:
        put_policy(world, publication={"allow_api_origin_active_publication": True})
        record = provisional(world)

        told = supported(world, record, origin=Origin.API)
        assert (told.evidence_refs, standing(world, told)) == (record.evidence_refs, STAYS)
        assert told.policy_decision is PolicyDecision.ESCALATED
        assert jobs(world) == ()

    def test_procedures_and_tainted_ones_are_never_raised(self, world: World) -> None:
        put_policy(world)
        tainted = provisional_by_hand(world, provenance=Provenance(untrusted=True, needs_review=True))
        procedure = provisional_by_hand(world, "Run the tests first", kind=Kind.PROCEDURE)

        for record in (tainted, procedure):
            assert supported(world, record, f"Fact: {record.summary}.") == record
            queue_verify(world, record)
        work(world)

        assert [standing(world, record) for record in (tainted, procedure)] == [STAYS, STAYS]


def provisional_by_hand(world: World, content: str = CONTENT, **fields: Any) -> Record:
    """A provisional learning of any kind."""
    kind = fields.pop("kind", Kind.FACT)
    made = fact(content, scope=TALK_SCOPE, origin=Origin.DAEMON, **fields)
    if kind is Kind.PROCEDURE:
        made = replace(
            made, kind=kind, layer=kind.layer, metadata={"workflow": "release", "canonical": False}
        )
    return learn(world, made, publish_tier=PublishTier.PROVISIONAL)


def queue_verify(world: World, record: Record) -> None:
    """A look at a learning that somebody asks for."""
    with world.parts.store.transaction() as tx:
        queue(tx, world.ids, JobKind.VERIFY, [record.record_id], at=world.clock.now())


@pytest.mark.req("LRN-6")
class TestConflicts:
    """The check of a publication is made again."""

    @pytest.mark.parametrize(
        "rival", ["The project codename is Borealis", "The project codename is not Atlas", CONTENT]
    )
    def test_what_is_held_by_now_keeps_it_where_it_is(self, world: World, rival: str) -> None:
        put_policy(world)
        record = provisional(world)
        other = learn(world, fact(rival, scope=TALK_SCOPE))

        supported(world, record)
        work(world)

        assert standing(world, record) == VERIFIED
        assert other.record_id in automatic(world, record)[-1].reason

    def test_an_operator_is_told_of_the_conflict(self, world: World) -> None:
        put_policy(world)
        record = provisional(world)
        learn(world, fact("The project codename is Borealis", scope=TALK_SCOPE))

        def raising() -> None:
            with world.parts.store.transaction() as tx:
                raise_tier(
                    tx,
                    tx.records.get(record.record_id),
                    Act(actor="operator", at=world.clock.now()),
                    verification=VerificationStatus.UNVERIFIED,
                    decision=PolicyDecision.MANUAL,
                )

        assert outcome(raising) == "review.conflict"
        assert standing(world, record) == STAYS

    def test_nothing_tainted_is_raised_by_anybody(self, world: World) -> None:
        record = provisional_by_hand(world, provenance=Provenance(untrusted=True, needs_review=True))

        def raising() -> None:
            with world.parts.store.transaction() as tx:
                raise_tier(
                    tx,
                    tx.records.get(record.record_id),
                    Act(actor="operator", at=world.clock.now()),
                    verification=VerificationStatus.VERIFIED,
                    decision=PolicyDecision.MANUAL,
                )

        assert outcome(raising) == "review.untrusted"


@pytest.mark.req("POL-10")
class TestJobs:
    """A look that comes late, twice, or to something that is gone."""

    def test_a_second_look_changes_nothing(self, world: World) -> None:
        put_policy(world)
        record = provisional(world)
        supported(world, record)
        work(world)
        before = world.record(record)

        queue_verify(world, record)
        work(world)

        assert (world.record(record), jobs(world)) == (before, ())

    def test_the_same_evidence_is_not_looked_at_twice(self, world: World) -> None:
        put_policy(world)
        record = provisional(world)
        run = world.finished("Nothing of it.")
        noted(world, record, run)
        work(world)
        before = world.record(record)

        assert noted(world, record, run) == before
        assert jobs(world) == ()

    def test_one_that_was_revoked_or_has_expired_meanwhile_is_left(self, world: World) -> None:
        put_policy(world)
        gone = provisional(world)
        expiring = provisional(
            world,
            content="The release day is Friday",
            expires_at=world.clock.now() + timedelta(seconds=9),
        )
        supported(world, gone)
        supported(world, expiring, "Fact: The release day is Friday.")
        world.rollback(gone)
        world.clock.advance(seconds=9)

        work(world)

        assert world.record(gone).state is State.TOMBSTONED
        assert world.record(expiring).publish_tier is PublishTier.PROVISIONAL
        assert jobs(world) == ()

    def test_a_worker_that_was_suspended_writes_nothing(self, world: World) -> None:
        put_policy(world)
        record = provisional(world)
        supported(world, record)
        with world.parts.store.transaction() as tx:
            now = world.clock.now()
            stale = tx.jobs.claim(VERIFY, holder="asleep", now=now, lease_until=now)
        assert stale is not None
        assert do_one_job(world.parts, kinds=VERIFY)
        after = world.record(record)

        def waking() -> None:
            with world.parts.store.transaction() as tx:
                tx.jobs.check(stale)

        assert outcome(waking) == "job.lost"
        assert world.record(record) == after

    def test_evidence_stays_within_its_bound(self, world: World) -> None:
        put_policy(world)
        record = provisional(world)
        many = tuple(EvidenceRef(run_id=f"run_{number}") for number in range(limits.EVIDENCE_REFS_MAX))
        with world.parts.store.transaction() as tx:
            present = tx.records.get(record.record_id)
            tx.write([changed(present, Move.AMEND, evidence_refs=many)])

        assert supported(world, record).evidence_refs == many


@pytest.mark.req("POL-5")
@pytest.mark.parametrize("kind", [JobKind.REVIEW, JobKind.VERIFY])
def test_whoever_reads_long_journals_says_meanwhile_that_it_is_at_work(world: World, kind: JobKind) -> None:
    put_policy(world)
    if kind is JobKind.VERIFY:
        supported(world, provisional(world))
    else:
        taught(world)
    beats: list[JobKind] = []

    assert do_one_job(world.parts, lambda: beats.append(kind), kinds=frozenset({kind}))

    assert beats


@pytest.mark.req("LRN-12")
def test_a_run_that_is_forgotten_while_it_is_read_speaks_for_nothing(world: World) -> None:
    put_policy(world)
    record = provisional(world)
    run = world.finished(SAYS_IT)
    noted(world, record, run)
    forgotten: list[Run] = []

    def forget() -> None:
        if not forgotten:
            forgotten.append(run)
            # It is erased; only its copy in SQLite's log has to wait until this reader is gone.
            with suppress(Unavailable):
                world.forget(RecordId(run.run_id))

    assert do_one_job(world.parts, forget, kinds=VERIFY)

    assert forgotten
    assert standing(world, record) == STAYS
