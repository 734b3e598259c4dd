"""Copies that are not ours: those of another state root, and what was made up to look like ours (INT-3)."""

import json
import re
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from runlore.ports.skill_files import Mounted, MountState
from runlore.skill_files.locations import files_beside
from runlore.skill_files.mount_lists import Mark, MountLists, Seal
from tests.skill_files.agents_folders import body, mounts, tree
from tests.skill_files.disks import Crash, DyingDisk, WatchedDisk
from tests.skill_files.skill_folders import QuickDisk, text_of

pytestmark = pytest.mark.req("INT-3")

PDF, CSV = {"pdf": text_of("pdf")}, {"csv": text_of("csv")}
CHANGED = {"pdf": text_of("pdf", "another body\n")}
MINE = "---\nname: pdf\ndescription: by hand\n---\nmine\n"
ANOTHER = Seal(b"the key of another state root...")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a project in which agents look."""
    (tmp_path / "project").mkdir()
    return tmp_path / "project" / ".agents" / "skills"


def put(folder: Path, name: str, content: bytes) -> Path:
    """What somebody put into an agent's folder."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def states(done: tuple[Mounted, ...]) -> dict[str, MountState]:
    """What was done with which skill."""
    return {one.name: one.state for one in done}


def test_two_state_roots_share_a_folder_and_leave_each_other_alone(folder: Path) -> None:
    ours, theirs = mounts(folder), mounts(folder, state="theirs")
    path = str(folder)

    assert states(ours.sync(path, PDF)) == {"pdf": MountState.WRITTEN}
    assert states(theirs.sync(path, CSV)) == {"csv": MountState.WRITTEN}
    assert states(ours.sync(path, PDF)) == {"pdf": MountState.UNCHANGED}
    [left] = theirs.sync(path, CHANGED)[1:]
    assert (left.state, left.reason) == (
        MountState.LEFT,
        "the Runlore of another state root put a skill of this name there",
    )
    assert body(folder) == "# Steps\n"
    assert not (folder / "csv").exists()
    assert theirs.clear(path) == ()
    assert states(ours.clear(path)) == {"pdf": MountState.REMOVED}
    assert tree(folder.parent.parent) == {}


def test_the_same_skill_of_two_state_roots_stays_until_its_own_goes(folder: Path) -> None:
    ours, theirs = mounts(folder), mounts(folder, state="theirs")
    ours.sync(str(folder), PDF)

    assert states(theirs.sync(str(folder), PDF)) == {"pdf": MountState.LEFT}
    theirs.clear(str(folder))

    assert body(folder) == "# Steps\n"


@pytest.mark.parametrize("wanted", [{}, PDF, CHANGED])
@pytest.mark.parametrize("is_marked", [False, True])
def test_what_somebody_made_up_to_look_like_ours_is_never_replaced_or_removed(
    folder: Path, wanted: dict[str, str], is_marked: bool
) -> None:
    mounts(folder).sync(str(folder), CSV)
    seen = (folder / "csv" / "SKILL.md").read_text("utf-8").split("\n")[1]
    forged = seen.replace("as csv", "as pdf") if is_marked else "# mine"
    content = f"---\n{forged}\n{MINE[4:]}".encode()
    path = put(folder, "pdf", content)
    digests = {"pdf": [sha256(content).hexdigest()]}
    told = {"format": 1, "skills": digests, "made": ["skills", ".agents"]}
    (folder / ".runlore-skills.json").write_text(json.dumps(told), "utf-8")

    done = mounts(folder).sync(str(folder), CSV | wanted)

    assert states(done).get("pdf", MountState.LEFT) is MountState.LEFT
    mounts(folder).clear(str(folder))
    assert path.read_bytes() == content


def test_a_copy_of_another_state_root_that_came_with_a_project_is_left(folder: Path) -> None:
    path = put(folder, "team", ANOTHER.copy("team", text_of("team")))
    before = path.read_bytes()

    assert states(mounts(folder).sync(str(folder), PDF)) == {"pdf": MountState.WRITTEN}
    assert states(mounts(folder).clear(str(folder))) == {"pdf": MountState.REMOVED}

    assert path.read_bytes() == before


def test_a_copy_that_another_put_over_ours_is_theirs(folder: Path) -> None:
    mounts(folder).sync(str(folder), PDF)
    path = put(folder, "pdf", ANOTHER.copy("pdf", MINE))
    before = path.read_bytes()

    [left] = mounts(folder).sync(str(folder), PDF)
    mounts(folder).clear(str(folder))

    assert (left.state, left.keeps_text) == (MountState.LEFT, False)
    assert path.read_bytes() == before


def test_copies_in_a_project_that_was_moved_are_still_ours(folder: Path, tmp_path: Path) -> None:
    mounts(folder).sync(str(folder), PDF | CSV)
    (tmp_path / "project").rename(tmp_path / "moved")
    moved = tmp_path / "moved" / ".agents" / "skills"

    assert states(mounts(moved).sync(str(moved), CHANGED)) == {
        "csv": MountState.REMOVED,
        "pdf": MountState.WRITTEN,
    }
    assert states(mounts(moved).clear(str(moved))) == {"pdf": MountState.REMOVED}
    assert tree(moved) == {}


def test_the_key_is_made_once_and_a_dry_run_makes_none(folder: Path, tmp_path: Path) -> None:
    mounts(folder).sync(str(folder), PDF, dry_run=True)
    mounts(folder).clear(str(folder))
    assert tree(tmp_path / "state") == {}
    lists = MountLists(str(tmp_path / "state"), disk=QuickDisk())
    assert lists.key(make=False) != lists.key(make=False)

    key = lists.key(make=True)

    assert (len(key), lists.key(make=True), lists.key(make=False)) == (32, key, key)
    (tmp_path / "state" / "mounts" / "key").write_bytes(b"cut off")
    assert lists.key(make=True) == lists.key(make=False) != key


def test_a_mark_is_known_by_the_key_alone() -> None:
    ours = Seal(b"our own key")
    copy = ours.copy("pdf", PDF["pdf"])
    assert ours.mark_of("pdf", copy) is Mark.INTACT
    assert ANOTHER.mark_of("pdf", copy) is Mark.ANOTHERS
    assert ours.mark_of("pdf", copy + b"x") is Mark.CHANGED


def test_whoever_has_seen_our_marks_cannot_make_one() -> None:
    ours = Seal(b"our own key")
    owner = re.search(rb"\[([0-9a-f]+)-", ours.copy("pdf", PDF["pdf"]))
    theirs = re.search(rb"\[([0-9a-f]+)-", ANOTHER.copy("pdf", MINE))
    assert owner
    assert theirs
    forged = ANOTHER.copy("pdf", MINE).replace(theirs[1], owner[1], 1)
    assert ours.mark_of("pdf", forged) is Mark.CHANGED


def test_a_lost_key_gives_nothing_away(folder: Path, tmp_path: Path) -> None:
    mounts(folder).sync(str(folder), PDF | CSV)
    (tmp_path / "state" / "mounts" / "key").unlink()

    assert states(mounts(folder).sync(str(folder), PDF)) == {
        "csv": MountState.REMOVED,
        "pdf": MountState.WRITTEN,
    }
    assert states(mounts(folder).sync(str(folder), PDF)) == {"pdf": MountState.UNCHANGED}


def test_a_process_that_dies_while_it_mounts_leaves_nothing_that_unmounting_does_not_find(
    folder: Path, tmp_path: Path
) -> None:
    folder.mkdir(parents=True)
    disk = WatchedDisk()
    mounts(folder, disk=disk).sync(str(folder), PDF | CSV)
    mounts(folder).clear(str(folder))
    for number in range(len(disk.steps)):
        shutil.rmtree(tmp_path / "state")
        folder.mkdir(parents=True, exist_ok=True)
        with pytest.raises(Crash):
            mounts(folder, disk=DyingDisk(number)).sync(str(folder), PDF | CSV)
        mounts(folder).clear(str(folder))
        assert not folder.exists() or tree(folder) == {}, disk.steps[number]


@pytest.mark.parametrize("fence", ["---\u00a0", "---\u2003", "--- ", "---\t"])
def test_a_first_line_that_reads_as_front_matter_can_be_copied(fence: str) -> None:
    assert ANOTHER.copy("pdf", f"{fence}\nname: pdf\n---\n").decode().startswith(f"{fence}\n# Managed")


def test_one_skill_that_cannot_be_copied_keeps_no_other_from_coming_or_going(folder: Path) -> None:
    mounts(folder).sync(str(folder), PDF | CSV)

    done = mounts(folder).sync(str(folder), {"new": text_of("new"), "odd": "no front matter", "csv": ""})

    assert states(done) == {
        "csv": MountState.REMOVED,
        "new": MountState.WRITTEN,
        "odd": MountState.LEFT,
        "pdf": MountState.REMOVED,
    }
    assert [one.name for one in done if "does not begin with front matter" in one.reason] == ["csv", "odd"]
    assert sorted(path.name for path in folder.iterdir()) == ["new"]


def test_what_stays_beside_a_copy_that_goes_is_told(folder: Path) -> None:
    mounts(folder).sync(str(folder), PDF)
    path = folder / "pdf" / "SKILL.md"
    path.write_text(path.read_text("utf-8") + "an added line\n", "utf-8")
    mounts(folder).sync(str(folder), PDF)
    [kept] = (folder / "pdf").glob("SKILL.edited-*.md")
    for number in range(5):
        (folder / "pdf" / f"notes-{number}.txt").touch()

    planned = mounts(folder).clear(str(folder), dry_run=True)
    [removed] = mounts(folder).clear(str(folder))

    assert planned == (removed,)
    assert removed.reason == (
        f"left pdf/{kept.name}, which somebody changed; "
        "left pdf/notes-0.txt, pdf/notes-1.txt, pdf/notes-2.txt and 2 more, which Runlore did not write"
    )
    assert (removed.state, removed.keeps_text) == (MountState.REMOVED, True)


def test_any_change_to_a_copy_is_seen_without_reading_it(folder: Path) -> None:
    path = folder / "pdf" / "SKILL.md"
    seen = [mounts(folder).stamp(str(folder))]
    mounts(folder).sync(str(folder), PDF)
    seen.append(mounts(folder).stamp(str(folder)))
    assert mounts(folder).stamp(str(folder)) == seen[-1]
    mounts(folder).sync(str(folder), PDF)
    assert mounts(folder).stamp(str(folder)) == seen[-1]
    path.write_bytes(path.read_bytes() + b"x")
    seen.append(mounts(folder).stamp(str(folder)))
    path.unlink()
    seen.append(mounts(folder).stamp(str(folder)))
    path.parent.rmdir()
    (folder / "pdf").touch()
    seen.append(mounts(folder).stamp(str(folder)))
    assert len(set(seen)) == len(seen)


def test_files_beside_a_skill_are_found_and_links_are_not_followed(tmp_path: Path) -> None:
    skill = tmp_path / "pdf"
    (skill / "scripts").mkdir(parents=True)
    for name in ("SKILL.md", "scripts/run.py", "scripts/SKILL.md", "NOTES.md", ".hidden"):
        (skill / name).touch()
    (skill / "linked").symlink_to("/etc")
    (tmp_path / "link").symlink_to(skill)

    assert files_beside(str(skill)) == ("NOTES.md", "scripts/SKILL.md", "scripts/run.py")
    assert files_beside(str(tmp_path / "link")) == ()
    assert files_beside(str(tmp_path / "none")) == ()
