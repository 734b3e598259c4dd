"""Files of skills that may be damaged, or that two have written: a person says which of the texts stands."""

import pytest

from runlore.daemon.skills.file_differences import FileDifference
from runlore.ports import operations as ops
from tests.flow.skill_shelf import (
    library_on,
    operator_on,
    put_by_hand,
    rows,
    saved,
    skill_file,
    skill_text,
)
from tests.skill_files.disks import Crash, DyingDisk
from tests.world import World, outcome

pytestmark = pytest.mark.req("SKL-8")
LONG = skill_text("long", body="".join(f"{number}. Do step {number} of the café.\n" for number in range(40)))


@pytest.mark.req("OPS-2")
def test_a_file_that_was_damaged_never_becomes_the_skill(sqlite_world: World) -> None:
    """Cut anywhere, or filled with zeros: what was stored stays, and the doctor tells of it."""
    world = sqlite_world
    path = put_by_hand(world, "long", LONG)
    saved(world, "learned")
    world.parts.library.refresh()
    texts = rows(world)
    content, learned = path.read_bytes(), skill_file(world, "learned").read_bytes()
    damaged = [content[:size] for size in range(0, len(content), 61)] + [content[:-4]]
    damaged += [content[:size] + bytes(len(content) - size) for size in (200, 512, len(content) - 1)]

    for each in damaged:
        path.write_bytes(each)
        skill_file(world, "learned").write_bytes(learned[: len(learned) - 30])
        world.parts.library.refresh()

        assert rows(world) == texts, each
        found = world.operator.doctor(repair=True)
        assert {finding.outcome for finding in found.findings if finding.check == "skills"} == {"problem"}
        assert path.read_bytes() == each

    skills = world.operator.status().sections["skills"]
    assert isinstance(skills, dict)
    assert isinstance(skills["files"], dict)
    assert skills["files"]["problem_count"] == 2


@pytest.mark.req("OPS-2")
def test_a_person_says_which_of_the_two_stands(sqlite_world: World) -> None:
    world = sqlite_world
    path = put_by_hand(world, "long", LONG)
    world.parts.library.refresh()
    short = LONG[: LONG.index("20. ")]
    path.write_text(short)
    world.parts.library.refresh()
    (cut,) = world.parts.library.look()
    assert cut.difference is FileDifference.CUT

    def settled(keep: ops.Keep) -> list[bool]:
        """What is told of the file before and after, wherever the skill is shown."""
        asked, told = ops.SettleFile(name="long", keep=keep), []
        for act in (lambda: None, lambda: world.operator.settle_skill_file(asked)):
            act()
            (listed,) = world.operator.list_skills(ops.SkillsRequest()).items
            assert listed.file_remark == world.operator.get_skill("long").file_remark
            told.append(listed.file_remark)
        assert world.operator.settle_skill_file(asked).file_remark == ""
        assert world.parts.library.look() == ()
        return ["changed, or damaged?" in remark for remark in told]

    assert settled(ops.Keep.STORED) == [True, False]
    assert path.read_text() == LONG == rows(world)["long"]

    path.write_text(short)
    assert settled(ops.Keep.FILE) == [True, False]
    assert path.read_text() == short == rows(world)["long"]
    assert world.operator.skill_log(ops.SkillLogRequest(name="long")).items[0].actor == "operator"


@pytest.mark.req("OPS-2")
def test_an_end_of_line_that_an_editor_left_out_is_no_damage(sqlite_world: World) -> None:
    world = sqlite_world
    path = put_by_hand(world, "long", LONG)
    world.parts.library.refresh()
    path.write_text(LONG.rstrip("\n"))

    world.parts.library.refresh()

    assert (world.parts.library.look(), world.parts.library.problems()) == ((), ())
    assert rows(world)["long"] == path.read_text() == LONG.rstrip("\n")


@pytest.mark.req("OPS-2")
def test_a_file_that_cannot_be_read_is_written_again_and_never_taken(sqlite_world: World) -> None:
    world = sqlite_world
    path = put_by_hand(world, "long", LONG)
    world.parts.library.refresh()
    path.write_bytes(b"\0" * 300)

    def settle(keep: ops.Keep) -> str:
        return outcome(lambda: world.operator.settle_skill_file(ops.SettleFile(name="long", keep=keep)))

    assert [settle(ops.Keep.FILE), settle(ops.Keep.STORED)] == ["skill.file-refused", "done"]
    assert path.read_text() == LONG


@pytest.mark.req("OPS-2", "SUR-9")
def test_a_hint_about_a_file_names_only_what_helps_with_it(sqlite_world: World) -> None:
    world = sqlite_world
    for name in ("cut", "refused", "contested"):
        put_by_hand(world, name, LONG.replace("long", name, 1))
    world.parts.library.refresh()
    skill_file(world, "cut").write_text(LONG.replace("long", "cut", 1)[:-40])
    skill_file(world, "refused").write_bytes(bytes(300))
    (world.root / "skills" / ".written.json").unlink()
    put_by_hand(world, "contested", skill_text("contested", "By somebody else."))
    put_by_hand(world, "new").write_bytes(bytes(300))

    world.parts.library.refresh()

    told = {finding.hint for finding in world.operator.doctor().findings if finding.check == "skills"}
    assert len(told) == 4
    assert not any("doctor --repair" in hint for hint in told)
    listed = world.operator.list_skills(ops.SkillsRequest()).items
    offered = {each.name: [k for k in ops.Keep if f"--keep {k}" in each.file_remark] for each in listed}
    assert offered == {"cut": [*ops.Keep], "contested": [*ops.Keep], "refused": [ops.Keep.STORED]}
    # Each of them does what it says, also where the list of what was written is lost.
    for name in offered:
        asked = ops.SettleFile(name=name, keep=ops.Keep.STORED)
        assert world.operator.settle_skill_file(asked).file_remark == ""
        assert skill_file(world, name).read_text() == LONG.replace("long", name, 1) == rows(world)[name]


@pytest.mark.req("OPS-2")
@pytest.mark.parametrize(
    ("keep", "is_listed"), [(ops.Keep.FILE, True), (ops.Keep.STORED, True), (ops.Keep.STORED, False)]
)
def test_settling_that_died_at_any_step_is_finished_by_the_next_call(
    sqlite_world: World, keep: ops.Keep, is_listed: bool
) -> None:
    world = sqlite_world
    asked = ops.SettleFile(name="long", keep=keep)
    for at in range(200):
        stored = LONG.replace("step 3 ", f"step {at} ")
        path = put_by_hand(world, "long", stored)
        world.parts.library.refresh()
        path.write_text(short := stored[:-40])
        if not is_listed:
            (world.root / "skills" / ".written.json").unlink()
        try:
            operator_on(world, disk=DyingDisk(at)).settle_skill_file(asked)
        except Crash:
            operator_on(world).settle_skill_file(asked)
            assert path.read_text() == rows(world)["long"] == (short if keep is ops.Keep.FILE else stored)
            assert library_on(world).look() == ()
            continue
        break
    assert 3 < at < 199


def test_the_cut_file_of_a_skill_that_is_gone_is_no_new_skill(sqlite_world: World) -> None:
    world = sqlite_world
    saved(world, "learned")
    world.parts.library.refresh()
    path = skill_file(world, "learned")
    path.write_text(path.read_text()[:-30])
    world.operator.delete_skill("learned")

    report = world.parts.library.refresh()

    assert rows(world) == {}
    assert ["the beginning of one that is gone" in problem.told for problem in report.problems] == [True]
