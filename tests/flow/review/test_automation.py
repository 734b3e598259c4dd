"""What automation makes of candidates: in each mode, by each action, at each edge."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from runlore.domain.policies.learning_policy import Action, Mode
from runlore.domain.record import (
    EvidenceRef,
    Kind,
    Move,
    PolicyDecision,
    PublishTier,
    Record,
    Source,
    State,
    StateReason,
    VerificationStatus,
)
from runlore.domain.records.audit import DAEMON, replay
from runlore.domain.records.visibility import Hidden, hidden_because
from runlore.domain.runs.job import JobKind
from runlore.domain.taint import Provenance
from runlore.flow.queueing import queue
from runlore.ports import operations as ops
from tests.flow.automation import (
    CONTENT,
    action,
    automatic,
    captured,
    jobs,
    offered,
    put_policy,
    reviewed,
    taught,
    work,
)
from tests.world import World, outcome

UNTRUSTED = Provenance(untrusted=True, needs_review=True, sources=("https://example.org",))


@pytest.mark.req("POL-1")
class TestModes:
    """How far automation goes."""

    def test_left_alone_it_watches_and_says_what_it_would_do(self, world: World) -> None:
        candidate = offered(world)

        work(world)

        after = world.record(candidate)
        review = reviewed(world, candidate)
        assert (after.state, after.policy_decision) == (State.CONSTRAINED, None)
        assert (review.mode, review.action, review.policy_revision) == (Mode.SHADOW, Action.MANUAL_REVIEW, 0)

    @pytest.mark.parametrize("said", list(Action))
    def test_in_shadow_mode_nothing_is_done_whatever_the_rules_say(self, world: World, said: Action) -> None:
        put_policy(world, said, mode="shadow")
        candidate = taught(world)

        work(world)

        after = world.record(candidate)
        assert replace(after, automation_review=None, revision=1) == candidate
        assert (reviewed(world, candidate).mode, action(world, candidate)) == (Mode.SHADOW, said)
        assert [event.move for event in automatic(world, candidate)] == [Move.AMEND]

    def test_in_manual_mode_no_review_is_queued_and_none_is_done(self, world: World) -> None:
        put_policy(world, mode="manual_only")
        work(world)
        candidate = offered(world)

        assert jobs(world) == ()
        assert work(world) == 0
        assert world.record(candidate) == candidate

    def test_a_mode_that_turns_manual_before_the_review_stops_it(self, world: World) -> None:
        put_policy(world, mode="shadow")
        candidate = offered(world)
        put_policy(world, mode="manual_only")

        work(world)

        assert (world.record(candidate), jobs(world)) == (candidate, ())


@pytest.mark.req("POL-3", "LRN-1")
class TestActions:
    """What each action does in the enabled mode."""

    def test_a_supported_fact_is_published_verified_and_reaches_prompts(self, world: World) -> None:
        put_policy(world)
        candidate = taught(world)

        work(world)

        after = world.record(candidate)
        assert (after.state, after.publish_tier) == (State.ACTIVE, PublishTier.ACTIVE)
        assert after.verification_status is VerificationStatus.VERIFIED
        assert (after.policy_decision, after.policy_actor) == (PolicyDecision.AUTOMATIC, DAEMON)
        assert hidden_because(after, world.clock.now()) is None
        assert action(world, candidate) is Action.PUBLISH_ACTIVE

    def test_an_unsupported_one_is_published_provisionally_and_unverified(self, world: World) -> None:
        put_policy(world)
        candidate = taught(world, request="Hello there")

        work(world)

        after = world.record(candidate)
        assert (after.state, after.publish_tier) == (State.ACTIVE, PublishTier.PROVISIONAL)
        assert after.verification_status is VerificationStatus.UNVERIFIED
        assert hidden_because(after, world.clock.now()) is Hidden.PROVISIONAL
        assert "does not support" in reviewed(world, candidate).reason

    @pytest.mark.req("POL-9")
    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("Deploys are allowed", "Deploys are not allowed"),
            ("Deploys are not allowed", "Deploys are allowed"),
            ("Deploys are allowed", "It is not true that deploys are allowed"),
        ],
    )
    def test_the_opposite_is_no_support(self, world: World, content: str, said: str) -> None:
        put_policy(world)
        candidate = taught(world, content, request=said)

        work(world)

        after = world.record(candidate)
        assert after.publish_tier is PublishTier.PROVISIONAL
        assert after.verification_status is VerificationStatus.UNVERIFIED

    def test_publish_provisional_asks_for_no_support_and_claims_none(self, world: World) -> None:
        put_policy(world, "publish_provisional")
        candidate = taught(world)

        work(world)

        after = world.record(candidate)
        assert (after.state, after.publish_tier) == (State.ACTIVE, PublishTier.PROVISIONAL)
        assert after.verification_status is VerificationStatus.UNVERIFIED

    def test_reject_tombstones_it(self, world: World) -> None:
        put_policy(world, "reject")
        candidate = taught(world)

        work(world)

        after = world.record(candidate)
        assert (after.state, after.state_reason) == (State.TOMBSTONED, StateReason.REJECTED)
        assert (after.policy_decision, after.policy_actor) == (PolicyDecision.AUTOMATIC, DAEMON)

    def test_manual_review_escalates_it(self, world: World) -> None:
        put_policy(world, "manual_review")
        candidate = taught(world)

        work(world)

        after = world.record(candidate)
        assert (after.state, after.policy_decision) == (State.CONSTRAINED, PolicyDecision.ESCALATED)
        assert after.policy_actor == DAEMON

    @pytest.mark.parametrize("said", list(Action))
    def test_every_step_is_in_the_history_with_its_policy_and_rule(self, world: World, said: Action) -> None:
        revision = put_policy(world, said)
        candidate = taught(world)

        work(world)

        (event,) = automatic(world, candidate)
        assert event.reason == f"policy revision {revision}, rule 'facts': {said}"
        assert replay(world.operator.history(candidate.record_id)) == world.record(candidate)

    def test_a_second_look_under_the_same_policy_changes_nothing(self, world: World) -> None:
        put_policy(world, "manual_review")
        candidate = taught(world)
        work(world)
        before = world.tables()["records"]

        queue_review(world, candidate)
        work(world)

        assert world.tables()["records"] == before
        assert jobs(world) == ()

    def test_what_an_operator_decided_first_stays_decided(self, world: World) -> None:
        put_policy(world, "reject")
        candidate = offered(world)
        published = world.confirm(candidate)

        work(world)

        assert world.record(candidate) == published
        assert jobs(world) == ()

    @pytest.mark.req("LAY-7")
    def test_proposals_are_left_to_the_operator(self, world: World) -> None:
        put_policy(world, None, publication={"default_action": "reject"})
        work(world)
        proposal = world.propose()

        assert jobs(world) == ()
        queue_review(world, proposal)
        work(world)

        assert world.record(proposal) == proposal
        put_policy(world, None, publication={"default_action": "reject"})
        work(world)
        assert world.record(proposal) == proposal

    def test_one_that_was_forgotten_or_never_was_ends_its_job(self, world: World) -> None:
        candidate = offered(world)
        world.forget(candidate)
        queue_review(world, "rec_nobody")

        work(world)

        assert jobs(world) == ()


@pytest.mark.req("POL-3", "LRN-11")
class TestExpiry:
    """A rule's days, the candidate's own date, and what expires before it is looked at."""

    def test_the_rule_counts_from_the_review(self, world: World) -> None:
        put_policy(world, rule={"expires_after_days": 90})
        candidate = taught(world)
        world.clock.advance(seconds=5)

        work(world)

        assert world.record(candidate).expires_at == world.clock.now() + timedelta(days=90)

    @pytest.mark.parametrize("days", [10, 200])
    def test_the_earlier_of_the_two_holds(self, world: World, days: int) -> None:
        put_policy(world, rule={"expires_after_days": 90})
        own = world.clock.now() + timedelta(days=days)
        candidate = taught(world, expires_at=own)

        work(world)

        assert world.record(candidate).expires_at == min(own, world.clock.now() + timedelta(days=90))

    def test_it_is_honoured_to_the_millisecond(self, world: World) -> None:
        put_policy(world, rule={"expires_after_days": 1})
        candidate = taught(world)
        work(world)
        after = world.record(candidate)

        world.clock.advance(days=1, milliseconds=-1)
        assert hidden_because(after, world.clock.now()) is None
        world.clock.advance(milliseconds=1)

        assert hidden_because(after, world.clock.now()) is Hidden.EXPIRED

    @pytest.mark.parametrize(("late", "state"), [(-1, State.ACTIVE), (0, State.CONSTRAINED)])
    def test_a_candidate_is_reviewed_until_the_millisecond_in_which_it_expires(
        self, world: World, late: int, state: State
    ) -> None:
        put_policy(world)
        candidate = taught(world, expires_at=world.clock.now() + timedelta(seconds=9))
        world.clock.advance(seconds=9, milliseconds=late)

        work(world)

        assert world.record(candidate).state is state
        assert jobs(world) == ()


@pytest.mark.req("TNT-2", "TNT-4")
class TestTaint:
    """Nothing tainted is published by automation, whatever the policy says."""

    @pytest.mark.parametrize("said", ["publish_provisional", "publish_active"])
    def test_a_tainted_candidate_waits_for_an_operator(self, world: World, said: str) -> None:
        put_policy(world, said)
        candidate = taught(world, provenance=UNTRUSTED)

        work(world)

        after = world.record(candidate)
        assert (after.state, after.policy_decision) == (State.CONSTRAINED, PolicyDecision.ESCALATED)
        assert after.provenance == UNTRUSTED

    def test_it_may_still_be_rejected(self, world: World) -> None:
        put_policy(world, "reject")
        candidate = taught(world, provenance=UNTRUSTED)

        work(world)

        assert world.record(candidate).state_reason is StateReason.REJECTED

    def test_a_tainted_repetition_brings_no_evidence_to_what_it_repeats(self, world: World) -> None:
        put_policy(world)
        original = taught(world, request="Hello there")
        work(world)
        run = world.finished(f"Fact: {CONTENT}.")
        captured(world, run, provenance=UNTRUSTED)

        work(world)

        after = world.record(original)
        assert (after.evidence_refs, after.publish_tier) == (
            original.evidence_refs,
            PublishTier.PROVISIONAL,
        )


@pytest.mark.req("POL-4", "LRN-2")
class TestApiOrigin:
    """What a caller says of its own evidence is kept and counts for nothing without the opt-in."""

    def test_it_is_downgraded(self, world: World) -> None:
        put_policy(world)
        candidate = offered(world)

        work(world)

        assert world.record(candidate).publish_tier is PublishTier.PROVISIONAL

    @pytest.mark.parametrize("named", ["source", "evidence"])
    def test_with_the_opt_in_a_run_that_it_names_supports_it(self, world: World, named: str) -> None:
        put_policy(world, publication={"allow_api_origin_active_publication": True})
        run = world.finished(f"Fact: {CONTENT}.")
        given: dict[str, Any] = (
            {"source": Source(run_id=run.run_id)}
            if named == "source"
            else {"evidence_refs": (EvidenceRef(run_id=run.run_id),)}
        )
        candidate = offered(world, **given)
        alone = offered(world, "The release day is Friday")

        work(world)

        after = world.record(candidate)
        assert (after.publish_tier, after.verification_status) == (
            PublishTier.ACTIVE,
            VerificationStatus.VERIFIED,
        )
        assert world.record(alone).publish_tier is PublishTier.PROVISIONAL

    def test_a_procedure_is_never_published_actively(self, world: World) -> None:
        put_policy(world, None, publication={"default_action": "publish_provisional"})
        candidate = offered(world, "Run the tests first", kind=Kind.PROCEDURE)

        work(world)

        assert world.record(candidate).publish_tier is PublishTier.PROVISIONAL


@pytest.mark.req("POL-10")
class TestQueueing:
    """Each candidate is queued with the transaction that makes it."""

    def test_a_candidate_and_its_job_come_together_or_not_at_all(self, world: World) -> None:
        candidate = offered(world)
        assert [(job.kind, job.subject) for job in jobs(world)] == [(JobKind.REVIEW, candidate.record_id)]

        def posted_twice() -> Record:
            request = ops.NewCandidate(kind=Kind.FACT, content="Once only", idempotency_key="k")
            return world.operator.create_candidate(request)

        first, second = posted_twice(), posted_twice()
        assert first == second
        assert [job.subject for job in jobs(world)] == [candidate.record_id, first.record_id]

    def test_a_stale_writer_is_told(self, world: World) -> None:
        candidate = offered(world)
        work(world)

        assert outcome(lambda: world.confirm(candidate, expected_revision=1)) == "record.revision"
        assert outcome(lambda: world.confirm(candidate)) == "done"


def queue_review(world: World, record: Record | str) -> None:
    """A review that somebody asks for once more."""
    subject = record if isinstance(record, str) else record.record_id
    with world.parts.store.transaction() as tx:
        queue(tx, world.ids, JobKind.REVIEW, [subject], at=world.clock.now())
