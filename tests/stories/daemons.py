"""Daemons as processes, and agents that report their runs to them whatever happens to the daemons."""

import os
import random
import signal
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from runlore.client.transport import Transport, unix_connect
from runlore.config.settings import Settings
from runlore.daemon.process.sockets import is_listening, read_daemon_file
from runlore.daemon.wiring import open_parts
from runlore.domain.errors import RunloreError
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.record import Kind, Layer, State
from runlore.domain.run import MemoryState
from runlore.domain.runs.job import JobKind
from runlore.ports.store import RecordFilter
from tests import forked
from tests.waiting import PATIENCE_S, until

JSON = {"Content-Type": "application/json"}
CALL_S = 4.0
READY_S = PATIENCE_S
SOLONG_S = 240.0


class Daemon:
    """One `runlore up`, on a state root of its own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._process: forked.Forked | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        environment = {**os.environ, "RUNLORE_DATABASE_URL": self.settings.database_url or ""}
        root = self.settings.state_root
        Path(root).mkdir(parents=True, exist_ok=True, mode=0o700)
        with (Path(root).parent / f"{Path(root).name}.log").open("ab") as log:
            self._process = forked.start(
                *("runlore", "up", "--port", "0", "--home", root),
                env=environment,
                stdout=log.fileno(),
                stderr=log.fileno(),
            )
        for _ in range(int(READY_S / 0.02)):
            told = read_daemon_file(root)
            if told is not None and told.pid == self._process.pid and is_listening(told.socket):
                return
            assert self._process.poll() is None, f"the daemon ended with {self._process.returncode}"
            threading.Event().wait(0.02)
        raise AssertionError("the daemon did not become ready")

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal. One that stops it has done so when this comes back."""
        assert self._process is not None
        self._process.send_signal(number)
        if number is signal.SIGSTOP:
            stat = Path(f"/proc/{self._process.pid}/stat")
            until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")

    def kill(self) -> None:
        """End it as a power cut ends a process."""
        self.signal(signal.SIGKILL)
        assert self._process is not None
        self._process.wait()

    def close(self) -> None:
        """End it, whatever state it is in."""
        if self._process is not None and self._process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            self._process.wait(READY_S)

    @property
    def token(self) -> str:
        """The operator's token of its state root, which is good at every daemon on the same database."""
        return (Path(self.settings.state_root) / "operator.token").read_text(encoding="utf-8").strip()

    def transport(self, token: str | None = None) -> Transport:
        """Calls to it, with its own operator's token unless told otherwise; Unavailable where it is not
        there."""
        told = read_daemon_file(self.settings.state_root)
        if told is None:
            raise ConnectionRefusedError
        return Transport(
            unix_connect(told.socket), where=told.socket, host="localhost", token=token or self.token
        )


@dataclass(kw_only=True)
class Told:
    """What an agent was told is kept: its session's events, and its runs with their ends."""

    session_id: str
    events: list[tuple[str, str]] = field(default_factory=list)
    runs: dict[str, str] = field(default_factory=dict)


class Agent(threading.Thread):
    """An agent that works one run after the other, and repeats every call until it is answered."""

    def __init__(self, number: int, daemons: Sequence[Daemon], *, runs: int, gone: threading.Event) -> None:
        super().__init__(name=f"agent-{number}", daemon=True)
        self.told = Told(session_id=f"session-{number}")
        self.failure: BaseException | None = None
        self._daemons = daemons
        self._runs = runs
        self._random = random.Random(number)
        self._gone = gone
        self._daemon = self._random.choice(daemons)
        # Whoever repeats a call elsewhere is the same caller there: one agent, one token.
        self._token = daemons[0].token

    def run(self) -> None:
        """Report all runs."""
        try:
            session = self.told.session_id
            self._call("POST", "/v1/sessions", {"session_id": session})
            self.told.events.append(("binding", ""))
            for number in range(self._runs):
                self._report(f"{session}-run-{number}", number)
        except BaseException as error:
            # Whatever it is, it is told by `joined`, where the test sees it.
            self.failure = error

    def _report(self, run_id: str, number: int) -> None:
        session = self.told.session_id
        request = f"Do thing {number} of {session}"
        opened = self._call(
            "POST",
            f"/v1/sessions/{session}/runs",
            {"run_id": run_id, "request": request, "context": bool(number % 2)},
        )
        self.told.events.append(("input", request))
        next_number = int(opened["input_number"]) + 1
        for step in range(self._random.randint(1, 3)):
            texts = [f"{run_id} step {step} part {part}" for part in range(self._random.randint(1, 4))]
            events = [{"type": "assistant_message", "text": text} for text in texts]
            answer = self._call(
                "POST", f"/v1/runs/{run_id}/events", {"first_number": next_number, "events": events}
            )
            assert (answer["first_number"], answer["last_number"]) == (
                next_number,
                next_number + len(texts) - 1,
            )
            next_number += len(texts)
            self.told.events += [("assistant_message", text) for text in texts]
        status = self._random.choice(["completed", "completed", "failed", "cancelled"])
        ended = self._call("POST", f"/v1/runs/{run_id}/finish", {"status": status})
        assert (ended["status"], ended["memory"]) == (status, "stored"), ended
        self.told.events.append(("status", ""))
        self.told.runs[run_id] = status

    def _call(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the daemon that answered last, and others until one answers."""
        for _ in range(int(SOLONG_S / 0.05)):
            try:
                with closing(self._daemon.transport(self._token)) as transport:
                    answer = transport.call(
                        method, path, headers=JSON, body=orjson.dumps(body), timeout_s=CALL_S
                    )
            except (RunloreError, OSError):
                answer = None
            if answer is None or answer.status == 503:
                self._daemon = self._random.choice(self._daemons)
                self._gone.wait(0.05)
                continue
            assert answer.status in (200, 201), (path, answer.status, answer.body)
            document: dict[str, Any] = orjson.loads(answer.body)
            return document
        raise AssertionError(f"nobody answered {path}")


def agents(daemons: Sequence[Daemon], *, count: int, runs: int) -> list[Agent]:
    """Some agents at work."""
    gone = threading.Event()
    working = [Agent(number, daemons, runs=runs, gone=gone) for number in range(count)]
    for agent in working:
        agent.start()
    return working


def joined(working: Sequence[Agent]) -> list[Told]:
    """What all of them were told, once they have done."""
    for agent in working:
        agent.join(SOLONG_S)
        assert not agent.is_alive(), f"{agent.name} still waits for an answer"
        assert agent.failure is None, f"{agent.name}: {agent.failure!r}"
    return [agent.told for agent in working]


def check_store(settings: Settings, told: Sequence[Told]) -> None:
    """What was acknowledged is there, once: events, runs, memories, pointers, episodes, counters."""
    parts = open_parts(settings)
    try:
        with parts.store.snapshot() as snapshot:
            for each in told:
                events = snapshot.journal.page(session_id=_session(each), limit=10_000)
                assert [event.number for event in events] == list(range(1, len(events) + 1))
                said = [(event.type.value, _text(event.body, event.type.value)) for event in events]
                assert said == each.events
            ended = {run_id: status for each in told for run_id, status in each.runs.items()}
            runs = {run.run_id: run for run in snapshot.runs.terminal(limit=100_000)}
            assert {run_id: run.status.value for run_id, run in runs.items()} == ended
            assert {run.memory for run in runs.values()} == {MemoryState.STORED}
            pointers = [pointer.run_id for pointer in snapshot.pointers.everything()]
            assert sorted(pointers) == sorted(ended)
            where = RecordFilter(layers=frozenset({Layer.EPISODIC}), states=frozenset({State.ACTIVE}))
            episodes = snapshot.records.page(where, limit=100_000)
            assert sorted(str(record.source.run_id) for record in episodes) == sorted(ended)
            assert {record.kind for record in episodes} <= {Kind.RUN, Kind.FAILURE}
            assert snapshot.counters.values()["run_memory.stored_total"] == len(ended)
            left = {kind for kind, _ in snapshot.jobs.count()}
            assert left <= {JobKind.CAPTURE, JobKind.REVIEW, JobKind.MAINTAIN}, "what is owed to runs is done"
        kept = list(parts.run_memories.everything())
        assert all(isinstance(memory, RunMemory) for memory in kept)
        assert sorted(str(memory.run_id) for memory in kept) == sorted(ended)
    finally:
        parts.close()


def _session(told: Told) -> Any:
    return told.session_id


def _text(body: Any, kind: str) -> str:
    return str(body["text"]) if kind in ("input", "assistant_message") else ""
