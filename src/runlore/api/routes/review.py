"""`/v1/review` and the operator's acts on records."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from runlore.api import bodies, queries
from runlore.api.answering import document
from runlore.api.calls import Acting, Call, Changing, Reading, area
from runlore.api.telling import answers as told
from runlore.daemon import answers
from runlore.domain.record import Record, RecordId
from runlore.ports import operations as ops

router = area("review")
_NOTHING_SAID = bodies.DecisionBody()
_CONFIRMED, _ROLLED_BACK, _FORGOTTEN = bodies.ConfirmBody(), bodies.RollbackBody(), bodies.ForgetBody()
_EVERYWHERE = bodies.MergeBody()


@router.get("/v1/review", **told("ReviewPage"))
def review_list(call: Reading, query: Annotated[queries.ReviewQuery, Query()]) -> Response:
    """What waits, and what confirming it would do."""
    request = ops.ReviewRequest(
        kinds=frozenset(query.kind),
        scopes=queries.scopes(query.scope),
        limit=query.limit,
        cursor=query.cursor,
        session_id=query.session(),
        folded=query.folded,
    )
    return document(answers.write(call.operations.review_list(request)), has_hints=True)


@router.post("/v1/review/{record_id}/confirm", **told("Record", tagged=True))
def confirm(call: Changing, record_id: str, body: bodies.ConfirmBody = _CONFIRMED) -> Response:
    """Make a candidate active; the original answers for a duplicate."""
    decision = ops.Decision(
        record_id=RecordId(record_id),
        reason=body.reason,
        expected_revision=call.expected(body.expected_revision),
        summary=body.summary,
        supersedes=None if body.supersedes is None else RecordId(body.supersedes),
        both_hold=tuple(map(RecordId, body.both_hold)),
        accept_untrusted=body.accept_untrusted,
        idempotency_key=call.idempotency_key,
    )
    return acted_on(call.operations.confirm(decision))


@router.post("/v1/review/{record_id}/reject", **told("Record", tagged=True))
def reject(call: Changing, record_id: str, body: bodies.DecisionBody = _NOTHING_SAID) -> Response:
    """Tombstone a candidate."""
    return acted_on(call.operations.reject(decision_of(call, record_id, body)))


@router.post("/v1/memory/records/{record_id}/rollback", **told("Rollback", tagged=True))
def rollback(call: Changing, record_id: str, body: bodies.RollbackBody = _ROLLED_BACK) -> Response:
    """Tombstone an active record, and bring back what it replaced where asked."""
    decision = ops.Decision(
        record_id=RecordId(record_id),
        reason=body.reason,
        expected_revision=call.expected(body.expected_revision),
        restore_sources=body.restore_sources,
        idempotency_key=call.idempotency_key,
    )
    answer = call.operations.rollback(decision)
    return document(answers.write(answer), revision=answer.record.revision, has_hints=True)


@router.post("/v1/memory/records/{record_id}/restore", **told("Record", tagged=True))
def restore(call: Changing, record_id: str, body: bodies.DecisionBody = _NOTHING_SAID) -> Response:
    """Make a superseded record active again."""
    return acted_on(call.operations.restore(decision_of(call, record_id, body)))


@router.post("/v1/memory/records/{record_id}/forget", **told("Forgotten"))
def forget(call: Changing, record_id: str, body: bodies.ForgetBody = _FORGOTTEN) -> Response:
    """Erase what a record says, and everything derived from it. The id may be a run's or a session's too."""
    answer = call.operations.forget(decision_of(call, record_id, body), dry_run=body.dry_run)
    return document(answers.write(answer))


@router.post("/v1/memory/compactions", **told("Merges"))
def compact(call: Acting, body: bodies.MergeBody = _EVERYWHERE) -> Response:
    """Semantic records that say the same thing in several places."""
    return document(answers.write_merges(call.operations.compact(_merge_of(call, body))))


@router.post("/v1/memory/dedups", **told("Merges"))
def dedup(call: Acting, body: bodies.MergeBody = _EVERYWHERE) -> Response:
    """Procedures of one workflow."""
    return document(answers.write_merges(call.operations.dedup(_merge_of(call, body))))


def decision_of(call: Call, record_id: str, body: bodies.DecisionBody) -> ops.Decision:
    """What every act on a record has."""
    return ops.Decision(
        record_id=RecordId(record_id),
        reason=body.reason,
        expected_revision=call.expected(body.expected_revision),
        idempotency_key=call.idempotency_key,
    )


def acted_on(record: Record) -> Response:
    """The record acted on."""
    return document(answers.write(record), revision=record.revision)


def _merge_of(call: Call, body: bodies.MergeBody) -> ops.MergeRequest:
    return ops.MergeRequest(
        scopes=frozenset(bodies.scope_of(scope) for scope in body.scopes),
        create_proposals=body.create_proposals,
        idempotency_key=call.idempotency_key,
    )
