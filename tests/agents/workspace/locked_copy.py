"""Makes a copy in a process of its own: `python -m tests.agents.workspace.locked_copy FOLDER [CALL_ID]`.

Without an id the copy is filled with folders that nobody may enter, and must be gone at the end; with one,
the process dies in the middle.
"""

import os
import signal
import sys
from pathlib import Path

from runlore.agents.workspace.worktrees import LocalWorkspaces


def main(folder: str, call_id: str = "") -> None:
    """Lock what is in the copy, or die."""
    with LocalWorkspaces().worktree(folder, "skill", call_id or "call") as made:
        if call_id:
            os.kill(os.getpid(), signal.SIGKILL)
        top = Path(made.workspace.folder)
        for name in ("a/b/c", "d/e"):
            (top / name).mkdir(parents=True)
            (top / name / "f").write_text("x")
        for name, mode in (("a/b/c", 0), ("a/b", 0o500), ("a", 0), ("d/e", 0o100), ("d", 0o400), ("", 0o500)):
            (top / name).chmod(mode)


if __name__ == "__main__":
    main(*sys.argv[1:])
