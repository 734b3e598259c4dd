"""A policy on trial: beside the present one, over what waits and what was decided; nothing is written."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.daemon.app import Application
from runlore.domain.access import Caller, Role
from runlore.domain.errors import Denied, Invalid
from runlore.domain.policies.learning_policy import LearningPolicy
from runlore.domain.policies.policy import PolicyName, policy_to_plain
from runlore.domain.policies.policy_fields import learning_policy
from runlore.domain.policies.verdict import baseline
from runlore.domain.record import Kind, Move, Origin, PolicyDecision, Proposal, PublishTier, Record, RecordId
from runlore.domain.scope import WORKSPACE
from runlore.domain.taint import Provenance
from runlore.ports import operations as ops
from tests.builders import ACME, changed, fact, preference, procedure, proposed
from tests.domain.policies.policy_documents import candidates, policies
from tests.examples import scaled
from tests.flow.learnings import learn
from tests.world import World, decision

pytestmark = pytest.mark.req("POL-11")
LEARNING = PolicyName.LEARNING
PUBLISHING = {"publication": {"rules": [{"kind": "fact", "action": "publish_active", "name": "facts"}]}}


def wait(world: World, record: Record) -> Record:
    """A candidate that waits."""
    change = proposed(replace(record, created_at=world.clock.now()))
    with world.parts.store.transaction() as tx:
        tx.write([change])
    world.clock.advance(seconds=1)
    return change.record


def turn_down(world: World, record: Record) -> Record:
    """A candidate that was rejected."""
    change = changed(wait(world, record), Move.REJECT)
    with world.parts.store.transaction() as tx:
        tx.write([change])
    return change.record


def tried(world: World, policy: Any, **fields: Any) -> ops.TrialAnswer:
    """What a policy would do."""
    return world.operator.test_policy(ops.PolicyTrial(name=LEARNING, policy=policy, **fields))


def ids(answer: ops.TrialAnswer) -> list[RecordId]:
    """Whose rows there are."""
    return [row.record.record_id for row in answer.rows]


def test_what_waits_comes_first_and_then_what_was_decided_each_the_newest_first(world: World) -> None:
    published = learn(world, fact(scope=WORKSPACE, created_at=world.clock.now()))
    world.clock.advance(seconds=1)
    first = wait(world, fact("The port is 80"))
    rejected = turn_down(world, preference())
    second = wait(world, procedure())
    before = world.tables()

    answer = tried(world, PUBLISHING)

    assert ids(answer) == [r.record_id for r in (second, first, rejected, published)]
    assert answer.present_revision == 0
    assert world.tables() == before
    assert ids(tried(world, PUBLISHING, limit=1)) == [second.record_id, rejected.record_id]


def test_both_policies_are_told_with_their_rule_their_reason_and_the_judge(world: World) -> None:
    change = ops.PolicyChange(name=LEARNING, policy={"publication": {"default_action": "reject"}})
    world.operator.put_policy(change)
    wait(world, fact(origin=Origin.DAEMON))

    answer = tried(world, {**PUBLISHING, "mode": "enabled", "judge": {"enabled": True}})

    row = answer.rows[0]
    assert answer.present_revision == 1
    assert (row.present.action, row.present.rule, row.present.judged) == ("reject", "", False)
    assert (row.tried.action, row.tried.rule, row.tried.judged) == ("publish_active", "facts", True)
    assert row.tried.reason == "rule 'facts' says publish_active"
    assert row.differs
    assert not tried(world, {"publication": {"default_action": "reject"}}).rows[0].differs


@settings(max_examples=scaled(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    records=st.lists(candidates(), min_size=1, max_size=4),
    policy=policies,
    present=policies,
    numbers=st.just(iter(range(10**9))),
)
def test_a_trial_says_what_the_evaluator_says(
    sqlite_world: World,
    *,
    records: list[Record],
    policy: LearningPolicy,
    present: LearningPolicy,
    numbers: Any,
) -> None:
    world = sqlite_world
    world.operator.put_policy(ops.PolicyChange(name=LEARNING, policy=policy_to_plain(present)))
    waiting = [
        wait(world, replace(record, record_id=RecordId(f"rec_{next(numbers):09}"), metadata=meta(record)))
        for record in records
    ]
    now = world.clock.now()

    rows = {row.record.record_id: row for row in tried(world, policy_to_plain(policy)).rows}

    for record in waiting:
        row = rows.get(record.record_id)
        if row is not None:
            said = baseline(record, policy, now)
            assert (row.tried.action, row.tried.rule) == (said.action, said.rule)
            assert row.present.action is baseline(record, present, now).action
        else:
            assert record.kind is Kind.RUN_SUMMARY or record.is_expired(now) or len(rows) >= 50


def meta(record: Record) -> dict[str, Any]:
    """The metadata that a record of its layer has."""
    built = {Kind.PREFERENCE: preference, Kind.PROCEDURE: procedure}.get(record.kind, fact)()
    return {} if record.kind is Kind.RUN_SUMMARY else dict(built.metadata)


def test_what_was_decided_is_looked_at_as_it_waited(world: World) -> None:
    tainted = Provenance(untrusted=True, needs_review=True, sources=("https://example.org",))
    # An operator has read it, accepted it and raised its confidence.
    accepted = learn(
        world,
        fact(scope=WORKSPACE, origin=Origin.DAEMON, provenance=tainted, confidence=10),
        provenance=tainted.clear(),
        confidence=100,
    )

    rule = {"kind": "fact", "action": "publish_active", "min_confidence": 50}
    careful = tried(world, {"publication": {"rules": [rule]}}).rows[0].tried
    plain = tried(world, PUBLISHING).rows[0]

    assert careful.rule == ""
    assert (plain.tried.action, plain.record) == ("manual_review", accepted)
    assert "untrusted" in plain.tried.reason


def test_what_is_not_automations_is_left_out(world: World) -> None:
    wait(world, preference(proposal=Proposal.PROFILE))
    wait(world, fact(expires_at=world.clock.now() + timedelta(milliseconds=10)))
    expiring = wait(world, fact("The port is 80"))
    gone = changed(expiring, Move.EXPIRE)
    with world.parts.store.transaction() as tx:
        tx.write([gone])
    forgotten = turn_down(world, fact("The port is 81"))
    world.operator.forget(decision(forgotten))
    world.operator.forget(decision(learn(world, fact("The port is 82", scope=WORKSPACE))))
    learn(world, preference("shell", "zsh", proposal=Proposal.PROFILE))

    assert tried(world, PUBLISHING).rows == ()


def test_what_was_published_and_ended_later_was_decided(world: World) -> None:
    record = learn(
        world,
        fact(scope=WORKSPACE),
        publish_tier=PublishTier.PROVISIONAL,
        policy_decision=PolicyDecision.AUTOMATIC,
    )
    with world.parts.store.transaction() as tx:
        tx.write([changed(record, Move.REVOKE)])

    assert ids(tried(world, PUBLISHING)) == [record.record_id]


def test_run_summaries_are_shown_where_a_rule_is_for_them(world: World) -> None:
    summary = replace(fact(), kind=Kind.RUN_SUMMARY, layer=Kind.RUN_SUMMARY.layer, metadata={})
    wait(world, summary)
    rules = {"publication": {"rules": [{"kind": "run_summary", "action": "reject"}]}}

    assert tried(world, PUBLISHING).rows == ()
    assert tried(world, rules).rows[0].tried.action == "reject"
    world.operator.put_policy(ops.PolicyChange(name=LEARNING, policy=rules))
    assert tried(world, PUBLISHING).rows[0].present.action == "reject"


def test_candidates_are_found_behind_many_that_are_not_automations(world: World) -> None:
    wanted = wait(world, fact())
    for number in range(5):
        wait(world, preference(f"key{number}", "x", proposal=Proposal.PROFILE))

    assert ids(tried(world, PUBLISHING, limit=2)) == [wanted.record_id]


@pytest.mark.req("POL-5")
@pytest.mark.parametrize(
    ("name", "policy", "limit", "code"),
    [
        (PolicyName.RUN_MEMORY, {}, 5, "policy.trial"),
        (PolicyName.RETENTION, {}, 5, "policy.trial"),
        (LEARNING, {"publication": {"default_action": "publish_active"}}, 5, "policy.field"),
        (LEARNING, {}, 0, "limit.range"),
        (LEARNING, {}, 501, "limit.range"),
    ],
)
def test_a_trial_that_cannot_be_is_refused(
    sqlite_world: World, name: PolicyName, policy: dict[str, Any], *, limit: int, code: str
) -> None:
    with pytest.raises(Invalid) as refused:
        sqlite_world.operator.test_policy(ops.PolicyTrial(name=name, policy=policy, limit=limit))

    assert refused.value.code == code


@pytest.mark.req("OPS-5")
def test_a_trial_is_for_operators_whose_token_reaches_everything(sqlite_world: World) -> None:
    trial = ops.PolicyTrial(name=LEARNING, policy={})
    limited = Caller(actor="operator", role=Role.OPERATOR, scopes=frozenset({ACME}))

    for denied in (
        Application(sqlite_world.parts, limited),
        *map(sqlite_world.caller, (Role.READER, Role.AGENT)),
    ):
        with pytest.raises(Denied):
            denied.test_policy(trial)


def test_the_same_policy_never_differs(sqlite_world: World) -> None:
    wait(sqlite_world, fact(origin=Origin.DAEMON))
    sqlite_world.operator.put_policy(ops.PolicyChange(name=LEARNING, policy=PUBLISHING))

    row = tried(sqlite_world, PUBLISHING).rows[0]

    assert row.present == row.tried
    assert learning_policy(PUBLISHING).publication.rules[0].name == row.tried.rule
