"""Sessions, personas, runs, journals, artifacts. What nothing was stored of says `stored: false`."""

from runlore.daemon.answers.projection import read_section, section_to_plain
from runlore.daemon.answers.records import read_record
from runlore.daemon.answers.shapes import (
    as_document,
    cursor_of,
    each,
    flag,
    items_of,
    listed,
    optional_text,
    optional_time,
    optional_whole,
    reader,
    texts,
    time_of,
    time_to_plain,
)
from runlore.domain.capability import capability_scope_of, plain_capability_scope
from runlore.domain.journal import EventType, JournalEvent
from runlore.domain.record import JsonObject, JsonValue, Record
from runlore.domain.representation import Plain, as_object, as_optional, as_text, as_whole, record_to_plain
from runlore.domain.run import Artifact, ArtifactId, MemoryState, ProcessId, Run, RunId, RunStatus
from runlore.domain.session import Binding, Persona, PersonaId, Session, SessionId
from runlore.domain.timestamps import format_time
from runlore.ports import operations as ops

_NOT_STORED: Plain = {"stored": False}


def session_to_plain(session: Session) -> Plain:
    """A session; of a private one nothing else is stored."""
    return {
        "session_id": session.session_id,
        "title": session.title,
        "persona_id": session.binding.persona_id,
        "project_ids": list(session.binding.project_ids),
        "agent": session.agent,
        "private": session.private,
        "working_folder": session.working_folder,
        "capability_scope": plain_capability_scope(session.binding.capability_scope),
        "created_by": session.created_by,
        "created_at": format_time(session.created_at),
        "active_at": format_time(session.active_at),
        "ended_at": time_to_plain(session.ended_at),
        "forgotten_at": time_to_plain(session.forgotten_at),
        "next_number": session.next_number,
        "checkpoint_number": session.checkpoint_number,
        "revision": session.revision,
        "stored": not session.private,
    }


@reader
def session_from_plain(plain: JsonValue) -> Session:
    """Read a session."""
    fields = as_object(plain)
    return Session(
        session_id=SessionId(as_text(fields["session_id"])),
        title=as_text(fields["title"]),
        agent=optional_text(fields["agent"]),
        private=flag(fields["private"]),
        working_folder=optional_text(fields["working_folder"]),
        binding=Binding(
            persona_id=as_optional(PersonaId, fields["persona_id"]),
            project_ids=texts(fields["project_ids"]),
            capability_scope=capability_scope_of(as_object(fields["capability_scope"])),
        ),
        created_by=as_text(fields["created_by"]),
        created_at=time_of(fields["created_at"]),
        active_at=time_of(fields["active_at"]),
        ended_at=optional_time(fields["ended_at"]),
        forgotten_at=optional_time(fields["forgotten_at"]),
        next_number=as_whole(fields["next_number"]),
        checkpoint_number=optional_whole(fields["checkpoint_number"]),
        revision=as_whole(fields["revision"]),
    )


def sessions_to_plain(page: ops.SessionPage) -> Plain:
    """A page of sessions."""
    return listed((session_to_plain(session) for session in page.items), page.next_cursor)


@reader
def sessions_from_plain(plain: JsonValue) -> ops.SessionPage:
    """Read a page of sessions."""
    return ops.SessionPage(items=items_of(plain, session_from_plain), next_cursor=cursor_of(plain))


def persona_to_plain(persona: Persona) -> Plain:
    """A persona."""
    return {
        "persona_id": persona.persona_id,
        "name": persona.name,
        "capability_scope": plain_capability_scope(persona.capability_scope),
        "capture": persona.capture,
        "updated_at": format_time(persona.updated_at),
        "revision": persona.revision,
    }


@reader
def persona_from_plain(plain: JsonValue) -> Persona:
    """Read a persona."""
    fields = as_object(plain)
    return Persona(
        persona_id=PersonaId(as_text(fields["persona_id"])),
        name=as_text(fields["name"]),
        capability_scope=capability_scope_of(as_object(fields["capability_scope"])),
        capture=flag(fields["capture"]),
        updated_at=time_of(fields["updated_at"]),
        revision=as_whole(fields["revision"]),
    )


def personas_to_plain(page: ops.PersonaPage) -> Plain:
    """A page of personas."""
    return listed((persona_to_plain(persona) for persona in page.items), page.next_cursor)


@reader
def personas_from_plain(plain: JsonValue) -> ops.PersonaPage:
    """Read a page of personas."""
    return ops.PersonaPage(items=items_of(plain, persona_from_plain), next_cursor=cursor_of(plain))


def run_to_plain(view: ops.RunView) -> Plain:
    """A run with the text of its input; its sections only where they were asked for."""
    run = view.run
    plain: Plain = {
        "run_id": run.run_id,
        "session_id": run.session_id,
        "status": run.status.value,
        "request": view.request,
        "agent": run.agent,
        "model": run.model,
        "executor": run.executor,
        "imported": run.imported,
        "input_number": run.input_number,
        "created_by": run.created_by,
        "opened_at": format_time(run.opened_at),
        "active_at": format_time(run.active_at),
        "finished_at": time_to_plain(run.finished_at),
        "error": run.error,
        "reason": run.reason,
        "artifact_ids": list(run.artifact_ids),
        "memory": run.memory.value,
        "revision": run.revision,
        "stored": view.stored,
    }
    if view.sections is not None:
        plain["sections"] = [section_to_plain(section) for section in view.sections]
    return plain


@reader
def run_from_plain(plain: JsonValue) -> ops.RunView:
    """Read a run."""
    fields = as_object(plain)
    return ops.RunView(
        run=_read_run(fields),
        request=as_text(fields["request"]),
        sections=each(read_section, fields["sections"]) if "sections" in fields else None,
        stored=flag(fields["stored"]),
    )


def _read_run(fields: JsonObject) -> Run:
    return Run(
        run_id=RunId(as_text(fields["run_id"])),
        session_id=SessionId(as_text(fields["session_id"])),
        status=RunStatus(as_text(fields["status"])),
        agent=optional_text(fields["agent"]),
        model=optional_text(fields["model"]),
        executor=as_optional(ProcessId, fields["executor"]),
        imported=flag(fields["imported"]),
        input_number=as_whole(fields["input_number"]),
        created_by=as_text(fields["created_by"]),
        opened_at=time_of(fields["opened_at"]),
        active_at=time_of(fields["active_at"]),
        finished_at=optional_time(fields["finished_at"]),
        error=as_text(fields["error"]),
        reason=as_text(fields["reason"]),
        artifact_ids=tuple(ArtifactId(text) for text in texts(fields["artifact_ids"])),
        memory=MemoryState(as_text(fields["memory"])),
        revision=as_whole(fields["revision"]),
    )


def runs_to_plain(page: ops.RunPage) -> Plain:
    """A page of runs."""
    return listed((run_to_plain(view) for view in page.items), page.next_cursor)


@reader
def runs_from_plain(plain: JsonValue) -> ops.RunPage:
    """Read a page of runs."""
    return ops.RunPage(items=items_of(plain, run_from_plain), next_cursor=cursor_of(plain))


def appended_to_plain(appended: ops.Appended) -> Plain:
    """The numbers that events got."""
    return {
        "first_number": appended.first_number,
        "last_number": appended.last_number,
        "stored": appended.stored,
    }


@reader
def appended_from_plain(plain: JsonValue) -> ops.Appended:
    """Read the numbers that events got."""
    fields = as_object(plain)
    return ops.Appended(
        first_number=optional_whole(fields["first_number"]),
        last_number=optional_whole(fields["last_number"]),
        stored=flag(fields["stored"]),
    )


def scratch_to_plain(record: Record | None) -> Plain:
    """A working record, or that nothing was stored."""
    return dict(_NOT_STORED) if record is None else record_to_plain(record)


@reader
def scratch_from_plain(plain: JsonValue) -> Record | None:
    """Read a working record, or that nothing was stored."""
    return None if plain == _NOT_STORED else read_record(plain)


def artifact_to_plain(artifact: Artifact | None) -> Plain:
    """An artifact, or that nothing was stored."""
    if artifact is None:
        return dict(_NOT_STORED)
    return {
        "artifact_id": artifact.artifact_id,
        "run_id": artifact.run_id,
        "session_id": artifact.session_id,
        "name": artifact.name,
        "text": artifact.text,
        "whole_bytes": artifact.whole_bytes,
        "created_at": format_time(artifact.created_at),
    }


@reader
def artifact_from_plain(plain: JsonValue) -> Artifact:
    """Read an artifact."""
    fields = as_object(plain)
    return Artifact(
        artifact_id=ArtifactId(as_text(fields["artifact_id"])),
        run_id=RunId(as_text(fields["run_id"])),
        session_id=SessionId(as_text(fields["session_id"])),
        name=as_text(fields["name"]),
        text=as_text(fields["text"]),
        whole_bytes=optional_whole(fields["whole_bytes"]),
        created_at=time_of(fields["created_at"]),
    )


@reader
def kept_artifact_from_plain(plain: JsonValue) -> Artifact | None:
    """Read an artifact, or that nothing was stored."""
    return None if plain == _NOT_STORED else artifact_from_plain(plain)


def artifacts_to_plain(page: ops.ArtifactPage) -> Plain:
    """A run's artifacts."""
    return listed((artifact_to_plain(artifact) for artifact in page.items), page.next_cursor)


@reader
def artifacts_from_plain(plain: JsonValue) -> ops.ArtifactPage:
    """Read a run's artifacts."""
    return ops.ArtifactPage(items=items_of(plain, artifact_from_plain), next_cursor=cursor_of(plain))


def journal_event_to_plain(event: JournalEvent) -> Plain:
    """One event of a journal; what it says is its body."""
    return {
        "session_id": event.session_id,
        "number": event.number,
        "run_id": event.run_id,
        "type": event.type.value,
        "at": format_time(event.at),
        "body": event.body,
    }


@reader
def journal_event_from_plain(plain: JsonValue) -> JournalEvent:
    """Read one event of a journal."""
    fields = as_object(plain)
    return JournalEvent(
        session_id=SessionId(as_text(fields["session_id"])),
        number=as_whole(fields["number"]),
        run_id=as_optional(RunId, fields["run_id"]),
        type=EventType(as_text(fields["type"])),
        at=time_of(fields["at"]),
        body=as_document(fields["body"]),
    )


def journal_to_plain(page: ops.JournalPage) -> Plain:
    """A page of a journal."""
    return listed((journal_event_to_plain(event) for event in page.items), page.next_cursor)


@reader
def journal_from_plain(plain: JsonValue) -> ops.JournalPage:
    """Read a page of a journal."""
    return ops.JournalPage(items=items_of(plain, journal_event_from_plain), next_cursor=cursor_of(plain))
