"""The process behind `tests.forked`: it loads what our programs load, and forks whenever it is asked to.

    python -m tests.fork_server DESCRIPTOR

Between it and each program stands a process that tells the program's number and its end. All end with it, and
it ends with the other end of the socket.
"""

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import struct
import sys
import tempfile
import threading
from typing import Any

import runlore
from runlore.config.settings import Settings

LOADED = ("tests.fakes", "tests.flow.meanings", "tests.world")
MESSAGE_BYTES_MAX = 1 << 18
PR_SET_PDEATHSIG = 1
NUMBER = struct.Struct("i")


def main() -> None:
    """Fork until nobody can ask any more; a fork leaves here to be the program."""
    control = socket.socket(fileno=int(sys.argv[1]))
    _load()
    assert threading.active_count() == 1, f"it cannot be forked: {threading.enumerate()}"
    # Its forks have most of their memory in common, as long as nobody looks for garbage in it.
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, files, _, _ = socket.recv_fds(control, MESSAGE_BYTES_MAX, 4)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            _stand_by(files)
            _become(json.loads(message), files)
            return
        for file in files:
            os.close(file)


def _load() -> None:
    """All of Runlore, and what its parts work out when first called: most of what a command costs."""
    for module in pkgutil.walk_packages(runlore.__path__, "runlore."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in LOADED:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        world = sys.modules["tests.world"].World(Settings(state_root=os.path.join(folder, "root")))
        world.profile()
        world.finished("Remember that the build takes a minute. Fact: the code name is Atlas.")
        world.search("build")
        world.operator.status()
        world.close()


def _stand_by(files: list[int]) -> None:
    """Fork once more: the fork returns, and the other tells of it."""
    _die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    program = os.fork()
    if program == 0:
        _die_with_parent()
        return
    *others, told = files
    for file in others:
        os.close(file)
    os.write(told, NUMBER.pack(program))
    _, status = os.waitpid(program, 0)
    os.write(told, NUMBER.pack(status))
    os._exit(0)


def _become(asked: dict[str, Any], files: list[int]) -> None:
    """Run a module as Python would, with its own arguments, environment, folder and files."""
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    # The streams of this process know what its own files can do.
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.argv = asked["argv"]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    main()
