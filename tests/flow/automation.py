"""Automation at work: policies, candidates of runs, and what became of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.parts import Parts
from runlore.domain.policies.learning_policy import Action
from runlore.domain.policies.policy import PolicyName
from runlore.domain.policies.verdict import Review, review_of
from runlore.domain.record import EvidenceRef, Kind, Move, Origin, Record, RecordId, Source
from runlore.domain.records.admission import Draft
from runlore.domain.records.audit import DAEMON, Act, RecordEvent
from runlore.domain.run import Run
from runlore.domain.runs.job import Job, JobState
from runlore.domain.scope import Scope, ScopeKind
from runlore.flow.record.intake import Intake, propose
from runlore.ports import operations as ops
from runlore.ports.model import ModelFailure, Question, Reply, TokenUsage
from tests.world import World

CONTENT = "The project codename is Atlas"
TALK_SCOPE = Scope(ScopeKind.SESSION, "talk")
_QUIET = {"run_summary_candidates": False, "own_words": "off"}


def put_policy(
    world: World, action: str | None = "publish_active", *, mode: str = "enabled", **fields: Any
) -> int:
    """A policy that does one thing to facts, or nothing in particular; its revision."""
    rule = {"name": "facts", "kind": "fact", "action": action, **fields.pop("rule", {})}
    publication = {"rules": [rule] if action else [], **fields.pop("publication", {})}
    policy = {"mode": mode, "capture": _QUIET, "publication": publication, **fields}
    change = ops.PolicyChange(name=PolicyName.LEARNING, policy=policy)
    return world.operator.put_policy(change).revision


def taught(world: World, content: str = CONTENT, *, request: str | None = None, **fields: Any) -> Record:
    """A candidate that Runlore captured: its run's request says it, unless told otherwise."""
    run = world.finished(f"Fact: {content}." if request is None else request)
    return captured(world, run, content, **fields)


def captured(world: World, run: Run, content: str = CONTENT, **fields: Any) -> Record:
    """A candidate from a run."""
    given: dict[str, Any] = {
        "kind": Kind.FACT,
        "summary": content,
        "scope": TALK_SCOPE,
        "confidence": 98,
        "source": Source(session_id=run.session_id, run_id=run.run_id),
        "evidence_refs": (EvidenceRef(run_id=run.run_id, event_number=run.input_number),),
        **fields,
    }
    act = Act(actor=DAEMON, at=world.clock.now(), reason="captured from a run")
    with world.parts.store.transaction() as tx:
        return propose(tx, Intake(ids=world.ids, act=act, origin=Origin.DAEMON), [Draft(**given)])[0]


def offered(world: World, content: str = CONTENT, **fields: Any) -> Record:
    """A candidate that the operator posts."""
    given = {"kind": Kind.FACT, "content": content, "scope": TALK_SCOPE, **fields}
    return world.operator.create_candidate(ops.NewCandidate(**given))


def work(world: World | Parts) -> int:
    """All jobs that are due, until none is: how many."""
    parts = world.parts if isinstance(world, World) else world
    done = 0
    while more := do_due_jobs(parts):
        done += more
    return done


def jobs(world: World, *states: JobState) -> tuple[Job, ...]:
    """All jobs, or those in some states."""
    with world.parts.store.snapshot() as snapshot:
        return snapshot.jobs.list(frozenset(states or JobState), limit=1_000)


def reviewed(world: World, record: Record | RecordId) -> Review:
    """The review that a record carries."""
    review = review_of(world.record(record))
    assert review is not None
    return review


def action(world: World, record: Record | RecordId) -> Action:
    """What its review came to."""
    return reviewed(world, record).action


def automatic(world: World, record: Record | RecordId) -> list[RecordEvent]:
    """What automation did to a record, oldest first."""
    record_id = record if isinstance(record, str) else record.record_id
    events = world.operator.history(record_id)
    return [event for event in events if event.actor == DAEMON and event.move is not Move.PROPOSE]


class Judge:
    """A model that says what a test tells it to, through a function of the question."""

    is_configured = True

    def __init__(self, say: Callable[[Question], str | ModelFailure]) -> None:
        self.asked: list[Question] = []
        self._say = say

    def describe(self) -> dict[str, Any]:
        """What it is."""
        return {"default": "test:judge"}

    def resolve(self, model: str = "") -> str:
        """Its name."""
        return model or "test:judge"

    def ask(self, question: Question) -> Reply:
        """The scripted answer."""
        self.asked.append(question)
        said = self._say(question)
        if isinstance(said, ModelFailure):
            raise said
        return Reply(
            output={"action": said, "reason": "because"},
            model=self.resolve(question.model),
            prompt="judge-1",
            usage=TokenUsage(input_tokens=10, output_tokens=2),
        )

    def close(self) -> None:
        """Nothing is held."""


def with_judge(world: World, say: Callable[[Question], str | ModelFailure]) -> tuple[Parts, Judge]:
    """The world's parts with a judge in place of its models."""
    judge = Judge(say)
    return replace(world.parts, models=judge), judge
