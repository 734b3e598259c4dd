"""What every record has to satisfy: field bounds and the metadata contract of its layer.

Checked at the edge, where a breach is the caller's error, and again by the store before anything is written.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.record import STANDING_KINDS, JsonObject, JsonValue, Layer, Record, State, StateReason
from runlore.domain.text.safe_text import is_shown, is_storable

Check = Callable[[JsonValue], str | None]


def check_record(record: Record) -> None:
    """Raise Invalid, naming the field, when a record breaks a bound or its layer's contract."""
    if record.layer is not record.kind.layer:
        raise Invalid(
            f"kind {record.kind} belongs to the {record.kind.layer} layer, not to {record.layer}",
            code="record.kind",
            hint=f"leave the layer out, or use {record.kind.layer}",
        )
    _check_state(record)
    check_confidence(record.confidence)
    _check_texts(record)
    if record.state_reason is StateReason.FORGOTTEN:
        said = (record.summary, record.metadata, record.evidence_refs, record.automation_review)
        if any(said) or record.semantic_key or record.provenance.sources:
            raise Invalid(
                f"record {record.record_id} is forgotten and still holds content",
                code="record.forgotten",
                hint="forget it again",
            )
        return
    check_summary(record.summary)
    check_metadata(record.layer, record.metadata)
    if record.automation_review is not None:
        _check_bounds("automation_review", record.automation_review)


def check_text(name: str, text: str) -> str:
    """Refuse what no database holds: NUL characters and halves of a surrogate pair."""
    if not is_storable(text):
        raise Invalid(
            f"{name} holds a NUL character or half of a surrogate pair",
            code="text.characters",
            hint="remove it: it cannot be stored or shown",
        )
    return text


def check_summary(summary: str) -> str:
    """The text trimmed; blank and over-long ones are refused."""
    text = check_text("the content", summary).strip()
    if not any(is_shown(character) for character in text):
        raise Invalid(
            "the content is blank", code="record.summary-blank", hint="say what is to be remembered"
        )
    if len(text) > limits.SUMMARY_CHARS_MAX:
        raise Invalid(
            f"the content has {len(text):,} characters, more than {limits.SUMMARY_CHARS_MAX:,}",
            code="record.summary-long",
            hint="shorten it, or split it into several records",
        )
    return text


def check_confidence(confidence: int) -> int:
    if not _is_whole(confidence) or not 0 <= confidence <= limits.CONFIDENCE_MAX:
        raise Invalid(
            f"confidence is {confidence}, not a whole number from 0 to {limits.CONFIDENCE_MAX}",
            code="record.confidence",
            hint=f"{limits.CONFIDENCE_DEFAULT} is the usual value",
        )
    return confidence


def check_metadata(layer: Layer, metadata: JsonObject) -> None:
    """The layer's contract, and the bounds on size and depth that hold for all layers."""
    _check_bounds("metadata", metadata)
    for name, check, required in _contract(layer, metadata):
        if name not in metadata:
            if required:
                raise _breach(layer, metadata, f"metadata.{name} of a {layer} record is missing")
            continue
        problem = check(metadata[name])
        if problem:
            raise _breach(layer, metadata, f"metadata.{name} of a {layer} record {problem}")


def contract_fields(layer: Layer, *, radar: bool = False) -> tuple[tuple[str, bool], ...]:
    """The fields of a layer's contract, each with whether it is required: for docs and error texts."""
    metadata: JsonObject = {"origin": "radar"} if radar else {}
    return tuple((name, required) for name, _, required in _contract(layer, metadata))


def _contract(layer: Layer, metadata: JsonObject) -> tuple[tuple[str, Check, bool], ...]:
    if layer is Layer.SEMANTIC and metadata.get("origin") == "radar":
        return _CONTRACTS[layer] + _RADAR
    return _CONTRACTS[layer]


def _breach(layer: Layer, metadata: JsonObject, sentence: str) -> Invalid:
    needed = ", ".join(name for name, _, required in _contract(layer, metadata) if required)
    return Invalid(sentence, code="record.metadata", hint=f"its metadata needs: {needed}")


def check_standing(record: Record) -> None:
    """Only a rule can stand in every prompt: a preference or a decision."""
    if record.kind not in STANDING_KINDS:
        raise Invalid(
            f"{record.record_id} is a {record.kind}: only a preference or a decision can be standing",
            code="record.standing",
            hint="publish it as a preference or a decision, or leave `standing` out",
        )


def _check_state(record: Record) -> None:
    """A tombstone says why, what was replaced or repeated says by what, and only a rule is standing."""
    if record.standing:
        check_standing(record)
    if (record.state is State.TOMBSTONED) is (record.state_reason is None):
        raise Invalid(
            f"record {record.record_id} is {record.state} with state_reason {record.state_reason}",
            code="record.state-reason",
            hint="a tombstone has a reason, nothing else has one",
        )
    for needed, name, link in (
        (record.state is State.SUPERSEDED, "superseded_by", record.superseded_by),
        (record.state_reason is StateReason.DUPLICATE, "duplicate_of", record.duplicate_of),
    ):
        if needed and not link:
            raise Invalid(
                f"record {record.record_id} is {record.state_reason or record.state} without {name}",
                code="record.link",
                hint=f"name the other record in {name}",
            )


def _check_texts(record: Record) -> None:
    """The bounds of everything beside summary and metadata that a caller can fill."""
    for listed, name, most in (
        (record.evidence_refs, "evidence_refs", limits.EVIDENCE_REFS_MAX),
        (record.both_hold, "both_hold", limits.BOTH_HOLD_MAX),
        (record.provenance.sources, "provenance.sources", limits.TAINT_SOURCES_MAX),
    ):
        if len(listed) > most:
            raise _too_much(name, f"{len(listed)} entries, more than {most}")
    for name, text, chars_max in _texts_of(record):
        if text is not None and len(check_text(name, text)) > chars_max:
            raise _too_much(name, f"{len(text):,} characters, more than {chars_max:,}")
    for index, reference in enumerate(record.evidence_refs):
        number = reference.event_number
        if number is not None and (not _is_whole(number) or not 0 <= number < 2**63):
            raise Invalid(
                f"evidence_refs[{index}].event_number is not a whole number from 0 on",
                code="record.evidence",
                hint="give the number of a journal event, or leave it out",
            )


def _texts_of(record: Record) -> Iterator[tuple[str, str | None, int]]:
    source = record.source
    yield "record_id", record.record_id, limits.ID_CHARS_MAX
    yield "created_by", record.created_by, limits.ID_CHARS_MAX
    yield "policy_actor", record.policy_actor, limits.ID_CHARS_MAX
    yield "semantic_key", record.semantic_key, limits.SEMANTIC_KEY_CHARS_MAX
    yield "source.session_id", source.session_id, limits.ID_CHARS_MAX
    yield "source.run_id", source.run_id, limits.ID_CHARS_MAX
    yield "source.agent", source.agent, limits.ID_CHARS_MAX
    yield "source.imported_from", source.imported_from, 2 * limits.ID_CHARS_MAX
    for index, reference in enumerate(record.evidence_refs):
        yield f"evidence_refs[{index}].run_id", reference.run_id, limits.ID_CHARS_MAX
        yield f"evidence_refs[{index}].artifact_id", reference.artifact_id, limits.ID_CHARS_MAX
        yield f"evidence_refs[{index}].note", reference.note, limits.REASON_CHARS_MAX
    for index, text in enumerate(record.provenance.sources):
        yield f"provenance.sources[{index}]", text, limits.TAINT_SOURCE_CHARS_MAX


def _too_much(name: str, size: str) -> Invalid:
    return Invalid(f"{name} has {size}", code="record.too-much", hint="keep what supports the content best")


def _check_bounds(name: str, value: JsonObject) -> None:
    size = _measure(name, value, 1)
    if size > limits.METADATA_BYTES_MAX:
        raise Invalid(
            f"{name} holds about {size:,} bytes, more than {limits.METADATA_BYTES_MAX:,}",
            code="record.metadata-size",
            hint="keep what is searched or shown, and point to the rest in evidence_refs",
        )


def _measure(name: str, value: JsonValue, depth: int) -> int:
    if depth > limits.METADATA_DEPTH_MAX:
        raise Invalid(
            f"{name} is nested more than {limits.METADATA_DEPTH_MAX} levels deep",
            code="record.metadata-depth",
            hint="flatten it",
        )
    if isinstance(value, str):
        return 2 + len(check_text(name, value).encode())
    # What holds nothing still takes room: a list of empty lists is not small.
    if isinstance(value, Mapping):
        return 2 + sum(
            4 + len(check_text(f"a key of {name}", key).encode()) + _measure(f"{name}.{key}", item, depth + 1)
            for key, item in value.items()
        )
    if isinstance(value, Sequence):
        return 2 + sum(1 + _measure(name, item, depth + 1) for item in value)
    if isinstance(value, float) and not math.isfinite(value):
        raise Invalid(
            f"{name} is {value}, which JSON has no word for", code="record.metadata", hint="use null"
        )
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Invalid(f"{name} does not fit into 64 bits", code="record.metadata", hint="write it as a text")
    return 8


def _is_whole(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_filled(value: JsonValue) -> str | None:
    return None if isinstance(value, str) and value.strip() else "must be a text that is not blank"


def _name(value: JsonValue) -> str | None:
    if isinstance(value, str) and len(value) > limits.PROFILE_KEY_CHARS_MAX:
        return f"has {len(value):,} characters, more than {limits.PROFILE_KEY_CHARS_MAX}"
    return _check_filled(value)


def _scalar(value: JsonValue) -> str | None:
    if isinstance(value, str) and not value.strip():
        return "must not be blank"
    return None if isinstance(value, str | int | float) else "must be a text, a number or true/false"


def _number(value: JsonValue) -> str | None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value <= limits.CONFIDENCE_MAX
    ):
        return f"must be a number from 0 to {limits.CONFIDENCE_MAX}"
    return None


def _flag(value: JsonValue) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _texts(value: JsonValue) -> str | None:
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    if listed and all(isinstance(item, str) and item.strip() for item in cast("Sequence[JsonValue]", value)):
        return None
    return "must be a list of texts that are not blank"


_CONTRACTS: Mapping[Layer, tuple[tuple[str, Check, bool], ...]] = {
    Layer.WORKING: (),
    Layer.EPISODIC: (),
    Layer.PROFILE: (("profile_key", _name, True), ("value", _scalar, True), ("reason", _check_filled, True)),
    Layer.SEMANTIC: (
        ("origin", _check_filled, True),
        ("topic_tags", _texts, True),
        ("compacted_from", _texts, False),
    ),
    Layer.PROCEDURAL: (
        ("workflow", _name, True),
        ("canonical", _flag, True),
        ("compacted_from", _texts, False),
    ),
}
_RADAR: tuple[tuple[str, Check, bool], ...] = (
    ("repo_slug", _name, True),
    ("source_handle", _name, True),
    ("source_url", _check_filled, True),
    ("confidence", _number, True),
    ("evidence_refs", _texts, True),
)
