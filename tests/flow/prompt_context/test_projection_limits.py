"""How many learnings an input is given, and how many tokens they may take: what the policy says, or said."""

import pytest

from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.projection import Omitted, SectionName
from runlore.domain.prompts.token_budget import estimate
from runlore.domain.record import JsonValue
from runlore.ports import operations as ops
from tests.flow.learnings import TALK, context, learn, learned, preview
from tests.world import World

pytestmark = pytest.mark.req("PRJ-2", "PRJ-4")

LEARNINGS = 130
QUESTION = "Which service listens on the port?"


def policy(world: World, **projection: JsonValue) -> None:
    """Another learning policy, of which only the projection matters here."""
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.LEARNING, policy={"projection": projection}))


def fill(world: World, count: int = LEARNINGS) -> None:
    """A session that sees many learnings about the same thing."""
    world.session()
    for number in range(count):
        learn(world, f"The service number {number} listens on the port {number}")


def given(world: World, *, opening: bool) -> tuple[int, int, int]:
    """How many learnings an input is given, how many were too many, and how many too large."""
    if opening:
        asked = ops.NewRun(session_id=TALK, request=QUESTION, context=True)
        run = world.operator.open_run(asked)
        receipt = world.operator.receipt(run.run.run_id).receipt
        assert receipt is not None
        entries = {section.name: len(section.entries) for section in receipt.sections}
        omissions = receipt.omissions
    else:
        shown = preview(world, QUESTION)
        entries = {section.name: len(section.entries) for section in shown.sections}
        omissions = shown.omissions
    reasons = [each.reason for each in omissions if each.section is SectionName.LEARNED_CONTEXT]
    counts = (reasons.count(Omitted.OVER_ENTRIES), reasons.count(Omitted.OVER_BUDGET))
    return (entries.get(SectionName.LEARNED_CONTEXT, 0), *counts)


@pytest.mark.parametrize("opening", [False, True], ids=["preview", "open"])
def test_an_input_is_given_as_many_as_the_policy_says_at_the_next_question(
    world: World, opening: bool
) -> None:
    fill(world)
    assert given(world, opening=opening)[0] == 12

    for most in (3, 0, 20, 100):
        policy(world, max_entries=most, budget_tokens=100_000)
        count, over_entries, over_budget = given(world, opening=opening)
        assert (count, over_budget) == (most, 0)
        assert over_entries > 0

    world.operator.rollback_policy(ops.PolicyRollback(name=PolicyName.LEARNING, to_revision=1))
    assert given(world, opening=opening)[0] == 3


@pytest.mark.parametrize("opening", [False, True], ids=["preview", "open"])
def test_the_learnings_of_an_input_take_no_more_tokens_than_the_policy_says(
    world: World, opening: bool
) -> None:
    fill(world, 40)
    for tokens in (0, 120, 400, 1_500):
        policy(world, max_entries=40, budget_tokens=tokens)
        count, over_entries, over_budget = given(world, opening=opening)
        assert over_entries == 0
        assert count + over_budget == 40
        text = next((s.text for s in preview(world, QUESTION).sections), "")
        assert estimate(text) <= tokens
        assert bool(count) == bool(tokens)


def test_the_context_of_a_question_has_as_many_as_the_policy_says_and_counts_the_rest(world: World) -> None:
    fill(world, 30)
    for most in (5, 0, 29, 30, 31):
        policy(world, max_entries=most)
        found = context(world, QUESTION).learned_context
        assert len(found.entries) == min(most, 30)
        assert found.omitted == 30 - min(most, 30)
        assert found.truncated == (most < 30)
    # Without a question it is all that any input may be given.
    policy(world, max_entries=1)
    assert len(learned(world)) == 30


def test_words_that_find_nothing_get_nothing_whatever_the_policy_says(world: World) -> None:
    fill(world, 3)
    for most in (0, 50):
        policy(world, max_entries=most)
        found = context(world, "a zeppelin over the lake").learned_context
        assert (found.entries, found.omitted) == ((), 0)
    asking = context(world, "What do you remember?").learned_context
    assert len(asking.entries) == 3
    policy(world, max_entries=0)
    asking = context(world, "What do you remember?").learned_context
    assert (asking.entries, asking.omitted) == ((), 3)


@pytest.mark.req("REC-9")
def test_the_past_is_told_under_the_policy_of_then(world: World) -> None:
    fill(world, 30)
    moments = [world.clock.now()]
    for most in (2, 7):
        world.clock.advance(seconds=10)
        policy(world, max_entries=most)
        moments.append(world.clock.now())
    world.clock.advance(seconds=10)

    assert [len(learned(world, QUESTION, as_of=moment)) for moment in moments] == [12, 2, 7]
    assert len(learned(world, QUESTION)) == 7
    policy(world, max_entries=9)
    assert len(learned(world, QUESTION, as_of=moments[2])) == 7
