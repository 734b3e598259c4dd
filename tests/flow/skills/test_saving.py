"""A suggestion becomes a skill because somebody says so: once, under a name of its own, with its taint."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from runlore.domain.errors import Conflict, Invalid, Refused
from runlore.domain.run import RunId
from runlore.domain.skill import Quality, SkillOrigin, SkillState
from runlore.domain.skills.skill_saving import document_of
from runlore.domain.suggestion import StoredSuggestion, SuggestionMove, SuggestionState
from runlore.domain.taint import Provenance
from runlore.flow.skills.deciding import decide
from runlore.flow.skills.library import delete, import_skill, text_of
from tests.flow.saved_skills import (
    PLAN,
    TAINTED,
    acting,
    as_file,
    curated,
    current,
    kept,
    library,
    lines,
    offered,
    told,
)
from tests.world import World

pytestmark = pytest.mark.req("SKL-8")


def test_what_is_saved_is_a_draft_that_says_what_the_suggestion_said(world: World) -> None:
    stored = offered(world, "ship-it")
    world.clock.advance(seconds=5)
    skill = kept(world, stored, run_id=RunId("run"))
    assert skill.document == document_of(stored.suggestion)
    assert (skill.origin, skill.document.quality, skill.document.version, skill.document.author) == (
        SkillOrigin.LEARNED,
        Quality.DRAFT,
        "1.0.0",
        "runlore",
    )
    assert (skill.suggestion_id, skill.pattern, skill.source_run_id) == (
        stored.suggestion_id,
        stored.suggestion.pattern,
        "run",
    )
    assert skill.created_at == world.clock.now()
    assert skill.is_usable
    assert not skill.document.auto_load
    assert library(world) == {"ship-it": skill}
    assert as_file(text_of(skill), "ship-it").document.body == stored.suggestion.body
    after = current(world, stored)
    assert (after.state, after.state_actor, after.suggestion) == (
        SuggestionState.SAVED,
        "operator",
        stored.suggestion,
    )
    (line,) = lines(world)
    assert (line.kind, line.name, line.actor, line.skill_id, line.suggestion_id) == (
        "saved",
        "ship-it",
        "operator",
        skill.skill_id,
        stored.suggestion_id,
    )


def test_the_same_again_gives_the_same_skill_and_writes_nothing(sqlite_world: World) -> None:
    stored = offered(sqlite_world, "ship-it")
    skill = kept(sqlite_world, stored)
    before = sqlite_world.tables()
    assert kept(sqlite_world, stored) == kept(sqlite_world, stored, name="ship-it") == skill
    assert sqlite_world.tables() == before


def test_a_person_may_call_it_otherwise_but_not_twice(sqlite_world: World) -> None:
    stored = offered(sqlite_world, "procedure-docker")
    skill = kept(sqlite_world, stored, name="ship-it")
    assert (skill.name, skill.document) == ("ship-it", document_of(stored.suggestion, name="ship-it"))
    assert told(sqlite_world) == [("saved", "ship-it")]
    with pytest.raises(Conflict, match="was saved as ship-it before"):
        kept(sqlite_world, stored, name="other")
    assert kept(sqlite_world, stored) == skill


@pytest.mark.parametrize("name", ["Ship", "../x", "", "con", "a" * 65, "a--b", "-a"])
def test_a_name_that_cannot_be_a_folder_is_refused(sqlite_world: World, name: str) -> None:
    stored = offered(sqlite_world, "ship-it")
    before = sqlite_world.tables()
    if not name:
        assert kept(sqlite_world, stored, name=name).name == "ship-it"
        return
    with pytest.raises(Invalid) as refused:
        kept(sqlite_world, stored, name=name)
    assert refused.value.code == "skill.name"
    assert sqlite_world.tables() == before


def test_nothing_takes_the_name_of_another_skill_or_suggestion(world: World) -> None:
    kept(world, offered(world, "taken"))
    offered(world, "waits", PLAN)
    stored = offered(world, "mine", PLAN, pattern="another")
    before = world.tables()
    for name in ("taken", "waits"):
        with pytest.raises(Conflict) as refused:
            kept(world, stored, name=name)
        assert refused.value.code == "skill.exists"
        assert world.tables() == before
    assert kept(world, stored).name == "mine"


@pytest.mark.req("TNT-2")
def test_what_is_tainted_is_refused_with_its_sources_until_somebody_has_read_it(world: World) -> None:
    stored = offered(world, "ship-it", provenance=TAINTED)
    before = world.tables()
    with pytest.raises(Refused) as refused:
        kept(world, stored)
    assert refused.value.code == "skill.tainted"
    assert "https://example.com/setup" in refused.value.sentence
    assert "--accept-untrusted" in refused.value.hint
    assert world.tables() == before
    skill = kept(world, stored, accept_untrusted=True)
    assert skill.provenance == Provenance(sources=TAINTED.sources)
    assert kept(world, stored) == skill


@pytest.mark.req("TNT-2")
def test_many_sources_are_told_in_a_sentence_that_can_be_read(sqlite_world: World) -> None:
    many = replace(TAINTED, sources=tuple(f"https://example.com/{number}" for number in range(60)))
    stored = offered(sqlite_world, "ship-it", provenance=many)
    with pytest.raises(Refused, match="and 55 more"):
        kept(sqlite_world, stored)


def _deleted(world: World, stored: StoredSuggestion) -> None:
    with acting(world) as (tx, saving):
        delete(tx, tx.skills.of_suggestions([stored.suggestion_id])[0], saving.act)


def _skipped(world: World, stored: StoredSuggestion) -> None:
    with acting(world) as (tx, saving):
        decide(tx, tx.suggestions.get(stored.suggestion_id), SuggestionMove.SKIP, saving.act)


def _skipped_and_curated(world: World, stored: StoredSuggestion) -> None:
    _skipped(world, stored)
    assert curated(world) is not None
    assert library(world) == {}


@pytest.mark.parametrize("happens", [_deleted, _skipped, _skipped_and_curated])
def test_what_was_taken_away_comes_back_when_it_is_saved_again(
    sqlite_world: World, happens: Callable[[World, StoredSuggestion], None]
) -> None:
    stored = offered(sqlite_world, "ship-it")
    first = kept(sqlite_world, stored)
    happens(sqlite_world, stored)
    again = kept(sqlite_world, stored)
    assert (again.skill_id, again.document, again.state) == (
        first.skill_id,
        first.document,
        SkillState.ACTIVE,
    )
    after = current(sqlite_world, stored)
    assert (after.state, after.times_skipped, after.skipped_at) == (SuggestionState.SAVED, 0, None)


def test_what_was_merged_is_saved_as_what_it_was_merged_into(sqlite_world: World) -> None:
    first = offered(sqlite_world, "first")
    kept(sqlite_world, first)
    sqlite_world.clock.advance(seconds=1)
    second = offered(sqlite_world, "second", pattern="other")
    kept(sqlite_world, second)
    assert curated(sqlite_world) is not None
    assert kept(sqlite_world, second) == library(sqlite_world)["first"]
    _deleted(sqlite_world, first)
    # What it was merged into is gone too: then it stands for itself.
    again = kept(sqlite_world, second)
    assert (again.name, again.state, again.merged_into) == ("second", SkillState.ACTIVE, None)
    assert told(sqlite_world)[-1] == ("restored", "second")


def test_one_that_comes_back_does_not_take_a_name_that_is_anothers_by_now(sqlite_world: World) -> None:
    stored = offered(sqlite_world, "ship-it")
    kept(sqlite_world, stored, name="shipping")
    _deleted(sqlite_world, stored)
    with acting(sqlite_world) as (tx, saving):
        import_skill(
            tx, as_file("---\nname: shipping\ndescription: Ships.\n---\n\nShip."), saving, source="x"
        )
    with pytest.raises(Conflict) as refused:
        kept(sqlite_world, stored)
    assert refused.value.code == "skill.exists"


def test_what_says_nothing_any_more_cannot_be_saved(sqlite_world: World) -> None:
    stored = offered(sqlite_world, "ship-it", body="", description="")
    before = sqlite_world.tables()
    with pytest.raises(Invalid):
        kept(sqlite_world, stored)
    assert sqlite_world.tables() == before
