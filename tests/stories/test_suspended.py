"""A daemon on PostgreSQL is suspended again and again in its work: what it was in is ended for others' sake,
and those who call it never learn of that."""

import secrets
import signal
import threading
from contextlib import closing
from pathlib import Path

import orjson
import psycopg
import pytest

from runlore.config.settings import Settings
from runlore.storage.postgres.session import STALE_S
from tests.stories.daemons import JSON, Daemon

CALLERS = 3
# What others or the server itself end of a process that stands still: whoever keeps others out, and whoever
# is between two statements of a write; a read has its snapshot (`backend_xmin`) and is let be.
_END = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'runlore %' AND (
        wait_event_type = 'Lock'
        OR (wait_event_type = 'Client' AND state IN ('active', 'idle in transaction')
            AND (backend_xid IS NOT NULL OR backend_xmin IS NULL))
    )
"""


class Caller(threading.Thread):
    """Reports one run after the other, each call once, and keeps what was refused."""

    def __init__(self, number: int, daemon: Daemon, over: threading.Event) -> None:
        super().__init__(name=f"caller-{number}", daemon=True)
        self.refused: list[object] = []
        self.calls = 0
        self._session = f"session-{number}"
        self._daemon = daemon
        self._over = over

    def run(self) -> None:
        """Report runs until it is over."""
        self._call("POST", "/v1/sessions", {"session_id": self._session})
        while not self._over.is_set():
            run_id = f"run-{secrets.token_hex(6)}"
            opened = {"run_id": run_id, "request": "Look at the header"}
            self._call("POST", f"/v1/sessions/{self._session}/runs", opened)
            said = {"events": [{"type": "assistant_message", "text": "It is fine"}]}
            self._call("POST", f"/v1/runs/{run_id}/events", said)
            self._call("POST", f"/v1/runs/{run_id}/finish", {"status": "completed"})
            self._call("GET", "/v1/learnings?limit=5", None)

    def _call(self, method: str, path: str, body: object) -> None:
        with closing(self._daemon.transport()) as transport:
            sent = b"" if body is None else orjson.dumps(body)
            answer = transport.call(method, path, headers=JSON, body=sent)
        self.calls += 1
        if answer.status >= 300:
            self.refused.append((method, path, answer.status, answer.body))


@pytest.mark.req("OPS-4", "RUN-1")
@pytest.mark.parametrize(
    "times", [pytest.param(3, id="3"), pytest.param(40, id="40", marks=pytest.mark.soak)]
)
def test_its_callers_never_learn_of_it(tmp_path: Path, postgres_database: str, times: int) -> None:
    daemon, over, pause = Daemon(_settings(tmp_path, postgres_database)), threading.Event(), threading.Event()
    ended = 0
    try:
        daemon.start()
        callers = [Caller(number, daemon, over) for number in range(CALLERS)]
        for caller in callers:
            caller.start()
        with psycopg.connect(postgres_database, autocommit=True) as other:
            for number in range(times):
                pause.wait(0.7 + number % 5 / 7)
                daemon.signal(signal.SIGSTOP)
                pause.wait(1.2 * STALE_S)
                ended += other.execute(_END).rowcount
                daemon.signal(signal.SIGCONT)
        over.set()
        for caller in callers:
            caller.join()
    finally:
        daemon.close()

    assert [each for caller in callers for each in caller.refused] == []
    assert min(caller.calls for caller in callers) > 1
    assert ended > 0


def _settings(tmp_path: Path, url: str) -> Settings:
    return Settings(state_root=str(tmp_path / "home"), database_url=url)
