"""Copies that child agents work in: noted while they are there, and swept when their process is dead."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runlore.agents.workspace.worktrees import LocalWorkspaces
from runlore.daemon.agent.worktree_cleanup import FOLDER, Copy, CopyNotes
from runlore.domain.errors import Unavailable
from runlore.domain.run import RunId
from runlore.ports.workspaces import Workspaces
from tests.agents.commands import environment

pytestmark = pytest.mark.req("ROL-12")

COPIES = ".runlore-worktrees"
# Takes a note and a copy, says so, and waits to be killed.
CHILD = """
import sys
from runlore.agents.workspace.worktrees import LocalWorkspaces
from runlore.daemon.agent.worktree_cleanup import Copy, CopyNotes
root, folder, skill, call_id = sys.argv[1:]
copy = Copy(folder=folder, call_id=call_id)
with CopyNotes(root).keep_note(copy, call_id), LocalWorkspaces().worktree(folder, skill, call_id):
    print("there", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def home(disk_path: Path) -> Path:
    return disk_path.resolve()


@pytest.fixture
def root(home: Path) -> Path:
    folder = home / "state"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def folder(home: Path) -> Path:
    made = home / "project"
    made.mkdir()
    (made / "f").write_text("one\n")
    return made


@pytest.fixture
def workspaces(home: Path, root: Path) -> Workspaces:
    return LocalWorkspaces(environment=environment(home), kept_out=[str(root)])


def _started(root: Path, folder: Path, skill: str, call_id: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(root), str(folder), skill, call_id],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    return process


def _killed(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_note_is_there_as_long_as_its_copy_and_for_nobody_else_to_read(root: Path, folder: Path) -> None:
    notes = CopyNotes(str(root))

    with notes.keep_note(Copy(folder=str(folder), call_id="call_1"), RunId("run_1")):
        (note,) = (root / FOLDER).iterdir()
        assert stat.S_IMODE(note.stat().st_mode) == 0o600
        assert stat.S_IMODE(note.parent.stat().st_mode) == 0o700

    assert list((root / FOLDER).iterdir()) == []


def test_a_copy_is_swept_once_its_process_is_dead_and_no_other_is(
    root: Path, home: Path, folder: Path, workspaces: Workspaces
) -> None:
    other = home / "other"
    other.mkdir(mode=0o700)
    dead = _started(root, folder, "tidy", "call_1")
    living = _started(root, folder, "tidy", "call_2")
    stranger = _started(other, folder, "tidy", "call_3")
    notes = CopyNotes(str(root))
    try:
        assert notes.sweep(workspaces) == ()
        _killed(dead)
        _killed(stranger)

        assert notes.sweep(workspaces) == ("call_1",)

        assert {name.split(".")[0] for name in os.listdir(folder / COPIES / "tidy")} == {"call_2", "call_3"}
        assert len(os.listdir(root / FOLDER)) == 1
        assert notes.sweep(workspaces) == ()
        assert CopyNotes(str(other)).sweep(workspaces) == ("call_3",)
    finally:
        _killed(living)
    assert notes.sweep(workspaces) == ("call_2",)
    assert sorted(os.listdir(folder)) == ["f"]
    assert os.listdir(root / FOLDER) == []


def test_a_living_copy_of_the_same_call_is_not_taken_for_the_dead_one(
    root: Path, folder: Path, workspaces: Workspaces
) -> None:
    dead = _started(root, folder, "tidy", "call_1")
    _killed(dead)
    notes = CopyNotes(str(root))
    copy = Copy(folder=str(folder), call_id="call_1")

    with notes.keep_note(copy, RunId("another")), workspaces.worktree(str(folder), "other", "call_1") as made:
        assert notes.sweep(workspaces) == ()
        assert os.path.isdir(made.workspace.folder)


def test_a_note_of_a_folder_that_is_gone_goes_too(root: Path, folder: Path, workspaces: Workspaces) -> None:
    _killed(_started(root, folder, "tidy", "call_1"))
    folder.rename(folder.parent / "elsewhere")

    assert CopyNotes(str(root)).sweep(workspaces) == ()

    assert os.listdir(root / FOLDER) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"folder": 1, "call_id": "x"}', b"\xff" * 100_000])
def test_what_is_no_note_is_left_alone(
    content: bytes, root: Path, folder: Path, workspaces: Workspaces
) -> None:
    notes = CopyNotes(str(root))
    (root / FOLDER).mkdir()
    (root / FOLDER / "a.json").write_bytes(content)
    os.symlink(folder / "f", root / FOLDER / "b.json")
    os.mkfifo(root / FOLDER / "c.json")
    (root / FOLDER / "d.json").mkdir()

    assert notes.sweep(workspaces) == ()

    assert sorted(os.listdir(root / FOLDER)) == ["a.json", "b.json", "c.json", "d.json"]
    assert (folder / "f").read_text() == "one\n"


def test_without_a_note_there_is_no_copy(root: Path, folder: Path) -> None:
    (root / FOLDER).write_text("in the way")

    with (
        pytest.raises(Unavailable) as caught,
        CopyNotes(str(root)).keep_note(Copy(folder=str(folder), call_id="call_1"), RunId("run_1")),
    ):
        pytest.fail("nobody works without a note")
    assert caught.value.code == "worktree.note"


class Stubborn:
    """Folders from which no copy can be removed for a while."""

    def __init__(self, real: Workspaces) -> None:
        self._real = real
        self.is_stubborn = True

    def sweep(self, folder: str, *, is_alive: Callable[[str], bool]) -> tuple[str, ...]:
        """Remove what can be removed."""
        return self._real.sweep(folder, is_alive=lambda call_id: is_alive(call_id) or self.is_stubborn)


def test_a_copy_that_cannot_be_removed_stays_noted_until_it_can(
    root: Path, folder: Path, workspaces: Workspaces
) -> None:
    stubborn: Any = Stubborn(workspaces)
    _killed(_started(root, folder, "skill", "call-1"))

    assert CopyNotes(str(root)).sweep(stubborn) == ()
    assert len(list((root / FOLDER).iterdir())) == 1
    stubborn.is_stubborn = False
    assert CopyNotes(str(root)).sweep(stubborn) == ("call-1",)
    assert list((root / FOLDER).iterdir()) == []
    assert not (folder / COPIES).exists()


@pytest.mark.parametrize("is_left", [True, False])
def test_a_note_outlives_its_copy_only_where_that_is_left(root: Path, folder: Path, is_left: bool) -> None:
    copy = Copy(folder=str(folder), call_id="call-1")
    with CopyNotes(str(root)).keep_note(copy, RunId("run-1"), is_left=lambda: is_left):
        assert len(list((root / FOLDER).iterdir())) == 1

    assert len(list((root / FOLDER).iterdir())) == is_left
