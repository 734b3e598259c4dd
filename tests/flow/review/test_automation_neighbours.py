"""What automation does about what is held already: it contradicts nothing, and holds nothing twice."""

from typing import Any

import pytest

from runlore.domain.record import (
    Kind,
    PolicyDecision,
    PublishTier,
    State,
    StateReason,
    VerificationStatus,
)
from tests.builders import fact
from tests.flow.automation import (
    CONTENT,
    TALK_SCOPE,
    offered,
    put_policy,
    reviewed,
    taught,
    work,
)
from tests.flow.learnings import learn
from tests.world import World


@pytest.mark.req("LRN-6")
class TestConflicts:
    """Where something else is held already, automation does not decide."""

    @pytest.mark.parametrize(
        "rival", ["The project codename is Borealis", "The project codename is not Atlas"]
    )
    def test_another_value_and_the_negation_escalate_active_publication(
        self, world: World, rival: str
    ) -> None:
        put_policy(world)
        other = learn(world, fact(rival, scope=TALK_SCOPE))
        candidate = taught(world)

        work(world)

        after = world.record(candidate)
        assert (after.state, after.policy_decision) == (State.CONSTRAINED, PolicyDecision.ESCALATED)
        assert other.record_id in reviewed(world, candidate).reason
        assert rival not in reviewed(world, candidate).reason
        assert world.record(other) == other

    def test_what_prompts_do_not_see_yet_counts_too(self, world: World) -> None:
        put_policy(world)
        learn(
            world,
            fact("The project codename is Borealis", scope=TALK_SCOPE),
            publish_tier=PublishTier.PROVISIONAL,
        )
        candidate = taught(world)

        work(world)

        assert world.record(candidate).policy_decision is PolicyDecision.ESCALATED

    def test_what_was_refuted_or_is_of_another_scope_or_kind_does_not(self, world: World) -> None:
        put_policy(world)
        rival = "The project codename is Borealis"
        learn(world, rival)
        learn(world, fact(rival, scope=TALK_SCOPE), verification_status=VerificationStatus.FAILED)
        candidate = taught(world)

        work(world)

        assert world.record(candidate).publish_tier is PublishTier.ACTIVE

    def test_a_provisional_publication_may_wait_beside_what_it_contradicts(self, world: World) -> None:
        put_policy(world, "publish_provisional")
        other = learn(world, fact("The project codename is Borealis", scope=TALK_SCOPE))
        candidate = taught(world)

        work(world)

        assert world.record(candidate).publish_tier is PublishTier.PROVISIONAL
        assert world.record(other) == other

    @pytest.mark.parametrize("said", ["publish_provisional", "publish_active"])
    def test_a_taken_profile_key_escalates_and_nothing_is_replaced(self, world: World, said: str) -> None:
        put_policy(world, said, rule={"kind": "preference"})
        vim: dict[str, Any] = {"profile_key": "editor", "value": "vim"}
        first = taught(world, "editor: vim", kind=Kind.PREFERENCE, metadata=vim)
        work(world)
        emacs = {**vim, "value": "emacs"}
        second = taught(world, "editor: emacs", kind=Kind.PREFERENCE, metadata=emacs)

        work(world)

        assert world.record(first).state is State.ACTIVE
        assert world.record(second).policy_decision is PolicyDecision.ESCALATED
        assert world.record(first).record_id in reviewed(world, second).reason


@pytest.mark.req("LRN-5")
class TestDuplicates:
    """What is held already is not held twice."""

    @pytest.mark.parametrize("tier", list(PublishTier))
    def test_the_candidate_ends_as_the_duplicate_of_what_is_live(
        self, world: World, tier: PublishTier
    ) -> None:
        put_policy(world)
        original = learn(world, fact("project codename: atlas", scope=TALK_SCOPE), publish_tier=tier)
        candidate = offered(world, CONTENT)

        work(world)

        after = world.record(candidate)
        assert (after.state, after.state_reason) == (State.TOMBSTONED, StateReason.DUPLICATE)
        assert after.duplicate_of == original.record_id
        assert world.record(original) == original

    def test_two_candidates_of_the_same_content_leave_one_learning(self, world: World) -> None:
        put_policy(world)
        candidates = [taught(world) for _ in range(3)]

        work(world)

        states = [world.record(candidate).state for candidate in candidates]
        assert sorted(states) == [State.ACTIVE, State.TOMBSTONED, State.TOMBSTONED]

    def test_in_shadow_mode_it_is_only_told(self, world: World) -> None:
        put_policy(world, mode="shadow")
        original = learn(world, fact(CONTENT, scope=TALK_SCOPE))
        candidate = taught(world)

        work(world)

        assert world.record(candidate).state is State.CONSTRAINED
        assert original.record_id in reviewed(world, candidate).reason

    def test_a_repetition_of_what_was_refuted_is_not_decided_by_automation(self, world: World) -> None:
        put_policy(world)
        learn(world, fact(CONTENT, scope=TALK_SCOPE), verification_status=VerificationStatus.FAILED)
        candidate = taught(world)

        work(world)

        after = world.record(candidate)
        assert (after.state, after.policy_decision) == (State.CONSTRAINED, PolicyDecision.ESCALATED)

    def test_a_rule_that_rejects_goes_before(self, world: World) -> None:
        put_policy(world, "reject")
        learn(world, fact(CONTENT, scope=TALK_SCOPE))
        candidate = taught(world)

        work(world)

        assert world.record(candidate).state_reason is StateReason.REJECTED

    def test_run_summaries_have_no_key_and_are_no_duplicates(self, world: World) -> None:
        put_policy(world, "publish_provisional", rule={"kind": "run_summary"})
        candidates = [taught(world, kind=Kind.RUN_SUMMARY) for _ in range(2)]

        work(world)

        assert {world.record(candidate).state for candidate in candidates} == {State.ACTIVE}
