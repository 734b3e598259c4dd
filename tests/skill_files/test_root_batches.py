"""Many files at a time, files that somebody saves at that very moment, and files that are not read twice."""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Conflict, Invalid, NotFound
from runlore.ports.skill_files import FileStanding, SkillFile, StoredAs
from runlore.skill_files.root import SkillRoot
from tests.examples import scaled
from tests.skill_files.disks import Crash, DyingDisk, WatchedDisk
from tests.skill_files.skill_folders import QuickDisk, quick_root, standing, text_of, written

pytestmark = pytest.mark.req("SKL-8")
OLD, NEW, THEIRS = text_of("pdf", "old"), text_of("pdf", "new"), text_of("pdf", "theirs")
NAMES = [f"skill-{number}" for number in range(5)]


def path_of(state: Path, name: str = "pdf") -> Path:
    return state / "skills" / name / "SKILL.md"


def save_in_place(state: Path) -> None:
    written(state, "pdf", THEIRS)


def save_by_moving(state: Path) -> None:
    written(state, "pdf", OLD).parent.joinpath("saved").write_text(THEIRS)
    path_of(state).parent.joinpath("saved").rename(path_of(state))


def meddled(state: Path, step: tuple[str, str], save: Callable[[Path], None]) -> SkillRoot:
    """A root in which somebody saves the file right before a step, once."""
    done: list[bool] = []

    def before(call: str, name: str) -> None:
        if (call, name) == step and not done:
            done.append(True)
            save(state)

    return SkillRoot(str(state), disk=WatchedDisk(before))


@pytest.mark.parametrize("save", [save_in_place, save_by_moving])
@pytest.mark.parametrize("is_there", [True, False])
def test_what_somebody_saves_right_before_the_file_is_put_in_place_is_kept(
    tmp_path: Path, save: Callable[[Path], None], is_there: bool
) -> None:
    if is_there:
        quick_root(tmp_path).put("pdf", OLD)

    with pytest.raises(Conflict) as refused:
        meddled(tmp_path, ("rename", "SKILL.md"), save).put("pdf", NEW)

    assert refused.value.code == "skill.file-edited"
    assert path_of(tmp_path).read_text() == THEIRS
    assert standing(tmp_path, "pdf") is FileStanding.EDITED
    assert list(path_of(tmp_path).parent.iterdir()) == [path_of(tmp_path)]


def test_a_link_that_somebody_puts_there_at_that_moment_stays_and_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(OLD)
    quick_root(tmp_path).put("pdf", OLD)

    def link(state: Path) -> None:
        path_of(state).unlink()
        path_of(state).symlink_to(secret)

    with pytest.raises(Conflict):
        meddled(tmp_path, ("rename", "SKILL.md"), link).put("pdf", NEW)

    assert path_of(tmp_path).is_symlink()
    assert secret.read_text() == OLD


@pytest.mark.parametrize("save", [save_in_place, save_by_moving])
@pytest.mark.parametrize("step", [("rename", ".SKILL.md.gone"), ("open_file", ".SKILL.md.gone")])
def test_what_somebody_saves_right_before_the_file_is_removed_is_kept(
    tmp_path: Path, save: Callable[[Path], None], step: tuple[str, str]
) -> None:
    quick_root(tmp_path).put("pdf", OLD)
    root = meddled(tmp_path, step, save)

    if step[0] == "rename":
        with pytest.raises(Conflict) as refused:
            root.remove("pdf")
        assert refused.value.code == "skill.file-edited"
    else:
        root.remove("pdf")

    assert path_of(tmp_path).read_text() == THEIRS
    assert list(path_of(tmp_path).parent.iterdir()) == [path_of(tmp_path)]


def test_a_file_that_was_being_removed_when_the_process_died_is_still_found(tmp_path: Path) -> None:
    quick_root(tmp_path).put("pdf", OLD)
    path_of(tmp_path).rename(path_of(tmp_path).with_name(".SKILL.md.gone"))

    assert standing(tmp_path, "pdf") is FileStanding.OURS
    [found] = quick_root(tmp_path).scan()
    assert found.read is not None
    assert found.read.text == OLD
    quick_root(tmp_path).put("pdf", NEW)
    assert list(path_of(tmp_path).parent.iterdir()) == [path_of(tmp_path)]
    assert path_of(tmp_path).read_text() == NEW


class PlainDisk(QuickDisk):
    """A disk of a system that can move a file, and no more."""

    def _rename(self, name: str, other: str, *, within: int, flag: int) -> bool:
        return False


def test_where_the_system_cannot_swap_files_they_are_written_and_removed_all_the_same(
    tmp_path: Path,
) -> None:
    root = SkillRoot(str(tmp_path), disk=PlainDisk())
    for text in (OLD, NEW):
        root.put("pdf", text)
        assert path_of(tmp_path).read_text() == text
        assert list(path_of(tmp_path).parent.iterdir()) == [path_of(tmp_path)]
    root.remove("pdf")
    assert root.scan() == ()


def files(body: str, *, stored: StoredAs | None = None) -> list[SkillFile]:
    return [SkillFile(name=name, text=text_of(name, body), stored=stored) for name in NAMES]


def lists_written(disk: WatchedDisk) -> int:
    return disk.steps.count(("rename", ".written.json"))


def test_for_many_files_the_list_is_written_before_and_behind_all_of_them(tmp_path: Path) -> None:
    disk = WatchedDisk()
    root = SkillRoot(str(tmp_path), disk=disk)

    assert root.put_all(files("old")) == {}
    assert lists_written(disk) <= 2
    assert root.put_all(files("new")) == {}
    assert lists_written(disk) <= 4

    assert {found.folder: found.standing for found in root.scan()} == dict.fromkeys(NAMES, FileStanding.OURS)
    assert root.put_all([SkillFile(name=name, text=None) for name in NAMES]) == {}
    assert lists_written(disk) <= 5
    assert [path.name for path in (tmp_path / "skills").iterdir()] == [".written.json"]


def test_many_files_are_taken_with_one_writing_of_the_list(tmp_path: Path) -> None:
    for name in NAMES:
        written(tmp_path, name, text_of(name, "by hand"))
    disk = WatchedDisk()
    stored = StoredAs(store="here", skill_id="skl_1", revision=3)

    assert SkillRoot(str(tmp_path), disk=disk).take_all(files("by hand", stored=stored)) == {}

    assert lists_written(disk) == 1
    found = quick_root(tmp_path).scan()
    assert {each.standing for each in found} == {FileStanding.OURS}
    assert {each.stored for each in found} == {stored}


def test_what_goes_wrong_with_one_of_many_stops_no_other(tmp_path: Path) -> None:
    root = quick_root(tmp_path)
    written(tmp_path, "foreign", OLD)
    wanted = [
        SkillFile(name="../x", text=OLD),
        SkillFile(name="foreign", text=NEW),
        SkillFile(name="fine", text=NEW),
    ]

    refused = root.put_all(wanted)

    assert {name: type(error) for name, error in refused.items()} == {"../x": Invalid, "foreign": Conflict}
    assert path_of(tmp_path, "fine").read_text() == NEW
    taken = root.take_all([SkillFile(name=name, text=OLD) for name in ("../x", "missing", "foreign")])
    assert {name: type(error) for name, error in taken.items()} == {"../x": Invalid, "missing": NotFound}
    assert standing(tmp_path, "foreign") is FileStanding.OURS


def test_a_death_among_many_leaves_each_old_or_new_and_all_of_them_ours(tmp_path: Path) -> None:
    for at in range(300):
        state = tmp_path / str(at)
        state.mkdir()
        quick_root(state).put_all(files("old"))
        try:
            SkillRoot(str(state), disk=DyingDisk(at)).put_all(files("new"))
        except Crash:
            found = quick_root(state).scan()
            assert [each.folder for each in found] == NAMES
            assert {each.standing for each in found} == {FileStanding.OURS}
            bodies = {each.read.document.body.strip() for each in found if each.read}
            assert bodies <= {"old", "new"}
            continue
        break
    assert 20 < at < 299


def test_a_file_that_was_saved_again_while_it_was_taken_is_an_edit_of_what_is_stored(tmp_path: Path) -> None:
    root = quick_root(tmp_path)
    written(tmp_path, "pdf", THEIRS)

    with pytest.raises(Conflict):
        root.take("pdf", OLD)

    found = root.find("pdf")
    assert found is not None
    assert (found.standing, found.written) == (FileStanding.EDITED, (sha256(OLD.encode()).hexdigest(),))


@pytest.mark.parametrize("told", ['["here"]', "7", '["here", 1, 2]', "null"])
def test_where_a_list_does_not_say_rightly_where_a_text_is_stored_nobody_said_so(
    tmp_path: Path, told: str
) -> None:
    stored = StoredAs(store="here")
    quick_root(tmp_path).put_all([SkillFile(name="pdf", text=OLD, stored=stored)])
    listed = tmp_path / "skills" / ".written.json"
    whole = listed.read_text()
    found = quick_root(tmp_path).find("pdf")
    assert found is not None
    assert found.stored == stored

    start = whole.index("[", whole.index('"stored"'))
    listed.write_text(f"{whole[:start]}{told}{whole[whole.index(']', start) + 1 :]}")

    found = quick_root(tmp_path).find("pdf")
    assert found is not None
    assert (found.standing, found.stored) == (FileStanding.OURS, None)


def opened(disk: WatchedDisk) -> int:
    return disk.steps.count(("open_file", "SKILL.md"))


def test_only_files_that_have_changed_are_read_again(tmp_path: Path) -> None:
    quick_root(tmp_path).put_all(files("old"))
    disk = WatchedDisk()
    root = SkillRoot(str(tmp_path), disk=disk, settled_ns=0)
    first = root.scan()
    assert opened(disk) == len(NAMES)

    assert root.scan() == first
    assert opened(disk) == len(NAMES)
    written(tmp_path, NAMES[0], text_of(NAMES[0], "edited"))
    assert [found.standing for found in root.scan()] == [FileStanding.EDITED] + [FileStanding.OURS] * 4
    assert opened(disk) == len(NAMES) + 1


def test_a_file_that_was_changed_just_now_is_read_each_time(tmp_path: Path) -> None:
    quick_root(tmp_path).put_all(files("old"))
    disk = WatchedDisk()
    root = SkillRoot(str(tmp_path), disk=disk, settled_ns=10**12)
    for times in (1, 2):
        root.scan()
        assert opened(disk) == times * len(NAMES)


def _same_size_and_times(path: Path) -> None:
    before = path.stat()
    path.write_bytes(path.read_bytes().swapcase())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    # The clock of the file system goes in steps: a change within one is for those that are read each time.
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _moved_over(path: Path) -> None:
    other = path.with_name("other")
    other.write_text(text_of("other", "moved"))
    other.rename(path)


def _linked(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent.parent / NAMES[0] / "SKILL.md")


def _linked_folder(path: Path) -> None:
    folder = path.parent
    folder.rename(folder.with_name(f"{folder.name}-elsewhere"))
    folder.symlink_to(folder.with_name(f"{folder.name}-elsewhere"))


CHANGES: list[Callable[[Path], object]] = [
    _same_size_and_times,
    _moved_over,
    _linked,
    _linked_folder,
    lambda path: path.unlink(),
    lambda path: path.write_bytes(b"broken"),
    lambda path: path.write_text(text_of("x", "changed")),
    lambda path: (path.parent.parent / ".written.json").unlink(missing_ok=True),
]


@settings(max_examples=scaled(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(range(len(CHANGES)))), max_size=4))
def test_whatever_somebody_changes_the_next_look_sees_what_a_first_look_sees(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, int]]
) -> None:
    state = tmp_path_factory.mktemp("state")
    quick_root(state).put_all(files("old"))
    root = SkillRoot(str(state), disk=QuickDisk(), settled_ns=0)
    root.scan()
    for name, number in changes:
        if path_of(state, name).is_file() and not path_of(state, name).parent.is_symlink():
            CHANGES[number](path_of(state, name))
        assert root.scan() == quick_root(state).scan()
