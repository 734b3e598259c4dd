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
            waits = {"an empty Python": measure([sys.executable, "-c", "pass"], b"")}
            hook = [sys.executable, "-I", "-S", runlore.hook.__file__, root, "claude-code"]
            waits["the hook, daemon idle"] = measure([*hook, "UserPromptSubmit"], prompt())
            stop = threading.Event()
            others = [threading.Thread(target=ask_on, args=(root, session, stop)) for _ in range(2)]
            for other in others:
                other.start()
            waits["the hook, daemon busy"] = measure([*hook, "UserPromptSubmit"], prompt())
            stop.set()
            for other in others:
                other.join()
            transport.close()
            owner.close()
    empty = statistics.median(waits["an empty Python"])
    rows = [
        (
            name,
            f"{statistics.median(each):.1f}",
            f"{percentile(each):.1f}",
            f"{statistics.median(each) / empty:.2f}",
        )
        for name, each in waits.items()
    ]
    print_table(("what", "median ms", "p95 ms", "times an empty Python"), rows)


def prompt() -> bytes:
    return json.dumps(
        {"session_id": "bench", "cwd": "/no/such/folder", "prompt": "When is the service number 7 deployed?"}
    ).encode()


def measure(command: list[str], report: bytes) -> list[float]:
    waits = []
    for _ in range(PROMPTS):
        began = time.perf_counter()
        subprocess.run(command, input=report, capture_output=True, check=True)
        waits.append((time.perf_counter() - began) * 1_000)
    return waits


def ask_on(root: str, session: SessionId, stop: threading.Event) -> None:
    transport = connect_as_agent(Settings(state_root=root), "claude-code")
    while not stop.is_set():
        RemoteOperations(transport).memory_context(ops.ContextRequest(session_id=session, query="deployed"))
    transport.close()


def percentile(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]
