"""The words that people wrote into files of skills, whatever becomes of the store, and those that somebody
wanted gone, wherever they stand."""

import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.background.jobs import ALL_KINDS, do_due_jobs
from runlore.daemon.skills.file_differences import FileDifference
from runlore.domain.errors import Unavailable
from runlore.domain.skill import SkillOrigin
from runlore.ports import operations as ops
from tests.flow.saved_skills import offered
from tests.flow.skill_shelf import (
    brought_in,
    files,
    library_on,
    operator_on,
    put_by_hand,
    rows,
    saved,
    skill_file,
    skill_text,
)
from tests.flow.skills.test_curating import chain, put_skills
from tests.flow.skills.test_detecting import worked
from tests.flow.skills.test_forgetting_skills import deploy, lived
from tests.flow.skills.test_forgetting_suggestions import forget
from tests.skill_files.disks import WatchedDisk
from tests.world import World

pytestmark = pytest.mark.req("SKL-8")
FIRST, SECOND = skill_text("old", "As it was."), skill_text("old", "As it is by now.")


def listed(world: World) -> dict[str, object]:
    """What the list of skipped suggestions says."""
    told: dict[str, object] = json.loads((world.root / "skills" / ".skipped.json").read_text())["skipped"]
    return told


def written_since_a_backup(world: World) -> Path:
    """A backup, and files that people have written and Runlore has read in since then. All is closed."""
    put_by_hand(world, "old", FIRST)
    saved(world, "learned")
    world.parts.library.refresh()
    backup = Path(world.operator.backup(str(world.root.parent / "backup")).path)
    put_by_hand(world, "old", SECOND)
    put_by_hand(world, "newer")
    saved(world, "learned-since")
    world.parts.library.refresh()
    assert files(world) == rows(world)
    world.close()
    return backup


def without_the_database(world: World) -> None:
    for path in world.root.glob("*.db*"):
        path.unlink()


def test_a_store_that_was_put_back_from_a_backup_takes_no_word_of_a_file(sqlite_world: World) -> None:
    world = sqlite_world
    backup = written_since_a_backup(world)
    before = files(world)
    without_the_database(world)
    world.restart()
    world.operator.restore_backup(str(backup))

    world.operator.list_skills(ops.SkillsRequest())

    assert files(world) == before
    # The one that says something else in either place waits for somebody to look.
    differing = world.parts.library.look()
    assert [(each.name, each.difference) for each in differing] == [("old", FileDifference.CONTESTED)]
    assert rows(world) == {**before, "old": FIRST}
    assert world.operator.get_skill("learned").origin is SkillOrigin.LEARNED
    skill_file(world, "old").unlink()
    world.parts.library.refresh()
    assert files(world) == rows(world) == {**before, "old": FIRST}


def test_a_copy_of_the_database_that_was_put_back_takes_no_hand_written_word(sqlite_world: World) -> None:
    world = sqlite_world
    put_by_hand(world, "old", FIRST)
    brought_in(world, "brought")
    world.parts.library.refresh()
    world.close()
    copied = world.root.parent / "copied"
    copied.mkdir()
    for path in world.root.glob("*.db*"):
        shutil.copy(path, copied)
    world.restart()
    put_by_hand(world, "old", SECOND)
    put_by_hand(world, "newer")
    brought_in(world, "brought-since")
    world.parts.library.refresh()
    before = files(world)
    world.close()
    without_the_database(world)
    for path in copied.iterdir():
        shutil.copy(path, world.root)

    world.restart()
    world.operator.list_skills(ops.SkillsRequest())

    assert files(world) == before
    assert rows(world) == {**before, "old": FIRST}
    assert not world.operator.get_skill("brought-since").is_usable


def test_an_empty_store_reads_all_files_in(sqlite_world: World) -> None:
    world = sqlite_world
    written_since_a_backup(world)
    before = files(world)
    without_the_database(world)
    world.restart()
    world.operator.list_skills(ops.SkillsRequest())

    assert files(world) == rows(world) == before


def test_another_database_for_a_moment_costs_nothing(sqlite_world: World, postgres_database: str) -> None:
    world = sqlite_world
    put_by_hand(world, "mine", FIRST)
    learned, there = saved(world, "learned"), saved(world, "both")
    world.parts.library.refresh()
    before = files(world)
    world.close()
    elsewhere = World(Settings(state_root=str(world.root), database_url=postgres_database))
    elsewhere.operator.list_skills(ops.SkillsRequest())
    assert files(elsewhere) == rows(elsewhere) == before
    elsewhere.operator.delete_skill("both")
    saved(elsewhere, "both", body="Said there.")
    elsewhere.close()

    world.restart()
    world.parts.library.refresh()

    assert files(world) == rows(world) == before
    assert world.operator.get_skill("learned") == learned
    assert world.operator.get_skill("both") == there


def test_what_was_edited_on_one_machine_replaces_what_was_read_in_on_the_other(postgres_world: World) -> None:
    world = postgres_world
    other = world.another()
    there = Path(other.parts.state_root)
    for number, (root, library) in enumerate(
        [(world.root, world.parts.library), (there, other.parts.library)] * 3
    ):
        put_by_hand(world, "release", skill_text("release", f"Said by {number}."), root)
        library.refresh()
        for each in (world.parts.library, other.parts.library):
            each.refresh()
        assert files(world) == files(world, there) == rows(world)
    other.delete_skill("release")
    world.parts.library.refresh()
    assert files(world) == files(world, there) == {}


@pytest.mark.parametrize("is_by_hand", [True, False])
def test_the_file_of_a_deleted_skill_that_could_not_be_removed_goes_later(
    sqlite_world: World, is_by_hand: bool
) -> None:
    world = sqlite_world
    put_by_hand(world, "mine") if is_by_hand else saved(world, "mine")
    world.parts.library.refresh()
    operator_on(world, disk=WatchedDisk(_refuses_removal)).delete_skill("mine")
    assert list(files(world)) == ["mine"]

    world.parts.library.refresh()

    assert files(world) == rows(world) == {}


def _refuses_removal(call: str, name: str) -> None:
    if (call, name) == ("rename", ".SKILL.md.gone"):
        raise OSError(30, "read-only", name)


def meddled(times: int, step: tuple[str, str], act: Callable[[], object]) -> WatchedDisk:
    """A disk on which somebody does something right before a step comes for so many times."""
    passed: list[tuple[str, str]] = []

    def before(call: str, name: str) -> None:
        if (call, name) == step:
            passed.append(step)
            if len(passed) == times:
                act()

    return WatchedDisk(before)


def test_what_an_editor_saves_again_and_again_is_read_in(sqlite_world: World) -> None:
    world = sqlite_world
    path = put_by_hand(world, "mine", FIRST.replace("old", "mine"))
    library = library_on(world)
    library.refresh()
    for number in range(3):
        path.write_text(path.read_text() + f"{number}\n")
        # It is opened to be read in, and again to be noted as what is stored.
        saving = meddled(2, ("open_file", "SKILL.md"), lambda: path.write_text(f"{path.read_text()}more\n"))
        library_on(world, disk=saving).refresh()
        library.refresh()

    assert path.read_text().count("more") == 3
    assert files(world) == rows(world)
    assert library.look() == ()


def test_a_forgetting_is_not_blamed_for_what_another_has_just_changed(sqlite_world: World) -> None:
    world = sqlite_world
    run = lived(world, "quokka", curate=False)
    chain(world)
    world.parts.library.refresh()

    def change_others() -> None:
        with world.parts.store.transaction() as tx:
            for skill in tx.skills.active():
                said = replace(skill.document, description=f"Said elsewhere: {skill.revision}.")
                changed = replace(skill, document=said, revision=skill.revision + 1)
                tx.skills.update(changed, expected_revision=skill.revision)

    def before(call: str, name: str) -> None:
        # Again and again, so that no look behind it finds them settled.
        if (call, name) in (("rename", ".SKILL.md.gone"), ("rename", ".written.json")):
            change_others()

    world.parts = replace(world.parts, library=library_on(world, disk=WatchedDisk(before)))

    forget(world, run.run_id)

    assert "Said elsewhere" in str(rows(world))
    assert "quokka" not in str(files(world))


@pytest.mark.req("LRN-12")
def test_a_forgetting_says_where_its_words_stay_in_a_file_that_nobody_can_read(sqlite_world: World) -> None:
    world = sqlite_world
    run = lived(world, "quokka", curate=False)
    (name,) = files(world)
    path = skill_file(world, name)
    path.write_text(path.read_text().replace("description:", "descriptio:"))

    with pytest.raises(Unavailable) as problem:
        forget(world, run.run_id)

    assert problem.value.code == "skill.file-left"
    assert name in problem.value.sentence
    assert "move its folder" in problem.value.hint
    assert rows(world) == {}


@pytest.mark.req("SKL-6", "LRN-12")
@pytest.mark.parametrize("is_writable", [True, False])
def test_a_forgotten_suggestion_leaves_the_list_of_what_is_skipped(
    sqlite_world: World, is_writable: bool
) -> None:
    world = sqlite_world
    put_skills(world, auto_save={"enabled": False})
    run = worked(world, "Deploy it", *deploy("quokka"), session_id="talk-q")
    do_due_jobs(world.parts, kinds=ALL_KINDS)
    for stored in world.operator.list_suggestions(ops.SuggestionsRequest()).items:
        world.operator.skip_suggestion(stored.suggestion_id)
    assert listed(world)
    if is_writable:
        forget(world, run.run_id)
        assert listed(world) == {}
        return
    world.parts = replace(world.parts, library=library_on(world, disk=WatchedDisk(_refuses_the_list)))

    with pytest.raises(Unavailable) as problem:
        forget(world, run.run_id)

    assert problem.value.code == "skill.file-left"
    assert ".skipped.json" in problem.value.sentence


def _refuses_the_list(call: str, name: str) -> None:
    if (call, name) == ("rename", ".skipped.json"):
        raise OSError(30, "read-only", name)


@pytest.mark.req("SKL-6")
@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda path: path.write_text("{"), lambda path: path.touch()]
)
def test_the_list_of_what_is_skipped_is_written_again_where_it_is_not_right(
    sqlite_world: World, damage: Callable[[Path], object]
) -> None:
    world = sqlite_world
    stored = offered(world, "unwanted")
    world.operator.skip_suggestion(stored.suggestion_id)
    before = listed(world)
    path = world.root / "skills" / ".skipped.json"
    path.write_text(json.dumps({"skipped": {"another": {}}}))
    damage(path)

    told = [each for each in world.operator.doctor().findings if each.check == "skills"]

    assert [(each.outcome, ".skipped.json" in each.detail) for each in told] == [("problem", True)]
    mended = [each for each in world.operator.doctor(repair=True).findings if each.check == "skills"]
    assert [each.outcome for each in mended] == ["repaired"]
    assert listed(world) == before
    damage(path)
    world.parts.library.refresh()
    assert listed(world) == before


@pytest.mark.req("SKL-6")
def test_what_waits_again_leaves_the_list_of_what_is_skipped(sqlite_world: World) -> None:
    world = sqlite_world
    put_skills(world, auto_save={"enabled": False})
    worked(world, "Deploy it", *deploy("quokka"), session_id="one")
    do_due_jobs(world.parts, kinds=ALL_KINDS)
    (stored,) = world.operator.list_suggestions(ops.SuggestionsRequest()).items
    world.operator.skip_suggestion(stored.suggestion_id)
    world.clock.advance(seconds=400 * 86_400)

    worked(world, "Deploy it", *deploy("quokka"), session_id="two")
    do_due_jobs(world.parts, kinds=ALL_KINDS)

    assert listed(world) == {}


def test_a_turn_does_not_wait_until_many_new_files_are_read_in(sqlite_world: World) -> None:
    world = sqlite_world
    for number in range(3):
        put_by_hand(world, f"skill-{number}")
    # The first file alone takes all of the time that a turn has.
    slow = meddled(1, ("open_file", "SKILL.md"), lambda: threading.Event().wait(0.25))
    operator = operator_on(world, disk=slow)

    assert operator.match_skills(ops.MatchRequest(query="skill")).items == ()

    assert rows(world) == {}
    operator.list_skills(ops.SkillsRequest())
    assert files(world) == rows(world) != {}


def test_what_is_shown_is_read_in_as_far_as_a_time_goes(sqlite_world: World) -> None:
    world = sqlite_world
    put_by_hand(world, "one")

    world.parts.library.keep_fresh(within_s=0)

    assert rows(world) == {}
    world.parts.library.keep_fresh()
    assert files(world) == rows(world) != {}


@pytest.mark.req("LRN-12")
def test_a_forgetting_that_is_refused_leaves_what_was_seen_of_files(sqlite_world: World) -> None:
    world = sqlite_world
    seen = world.root / "index" / "skills.seen.json"
    put_by_hand(world, "broken", "no skill")
    record = world.confirm(world.propose())
    library = library_on(world, settled_ns=0)
    world.parts = replace(world.parts, library=library)
    library.refresh(), library.refresh()
    before = seen.read_bytes()
    assert b"broken" in before

    with pytest.raises(Exception, match="revision"):
        world.operator.forget(ops.Decision(record_id=record.record_id, expected_revision=7))

    assert seen.read_bytes() == before


@pytest.mark.req("LRN-12")
def test_what_was_seen_of_files_goes_with_a_forgotten_skill(sqlite_world: World) -> None:
    world = sqlite_world
    run = lived(world, "quokka", curate=False)
    seen = world.root / "index" / "skills.seen.json"
    put_by_hand(world, "quokka-notes", "no skill")
    library = library_on(world, settled_ns=0)
    world.parts = replace(world.parts, library=library)
    library.refresh(), library.refresh()
    assert b"quokka-notes" in seen.read_bytes()
    shutil.rmtree(world.root / "skills" / "quokka-notes")

    forget(world, run.run_id)

    assert not seen.exists() or b"quokka" not in seen.read_bytes()
