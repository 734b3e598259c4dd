"""Records for tests: each builder fills in what the test does not name.

A built record is a value with an id of its own. `proposed`, `appended`, `confirmed` and `changed` make the
changes that a store writes; `active` is the record after its confirmation.
"""

import itertools
from dataclasses import replace
from datetime import datetime
from typing import Any

from runlore.domain.claims.subject import key_of_parts, semantic_key
from runlore.domain.record import Kind, Move, PolicyDecision, PublishTier, Record, RecordId, State
from runlore.domain.records.audit import Act, RecordChange, apply_record_move, create_record
from runlore.domain.scope import Scope, ScopeKind
from tests.fakes import START

ACME = Scope(ScopeKind.PROJECT, "acme")
_numbers = itertools.count(1)


def act(*, at: datetime = START, actor: str = "operator", reason: str = "") -> Act:
    """Who moves, when and why."""
    return Act(actor=actor, at=at, reason=reason)


def fact(summary: str = "The codename is Atlas", **fields: Any) -> Record:
    """A semantic candidate."""
    metadata = {"origin": "candidate", "topic_tags": ["codename"]}
    key = semantic_key(summary).text
    return _record(Kind.FACT, summary, {"metadata": metadata, "semantic_key": key, **fields})


def preference(key: str = "editor", value: str = "vim", **fields: Any) -> Record:
    """A profile candidate."""
    metadata = {"profile_key": key, "value": value, "reason": "captured"}
    text = key_of_parts(key, value).text
    return _record(Kind.PREFERENCE, f"{key}: {value}", {"metadata": metadata, "semantic_key": text, **fields})


def procedure(summary: str = "Run the tests first", workflow: str = "release", **fields: Any) -> Record:
    """A procedural candidate."""
    metadata = {"workflow": workflow, "canonical": False}
    key = semantic_key(summary).text
    return _record(Kind.PROCEDURE, summary, {"metadata": metadata, "semantic_key": key, **fields})


def episode(summary: str = "The nightly scan found nothing", **fields: Any) -> Record:
    """An episode, which is appended and not reviewed."""
    return _record(Kind.SCAN, summary, fields)


def scratch(summary: str = "step 1 of 3", **fields: Any) -> Record:
    """Working memory."""
    return _record(Kind.SCRATCH, summary, fields)


def proposed(record: Record, **acting: Any) -> RecordChange:
    """The change that brings a candidate in."""
    return create_record(record, Move.PROPOSE, act(**{"at": record.created_at, **acting}))


def appended(record: Record, **acting: Any) -> RecordChange:
    """The change that appends an episode or scratch."""
    return create_record(record, Move.WRITE, act(**{"at": record.created_at, **acting}))


def changed(record: Record, move: Move = Move.AMEND, *, by: Act | None = None, **fields: Any) -> RecordChange:
    """The change that a move makes, with other fields changed along."""
    return apply_record_move(record, move, by or act(at=record.created_at), after=replace(record, **fields))


def confirmed(record: Record, **acting: Any) -> RecordChange:
    """The change that publishes a proposed record."""
    return apply_record_move(record, Move.CONFIRM, act(**{"at": record.created_at, **acting}))


def active(record: Record, **acting: Any) -> Record:
    """A candidate as it is after its proposal and confirmation."""
    return confirmed(proposed(record, **acting).record, **acting).record


def published(record: Record, **fields: Any) -> Record:
    """A record as an operator's confirmation leaves it: nothing keeps it out of prompts but its kind."""
    decided: dict[str, Any] = {
        "publish_tier": PublishTier.ACTIVE,
        "policy_decision": PolicyDecision.MANUAL,
        "policy_actor": "operator",
        "published_at": record.created_at,
        **fields,
    }
    return replace(active(record), **decided)


def _record(kind: Kind, summary: str, fields: dict[str, Any]) -> Record:
    given: dict[str, Any] = {
        "record_id": RecordId(f"rec_{next(_numbers):08}"),
        "state": State.CONSTRAINED,
        "scope": ACME,
        "created_by": "operator",
        "created_at": START,
        **fields,
    }
    return Record(layer=kind.layer, kind=kind, summary=summary, **given)
