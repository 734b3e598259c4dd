"""What people have put back is left as it is by itself, and one curation never stands in another's way."""

from dataclasses import replace

import pytest

from runlore.daemon.background.jobs import do_due_jobs
from runlore.domain.errors import Conflict, NotFound
from runlore.domain.record import JsonObject
from runlore.domain.skill import SkillState
from runlore.domain.suggestion import SuggestionMove, SuggestionState
from runlore.flow.skills.deciding import decide
from runlore.flow.skills.library import delete, get_deleted_skill, restore
from runlore.ports.model import Question
from tests.fakes import ScriptedModels
from tests.flow.saved_skills import DEPLOY, PLAN, acting, curated, library, saved, told
from tests.flow.skills.test_curating import CURATE, MORE, chain, put_skills, queued, undone
from tests.flow.telling import call
from tests.world import World

pytestmark = pytest.mark.req("SKL-9")


def curated_by_itself(world: World) -> set[str]:
    """The skills after the next session that saved something."""
    world.clock.advance(seconds=60)
    queued(world)
    do_due_jobs(world.parts, kinds=CURATE)
    return set(library(world))


def skipped(world: World, name: str) -> None:
    """Have a suggestion skipped."""
    with acting(world) as (tx, saving):
        stored = tx.suggestions.find(name=name)
        assert stored is not None
        decide(tx, stored, SuggestionMove.SKIP, saving.act)


def state_of(world: World, name: str) -> SuggestionState:
    """Where a suggestion stands."""
    with world.parts.store.snapshot() as snapshot:
        stored = snapshot.suggestions.find(name=name)
    assert stored is not None
    return stored.state


def test_what_was_put_apart_is_not_merged_again_by_itself(world: World) -> None:
    chain(world)
    curated(world)
    undone(world)
    everything = {"ship-0", "ship-1", "ship-2", "plan-it"}

    assert curated_by_itself(world) == everything
    # What is new joins the first that it is like; the others stay as they are.
    saved(world, "ship-3", (*DEPLOY, *MORE)[1:5], pattern="three")
    assert curated_by_itself(world) == everything
    # Whoever asks for it gets it.
    assert curated(world) is not None
    assert len(library(world)) == 2


def test_of_two_with_one_text_that_were_put_apart_none_goes_by_itself(sqlite_world: World) -> None:
    body = saved(sqlite_world, "plan-it", PLAN).document.body
    saved(sqlite_world, "twin", PLAN, body=body, pattern="twin")
    curated(sqlite_world)
    undone(sqlite_world)

    assert curated_by_itself(sqlite_world) == {"plan-it", "twin"}
    saved(sqlite_world, "third", PLAN, body=body, pattern="third")
    assert curated_by_itself(sqlite_world) == {"plan-it", "twin"}


def test_what_was_pruned_and_put_back_is_not_pruned_again_by_itself(sqlite_world: World) -> None:
    put_skills(sqlite_world, curation={"auto_prune": True, "staleness_days": 10})
    saved(sqlite_world, "old")
    sqlite_world.clock.advance(days=11)
    curated(sqlite_world)
    assert library(sqlite_world) == {}
    undone(sqlite_world)

    assert curated_by_itself(sqlite_world) == {"old"}
    assert curated(sqlite_world) is not None


@pytest.mark.req("SKL-6")
@pytest.mark.parametrize("by", ["undoing", "restoring"])
def test_a_skipped_skill_that_somebody_brings_back_stays(world: World, by: str) -> None:
    saved(world, "ship-it")
    skipped(world, "ship-it")
    curated(world)
    assert library(world) == {}
    if by == "undoing":
        undone(world)
    else:
        with acting(world) as (tx, saving):
            restore(tx, get_deleted_skill(tx, "ship-it"), saving.act)

    assert state_of(world, "ship-it") is SuggestionState.SAVED
    assert curated(world) is None
    assert curated_by_itself(world) == {"ship-it"}
    # It can be skipped anew.
    skipped(world, "ship-it")
    assert curated(world) is not None


@pytest.mark.req("LRN-12")
def test_a_forgotten_curation_stands_in_the_way_of_no_other(world: World) -> None:
    chain(world)
    first = curated(world)
    assert first is not None
    world.clock.advance(seconds=5)
    pair = [saved(world, name, PLAN, pattern=name).skill_id for name in ("plan-a", "plan-b")]
    second = curated(world)
    assert second is not None
    with acting(world) as (tx, _saving):
        ids = sorted({skill.skill_id for skill in second.before})
        assert set(pair) <= set(ids)
        tx.skills.delete(ids)

    undone(world)

    with world.parts.store.snapshot() as snapshot:
        assert snapshot.curations.get(first.curation_id).undone_at is not None
    with pytest.raises(NotFound):
        undone(world)
    with pytest.raises(Conflict) as gone:
        undone(world, second.curation_id)
    assert gone.value.code == "curation.forgotten"


def test_a_skill_that_was_deleted_and_brought_back_is_no_later_change(world: World) -> None:
    chain(world)
    curated(world)
    with acting(world) as (tx, saving):
        delete(tx, library(world)["ship-0"], saving.act)
    with pytest.raises(Conflict):
        undone(world)
    with acting(world) as (tx, saving):
        restore(tx, get_deleted_skill(tx, "ship-0"), saving.act)

    undone(world)

    assert set(library(world)) == {"ship-0", "ship-1", "ship-2", "plan-it"}
    assert library(world, SkillState.MERGED) == {}


def test_undoing_twice_under_one_key_undoes_one(world: World) -> None:
    chain(world)
    curated(world)
    world.clock.advance(seconds=5)
    saved(world, "plan-more", (*PLAN, call("terraform show")), pattern="more")
    assert curated(world) is not None
    undo = world.operator.undo_curation

    once = undo(None, idempotency_key="the second")
    again = undo(None, idempotency_key="the second")

    assert once == again
    assert set(library(world)) == {"ship-0", "plan-it", "plan-more"}
    undo(None, idempotency_key="the first")
    assert len(library(world)) == 5
    assert told(world)[-1][0] == "restored"


def test_a_model_is_told_nobodys_address(sqlite_world: World) -> None:
    for name in ("tell-a", "tell-b"):
        saved(sqlite_world, name, description="Log in as eve@example.org.", pattern=name)
    asked: list[Question] = []

    def comments(question: Question) -> JsonObject:
        asked.append(question)
        return {"comment": "Both ship."}

    queued(sqlite_world)
    do_due_jobs(replace(sqlite_world.parts, models=ScriptedModels(comments)), kinds=CURATE)

    assert len(asked) == 1
    assert "Log in as" in str(asked[0].document)
    assert "eve@example.org" not in str(asked[0].document)
