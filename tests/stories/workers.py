"""Workers that somebody kills, and what they said: `tests.stories.kill_worker` from outside."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from runlore.config.settings import Settings
from tests.stories.ledger import Ledger

SILENCE_S_MAX = 180.0


class Workers:
    """A process that forks workers, and what they say."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.stories.kill_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        self._unread = b""
        self._lines: list[dict[str, Any]] = []

    def start(self, settings: Settings, seed: int) -> int:
        """Start a worker: its process id."""
        assert self._process.stdin
        wanted = {
            "state_root": settings.state_root,
            "database_url": settings.database_url,
            "seed": seed,
        }
        self._process.stdin.write(json.dumps(wanted).encode() + b"\n")
        self._process.stdin.flush()
        while "process" not in (line := self._take()):
            # The worker was faster than the one that forked it.
            self._lines.append(line)
        return int(line["process"])

    def say(self) -> dict[str, Any]:
        """The next line."""
        return self._lines.pop(0) if self._lines else self._take()

    def say_until_now(self) -> Iterator[dict[str, Any]]:
        """The lines that are there already."""
        assert self._process.stdout
        pipe = self._process.stdout.fileno()
        while self._lines or b"\n" in self._unread or select.select([pipe], [], [], 0)[0]:
            yield self.say()

    def close(self) -> None:
        """End with the last worker."""
        assert self._process.stdin
        self._process.stdin.close()
        assert self._process.wait(SILENCE_S_MAX) == 0
        assert self._process.stdout
        self._process.stdout.close()

    def _take(self) -> dict[str, Any]:
        assert self._process.stdout
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._unread:
            ready, _, _ = select.select([pipe], [], [], SILENCE_S_MAX)
            assert ready, "the worker says nothing"
            read = os.read(pipe, 1 << 16)
            assert read, "the workers' parent has ended"
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        told: dict[str, Any] = json.loads(line)
        return told


@contextmanager
def running_workers() -> Iterator[Workers]:
    """The process that forks workers."""
    workers = Workers()
    yield workers
    workers.close()


def listen(workers: Workers, ledger: Ledger, *, answers: int) -> None:
    """Wait for a number of answers."""
    heard = 0
    while heard < answers:
        line = workers.say()
        assert "ended" not in line, "the worker ended by itself"
        ledger.note(line)
        heard += "begin" not in line


def listen_to_the_end(workers: Workers, ledger: Ledger) -> int:
    """What the worker had said before it ended, and how it ended."""
    while "ended" not in (line := workers.say()):
        if "unavailable" not in line:
            ledger.note(line)
    ledger.note_the_end()
    return int(line["ended"])


def wait_busily(seconds: float) -> None:
    """Wait without giving the processor away: milliseconds, exactly."""
    ends_at = time.perf_counter() + seconds
    while time.perf_counter() < ends_at:
        pass
