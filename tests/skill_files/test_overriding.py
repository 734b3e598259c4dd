"""A file that only Runlore may write gives way to no edit, and still takes nobody else's place."""

from pathlib import Path

import pytest

from runlore.domain.errors import Conflict, Refused
from runlore.ports.skill_files import FileStanding, SkillFile
from runlore.skill_files.root import SkillRoot

pytestmark = pytest.mark.req("ROL-9")
NAME = "release"
OURS = "---\nname: release\ndescription: Ours.\n---\nDo it.\n"
NEWER = OURS.replace("Do it.", "Do it well.")
MINE = OURS.replace("Ours.", "Mine.")


def put(root: SkillRoot, text: str | None, *, overrides: bool = True) -> object:
    """What went wrong with it; None where it was written."""
    return root.put_all([SkillFile(name=NAME, text=text, overrides=overrides)]).get(NAME)


@pytest.mark.parametrize("text", [NEWER, OURS, None])
def test_an_edited_file_is_overwritten_or_removed_where_only_runlore_writes_it(
    tmp_path: Path, text: str | None
) -> None:
    root = SkillRoot(str(tmp_path))
    root.put(NAME, OURS)
    path = tmp_path / "skills" / NAME / "SKILL.md"
    path.write_text(MINE)
    assert isinstance(put(root, text, overrides=False), Conflict)
    assert path.read_text() == MINE

    assert put(root, text) is None

    found = root.find(NAME)
    assert (found is None) == (text is None)
    assert found is None or (found.standing is FileStanding.OURS and path.read_text() == text)


@pytest.mark.parametrize("text", [NEWER, None])
def test_what_was_never_written_here_stays_whoever_writes(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "skills" / NAME / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(MINE)

    assert isinstance(put(SkillRoot(str(tmp_path)), text), Conflict)
    assert path.read_text() == MINE


@pytest.mark.parametrize("is_folder", [True, False])
def test_nothing_is_written_through_a_link(tmp_path: Path, is_folder: bool) -> None:
    root = SkillRoot(str(tmp_path))
    root.put(NAME, OURS)
    path = tmp_path / "skills" / NAME / "SKILL.md"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text(MINE)
    path.unlink()
    if is_folder:
        path.parent.rmdir()
        path.parent.symlink_to(outside)
    else:
        path.symlink_to(outside / "SKILL.md")

    assert isinstance(put(root, NEWER), Refused | Conflict)
    assert (outside / "SKILL.md").read_text() == MINE
