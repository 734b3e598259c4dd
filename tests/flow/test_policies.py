"""The learning policy in force: its revisions, what held at a past moment, and what `status` tells of it."""

from datetime import timedelta
from typing import Any

import pytest

from runlore.domain.errors import Conflict, Invalid
from runlore.domain.policies.learning_policy import LearningPolicy, Mode
from runlore.domain.policies.policy import PolicyName, check_policy
from runlore.flow.policies import current_learning, current_projection, learning_in_force, learning_then
from runlore.ports import operations as ops
from tests.world import World

pytestmark = pytest.mark.req("POL-6")
LEARNING = PolicyName.LEARNING


def put(world: World, policy: Any, **fields: Any) -> int:
    """Put a learning policy; its revision answers."""
    return world.operator.put_policy(ops.PolicyChange(name=LEARNING, policy=policy, **fields)).revision


@pytest.mark.req("POL-1")
def test_the_policy_in_force_is_the_latest_with_its_revision(world: World) -> None:
    with world.parts.store.snapshot() as snapshot:
        assert learning_in_force(snapshot) == (LearningPolicy(), 0)
        assert current_projection(snapshot) == LearningPolicy().projection

    put(world, {"mode": "enabled", "projection": {"max_entries": 3}})
    put(world, {"mode": "manual_only", "projection": {"budget_tokens": 10}})

    with world.parts.store.snapshot() as snapshot:
        policy, revision = learning_in_force(snapshot)
        assert (policy.mode, revision) == (Mode.MANUAL_ONLY, 2)
        assert current_learning(snapshot) == policy
        assert current_projection(snapshot) == policy.projection
        assert (policy.projection.max_entries, policy.projection.budget_tokens) == (12, 10)


@pytest.mark.req("REC-9")
def test_what_held_at_a_past_moment_is_told(world: World) -> None:
    start = world.clock.now()
    world.clock.advance(seconds=1)
    put(world, {"mode": "enabled"})
    world.clock.advance(seconds=1)
    put(world, {"mode": "manual_only"})

    def mode(milliseconds: int) -> Mode:
        with world.parts.store.snapshot() as snapshot:
            return learning_then(snapshot, start + timedelta(milliseconds=milliseconds)).mode

    assert [mode(at) for at in (0, 999, 1_000, 1_999, 2_000, 9_000)] == [
        *(Mode.SHADOW, Mode.SHADOW, Mode.ENABLED, Mode.ENABLED, Mode.MANUAL_ONLY, Mode.MANUAL_ONLY)
    ]


@pytest.mark.req("POL-5")
def test_nothing_of_a_refused_policy_takes_effect(world: World) -> None:
    put(world, {"mode": "enabled"})
    before = world.tables()

    for bad in (
        {"mode": "manual_only", "publication": {"default_action": "publish_active"}},
        {"mode": "manual_only", "publication": {"rules": [{"action": "publish_active"}]}},
        {"mode": "manual_only", "judge": {"timeout_s": 0}},
        {"mode": "manual_only", "learning": {}},
    ):
        with pytest.raises(Invalid) as refused:
            put(world, bad)
        assert refused.value.code == "policy.field"
    with pytest.raises(Conflict):
        put(world, {"mode": "manual_only"}, expected_revision=0)

    assert world.tables() == before


def test_a_rollback_brings_rules_back(world: World) -> None:
    rules = {"publication": {"rules": [{"name": "facts", "kind": "fact", "action": "publish_active"}]}}
    put(world, rules)
    put(world, {})

    back = world.operator.rollback_policy(ops.PolicyRollback(name=LEARNING))

    assert (back.revision, back.policy) == (3, check_policy(LEARNING, rules))
    assert world.operator.rollback_policy(
        ops.PolicyRollback(name=LEARNING, to_revision=0)
    ).policy == check_policy(LEARNING, {})


@pytest.mark.req("OPS-1")
def test_status_tells_the_revision_of_every_policy(world: World) -> None:
    put(world, {"mode": "enabled"})

    policies = world.operator.status().sections["policies"]

    assert isinstance(policies, dict)
    assert set(policies) == set(PolicyName)
    told = policies[LEARNING]
    assert isinstance(told, dict)
    assert (told["revision"], told["actor"]) == (1, "operator")


@pytest.mark.req("OPS-9")
def test_whoever_lowers_a_limit_is_told_what_that_deletes(world: World) -> None:
    lowered = {
        PolicyName.RUN_MEMORY: {"retention_days": 7, "max_tracked_per_session": 3},
        PolicyName.RETENTION: {
            "journal_days": 30,
            "journal_mb_max": 100,
            "artifact_days": 7,
            "artifact_mb_max": 10,
            "exports_kept": 2,
            "logs_kept": 1,
            "answer_days": 1,
        },
    }

    def put_limits(name: PolicyName, policy: Any, **fields: Any) -> tuple[str, ...]:
        return world.operator.put_policy(ops.PolicyChange(name=name, policy=policy, **fields)).remarks

    for name, limits in lowered.items():
        remarks = put_limits(name, limits, idempotency_key=name.value)
        assert [remark.split()[0] for remark in remarks] == list(limits)
        assert all("delete" in remark for remark in remarks)
        assert put_limits(name, limits, idempotency_key=name.value) == remarks
        assert put_limits(name, limits) == put_limits(name, {}) == ()
        assert world.operator.rollback_policy(ops.PolicyRollback(name=name)).remarks == remarks
        assert world.operator.get_policy(name).remarks == ()
    off = put_limits(PolicyName.RUN_MEMORY, {"enabled": False, **lowered[PolicyName.RUN_MEMORY]})
    assert [remark.split(",")[0] for remark in off] == ["from now on nothing is remembered of runs"]
    assert world.operator.get_policy(PolicyName.RUN_MEMORY).remarks == off
