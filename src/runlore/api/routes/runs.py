"""`/v1/runs` and `/v1/artifacts`: what agents report of their runs, and what can be read of it."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from runlore.api import bodies, queries
from runlore.api.answering import document, place
from runlore.api.calls import Acting, Reading, area
from runlore.api.telling import answers as told
from runlore.api.telling import creates
from runlore.daemon import answers
from runlore.domain.run import ArtifactId, RunId
from runlore.domain.session import SessionId
from runlore.ports import operations as ops

router = area("runs")


@router.post("/v1/sessions/{session_id}/runs", **creates("Run", tagged=True, unstored="Run"))
def open_run(call: Acting, session_id: str, body: bodies.RunBody) -> Response:
    """Open a run that another agent works, and give it its context where asked."""
    request = ops.NewRun(
        session_id=SessionId(session_id),
        request=body.request,
        run_id=None if body.run_id is None else RunId(body.run_id),
        agent=body.agent,
        model=body.model,
        context=body.context,
        prompt_tokens=body.prompt_tokens,
        metadata=body.metadata,
        idempotency_key=call.idempotency_key,
    )
    view = call.operations.open_run(request)
    return document(
        answers.write(view),
        status=201 if view.stored else 200,
        revision=view.run.revision,
        location=place("v1", "runs", view.run.run_id) if view.stored else None,
    )


@router.get("/v1/sessions/{session_id}/runs", **told("RunPage"))
def list_session_runs(
    call: Reading, session_id: str, query: Annotated[queries.SessionRunsQuery, Query()]
) -> Response:
    """A session's runs, the newest first."""
    return _runs(call, query, SessionId(session_id))


@router.get("/v1/runs", **told("RunPage"))
def list_runs(call: Reading, query: Annotated[queries.RunsQuery, Query()]) -> Response:
    """Runs, the newest first."""
    return _runs(call, query, None if query.session_id is None else SessionId(query.session_id))


@router.get("/v1/runs/{run_id}", **told("Run", tagged=True))
def get_run(call: Reading, run_id: str) -> Response:
    """One run."""
    view = call.operations.get_run(RunId(run_id))
    return document(answers.write(view), revision=view.run.revision)


@router.post("/v1/runs/{run_id}/events", **creates("Appended", unstored="Appended"))
def append_events(call: Reading, run_id: str, body: bodies.EventsBody) -> Response:
    """Append to a run's journal, durable when answered. `first_number` makes the call repeatable."""
    request = ops.NewEvents(run_id=RunId(run_id), events=tuple(body.events), first_number=body.first_number)
    appended = call.operations.append_events(request)
    return document(answers.write(appended), status=201 if appended.stored else 200)


@router.post("/v1/runs/{run_id}/scratch", **creates("Record", unstored="NotStored"))
def add_scratch(call: Acting, run_id: str, body: bodies.TextBody) -> Response:
    """A note for the run itself. It is seen inside the run alone, and goes with it."""
    request = ops.NewScratch(run_id=RunId(run_id), text=body.text, idempotency_key=call.idempotency_key)
    record = call.operations.add_scratch(request)
    return document(answers.write(record), status=200 if record is None else 201)


@router.get("/v1/runs/{run_id}/scratch", **told("RecordPage"))
def list_scratch(call: Reading, run_id: str) -> Response:
    """A run's notes, oldest first."""
    return document(answers.write(call.operations.list_scratch(RunId(run_id))))


@router.post("/v1/runs/{run_id}/artifacts", **creates("Artifact", unstored="NotStored"))
def add_artifact(call: Acting, run_id: str, body: bodies.ArtifactBody) -> Response:
    """Keep a text of the run."""
    request = ops.NewArtifact(
        run_id=RunId(run_id),
        name=body.name,
        text=body.text,
        artifact_id=None if body.artifact_id is None else ArtifactId(body.artifact_id),
        idempotency_key=call.idempotency_key,
    )
    artifact = call.operations.add_artifact(request)
    return document(
        answers.write(artifact),
        status=200 if artifact is None else 201,
        location=None if artifact is None else place("v1", "artifacts", artifact.artifact_id),
    )


@router.get("/v1/runs/{run_id}/artifacts", **told("ArtifactPage"))
def list_artifacts(call: Reading, run_id: str) -> Response:
    """A run's artifacts, oldest first."""
    return document(answers.write(call.operations.list_artifacts(RunId(run_id))))


@router.get("/v1/artifacts/{artifact_id}", **told("Artifact"))
def get_artifact(call: Reading, artifact_id: str) -> Response:
    """One artifact."""
    return document(answers.write(call.operations.get_artifact(ArtifactId(artifact_id))))


@router.post("/v1/runs/{run_id}/finish", **told("Run", tagged=True))
def finish_run(call: Acting, run_id: str, body: bodies.FinishBody) -> Response:
    """End an external run. Its memory is there when this is answered."""
    request = ops.RunEnd(
        run_id=RunId(run_id),
        status=body.status,
        error=body.error,
        artifact_ids=tuple(ArtifactId(each) for each in body.artifact_ids),
        summarise_scratch=body.summarise_scratch,
        idempotency_key=call.idempotency_key,
    )
    view = call.operations.finish_run(request)
    return document(answers.write(view), revision=view.run.revision)


@router.get("/v1/runs/{run_id}/journal", **told("JournalPage"))
def run_journal(call: Reading, run_id: str, query: Annotated[queries.JournalQuery, Query()]) -> Response:
    """What happened in a run, event by event."""
    request = ops.JournalRequest(run_id=RunId(run_id), limit=query.limit, cursor=query.cursor)
    return document(answers.write(call.operations.journal(request)))


@router.get("/v1/runs/{run_id}/receipt", **told("Receipt"))
def receipt(call: Reading, run_id: str) -> Response:
    """What a run was given, what was left out and why."""
    return document(answers.write(call.operations.receipt(RunId(run_id))))


def _runs(call: Reading, query: queries.SessionRunsQuery, session_id: SessionId | None) -> Response:
    request = ops.RunsRequest(
        session_id=session_id,
        statuses=frozenset(query.status),
        limit=query.limit,
        cursor=query.cursor,
    )
    return document(answers.write(call.operations.list_runs(request)))
