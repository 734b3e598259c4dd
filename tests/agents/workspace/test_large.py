"""Copies for child agents in which there is more than can be copied or compared."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runlore.agents.workspace.git import COMPARED_BYTES_MAX
from runlore.agents.workspace.worktrees import LocalWorkspaces
from runlore.domain.errors import Refused
from tests.agents.commands import environment, ran

pytestmark = pytest.mark.req("ROL-12")

COMMITTED = "git init -q . && git add -A && git -c user.name=a -c user.email=b commit -q -m first"


@pytest.fixture
def folder(disk_path: Path) -> Path:
    """A working folder with one file."""
    made = disk_path.resolve() / "work"
    made.mkdir()
    (made / "f").write_text("one\n")
    return made


def test_a_large_file_is_told_and_hides_no_other_change(folder: Path) -> None:
    """Git would read all of it, and the time for a diff would be over before it had come to the others."""
    subprocess.run(["sh", "-c", COMMITTED], cwd=folder, check=True)
    size = COMPARED_BYTES_MAX + 1
    workspaces = LocalWorkspaces(environment=environment(folder.parent))

    with workspaces.worktree(str(folder), "skill", "call") as made:
        changing = f"mkdir a && truncate -s {size} 'a/b*[c]' && ln -s /proc/kcore link && echo two > f"
        assert ran(made.workspace, changing).exit_code == 0
        (Path(made.workspace.folder) / "not \udcff text").touch()
        told, *diff = made.diff(chars_max=10_000).splitlines()

    assert told == f"[not compared: a/b*[c], {size:,} bytes]"
    assert {"+two", "+/proc/kcore"} <= set(diff)
    assert not [line for line in diff if line.startswith("Binary")]


@pytest.mark.parametrize("kind", ["files", "folders", "pipes"])
def test_a_folder_with_too_much_in_it_is_not_copied(folder: Path, kind: str) -> None:
    making: dict[str, Callable[[Path], None]] = {
        "files": Path.touch,
        "folders": Path.mkdir,
        "pipes": os.mkfifo,
    }
    for number in range(4):
        (folder / f"in{number}").mkdir()
        for name in range(3):
            making[kind](folder / f"in{number}" / str(name))
    many = LocalWorkspaces(environment=environment(folder.parent), copy_files_max=17)
    few = LocalWorkspaces(environment=environment(folder.parent), copy_files_max=16)

    with many.worktree(str(folder), "skill", "call"), pytest.raises(Refused) as refused:
        few.worktree(str(folder), "skill", "other").__enter__()

    assert refused.value.code == "worktree.large"
