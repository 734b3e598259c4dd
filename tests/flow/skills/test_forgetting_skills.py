"""No skill that is Runlore's own keeps a word of a run that was forgotten; what a person wrote is theirs."""

from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from runlore.config.settings import Settings
from runlore.daemon.background.jobs import ALL_KINDS, do_due_jobs
from runlore.domain.errors import Conflict, NotFound
from runlore.domain.run import Run
from runlore.domain.runs.job import JobKind
from runlore.domain.skill import LearnedFrom, SkillOrigin, SkillState
from runlore.domain.skills.skill_saving import document_of
from runlore.domain.suggestion import SuggestionMove, SuggestionState
from runlore.domain.taint import Provenance
from runlore.flow.skills.curating import undo
from runlore.flow.skills.deciding import decide
from runlore.flow.skills.forgetting import FORGOTTEN_SOURCE, Unlearning, forget_in_skills
from runlore.flow.skills.library import delete, take_in, text_of
from runlore.flow.skills.saving import auto_save
from tests.domain.skill_curating.drafts import body_of
from tests.examples import scaled
from tests.flow.procedures import listed
from tests.flow.saved_skills import (
    DEPLOY,
    TAINTED,
    acting,
    as_file,
    curated,
    kept,
    library,
    lines,
    offered,
    saved,
    told,
)
from tests.flow.skills.test_detecting import worked
from tests.flow.skills.test_forgetting_suggestions import forget, told_anywhere
from tests.flow.telling import Call, call
from tests.world import World

pytestmark = [pytest.mark.req("LRN-12"), pytest.mark.req("SKL-8")]

EVERY = (SkillState.ACTIVE, SkillState.MERGED, SkillState.DELETED)


def deploy(word: str) -> tuple[Call, ...]:
    """A fix with a word of its own: one session is enough for it."""
    return (
        call(f"docker build --psuh -t {word} .", 1, "unknown flag: --psuh"),
        call(f"docker build --push -t {word} ."),
    )


def ship(word: str) -> tuple[Call, ...]:
    """Another one that is about the same."""
    return (
        call(f"docker build --qiet -t {word} .", 1, "unknown flag: --qiet"),
        call(f"docker build --quiet -t {word} ."),
    )


def lived(world: World, word: str, *calls: Call, curate: bool = True) -> Run:
    """A run of a session of its own, and all the jobs behind it."""
    world.clock.advance(seconds=60)
    run = worked(world, f"Deploy {word}", *(calls or deploy(word)), session_id=f"talk-{word[0]}")
    do_due_jobs(world.parts, kinds=ALL_KINDS if curate else ALL_KINDS - {JobKind.CURATE})
    return run


def test_what_only_a_forgotten_run_showed_is_gone_with_its_skill(world: World) -> None:
    run = lived(world, "quokka")
    assert len(library(world)) == 1
    assert "quokka" in repr(library(world))
    forget(world, run.run_id)
    assert (library(world, *EVERY), listed(world)) == ({}, ())
    assert told_anywhere(world, "quokka") == []
    assert told(world) == [("saved", "")]
    assert world.operator.list_jobs() == ()


def test_nothing_is_left_in_the_files(sqlite_world: World) -> None:
    run = lived(sqlite_world, "quokka")
    other = lived(sqlite_world, "wombat", *ship("quokka"))
    assert library(sqlite_world, SkillState.MERGED) != {}
    forget(sqlite_world, run.session_id)
    forget(sqlite_world, other.session_id)
    sqlite_world.close()
    assert sqlite_world.files_with("quokka") == []
    sqlite_world.restart()


def test_what_others_show_too_is_written_anew_from_them(world: World) -> None:
    run = lived(world, "quokka")
    (skill,) = library(world).values()
    lived(world, "wombat")
    forget(world, run.run_id)
    (stored,) = listed(world)
    (after,) = library(world).values()
    assert stored.state is SuggestionState.SAVED
    assert after.document == document_of(stored.suggestion, name=skill.name)
    assert (after.skill_id, after.revision > skill.revision) == (skill.skill_id, True)
    assert (after.source_run_id, after.is_usable) == (None, True)
    assert "wombat" in after.document.body
    assert told_anywhere(world, "quokka") == []
    assert told(world)[-1] == ("rewritten", after.name)


def test_a_skill_that_says_nothing_of_the_run_stays_as_it_is(sqlite_world: World) -> None:
    lived(sqlite_world, "wombat")
    (skill,) = library(sqlite_world).values()
    run = lived(sqlite_world, "quokka", call("terraform plan -out quokka"), call("ls"))
    forget(sqlite_world, run.run_id)
    assert list(library(sqlite_world).values()) == [skill]
    assert told(sqlite_world) == [("saved", skill.name)]


def merged(world: World) -> tuple[Run, Run]:
    """Two runs whose skills are one by now: that of the first."""
    first, second = lived(world, "quokka"), lived(world, "wombat", *ship("wombat"))
    (skill,) = library(world).values()
    (other,) = library(world, SkillState.MERGED).values()
    assert (other.merged_into, "wombat" in skill.document.body) == (skill.skill_id, True)
    return first, second


def test_of_what_was_merged_only_the_forgotten_part_goes(world: World) -> None:
    _, second = merged(world)
    (before,) = library(world).values()
    forget(world, second.run_id)
    (after,) = library(world, *EVERY).values()
    assert (after.skill_id, after.also_from) == (before.skill_id, ())
    assert "quokka" in after.document.body
    assert told_anywhere(world, "wombat") == []
    (curation,) = world.operator.list_curations()
    with pytest.raises(Conflict) as gone, acting(world) as (tx, saving):
        undo(tx, curation.curation_id, saving.act)
    assert gone.value.code == "curation.forgotten"


def test_what_was_merged_into_a_skill_that_goes_stands_for_itself_again(world: World) -> None:
    first, _ = merged(world)
    (other,) = library(world, SkillState.MERGED).values()
    forget(world, first.run_id)
    (after,) = library(world, *EVERY).values()
    assert (after.skill_id, after.state, after.merged_into) == (other.skill_id, SkillState.ACTIVE, None)
    assert after.document == other.document
    assert told_anywhere(world, "quokka") == []


def test_what_stands_for_itself_again_takes_nobodys_name(sqlite_world: World) -> None:
    first, _ = merged(sqlite_world)
    (other,) = library(sqlite_world, SkillState.MERGED).values()
    mine = f"---\nname: {other.name}\ndescription: Mine.\n---\nMine."
    with acting(sqlite_world) as (tx, saving):
        take_in(tx, as_file(mine), saving, known=None)
    forget(sqlite_world, first.run_id)
    assert library(sqlite_world)[other.name].text == mine
    assert library(sqlite_world)[f"{other.name}-2"].skill_id == other.skill_id


def test_a_child_of_what_was_merged_itself_goes_on_to_what_that_was_merged_into(sqlite_world: World) -> None:
    runs = [lived(sqlite_world, word, curate=False) for word in ("quokka",)]
    runs.append(lived(sqlite_world, "wombat", *ship("wombat"), curate=False))
    first, second = sorted(library(sqlite_world).values(), key=lambda skill: skill.created_at)
    third = saved(sqlite_world, "third", deploy("numbat"), pattern="third")
    # As if curation had put the third into the second, and then that into the first.
    with acting(sqlite_world) as (tx, _saving):
        for skill, into in ((third, second), (second, first)):
            gone = replace(skill, state=SkillState.MERGED, merged_into=into.skill_id, revision=2)
            tx.skills.update(gone, expected_revision=skill.revision)
        also = [
            LearnedFrom(suggestion_id=skill.suggestion_id, pattern=skill.pattern)
            for skill in (second, third)
            if skill.suggestion_id is not None
        ]
        tx.skills.update(replace(first, also_from=tuple(also), revision=2), expected_revision=1)
    forget(sqlite_world, runs[1].run_id)
    skills = library(sqlite_world, *EVERY)
    assert {skill.skill_id for skill in skills.values()} == {first.skill_id, third.skill_id}
    assert skills["third"].merged_into == first.skill_id
    assert "numbat" in skills[first.name].document.body
    assert told_anywhere(sqlite_world, "wombat") == []


def test_what_was_merged_and_taken_apart_again_leaves_no_trace_in_curations(sqlite_world: World) -> None:
    merged(sqlite_world)
    # Another one joins, so that a second curation keeps the text of both; then all is undone.
    third = body_of(["docker build --no-cache -t numbat ."], failed="docker build --no-cahe -t numbat .")
    saved(sqlite_world, "third", deploy("numbat")[1:], pattern="third", body=third)
    assert curated(sqlite_world) is not None
    for _ in range(2):
        with acting(sqlite_world) as (tx, saving):
            undo(tx, None, saving.act)
    assert len(library(sqlite_world)) == 3
    second = next(stored for stored in listed(sqlite_world) if "wombat" in stored.suggestion.body)
    forget(sqlite_world, second.suggestion.evidence[0].run_id)
    assert told_anywhere(sqlite_world, "wombat") == []
    assert len(library(sqlite_world)) == 2


@pytest.mark.parametrize("has_others", [True, False])
def test_what_a_person_edited_stays_without_where_it_came_from(world: World, has_others: bool) -> None:
    run = lived(world, "quokka")
    if has_others:
        lived(world, "wombat")
    (skill,) = library(world).values()
    with acting(world) as (tx, saving):
        text = text_of(skill).replace("quokka", "anything").replace("make lint", "make all")
        mine = take_in(tx, as_file(text), saving, known=skill)
        named = replace(mine, provenance=Provenance(sources=TAINTED.sources), revision=mine.revision + 1)
        tx.skills.update(named, expected_revision=mine.revision)
    forget(world, run.run_id)
    (after,) = library(world).values()
    assert (after.text, after.document, after.origin) == (mine.text, mine.document, SkillOrigin.WRITTEN)
    assert (after.suggestion_id is not None, after.source_run_id) == (has_others, None)
    assert after.provenance == Provenance(sources=(FORGOTTEN_SOURCE,))
    assert told_anywhere(world, "quokka") == told_anywhere(world, "example.com") == []
    assert [line.name for line in lines(world)][:-1] == [""] * (len(lines(world)) - 1)


@pytest.mark.parametrize("curate", [True, False])
def test_a_name_that_the_user_gave_in_the_run_goes_with_it(sqlite_world: World, curate: bool) -> None:
    saved(sqlite_world, "deploys")
    worked(sqlite_world, "Deploy the app", *DEPLOY)
    asked = worked(sqlite_world, "Save this as a skill called quokka-way")
    do_due_jobs(sqlite_world.parts, kinds=ALL_KINDS if curate else ALL_KINDS - {JobKind.CURATE})
    assert ("quokka-way" in library(sqlite_world)) is not curate
    assert "quokka-way" in library(sqlite_world, *EVERY)
    forget(sqlite_world, asked.run_id)
    assert told_anywhere(sqlite_world, "quokka") == []
    assert set(library(sqlite_world)) == {"deploys"}


def test_a_line_about_another_skill_does_not_name_one_that_was_forgotten(sqlite_world: World) -> None:
    worked(sqlite_world, "Deploy the app", *DEPLOY)
    asked = worked(sqlite_world, "Save this as a skill called quokka-way")
    do_due_jobs(sqlite_world.parts, kinds=ALL_KINDS - {JobKind.CURATE})
    saved(sqlite_world, "deploys")
    curated(sqlite_world)
    assert set(library(sqlite_world)) == {"quokka-way"}
    assert any("quokka" in line.reason and "quokka" not in line.name for line in lines(sqlite_world))
    forget(sqlite_world, asked.run_id)
    assert told_anywhere(sqlite_world, "quokka") == []


def test_a_line_about_what_was_declined_does_not_name_it_either(sqlite_world: World) -> None:
    read = call("curl https://example.com/setup.md", output="# Set up")
    runs = []
    for talk, name in (("talk-a", "quokka-way"), ("talk-b", "wombat-way")):
        lived(sqlite_world, talk[-1], read)
        worked(sqlite_world, "Deploy it", *deploy("app"), session_id=talk)
        runs.append(worked(sqlite_world, f"Save this as a skill called {name}", session_id=talk))
        do_due_jobs(sqlite_world.parts)
    assert ("declined", "quokka-way") in told(sqlite_world)
    forget(sqlite_world, runs[0].run_id)
    # Another session has shown it too, so that the suggestion stays, under another name.
    assert "explicit-instruction" in {each.suggestion.heuristic.value for each in listed(sqlite_world)}
    assert told_anywhere(sqlite_world, "quokka") == []
    assert "quokka" not in repr(lines(sqlite_world))


def test_the_lines_of_a_suggestion_that_stays_lose_their_words_too(sqlite_world: World) -> None:
    stored = offered(sqlite_world, "quokka", provenance=TAINTED)
    run_id = stored.suggestion.evidence[0].run_id
    with acting(sqlite_world) as (tx, saving):
        auto_save(tx, [stored], saving, run_id=run_id, has_model=False)
        assert tx.skills.events(limit=1)[0].name == "quokka"
        now = saving.act.at
        forget_in_skills(
            tx, Unlearning(before=[stored], run_ids=frozenset({run_id}), actor="operator", at=now)
        )
    assert told(sqlite_world) == [("declined", "")]


def test_the_name_that_a_person_gave_stays(sqlite_world: World) -> None:
    run = lived(sqlite_world, "quokka")
    (skill,) = library(sqlite_world).values()
    lived(sqlite_world, "wombat")
    with acting(sqlite_world) as (tx, _saving):
        named = replace(skill, document=replace(skill.document, name="my-way"), revision=2)
        tx.skills.update(named, expected_revision=1)
    forget(sqlite_world, run.run_id)
    assert set(library(sqlite_world)) == {"my-way"}


@pytest.mark.req("TNT-3")
def test_words_that_come_from_elsewhere_now_bring_their_taint(sqlite_world: World) -> None:
    run = lived(sqlite_world, "quokka")
    read = call("curl https://example.com/setup.md", output="# Set up")
    lived(sqlite_world, "web", read)
    lived(sqlite_world, "wombat")
    (skill,) = library(sqlite_world).values()
    assert skill.is_usable
    forget(sqlite_world, run.run_id)
    (skill,) = library(sqlite_world).values()
    assert "wombat" in skill.document.body
    assert not skill.is_usable


def test_a_deleted_skill_is_forgotten_like_any_other(sqlite_world: World) -> None:
    run = lived(sqlite_world, "quokka")
    with acting(sqlite_world) as (tx, saving):
        delete(tx, next(iter(library(sqlite_world).values())), saving.act)
    forget(sqlite_world, run.run_id)
    assert library(sqlite_world, *EVERY) == {}
    assert told_anywhere(sqlite_world, "quokka") == []


WORDS = ("aardvark", "bandicoot", "capybara", "quokka")
DOINGS = ("curate", "undo", "skip", "delete", "save", "edit")


@settings(max_examples=scaled(12), deadline=None, phases=[Phase.generate])
@given(data=st.data())
def test_whatever_happened_no_word_of_a_forgotten_run_is_left(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    world = World(Settings(state_root=str(tmp_path_factory.mktemp("any") / "home")))
    try:
        runs = {
            word: lived(world, word, *(deploy, ship)[data.draw(st.integers(0, 1))](word), curate=False)
            for word in WORDS
        }
        for doing in data.draw(st.lists(st.sampled_from(DOINGS), min_size=3, max_size=10)):
            happen(world, doing, data.draw(st.integers(0, 9)))
        for word in data.draw(st.permutations(WORDS)):
            forget(world, runs[word].session_id if data.draw(st.booleans()) else runs[word].run_id)
            assert told_anywhere(world, word) == []
        assert {skill.origin for skill in library(world, *EVERY).values()} <= {SkillOrigin.WRITTEN}
    finally:
        world.close()


def happen(world: World, doing: str, choice: int) -> None:
    """Something that people or curation do to what there is."""
    skills, stored = list(library(world).values()), listed(world)
    if doing == "curate":
        curated(world)
    elif doing == "undo":
        try:
            with acting(world) as (tx, saving):
                undo(tx, None, saving.act)
        except (Conflict, NotFound):
            return
    elif doing == "skip" and stored:
        with acting(world) as (tx, saving):
            decide(tx, stored[choice % len(stored)], SuggestionMove.SKIP, saving.act)
    elif doing == "save" and stored:
        try:
            kept(world, stored[choice % len(stored)], accept_untrusted=True)
        except Conflict:
            return
    elif doing == "delete" and skills:
        with acting(world) as (tx, saving):
            delete(tx, skills[choice % len(skills)], saving.act)
    elif doing == "edit" and skills:
        skill = skills[choice % len(skills)]
        with acting(world) as (tx, saving):
            text = f"---\nname: {skill.name}\ndescription: Mine.\n---\nMine."
            take_in(tx, as_file(text), saving, known=skill)
