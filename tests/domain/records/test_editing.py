"""Edits of a candidate at its publication: checked like a new record, and nothing else is changed."""

from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.errors import Invalid, Refused
from runlore.domain.record import (
    LEARNING_KINDS,
    PROMPT_KINDS,
    EvidenceRef,
    JsonObject,
    Kind,
    Layer,
    Origin,
    Proposal,
    Record,
    RecordId,
    Sensitivity,
    Source,
    VerificationStatus,
)
from runlore.domain.records.admission import Draft, Edits, Stamp, admit, apply_edits, successor
from runlore.domain.records.contracts import check_record, contract_fields
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from tests.builders import ACME, fact, published
from tests.fakes import START
from tests.world import outcome

SECOND = timedelta(seconds=1)
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
STAMP = Stamp(record_id=RecordId("rec_1"), origin=Origin.API, created_by="agent", at=START)
statements = st.sampled_from(
    [
        *("The editor is vim", "editor: emacs", "The deploy region is eu-west-1", "Use tabs"),
        *("The release day is not Friday", "请用中文回答", "We ship on Mondays"),
    ]
)
times = st.none() | st.integers(1, 10**9).map(lambda seconds: START + timedelta(seconds=seconds))
edits = st.builds(
    Edits,
    content=st.none() | statements,
    scope=st.none() | st.sampled_from([WORKSPACE, ACME, Scope(ScopeKind.SESSION, "s1")]),
    kind=st.none() | st.sampled_from(sorted(PROMPT_KINDS)),
    sensitivity=st.none() | st.sampled_from(Sensitivity),
    confidence=st.none() | st.integers(0, 100),
    expires_at=times,
    revalidate_at=times,
)
given_metadata: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"ticket": "A-1"}, {"topic_tags": ["naming"]}, {"profile_key": "Editor", "value": "vim", "n": 1}]
)


def candidate(kind: Kind = Kind.FACT, summary: str = "The editor is vim", **given: Any) -> Record:
    return admit(Draft(kind=kind, summary=summary, **given), STAMP)


@st.composite
def candidates(draw: st.DrawFn) -> Record:
    kind = draw(st.sampled_from(sorted(PROMPT_KINDS)))
    brought = dict(draw(given_metadata))
    if kind is not Kind.PREFERENCE:
        brought.pop("profile_key", None)
    record = candidate(
        kind,
        draw(statements),
        metadata=brought,
        scope=draw(st.sampled_from([WORKSPACE, ACME])),
        supersedes=draw(st.none() | st.just(RecordId("rec_old"))),
        evidence_refs=(EvidenceRef(run_id="run_1"),),
        source=Source(run_id="run_1"),
    )
    status = draw(st.sampled_from(VerificationStatus))
    return replace(record, verification_status=status, created_at=START - SECOND)


@pytest.mark.req("LRN-13", "REC-7", "REC-8")
@given(candidates(), edits)
def test_an_edit_changes_what_it_names_and_what_follows_from_that(record: Record, change: Edits) -> None:
    after = apply_edits(record, change, now=START)

    check_record(after)
    for name in ("scope", "kind", "sensitivity", "confidence", "expires_at", "revalidate_at"):
        asked = getattr(change, name)
        assert getattr(after, name) == (getattr(record, name) if asked is None else asked)
    assert after.summary == (record.summary if change.content is None else change.content)
    assert after.layer is after.kind.layer
    said_otherwise = (after.kind, after.summary) != (record.kind, record.summary)
    if not said_otherwise:
        assert (after.metadata, after.semantic_key) == (record.metadata, record.semantic_key)
        assert after.verification_status is record.verification_status
    else:
        # What supported the old words says nothing of the new ones.
        assert after.verification_status is VerificationStatus.UNVERIFIED
    moved_on = (after.scope, after.kind, place(after)) != (record.scope, record.kind, place(record))
    assert after.supersedes == (None if moved_on else record.supersedes)
    changing = {f.name for f in fields(Edits)} - {"content"} | {"summary"}
    derived = {"layer", "metadata", "semantic_key", "verification_status", "supersedes"}
    for field in fields(Record):
        if field.name not in changing | derived:
            assert getattr(after, field.name) == getattr(record, field.name)


def place(record: Record) -> str:
    return str(record.metadata["profile_key"]).casefold() if record.layer is Layer.PROFILE else ""


@pytest.mark.req("LRN-13", "REC-8")
@given(candidates(), st.sampled_from(sorted(PROMPT_KINDS)), statements)
def test_in_another_layer_a_statement_is_what_it_would_have_been_there(
    record: Record, kind: Kind, text: str
) -> None:
    if kind.layer is record.layer:
        return
    after = apply_edits(record, Edits(kind=kind, content=text), now=START)
    contracts = {name for layer in (record.layer, kind.layer) for name, _ in contract_fields(layer)}
    own = {name: value for name, value in record.metadata.items() if name not in contracts}

    fresh = candidate(kind, text, metadata=own)

    assert (after.metadata, after.semantic_key) == (fresh.metadata, fresh.semantic_key)


@pytest.mark.req("LRN-13", "CAP-1")
@pytest.mark.parametrize("before", sorted(LEARNING_KINDS))
@pytest.mark.parametrize("after", list(Kind))
def test_a_kind_changes_only_among_fact_preference_and_decision(before: Kind, after: Kind) -> None:
    stamp = replace(STAMP, origin=Origin.DAEMON)
    record = admit(Draft(kind=before, summary="The editor is vim"), stamp)

    code = outcome(lambda: apply_edits(record, Edits(kind=after), now=START))

    may = before is after or {before, after} <= {Kind.FACT, Kind.PREFERENCE, Kind.DECISION}
    assert code == ("done" if may else "record.kind-change")


@pytest.mark.req("LRN-13", "LAY-3", "LAY-6")
@pytest.mark.parametrize("proposal", list(Proposal))
def test_what_was_made_from_others_of_a_kind_stays_of_that_kind(proposal: Proposal) -> None:
    record = replace(candidate(), proposal=proposal)

    code = outcome(lambda: apply_edits(record, Edits(kind=Kind.DECISION), now=START))

    assert code == ("done" if proposal is Proposal.PROFILE else "record.kind-change")


@pytest.mark.req("LRN-8", "LRN-11", "LRN-13", "REC-7")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (Edits(content=" \n"), "record.summary-blank"),
        (Edits(content=""), "record.summary-blank"),
        (Edits(content="x" * 1_601), "record.summary-long"),
        (Edits(content=f"The token is {SECRET}"), "guard.secret"),
        (Edits(content="a\0b"), "text.characters"),
        (Edits(confidence=101), "record.confidence"),
        (Edits(confidence=-1), "record.confidence"),
        (Edits(expires_at=START), "record.expires-at"),
        (Edits(expires_at=START + timedelta(milliseconds=1)), "done"),
        (Edits(revalidate_at=START), "record.revalidate-at"),
        (Edits(revalidate_at=START + timedelta(milliseconds=1)), "done"),
    ],
    ids=str,
)
def test_every_bound_of_a_new_record_holds_for_an_edited_one(change: Edits, code: str) -> None:
    assert outcome(lambda: apply_edits(candidate(), change, now=START)) == code


@pytest.mark.req("LRN-8", "LRN-13")
@given(st.sampled_from(["ticket", "profile_key"]))
def test_a_kind_that_makes_a_secret_of_what_was_said_is_refused(name: str) -> None:
    record = replace(candidate(), metadata={**candidate().metadata, name: SECRET})

    with pytest.raises((Refused, Invalid)) as refusal:
        apply_edits(record, Edits(confidence=1), now=START)
    assert SECRET not in str(refusal.value)


OLD: JsonObject = {"origin": "radar", "repo_slug": "a/b", "source_handle": "a", "source_url": "https://e.org"}
RADAR: JsonObject = {**OLD, "confidence": 80, "evidence_refs": ["x"], "topic_tags": ["editor"]}


def learning(kind: Kind = Kind.FACT, summary: str = "The editor is vim", **given: Any) -> Record:
    return published(candidate(kind, summary, **given), verification_status=VerificationStatus.VERIFIED)


@pytest.mark.req("LRN-7", "TNT-3")
@given(candidates(), edits.filter(lambda change: change.content is not None))
def test_a_successor_inherits_its_place_and_no_support(record: Record, change: Edits) -> None:
    old = published(record, sensitivity=Sensitivity.SENSITIVE, expires_at=START + SECOND, confidence=99)

    draft = successor(old, replace(change, scope=None), now=START)
    new = admit(draft, replace(STAMP, record_id=RecordId("rec_2")))

    assert (new.scope, new.supersedes, new.summary) == (old.scope, old.record_id, change.content)
    assert new.kind is (change.kind or old.kind)
    assert new.verification_status is VerificationStatus.UNVERIFIED
    assert (new.evidence_refs, new.source, new.automation_review) == ((), Source(), None)
    assert new.sensitivity is (change.sensitivity or Sensitivity.SENSITIVE)
    assert new.confidence == (80 if change.confidence is None else change.confidence)
    assert new.expires_at == change.expires_at


@pytest.mark.req("LRN-7", "LAY-1", "LAY-3", "LAY-6")
@pytest.mark.parametrize(
    ("old", "text", "metadata"),
    [
        (
            learning(metadata=RADAR, proposal=Proposal.RADAR),
            "The editor is emacs",
            {"origin": "candidate", "topic_tags": ["editor"]},
        ),
        (
            learning(
                metadata={"compacted_from": ["rec_8"], "sources_digest": "d"}, proposal=Proposal.COMPACTION
            ),
            "The editor is vim",
            {"origin": "candidate", "topic_tags": ["editor"]},
        ),
        (
            learning(metadata={"ticket": "A-1", "topic_tags": ["naming"]}),
            "The shell is fish",
            {"origin": "candidate", "ticket": "A-1", "topic_tags": ["naming"]},
        ),
        (
            learning(Kind.PROCEDURE, "Tag the release", metadata={"workflow": "release", "canonical": True}),
            "Run the tests, then tag",
            {"workflow": "release", "canonical": True},
        ),
        (
            learning(
                Kind.PREFERENCE,
                "Editor: vim",
                metadata={"profile_key": "Editor", "value": "vim", "reason": "asked"},
                proposal=Proposal.PROFILE,
            ),
            "rather emacs",
            {"profile_key": "Editor", "value": "rather emacs", "reason": "asked"},
        ),
    ],
    ids=["radar", "compaction", "brought", "procedure", "profile"],
)
def test_a_successor_keeps_what_a_caller_gave_and_not_what_was_noted_of_the_old_text(
    old: Record, text: str, metadata: JsonObject
) -> None:
    draft = successor(old, Edits(content=text), now=START)

    assert admit(draft, STAMP).metadata == metadata
    assert draft.proposal is None


@pytest.mark.req("LRN-7")
def test_a_successor_is_checked_like_a_new_record() -> None:
    past: datetime = START
    for change, code in (
        (Edits(content=SECRET), "guard.secret"),
        (Edits(content="x", expires_at=past), "record.expires-at"),
        (Edits(content="x", kind=Kind.PROCEDURE), "record.kind-change"),
    ):
        with pytest.raises((Refused, Invalid)) as refusal:
            successor(published(fact()), change, now=START)
        assert refusal.value.code == code


@pytest.mark.req("LRN-12")
def test_what_leaves_its_session_keeps_where_it_is_from() -> None:
    session = Scope(kind=ScopeKind.SESSION, id="ses_1")
    for source, from_where in ((Source(), "ses_1"), (Source(session_id="ses_2"), "ses_2")):
        candidate = fact("The editor is vim", scope=session, source=source)
        moved = apply_edits(candidate, Edits(scope=WORKSPACE), now=START)
        assert moved.source.session_id == from_where
        assert apply_edits(candidate, Edits(content="The editor is emacs"), now=START).source == source
