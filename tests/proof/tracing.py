"""Every place where a process of ours hands something to the disk, and what can be done to it there.

strace of the system follows the process: it counts the calls, and at one of them it kills, or answers in the
kernel's place that the disk has failed or is full.
"""

import json
import os
import re
import select
import socket
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from tests import forked
from tests.system_programs import find_strace
from tests.waiting import PATIENCE_S, until

# With `?` those that not every processor has.
CALLS = (
    *("write", "pwrite64", "?writev", "?pwritev", "?copy_file_range", "?fallocate"),
    *("fsync", "fdatasync", "ftruncate", "?truncate"),
    *("?rename", "renameat", "renameat2", "?unlink", "unlinkat", "?link", "linkat", "?mkdir", "mkdirat"),
)
_LINE = re.compile(r"^(\d+) +(\w+)\(")


@dataclass(frozen=True, kw_only=True)
class Point:
    """The so-many-th call of a name by one thread."""

    call: str
    number: int

    def __str__(self) -> str:
        return f"{self.call} {self.number}"


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What a process told before its end, how it ended, and what it printed."""

    said: dict[str, Any]
    code: int
    printed: str


def list_points(root: Path, database_url: str | None = None) -> list[Point]:
    """All points of the script, by a run that nothing happens to."""
    with tempfile.NamedTemporaryFile("r") as log:
        ended = run_script(root, f"-o{log.name}", database_url=database_url)
        assert ended.code == 0, ended.printed
        made: dict[str, Counter[str]] = {}
        for line in log:
            if found := _LINE.match(line):
                made.setdefault(found[1], Counter())[found[2]] += 1
    most = {call: max(each[call] for each in made.values()) for each in made.values() for call in each}
    return [Point(call=call, number=number) for call in sorted(most) for number in range(1, most[call] + 1)]


def kill_at(root: Path, point: Point, database_url: str | None = None) -> Ended:
    """Run the script until it is killed as it begins that call."""
    return run_script(
        root, f"-einject={point.call}:signal=KILL:when={point.number}", database_url=database_url
    )


def fail_at(root: Path, point: Point, error: str, *, for_good: bool) -> Ended:
    """Run the script while that call fails, once or from then on."""
    when = f"{point.number}{'+' if for_good else ''}"
    return run_script(root, f"-einject={point.call}:error={error}:when={when}")


def run_script(root: Path, *options: str, database_url: str | None = None) -> Ended:
    """Run the script under strace."""
    with (
        closing(Script(root, database_url)) as script,
        traced(script.process.pid, f"-etrace={','.join(CALLS)}", *options),
    ):
        script.begin()
        said = script.listen_to_the_end()
        return Ended(said=said, code=script.process.wait(), printed=script.printed())


class Script:
    """`tests.proof.workload` in a process of its own, which stands by until it is told to begin."""

    def __init__(self, root: Path, database_url: str | None = None) -> None:
        self._answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._printed = os.memfd_create("printed")
        arguments = [str(root), *([database_url] if database_url else [])]
        with theirs:
            self.process = forked.start(
                "tests.proof.workload", *arguments, stdin=theirs.fileno(), stderr=self._printed
            )
        assert select.select([self._answers], [], [], PATIENCE_S)[0], "the script does not start"
        assert self._answers.recv(16) == b"ready", self.printed()

    def begin(self) -> None:
        """Let it work."""
        self._answers.send(b"go")

    def listen(self, answers: int) -> dict[str, Any]:
        """Wait for so many answers, or for its end."""
        return dict(islice(self._listen(), answers))

    def listen_until_now(self) -> dict[str, Any]:
        """What it has answered by now."""
        heard = {}
        while select.select([self._answers], [], [], 0)[0] and (answer := self._answers.recv(1 << 20)):
            name, said = json.loads(answer)
            heard[name] = said
        return heard

    def listen_to_the_end(self) -> dict[str, Any]:
        """All answers that are still to come."""
        return dict(self._listen())

    def printed(self) -> str:
        """What it printed, such as a traceback."""
        return os.pread(self._printed, 1 << 16, 0).decode()

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self._answers.close()
        os.close(self._printed)

    def _listen(self) -> Iterator[tuple[str, Any]]:
        while select.select([self._answers], [], [], PATIENCE_S)[0]:
            answer = self._answers.recv(1 << 20)
            if not answer:
                return
            name, said = json.loads(answer)
            yield name, said
        raise AssertionError("the script says nothing")


@contextmanager
def traced(process: int, *options: str) -> Iterator[None]:
    """Follow a process and its threads for a while."""
    with tempfile.TemporaryFile() as told:
        quiet = [] if any(option.startswith("-o") for option in options) else ["-o", os.devnull]
        strace = subprocess.Popen(
            [find_strace(), "-f", "-qq", *quiet, *options, "-p", str(process)], stderr=told
        )
        try:
            status = Path(f"/proc/{process}/status")
            until(
                lambda: strace.poll() is not None or "TracerPid:\t0\n" not in status.read_text(),
                told=lambda: os.pread(told.fileno(), 1 << 16, 0).decode(),
            )
            assert strace.poll() is None, os.pread(told.fileno(), 1 << 16, 0).decode()
            yield
        finally:
            strace.terminate()
            strace.wait(PATIENCE_S)
