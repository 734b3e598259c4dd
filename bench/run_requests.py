"""What a daemon's calls cost: appending events, and asking for a session's memory context.

Every figure stands beside the same call to a route that does nothing, in the same process and the same round,
through the unix socket and through TCP. Appends stand beside a loop that writes the same bytes to a file and
waits for the disk. Wall time: whoever calls waits for the answer.
"""

import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

import orjson

from bench.measure import Percentiles, print_table
from bench.serving import EMPTY, over_socket, over_tcp, serving
from runlore.client.transport import Transport
from runlore.config.settings import Settings
from runlore.daemon.parts import Parts
from runlore.daemon.process.sockets import DaemonFile
from runlore.daemon.wiring import open_parts
from runlore.domain.prompts.run_memory import RunMemory, RunText, build_run_memory, pointer_to
from runlore.domain.record import Kind
from runlore.domain.records.admission import Draft
from runlore.domain.records.audit import Act
from runlore.domain.run import MemoryState, Run, RunId, RunStatus
from runlore.domain.runs.journal import Entry, EventType
from runlore.domain.session import Binding, Session, SessionId
from runlore.flow.publish.decide import confirm
from runlore.flow.record.intake import Intake, propose
from runlore.ports.store import Transaction

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

TITLE = "appending events, and a memory-context request at 1k and 100k runs, beside an empty request"

RUNS_PER_SESSION = 32
LEARNINGS = 200
CALLS = 1_000
WARM_UP = 20
APPENDS = 300
WRITERS = 8
BATCH = 100
JSON = {"Content-Type": "application/json"}
WAYS = {"unix socket": over_socket, "TCP": over_tcp}
_SESSIONS_PER_WRITE = 64
ParametersT = ParamSpec("ParametersT")


def main() -> None:
    """Measure both sizes on this file system."""
    for runs in (1_000, 100_000):
        with tempfile.TemporaryDirectory(prefix="runlore-bench-", dir=Path.cwd()) as folder:
            home = str(Path(folder) / "home")
            fill(home, runs)
            with serving(home) as told:
                token = (Path(home) / "operator.token").read_text(encoding="utf-8").strip()
                _report_context(told, token, runs)
                _report_appends(told, token, runs, Path(folder) / "raw")


def _report_context(told: DaemonFile, token: str, runs: int) -> None:
    rows = []
    for way, connect in WAYS.items():
        transport = connect(told, token)
        session = f"/v1/sessions/ses_{runs // RUNS_PER_SESSION // 2:06}/memory-context"
        size = len(transport.call("GET", session).body)
        paths = {
            "an empty request": f"{EMPTY}/{size}",
            "memory-context": session,
            "memory-context?query": f"{session}?query=release+canary",
        }
        taken = _alternating(transport, paths)
        empty = Percentiles.of(taken["an empty request"]).p50_ms
        for name, times in taken.items():
            found = Percentiles.of(times)
            figures = (found.p50_ms, found.p99_ms, found.p50_ms / empty)
            rows.append((f"{runs:,} runs", way, name, *(f"{figure:.2f}" for figure in figures)))
        transport.close()
    print_table(("store", "way", "call", "p50 ms", "p99 ms", "of empty"), rows)


def _alternating(transport: Transport, paths: Mapping[str, str]) -> dict[str, list[int]]:
    """The calls in turn, so that a busy machine slows all of them."""
    taken: dict[str, list[int]] = {name: [] for name in paths}
    for number in range(CALLS + WARM_UP):
        for name, path in paths.items():
            start = time.perf_counter_ns()
            answer = transport.call("GET", path)
            assert answer.status == 200, (path, answer.status)
            if number >= WARM_UP:
                taken[name].append(time.perf_counter_ns() - start)
    return taken


def _report_appends(told: DaemonFile, token: str, runs: int, raw: Path) -> None:
    body = _events(1)
    yardstick = APPENDS / _seconds(_write_raw, raw, body)
    measured = {f"write + fdatasync of {len(body)} bytes, one writer": yardstick}
    for way, connect in WAYS.items():
        callers = [connect(told, token) for _ in range(WRITERS)]
        batches = APPENDS // 10
        one = APPENDS / _seconds(_append, callers[0], APPENDS, 1)
        together = APPENDS * WRITERS / _seconds(_append_together, callers)
        many = batches * BATCH / _seconds(_append, callers[0], batches, BATCH)
        measured[f"{way}, one caller, one event a call"] = one
        measured[f"{way}, {WRITERS} callers, one event a call"] = together
        measured[f"{way}, one caller, {BATCH} events a call"] = many
        for caller in callers:
            caller.close()
    rows = [(name, f"{rate:,.0f}", f"{rate / yardstick:.2f}") for name, rate in measured.items()]
    print_table((f"events appended, {runs:,} runs", "per second", "of raw"), rows)


def _append_together(callers: Sequence[Transport]) -> None:
    threads = [threading.Thread(target=_append, args=(caller, APPENDS, 1)) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _append(caller: Transport, calls: int, events: int) -> None:
    run_id = f"appended-{secrets.token_hex(8)}"
    caller.call("POST", "/v1/sessions", headers=JSON, body=orjson.dumps({"session_id": f"of-{run_id}"}))
    run = orjson.dumps({"request": "Go", "run_id": run_id})
    caller.call("POST", f"/v1/sessions/of-{run_id}/runs", headers=JSON, body=run)
    body = _events(events)
    for _ in range(calls):
        answer = caller.call("POST", f"/v1/runs/{run_id}/events", headers=JSON, body=body)
        assert answer.status == 201, answer


def _events(count: int) -> bytes:
    event = {"type": "assistant_message", "text": "The release went out at noon, and the canary was healthy."}
    return orjson.dumps({"events": [event] * count})


def _write_raw(path: Path, body: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for _ in range(APPENDS):
        os.write(file, body)
        os.fdatasync(file)
    os.close(file)


def _seconds(
    work: Callable[ParametersT, None], *args: ParametersT.args, **kwargs: ParametersT.kwargs
) -> float:
    start = time.perf_counter()
    work(*args, **kwargs)
    return time.perf_counter() - start


def fill(home: str, runs: int) -> None:
    """Sessions of 32 runs with their memories, and some hundred learnings; without waiting for the disk."""
    sync = os.fsync
    try:
        os.fsync = _at_once
        parts = open_parts(Settings(state_root=home))
        _fill_learnings(parts)
        sessions = range(max(1, runs // RUNS_PER_SESSION))
        for first in range(0, len(sessions), _SESSIONS_PER_WRITE):
            _fill_sessions(parts, sessions[first : first + _SESSIONS_PER_WRITE])
        parts.close()
    finally:
        os.fsync = sync


def _at_once(fd: "FileDescriptorLike") -> None:
    """Filling a store for a benchmark need not survive a power cut."""


def _fill_learnings(parts: Parts) -> None:
    act = Act(actor="bench", at=parts.clock.now())
    intake = Intake(ids=parts.ids, act=act)
    with parts.store.transaction() as tx:
        for number in range(LEARNINGS):
            summary = f"Service {number} is released by canary number {number % 7}"
            confirm(tx, propose(tx, intake, [Draft(kind=Kind.FACT, summary=summary)])[0], act)


def _fill_sessions(parts: Parts, numbers: range) -> None:
    # Within the retention, so that nothing of it is pruned when the daemon starts.
    base = parts.clock.now() - timedelta(days=10)
    with parts.store.transaction() as tx:
        for number in numbers:
            session = Session(
                session_id=SessionId(f"ses_{number:06}"),
                created_by="operator",
                created_at=base,
                active_at=base,
                binding=Binding(project_ids=(f"project-{number % 50}",)),
            )
            tx.sessions.insert(session)
            memories = [_fill_run(tx, session, index) for index in range(RUNS_PER_SESSION)]
            tx.pointers.put(pointer_to(memory) for memory in memories)
            for memory in memories:
                parts.run_memories.put(memory)


def _fill_run(tx: Transaction, session: Session, index: int) -> RunMemory:
    at = session.created_at + timedelta(minutes=index)
    run_id = RunId(f"run_{session.session_id[4:]}_{index:02}")
    text = RunText(
        request=f"Release service {index} of shop {session.session_id}",
        outcome=f"Service {index} is released; the canary stayed healthy for {index} minutes.",
    )
    entries = [
        Entry(type=EventType.INPUT, body={"text": text.request}),
        Entry(type=EventType.ASSISTANT_MESSAGE, body={"text": text.outcome}),
    ]
    run = Run(
        run_id=run_id,
        session_id=session.session_id,
        status=RunStatus.COMPLETED,
        input_number=tx.journal.append(session.session_id, run_id, entries, at),
        created_by="operator",
        opened_at=at,
        active_at=at,
        finished_at=at,
        memory=MemoryState.STORED,
    )
    tx.runs.insert(run)
    return build_run_memory(run, text, session.visible_scopes(), redact_pii=True).memory
