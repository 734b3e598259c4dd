"""Mounted copies follow what is stored, whoever changes it, and a word that was forgotten goes from them."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from skills_ref.validator import validate

from runlore.daemon.skills.mounting import MountFollower, MountManager, MountReport, files_of, usable_skills
from runlore.domain.errors import Unavailable
from runlore.domain.skill import SkillDocument
from runlore.flow.skills.machines import read_mounts
from runlore.ports import operations as ops
from runlore.ports.skill_files import MountState
from runlore.skill_files.disk import Disk
from runlore.skill_files.mount_lists import MountLists
from tests.flow import rolling
from tests.flow.skill_shelf import put_by_hand, skill_text
from tests.flow.skills.test_forgetting_skills import lived
from tests.flow.skills.test_forgetting_suggestions import forget
from tests.world import World

pytestmark = pytest.mark.req("INT-3")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where an agent looks in a project."""
    (tmp_path / "project").mkdir()
    return tmp_path / "project" / ".claude" / "skills"


def mounted(world: World, folder: Path) -> MountManager:
    """The skills of a world, mounted."""
    mounting = MountManager(world.parts.state_root)
    mounting.mount([str(folder)], usable_skills(world.operator))
    return mounting


def follower(world: World) -> MountFollower:
    """What a daemon looks with."""
    return MountFollower(world.parts.store, world.parts.state_root)


def words(folder: Path) -> str:
    """All that stands in a folder."""
    return "\n".join(path.read_text("utf-8") for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.req("LRN-12")
def test_a_forgotten_word_goes_from_mounted_copies_too(world: World, folder: Path) -> None:
    run = lived(world, "quokka")
    mounted(world, folder)
    assert "quokka" in words(folder)

    forget(world, run.run_id)

    assert "quokka" not in words(folder)
    assert list(folder.rglob("SKILL.md")) == []


@pytest.mark.req("LRN-12")
def test_forgetting_says_which_copy_had_to_stay(sqlite_world: World, folder: Path) -> None:
    run = lived(sqlite_world, "quokka")
    mounted(sqlite_world, folder)
    [copy] = folder.rglob("SKILL.md")
    copy.write_text(copy.read_text("utf-8") + "my own line\n", "utf-8")

    with pytest.raises(Unavailable) as told:
        forget(sqlite_world, run.run_id)

    assert told.value.code == "skill.copy-left"
    assert copy.parent.name in told.value.sentence
    assert not copy.exists()
    [kept] = copy.parent.iterdir()
    assert kept.name in told.value.sentence
    assert usable_skills(sqlite_world.operator) == {}, "it is forgotten all the same"


@pytest.mark.req("LRN-12")
def test_forgetting_says_which_folder_could_not_be_reached(sqlite_world: World, folder: Path) -> None:
    run = lived(sqlite_world, "quokka")
    mounted(sqlite_world, folder)
    folder.parent.rename(folder.parent.parent / "elsewhere")
    folder.parent.write_text("in the way")

    with pytest.raises(Unavailable) as told:
        forget(sqlite_world, run.run_id)

    assert (told.value.code, str(folder) in told.value.sentence) == ("skill.copy-left", True)


def test_forgetting_what_no_skill_is_made_of_does_not_look_at_the_folders(
    sqlite_world: World, folder: Path
) -> None:
    mounted(sqlite_world, folder)
    folder.parent.parent.rename(folder.parent.parent.with_name("gone"))
    record = sqlite_world.profile()
    sqlite_world.operator.forget(ops.Decision(record_id=record.record_id))


class RivalDisk(Disk):
    """A disk on which another process unmounts while we wait for our turn."""

    def __init__(self, root: str, folder: str) -> None:
        self._root, self._folders = root, [folder]

    def lock(self, folder: int, *, shared: bool, wait_s: float) -> bool:
        """We get it when the other is done."""
        if self._folders:
            MountManager(self._root).unmount([self._folders.pop()])
        return super().lock(folder, shared=shared, wait_s=wait_s)


def test_who_follows_goes_by_no_note_that_another_process_is_taking_out(
    sqlite_world: World, folder: Path
) -> None:
    put_by_hand(sqlite_world, "mine")
    mounted(sqlite_world, folder)
    root = sqlite_world.parts.state_root
    late = MountManager(root, lists=MountLists(root, disk=RivalDisk(root, str(folder))))

    assert late.refresh({"mine": skill_text("mine"), "more": skill_text("more")}).items == ()

    assert (late.folders(), list(folder.parent.parent.iterdir())) == ((), [])


def test_many_who_mount_unmount_and_follow_leave_no_copy_without_a_note(
    sqlite_world: World, folder: Path
) -> None:
    root, path = sqlite_world.parts.state_root, str(folder)
    skills = {"mine": skill_text("mine")}

    def come_and_go() -> None:
        for _ in range(8):
            MountManager(root).mount([path], skills)
            MountManager(root).unmount([path])

    def follow() -> None:
        for _ in range(16):
            MountManager(root).refresh(skills)

    threads = [threading.Thread(target=target) for target in (come_and_go, follow, follow)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (MountManager(root).folders(), list(folder.parent.parent.rglob("SKILL.md"))) == ((), [])


def test_a_look_where_nothing_has_changed_reads_no_skill(sqlite_world: World, folder: Path) -> None:
    put_by_hand(sqlite_world, "mine")
    mounted(sqlite_world, folder)

    assert follower(sqlite_world).catch_up().items
    assert follower(sqlite_world).catch_up() == MountReport()
    (folder / "mine" / "SKILL.md").unlink()
    assert [one.state for one in follower(sqlite_world).catch_up().items] == [MountState.REPAIRED]
    [seen] = follower(sqlite_world).catch_up().items
    assert (seen.state, follower(sqlite_world).catch_up()) == (MountState.UNCHANGED, MountReport())
    skill = sqlite_world.operator.get_skill("mine")
    with sqlite_world.parts.store.transaction() as tx:
        later = replace(skill, revision=skill.revision + 1)
        tx.skills.update(later, expected_revision=skill.revision)
    assert follower(sqlite_world).catch_up().items


def test_a_folder_that_cannot_be_told_apart_is_tried_each_time_and_told_once(
    sqlite_world: World, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put_by_hand(sqlite_world, "mine")
    mounted(sqlite_world, folder)
    folder.parent.parent.rename(folder.parent.parent.with_name("gone"))
    daemon = follower(sqlite_world)

    for _ in range(3):
        daemon.follow()

    assert [record.getMessage().count(str(folder)) > 0 for record in caplog.records] == [True]
    folder.parent.parent.with_name("gone").rename(folder.parent.parent)
    daemon.follow()
    assert (folder / "mine" / "SKILL.md").is_file()


@pytest.mark.req("OPS-2")
def test_the_doctor_tells_of_copies_that_drifted_and_repairs_them(sqlite_world: World, folder: Path) -> None:
    put_by_hand(sqlite_world, "mine")
    mounted(sqlite_world, folder)
    copy = folder / "mine" / "SKILL.md"
    copy.unlink()

    def outcome(*, repair: bool = False) -> list[tuple[str, bool]]:
        findings = sqlite_world.operator.doctor(repair=repair).findings
        return [(each.outcome, "mine" in each.detail) for each in findings if each.check == "mounts"]

    assert outcome() == [("problem", True)]
    assert not copy.exists()
    assert outcome(repair=True) == [("repaired", True)]
    assert copy.is_file()
    assert outcome() == [("ok", False)]
    folder.parent.parent.rename(folder.parent.parent.with_name("gone"))
    assert outcome(repair=True) == [("problem", False)]


HAND_WRITTEN = {
    "unknown": "---\nname: unknown\ndescription: How to do it.\nmodel: large\nhooks: [a, b]\n---\nDo it.\n",
    "colon": "---\nname: colon\ndescription: Use it when: always\n---\nDo it.\n",
    "folder": "---\nname: another-name\ndescription: How to do it.\n---\nDo it.\n",
    "blank": "---\u00a0\nname: blank\ndescription: How to do it.\n---\nDo it.\n",
    "dashes": "---\nname: dashes\ndescription: How --- to do it.\n---\nDo it.\n",
}


@pytest.mark.req("SKL-8")
def test_every_copy_passes_the_validator_however_its_skill_was_written(
    sqlite_world: World, folder: Path
) -> None:
    for name, text in HAND_WRITTEN.items():
        put_by_hand(sqlite_world, name, text)

    mounted(sqlite_world, folder)

    assert sorted(path.name for path in folder.iterdir()) == sorted(HAND_WRITTEN)
    for name in HAND_WRITTEN:
        assert validate(folder / name) == []
        assert (folder / name / "SKILL.md").read_text("utf-8").endswith("Do it.\n")


def test_a_skill_that_cannot_be_written_keeps_no_other_from_coming_or_going(
    sqlite_world: World, folder: Path
) -> None:
    put_by_hand(sqlite_world, "mine")
    put_by_hand(sqlite_world, "odd")
    mounting = mounted(sqlite_world, folder)
    put_by_hand(sqlite_world, "new")
    skills = list(sqlite_world.operator.list_skills(ops.SkillsRequest()).items)
    [odd] = [skill for skill in skills if skill.name == "odd"]
    unwritable = replace(odd, document=SkillDocument(name="odd", description=" ", body=""))

    done = mounting.refresh(files_of([unwritable, *(each for each in skills if each.name == "new")]))

    assert {one.name: one.state for one in done.items} == {
        "mine": MountState.REMOVED,
        "new": MountState.WRITTEN,
        "odd": MountState.REMOVED,
    }
    assert os.listdir(folder) == ["new"]


@pytest.mark.req("ROL-10")
def test_a_revoked_skill_is_in_no_folder_of_this_machine_when_that_is_answered(
    world: World, folder: Path
) -> None:
    skill = rolling.active(world)
    mounted(world, folder)
    assert [path.parent.name for path in folder.rglob("SKILL.md")] == [skill.name]

    revoked = world.operator.revoke_promoted(ops.RevokePromoted(skill_name=skill.name))

    assert list(folder.rglob("SKILL.md")) == []
    assert (revoked.skill.status.value, revoked.copies_left) == ("revoked", ())


@pytest.mark.req("ROL-10")
@pytest.mark.parametrize("act", ["revoke", "delete"])
def test_what_ends_a_skill_otherwise_takes_its_copies_too(
    sqlite_world: World, folder: Path, act: str
) -> None:
    operator = sqlite_world.operator
    if act == "delete":
        skill = operator.import_skill(ops.ImportSkill(text=skill_text("wash-it"), source="a friend"))
        skill = operator.accept_skill(
            ops.AcceptSkill(name=skill.name, force=True, expected_revision=skill.revision)
        )
    else:
        source = rolling.procedure(sqlite_world)
        rolling.active(sqlite_world, source)
    mounted(sqlite_world, folder)
    assert list(folder.rglob("SKILL.md"))

    if act == "delete":
        operator.delete_skill(skill.name)
    else:
        operator.revoke(ops.Decision(record_id=source.record_id))

    assert list(folder.rglob("SKILL.md")) == []


@pytest.mark.req("ROL-10")
def test_revoking_names_the_copies_that_are_left(world: World, folder: Path) -> None:
    skill = rolling.active(world)
    here = mounted(world, folder)
    [copy] = folder.rglob("SKILL.md")
    copy.write_text(copy.read_text("utf-8") + "my own line\n", "utf-8")
    follower(world).catch_up()
    copy.write_text(copy.read_text("utf-8") + "my own line\n", "utf-8")
    for machine, folders in {
        "afar": ("/srv/ada/.claude/skills",),
        "gone": ("/x",),
        here.machine: (),
    }.items():
        world.operator.note_mounts(ops.MachineMounts(machine=machine, folders=folders))
    world.operator.note_mounts(ops.MachineMounts(machine="gone"))

    revoked = world.operator.revoke_promoted(ops.RevokePromoted(skill_name=skill.name))

    assert not copy.exists()
    assert revoked.copies_left == (str(folder), "afar: /srv/ada/.claude/skills")


@pytest.mark.req("ROL-10")
def test_a_store_knows_the_folders_of_each_machine_that_shares_it(sqlite_world: World, folder: Path) -> None:
    mounting = mounted(sqlite_world, folder)
    follower(sqlite_world).catch_up()
    with sqlite_world.parts.store.snapshot() as snapshot:
        assert read_mounts(snapshot) == {mounting.machine: (str(folder),)}

    mounting.unmount([str(folder)])
    follower(sqlite_world).catch_up()

    with sqlite_world.parts.store.snapshot() as snapshot:
        assert read_mounts(snapshot) == {}
