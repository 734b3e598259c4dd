"""What replaces something is seen in its place, and what contradicts something is decided on by a person."""

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from runlore.domain.errors import RunloreError
from runlore.domain.record import (
    Kind,
    Move,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    State,
    VerificationStatus,
)
from runlore.domain.scope import WORKSPACE, Scope
from runlore.ports import operations as ops
from tests.builders import changed, fact
from tests.fakes import START
from tests.flow.automation import put_policy, work
from tests.flow.learning_acts import PROVISIONAL, candidate, learning, publish, supersede, verify
from tests.flow.learnings import learn, learned
from tests.flow.review.test_review_raising import provisional, supported
from tests.world import World, decision, outcome

ATLAS, BOREALIS = "The project codename is Atlas", "The project codename is Borealis"


def _superseded(world: World, old: Record, **fields: Any) -> Record:
    return supersede(world, old, BOREALIS, **fields)


def _published(world: World, old: Record, **fields: Any) -> Record:
    return publish(world, candidate(world.operator, BOREALIS), supersedes=old.record_id, **fields)


def _refuted(world: World, old: Record, **fields: Any) -> Record:
    new = candidate(world.operator, BOREALIS)
    failed = changed(new, Move.AMEND, verification_status=VerificationStatus.FAILED)
    with world.parts.store.transaction() as tx:
        tx.write([failed])
    return publish(world, new, supersedes=old.record_id, **fields)


def error_of(act: Callable[[], object]) -> RunloreError:
    """The refusal of an act."""
    with pytest.raises(RunloreError) as refused:
        act()
    return refused.value


HIDDEN_TERMS: tuple[dict[str, Any], ...] = (
    {"publish_tier": PROVISIONAL},
    {"sensitivity": Sensitivity.SENSITIVE},
    {"expires_at": START + timedelta(days=7)},
)
REPLACING: tuple[Callable[..., Record], ...] = (_superseded, _published)


@pytest.mark.req("LRN-15")
def test_no_replacement_leaves_prompts_without_either(world: World) -> None:
    world.session()
    old = learning(world, ATLAS)
    before = world.record(old)

    acts = [partial(act, world, old, **terms) for act in REPLACING for terms in HIDDEN_TERMS]
    for act in (*acts, partial(_refuted, world, old)):
        error = error_of(act)
        assert error.code == "review.hides"
        # Whoever is refused is told of nothing that is stored nowhere.
        assert set(re.findall("rec_[0-9a-z]+", error.sentence)) <= world.stored().keys()
        assert "supersedes" not in error.hint
        assert world.record(old) == before
        assert learned(world, "What is the codename?") == [old.record_id]

    new = supersede(world, old, BOREALIS)
    assert learned(world, "What is the codename?") == [new.record_id]


@pytest.mark.req("LRN-15", "LRN-11")
def test_what_expires_may_be_replaced_by_what_lasts_as_long(world: World) -> None:
    world.session()
    old = learning(world, ATLAS, expires_at=START + timedelta(days=7))
    early = error_of(partial(supersede, world, old, BOREALIS, expires_at=START + timedelta(days=6)))
    new = supersede(world, old, BOREALIS, expires_at=START + timedelta(days=7))

    assert (early.code, "revalidate_at" in early.hint) == ("review.hides", True)
    world.clock.advance(days=7, milliseconds=-1)
    assert learned(world, "What is the codename?") == [new.record_id]


@pytest.mark.req("LRN-15", "LAY-1")
def test_a_sensitive_proposal_does_not_take_the_place_of_a_profile_record_that_prompts_get(
    world: World,
) -> None:
    old = world.profile("editor", "vim")
    new = world.propose("editor", "emacs", sensitivity=Sensitivity.SENSITIVE)

    item = world.operator.review_list(ops.ReviewRequest()).items[0]
    assert [obstacle.code for obstacle in item.outcome.obstacles] == ["review.hides"]
    assert outcome(partial(world.confirm, new)) == "review.hides"
    assert world.record(old).state is State.ACTIVE


@pytest.mark.req("LRN-15")
def test_what_prompts_do_not_get_either_may_be_replaced_by_what_they_do_not_get(world: World) -> None:
    old = learning(world, ATLAS, publish_tier=PROVISIONAL)

    new = supersede(world, old, BOREALIS, publish_tier=PROVISIONAL)

    assert (world.record(old).superseded_by, new.publish_tier) == (new.record_id, PROVISIONAL)


@pytest.mark.req("LRN-15", "LRN-6")
def test_the_hint_of_a_conflict_in_the_provisional_tier_can_be_followed(world: World) -> None:
    old = learning(world, ATLAS)
    new = candidate(world.operator, BOREALIS)

    error = error_of(partial(publish, world, new, publish_tier=PROVISIONAL))

    assert error.code == "review.conflict"
    assert f"in the active tier with --supersedes {old.record_id}" in error.hint
    assert f"--both-hold {old.record_id}" in error.hint
    assert publish(world, new, supersedes=old.record_id).state is State.ACTIVE


@pytest.mark.req("LRN-15", "LAY-3")
def test_a_merge_never_mixes_what_prompts_get_with_what_is_sensitive(world: World) -> None:
    for text, sensitivity in (
        ("Deploys of the api service run from the main branch", Sensitivity.NORMAL),
        ("Deploys of the api service run from the main branch nightly", Sensitivity.SENSITIVE),
    ):
        learn(world, fact(text, scope=WORKSPACE, sensitivity=sensitivity))

    assert world.operator.compact(ops.MergeRequest()) == ()


@pytest.mark.req("LRN-14")
@pytest.mark.parametrize("act", ["publish", "confirm"])
def test_a_reviewer_may_say_that_both_hold_and_is_not_asked_again(world: World, act: str) -> None:
    world.session()
    old = learning(world, ATLAS)
    waiting = candidate(world.operator, BOREALIS)
    listed = world.operator.review_list(ops.ReviewRequest()).items[0]
    assert f"--both-hold {old.record_id}" in listed.outcome.obstacles[0].hint

    if act == "publish":
        new = publish(world, waiting, both_hold=(old.record_id,))
    else:
        new = world.confirm(waiting, both_hold=(old.record_id,))

    assert set(learned(world, "What is the codename?")) == {old.record_id, new.record_id}
    for one, other in ((old, new), (new, old)):
        assert world.record(one).both_hold == (other.record_id,)
        assert "both_hold" in world.operator.history(one.record_id)[-1].changes
    # Nothing stands between the two from now on: not when one of them is taken back and restored.
    newer = supersede(world, old, "The project codename is Cygnus", both_hold=(new.record_id,))
    world.operator.revoke(decision(newer))
    assert world.restore(old).state is State.ACTIVE


@pytest.mark.req("LRN-14")
def test_the_same_pair_in_other_words_is_not_asked_about_again(world: World) -> None:
    old = learning(world, "The release is on Mondays")
    beside = publish(
        world, candidate(world.operator, "The release is on Fridays"), both_hold=(old.record_id,)
    )
    world.operator.revoke(decision(beside))

    # Neither side is told by its id any more: what was compared is known by what it says.
    again = publish(world, candidate(world.operator, "The release is every Friday"))
    assert (again.state, again.both_hold) == (State.ACTIVE, (old.record_id,))
    newer = supersede(world, old, "The release is on a Monday")
    assert world.record(newer).both_hold == (again.record_id,)

    third = candidate(world.operator, "The release is on Sundays")
    assert outcome(partial(publish, world, third)) == "review.conflict"
    elsewhere = fact("The release is on Mondays", scope=Scope.parse("project:elsewhere"))
    learn(world, elsewhere)
    other = candidate(world.operator, "The release is on Fridays", scope=elsewhere.scope)
    assert outcome(partial(publish, world, other)) == "review.conflict"


@pytest.mark.req("LRN-14")
def test_both_hold_names_what_is_contradicted_and_nothing_else(world: World) -> None:
    old = learning(world, ATLAS)
    other = learning(world, "The office is in Berlin")
    waiting = candidate(world.operator, BOREALIS)
    before = world.tables()

    for named, code in (
        ((old.record_id, other.record_id), "review.both-hold"),
        ((RecordId("rec_missing"),), "record.not-found"),
    ):
        assert outcome(partial(publish, world, waiting, both_hold=named)) == code
    both = {"supersedes": old.record_id, "both_hold": (old.record_id,)}
    assert outcome(partial(publish, world, waiting, **both)) == "review.both-hold"
    assert world.tables() == before


@pytest.mark.req("LRN-14", "LRN-10")
def test_a_contradiction_that_finds_support_is_escalated_and_shown_in_review(world: World) -> None:
    put_policy(world)
    record = provisional(world)
    rival = learn(world, fact(BOREALIS, scope=record.scope))

    supported(world, record)
    work(world)

    held = world.record(record)
    assert (held.publish_tier, held.verification_status) == (PROVISIONAL, VerificationStatus.VERIFIED)
    assert held.policy_decision is PolicyDecision.ESCALATED
    (item,) = world.operator.review_list(ops.ReviewRequest()).items
    assert item.record == held
    assert rival.record_id in item.attention[0]
    assert rival.summary in item.attention[0]
    assert [obstacle.code for obstacle in item.outcome.obstacles] == ["review.conflict"]
    assert outcome(partial(verify, world, record, on_my_word=True)) == "review.conflict"
    # Whoever looks a second time changes nothing.
    supported(world, record)
    work(world)
    assert [event.move for event in world.operator.history(record.record_id)].count(Move.AMEND) <= 4

    raised = verify(world, record, on_my_word=True, both_hold=(rival.record_id,))

    assert (raised.publish_tier, raised.both_hold) == (PublishTier.ACTIVE, (rival.record_id,))
    assert world.record(rival).both_hold == (record.record_id,)
    assert world.operator.review_list(ops.ReviewRequest()).items == ()


@pytest.mark.req("LRN-14", "LRN-10")
def test_a_reviewer_who_takes_the_other_one_back_sees_that_nothing_is_in_the_way(world: World) -> None:
    put_policy(world)
    record = provisional(world)
    rival = learn(world, fact(BOREALIS, scope=record.scope))
    supported(world, record)
    work(world)

    world.operator.revoke(decision(rival))

    (item,) = world.operator.review_list(ops.ReviewRequest(kinds=frozenset({Kind.FACT}))).items
    assert item.attention == ("supported by its evidence, yet provisional",)
    assert item.outcome.obstacles == ()
    assert verify(world, record, on_my_word=True).publish_tier is PublishTier.ACTIVE


@pytest.mark.req("LRN-14", "LAY-1")
def test_two_preferences_about_one_subject_stand_together_where_they_answer_other_questions(
    world: World,
) -> None:
    short, german, french = (
        publish(world, candidate(world.operator, text, kind=Kind.PREFERENCE))
        for text in ("Reports are short", "Reports are in German", "Reports are in French")
    )

    assert world.record(short).state is State.ACTIVE
    assert world.record(german).superseded_by == french.record_id
    longer = candidate(world.operator, "Reports are long", kind=Kind.PREFERENCE)
    error = error_of(partial(publish, world, longer, both_hold=(short.record_id,)))
    assert error.code == "review.both-hold"
    assert "profile_key" in error.hint
