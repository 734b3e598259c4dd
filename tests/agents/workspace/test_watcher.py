"""What a command could do to the process that watches over it, in order to live on: nothing of it works."""

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from runlore.agents.workspace import launcher
from runlore.agents.workspace.local_workspace import LocalWorkspace, open_workspace
from runlore.agents.workspace.permissions import build_permissions
from runlore.agents.workspace.shell import CommandRunner
from tests.agents.commands import environment, gone, is_running, ran, waited_for

pytestmark = pytest.mark.req("AGT-4")

# Each way as it would be gone, but with what changes nothing where it leads through.
WAYS = """
import fcntl, os, resource, signal, sys
watcher, another = os.getppid(), int(sys.argv[1])
nothing = os.open("/dev/null", os.O_RDONLY)
there = os.open(f"/proc/{watcher}", os.O_RDONLY | os.O_DIRECTORY)
files, nice = resource.RLIMIT_NOFILE, os.getpriority(os.PRIO_PROCESS, 0)
ways = {
    "limits": lambda: resource.prlimit(watcher, files, resource.prlimit(0, files)),
    "limits of another": lambda: resource.prlimit(another, files, resource.prlimit(0, files)),
    "scheduling": lambda: os.sched_setscheduler(watcher, os.SCHED_OTHER, os.sched_param(0)),
    "processors": lambda: os.sched_setaffinity(watcher, os.sched_getaffinity(0)),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, watcher, nice),
    "priority of its group": lambda: os.setpriority(os.PRIO_PGRP, watcher, nice),
    "priority of all": lambda: os.setpriority(os.PRIO_USER, 0, nice),
    "signal": lambda: os.kill(watcher, 0),
    "signal to its group": lambda: os.kill(-watcher, 0),
    "signal by a handle": lambda: signal.pidfd_send_signal(there, 0),
}
if sys.argv[2] == "unkept":
    ways["signal to all"] = lambda: os.kill(-1, 0)
    ways["signal of a file"] = lambda: fcntl.fcntl(nothing, fcntl.F_SETOWN, watcher)
for name, way in ways.items():
    try:
        way()
    except OSError:
        continue
    print(name)
resource.setrlimit(files, resource.getrlimit(files))
os.setpriority(os.PRIO_PROCESS, 0, nice)
os.kill(os.getpid(), 0)
print("own")
"""
LEAVING = (
    "setsid sh -c 'echo $$ > pid; exec sleep 600' & while [ ! -s pid ]; do :; done; echo $PPID; sleep 600"
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty working folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def _opened(folder: Path, shell: CommandRunner) -> LocalWorkspace:
    return open_workspace(str(folder), lambda _: shell, home=str(folder.parent))


@pytest.mark.parametrize("abi", [5, 7])
@pytest.mark.parametrize("local_sockets", [False, True])
def test_no_way_leads_to_it_or_to_the_limits_of_others(work: Path, abi: int, local_sockets: bool) -> None:
    (work / "ways.py").write_text(WAYS)
    own = build_permissions(environment(work.parent), local_sockets=local_sockets)
    used = min(abi, launcher.abi())

    result = ran(
        _opened(work, CommandRunner(own, abi=abi)),
        f"exec python3 -S ways.py {os.getpid()} {'kept' if used >= 6 else 'unkept'}",
    )

    assert result.output == "own\n"


def test_one_that_takes_long_to_end_everything_goes_on_when_nobody_waits(work: Path) -> None:
    workspace = _opened(work, CommandRunner(build_permissions(environment(work.parent)), ending_s=0.1))
    stop, watchers = threading.Event(), []

    def hear(piece: str) -> None:
        watchers.append(int(piece))
        os.kill(watchers[0], signal.SIGSTOP)
        stop.set()

    result = ran(workspace, LEAVING, stop=stop, on_output=hear)
    left = int((work / "pid").read_text())
    try:
        assert (result.stopped, is_running(left)) == (True, True)
        os.kill(watchers[0], signal.SIGCONT)

        assert waited_for(lambda: gone([left, *watchers]))
    finally:
        for process in (left, *watchers):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
