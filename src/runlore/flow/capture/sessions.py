"""Sessions and personas: made, bound, linked, named, ended. Every change of a binding is a journal event."""

from dataclasses import replace
from datetime import datetime

from runlore.domain.errors import Conflict
from runlore.domain.runs.journal import EventType
from runlore.domain.runs.journal_entry import binding_entry, binding_of
from runlore.domain.session import UNBOUND, Binding, Persona, Session
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
