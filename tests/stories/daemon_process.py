"""Starts and ends real daemons for the stories, and calls them."""

import json
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import forked
from tests.surfaces.api_client import Answer, UnixConnection, call
from tests.waiting import PATIENCE_S

SILENCE_S_MAX = PATIENCE_S


class Daemon:
    """One process."""

    def __init__(self, state_root: Path, environment: dict[str, str] | None = None, **settings: Any) -> None:
        wanted = {"state_root": str(state_root), "server": {"port": 0}, **settings}
        self.state_root = state_root
        self._out, out = os.pipe()
        self._err, err = os.pipe()
        try:
            self.process = forked.start(
                "tests.stories.serve_daemon",
                json.dumps(wanted),
                stdout=out,
                stderr=err,
                env={**os.environ, **(environment or {})},
            )
        finally:
            os.close(out)
            os.close(err)
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
        with open(self._err, "rb") as err:
            logged = err.read().decode()
        return self.process.wait(), logged

    def stop(self) -> tuple[int, str]:
        """Ask it to stop."""
        self.signal(signal.SIGTERM)
        return self.end()

    def kill(self) -> None:
        """Kill it where it stands."""
        self.signal(signal.SIGKILL)
        self.end()

    def _line(self) -> dict[str, Any]:
        ready, _, _ = select.select([self._out], [], [], SILENCE_S_MAX)
        assert ready, "the daemon says nothing"
        with open(self._out, "rb") as out:
            line = out.readline()
        assert line, self.end()
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
