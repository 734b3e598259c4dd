"""The skill root: what is written is whole, what people write is theirs, and no link is followed (SKL-8)."""

import os
import socket
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, NotFound, Refused
from runlore.ports.skill_files import FileStanding
from runlore.skill_files.root import SkillRoot
from tests.skill_files.skill_folders import quick_root, standing, text_of, written

pytestmark = pytest.mark.req("SKL-8")


def problems(state: Path) -> dict[str, str]:
    """What is refused, by folder."""
    return {found.folder: found.problem for found in quick_root(state).scan() if found.read is None}


def test_a_root_that_is_not_there_holds_nothing_and_is_not_made_to_look(tmp_path: Path) -> None:
    root = quick_root(tmp_path)

    assert root.scan() == ()
    assert root.find("pdf") is None
    root.remove("pdf")

    assert list(tmp_path.iterdir()) == []


def test_what_is_put_is_found_ours_private_and_with_nothing_left_beside_it(tmp_path: Path) -> None:
    root = quick_root(tmp_path)
    root.put("pdf", text_of("pdf"))
    root.put("csv", text_of("csv"))

    found = root.scan()

    assert [(one.folder, one.standing, one.problem) for one in found] == [
        ("csv", FileStanding.OURS, ""),
        ("pdf", FileStanding.OURS, ""),
    ]
    assert found[1].read is not None
    assert found[1].read.text == text_of("pdf")
    assert found[1].read.document.description == "What pdf does."
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))
    assert files == [
        *("skills", "skills/.written.json", "skills/csv", "skills/csv/SKILL.md"),
        *("skills/pdf", "skills/pdf/SKILL.md"),
    ]
    for path in tmp_path.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_a_root_that_others_may_look_into_is_made_private(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir(mode=0o755)
    quick_root(tmp_path).put("pdf", text_of("pdf"))
    assert stat.S_IMODE((tmp_path / "skills").stat().st_mode) == 0o700


def test_what_was_written_here_is_written_anew_and_what_somebody_changed_is_not(tmp_path: Path) -> None:
    root = quick_root(tmp_path)
    root.put("pdf", text_of("pdf", "1"))
    root.put("pdf", text_of("pdf", "2"))
    path = tmp_path / "skills" / "pdf" / "SKILL.md"
    assert path.read_text("utf-8") == text_of("pdf", "2")

    path.write_text(text_of("pdf", "by hand"), "utf-8")

    assert standing(tmp_path, "pdf") is FileStanding.EDITED
    acts: list[Callable[[], None]] = [
        lambda: root.put("pdf", text_of("pdf", "3")),
        lambda: root.remove("pdf"),
    ]
    for act in acts:
        with pytest.raises(Conflict) as refused:
            act()
        assert refused.value.code == "skill.file-edited"
    assert path.read_text("utf-8") == text_of("pdf", "by hand")


def test_an_older_text_of_ours_that_somebody_put_back_is_an_edit(tmp_path: Path) -> None:
    root = quick_root(tmp_path)
    root.put("pdf", text_of("pdf", "1"))
    root.put("pdf", text_of("pdf", "2"))
    written(tmp_path, "pdf", text_of("pdf", "1"))
    assert standing(tmp_path, "pdf") is FileStanding.EDITED


def test_a_skill_that_somebody_put_there_is_foreign_until_it_is_taken(tmp_path: Path) -> None:
    root = quick_root(tmp_path)
    written(tmp_path, "pdf", text_of("pdf", "by hand"))

    assert standing(tmp_path, "pdf") is FileStanding.FOREIGN
    acts: list[Callable[[], None]] = [lambda: root.put("pdf", text_of("pdf")), lambda: root.remove("pdf")]
    for act in acts:
        with pytest.raises(Conflict) as refused:
            act()
        assert refused.value.code == "skill.file-foreign"

    root.take("pdf")

    assert standing(tmp_path, "pdf") is FileStanding.OURS
    root.put("pdf", text_of("pdf"))
    assert (tmp_path / "skills" / "pdf" / "SKILL.md").read_text("utf-8") == text_of("pdf")


def test_putting_what_stands_there_already_takes_it(tmp_path: Path) -> None:
    written(tmp_path, "pdf", text_of("pdf"))
    quick_root(tmp_path).put("pdf", text_of("pdf"))
    assert standing(tmp_path, "pdf") is FileStanding.OURS


def test_what_somebody_changed_after_it_was_read_is_not_taken(tmp_path: Path) -> None:
    root = quick_root(tmp_path)
    written(tmp_path, "pdf", text_of("pdf", "read"))
    root.take("pdf", text_of("pdf", "read"))
    written(tmp_path, "pdf", text_of("pdf", "changed since"))

    with pytest.raises(Conflict) as refused:
        root.take("pdf", text_of("pdf", "read"))

    assert refused.value.code == "skill.file-edited"
    assert standing(tmp_path, "pdf") is FileStanding.EDITED


def test_what_is_not_there_cannot_be_taken(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as missing:
        quick_root(tmp_path).take("pdf")
    assert missing.value.code == "skill.file-missing"


def test_a_folder_goes_with_its_skill_and_what_people_put_beside_it_stays(tmp_path: Path) -> None:
    root = quick_root(tmp_path)
    for name in ("pdf", "csv"):
        root.put(name, text_of(name))
    notes = tmp_path / "skills" / "csv" / "notes.txt"
    notes.write_text("mine", "utf-8")

    for name in ("pdf", "csv", "csv", "never-there"):
        root.remove(name)

    assert root.scan() == ()
    assert notes.read_text("utf-8") == "mine"
    assert not (tmp_path / "skills" / "pdf").exists()
    root.put("csv", text_of("csv"))
    assert standing(tmp_path, "csv") is FileStanding.OURS


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"{",
        b"[]",
        b'{"format": 2, "skills": {}}',
        b'{"format": 1, "skills": []}',
        b"\xff",
        b"[" * 100_000,
        b'{"format": 1, "skills": {"pdf": [7], "../x": ["' + b"0" * 64 + b'"]}, "made": 7}',
        b"x" * 9_000_000,
    ],
    ids=range(9),
)
def test_a_damaged_list_makes_nothing_ours_and_what_is_equal_is_taken_again(
    tmp_path: Path, damaged: bytes
) -> None:
    root = quick_root(tmp_path)
    root.put("pdf", text_of("pdf"))
    (tmp_path / "skills" / ".written.json").write_bytes(damaged)

    assert standing(tmp_path, "pdf") in (FileStanding.FOREIGN, FileStanding.EDITED)
    with pytest.raises(Conflict):
        root.put("pdf", text_of("pdf", "other"))
    root.put("pdf", text_of("pdf"))

    assert standing(tmp_path, "pdf") is FileStanding.OURS


def test_a_lost_list_makes_everything_foreign(tmp_path: Path) -> None:
    quick_root(tmp_path).put("pdf", text_of("pdf"))
    (tmp_path / "skills" / ".written.json").unlink()
    assert standing(tmp_path, "pdf") is FileStanding.FOREIGN


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "/etc/passwd",
        ".written.json",
        ".git",
        "A",
        "a b",
        "con",
        "a\0",
        "a" * 65,
    ],
)
def test_a_name_that_could_lead_elsewhere_is_refused_everywhere(tmp_path: Path, name: str) -> None:
    root = quick_root(tmp_path)
    for act in (root.find, root.take, root.remove, lambda name: root.put(name, text_of("pdf"))):
        with pytest.raises(Invalid) as refused:
            act(name)
        assert refused.value.code == "skill.name"
        assert refused.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "code"), [("x" * (limits.SKILL_FILE_BYTES_MAX + 1), "skill.size"), ("\ud800", "skill.document")]
)
def test_a_text_that_no_file_may_hold_is_not_put(tmp_path: Path, text: str, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        quick_root(tmp_path).put("pdf", text)
    assert refused.value.code == code


def test_what_is_no_skill_is_passed_over_and_what_is_odd_is_told(tmp_path: Path) -> None:
    top = tmp_path / "skills"
    for name, text in {
        "My Skill": text_of("x"),
        "con": text_of("x"),
        "no-description": "---\nname: x\n---\n",
        "bomb": "---\na: &a [x]\nb: *a\n---\n",
        "good": text_of("good"),
        ".hidden": text_of("x"),
    }.items():
        written(tmp_path, name, text)
    (top / "README.md").write_text("x", "utf-8")
    (top / "empty").mkdir()
    (top / "small").mkdir()
    (top / "small" / "skill.md").write_text(text_of("small"), "utf-8")
    (top / "latin").mkdir()
    (top / "latin" / "SKILL.md").write_bytes(b"---\nname: \xe9\n---\n")
    (top / "large").mkdir()
    with (top / "large" / "SKILL.md").open("wb") as large:
        large.truncate(100_000_000)

    assert problems(tmp_path) == {
        "My Skill": "a skill cannot be called 'My Skill'; use 1 to 64 small letters a-z, digits and single"
        " hyphens between them, such as `my-skill`",
        "bomb": "its front matter has an anchor or an alias; write the value out",
        "con": "a skill cannot be called 'con'; use 1 to 64 small letters a-z, digits and single hyphens"
        " between them, such as `con-skill`",
        "large": "its SKILL.md has more than 655,360 bytes; move a part of it to files beside it, and name"
        " them in the body",
        "latin": "it is not UTF-8 from byte 10 on; save it as UTF-8 text",
        "no-description": "it has no description; add the line `description:` that says what it does and when"
        " it is of use",
        "small": "its file is called skill.md; call it SKILL.md",
    }
    assert [found.folder for found in quick_root(tmp_path).scan() if found.read] == ["good"]


def test_two_folders_of_one_name_are_two_skills(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        written(tmp_path, folder, text_of("same"))

    found = quick_root(tmp_path).scan()

    assert [one.read and one.read.document.name for one in found] == ["one", "two"]
    assert all(one.read and one.read.remarks for one in found)


def test_more_folders_than_are_read_are_refused_as_a_whole(tmp_path: Path) -> None:
    for number in range(4):
        written(tmp_path, f"f{number}", text_of("x"))
    size = 4 * len(text_of("x"))
    assert len(SkillRoot(str(tmp_path), folders_max=4, bytes_max=size).scan()) == 4
    for root in (SkillRoot(str(tmp_path), folders_max=3), SkillRoot(str(tmp_path), bytes_max=size - 1)):
        with pytest.raises(Refused) as refused:
            root.scan()
        assert refused.value.code == "skill.folder-size"


def linked_folder(top: Path, outside: Path) -> None:
    (top / "pdf").symlink_to(outside, target_is_directory=True)


def linked_file(top: Path, outside: Path) -> None:
    (top / "pdf").mkdir()
    (top / "pdf" / "SKILL.md").symlink_to(outside / "SKILL.md")


def broken_link(top: Path, outside: Path) -> None:
    (top / "pdf").symlink_to(outside / "gone")


@pytest.mark.parametrize("make", [linked_folder, linked_file, broken_link])
def test_a_link_is_told_and_neither_read_nor_written_through(
    tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    top, outside = tmp_path / "state" / "skills", tmp_path / "outside"
    top.mkdir(parents=True)
    outside.mkdir()
    (outside / "SKILL.md").write_text(text_of("pdf", "secret"), "utf-8")
    make(top, outside)
    root = quick_root(tmp_path / "state")

    [found] = root.scan()

    assert found.read is None
    assert "is a link" in found.problem
    assert found == root.find("pdf")
    acts: list[Callable[[], None]] = [
        lambda: root.put("pdf", text_of("pdf")),
        lambda: root.take("pdf"),
        lambda: root.remove("pdf"),
    ]
    for act in acts:
        with pytest.raises(Refused) as refused:
            act()
        assert refused.value.code == "skill.link"
    assert [path.name for path in outside.iterdir()] == ["SKILL.md"]
    assert (outside / "SKILL.md").read_text("utf-8") == text_of("pdf", "secret")


def test_a_root_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "skills").symlink_to(tmp_path / "elsewhere")
    root = quick_root(tmp_path)
    for act in (root.scan, lambda: root.find("pdf"), lambda: root.put("pdf", text_of("pdf"))):
        with pytest.raises(Refused) as refused:
            act()
        assert refused.value.code == "skill.link"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_in_place_of_a_list_is_replaced_and_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text("{}", "utf-8")
    (tmp_path / "skills").mkdir()
    for name in (".written.json", ".skipped.json", ".written.json.new"):
        (tmp_path / "skills" / name).symlink_to(outside)
    root = quick_root(tmp_path)

    root.put("pdf", text_of("pdf"))
    root.mirror_skips({"skipped": {}})

    assert outside.read_text("utf-8") == "{}"
    assert standing(tmp_path, "pdf") is FileStanding.OURS


@pytest.mark.parametrize("kind", ["fifo", "folder", "socket"])
def test_what_is_no_file_is_neither_waited_for_nor_read(kind: str) -> None:
    # A socket's path has to be a short one.
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listening:
        state = Path(short)
        path = state / "skills" / "pdf" / "SKILL.md"
        path.parent.mkdir(parents=True)
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            listening.bind(str(path))
        root = SkillRoot(short)

        assert problems(state) == {"pdf": "its SKILL.md is not a regular file; put a text file in its place"}
        with pytest.raises(Invalid):
            root.put("pdf", text_of("pdf"))
        with pytest.raises(Invalid):
            root.remove("pdf")


def test_a_fifo_in_place_of_a_folder_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    os.mkfifo(tmp_path / "skills" / "pdf")
    assert quick_root(tmp_path).scan() == ()
    with pytest.raises(Conflict):
        quick_root(tmp_path).put("pdf", text_of("pdf"))
