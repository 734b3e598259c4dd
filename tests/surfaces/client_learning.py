"""The learning plane over HTTP: every field of every request, and what is refused in the same words."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import (
    EvidenceRef,
    JsonObject,
    Kind,
    Origin,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    Source,
    State,
)
from runlore.domain.run import RunId
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.surfaces.client_both import Both

ACME = Scope.parse("project:acme")
EARLIER = datetime(2001, 1, 1, tzinfo=UTC)
LATER = datetime(2100, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
# What each filter alone leaves nothing of, where a fact of the workspace was published by hand.
NOT_IT: dict[str, Any] = {
    "scopes": frozenset({ACME}),
    "scope_kinds": frozenset({ScopeKind.SESSION, ScopeKind.PROJECT}),
    "kinds": frozenset({Kind.PREFERENCE}),
    "states": frozenset({State.TOMBSTONED}),
    "tiers": frozenset({PublishTier.PROVISIONAL}),
    "decisions": frozenset({PolicyDecision.AUTOMATIC}),
    "actor": "daemon",
    "rule": "none such",
    "text": "caldera",
}
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def learning(both: Both, session_id: SessionId, run_id: RunId) -> None:
    """A candidate with every field, its publication on terms, and all that can become of it."""
    made = both.do("create_candidate", candidate("The codename is Atlas ✓", run_id))
    assert (made.origin, made.confidence, made.evidence_refs[0].event_number) == (Origin.API, 91, 3)
    other = both.do("create_candidate", candidate("Deploys wait for ada", run_id, kind=Kind.DECISION))
    asked = ops.CandidateRequest(
        kinds=frozenset({Kind.FACT, Kind.DECISION}),
        scopes=frozenset({ACME, WORKSPACE}),
        scope_kinds=frozenset({ScopeKind.PROJECT}),
        states=frozenset({State.CONSTRAINED}),
        text="codename",
        limit=1,
    )
    assert [record.record_id for record in both.read("list_candidates", asked).items] == [made.record_id]
    both.read("list_candidates", ops.CandidateRequest(decisions=frozenset({PolicyDecision.ESCALATED})))
    page = both.read("list_candidates", ops.CandidateRequest(limit=1, session_id=session_id))
    both.read(
        "list_candidates", ops.CandidateRequest(limit=1, session_id=session_id, cursor=page.next_cursor)
    )
    both.read("get_candidate", made.record_id, session_id=session_id)
    terms = ops.Publication(
        record_id=made.record_id,
        content="The codename is Borea ✓",
        scope=WORKSPACE,
        kind=Kind.FACT,
        sensitivity=Sensitivity.NORMAL,
        confidence=77,
        expires_at=LATER,
        revalidate_at=LATER,
        publish_tier=PublishTier.PROVISIONAL,
        accept_untrusted=True,
        reason="looked at",
        expected_revision=both.inside.get_candidate(made.record_id).revision,
    )
    known = both.do("publish", terms)
    assert (known.summary, known.confidence, known.expires_at) == ("The codename is Borea ✓", 77, LATER)
    assert known.publish_tier is PublishTier.PROVISIONAL
    raised(both, known.record_id, run_id)
    listed(both, known, session_id)
    newer = both.do("supersede", superseding(known.record_id))
    assert (newer.summary, newer.supersedes) == ("The codename is Caldera", known.record_id)
    fed(both, session_id, newer.record_id)
    both.do("publish", ops.Publication(record_id=other.record_id, standing=False))
    assert both.do("set_standing", ops.Decision(record_id=other.record_id, standing=True)).standing
    beside(both, run_id)
    dry = ops.MatchingRevocation(filters=ops.LearningFilters(kinds=frozenset({Kind.DECISION})), dry_run=True)
    assert [record.record_id for record in both.read("revoke_matching", dry).items] == [other.record_id]
    assert both.do("revoke_matching", replace(dry, dry_run=False, reason="gone")).dry_run is False
    clearance = ops.OriginClearance(origin="https://example.org/page", dry_run=True)
    assert both.read("clear_origin", clearance) == ops.Cleared(items=(), dry_run=True)
    assert both.do("clear_origin", replace(clearance, dry_run=False, reason="read")).items == ()
    assert both.do("revoke", ops.Decision(record_id=newer.record_id)).state is State.TOMBSTONED
    automation(both, session_id)


def beside(both: Both, run_id: RunId) -> None:
    """Learnings that seem to contradict each other and both hold, by each act that can say so."""
    made = [both.do("create_candidate", candidate(f"The lead is {name}", run_id)) for name in "ABCDE"]
    first, second, third, fourth, fifth = (record.record_id for record in made)
    both.do("publish", ops.Publication(record_id=first))
    both.do("publish", ops.Publication(record_id=second, both_hold=(first,)))
    third_one = both.do("confirm", ops.Decision(record_id=third, both_hold=(first, second)))
    assert third_one.both_hold == (first, second)
    both.do("publish", ops.Publication(record_id=fourth, supersedes=third, both_hold=(first, second)))
    both.do(
        "supersede",
        ops.Supersession(record_id=fourth, content="The lead is F", both_hold=(first, second)),
    )
    both.do("reject", ops.Decision(record_id=fifth))
    both.do("verify", ops.VerifyRequest(record_id=first, on_my_word=True, both_hold=(second,)))


def raised(both: Both, record_id: RecordId, run_id: RunId) -> None:
    """A provisional learning that an operator vouches for."""
    now = both.do(
        "verify",
        ops.VerifyRequest(
            record_id=record_id,
            evidence_refs=(EvidenceRef(run_id=run_id, note="said, twice"),),
            on_my_word=True,
            reason="I know it",
            revalidate_at=LATER,
        ),
    )
    assert (now.publish_tier, len(now.evidence_refs)) == (PublishTier.ACTIVE, 2)


def listed(both: Both, known: Record, session_id: SessionId) -> None:
    """A learning found by every filter, and read as it was."""
    filters = ops.LearningFilters(
        scopes=frozenset({WORKSPACE}),
        scope_kinds=frozenset({ScopeKind.WORKSPACE, ScopeKind.PROJECT}),
        kinds=frozenset({Kind.FACT}),
        states=frozenset(State),
        tiers=frozenset({PublishTier.ACTIVE}),
        decisions=frozenset({PolicyDecision.MANUAL}),
        actor="operator",
        text="borea",
    )
    found = both.read("list_learnings", ops.LearningRequest(filters=filters, session_id=session_id))
    assert [record.record_id for record in found.items] == [known.record_id]
    for name, value in NOT_IT.items():
        narrowed = ops.LearningRequest(filters=ops.LearningFilters(**{"text": "borea", name: value}))
        assert not both.read("list_learnings", narrowed).items, name
        if name not in {"tiers", "actor", "rule"}:
            waiting = ops.CandidateRequest(
                **{"states": frozenset({State.ACTIVE}), "text": "borea", name: value}
            )
            assert not both.read("list_candidates", waiting).items, name
    both.read("list_learnings", ops.LearningRequest(as_of=known.published_at, limit=1))
    both.read("list_learnings", ops.LearningRequest(filters=ops.LearningFilters(rule="none such")))
    both.read("get_learning", known.record_id, as_of=known.published_at, session_id=session_id)


def candidate(content: str, run_id: RunId, *, kind: Kind = Kind.FACT) -> ops.NewCandidate:
    """A candidate with every field."""
    return ops.NewCandidate(
        kind=kind,
        content=content,
        scope=ACME,
        metadata={"topic_tags": ["names"]},
        confidence=91,
        source=Source(run_id=run_id, agent="x"),
        evidence_refs=(EvidenceRef(run_id=run_id, event_number=3, note="it was said"),),
        expires_at=LATER,
    )


def superseding(record_id: RecordId) -> ops.Supersession:
    """Another text for a learning, with every field."""
    return ops.Supersession(
        record_id=record_id,
        content="The codename is Caldera",
        kind=Kind.FACT,
        scope=WORKSPACE,
        sensitivity=Sensitivity.NORMAL,
        confidence=66,
        expires_at=LATER,
        revalidate_at=LATER,
        publish_tier=PublishTier.ACTIVE,
        accept_untrusted=True,
        reason="renamed",
    )


def fed(both: Both, session_id: SessionId, record_id: RecordId) -> None:
    """A run that is given a learning, and what it says of it."""
    asked = ops.NewRun(
        session_id=session_id, request="What is the codename?", run_id=RunId("r 2"), context=True
    )
    opened = both.do("open_run", asked)
    assert record_id in str(opened.sections)
    note = ops.FeedbackNote(
        record_id=record_id, run_id=RunId("r 2"), verdict=ops.FeedbackVerdict.HELPED, note="it was asked for"
    )
    assert both.do("feedback", note).feedback.helped == 1


def automation(both: Both, session_id: SessionId) -> None:
    """What automation would do, did, and has left to do."""
    policy: JsonObject = {"mode": "enabled", "publication": {"default_action": "reject"}}
    tried = both.read("test_policy", ops.PolicyTrial(name=PolicyName.LEARNING, policy=policy, limit=9))
    assert any(row.differs for row in tried.rows)
    capture = {"capture": {"semantic_candidates": {"enabled": True}}}
    both.do("put_policy", ops.PolicyChange(name=PolicyName.LEARNING, policy=capture))
    asked = ops.BackfillRequest(session_id=session_id, since=EARLIER, limit=9, dry_run=True)
    assert both.read("backfill_capture", asked).runs
    assert both.do("backfill_capture", replace(asked, dry_run=False, since=None)).dry_run is False
    assert both.do("work_jobs", limit=9).dead == 0
    deletion = ops.RunMemoryDeletion(session_id=session_id, dry_run=True)
    assert both.read("delete_run_memories", deletion).memories
    assert both.do("delete_run_memories", replace(deletion, dry_run=False, confirm=True)).sessions == 1


def learning_mistakes(waiting: RecordId) -> Iterator[tuple[Any, ...]]:
    """Calls that are refused; `waiting` is a candidate."""
    yield from (
        ("create_candidate", ops.NewCandidate(kind=Kind.RUN_SUMMARY, content="It ran")),
        ("create_candidate", ops.NewCandidate(kind=Kind.FACT, content=SECRET)),
        ("create_candidate", ops.NewCandidate(kind=Kind.FACT, content=" ")),
        ("create_candidate", ops.NewCandidate(kind=Kind.FACT, content="x", confidence=101)),
        ("create_candidate", ops.NewCandidate(kind=Kind.FACT, content="x", source=Source(run_id=" "))),
        (
            "create_candidate",
            ops.NewCandidate(kind=Kind.FACT, content="x", source=Source(imported_from="y")),
        ),
        ("list_candidates", ops.CandidateRequest(limit=0)),
        ("list_candidates", ops.CandidateRequest(cursor="what?")),
        ("list_learnings", ops.LearningRequest(limit=501)),
        ("get_candidate", RecordId("none")),
        ("get_learning", RecordId("a/b c%2F..?#é\n")),
        ("publish", ops.Publication(record_id=RecordId("none"))),
        ("publish", ops.Publication(record_id=waiting, expected_revision=9)),
        ("publish", ops.Publication(record_id=waiting, kind=Kind.PROCEDURE)),
        ("publish", ops.Publication(record_id=waiting, supersedes=RecordId("none"))),
        ("revoke", ops.Decision(record_id=waiting)),
        ("supersede", ops.Supersession(record_id=waiting, content="other")),
        ("verify", ops.VerifyRequest(record_id=waiting)),
        (
            "feedback",
            ops.FeedbackNote(record_id=waiting, run_id=RunId("none"), verdict=ops.FeedbackVerdict.WRONG),
        ),
        ("revoke_matching", ops.MatchingRevocation(filters=ops.LearningFilters())),
        ("revoke_matching", ops.MatchingRevocation(filters=ops.LearningFilters(text=" "))),
        ("clear_origin", ops.OriginClearance(origin=" ")),
        ("test_policy", ops.PolicyTrial(name=PolicyName.LEARNING, policy={"mode": "bold"})),
        ("test_policy", ops.PolicyTrial(name=PolicyName.RETENTION, policy={})),
        ("backfill_capture", ops.BackfillRequest(session_id=SessionId("none"))),
        ("backfill_capture", ops.BackfillRequest(limit=0)),
        ("delete_run_memories", ops.RunMemoryDeletion()),
        ("delete_run_memories", ops.RunMemoryDeletion(session_id=SessionId("none"))),
    )
