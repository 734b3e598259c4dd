"""Managed copies in agents' folders: never confused with hand-written skills, removed cleanly, repaired when
they drift (INT-3)."""

import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from skills_ref.validator import validate

from runlore.domain.errors import Invalid, NotFound, Refused, Unavailable
from runlore.domain.skill import SkillDocument
from runlore.domain.skill_document import render_document
from runlore.ports.skill_files import Mounted, MountState
from runlore.skill_files.disk import Disk
from runlore.skill_files.front_matter import read_skill
from runlore.skill_files.locations import PLACES, mount_folders
from runlore.skill_files.mount_lists import Mark, Seal
from tests.domain.skill_document.any_skill_document import DOCUMENTS, texts
from tests.skill_files.agents_folders import body, lists, mounts, tree
from tests.skill_files.disks import Crash, DyingDisk, KeptDisk, WatchedDisk
from tests.skill_files.skill_folders import QuickDisk, text_of

pytestmark = pytest.mark.req("INT-3")

SEAL = Seal(b"a key that never leaves the state")
MINE = "---\nname: pdf\ndescription: by hand\n---\nmine\n"
PDF, CSV = {"pdf": text_of("pdf")}, {"csv": text_of("csv")}
CHANGED = {"pdf": text_of("pdf", "another body\n")}


def target(tmp_path: Path) -> Path:
    """The folder of a project in which agents look."""
    return tmp_path / "project" / ".claude" / "skills"


@pytest.fixture(name="folder")
def made_project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return target(tmp_path)


def sync(folder: Path, skills: dict[str, str]) -> dict[str, MountState]:
    """Mount these, and see that a dry run told it before and that a second run changes nothing."""
    before = tree(folder.parent.parent)
    told = mounts(folder).sync(str(folder), skills, dry_run=True)
    assert tree(folder.parent.parent) == before
    done = mounts(folder).sync(str(folder), skills)
    assert done == told
    after = tree(folder.parent.parent)
    again = mounts(folder).sync(str(folder), skills)
    assert {one.state for one in again} <= {MountState.UNCHANGED, MountState.LEFT}
    assert tree(folder.parent.parent) == after
    return {one.name: one.state for one in done}


def test_skills_are_copied_and_the_copies_are_what_agents_can_read(folder: Path) -> None:
    assert sync(folder, PDF | CSV) == {"csv": MountState.WRITTEN, "pdf": MountState.WRITTEN}

    for name in ("pdf", "csv"):
        assert validate(folder / name) == []
        assert body(folder, name) == "# Steps\n"
        assert "# Managed by Runlore as" in (folder / name / "SKILL.md").read_text("utf-8")
    assert sorted(path.name for path in folder.iterdir()) == ["csv", "pdf"]
    [kept] = lists(folder)
    assert sorted(json.loads(kept.read_text("utf-8"))["skills"]) == ["csv", "pdf"]


def test_a_folder_that_somebody_emptied_goes_with_its_copy(folder: Path) -> None:
    sync(folder, PDF | CSV)
    (folder / "pdf" / "SKILL.md").unlink()
    assert sync(folder, CSV) == {"csv": MountState.UNCHANGED}
    assert not (folder / "pdf").exists()


def test_a_dry_run_makes_nothing(folder: Path) -> None:
    told = mounts(folder).sync(str(folder), PDF, dry_run=True)

    assert told == (Mounted(name="pdf", folder=str(folder), state=MountState.WRITTEN),)
    assert tree(folder.parent.parent) == {}


def test_a_skill_that_changed_is_written_anew_and_one_that_is_not_wanted_goes(folder: Path) -> None:
    sync(folder, PDF | CSV)

    assert sync(folder, CHANGED) == {"csv": MountState.REMOVED, "pdf": MountState.WRITTEN}

    assert body(folder) == "another body\n"
    assert not (folder / "csv").exists()


def test_a_hand_written_skill_of_the_same_name_is_left_with_the_reason(folder: Path) -> None:
    (folder / "pdf").mkdir(parents=True)
    (folder / "pdf" / "SKILL.md").write_text(MINE, "utf-8")

    [left] = mounts(folder).sync(str(folder), PDF)

    assert left.state is MountState.LEFT
    assert left.reason == "a skill of this name is there that Runlore did not write"
    assert (folder / "pdf" / "SKILL.md").read_text("utf-8") == MINE
    assert mounts(folder).clear(str(folder)) == ()
    assert tree(folder) == {"pdf": None, "pdf/SKILL.md": MINE.encode()}


def test_a_copy_that_is_missing_is_repaired(folder: Path) -> None:
    sync(folder, PDF)
    (folder / "pdf" / "SKILL.md").unlink()
    assert sync(folder, PDF) == {"pdf": MountState.REPAIRED}
    assert body(folder) == "# Steps\n"


@pytest.mark.parametrize("wanted", [PDF, CHANGED, {}])
def test_a_copy_that_was_changed_and_bears_the_mark_is_put_back_and_the_change_is_kept_beside_it(
    folder: Path, wanted: dict[str, str]
) -> None:
    sync(folder, PDF)
    path = folder / "pdf" / "SKILL.md"
    path.write_text(path.read_text("utf-8") + "an added line\n", "utf-8")
    changed = path.read_text("utf-8")

    [done] = mounts(folder).sync(str(folder), wanted)

    assert done.state is (MountState.REPAIRED if wanted else MountState.REMOVED)
    [kept] = (folder / "pdf").glob("SKILL.edited-*.md")
    assert kept.name in done.reason
    assert kept.read_text("utf-8") == changed
    assert path.exists() is bool(wanted)


def test_a_copy_that_was_changed_and_lost_the_mark_is_hand_written_from_then_on(folder: Path) -> None:
    sync(folder, PDF)
    path = folder / "pdf" / "SKILL.md"
    path.write_text(MINE, "utf-8")

    [left] = mounts(folder).sync(str(folder), PDF)

    assert left.state is MountState.LEFT
    assert "hand-written now" in left.reason
    mounts(folder).clear(str(folder))
    assert path.read_text("utf-8") == MINE


def test_a_lost_list_gives_nothing_away(folder: Path) -> None:
    sync(folder, PDF | CSV)
    (folder / "mine").mkdir()
    (folder / "mine" / "SKILL.md").write_text(MINE, "utf-8")
    lists(folder)[0].unlink()

    assert sync(folder, CHANGED) == {"csv": MountState.REMOVED, "pdf": MountState.WRITTEN}
    lists(folder)[0].write_text("{", "utf-8")
    assert {one.name: one.state for one in mounts(folder).clear(str(folder))} == {"pdf": MountState.REMOVED}
    assert tree(folder) == {"mine": None, "mine/SKILL.md": MINE.encode()}


def test_a_changed_copy_without_its_list_is_left(folder: Path) -> None:
    sync(folder, PDF)
    path = folder / "pdf" / "SKILL.md"
    path.write_text(path.read_text("utf-8") + "an added line\n", "utf-8")
    lists(folder)[0].unlink()
    assert sync(folder, PDF) == {"pdf": MountState.LEFT}


def test_a_copy_that_somebody_copied_under_another_name_is_theirs(folder: Path) -> None:
    sync(folder, PDF)
    (folder / "theirs").mkdir()
    (folder / "theirs" / "SKILL.md").write_bytes((folder / "pdf" / "SKILL.md").read_bytes())

    assert sync(folder, {}) == {"pdf": MountState.REMOVED}
    assert (folder / "theirs" / "SKILL.md").exists()


def test_folders_made_for_copies_go_with_them_and_others_stay(folder: Path) -> None:
    sync(folder, PDF)
    assert {one.name: one.state for one in mounts(folder).clear(str(folder), dry_run=True)} == {
        "pdf": MountState.REMOVED
    }
    assert (folder / "pdf" / "SKILL.md").exists()

    mounts(folder).clear(str(folder))
    assert tree(folder.parent.parent) == {}

    folder.parent.mkdir()
    sync(folder, PDF)
    mounts(folder).clear(str(folder))
    assert tree(folder.parent.parent) == {".claude": None}

    folder.mkdir()
    sync(folder, PDF)
    (folder / "pdf" / "notes.txt").touch()
    mounts(folder).clear(str(folder))
    assert tree(folder) == {"pdf": None, "pdf/notes.txt": b""}


def test_folders_made_for_copies_stay_where_somebody_put_something_in_them(folder: Path) -> None:
    sync(folder, PDF)
    (folder.parent / "settings.json").touch()
    mounts(folder).clear(str(folder))
    assert tree(folder.parent.parent) == {".claude": None, ".claude/settings.json": b""}


def test_clearing_what_was_never_mounted_does_nothing(folder: Path) -> None:
    assert mounts(folder).clear(str(folder)) == ()
    assert tree(folder.parent.parent) == {}


@pytest.mark.parametrize("linked", [".claude", ".claude/skills"])
def test_a_linked_folder_is_refused(folder: Path, tmp_path: Path, linked: str) -> None:
    outside = tmp_path / "outside"
    (outside / "skills").mkdir(parents=True)
    link = folder.parent.parent / linked
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside)

    for dry_run in (True, False):
        with pytest.raises(Refused) as refused:
            mounts(folder).sync(str(folder), PDF, dry_run=dry_run)
        assert refused.value.code == "skill.link"
        with pytest.raises(Refused):
            mounts(folder).clear(str(folder), dry_run=dry_run)
    assert tree(outside) == {"skills": None}


def test_a_linked_skill_is_left(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_bytes(SEAL.copy("pdf", PDF["pdf"]))
    folder.mkdir(parents=True)
    (folder / "pdf").symlink_to(outside)
    (folder / "csv").mkdir()
    (folder / "csv" / "SKILL.md").symlink_to(outside / "SKILL.md")
    before = tree(outside)

    done = mounts(folder).sync(str(folder), CHANGED | CSV)

    assert [(one.name, one.state) for one in done] == [("csv", MountState.LEFT), ("pdf", MountState.LEFT)]
    assert all("is a link" in one.reason for one in done)
    assert tree(outside) == before


def test_what_is_no_folder_or_no_file_is_left(folder: Path) -> None:
    (folder / "csv").mkdir(parents=True)
    os.mkfifo(folder / "csv" / "SKILL.md")
    (folder / "pdf").touch()
    done = mounts(folder).sync(str(folder), PDF | CSV)
    assert [one.reason for one in done] == [
        "its SKILL.md is not a regular file",
        "something that is no folder has its name",
    ]


@pytest.mark.parametrize("taken", [".claude", ".claude/skills"])
def test_a_file_in_place_of_the_folder_is_refused(folder: Path, taken: str) -> None:
    path = folder.parent.parent / taken
    path.parent.mkdir(exist_ok=True)
    path.touch()
    for dry_run in (True, False):
        with pytest.raises(Refused) as refused:
            mounts(folder).sync(str(folder), PDF, dry_run=dry_run)
        assert refused.value.code == "skill.mount-folder"


@pytest.mark.parametrize("path", ["", "skills", "/", "/skills", "/a/../b/skills", "/a\0/b/c"])
def test_a_path_that_is_no_place_for_skills_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(Invalid) as refused:
        mounts(target(tmp_path)).sync(path, PDF)
    assert refused.value.code == "skill.mount-folder"


def test_a_project_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        mounts(tmp_path / "gone" / ".claude" / "skills").sync(
            str(tmp_path / "gone" / ".claude" / "skills"), PDF
        )
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("name", ["../x", "A", "", "con", ".x"])
def test_a_name_that_could_lead_elsewhere_is_not_mounted(folder: Path, name: str) -> None:
    with pytest.raises(Invalid) as refused:
        mounts(folder).sync(str(folder), {name: text_of("pdf")})
    assert refused.value.code == "skill.name"
    assert tree(folder.parent.parent) == {}


def test_a_list_that_names_what_is_elsewhere_removes_nothing_there(folder: Path) -> None:
    sync(folder, PDF)
    victim = folder.parent / "SKILL.md"
    victim.write_text(MINE, "utf-8")
    told = {"format": 1, "skills": {"..": [], "../..": []}, "made": ["..", "/"]}
    lists(folder)[0].write_text(json.dumps(told), "utf-8")
    mounts(folder).clear(str(folder))
    assert victim.exists()


@pytest.mark.parametrize("wanted", [PDF | CSV, CHANGED, {}])
@pytest.mark.parametrize("is_edited", [False, True])
def test_a_process_that_dies_at_any_step_leaves_copies_that_are_known_and_loses_no_text(
    tmp_path: Path, wanted: dict[str, str], is_edited: bool
) -> None:
    def prepared(top: Path) -> tuple[Path, str]:
        folder = top / ".agents" / "skills"
        top.mkdir()
        mounts(folder).sync(str(folder), PDF)
        path = folder / "pdf" / "SKILL.md"
        if is_edited:
            path.write_text(path.read_text("utf-8") + "an added line\n", "utf-8")
        return folder, path.read_text("utf-8")

    disk = WatchedDisk()
    counted, _ = prepared(tmp_path / "counted")
    mounts(counted, disk=disk).sync(str(counted), wanted)
    for number in range(len(disk.steps)):
        folder, before = prepared(tmp_path / str(number))
        with pytest.raises(Crash):
            mounts(folder, disk=DyingDisk(number)).sync(str(folder), wanted)

        done = mounts(folder).sync(str(folder), wanted)

        assert MountState.LEFT not in {one.state for one in done}
        assert {name: body(folder, name) for name in wanted} == {
            name: read_skill(text).document.body for name, text in wanted.items()
        }
        kept = [path.read_text("utf-8") for path in folder.rglob("SKILL.edited-*")]
        assert not is_edited or kept == [before]
        assert wanted or is_edited or not folder.exists() or tree(folder) == {}


def test_two_processes_that_mount_and_unmount_at_once_leave_one_of_the_two(folder: Path) -> None:
    problems: list[BaseException] = []

    def work(skills: dict[str, str]) -> None:
        for _ in range(25):
            try:
                mounts(folder).sync(str(folder), skills)
                mounts(folder).clear(str(folder))
            except Exception as error:  # whatever it is, the test is to see it
                problems.append(error)

    threads = [threading.Thread(target=work, args=(skills,)) for skills in (PDF, CHANGED | CSV)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [error for error in problems if not isinstance(error, Unavailable)] == []
    mounts(folder).sync(str(folder), PDF | CSV)
    assert body(folder) == "# Steps\n"
    mounts(folder).clear(str(folder))
    assert not (folder / "pdf").exists()


def test_a_folder_that_another_process_keeps_is_told(folder: Path) -> None:
    sync(folder, PDF)
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert Disk().lock(held, shared=False, wait_s=0)
        for dry_run in (True, False):
            with pytest.raises(Unavailable) as refused:
                mounts(folder, disk=KeptDisk()).sync(str(folder), CHANGED, dry_run=dry_run)
            assert refused.value.code == "skill.folder-locked"
    finally:
        os.close(held)


class RivalDisk(QuickDisk):
    """A disk on which another process removes the folder while we wait for it, a number of times."""

    def __init__(self, folder: Path, times: int) -> None:
        self._folder, self._times = folder, times

    def lock(self, folder: int, *, shared: bool, wait_s: float) -> bool:
        """We get it when the other is done."""
        if self._times:
            self._times -= 1
            mounts(self._folder).clear(str(self._folder))
            self._folder.rmdir()
        return super().lock(folder, shared=shared, wait_s=wait_s)


def test_a_folder_that_is_removed_while_we_wait_for_it_is_made_again(folder: Path) -> None:
    folder.mkdir(parents=True)
    mounts(folder, disk=RivalDisk(folder, 2)).sync(str(folder), PDF)
    assert body(folder) == "# Steps\n"
    mounts(folder).clear(str(folder))

    with pytest.raises(Unavailable) as refused:
        mounts(folder, disk=RivalDisk(folder, 100)).sync(str(folder), PDF)
    assert refused.value.code == "skill.folder-locked"


class BlinkingDisk(QuickDisk):
    """A disk on which a folder is not there for a moment, because another process makes it anew."""

    def __init__(self, name: str) -> None:
        self._name = name

    def open_folder(self, name: str, *, within: int | None = None) -> int:
        """Gone the first time it is asked for."""
        if name == self._name:
            self._name = ""
            raise FileNotFoundError(name)
        return super().open_folder(name, within=within)


@pytest.mark.parametrize("name", [".claude", "skills"])
def test_a_folder_that_is_made_anew_at_this_moment_is_no_stranger(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    mounts(folder, disk=BlinkingDisk(name)).sync(str(folder), PDF)
    assert body(folder) == "# Steps\n"


def test_a_copy_that_somebody_changes_at_this_moment_is_not_overwritten(folder: Path) -> None:
    sync(folder, PDF)
    path = folder / "pdf" / "SKILL.md"

    def before(call: str, name: str) -> None:
        if (call, name) == ("new_file", ".SKILL.md.new"):
            path.write_text(MINE, "utf-8")

    with pytest.raises(Unavailable) as refused:
        mounts(folder, disk=WatchedDisk(before)).sync(str(folder), CHANGED)
    assert refused.value.code == "skill.folder-moved"
    assert path.read_text("utf-8") == MINE


@given(DOCUMENTS)
def test_a_copy_says_what_its_skill_says_and_nothing_changes_unseen(document: SkillDocument) -> None:
    text = render_document(document)
    copy = SEAL.copy(document.name, text)

    assert read_skill(copy.decode(), folder=document.name).document == document
    assert SEAL.mark_of(document.name, copy) is Mark.INTACT
    assert SEAL.mark_of(f"{document.name}x", copy) is Mark.CHANGED
    assert SEAL.mark_of(document.name, text.encode()) is Mark.NONE


@given(texts(200), st.data())
def test_a_change_anywhere_below_the_mark_is_seen(body: str, data: st.DataObject) -> None:
    copy = SEAL.copy("x", f"---\r\nname: x\r\n---\r\n{body}")
    assert SEAL.mark_of("x", copy) is Mark.INTACT
    at = data.draw(st.integers(5, len(copy)))

    assert SEAL.mark_of("x", copy[:at] + b"!" + copy[at:]) is not Mark.INTACT


def test_a_text_without_front_matter_has_no_place_for_a_mark() -> None:
    for text in ("", "---", "name: x", "# Title\n---\n"):
        with pytest.raises(Invalid):
            SEAL.copy("x", text)
    assert SEAL.copy("x", "\ufeff---\nname: x\n---\n").startswith(b"---\n# Managed")


def test_two_folders_reach_every_agent() -> None:
    both = mount_folders("/base")

    assert both == ("/base/.agents/skills", "/base/.claude/skills")
    assert sorted(PLACES) == ["claude-code", "codex", "copilot", "cursor", "gemini", "opencode"]
    for agent, place in PLACES.items():
        written = {folder.removeprefix("/base/") for folder in mount_folders("/base", [agent])}
        assert written <= {*place.user} & {*place.project}
    assert mount_folders("/p", ["claude-code"]) == ("/p/.claude/skills",)
    assert mount_folders("/p", ["codex", "gemini"]) == ("/p/.agents/skills",)


def test_an_agent_or_a_base_that_is_not_known_is_refused() -> None:
    with pytest.raises(Invalid, match="no agent is known") as refused:
        mount_folders("/p", ["emacs"])
    assert "claude-code" in refused.value.hint
    with pytest.raises(Invalid):
        mount_folders("relative")
