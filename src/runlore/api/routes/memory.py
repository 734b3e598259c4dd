"""`/v1/memory`: reading records, and proposing them. The two old paths under `/memory` only read."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from runlore.api import bodies, queries
from runlore.api.answering import document, place
from runlore.api.calls import Acting, Reading, area
from runlore.api.telling import answers as told
from runlore.api.telling import creates
from runlore.daemon import answers
from runlore.domain.record import Record, RecordId
from runlore.ports import operations as ops

router = area("memory")


@router.get("/v1/memory/records", **told("RecordPage"))
def list_records(call: Reading, query: Annotated[queries.RecordsQuery, Query()]) -> Response:
    """Records by filter, newest first."""
    request = ops.ListRequest(filters=query.filters(), limit=query.limit, cursor=query.cursor)
    return document(answers.write(call.operations.list_records(request)))


@router.get(
    "/memory/records/{record_id}", operation_id="get_record_at_its_old_path", **told("Record", tagged=True)
)
@router.get("/v1/memory/records/{record_id}", **told("Record", tagged=True))
def get_record(call: Reading, record_id: str, query: Annotated[queries.MomentQuery, Query()]) -> Response:
    """One record, now or as it was."""
    record = call.operations.get_record(RecordId(record_id), as_of=query.moment(), session_id=query.session())
    return call.unless_known(answers.write(record), record.revision)


@router.get("/v1/memory/records/{record_id}/history", **told("RecordEvents"))
def history(call: Reading, record_id: str, query: Annotated[queries.SessionQuery, Query()]) -> Response:
    """Everything that happened to a record, oldest first."""
    events = call.operations.history(RecordId(record_id), session_id=query.session())
    return document(answers.write(events))


@router.get("/memory/search", operation_id="search_at_its_old_path", **told("SearchResults"))
@router.get("/v1/memory/search", **told("SearchResults"))
def search(call: Reading, query: Annotated[queries.SearchQuery, Query()]) -> Response:
    """The best matches of a query, each with its score and the score's parts."""
    request = ops.SearchRequest(
        query=query.query, filters=query.filters(), include_stale=query.include_stale, limit=query.limit
    )
    return document(answers.write_hits(query.query, call.operations.search(request)))


@router.get("/v1/memory/context", **told("GoalContext"))
def goal_context(call: Reading, query: Annotated[queries.GoalQuery, Query()]) -> Response:
    """The profile, procedural and semantic records that planning a task should know."""
    request = ops.GoalRequest(
        goal=query.goal, session_id=query.session(), limit=query.limit, as_of=query.moment()
    )
    return document(answers.write(call.operations.goal_context(request)))


@router.get("/v1/memory/states", **told("Moves"))
def states(call: Reading) -> Response:
    """The table of legal moves."""
    return document(answers.write(call.operations.states()))


@router.post("/v1/memory/profile-proposals", **creates("Record", tagged=True, present=True))
def propose_profile(call: Acting, body: bodies.ProfileBody) -> Response:
    """Propose something for the profile; it waits for review."""
    proposal = ops.ProfileProposal(
        key=body.key,
        value=body.value,
        reason=body.reason,
        scope=bodies.scope_of(body.scope),
        sensitivity=body.sensitivity,
        confidence=body.confidence,
        expires_at=bodies.moment_of(body.expires_at),
        idempotency_key=call.idempotency_key,
    )
    return made(call.operations.propose_profile(proposal))


@router.post("/v1/memory/episodes", **creates("Record", tagged=True))
def add_episode(call: Acting, body: bodies.EpisodeBody) -> Response:
    """Append something that happened."""
    episode = ops.Episode(
        kind=body.kind,
        summary=body.summary,
        scope=bodies.scope_of(body.scope),
        metadata=body.metadata,
        sensitivity=body.sensitivity,
        expires_at=bodies.moment_of(body.expires_at),
        idempotency_key=call.idempotency_key,
    )
    return made(call.operations.add_episode(episode))


def made(record: Record) -> Response:
    """A record that was made, or that waits already."""
    return document(
        answers.write(record),
        status=200 if record.was_proposed_before else 201,
        revision=record.revision,
        location=place("v1", "memory", "records", record.record_id),
    )
