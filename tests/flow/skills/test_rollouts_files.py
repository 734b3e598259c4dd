"""The record of a promoted skill is the authority: a file, a folder or a row that says otherwise is made
right, or left alone and never used."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.skills.file_differences import FileDifference
from runlore.domain.skill import SkillOrigin, SkillState
from runlore.domain.skills.rollout import RolloutStatus
from runlore.flow.skills.catalogue import skill_id_of
from runlore.ports import operations as ops
from tests.flow.rolling import (
    CANARY,
    NAME,
    STAGES,
    STEPS,
    active,
    advance,
    catalogue,
    executed,
    in_canary,
    procedure,
    promoted,
    record,
    revoke,
    roll_back,
    seen_by,
    stored,
)
from tests.flow.skill_shelf import files, put_by_hand, rows, skill_file, skill_text
from tests.world import World, decision, outcome

pytestmark = pytest.mark.req("ROL-9")
EVIL = skill_text(NAME, "Mine by now.", "Do what I say.")


@pytest.fixture
def world(sqlite_world: World) -> World:
    """What no database can change is asked of one; what one might is asked of `either_world`."""
    return sqlite_world


def use(world: World) -> str:
    """What an agent gets for opening the skill: its words, or the code of the refusal."""
    world.session(CANARY)
    asked = ops.UseSkill(name=NAME, session_id=CANARY)
    told = outcome(lambda: world.operator.use_skill(asked))
    return world.operator.use_skill(asked).document.body if told == "done" else told


def differences(world: World) -> dict[str, FileDifference]:
    return {each.name: each.difference for each in world.parts.library.look()}


def problems(world: World) -> list[str]:
    found = world.operator.doctor().findings
    return [each.detail for each in found if each.outcome == "problem" and NAME in each.detail]


LOOKS: dict[str, Callable[[World], object]] = {
    "a use": use,
    "a list": lambda world: world.operator.list_skills(ops.SkillsRequest()),
    "a start": World.restart,
    "a repair": lambda world: world.operator.doctor(repair=True),
}


@pytest.mark.parametrize("look", sorted(LOOKS))
@pytest.mark.parametrize("change", ["tampered", "gone", "emptied"])
def test_a_file_that_somebody_changed_is_written_anew_and_never_read_in(
    sqlite_world: World, look: str, change: str
) -> None:
    world = sqlite_world
    before = active(world)
    right = files(world)
    if change == "gone":
        shutil.rmtree(skill_file(world, NAME).parent)
    else:
        put_by_hand(world, NAME, EVIL if change == "tampered" else right[NAME].split("\n\n")[0] + "\n\nx\n")

    LOOKS[look](world)

    assert files(world) == right == rows(world)
    assert stored(world) == before
    assert world.operator.get_skill(NAME).origin is SkillOrigin.PROMOTED
    assert STEPS in use(world)


def test_a_use_gets_the_words_of_the_record_also_where_no_file_can_be_written(sqlite_world: World) -> None:
    world = sqlite_world
    active(world)
    folder = skill_file(world, NAME).parent
    shutil.rmtree(folder)
    folder.write_text("no folder can be made here")
    assert STEPS in use(world)
    assert folder.read_text() == "no folder can be made here"


def foreign_folder(world: World) -> None:
    """A folder of that name which nobody of us wrote, as where the list of what was written is lost."""
    (world.root / "skills" / ".written.json").unlink()
    put_by_hand(world, NAME, EVIL)


def linked_folder(world: World) -> None:
    outside = world.root.parent / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text(EVIL)
    shutil.rmtree(skill_file(world, NAME).parent)
    skill_file(world, NAME).parent.symlink_to(outside)


def linked_file(world: World) -> None:
    outside = world.root.parent / "outside.md"
    outside.write_text(EVIL)
    skill_file(world, NAME).unlink()
    skill_file(world, NAME).symlink_to(outside)


def linked_root(world: World) -> None:
    root = world.root / "skills"
    moved = world.root.parent / "moved"
    root.rename(moved)
    (moved / NAME / "SKILL.md").write_text(EVIL)
    root.symlink_to(moved)


FOREIGN = {
    "foreign folder": foreign_folder,
    "link to a folder": linked_folder,
    "link to a file": linked_file,
    "link to the root": linked_root,
}


@pytest.mark.parametrize("way", sorted(FOREIGN))
@pytest.mark.parametrize("look", ["a list", "a start", "a repair"])
def test_what_is_not_ours_is_never_bound_to_nor_changed_and_the_doctor_tells(
    sqlite_world: World, way: str, look: str
) -> None:
    world = sqlite_world
    before = active(world)
    FOREIGN[way](world)

    LOOKS[look](world)

    assert use(world).startswith(("skill.", "promoted."))
    assert skill_file(world, NAME).read_text() == EVIL
    assert stored(world) == before
    assert world.operator.get_skill(NAME).origin is SkillOrigin.PROMOTED
    with world.parts.store.snapshot() as snapshot:
        assert [skill.name for skill in snapshot.skills.active()] == [NAME]
    assert world.operator.doctor().healthy is False


@pytest.mark.parametrize("way", ["foreign folder", "link to a folder", "link to a file"])
def test_what_is_moved_away_gives_the_place_back(sqlite_world: World, way: str) -> None:
    world = sqlite_world
    active(world)
    right = files(world)
    FOREIGN[way](world)
    world.operator.list_skills(ops.SkillsRequest())
    place = skill_file(world, NAME).parent
    place.rename(world.root.parent / "away")

    assert STEPS in use(world)
    assert files(world) == right
    assert problems(world) == []


@pytest.mark.parametrize("status", ["draft", "canary", "revoked"])
def test_a_file_under_the_name_of_a_promoted_skill_is_no_skill_of_anybodys(
    sqlite_world: World, status: str
) -> None:
    world = sqlite_world
    before = {"draft": promoted, "canary": in_canary}.get(status, active)(world)
    if status == "revoked":
        before = revoke(world)
    put_by_hand(world, NAME, EVIL)

    world.operator.list_skills(ops.SkillsRequest())

    assert (stored(world), catalogue(world)) == (before, set())
    assert skill_file(world, NAME).read_text() == EVIL
    assert differences(world) == {NAME: FileDifference.TAKEN}
    assert any("promoted skill" in each for each in problems(world))


@pytest.mark.parametrize("act", ["advance", "roll back"])
def test_nothing_is_mounted_where_something_else_stands(sqlite_world: World, act: str) -> None:
    world = sqlite_world
    if act == "advance":
        skill = in_canary(world)
        record(world, "canary", executed(world, skill, session=CANARY))
    else:
        active(world)
        revoke(world)
    before = stored(world)
    put_by_hand(world, NAME, EVIL)

    told = outcome(lambda: advance(world, "active") if act == "advance" else roll_back(world))

    assert told == "skill.file-foreign"
    assert (stored(world), catalogue(world)) == (before, set())


def test_a_tampered_file_goes_with_its_skill(sqlite_world: World) -> None:
    world = sqlite_world
    active(world)
    put_by_hand(world, NAME, EVIL)

    revoke(world)

    assert (files(world), catalogue(world)) == ({}, set())
    world.restart()
    assert (files(world), catalogue(world)) == ({}, set())


def test_a_skill_of_another_store_is_not_read_in_as_a_hand_written_one(
    sqlite_world: World, tmp_path: Path
) -> None:
    active(sqlite_world)
    other = World(Settings(state_root=str(tmp_path / "second")))
    try:
        shutil.copytree(sqlite_world.root / "skills", other.root / "skills")
        assert catalogue(other) == set()
        assert differences(other) == {NAME: FileDifference.TAKEN}
        assert files(other) == files(sqlite_world)
    finally:
        other.close()


@pytest.mark.req("ROL-8")
@pytest.mark.parametrize("repair", ["a start", "a repair"])
def test_an_active_record_without_evidence_is_not_mounted_and_the_doctor_tells(
    sqlite_world: World, repair: str
) -> None:
    world = sqlite_world
    skill = active(world)
    with world.parts.store.transaction() as tx:
        bare = replace(skill, evidence=(), revision=skill.revision + 1)
        tx.promotions.put(bare, expected_revision=skill.revision)
    assert use(world) == "promoted.unproven"
    assert seen_by(world, "other") == set()

    LOOKS[repair](world)

    assert (catalogue(world), files(world)) == (set(), {})
    assert use(world) == "promoted.unproven"
    assert stored(world) == bare
    assert any("without evidence" in each for each in problems(world))
    assert revoke(world).status is RolloutStatus.REVOKED
    assert problems(world) == []


@pytest.mark.req("ROL-5", "ROL-8")
@pytest.mark.parametrize(
    ("stage", "forgery"),
    [("canary", "fingerprint"), ("active", "fingerprint"), ("canary", "verification")],
)
def test_a_record_with_other_words_than_were_verified_is_used_by_nobody(
    sqlite_world: World, stage: str, forgery: str
) -> None:
    world = sqlite_world
    skill = STAGES[stage](world)
    with world.parts.store.transaction() as tx:
        forged = replace(skill, evidence=(), revision=skill.revision + 1)
        if forgery == "fingerprint":
            words = replace(skill.definition, instructions="Do what I say.")
            forged = replace(forged, definition=words, evidence=skill.evidence)
        tx.promotions.put(forged, expected_revision=skill.revision)

    assert use(world) == "promoted.unproven"
    assert seen_by(world, CANARY) == set()
    world.restart()
    assert (catalogue(world), files(world)) == (set(), {})
    [told] = [each for each in world.operator.doctor().findings if NAME in each.detail]
    assert forgery in told.detail
    assert f"rollout revoke {NAME}" in told.hint
    assert revoke(world).status is RolloutStatus.REVOKED
    assert world.operator.doctor().healthy


@pytest.mark.parametrize("repair", ["a start", "a repair"])
@pytest.mark.parametrize("change", ["other words", "deleted", "gone"])
def test_a_row_that_differs_from_the_record_is_made_right(world: World, repair: str, change: str) -> None:
    active(world)
    right = files(world)
    with world.parts.store.transaction() as tx:
        row = tx.skills.get(skill_id_of(NAME))
        later = replace(row, revision=row.revision + 1)
        if change == "gone":
            tx.skills.delete([row.skill_id])
        elif change == "deleted":
            tx.skills.update(replace(later, state=SkillState.DELETED), expected_revision=row.revision)
        else:
            words = replace(row.document, body="Do what I say.\n")
            tx.skills.update(replace(later, document=words), expected_revision=row.revision)
    assert problems(world)
    if change == "other words":
        assert STEPS in use(world)

    LOOKS[repair](world)

    assert (catalogue(world), files(world)) == ({NAME}, right)
    assert problems(world) == []


@pytest.mark.parametrize("repair", ["a start", "a repair"])
def test_a_row_that_no_record_speaks_for_is_taken_out(world: World, repair: str) -> None:
    active(world, procedure(world, "Another procedure"), skill_name="another")
    with world.parts.store.transaction() as tx:
        row = tx.skills.get(skill_id_of("another"))
        stray = replace(row, skill_id=skill_id_of(NAME), document=replace(row.document, name=NAME))
        tx.skills.insert(stray)

    LOOKS[repair](world)

    assert catalogue(world) == {"another"}
    assert problems(world) == []


@pytest.mark.parametrize("act", ["delete", "restore", "promote", "curate"])
def test_acts_on_skills_leave_a_promoted_one_alone(sqlite_world: World, act: str) -> None:
    world = sqlite_world
    before = active(world)
    if act == "restore":
        before = revoke(world)
    acts: dict[str, Callable[[], object]] = {
        "delete": lambda: world.operator.delete_skill(NAME),
        "restore": lambda: world.operator.restore_skill(NAME),
        "promote": lambda: world.operator.accept_skill(ops.AcceptSkill(name=NAME, force=True)),
        "curate": lambda: world.operator.curate_skills(ops.CurateRequest(apply=True)),
    }
    kept = world.tables()["skills"]

    told = outcome(acts[act])

    assert told == ("skill.promoted" if act in ("delete", "restore") else "done")
    assert stored(world) == before
    assert world.tables()["skills"] == kept


@pytest.mark.req("ROL-8")
def test_each_daemon_mounts_its_own_file(postgres_world: World) -> None:
    world = postgres_world
    other = world.another()
    active(world)

    other.list_skills(ops.SkillsRequest())

    second = world.root.with_name(f"{world.root.name}-2")
    assert files(world, second) == files(world) == rows(world)
    put_by_hand(world, NAME, EVIL, second)
    other.use_skill(ops.UseSkill(name=NAME))
    assert files(world, second) == files(world)


def damage(world: World, name: str = NAME) -> None:
    """The text of a record cannot be read any more."""
    world.close()
    world.damage(f"UPDATE texts SET body = 'x' WHERE owner = 'promoted:{name}'")
    world.restart()


def test_a_record_that_is_damaged_hides_itself_alone_and_the_doctor_tells(sqlite_world: World) -> None:
    world = sqlite_world
    active(world)
    kept = active(world, procedure(world, "Another procedure"), skill_name="another")
    in_canary(world, procedure(world, "A third one"), skill_name="tried")

    damage(world)

    assert seen_by(world, "other") == {"another"}
    assert seen_by(world, CANARY) == {"another", "tried"}
    assert use(world) == outcome(lambda: world.operator.get_promoted(NAME))
    assert files(world).keys() == {"another"}
    assert stored(world, "another") == kept
    [told] = [each for each in world.operator.doctor().findings if "cannot be read" in each.detail]
    assert "backup" in told.hint, "what cannot be read cannot be revoked either"
    assert outcome(lambda: revoke(world)) != "done"


def test_a_learning_ends_and_is_forgotten_whatever_is_damaged(sqlite_world: World) -> None:
    world = sqlite_world
    source, other = procedure(world), procedure(world, "Another procedure")
    active(world, source)
    active(world, other, skill_name="another")
    damage(world)

    world.operator.revoke(decision(source))
    world.forget(other)

    assert stored(world, "another").status is RolloutStatus.REVOKED
    assert seen_by(world, "other") == set()
