"""Arbitrary records for the properties of the domain tests: every field takes every form it can have."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from runlore.domain.record import (
    STANDING_KINDS,
    EvidenceRef,
    Feedback,
    JsonObject,
    JsonValue,
    Kind,
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
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.taint import Provenance

YEAR_ONE = datetime(1, 1, 1, tzinfo=UTC)
LAST_MILLISECOND = (datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC) - YEAR_ONE) // timedelta(
    milliseconds=1
)

# What a database holds: neither NUL nor half of a surrogate pair.
characters = st.characters(
    exclude_characters="\0", categories=("L", "M", "N", "P", "S", "Z", "Cc", "Cf", "Co", "Cn")
)
texts = st.text(characters, max_size=20)
names = st.text(characters, min_size=1, max_size=20).filter(lambda text: bool(text.strip()))
moments = st.integers(0, LAST_MILLISECOND).map(lambda ms: YEAR_ONE + timedelta(milliseconds=ms))
whole_numbers = st.integers(-(2**63), 2**63 - 1)
scalars: st.SearchStrategy[JsonValue] = (
    st.none() | st.booleans() | whole_numbers | st.floats(allow_nan=False, allow_infinity=False) | texts
)
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects: st.SearchStrategy[JsonObject] = st.dictionaries(texts, json_values, max_size=3)
ids = names.map(RecordId)
scopes = st.just(WORKSPACE) | st.builds(
    Scope,
    st.sampled_from([kind for kind in ScopeKind if kind is not ScopeKind.WORKSPACE]),
    names.map(str.strip),
)
sources = st.builds(
    Source,
    session_id=st.none() | texts,
    run_id=st.none() | texts,
    agent=st.none() | texts,
    record_ids=st.lists(ids, max_size=2).map(tuple),
    imported_from=st.none() | texts,
)
evidence = st.builds(
    EvidenceRef,
    run_id=st.none() | texts,
    artifact_id=st.none() | texts,
    event_number=st.none() | st.integers(0, 2**63 - 1),
    note=st.none() | texts,
)
provenances = st.builds(
    Provenance,
    untrusted=st.booleans(),
    needs_review=st.booleans(),
    sources=st.lists(texts, max_size=2).map(tuple),
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Any record that can be represented, whether or not the moves lead to it."""
    kind = draw(st.sampled_from(Kind))
    return Record(
        record_id=draw(ids),
        layer=kind.layer,
        kind=kind,
        state=draw(st.sampled_from(State)),
        state_reason=draw(st.none() | st.sampled_from(StateReason)),
        scope=draw(scopes),
        summary=draw(texts),
        metadata=draw(json_objects),
        confidence=draw(st.integers(0, 100)),
        sensitivity=draw(st.sampled_from(Sensitivity)),
        origin=draw(st.sampled_from(Origin)),
        created_by=draw(texts),
        source=draw(sources),
        evidence_refs=tuple(draw(st.lists(evidence, max_size=2))),
        provenance=draw(provenances),
        publish_tier=draw(st.none() | st.sampled_from(PublishTier)),
        verification_status=draw(st.sampled_from(VerificationStatus)),
        policy_decision=draw(st.none() | st.sampled_from(PolicyDecision)),
        policy_actor=draw(st.none() | texts),
        automation_review=draw(st.none() | json_objects),
        semantic_key=draw(texts),
        proposal=draw(st.none() | st.sampled_from(Proposal)),
        supersedes=draw(st.none() | ids),
        superseded_by=draw(st.none() | ids),
        duplicate_of=draw(st.none() | ids),
        both_hold=tuple(draw(st.lists(ids, max_size=2, unique=True))),
        standing=kind in STANDING_KINDS and draw(st.booleans()),
        feedback=Feedback(wrong=draw(st.integers(0, 9)), helped=draw(st.integers(0, 9))),
        created_at=draw(moments),
        published_at=draw(st.none() | moments),
        expires_at=draw(st.none() | moments),
        revalidate_at=draw(st.none() | moments),
        revision=draw(st.integers(1, 99)),
    )
