"""What is held provisionally and said again is raised or put before a person: no wish vanishes behind it."""

from typing import Any

import pytest

from runlore.domain.record import (
    EvidenceRef,
    Origin,
    PolicyDecision,
    PublishTier,
    Record,
    Source,
    StateReason,
    VerificationStatus,
)
from runlore.domain.scope import WORKSPACE
from runlore.domain.taint import Provenance
from runlore.ports import operations as ops
from tests.builders import fact
from tests.flow.automation import CONTENT, put_policy, taught, work
from tests.flow.learning_acts import candidate, verify
from tests.flow.learnings import learn
from tests.flow.review.test_review_raising import provisional, provisional_by_hand
from tests.world import World

PROVISIONALLY = "publish_provisional"


def listed(world: World) -> list[Record]:
    """What the review list holds."""
    return [item.record for item in world.operator.review_list(ops.ReviewRequest()).items]


def posted(world: World, **fields: Any) -> Record:
    """The same statement from a caller, after its review."""
    made = candidate(world.operator, CONTENT, **fields)
    work(world)
    return world.record(made)


@pytest.mark.req("LRN-10", "LRN-5")
@pytest.mark.parametrize(
    ("fields", "tier"),
    [
        ({}, PublishTier.PROVISIONAL),
        ({"action": PROVISIONALLY}, PublishTier.PROVISIONAL),
        ({"publication": {"allow_api_origin_active_publication": True}}, PublishTier.ACTIVE),
    ],
)
@pytest.mark.parametrize("is_source", [False, True], ids=["evidence", "source"])
def test_a_candidate_posted_again_with_support_raises_or_escalates_the_provisional_one(
    world: World, fields: dict[str, Any], tier: PublishTier, is_source: bool
) -> None:
    put_policy(world, **fields)
    first = posted(world)
    assert first.publish_tier is PublishTier.PROVISIONAL
    assert listed(world) == []
    assert posted(world).state_reason is StateReason.DUPLICATE
    assert listed(world) == [], "the same without any support says nothing new"
    run = world.finished(f"Fact: {CONTENT}.")

    named = EvidenceRef(run_id=run.run_id, event_number=run.input_number)
    where: dict[str, Any] = (
        {"source": Source(run_id=run.run_id)} if is_source else {"evidence_refs": (named,)}
    )
    again = posted(world, **where)

    assert (again.state_reason, again.duplicate_of) == (StateReason.DUPLICATE, first.record_id)
    now = world.record(first)
    assert now.publish_tier is tier
    if tier is PublishTier.PROVISIONAL:
        assert listed(world) == [now]
        assert verify(world, now, on_my_word=True).publish_tier is PublishTier.ACTIVE
    assert listed(world) == []


@pytest.mark.req("LRN-10", "CAP-8")
@pytest.mark.parametrize("mode", ["enabled", "shadow", "manual_only"])
@pytest.mark.parametrize("is_supported", [True, False])
def test_what_a_user_asks_to_remember_never_vanishes_behind_a_provisional_one(
    world: World, mode: str, is_supported: bool
) -> None:
    put_policy(world, PROVISIONALLY)
    made = fact("the lab is A", scope=WORKSPACE, origin=Origin.DAEMON)
    held = learn(world, made, publish_tier=PublishTier.PROVISIONAL)
    put_policy(world, PROVISIONALLY, mode=mode)
    world.finished("remember that the lab is A" + ("" if is_supported else " and fix the tests"))

    work(world)

    now = world.record(held)
    assert [each.record_id for each in listed(world)] == [held.record_id]
    assert (now.publish_tier, now.policy_decision) == (PublishTier.PROVISIONAL, PolicyDecision.ESCALATED)
    (item,) = world.operator.review_list(ops.ReviewRequest()).items
    assert "yet provisional" in item.attention[0]


@pytest.mark.req("LRN-10")
def test_what_is_said_again_and_supported_is_escalated_where_the_policy_keeps_it_provisional(
    world: World,
) -> None:
    put_policy(world)
    record = provisional(world)
    put_policy(world, PROVISIONALLY)

    taught(world)
    work(world)

    now = world.record(record)
    assert (now.publish_tier, now.verification_status) == (
        PublishTier.PROVISIONAL,
        VerificationStatus.VERIFIED,
    )
    assert listed(world) == [now]


@pytest.mark.req("LRN-5", "TNT-1")
def test_the_users_own_word_is_no_duplicate_of_what_came_from_outside(world: World) -> None:
    put_policy(world, PROVISIONALLY)
    provisional_by_hand(world, provenance=Provenance(untrusted=True, needs_review=True))

    own = taught(world)
    work(world)

    assert (world.record(own).duplicate_of, world.record(own).published_at) == (None, world.clock.now())
