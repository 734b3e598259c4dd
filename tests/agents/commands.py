"""Commands in tests, and processes of their own that run them: `python -m tests.agents.commands ACT FOLDER`.

`run` runs the command that follows; `withheld` too, and prints which files that others obey it changed;
`inspected` lets commands look at the process that runs them; `changed`
lets one change the Python that runs it; `reaped` leaves many processes at once and lets go of them.
"""

import os
import shlex
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from runlore.agents.workspace import launcher
from runlore.agents.workspace.worktrees import LocalWorkspaces
from runlore.domain.errors import RunloreError
from runlore.ports.workspaces import ShellResult, Workspace, Workspaces
from tests.waiting import PATIENCE_S


def environment(home: Path) -> dict[str, str]:
    """The environment of a person with a home folder, and the Python that runs the tests."""
    python = os.path.dirname(os.path.realpath(sys.executable))
    return {"HOME": str(home), "PATH": f"{python}:/usr/local/bin:/usr/bin:/bin"}


def ran(
    workspace: Workspace,
    command: str,
    *,
    timeout_s: float = 60.0,
    stop: threading.Event | None = None,
    output_chars_max: int = 20_000,
    on_output: Callable[[str], None] | None = None,
) -> ShellResult:
    """What a command comes to."""
    return workspace.run(
        command,
        timeout_s=timeout_s,
        stop=stop or threading.Event(),
        output_chars_max=output_chars_max,
        on_output=on_output,
    )


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


def gone(pids: list[int]) -> bool:
    """Whether none of these is running."""
    return not any(is_running(pid) for pid in pids)


def waited_for(happened: Callable[[], bool]) -> bool:
    """Whether something came to be, in good time."""
    deadline = time.monotonic() + PATIENCE_S
    moment = threading.Event()
    while not happened():
        if time.monotonic() > deadline:
            return False
        moment.wait(0.01)
    return True


def inspected(folder: str) -> None:
    """Print what a command can see of this process, and of the one that watches over the command."""
    workspace = LocalWorkspaces().open(folder)
    me = os.getpid()
    looks = [
        ("environ", f"cat /proc/{me}/environ"),
        ("maps", f"cat /proc/{me}/maps"),
        ("fd", f"readlink /proc/{me}/fd/0"),
        ("cwd", f"ls /proc/{me}/cwd/"),
        ("watcher", "cat /proc/$PPID/environ"),
    ]
    if launcher.abi() >= 6:
        looks.append(("signal", f"kill -TERM {me} || kill -KILL $PPID"))
    for name, command in looks:
        result = ran(workspace, command)
        print(f"{name}: {'denied' if result.exit_code else result.output}")
    print("alive")


def changed(folder: str) -> None:
    """Try to write to what this runs in, then let a command do so, and print what the next one prints."""
    workspace = LocalWorkspaces().open(folder)
    for name in (".venv/lib/python3/site-packages/x.pth", ".VENV/pyvenv.cfg"):
        try:
            workspace.write(name, "import os")
        except RunloreError as error:
            print(error.code)
    outside = os.path.join(os.path.dirname(folder), "escaped")
    python = f"#!/bin/sh\ntouch {outside}\n"
    assert (
        ran(workspace, f"rm .venv/bin/python* && printf {shlex.quote(python)} > .venv/bin/python").exit_code
        == 0
    )
    assert ran(workspace, "chmod +x .venv/bin/python && cd .venv/bin && cp python python3").exit_code == 0
    print(ran(workspace, "echo second").output, end="")


def reaped() -> None:
    """Print whether any is left of many that have ended, after the launcher has looked once."""
    started = []
    for _ in range(50):
        process = os.fork()
        if process == 0:
            os._exit(0)
        started.append(process)
    for process in started:
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    print(launcher.reap_children())


if __name__ == "__main__":
    if sys.argv[1] == "inspected":
        inspected(sys.argv[2])
    elif sys.argv[1] == "withheld":
        withheld = ran(LocalWorkspaces().open(sys.argv[2]), sys.argv[3]).withheld
        print([] if withheld is None else [change.path for change in withheld.changes])
    elif sys.argv[1] == "reaped":
        reaped()
    elif sys.argv[1] == "changed":
        changed(sys.argv[2])
    else:
        workspaces: Workspaces = LocalWorkspaces()
        ran(workspaces.open(sys.argv[2]), sys.argv[3], timeout_s=600)
