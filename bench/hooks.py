"""What an agent waits for at each prompt: the hook program with the context that it gets, beside an empty
Python process in the same run, with an idle daemon and with one that others ask all the time.

Wall time: waiting is the point.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import runlore.hook
from bench.measure import print_table
from bench.serving import serving
from runlore.cli.agent_access import connect_as_agent, connect_as_operator, settle_persona
from runlore.client.remote import RemoteOperations
from runlore.config.settings import Settings
from runlore.domain.record import Kind
from runlore.domain.session import SessionId
from runlore.ports import operations as ops

TITLE = "what an agent waits for at each prompt"
PROMPTS = 60
LEARNINGS = 300


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="runlore-bench-", dir=Path.cwd()) as folder:
        root = str(Path(folder) / "home")
        with serving(root) as told:
            assert told.url is not None
            settle_persona(Settings(state_root=root), None)
            transport = connect_as_agent(Settings(state_root=root), "claude-code")
            agent = RemoteOperations(transport)
            owner = connect_as_operator(Settings(state_root=root))
            operator = RemoteOperations(owner)
            session = agent.create_session(ops.NewSession(title="bench")).session_id
            for number in range(LEARNINGS):
                content = f"The service number {number} is deployed on day {number % 7}"
                made = operator.create_candidate(ops.NewCandidate(kind=Kind.FACT, content=content))
                operator.publish(ops.Publication(record_id=made.record_id))
            hook = [sys.executable, "-I", "-S", runlore.hook.__file__, root, "claude-code"]
            idle = measure(hook)
            stop = threading.Event()
            others = [threading.Thread(target=ask_on, args=(root, session, stop)) for _ in range(2)]
            for other in others:
                other.start()
            busy = measure(hook)
            stop.set()
            for other in others:
                other.join()
            transport.close()
            owner.close()
    rows = [
        (what, f"{statistics.median(each):.1f}", f"{percentile(each):.1f}", f"{times_empty(each, empty):.2f}")
        for state, (empty, waits) in (("idle", idle), ("busy", busy))
        for what, each in ((f"an empty Python, daemon {state}", empty), (f"the hook, daemon {state}", waits))
    ]
    print_table(("what", "median ms", "p95 ms", "times an empty Python"), rows)


def prompt() -> bytes:
    return json.dumps(
        {"session_id": "bench", "cwd": "/no/such/folder", "prompt": "When is the service number 7 deployed?"}
    ).encode()


def measure(hook: list[str]) -> tuple[list[float], list[float]]:
    """An empty Python and the hook in turn: what else the machine does falls on both."""
    commands = ([sys.executable, "-c", "pass"], [*hook, "UserPromptSubmit"])
    waits: tuple[list[float], list[float]] = ([], [])
    for _ in range(PROMPTS):
        for command, each in zip(commands, waits, strict=True):
            began = time.perf_counter()
            subprocess.run(command, input=prompt(), capture_output=True, check=True)
            each.append((time.perf_counter() - began) * 1_000)
    return waits


def times_empty(waits: list[float], empty: list[float]) -> float:
    return statistics.median(waits) / statistics.median(empty)


def ask_on(root: str, session: SessionId, stop: threading.Event) -> None:
    transport = connect_as_agent(Settings(state_root=root), "claude-code")
    while not stop.is_set():
        RemoteOperations(transport).memory_context(ops.ContextRequest(session_id=session, query="deployed"))
    transport.close()


def percentile(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]
