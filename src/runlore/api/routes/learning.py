"""`/v1/learning-candidates` and `/v1/learnings`: what was learned, from its proposal to its end."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from runlore.api import bodies, queries
from runlore.api import learning_bodies as learning
from runlore.api.answering import document, place
from runlore.api.calls import Acting, Changing, Reading, area
from runlore.api.learning_queries import CandidatesQuery, LearningsQuery, learning_filters
from runlore.api.routes.review import acted_on, decision_of
from runlore.api.telling import answers as told
from runlore.api.telling import creates
from runlore.daemon import answers
from runlore.domain.record import RecordId
from runlore.domain.run import RunId
from runlore.ports import operations as ops

router = area("learning")
_NOTHING_SAID = bodies.DecisionBody()
_PUBLISHED, _VERIFIED = learning.PublishBody(), learning.VerifyBody()


@router.get("/v1/learning-candidates", **told("RecordPage"))
def list_candidates(call: Reading, query: Annotated[CandidatesQuery, Query()]) -> Response:
    """Candidates, newest first: those that wait unless states are named; run summaries if asked for."""
    return document(answers.write(call.operations.list_candidates(query.request())))


@router.post("/v1/learning-candidates", **creates("Record", tagged=True, present=True))
def create_candidate(call: Acting, body: learning.CandidateBody) -> Response:
    """Say something that shall be remembered; it waits for review, once however often it is said."""
    record = call.operations.create_candidate(body.request(call.idempotency_key))
    return document(
        answers.write(record),
        status=200 if record.was_proposed_before else 201,
        revision=record.revision,
        location=place("v1", "learning-candidates", record.record_id),
    )


@router.get("/v1/learning-candidates/{record_id}", **told("Record", tagged=True))
def get_candidate(call: Reading, record_id: str, query: Annotated[queries.SessionQuery, Query()]) -> Response:
    """One candidate, also after it was decided on."""
    record = call.operations.get_candidate(RecordId(record_id), session_id=query.session())
    return call.unless_known(answers.write(record), record.revision)


@router.post("/v1/learning-candidates/{record_id}/publish", **told("Record", tagged=True))
def publish(call: Changing, record_id: str, body: learning.PublishBody = _PUBLISHED) -> Response:
    """Publish a candidate, changed where a field is given; the original answers for a duplicate."""
    publication = ops.Publication(
        record_id=RecordId(record_id),
        content=body.content,
        scope=None if body.scope is None else bodies.scope_of(body.scope),
        kind=body.kind,
        sensitivity=body.sensitivity,
        confidence=body.confidence,
        expires_at=bodies.moment_of(body.expires_at),
        revalidate_at=bodies.moment_of(body.revalidate_at),
        publish_tier=body.publish_tier,
        supersedes=None if body.supersedes is None else RecordId(body.supersedes),
        both_hold=tuple(map(RecordId, body.both_hold)),
        accept_untrusted=body.accept_untrusted,
        reason=body.reason,
        expected_revision=call.expected(body.expected_revision),
        idempotency_key=call.idempotency_key,
    )
    return acted_on(call.operations.publish(publication))


@router.post("/v1/learning-candidates/{record_id}/reject", **told("Record", tagged=True))
def reject_candidate(call: Changing, record_id: str, body: bodies.DecisionBody = _NOTHING_SAID) -> Response:
    """Turn a candidate down; it stays in the history."""
    return acted_on(call.operations.reject(decision_of(call, record_id, body)))


@router.get("/v1/learnings", **told("RecordPage"))
def list_learnings(call: Reading, query: Annotated[LearningsQuery, Query()]) -> Response:
    """What was once published, newest first, in whatever state it is now."""
    return document(answers.write(call.operations.list_learnings(query.request())))


@router.get("/v1/learnings/{record_id}", **told("Record", tagged=True))
def get_learning(call: Reading, record_id: str, query: Annotated[queries.MomentQuery, Query()]) -> Response:
    """One learning, now or as it was."""
    record = call.operations.get_learning(
        RecordId(record_id), as_of=query.moment(), session_id=query.session()
    )
    return call.unless_known(answers.write(record), record.revision)


@router.post("/v1/learnings/{record_id}/revoke", **told("Record", tagged=True))
def revoke(call: Changing, record_id: str, body: bodies.DecisionBody = _NOTHING_SAID) -> Response:
    """Take a learning back."""
    return acted_on(call.operations.revoke(decision_of(call, record_id, body)))


@router.post("/v1/learnings/{record_id}/supersede", **told("Record", tagged=True))
def supersede(call: Changing, record_id: str, body: learning.SupersedeBody) -> Response:
    """Replace a learning by new content; the new record answers."""
    request = ops.Supersession(
        record_id=RecordId(record_id),
        content=body.content,
        kind=body.kind,
        scope=None if body.scope is None else bodies.scope_of(body.scope),
        sensitivity=body.sensitivity,
        confidence=body.confidence,
        expires_at=bodies.moment_of(body.expires_at),
        revalidate_at=bodies.moment_of(body.revalidate_at),
        publish_tier=body.publish_tier,
        both_hold=tuple(map(RecordId, body.both_hold)),
        accept_untrusted=body.accept_untrusted,
        reason=body.reason,
        expected_revision=call.expected(body.expected_revision),
        idempotency_key=call.idempotency_key,
    )
    return acted_on(call.operations.supersede(request))


@router.post("/v1/learnings/{record_id}/verify", **told("Record", tagged=True))
def verify(call: Changing, record_id: str, body: learning.VerifyBody = _VERIFIED) -> Response:
    """Look for support for a learning, and raise a provisional one that has it, or on the operator's word."""
    request = ops.VerifyRequest(
        record_id=RecordId(record_id),
        evidence_refs=learning.evidence_of(body.evidence_refs),
        on_my_word=body.on_my_word,
        both_hold=tuple(map(RecordId, body.both_hold)),
        revalidate_at=bodies.moment_of(body.revalidate_at),
        reason=body.reason,
        expected_revision=call.expected(body.expected_revision),
        idempotency_key=call.idempotency_key,
    )
    return acted_on(call.operations.verify(request))


@router.post("/v1/learnings/{record_id}/feedback", **told("Record", tagged=True))
def feedback(call: Acting, record_id: str, body: learning.FeedbackBody) -> Response:
    """Say whether a learning that a run was given helped it or was wrong."""
    note = ops.FeedbackNote(
        record_id=RecordId(record_id),
        run_id=RunId(body.run_id),
        verdict=body.verdict,
        note=body.note,
        idempotency_key=call.idempotency_key,
    )
    return acted_on(call.operations.feedback(note))


@router.post("/v1/learnings/revoke-matching", **told("Revoked"))
def revoke_matching(call: Acting, body: learning.RevokeMatchingBody) -> Response:
    """Take back every active learning that passes the filters, of which at least one is given."""
    request = ops.MatchingRevocation(
        filters=learning_filters(body, frozenset(map(bodies.scope_of, body.scope))),
        reason=body.reason,
        dry_run=body.dry_run,
        idempotency_key=call.idempotency_key,
    )
    return document(answers.write(call.operations.revoke_matching(request)))
