"""A record and its events as plain JSON values: the one representation of store, export, API and `--json`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from runlore.domain.errors import Corrupt, Invalid
from runlore.domain.record import (
    EvidenceRef,
    Feedback,
    JsonObject,
    JsonValue,
    Kind,
    Layer,
    Origin,
    PolicyDecision,
    Proposal,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    Source,
    State,
    StateReason,
    VerificationStatus,
)
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.taint import Provenance
from runlore.domain.timestamps import format_time, parse_time

Plain = dict[str, JsonValue]
ValueT = TypeVar("ValueT")
MemberT = TypeVar("MemberT", bound=StrEnum)


def record_to_plain(record: Record) -> Plain:
    """The fields of REC-7, in their order."""
    return {
        "record_id": record.record_id,
        "layer": record.layer.value,
        "kind": record.kind.value,
        "state": record.state.value,
        "state_reason": _value(record.state_reason),
        "scope": {"kind": record.scope.kind.value, "id": record.scope.id},
        "summary": record.summary,
        "metadata": record.metadata,
        "confidence": record.confidence,
        "sensitivity": record.sensitivity.value,
        "origin": record.origin.value,
        "created_by": record.created_by,
        "source": _source_to_plain(record.source),
        "evidence_refs": [_evidence_to_plain(reference) for reference in record.evidence_refs],
        "provenance": _provenance_to_plain(record.provenance),
        "publish_tier": _value(record.publish_tier),
        "verification_status": record.verification_status.value,
        "policy_decision": _value(record.policy_decision),
        "policy_actor": record.policy_actor,
        "automation_review": record.automation_review,
        "semantic_key": record.semantic_key,
        "proposal": _value(record.proposal),
        "supersedes": record.supersedes,
        "superseded_by": record.superseded_by,
        "duplicate_of": record.duplicate_of,
        "both_hold": list(record.both_hold),
        "feedback": {"wrong": record.feedback.wrong, "helped": record.feedback.helped},
        "created_at": format_time(record.created_at),
        "published_at": _time_to_plain(record.published_at),
        "expires_at": _time_to_plain(record.expires_at),
        "revalidate_at": _time_to_plain(record.revalidate_at),
        "revision": record.revision,
    }


def record_from_plain(plain: Mapping[str, JsonValue]) -> Record:
    """Read what `record_to_plain` wrote. Anything else is damage, not input."""
    try:
        return _read_record(plain)
    except UNREADABLE as error:
        raise unreadable("record", error) from error


# What reading a damaged value can raise, here and in `audit`.
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, Invalid)


def unreadable(thing: str, error: Exception) -> Corrupt:
    """The error for a stored value that nothing here wrote."""
    return Corrupt(
        f"a stored {thing} cannot be read: {type(error).__name__}: {error}",
        code="record.damaged",
        hint="restore the store from a backup or an export",
    )


class _Members(dict[str, MemberT]):
    """An enumeration by its values: found several times faster than by calling it, once per record read."""

    def __init__(self, kind: type[MemberT]) -> None:
        super().__init__({member.value: member for member in kind})
        self._kind = kind

    def __missing__(self, value: str) -> MemberT:
        return self._kind(value)


_LAYERS, _KINDS, _STATES = _Members(Layer), _Members(Kind), _Members(State)
_SCOPE_KINDS, _SENSITIVITIES, _ORIGINS = _Members(ScopeKind), _Members(Sensitivity), _Members(Origin)
_VERIFICATIONS = _Members(VerificationStatus)


def _read_record(plain: Mapping[str, JsonValue]) -> Record:
    scope = as_object(plain["scope"])
    feedback = as_object(plain["feedback"])
    review = plain["automation_review"]
    return Record(
        record_id=RecordId(as_text(plain["record_id"])),
        layer=_LAYERS[as_text(plain["layer"])],
        kind=_KINDS[as_text(plain["kind"])],
        state=_STATES[as_text(plain["state"])],
        state_reason=as_optional(StateReason, plain["state_reason"]),
        scope=Scope(_SCOPE_KINDS[as_text(scope["kind"])], as_text(scope["id"])),
        summary=as_text(plain["summary"]),
        metadata=as_object(plain["metadata"]),
        confidence=as_whole(plain["confidence"]),
        sensitivity=_SENSITIVITIES[as_text(plain["sensitivity"])],
        origin=_ORIGINS[as_text(plain["origin"])],
        created_by=as_text(plain["created_by"]),
        source=source_from_plain(as_object(plain["source"])),
        evidence_refs=tuple(
            evidence_from_plain(as_object(reference)) for reference in _listed(plain["evidence_refs"])
        ),
        provenance=_provenance_from_plain(as_object(plain["provenance"])),
        publish_tier=as_optional(PublishTier, plain["publish_tier"]),
        verification_status=_VERIFICATIONS[as_text(plain["verification_status"])],
        policy_decision=as_optional(PolicyDecision, plain["policy_decision"]),
        policy_actor=as_optional(str, plain["policy_actor"]),
        automation_review=None if review is None else as_object(review),
        semantic_key=as_text(plain["semantic_key"]),
        proposal=as_optional(Proposal, plain["proposal"]),
        supersedes=as_optional(RecordId, plain["supersedes"]),
        superseded_by=as_optional(RecordId, plain["superseded_by"]),
        duplicate_of=as_optional(RecordId, plain["duplicate_of"]),
        # Records that were written before reviewers had this answer do not have the field.
        both_hold=tuple(RecordId(as_text(other)) for other in _listed(plain.get("both_hold", ()))),
        feedback=Feedback(wrong=as_whole(feedback["wrong"]), helped=as_whole(feedback["helped"])),
        created_at=parse_time(as_text(plain["created_at"])),
        published_at=as_optional(parse_time, plain["published_at"]),
        expires_at=as_optional(parse_time, plain["expires_at"]),
        revalidate_at=as_optional(parse_time, plain["revalidate_at"]),
        revision=as_whole(plain["revision"]),
    )


def as_text(value: JsonValue) -> str:
    """The value, when it is a text; what else it is, is told by its type alone."""
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, not {type(value).__name__}")
    return value


def as_whole(value: JsonValue) -> int:
    """The value, when it is a whole number; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"a whole number was expected, not {type(value).__name__}")
    return value


def as_object(value: JsonValue) -> JsonObject:
    """The value, when it is an object."""
    if not isinstance(value, dict | Mapping):
        raise TypeError(f"an object was expected, not {type(value).__name__}")
    return value


def as_optional(make: Callable[[str], ValueT], value: JsonValue) -> ValueT | None:
    """What `make` reads from a text, or None where there is none."""
    return None if value is None else make(as_text(value))


def _flag(value: JsonValue) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"true or false was expected, not {type(value).__name__}")
    return value


def _listed(value: JsonValue) -> Sequence[JsonValue]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"a list was expected, not {type(value).__name__}")
    return value


def _value(member: StrEnum | None) -> str | None:
    return None if member is None else member.value


def _time_to_plain(moment: datetime | None) -> str | None:
    return None if moment is None else format_time(moment)


def _provenance_to_plain(provenance: Provenance) -> Plain:
    return {
        "untrusted": provenance.untrusted,
        "needs_review": provenance.needs_review,
        "sources": list(provenance.sources),
    }


def _provenance_from_plain(plain: JsonObject) -> Provenance:
    return Provenance(
        untrusted=_flag(plain["untrusted"]),
        needs_review=_flag(plain["needs_review"]),
        sources=tuple(map(as_text, _listed(plain["sources"]))),
    )


def _source_to_plain(source: Source) -> Plain:
    return {
        "session_id": source.session_id,
        "run_id": source.run_id,
        "agent": source.agent,
        "record_ids": list(source.record_ids),
        "imported_from": source.imported_from,
    }


def source_from_plain(plain: JsonObject) -> Source:
    """Read a source; what it leaves out is unknown."""
    return Source(
        session_id=as_optional(str, plain.get("session_id")),
        run_id=as_optional(str, plain.get("run_id")),
        agent=as_optional(str, plain.get("agent")),
        record_ids=tuple(RecordId(as_text(each)) for each in _listed(plain.get("record_ids", ()))),
        imported_from=as_optional(str, plain.get("imported_from")),
    )


def _evidence_to_plain(reference: EvidenceRef) -> Plain:
    return {
        "run_id": reference.run_id,
        "artifact_id": reference.artifact_id,
        "event_number": reference.event_number,
        "note": reference.note,
    }


def evidence_from_plain(plain: JsonObject) -> EvidenceRef:
    """Read an evidence reference; what it leaves out is unknown."""
    number = plain.get("event_number")
    return EvidenceRef(
        run_id=as_optional(str, plain.get("run_id")),
        artifact_id=as_optional(str, plain.get("artifact_id")),
        event_number=None if number is None else as_whole(number),
        note=as_optional(str, plain.get("note")),
    )
