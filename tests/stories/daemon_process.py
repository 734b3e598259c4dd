"""Starts and ends real daemons for the stories, and calls them."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.surfaces.api_client import Answer, UnixConnection, call
from tests.waiting import PATIENCE_S

SILENCE_S_MAX = PATIENCE_S
DIES_WITH_US = Path(__file__).resolve().parent.parent / "die_with_parent.py"


class Daemon:
    """One process."""

    def __init__(self, state_root: Path, environment: dict[str, str] | None = None, **settings: Any) -> None:
        wanted = {"state_root": str(state_root), "server": {"port": 0}, **settings}
        arguments = ["-m", "tests.stories.serve_daemon", json.dumps(wanted)]
        guard = [sys.executable, "-I", str(DIES_WITH_US), str(os.getpid()), str(int(signal.SIGKILL))]
        self.state_root = state_root
        self.process = subprocess.Popen(
            [*guard, str(os.getuid()), str(os.getgid()), sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **(environment or {})},
            cwd=DIES_WITH_US.parent.parent,
        )
        self.said = self._line()

    @property
    def secret(self) -> str:
        """The operator's."""
        return (self.state_root / "operator.token").read_text().strip()

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One call over the socket that the daemon told of."""
        sent = {"Authorization": f"Bearer {self.secret}", **headers}
        if body is not None:
            body = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        return call(UnixConnection(self.said["socket"]), method, path, body=body, headers=sent)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self) -> tuple[int, str]:
        """Wait for its end: the exit code, and what it logged."""
        _, err = self.process.communicate(timeout=SILENCE_S_MAX)
        return self.process.returncode, err.decode()

    def stop(self) -> tuple[int, str]:
        """Ask it to stop."""
        self.signal(signal.SIGTERM)
        return self.end()

    def kill(self) -> None:
        """Kill it where it stands."""
        self.signal(signal.SIGKILL)
        self.end()

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout
        ready, _, _ = select.select([self.process.stdout], [], [], SILENCE_S_MAX)
        assert ready, "the daemon says nothing"
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        said = json.loads(line)
        assert isinstance(said, dict)
        return said


@contextmanager
def daemon(state_root: Path, **settings: Any) -> Iterator[Daemon]:
    """A daemon that is there for a while."""
    made = Daemon(state_root, **settings)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.kill()
