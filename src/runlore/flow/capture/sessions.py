"""Sessions and personas: made, bound, linked, named, ended. Every change of a binding is a journal event.

And what an operator has settled about working folders (SEC-2), as notes of the store.

People can say no: `is_captured` tells whether anything of a session may be stored at all.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from runlore.domain.errors import Conflict, NotFound
from runlore.domain.project import FolderBinding, FolderId
from runlore.domain.runs.journal import EventType
from runlore.domain.runs.journal_entry import binding_entry, binding_of
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.domain.session import UNBOUND, Binding, Persona, PersonaId, Session, SessionId
from runlore.ports.store import Collections, Transaction


def make_session(tx: Transaction, session: Session) -> Session:
    """Write a session with its first binding as event 1; of a private one only that it exists."""
    if session.private:
        bare = Session(
            session_id=session.session_id,
            private=True,
            created_by=session.created_by,
            created_at=session.created_at,
            active_at=session.created_at,
        )
        tx.sessions.insert(bare)
        return bare
    tx.sessions.insert(session)
    _append_binding(tx, session, session.created_at)
    return tx.sessions.get(session.session_id)


def require_same(collections: Collections, present: Session, wanted: Session) -> Session:
    """The session that is there, when it is what is asked for once more; else a conflict."""
    if _is_repetition(collections, present, wanted):
        return present
    raise Conflict(
        f"session {present.session_id!r} exists already, with other fields or by another caller",
        code="session.exists",
        hint="use another id, or read the session and change it",
    )


def change_session(tx: Transaction, before: Session, after: Session, at: datetime) -> Session:
    """Write what differs; a new binding also as an event. Of a private session nothing but its end."""
    if before.private:
        after = replace(before, ended_at=after.ended_at, ended_by=after.ended_by)
    if after == before:
        return before
    if before.forgotten_at is not None:
        raise Conflict(
            f"session {before.session_id!r} was forgotten",
            code="session.forgotten",
            hint="create a new session",
        )
    changed = replace(after, active_at=max(before.active_at, at), revision=before.revision + 1)
    tx.sessions.update(changed, expected_revision=before.revision)
    if after.binding != before.binding:
        _append_binding(tx, changed, at)
    return tx.sessions.get(before.session_id)


def expect_session_revision(session: Session, expected: int | None) -> None:
    if expected is not None and session.revision != expected:
        raise Conflict(
            f"session {session.session_id!r} is at revision {session.revision}, not {expected}",
            code="session.revision",
            hint="read it again, and decide on what it says now",
        )


def put_persona(tx: Transaction, wanted: Persona, *, expected_revision: int | None) -> Persona:
    """Make or change a persona; the same once more changes nothing."""
    present = tx.sessions.find_persona(wanted.persona_id)
    revision = 0 if present is None else present.revision
    if expected_revision is not None and expected_revision != revision:
        raise Conflict(
            f"persona {wanted.persona_id!r} is at revision {revision}, not {expected_revision}",
            code="persona.revision",
            hint="read it again, and decide on what it says now",
        )
    if present is not None and replace(wanted, updated_at=present.updated_at, revision=revision) == present:
        return present
    persona = replace(wanted, revision=revision + 1)
    tx.sessions.put_persona(persona, expected_revision=revision)
    return persona


def _append_binding(tx: Transaction, session: Session, at: datetime) -> None:
    tx.journal.append(session.session_id, None, [binding_entry(session.binding)], at)


def _is_repetition(collections: Collections, present: Session, wanted: Session) -> bool:
    if (present.private, present.created_by) != (wanted.private, wanted.created_by):
        return False
    if present.private:
        return True
    if (present.agent, present.working_folder) != (wanted.agent, wanted.working_folder):
        return False
    # A name may have been changed since; what it was bound to at first is told by its first event.
    is_named_so = present.revision > 1 or present.title == wanted.title
    return is_named_so and _first_binding(collections, present) == wanted.binding


def _first_binding(collections: Collections, session: Session) -> Binding:
    first = collections.journal.range(session.session_id, 1, 1)
    bound_first = first and first[0].type is EventType.BINDING
    return binding_of(first[0].body) if bound_first else UNBOUND


_NOTE = "folder.binding:"


def find_binding(collections: Collections, folder_id: FolderId) -> FolderBinding | None:
    noted = collections.counters.note(f"{_NOTE}{folder_id}")
    return None if noted is None else deserialize(FolderBinding, json.loads(noted))


def get_binding(collections: Collections, folder_id: FolderId) -> FolderBinding:
    found = find_binding(collections, folder_id)
    if found is None:
        raise NotFound(
            f"nobody has bound the folder {folder_id}",
            code="folder.not-found",
            hint="`runlore folder bind PATH` binds one, and shows its id",
        )
    return found


def put_binding(tx: Transaction, wanted: FolderBinding, *, expected_revision: int | None) -> FolderBinding:
    """Bind a folder; the same once more changes nothing."""
    tx.lock({Scope(ScopeKind.PROJECT, wanted.folder_id)})
    present = find_binding(tx, wanted.folder_id)
    revision = 0 if present is None else present.revision
    if expected_revision is not None and expected_revision != revision:
        raise Conflict(
            f"the folder {wanted.folder_id} is at revision {revision}, not {expected_revision}",
            code="folder.revision",
            hint="read it again, and decide on what it says now",
        )
    if present is not None and replace(wanted, updated_at=present.updated_at, revision=revision) == present:
        return present
    binding = replace(wanted, revision=revision + 1)
    tx.counters.set_note(f"{_NOTE}{wanted.folder_id}", json.dumps(serialize(binding)))
    return binding


CAPTURE_PAUSED = "capture.paused"


class CaptureOff(Exception):
    """Nothing may be stored. It is no error: whoever asked is told that nothing was."""


def is_captured(collections: Collections, session: Session) -> bool:
    """Whether what happens in a session is kept: it is not private, its persona allows it, nobody paused.

    A working folder that says no has made the session private when it was created.
    """
    return not session.private and not is_muted(collections, session)


def select_captured(collections: Collections, sessions: Iterable[Session]) -> set[SessionId]:
    """Those of which that is so, each persona asked once."""
    answers: dict[tuple[bool, PersonaId | None], bool] = {}
    captured: set[SessionId] = set()
    for session in sessions:
        terms = (session.private, session.binding.persona_id)
        if terms not in answers:
            answers[terms] = is_captured(collections, session)
        if answers[terms]:
            captured.add(session.session_id)
    return captured


def require_captured(collections: Collections, session: Session) -> None:
    """Leave an act undone where nothing of a session is kept; its transaction writes nothing."""
    if not is_captured(collections, session):
        raise CaptureOff


def is_muted(collections: Collections, session: Session) -> bool:
    """Whether capture is off at present, everywhere or for the session's persona."""
    switch = collections.counters.switch(CAPTURE_PAUSED)
    if switch is not None and switch.on:
        return True
    persona_id = session.binding.persona_id
    persona = None if persona_id is None else collections.sessions.find_persona(persona_id)
    return persona is not None and not persona.capture
