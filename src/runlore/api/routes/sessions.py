"""`/v1/sessions` and `/v1/personas`: conversations, who speaks in them, and what they see."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from runlore.api import bodies, queries
from runlore.api.answering import document, place
from runlore.api.calls import Acting, Changing, Reading, area
from runlore.api.telling import answers as told
from runlore.api.telling import creates
from runlore.daemon import answers
from runlore.domain.session import PersonaId, SessionId
from runlore.ports import operations as ops

router = area("sessions")


@router.post("/v1/sessions", **creates("Session", tagged=True))
def create_session(call: Acting, body: bodies.SessionBody) -> Response:
    """Make a session; the one that is there for the same id and the same request."""
    request = ops.NewSession(
        session_id=None if body.session_id is None else SessionId(body.session_id),
        title=body.title,
        persona_id=None if body.persona_id is None else PersonaId(body.persona_id),
        project_ids=tuple(body.project_ids),
        agent=body.agent,
        private=body.private,
        working_folder=body.working_folder,
        models=tuple(body.models),
        idempotency_key=call.idempotency_key,
    )
    session = call.operations.create_session(request)
    return document(
        answers.write(session),
        status=201,
        revision=session.revision,
        location=place("v1", "sessions", session.session_id),
    )


@router.get("/v1/sessions", **told("SessionPage"))
def list_sessions(call: Reading, query: Annotated[queries.PageQuery, Query()]) -> Response:
    """Sessions, the newest first."""
    page = call.operations.list_sessions(ops.PageRequest(limit=query.limit, cursor=query.cursor))
    return document(answers.write(page))


@router.get("/v1/sessions/{session_id}", **told("Session", tagged=True))
def get_session(call: Reading, session_id: str) -> Response:
    """One session."""
    session = call.operations.get_session(SessionId(session_id))
    return document(answers.write(session), revision=session.revision)


@router.patch("/v1/sessions/{session_id}", **told("Session", tagged=True))
def change_session(call: Changing, session_id: str, body: bodies.SessionChangeBody) -> Response:
    """Bind, link, name, restrict or end a session. What is left out stays; `persona_id: null` unbinds."""
    persona = None if body.persona_id is None else PersonaId(body.persona_id)
    capabilities = body.capability_scope
    change = ops.SessionChange(
        session_id=SessionId(session_id),
        title=body.title,
        persona_id=persona if "persona_id" in body.model_fields_set else ops.UNSET,
        project_ids=None if body.project_ids is None else tuple(body.project_ids),
        capability_scope=None if capabilities is None else bodies.capabilities_of(capabilities),
        ended=body.ended,
        expected_revision=call.expected(body.expected_revision),
        idempotency_key=call.idempotency_key,
    )
    session = call.operations.change_session(change)
    return document(answers.write(session), revision=session.revision)


@router.post("/v1/sessions/{session_id}/checkpoints", **creates("Appended", unstored="Appended"))
def add_checkpoint(call: Acting, session_id: str, body: bodies.TextBody) -> Response:
    """Write a checkpoint; history before it stays readable."""
    request = ops.NewCheckpoint(
        session_id=SessionId(session_id), text=body.text, idempotency_key=call.idempotency_key
    )
    appended = call.operations.add_checkpoint(request)
    return document(answers.write(appended), status=201 if appended.stored else 200)


@router.get("/v1/sessions/{session_id}/journal", **told("JournalPage"))
def session_journal(
    call: Reading, session_id: str, query: Annotated[queries.SessionJournalQuery, Query()]
) -> Response:
    """What happened in a session, event by event."""
    request = ops.JournalRequest(
        session_id=SessionId(session_id),
        since_checkpoint=query.since_checkpoint,
        limit=query.limit,
        cursor=query.cursor,
    )
    return document(answers.write(call.operations.journal(request)))


@router.get("/v1/sessions/{session_id}/memory-context", **told("MemoryContext"))
def memory_context(
    call: Reading, session_id: str, query: Annotated[queries.ContextQuery, Query()]
) -> Response:
    """What a session is eligible for before packing, and why the rest is hidden."""
    request = ops.ContextRequest(
        session_id=SessionId(session_id), query=query.query, as_of=queries.moment(query.as_of)
    )
    return document(answers.write(call.operations.memory_context(request)))


@router.get("/v1/sessions/{session_id}/memory-search", **told("SessionSearch"))
def session_search(
    call: Reading, session_id: str, query: Annotated[queries.SessionSearchQuery, Query()]
) -> Response:
    """Learnings and recovered runs that a session sees, on one scale; without a query, what is recent."""
    request = ops.SessionSearchRequest(
        session_id=SessionId(session_id),
        query=query.query,
        limit=query.limit,
        as_of=queries.moment(query.as_of),
    )
    return document(answers.write(call.operations.session_search(request)))


@router.post("/v1/sessions/{session_id}/inputs/preview", **told("Preview"))
def preview_input(call: Reading, session_id: str, body: bodies.PreviewBody) -> Response:
    """The exact sections that an input would get, with the budget's arithmetic. Nothing changes by it."""
    request = ops.PreviewRequest(
        session_id=SessionId(session_id),
        text=body.text,
        model=body.model,
        prompt_tokens=body.prompt_tokens,
    )
    return document(answers.write(call.operations.preview_input(request)))


@router.get("/v1/personas", **told("PersonaPage"))
def list_personas(call: Reading, query: Annotated[queries.PageQuery, Query()]) -> Response:
    """Personas, the latest changed first."""
    page = call.operations.list_personas(ops.PageRequest(limit=query.limit, cursor=query.cursor))
    return document(answers.write(page))


@router.get("/v1/personas/{persona_id}", **told("Persona", tagged=True))
def get_persona(call: Reading, persona_id: str) -> Response:
    """One persona."""
    persona = call.operations.get_persona(PersonaId(persona_id))
    return call.unless_known(answers.write(persona), persona.revision)


@router.put("/v1/personas/{persona_id}", **told("Persona", tagged=True))
def put_persona(call: Changing, persona_id: str, body: bodies.PersonaBody) -> Response:
    """Make or change a persona; what is left out takes its default."""
    change = ops.PersonaChange(
        persona_id=PersonaId(persona_id),
        name=body.name,
        capability_scope=bodies.capabilities_of(body.capability_scope),
        capture=body.capture,
        expected_revision=call.expected(body.expected_revision),
        idempotency_key=call.idempotency_key,
    )
    persona = call.operations.put_persona(change)
    return document(answers.write(persona), revision=persona.revision)
