"""A working folder on a disk that is full, in a process with a view of the file system of its own.

    unshare --mount python -m tests.agents.workspace.full_workspace FOLDER

mounts a small disk on the folder and prints what happened as JSON. The mount is gone with the process.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from runlore.agents.workspace.worktrees import LocalWorkspaces
from runlore.domain.errors import RunloreError


def main(top: str) -> None:
    """Write, edit and copy on a disk without a byte left, then on one that is read-only."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", top], check=True)
    folder = Path(top) / "work"
    folder.mkdir()
    (folder / "file").write_text("kept")
    workspaces = LocalWorkspaces()
    workspace = workspaces.open(str(folder))
    story: dict[str, object] = {}
    _fill(Path(top) / "filler")
    story["written on a full disk"] = _code(lambda: workspace.write("new/file", "x" * 100_000))
    story["edited on a full disk"] = _code(lambda: workspace.edit("file", "kept", "y" * 100_000))
    story["before"] = workspace.read("file").text
    story["left over"] = sorted(os.listdir(folder))
    os.truncate(Path(top) / "filler", 600_000)
    (folder / "file").write_text("kept" * 60_000)

    def copied() -> None:
        with workspaces.worktree(str(folder), "skill", "call"):
            pass

    story["copied on a full disk"] = _code(copied)
    story["left of the copy"] = sorted(os.listdir(folder))
    (Path(top) / "filler").unlink()
    story["written with room"] = _code(lambda: workspace.write("file", "room"))
    subprocess.run(["mount", "-o", "remount,ro", top], check=True)
    story["written on a read-only disk"] = _code(lambda: workspace.write("file", "x"))
    story["afterwards"] = workspace.read("file").text
    print(json.dumps(story))


def _fill(path: Path) -> None:
    try:
        with path.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
    except OSError:
        return


def _code(act: Callable[[], object]) -> str:
    try:
        act()
    except RunloreError as error:
        return error.code
    return "written"


if __name__ == "__main__":
    main(sys.argv[1])
