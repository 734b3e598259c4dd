"""A scripted piece of everything that Runlore keeps, in a process that somebody kills or starves.

    python -m tests.proof.workload STATE_ROOT [DATABASE_URL]

begins when its standard input, a socket, says so, and answers there what each act came to. Every act has a
key, or can be repeated by its nature: whoever runs the script again after a crash gets the answers of before.
"""

import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from runlore.client.connect import open_operations
from runlore.config.settings import Settings
from runlore.domain.errors import RunloreError
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import JsonObject, Kind, RecordId
from runlore.domain.records.radar import Finding
from runlore.domain.run import RunId, RunStatus
from runlore.domain.serialization.codec import serialize
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from runlore.ports.operations.operations import Operations

Said = Mapping[str, Any]
Act = Callable[[Operations, Said], object]
PR_SET_PTRACER = 0x59616D61
SESSION, RUN = SessionId("walk"), RunId("walk-run")
FORGOTTEN_WORD = "xylophonist"
SKILL = """---
name: release-a-package
description: Builds and uploads a package. Use it when a release is asked for.
---

# Release a package

1. Run `make release`.
2. Run `twine upload dist/*`.
"""
FINDINGS = tuple(
    Finding(
        summary=f"Service {name} answers on port {port}",
        repo_slug="acme/tools",
        source_handle="acme",
        source_url="https://example.org/acme",
        topic_tags=(name,),
    )
    for name, port in (("atlas", 9090), ("borealis", 9191))
)


def _propose(key: str, value: str) -> Act:
    def act(operations: Operations, _: Said) -> object:
        proposal = ops.ProfileProposal(
            key=key, value=value, reason="said so", idempotency_key=f"{key} {value}"
        )
        return operations.propose_profile(proposal)

    return act


def _decide(name: str, act_on: str, *place: int) -> Act:
    """An operator's act on what an earlier act has made."""

    def act(operations: Operations, said: Said) -> object:
        record = said[act_on]
        for number in place:
            record = record[number]
        decision = ops.Decision(
            record_id=RecordId(record["record_id"]),
            restore_sources=name == "rollback",
            idempotency_key=None if name == "forget" else f"{name} {act_on}",
        )
        decided: object = getattr(operations, name)(decision)
        # What is forgotten is counted anew by each call; that it is gone is seen in the store.
        return name if name == "forget" else decided

    return act


def _append(operations: Operations, _: Said) -> object:
    events: list[JsonObject] = [
        {"type": "tool_call", "call_id": "c1", "name": "Bash", "arguments": {"command": "make test"}},
        {"type": "tool_result", "call_id": "c1", "output": "12 passed", "exit_code": 0},
        {"type": "assistant_message", "text": "All tests pass. Fact: the build takes a minute."},
    ]
    return operations.append_events(ops.NewEvents(run_id=RUN, events=tuple(events), first_number=3))


def _finish(operations: Operations, _: Said) -> object:
    end = ops.RunEnd(run_id=RUN, status=RunStatus.COMPLETED, idempotency_key="finish")
    return operations.finish_run(end).run.status


def _files(name: str) -> Act:
    def act(operations: Operations, _: Said) -> object:
        getattr(operations, name)()
        return name

    return act


SCRIPT: Mapping[str, Act] = {
    "propose": _propose("editor", "vim"),
    "confirm": _decide("confirm", "propose"),
    "propose another": _propose("editor", "emacs"),
    "replace": _decide("confirm", "propose another"),
    "rollback": _decide("rollback", "replace"),
    "propose a secret": _propose("orchestra", FORGOTTEN_WORD),
    "forget": _decide("forget", "propose a secret"),
    "findings": lambda operations, _: operations.radar_add(
        ops.Findings(findings=FINDINGS, idempotency_key="findings")
    ),
    "publish": _decide("confirm", "findings", 1),
    "episode": lambda operations, _: operations.add_episode(
        ops.Episode(kind=Kind.EXPERIMENT, summary="The nightly run passed", idempotency_key="episode")
    ),
    "session": lambda operations, _: operations.create_session(
        ops.NewSession(session_id=SESSION, idempotency_key="session")
    ),
    "run": lambda operations, _: (
        operations.open_run(
            ops.NewRun(session_id=SESSION, run_id=RUN, request="Test it", idempotency_key="run")
        ).run.run_id
    ),
    "append": _append,
    "artifact": lambda operations, _: operations.add_artifact(
        ops.NewArtifact(run_id=RUN, name="report.md", text="It works.", idempotency_key="artifact")
    ),
    "finish": _finish,
    "skill": lambda operations, _: operations.import_skill(
        ops.ImportSkill(text=SKILL, source="a colleague", idempotency_key="skill")
    ),
    "policy": lambda operations, _: operations.put_policy(
        ops.PolicyChange(
            name=PolicyName("run-memory"), policy={"max_prompt_entries": 2}, idempotency_key="policy"
        )
    ),
    "export": _files("export"),
    "backup": _files("backup"),
}


def perform(operations: Operations, known: Said) -> Iterator[tuple[str, Any]]:
    """Do one act after the other, and tell what each came to: its answer, or the code of its refusal."""
    said: dict[str, Any] = dict(known)
    for name, act in SCRIPT.items():
        try:
            answer = _json(act(operations, said))
        except KeyError:
            # What it would act on was refused.
            continue
        except RunloreError as error:
            yield name, {"refused": error.code}
            continue
        said[name] = answer
        yield name, answer


def _json(answer: object) -> Any:
    if isinstance(answer, tuple):
        return [_json(each) for each in answer]
    return answer if isinstance(answer, str) else orjson.loads(orjson.dumps(serialize(answer)))


def main() -> None:
    """Perform, and tell: each answer is one datagram, sent when the act is done."""
    # Where only parents may follow a process, this one lets others do so.
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(2**64 - 1), 0, 0, 0)
    with socket.socket(fileno=os.dup(0)) as told:
        told.send(b"ready")
        assert told.recv(16) == b"go"
        settings = Settings(state_root=sys.argv[1], database_url=sys.argv[2] if sys.argv[2:] else None)
        try:
            with open_operations(settings) as operations:
                for name, answer in perform(operations, {}):
                    told.send(json.dumps([name, answer]).encode())
        except RunloreError as error:
            told.send(json.dumps(["end", {"refused": error.code}]).encode())


if __name__ == "__main__":
    main()
