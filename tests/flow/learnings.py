"""Learnings of any tier, decision and scope, and the questions that a session asks about them."""

from typing import Any

from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.projection import Projection
from runlore.domain.record import JsonValue, Move, PolicyDecision, PublishTier, Record, RecordId
from runlore.domain.scope import WORKSPACE
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.builders import changed, fact, proposed
from tests.world import World

TALK = SessionId("talk")


def learn(world: World, record: Record | str, **decided: Any) -> Record:
    """A record as it is published: by hand and for prompts, unless told otherwise."""
    made = proposed(_record(world, record))
    fields: dict[str, Any] = {
        "publish_tier": PublishTier.ACTIVE,
        "policy_decision": PolicyDecision.MANUAL,
        "policy_actor": "operator",
        "published_at": made.record.created_at,
        **decided,
    }
    published = changed(made.record, Move.CONFIRM, **fields)
    with world.parts.store.transaction() as tx:
        tx.write([made, published])
    return published.record


def _record(world: World, record: Record | str) -> Record:
    if isinstance(record, Record):
        return record
    return fact(record, scope=WORKSPACE, created_at=world.clock.now())


def context(world: World, query: str | None = None, **fields: Any) -> ops.MemoryContext:
    """What the session is eligible for."""
    return world.operator.memory_context(ops.ContextRequest(**{"session_id": TALK, "query": query, **fields}))


def learned(world: World, query: str | None = None, **fields: Any) -> list[RecordId]:
    """The learnings that it is eligible for."""
    return [entry.record_id for entry in context(world, query, **fields).learned_context.entries]


def recovered(world: World, **fields: Any) -> list[str]:
    """The runs that it is eligible for."""
    return [memory.run_id for memory in context(world, **fields).recovered_memory.entries]


def find(world: World, query: str | None = None, **fields: Any) -> ops.SessionSearch:
    """What the session finds."""
    return world.operator.session_search(
        ops.SessionSearchRequest(**{"session_id": TALK, "query": query, **fields})
    )


def found(world: World, query: str | None = None, **fields: Any) -> list[str]:
    """The ids of what the session finds."""
    return [hit.source_id for hit in find(world, query, **fields).results]


def preview(world: World, text: str, **fields: Any) -> Projection:
    """What an input would be given."""
    return world.operator.preview_input(ops.PreviewRequest(**{"session_id": TALK, "text": text, **fields}))


def run_memory_policy(world: World, **fields: JsonValue) -> None:
    """Another run-memory policy."""
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy=fields))
