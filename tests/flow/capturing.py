"""Capture in tests: a policy that asks for it, models that say what they are told, and what came of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.boot import boot_daemon
from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.run_memory import Capture, CaptureState
from runlore.domain.record import JsonObject, Kind, Origin, Record
from runlore.domain.run import Run
from runlore.domain.runs.job import Job, JobKind, JobState
from runlore.ports import operations as ops
from runlore.ports.model import Models, Question
from tests.fakes import ScriptedModels
from tests.world import World

CAPTURE = frozenset({JobKind.CAPTURE})
NO_MODEL = ScriptedModels()
WEB: JsonObject = {
    "type": "tool_call",
    "call_id": "1",
    "name": "WebFetch",
    "arguments": {"url": "https://example.org/a"},
}


def allow(world: World, *, mode: str = "manual_only", summaries: bool = False, **semantic: Any) -> None:
    """A policy with semantic capture, and nothing that reviews unless asked for."""
    capture: dict[str, Any] = {
        "run_summary_candidates": summaries,
        "semantic_candidates": {"enabled": True, **semantic},
    }
    put(world, {"mode": mode, "capture": capture})


def put(world: World, policy: JsonObject) -> None:
    """A learning policy, with what follows from it done."""
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.LEARNING, policy=policy))
    do_due_jobs(world.parts, kinds=frozenset({JobKind.MAINTAIN}))


def capture(world: World, models: Models = NO_MODEL, *, may_ask: bool = True) -> int:
    """Do the captures that are due: how many there were."""
    return do_due_jobs(replace(world.parts, models=models), kinds=CAPTURE, may_ask=may_ask)


def answer(*statements: tuple[str, str]) -> Callable[[Question], JsonObject]:
    """What a model answers, with a quote out of what it was asked about."""

    def answered(question: Question) -> JsonObject:
        words = str(question.document["outcome"] or question.document["request"])
        quoted = {"quote": words[:40]}
        return {"candidates": [{"kind": kind, "content": content, **quoted} for kind, content in statements]}

    return answered


def captured(world: World, *kinds: Kind) -> list[Record]:
    """What capture has made, oldest first."""
    wanted = kinds or (Kind.FACT, Kind.PREFERENCE, Kind.DECISION)
    made = (each for each in world.stored().values() if each.origin is Origin.DAEMON and each.kind in wanted)
    return sorted(made, key=lambda record: (record.created_at, record.record_id))


def said(world: World) -> list[tuple[str, str]]:
    """The kinds and texts of it."""
    return [(record.kind.value, record.summary) for record in captured(world)]


def receipt(world: World, run: Run) -> Capture | None:
    """The receipt that counts."""
    with world.parts.store.snapshot() as snapshot:
        return snapshot.captures.get(run.run_id)


def receipts(world: World, run: Run) -> tuple[CaptureState | None, CaptureState | None, CaptureState | None]:
    """What the store, the pointer and the memory say of a run's capture."""
    memory, noted = world.memory(run), receipt(world, run)
    with world.parts.store.snapshot() as snapshot:
        pointer = snapshot.pointers.get_many([run.run_id]).get(run.run_id)
    return (
        None if noted is None else noted.state,
        None if pointer is None else pointer.capture,
        None if memory is None else memory.capture,
    )


def start(world: World) -> None:
    """The start of a daemon, with what it leaves to the background on a shared database."""
    boot_daemon(world.parts)
    do_due_jobs(world.parts, kinds=frozenset({JobKind.MAINTAIN}))


def jobs(world: World, kind: JobKind = JobKind.CAPTURE) -> list[Job]:
    """The jobs of a kind that are there."""
    with world.parts.store.snapshot() as snapshot:
        return [job for job in snapshot.jobs.list(frozenset(JobState), limit=500) if job.kind is kind]
