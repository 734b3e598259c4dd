"""Promoted skills, their snapshots and the runs that executed them as plain values.

The same shape is stored and answered. What is read back is exactly what was written; anything else is
Corrupt (`promoted.damaged`).
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar, cast

from runlore.domain.errors import Corrupt, RunloreError
from runlore.domain.record import JsonObject, JsonValue, RecordId
from runlore.domain.rollout import (
    Canary,
    Definition,
    Evidence,
    Execution,
    ExecutionKind,
    PromotedSkill,
    RolloutEvent,
    RolloutKind,
    RolloutMove,
    RolloutStatus,
    Runtime,
    SkillContext,
)
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.taint import Provenance
from runlore.domain.timestamps import format_time, parse_time

_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
_ReadT = TypeVar("_ReadT")


def promoted_to_plain(skill: PromotedSkill) -> dict[str, JsonValue]:
    """A promoted skill: the fields that other programs rely on, then our further ones."""
    definition = skill.definition
    return {
        "skill_name": skill.name,
        "status": skill.status.value,
        "definition_fingerprint": skill.fingerprint,
        "source_record_id": skill.source_record_id,
        "description": definition.description,
        "when_to_use": definition.when_to_use,
        "version": definition.version,
        "instructions": definition.instructions,
        "runtime": _runtime_to_plain(definition.runtime),
        "evidence": [_evidence_to_plain(each) for each in skill.evidence],
        "lifecycle_events": [_event_to_plain(each) for each in skill.events],
        "canary": {"sessions": list(skill.canary.sessions), "share": skill.canary.share},
        "provenance": {
            "untrusted": skill.provenance.untrusted,
            "needs_review": skill.provenance.needs_review,
            "sources": list(skill.provenance.sources),
        },
        "created_at": format_time(skill.created_at),
        "updated_at": format_time(skill.updated_at),
        "revoked_reason": skill.revoked_reason,
        "revision": skill.revision,
    }


def promoted_from_plain(plain: object) -> PromotedSkill:
    """Read a promoted skill."""
    return _read(_promoted, plain)


def snapshot_to_plain(number: int, skill: PromotedSkill) -> dict[str, JsonValue]:
    """A promoted skill as it stood after its change of that number."""
    return {"number": number, "skill": promoted_to_plain(skill)}


def snapshot_from_plain(plain: object) -> tuple[int, PromotedSkill]:
    """Read a snapshot."""
    return _read(lambda body: (_whole(body["number"]), _promoted(_object(body["skill"]))), plain)


def execution_to_plain(execution: Execution) -> dict[str, JsonValue]:
    """A run that executed a promoted skill."""
    return {
        "run_id": execution.run_id,
        "skill_name": execution.skill_name,
        "definition_fingerprint": execution.fingerprint,
        "kind": execution.kind.value,
        "at": format_time(execution.at),
        "session_id": execution.session_id,
        "calling_run_id": execution.calling_run_id,
    }


def execution_from_plain(plain: object) -> Execution:
    """Read an execution."""
    return _read(_execution, plain)


def _runtime_to_plain(runtime: Runtime) -> dict[str, JsonValue]:
    return {
        "context": runtime.context.value,
        "agent_profile": runtime.agent_profile,
        "allowed_tools": list(runtime.allowed_tools),
        "blocked_tools": list(runtime.blocked_tools),
        "provider": runtime.provider,
        "model": runtime.model,
        "fallback_model": runtime.fallback_model,
    }


def _evidence_to_plain(evidence: Evidence) -> dict[str, JsonValue]:
    return {
        "kind": evidence.kind.value,
        "run_id": evidence.run_id,
        "session_id": evidence.session_id,
        "success": evidence.success,
        "definition_fingerprint": evidence.fingerprint,
        "at": format_time(evidence.at),
        "actor": evidence.actor,
        "note": evidence.note,
    }


def _event_to_plain(event: RolloutEvent) -> dict[str, JsonValue]:
    return {
        "event": event.move.value,
        "from_status": None if event.from_status is None else event.from_status.value,
        "to_status": event.to_status.value,
        "actor": event.actor,
        "at": format_time(event.at),
        "definition_fingerprint": event.fingerprint,
        "reason": event.reason,
        "kind": None if event.kind is None else event.kind.value,
        "run_id": event.run_id,
        "session_id": event.session_id,
        "success": event.success,
    }


def _promoted(body: JsonObject) -> PromotedSkill:
    canary, provenance = _object(body["canary"]), _object(body["provenance"])
    return PromotedSkill(
        definition=_definition(body),
        status=RolloutStatus(_text(body["status"])),
        fingerprint=_text(body["definition_fingerprint"]),
        source_record_id=RecordId(_text(body["source_record_id"])),
        provenance=Provenance(
            untrusted=_flag(provenance["untrusted"]),
            needs_review=_flag(provenance["needs_review"]),
            sources=_texts(provenance["sources"]),
        ),
        canary=Canary(
            sessions=tuple(map(SessionId, _texts(canary["sessions"]))), share=_whole(canary["share"])
        ),
        evidence=tuple(_evidence(_object(each)) for each in _list(body["evidence"])),
        events=tuple(_event(_object(each)) for each in _list(body["lifecycle_events"])),
        created_at=_time(body["created_at"]),
        updated_at=_time(body["updated_at"]),
        revoked_reason=_text(body["revoked_reason"]),
        revision=_whole(body["revision"]),
    )


def _definition(body: JsonObject) -> Definition:
    runtime = _object(body["runtime"])
    return Definition(
        name=_text(body["skill_name"]),
        description=_text(body["description"]),
        instructions=_text(body["instructions"]),
        when_to_use=_text(body["when_to_use"]),
        version=_text(body["version"]),
        runtime=Runtime(
            context=SkillContext(_text(runtime["context"])),
            agent_profile=_text(runtime["agent_profile"]),
            allowed_tools=_texts(runtime["allowed_tools"]),
            blocked_tools=_texts(runtime["blocked_tools"]),
            provider=_text(runtime["provider"]),
            model=_text(runtime["model"]),
            fallback_model=_text(runtime["fallback_model"]),
        ),
    )


def _evidence(body: JsonObject) -> Evidence:
    return Evidence(
        kind=RolloutKind(_text(body["kind"])),
        run_id=RunId(_text(body["run_id"])),
        session_id=_optional(SessionId, body["session_id"]),
        success=_flag(body["success"]),
        fingerprint=_text(body["definition_fingerprint"]),
        at=_time(body["at"]),
        actor=_text(body["actor"]),
        note=_text(body["note"]),
    )


def _event(body: JsonObject) -> RolloutEvent:
    success = body["success"]
    return RolloutEvent(
        move=RolloutMove(_text(body["event"])),
        from_status=_optional(RolloutStatus, body["from_status"]),
        to_status=RolloutStatus(_text(body["to_status"])),
        actor=_text(body["actor"]),
        at=_time(body["at"]),
        fingerprint=_text(body["definition_fingerprint"]),
        reason=_text(body["reason"]),
        kind=_optional(RolloutKind, body["kind"]),
        run_id=_optional(RunId, body["run_id"]),
        session_id=_optional(SessionId, body["session_id"]),
        success=None if success is None else _flag(success),
    )


def _execution(body: JsonObject) -> Execution:
    return Execution(
        run_id=RunId(_text(body["run_id"])),
        skill_name=_text(body["skill_name"]),
        fingerprint=_text(body["definition_fingerprint"]),
        kind=ExecutionKind(_text(body["kind"])),
        at=_time(body["at"]),
        session_id=_optional(SessionId, body["session_id"]),
        calling_run_id=_optional(RunId, body["calling_run_id"]),
    )


def _read(reading: Callable[[JsonObject], _ReadT], plain: object) -> _ReadT:
    try:
        return reading(_object(plain))
    except (RunloreError, *_UNREADABLE) as error:
        raise Corrupt(
            "a stored promoted skill is damaged",
            code="promoted.damaged",
            hint="restore the store from a backup",
        ) from error


def _optional(make: Callable[[str], _ReadT], value: JsonValue) -> _ReadT | None:
    return None if value is None else make(_text(value))


def _object(value: object) -> JsonObject:
    if not isinstance(value, Mapping):
        raise TypeError("not an object")
    return cast("JsonObject", value)


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if not isinstance(value, list | tuple):
        raise TypeError("not a list")
    return value


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(map(_text, _list(value)))


def _whole(value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("not a whole number")
    return value


def _flag(value: JsonValue) -> bool:
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def _time(value: JsonValue) -> datetime:
    return parse_time(_text(value))
