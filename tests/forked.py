"""Programs of ours, each in a process of its own, without the second or two that loading them takes.

One process stands by that has loaded what they load. A program is a fork of it: it has its own number and its
own files, takes signals and can be killed like any other. What a program does while Python starts, or what it
loads, is shown by starting the installed one.
"""

import atexit
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[1]
NUMBER = struct.Struct("i")
_starting = threading.Lock()


class Forked:
    """A running program, as much like `subprocess.Popen` as the tests need."""

    def __init__(self, told: int) -> None:
        self._told = told
        self.returncode: int | None = None
        self.pid = self._number()

    def poll(self) -> int | None:
        """The exit code, once it has ended; minus the signal's number where it was killed."""
        if self.returncode is None and select.select([self._told], [], [], 0)[0]:
            self.returncode = os.waitstatus_to_exitcode(self._number())
            os.close(self._told)
        return self.returncode

    def wait(self, timeout: float | None = PATIENCE_S) -> int:
        """The exit code, when it has ended."""
        if self.returncode is None and not select.select([self._told], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a forked program", timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal to one that has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a power cut ends a process."""
        self.send_signal(signal.SIGKILL)

    def _number(self) -> int:
        answer = os.read(self._told, NUMBER.size)
        assert answer, "the process that forks has ended"
        number: int = NUMBER.unpack(answer)[0]
        return number


def start(
    module: str,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
) -> Forked:
    """Start `python -m MODULE ARGUMENT...` in our folder; what it reads and writes are open files."""
    asked = {"argv": [module, *arguments], "env": dict(env or os.environ), "cwd": os.getcwd()}
    ours, theirs = os.pipe()
    nothing = os.open(os.devnull, os.O_RDWR)
    files = [nothing if file == subprocess.DEVNULL else file for file in (stdin, stdout, stderr)]
    try:
        with _starting:
            server = _server()
        socket.send_fds(server, [json.dumps(asked).encode()], [*files, theirs])
    finally:
        os.close(theirs)
        os.close(nothing)
    return Forked(ours)


def run(
    module: str,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.CompletedProcess[str]:
    """Run one to its end: its exit code, and what it wrote."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        files = {"stdin": stdin, "stdout": out.fileno(), "stderr": err.fileno()}
        program = start(module, *arguments, env=env, **files)
        try:
            code = program.wait()
        finally:
            program.kill()
        texts = [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in (out, err)]
    return subprocess.CompletedProcess([module, *arguments], code, *texts)


@cache
def _server() -> socket.socket:
    """The way to the process that forks: started when it is first needed, and ended with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
            cwd=ROOT,
            # A library that has threads of its own cannot be forked.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        server.wait(PATIENCE_S)

    atexit.register(end)
    return ours
