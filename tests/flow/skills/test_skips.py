"""A skip counts, stays with the pattern whatever it is called, and does not count for ever."""

from dataclasses import replace
from typing import Any

import pytest

from runlore.daemon.background.jobs import do_due_jobs
from runlore.domain.detectors.cross_session import workflow_of
from runlore.domain.detectors.mining import mine_transcript_run
from runlore.domain.errors import NotFound
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import JsonValue
from runlore.domain.runs.job import JobKind
from runlore.domain.session import SessionId
from runlore.domain.skill import SkillMove, SkillState
from runlore.domain.suggestion import StoredSuggestion, SuggestionMove, SuggestionState, pattern_digest
from runlore.flow.skills.deciding import decide, reset_skips
from runlore.flow.skills.suggesting import DetectionContext, keep, take_back
from runlore.ports import operations as ops
from tests.flow.procedures import listed, session
from tests.flow.saved_skills import (
    DEPLOY,
    PLAN,
    SLIPPED,
    acting,
    curated,
    current,
    kept,
    library,
    offered,
    told,
)
from tests.flow.skills.test_detecting import worked
from tests.flow.telling import suggestion
from tests.flow.telling import told as told_run
from tests.world import World

pytestmark = pytest.mark.req("SKL-6")

SKIPPED, WAITING = SuggestionState.SKIPPED, SuggestionState.WAITING
DETECT = frozenset({JobKind.DETECT})


def put_policy(world: World, *, auto_save: bool = False, **curation: JsonValue) -> None:
    """Put a skills policy under which nothing is saved by itself."""
    policy: dict[str, JsonValue] = {"auto_save": {"enabled": auto_save}, "curation": dict(curation)}
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.SKILLS, policy=policy))


def skipped_now(world: World, stored: StoredSuggestion) -> StoredSuggestion:
    """Skip a suggestion as it is now."""
    with acting(world) as (tx, saving):
        return decide(tx, tx.suggestions.get(stored.suggestion_id), SuggestionMove.SKIP, saving.act)


def see(world: World, stored: StoredSuggestion, **fields: Any) -> StoredSuggestion:
    """See a pattern again, in a session of its own."""
    world.clock.advance(seconds=1)
    (evidence,) = stored.suggestion.evidence[:1]
    fresh = replace(evidence, session_id=SessionId(f"s{world.clock.now():%H%M%S}"), at=world.clock.now())
    found = replace(stored.suggestion, evidence=(fresh,), **fields)
    with acting(world) as (tx, saving):
        keep(tx, [found], DetectionContext(ids=saving.ids, at=saving.act.at))
        return tx.suggestions.get(stored.suggestion_id)


@pytest.mark.parametrize("threshold", [1, 2, 3])
@pytest.mark.parametrize("days", [0, 30])
def test_it_waits_again_when_seen_until_it_was_skipped_to_the_threshold(
    sqlite_world: World, threshold: int, days: int
) -> None:
    put_policy(sqlite_world, skip_threshold=threshold, skip_reset_days=days)
    stored = offered(sqlite_world, "ship-it")
    for times in range(1, threshold + 1):
        after = skipped_now(sqlite_world, stored)
        assert (after.state, after.times_skipped, after.skipped_at) == (
            SKIPPED,
            times,
            sqlite_world.clock.now(),
        )
        seen = see(sqlite_world, stored)
        assert seen.state is (SKIPPED if times == threshold else WAITING)
        assert seen.times_skipped == times
    # Enough is enough, and one more changes nothing.
    before = current(sqlite_world, stored)
    assert skipped_now(sqlite_world, stored) == before
    sqlite_world.clock.advance(days=30)
    assert see(sqlite_world, stored).state is (WAITING if days else SKIPPED)


def test_a_skip_counts_to_the_moment_that_the_policy_names(sqlite_world: World) -> None:
    put_policy(sqlite_world, skip_reset_days=10)
    stored = offered(sqlite_world, "ship-it")
    skipped_now(sqlite_world, stored)
    sqlite_world.clock.advance(days=10, seconds=-1)
    assert see(sqlite_world, stored).state is SKIPPED
    assert see(sqlite_world, stored).state is WAITING
    # What has expired is not counted with the next one.
    put_policy(sqlite_world, skip_reset_days=10, skip_threshold=2)
    assert skipped_now(sqlite_world, stored).times_skipped == 1


def test_a_run_that_shows_it_after_the_skip_has_expired_lets_it_wait_again(sqlite_world: World) -> None:
    put_policy(sqlite_world)
    worked(sqlite_world, "Deploy it", *SLIPPED, session_id="one")
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    (stored,) = listed(sqlite_world)
    skipped_now(sqlite_world, stored)
    for days, state in ((1, SKIPPED), (31, WAITING)):
        sqlite_world.clock.advance(days=days)
        worked(sqlite_world, "Deploy it", *SLIPPED, session_id=f"after-{days}")
        do_due_jobs(sqlite_world.parts, kinds=DETECT)
        (seen,) = listed(sqlite_world)
        assert (seen.state, seen.suggestion_id) == (state, stored.suggestion_id)


def test_another_name_for_the_same_pattern_or_for_a_variant_stays_skipped(sqlite_world: World) -> None:
    put_policy(sqlite_world, skip_reset_days=0)
    (run,) = session("one", told_run("Deploy it", *DEPLOY))
    workflow = workflow_of(mine_transcript_run(run, project=""))
    assert workflow is not None
    known = suggestion("mine", pattern="something else", variants=(pattern_digest(workflow.pattern),))
    stored = offered(sqlite_world, "mine", pattern=known.pattern, variants=known.variants)
    skipped_now(sqlite_world, stored)
    assert see(sqlite_world, stored, name="renamed").suggestion.name == "mine"
    for talk in ("one", "two"):
        worked(sqlite_world, "Deploy it", *DEPLOY, session_id=talk)
        do_due_jobs(sqlite_world.parts, kinds=DETECT)
    (seen,) = listed(sqlite_world)
    assert seen.suggestion.times > stored.suggestion.times
    assert (seen.suggestion_id, seen.state, seen.suggestion.name) == (stored.suggestion_id, SKIPPED, "mine")


def test_what_nobody_knows_the_skip_of_stays_skipped(sqlite_world: World) -> None:
    stored = offered(sqlite_world, "old", state=SKIPPED)
    sqlite_world.clock.advance(days=400)
    assert see(sqlite_world, stored).state is SKIPPED


def test_what_returns_may_be_told_in_new_words(sqlite_world: World) -> None:
    put_policy(sqlite_world, skip_threshold=2)
    stored = offered(sqlite_world, "ship-it", score=suggestion("x").score)
    skipped_now(sqlite_world, stored)
    better = replace(stored.suggestion.score, points=90)
    seen = see(sqlite_world, stored, description="Better.", score=better)
    assert (seen.state, seen.suggestion.description) == (WAITING, "Better.")


def test_skips_are_reset_one_by_one_or_all_at_once(world: World) -> None:
    first, second, third = (offered(world, name, pattern=name) for name in ("one", "two", "three"))
    put_policy(world, skip_threshold=2)
    for stored in (first, second):
        skipped_now(world, stored)
    counted = see(world, second)
    assert (counted.state, counted.times_skipped) == (WAITING, 1)

    def reset(name: str | None) -> dict[str, SuggestionState]:
        with acting(world) as (tx, saving):
            return {each.suggestion.name: each.state for each in reset_skips(tx, name, saving.act)}

    assert reset("one") == {"one": WAITING}
    assert current(world, first).times_skipped == 0
    assert reset("one") == reset(third.suggestion_id) == {}
    skipped_now(world, first)
    before = current(world, third)
    assert reset(None) == {"one": WAITING, "two": WAITING}
    assert [current(world, each).times_skipped for each in (first, second)] == [0, 0]
    assert current(world, third) == before
    assert reset(None) == {}
    with pytest.raises(NotFound):
        reset("nobody")


def test_a_saved_one_that_is_skipped_goes_when_drafts_are_curated(sqlite_world: World) -> None:
    put_policy(sqlite_world, skip_threshold=1)
    stored = offered(sqlite_world, "ship-it")
    kept(sqlite_world, stored)
    kept(sqlite_world, offered(sqlite_world, "plan-it", PLAN))
    skipped_now(sqlite_world, stored)
    curation = curated(sqlite_world)
    assert curation is not None
    assert [(action.kind.value, action.gone_name) for action in curation.actions] == [("skipped", "ship-it")]
    assert set(library(sqlite_world)) == {"plan-it"}
    assert set(library(sqlite_world, SkillState.DELETED)) == {"ship-it"}
    assert told(sqlite_world)[-1] == ("deleted", "ship-it")


@pytest.mark.parametrize("becomes", ["stays", "is merged", "is deleted"])
def test_what_is_a_skill_is_saved_again_when_its_skips_are_reset(sqlite_world: World, becomes: str) -> None:
    put_policy(sqlite_world, skip_threshold=2)
    stored, other = offered(sqlite_world, "ship-it"), offered(sqlite_world, "plan-it", PLAN)
    skill, into = kept(sqlite_world, stored), kept(sqlite_world, other)
    skipped_now(sqlite_world, stored)
    with acting(sqlite_world) as (tx, saving):
        move = {"is merged": SkillMove.MERGE, "is deleted": SkillMove.DELETE}.get(becomes)
        if move is not None:
            gone = skill.apply_move(move, at=saving.act.at, actor="me")
            kept_id = into.skill_id if move is SkillMove.MERGE else None
            tx.skills.update(replace(gone, merged_into=kept_id), expected_revision=skill.revision)
    with acting(sqlite_world) as (tx, saving):
        (reset,) = reset_skips(tx, "ship-it", saving.act)
        never = tx.suggestions.get(other.suggestion_id)
        assert decide(tx, never, SuggestionMove.RESET, saving.act) == never
    assert reset.state is (WAITING if becomes == "is deleted" else SuggestionState.SAVED)
    assert (reset.times_skipped, reset.skipped_at) == (0, None)


def test_a_look_at_everything_takes_nothing_back_that_a_skill_was_made_of(sqlite_world: World) -> None:
    put_policy(sqlite_world, skip_threshold=2)
    made = offered(sqlite_world, "made")
    kept(sqlite_world, made)
    skipped_now(sqlite_world, made)
    assert see(sqlite_world, made).state is WAITING
    waits = offered(sqlite_world, "waits", PLAN)
    later = sqlite_world.clock.advance(seconds=60)
    with acting(sqlite_world) as (tx, _saving):
        assert take_back(tx, frozenset(), later) == 1
    assert [each.suggestion.name for each in listed(sqlite_world)] == ["made"]
    with pytest.raises(NotFound):
        current(sqlite_world, waits)


def test_a_suggestion_never_gets_the_name_of_a_skill(sqlite_world: World) -> None:
    kept(sqlite_world, offered(sqlite_world, "mine"), name="fix-docker-biuld-is-not-command")
    put_policy(sqlite_world)
    worked(sqlite_world, "Deploy it", *SLIPPED)
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    assert {each.suggestion.name for each in listed(sqlite_world)} == {
        "mine",
        "fix-docker-biuld-is-not-command-2",
    }
