"""What may be stored: a caller's draft becomes a record, trimmed, completed, keyed and free of secrets.

Everything that enters the store through an operation passes here once; nothing behind it checks again
except the store's own contract check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.errors import Invalid, Refused
from runlore.domain.guard import SecretFinding, find_secrets, first_secret
from runlore.domain.guard.finding import REDACTION_MARKER
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.record import (
    CHANGED,
    OWN_WORDS,
    PROMPT_KINDS,
    WORTH,
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
    VerificationStatus,
)
from runlore.domain.records.contracts import (
    check_metadata,
    check_record,
    check_summary,
    check_text,
    contract_fields,
)
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.taint import TRUSTED, Provenance

if TYPE_CHECKING:
    from runlore.domain import suspicion
    from runlore.domain.claims import subject
else:
    subject = LazyModule("runlore.domain.claims.subject")
    suspicion = LazyModule("runlore.domain.suspicion")

# What compaction, dedup and capture note of where a text comes from.
_SOURCE_NOTES = frozenset({"compacted_from", "sources_digest", OWN_WORDS, WORTH, CHANGED})


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What a caller brings. The rest of a record is Runlore's to fill in. `is_own` is said by who has heard
    the user say it in so many words."""

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
    is_own: bool = False


@dataclass(frozen=True, kw_only=True)
class Edits:
    """What a publication changes of its candidate; None leaves a field as it is."""

    content: str | None = None
    scope: Scope | None = None
    kind: Kind | None = None
    sensitivity: Sensitivity | None = None
    confidence: int | None = None
    expires_at: datetime | None = None
    revalidate_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """What Runlore adds to every draft."""

    record_id: RecordId
    origin: Origin
    created_by: str
    at: datetime


def admit(draft: Draft, stamp: Stamp) -> Record:
    """The record that a draft makes, before its first move; Invalid or Refused says what is wrong."""
    summary = check_summary(draft.summary)
    _check_draft(draft, stamp)
    metadata = _complete_metadata(draft.kind.layer, draft.metadata, summary)
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
    return suspicion.flag_suspicious(record, is_own=draft.is_own and not draft.provenance.tainted)


def apply_edits(record: Record, edits: Edits, *, now: datetime) -> Record:
    """The record as its publication changes it: bounds, contract, key and guard apply as to a new one."""
    _check_expiry(edits.expires_at, now)
    check_revalidation(edits.revalidate_at, now)
    kind = _kind_after(record, edits.kind)
    text = record.summary if edits.content is None else check_summary(edits.content)
    result = replace(
        _with_kind_and_text(record, kind, text),
        scope=edits.scope or record.scope,
        sensitivity=edits.sensitivity or record.sensitivity,
        confidence=record.confidence if edits.confidence is None else edits.confidence,
        expires_at=edits.expires_at or record.expires_at,
        revalidate_at=edits.revalidate_at or record.revalidate_at,
    )
    if result.scope != record.scope and record.scope.kind is ScopeKind.SESSION:
        # The session that it is from is not told by its scope any more, and forgetting it has to find it.
        source = replace(record.source, session_id=record.source.session_id or record.scope.id)
        result = replace(result, source=source)
    if _place(result) != _place(record):
        # What it was to replace stands where it stood.
        result = replace(result, supersedes=None)
    check_record(result)
    refuse_secrets(result)
    # What was admitted as the user's own words, and is published as it stands, stays that.
    is_own = text == record.summary and not record.provenance.tainted
    return suspicion.flag_suspicious(result, is_own=is_own)


def successor(old: Record, edits: Edits, *, now: datetime) -> Draft:
    """A draft that replaces a learning: what the caller gave stays as in an edit, what supported it does not.

    What a merge or radar noted is about the text that goes. It is as sensitive as the old one unless told.
    """
    made_of_others = old.proposal in _OF_ONE_KIND
    own = {} if made_of_others and old.layer is Layer.SEMANTIC else old.metadata
    given = {name: value for name, value in own.items() if name not in _SOURCE_NOTES}
    fresh = replace(
        old,
        proposal=None if made_of_others else old.proposal,
        metadata=_complete_metadata(old.layer, given, old.summary),
    )
    text = apply_edits(fresh, edits, now=now)
    return Draft(
        kind=text.kind,
        summary=text.summary,
        scope=old.scope,
        metadata=text.metadata,
        confidence=limits.CONFIDENCE_DEFAULT if edits.confidence is None else edits.confidence,
        sensitivity=text.sensitivity,
        supersedes=old.record_id,
        expires_at=edits.expires_at,
    )


def check_reason(reason: str) -> str:
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


def check_revalidation(revalidate_at: datetime | None, now: datetime) -> None:
    """A time to look at something again, which has to be ahead."""
    if revalidate_at is not None and revalidate_at <= now:
        raise Invalid(
            "revalidate_at lies in the past",
            code="record.revalidate-at",
            hint="give a later time, or leave it out",
        )


def refuse_secrets(record: Record) -> None:
    """Refuse a record whose text or metadata looks like it holds a secret; the message never repeats it."""
    # What happened may have been redacted already; what shall be remembered must not hold such a gap.
    look = _first_unredacted if record.layer in _TOLD else first_secret
    for name, text in _guarded_texts(record):
        finding = look(text)
        if finding:
            raise _secret(name, finding)


def _first_unredacted(text: str) -> SecretFinding | None:
    return next((found for found in find_secrets(text) if found.rule != REDACTION_MARKER), None)


def _secret(name: str, finding: SecretFinding) -> Refused:
    return Refused(
        f"{name} looks like it holds a secret ({finding.rule}); nothing was stored",
        code="guard.secret",
        hint="remove the secret, or say where it is kept instead of what it is",
    )


def _guarded_texts(record: Record) -> Iterator[tuple[str, str]]:
    yield "the content", record.summary
    yield "the scope", record.scope.id
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
    _check_expiry(draft.expires_at, stamp.at)


def _check_expiry(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is not None and expires_at <= now:
        raise Invalid(
            "expires_at lies in the past", code="record.expires-at", hint="give a later time, or leave it out"
        )


def _kind_after(record: Record, kind: Kind | None) -> Kind:
    if kind is None or kind is record.kind:
        return record.kind
    if record.kind not in PROMPT_KINDS or kind not in PROMPT_KINDS or record.proposal in _OF_ONE_KIND:
        what = f"a {record.kind}" if record.proposal is None else f"a {record.proposal} proposal"
        raise Refused(
            f"record {record.record_id} is {what}, and cannot become a {kind}",
            code="record.kind-change",
            hint="a fact, a preference and a decision can become one another, and nothing else can",
        )
    return kind


def _with_kind_and_text(record: Record, kind: Kind, text: str) -> Record:
    """The record with another kind or text: what was derived from the old ones is derived again."""
    if (kind, text) == (record.kind, record.summary):
        return record
    kept = (
        _remaining_metadata(record, text)
        if kind.layer is record.layer
        else _caller_metadata(record, kind.layer)
    )
    metadata = _complete_metadata(kind.layer, kept, text)
    return replace(
        record,
        layer=kind.layer,
        kind=kind,
        summary=text,
        metadata=metadata,
        semantic_key=_key(kind.layer, metadata, text),
        verification_status=VerificationStatus.UNVERIFIED,
    )


def _caller_metadata(record: Record, layer: Layer) -> JsonObject:
    """What a caller gave along that no layer's contract speaks of: in another layer the rest is derived."""
    spoken_for = {name for each in (record.layer, layer) for name, _ in contract_fields(each)}
    return {name: value for name, value in record.metadata.items() if name not in spoken_for}


def _place(record: Record) -> tuple[Scope, Kind, str]:
    key = str(record.metadata["profile_key"]).casefold() if record.layer is Layer.PROFILE else ""
    return record.scope, record.kind, key


def _complete_metadata(layer: Layer, metadata: JsonObject, summary: str) -> JsonObject:
    """What a candidate's metadata leaves out is derived from its text; the caller's own fields stay."""
    completed = {**_derive_metadata(layer, summary), **metadata}
    check_metadata(layer, completed)
    return completed


def _derive_metadata(layer: Layer, summary: str) -> dict[str, JsonValue]:
    if layer not in _KEYED:
        return {}
    key = subject.semantic_key(summary)
    if layer is Layer.PROFILE:
        return {"profile_key": key.place, "value": _value_of(key, summary), "reason": "captured"}
    if layer is Layer.SEMANTIC:
        return {"origin": "candidate", "topic_tags": list(subject.topic_terms(key))}
    return {"workflow": subject.slug(key.topic), "canonical": False}


def _key(layer: Layer, metadata: JsonObject, summary: str) -> str:
    """The key of a text with its completed metadata: a profile record's own key and value go before."""
    if layer not in _KEYED or (metadata.get("compacted_from") and "\n" in summary):
        # A merge of several statements has no single subject: its first line's would contradict the others.
        return ""
    key = subject.semantic_key(summary)
    if layer is Layer.PROFILE:
        place, value = str(metadata["profile_key"]), str(metadata["value"])
        if (place, value) != (key.place, _value_of(key, summary)):
            key = subject.key_of_parts(place, value)
    return key.text


def _value_of(key: subject.SemanticKey, summary: str) -> str:
    """Without a subject to split off, the text itself is the value; "not" belongs to it."""
    if not key.value or key.topic != key.subject:
        return summary
    return f"not {key.value}" if key.negated else key.value


def _remaining_metadata(record: Record, text: str) -> JsonObject:
    """What stays when the text becomes another one: all but what was derived from the old one."""
    derived = _derive_metadata(record.layer, record.summary)
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
    key = subject.semantic_key(text)
    return _value_of(key, text) if key.subject == subject.key_of_parts(profile_key, text).subject else text


_TOLD = frozenset({Layer.EPISODIC, Layer.WORKING})
_KEYED = frozenset({Layer.PROFILE, Layer.SEMANTIC, Layer.PROCEDURAL})
# What these are made from is of their kind.
_OF_ONE_KIND = frozenset({Proposal.COMPACTION, Proposal.DEDUP, Proposal.RADAR, Proposal.EPISODES})
