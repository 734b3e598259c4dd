"""Whenever the process dies, the disk is full or somebody meddles: no file is broken, none is lost, and what
Runlore wrote is never taken for an edit (SKL-8)."""

import errno
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from runlore.domain.errors import Conflict, Refused, Unavailable
from runlore.ports.skill_files import FileStanding
from runlore.skill_files.disk import Disk
from runlore.skill_files.root import SkillRoot
from tests.skill_files.disks import Crash, DyingDisk, FailingDisk, KeptDisk, WatchedDisk
from tests.skill_files.skill_folders import quick_root, standing, text_of, written

pytestmark = pytest.mark.req("SKL-8")

OLD, NEW = text_of("pdf", "old"), text_of("pdf", "new " * 100)


def put_first(root: SkillRoot) -> None:
    root.put("pdf", NEW)


def put_again(root: SkillRoot) -> None:
    root.put("pdf", NEW)


def remove(root: SkillRoot) -> None:
    root.remove("pdf")


def take(root: SkillRoot) -> None:
    root.take("pdf")


def mirror(root: SkillRoot) -> None:
    root.mirror_skips({"skipped": {"pdf": {"times_skipped": 1}}})


Act = Callable[[SkillRoot], None]
ACTS: list[Act] = [put_first, put_again, remove, take, mirror]


def prepared(state: Path, act: Act) -> None:
    """A root with one skill of ours, and for what begins with it, the skill that the act is about."""
    state.mkdir()
    quick_root(state).put("other", text_of("other"))
    if act is take:
        written(state, "pdf", OLD)
    elif act is not put_first:
        quick_root(state).put("pdf", OLD)


def steps_of(tmp_path: Path, act: Act) -> list[tuple[str, str]]:
    """What an act asks of the disk."""
    prepared(tmp_path / "counted", act)
    disk = WatchedDisk()
    act(SkillRoot(str(tmp_path / "counted"), disk=disk))
    return disk.steps


def content(state: Path) -> str | None:
    path = state / "skills" / "pdf" / "SKILL.md"
    return path.read_text("utf-8") if path.exists() else None


def assert_sound(state: Path, act: Act) -> None:
    """What stands there is the old or the new, ours, and the rest is untouched."""
    assert content(state) in (
        [None, NEW] if act is put_first else [OLD, NEW, None] if act is remove else [OLD, NEW]
    )
    assert standing(state, "pdf") in (
        None,
        FileStanding.OURS,
        *([FileStanding.FOREIGN] if act is take else []),
    )
    assert standing(state, "other") is FileStanding.OURS
    assert not [found.problem for found in quick_root(state).scan() if found.problem]


@pytest.mark.parametrize("act", ACTS)
def test_a_process_that_dies_at_any_step_leaves_the_old_or_the_new_and_both_are_ours(
    tmp_path: Path, act: Act
) -> None:
    steps = steps_of(tmp_path, act)
    assert len(steps) > 5

    for number in range(len(steps)):
        state = tmp_path / str(number)
        prepared(state, act)
        with pytest.raises(Crash):
            act(SkillRoot(str(state), disk=DyingDisk(number)))

        assert_sound(state, act)
        act(quick_root(state))
        after = NEW if act in (put_first, put_again) else None if act is remove else OLD
        assert content(state) == after
        assert standing(state, "pdf") is (None if act is remove else FileStanding.OURS)
        assert_sound(state, act)
        assert list(state.rglob("*.new")) == []
        assert act is not remove or not (state / "skills" / "pdf").exists()


@pytest.mark.parametrize("act", ACTS)
def test_a_disk_that_is_full_at_any_step_is_told_and_leaves_everything_sound(
    tmp_path: Path, act: Act
) -> None:
    for at in range(len(steps_of(tmp_path, act))):
        state = tmp_path / str(at)
        prepared(state, act)
        with pytest.raises(Unavailable) as refused:
            act(SkillRoot(str(state), disk=FailingDisk(at, errno.ENOSPC)))
        assert refused.value.code == "store.disk-full"
        assert refused.value.hint

        assert_sound(state, act)
        act(quick_root(state))
        assert_sound(state, act)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EDQUOT, "store.disk-full"),
        (errno.EROFS, "skill.folder-access"),
        (errno.EACCES, "skill.folder-access"),
        (errno.EIO, "skill.folder"),
    ],
)
def test_a_disk_that_refuses_is_told_as_what_it_is(tmp_path: Path, number: int, code: str) -> None:
    at = next(number for number, (call, _) in enumerate(steps_of(tmp_path, put_again)) if call == "new_file")
    state = tmp_path / "state"
    prepared(state, put_again)
    with pytest.raises(Unavailable) as refused:
        put_again(SkillRoot(str(state), disk=FailingDisk(at, number)))
    assert refused.value.code == code
    assert refused.value.hint
    assert_sound(state, put_again)


def test_the_list_is_on_the_disk_before_the_file_moves_and_the_file_before_the_list_forgets(
    tmp_path: Path,
) -> None:
    steps = [step for step in steps_of(tmp_path, put_again) if step[0] in ("rename", "sync")]

    assert steps == [
        ("sync", "file"),
        ("rename", ".written.json"),
        ("sync", "folder"),
        ("sync", "file"),
        ("rename", "SKILL.md"),
        ("sync", "folder"),
        ("sync", "file"),
        ("rename", ".written.json"),
        ("sync", "folder"),
    ]


def test_what_a_write_that_died_left_goes_with_the_skill(tmp_path: Path) -> None:
    at = steps_of(tmp_path, put_again).index(("rename", "SKILL.md"))
    state = tmp_path / "state"
    prepared(state, put_again)
    with pytest.raises(Crash):
        put_again(SkillRoot(str(state), disk=DyingDisk(at)))
    assert list(state.rglob(".SKILL.md.new"))

    quick_root(state).remove("pdf")

    assert not (state / "skills" / "pdf").exists()


def test_a_new_folder_is_on_the_disk_before_its_file(tmp_path: Path) -> None:
    steps = steps_of(tmp_path, put_first)
    made = steps.index(("make_folder", "pdf"))

    assert steps[made + 1] == ("sync", "folder")
    assert made < steps.index(("rename", "SKILL.md"))


def meddling(call: str, name: str, act: Callable[[], object]) -> WatchedDisk:
    """A disk on which somebody does something right before a call, once."""
    done: list[bool] = []

    def before(called: str, on: str) -> None:
        if (called, on) == (call, name) and not done:
            done.append(True)
            act()

    return WatchedDisk(before)


def test_a_file_replaced_by_a_link_between_look_and_open_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(text_of("pdf", "secret"), "utf-8")
    path = written(tmp_path, "pdf", text_of("pdf"))

    def swap() -> None:
        path.unlink()
        path.symlink_to(secret)

    found = SkillRoot(str(tmp_path), disk=meddling("open_file", "SKILL.md", swap)).find("pdf")

    assert found is not None
    assert found.read is None
    assert "is a link" in found.problem


def test_a_folder_replaced_by_a_link_between_look_and_open_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    state = tmp_path / "state"
    state.mkdir()
    folder = state / "skills" / "pdf"

    def swap() -> None:
        folder.symlink_to(outside, target_is_directory=True)

    with pytest.raises(Refused) as refused:
        SkillRoot(str(state), disk=meddling("make_folder", "pdf", swap)).put("pdf", NEW)

    assert refused.value.code == "skill.link"
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("before", [OLD, None])
def test_what_somebody_saves_while_it_is_written_is_kept(tmp_path: Path, before: str | None) -> None:
    (tmp_path / "state").mkdir()
    state = tmp_path / "state"
    if before is not None:
        quick_root(state).put("pdf", before)
    theirs = text_of("pdf", "theirs")
    disk = meddling("new_file", ".SKILL.md.new", lambda: written(state, "pdf", theirs))

    with pytest.raises(Conflict) as refused:
        SkillRoot(str(state), disk=disk).put("pdf", NEW)

    assert refused.value.code == "skill.file-edited"
    assert content(state) == theirs
    assert standing(state, "pdf") is FileStanding.EDITED
    assert not list(state.rglob("*.new"))


def test_a_folder_that_may_not_be_written_is_told_and_still_read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        root = SkillRoot(folder)
        root.put("pdf", OLD)
        for name in ("csv", "locked"):
            written(top, name, text_of(name))
        (top / "skills" / "locked").chmod(0o000)
        (top / "skills" / ".written.json").chmod(0o644)
        (top / "skills" / "pdf" / "SKILL.md").chmod(0o644)
        for path in (top, top / "skills", top / "skills" / "pdf"):
            path.chmod(0o555)
        told = subprocess.run(
            [sys.executable, "-m", "tests.skill_files.without_rights", folder],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for path in (top, top / "skills", top / "skills" / "pdf", top / "skills" / "locked"):
            path.chmod(0o755)

    assert told.splitlines() == [
        "csv foreign ",
        "locked foreign it cannot be read; make it readable for this user",
        "pdf ours ",
        *["skill.folder-access"] * 6,
    ]


def test_a_state_root_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(Unavailable) as refused:
        SkillRoot(str(tmp_path / "state")).put("pdf", NEW)
    assert refused.value.code == "skill.folder"


def test_who_reads_while_another_writes_sees_ours_and_nothing_else(tmp_path: Path) -> None:
    texts = [text_of("pdf", f"{number}") for number in range(40)]
    quick_root(tmp_path).put("pdf", texts[0])
    done = threading.Event()
    seen: set[FileStanding] = set()

    def read() -> None:
        while not (done.is_set() and seen):
            seen.update(found.standing for found in quick_root(tmp_path).scan())

    def write(half: list[str]) -> None:
        for text in half:
            quick_root(tmp_path).put("pdf", text)

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(half,)) for half in (texts[:20], texts[20:])]
    reader.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    reader.join()

    assert seen == {FileStanding.OURS}
    assert standing(tmp_path, "pdf") is FileStanding.OURS


def test_a_root_that_another_process_keeps_is_told(tmp_path: Path) -> None:
    quick_root(tmp_path).put("pdf", OLD)
    held = os.open(tmp_path / "skills", os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert Disk().lock(held, shared=False, wait_s=0)
        with pytest.raises(Unavailable) as refused:
            SkillRoot(str(tmp_path), disk=KeptDisk()).scan()
        assert refused.value.code == "skill.folder-locked"
    finally:
        os.close(held)


@pytest.mark.req("SKL-6")
def test_a_list_for_people_is_written_whole_and_in_place_of_what_it_was(tmp_path: Path) -> None:
    root = quick_root(tmp_path)
    for times in (1, 2):
        root.mirror_skips({"skipped": {"pdf": {"times_skipped": times}}})
    path = tmp_path / "skills" / ".skipped.json"
    assert json.loads(path.read_text("utf-8")) == {"skipped": {"pdf": {"times_skipped": 2}}}
    assert path.stat().st_mode & 0o777 == 0o600
