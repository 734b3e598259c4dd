"""What may be stored: a caller's draft becomes a record, trimmed, completed, keyed and free of secrets.

Everything that enters the store through an operation passes here once; nothing behind it checks again
except the store's own contract check.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from runlore.domain import limits
from runlore.domain.contracts import check_metadata, check_record, check_summary, check_text
from runlore.domain.errors import Invalid, Refused
from runlore.domain.guard import Finding, find_secrets, first_secret
from runlore.domain.guard.finding import REDACTION_MARKER
from runlore.domain.record import (
    EvidenceRef,
    JsonObject,
    JsonValue,
    Kind,
    Layer,
    Origin,
    Proposal,
    Record,
    RecordId,
    Sensitivity,
    Source,
    State,
)
from runlore.domain.scope import WORKSPACE, Scope
from runlore.domain.subject import SemanticKey, key_of_parts, semantic_key, slug, topic_terms
from runlore.domain.taint import TRUSTED, Provenance


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What a caller brings. The rest of a record is Runlore's to fill in."""

    kind: Kind
    summary: str
    scope: Scope = WORKSPACE
    metadata: JsonObject = field(default_factory=dict)
    confidence: int = limits.CONFIDENCE_DEFAULT
    sensitivity: Sensitivity = Sensitivity.NORMAL
    source: Source = field(default_factory=Source)
    evidence_refs: tuple[EvidenceRef, ...] = ()
    provenance: Provenance = TRUSTED
    proposal: Proposal | None = None
    supersedes: RecordId | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """What Runlore adds to every draft."""

    record_id: RecordId
    origin: Origin
    created_by: str
    at: datetime


def admitted(draft: Draft, stamp: Stamp) -> Record:
    """The record that a draft makes, before its first move; Invalid or Refused says what is wrong."""
    summary = check_summary(draft.summary)
    _check_draft(draft, stamp)
    metadata = _completed(draft.kind.layer, draft.metadata, summary)
    record = Record(
        record_id=stamp.record_id,
        layer=draft.kind.layer,
        kind=draft.kind,
        state=State.CONSTRAINED,
        scope=draft.scope,
        summary=summary,
        metadata=metadata,
        confidence=draft.confidence,
        sensitivity=draft.sensitivity,
        origin=stamp.origin,
        created_by=stamp.created_by,
        source=draft.source,
        evidence_refs=draft.evidence_refs,
        provenance=draft.provenance,
        semantic_key=_key(draft.kind.layer, metadata, summary),
        proposal=draft.proposal,
        supersedes=draft.supersedes,
        created_at=stamp.at,
        expires_at=draft.expires_at,
    )
    check_record(record)
    refuse_secrets(record)
    return record


def edited(record: Record, summary: str) -> Record:
    """The record with another text: bounds, key and guard apply to it as to a new one."""
    text = check_summary(summary)
    metadata = _completed(record.layer, _kept(record, text), text)
    result = replace(record, summary=text, metadata=metadata, semantic_key=_key(record.layer, metadata, text))
    check_record(result)
    refuse_secrets(result)
    return result


def admitted_reason(reason: str) -> str:
    """A reason for an act: bounded, storable, free of secrets; empty where none was given."""
    text = check_text("the reason", reason).strip()
    if len(text) > limits.REASON_CHARS_MAX:
        raise Invalid(
            f"the reason has {len(text):,} characters, more than {limits.REASON_CHARS_MAX:,}",
            code="reason.long",
            hint="shorten it",
        )
    finding = first_secret(text)
    if finding:
        raise _secret("the reason", finding)
    return text


def refuse_secrets(record: Record) -> None:
    """Refuse a record whose text or metadata looks like it holds a secret; the message never repeats it."""
    # What happened may have been redacted already; what shall be remembered must not hold such a gap.
    look = _first_unredacted if record.layer in _TOLD else first_secret
    for name, text in _guarded_texts(record):
        finding = look(text)
        if finding:
            raise _secret(name, finding)


def _first_unredacted(text: str) -> Finding | None:
    return next((found for found in find_secrets(text) if found.rule != REDACTION_MARKER), None)


def _secret(name: str, finding: Finding) -> Refused:
    return Refused(
        f"{name} looks like it holds a secret ({finding.rule}); nothing was stored",
        code="guard.secret",
        hint="remove the secret, or say where it is kept instead of what it is",
    )


def _guarded_texts(record: Record) -> Iterator[tuple[str, str]]:
    yield "the content", record.summary
    yield from _texts_in("metadata", record.metadata)
    for number, reference in enumerate(record.evidence_refs):
        if reference.note:
            yield f"evidence_refs[{number}].note", reference.note
    for number, source in enumerate(record.provenance.sources):
        yield f"provenance.sources[{number}]", source


def _texts_in(name: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        # `{"api_key": "..."}` is an assignment too: the key alone gives its value away.
        yield name, f"{name.rpartition('.')[2]}: {value}"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield f"a key of {name}", key
            yield from _texts_in(f"{name}.{key}", item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts_in(name, item)


def _check_draft(draft: Draft, stamp: Stamp) -> None:
    if draft.kind is Kind.RUN_SUMMARY and stamp.origin is not Origin.DAEMON:
        raise Refused(
            "a run_summary is made by Runlore itself, from a run",
            code="record.run-summary",
            hint="propose a fact, a decision, a preference or a procedure",
        )
    if draft.expires_at is not None and draft.expires_at <= stamp.at:
        raise Invalid(
            "expires_at lies in the past", code="record.expires-at", hint="give a later time, or leave it out"
        )


def _completed(layer: Layer, metadata: JsonObject, summary: str) -> JsonObject:
    """What a candidate's metadata leaves out is derived from its text; the caller's own fields stay."""
    completed = {**_derived(layer, summary), **metadata}
    check_metadata(layer, completed)
    return completed


def _derived(layer: Layer, summary: str) -> dict[str, JsonValue]:
    if layer not in _KEYED:
        return {}
    key = semantic_key(summary)
    if layer is Layer.PROFILE:
        return {"profile_key": key.subject, "value": _value_of(key, summary), "reason": "captured"}
    if layer is Layer.SEMANTIC:
        return {"origin": "candidate", "topic_tags": list(topic_terms(key))}
    return {"workflow": slug(key.subject), "canonical": False}


def _key(layer: Layer, metadata: JsonObject, summary: str) -> str:
    """The key of a text with its completed metadata: a profile record's own key and value go before."""
    if layer not in _KEYED or (metadata.get("compacted_from") and "\n" in summary):
        # A merge of several statements has no single subject: its first line's would contradict the others.
        return ""
    key = semantic_key(summary)
    if layer is Layer.PROFILE:
        subject, value = str(metadata["profile_key"]), str(metadata["value"])
        if (subject, value) != (key.subject, _value_of(key, summary)):
            key = key_of_parts(subject, value)
    return key.text


def _value_of(key: SemanticKey, summary: str) -> str:
    """Without a subject to split off, the text itself is the value; "not" belongs to it."""
    if not key.value:
        return summary
    return f"not {key.value}" if key.negated else key.value


def _kept(record: Record, text: str) -> JsonObject:
    """What stays when the text becomes another one: all but what was derived from the old one."""
    derived = _derived(record.layer, record.summary)
    given = {name: value for name, value in record.metadata.items() if derived.get(name) != value}
    if record.layer is Layer.SEMANTIC and record.proposal is None and "topic_tags" not in given:
        return {name: value for name, value in record.metadata.items() if name != "topic_tags"}
    if record.layer is not Layer.PROFILE:
        return record.metadata
    if record.proposal is Proposal.PROFILE or "profile_key" in given:
        return {**record.metadata, "value": _value_in(text, str(record.metadata["profile_key"]))}
    return {name: value for name, value in record.metadata.items() if name not in ("profile_key", "value")}


def _value_in(text: str, profile_key: str) -> str:
    """The value in a text that names its key, as `KEY: VALUE` or in words; else the whole text."""
    head, tail = text[: len(profile_key)], text[len(profile_key) :].lstrip()
    if head.casefold() == profile_key.casefold() and tail.startswith(":") and tail[1:].strip():
        return tail[1:].strip()
    key = semantic_key(text)
    return _value_of(key, text) if key.subject == key_of_parts(profile_key, text).subject else text


_TOLD = frozenset({Layer.EPISODIC, Layer.WORKING})
_KEYED = frozenset({Layer.PROFILE, Layer.SEMANTIC, Layer.PROCEDURAL})
