"""Who sees what: the scopes that a caller's reads answer from, and those that its writes may name.

An operator and a reader see what their token's scopes reach. An agent names its session with every read, and
sees what that session sees, as far as its token reaches.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import partial

from runlore.daemon.calls.lookups import askable, storable
from runlore.daemon.calls.working_folders import allows_capture
from runlore.domain.access import LOCAL_OPERATOR, Caller, Role
from runlore.domain.errors import Denied, NotFound, Refused
from runlore.domain.record import LEARNING_KINDS, Layer, Record, RecordId, State
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import Session, SessionId
from runlore.flow.capture.sessions import find_binding, is_captured
from runlore.ports.operations import OPERATIONS
from runlore.ports.store import Collections


def require_role(caller: Caller, operation: str) -> None:
    """Refuse an operation that is not for this caller's role, or not for one that is limited to scopes."""
    denial = _why_not(caller, operation)
    if denial is not None:
        raise denial


def callable_operations(caller: Caller) -> list[str]:
    """The operations that are for this caller."""
    return [name for name in OPERATIONS if _why_not(caller, name) is None]


def _why_not(caller: Caller, operation: str) -> Denied | None:
    declared = OPERATIONS[operation]
    allowed = declared.roles
    if caller.role not in allowed:
        named = " or ".join(sorted(allowed))
        return Denied(
            f"{operation} is for the role {named}; {caller.actor} has the role {caller.role}",
            code="role.denied",
            hint=f"use a token of the role {named}",
        )
    if declared.unlimited and caller.scopes is not None:
        return Denied(
            f"{operation} concerns everything, and the token of {caller.actor} is limited to some scopes",
            code="scope.denied",
            hint="use a token without a limit",
        )
    return None


def readable_scopes(
    collections: Collections, caller: Caller, session_id: SessionId | None, *, at: datetime | None = None
) -> frozenset[Scope] | None:
    """The scopes that a read answers from; None is all. With `at`, what the session saw then."""
    if session_id is None:
        if caller.role is Role.AGENT:
            raise Denied(
                f"{caller.actor} has the role agent, and its reads name a session",
                code="session.required",
                hint="give the session_id of the session that you work in",
            )
        return caller.scopes
    session = own_session(collections, caller, session_id)
    binding = None if at is None else collections.sessions.binding_at(session_id, at)
    seen = frozenset(session.visible_scopes(binding))
    return seen if caller.scopes is None else seen & (caller.scopes | {session.scope})


def own_session(collections: Collections, caller: Caller, session_id: SessionId) -> Session:
    """A session that the caller may use; to everybody else it does not exist, in the same words."""
    session = collections.sessions.find(session_id)
    if session is not None and may_use(caller, session):
        return session
    raise not_found_session(session_id)


def not_found_session(session_id: SessionId) -> NotFound:
    return NotFound(
        f"there is no session {session_id!r}",
        code="session.not-found",
        hint="`runlore session list` shows the ids",
    )


def may_use(caller: Caller, session: Session) -> bool:
    if caller.role is Role.AGENT:
        named = caller.scopes is not None and session.scope in caller.scopes
        return named or session.created_by == caller.actor
    return caller.scopes is None or session.created_by == caller.actor or session.scope in caller.scopes


def is_of_persona(caller: Caller, session: Session, *, is_alone: bool) -> bool:
    """Whether a session is of the caller's persona. Where nobody shares the database, one that was read
    before there was a persona is theirs too; and a private one is known to be nobody's, and is given nothing
    that is one persona's."""
    bound = session.binding.persona_id
    return bound == caller.persona_id or (bound is None and (session.private or is_alone))


def is_reported_by(caller: Caller, session: Session, *, is_alone: bool) -> bool:
    """Whether a session is one that the hooks of the caller's agent report for its persona. Such a session is
    the operator's, so `may_use` does not know it for the agent's own."""
    is_connected = caller.persona_id is not None and caller.scopes is None
    is_agents = session.agent is not None and caller.is_named_for(session.agent)
    is_reported = is_agents and session.created_by == LOCAL_OPERATOR.actor
    return is_connected and is_reported and is_of_persona(caller, session, is_alone=is_alone)


def narrow_scopes(asked: frozenset[Scope], readable: frozenset[Scope] | None) -> frozenset[Scope] | None:
    """The scopes to read: those asked for that the caller sees; None is all, an empty set nothing."""
    if readable is None:
        return asked or None
    return asked & readable if asked else readable


def require_visible(record: Record, readable: frozenset[Scope] | None) -> Record:
    """A record that the caller sees; any other does not exist. Scratch is seen inside its own run alone."""
    if readable is None:
        return record
    if record.scope in readable and record.layer is not Layer.WORKING:
        return record
    raise NotFound(
        f"there is no record {record.record_id!r}",
        code="record.not-found",
        hint="`runlore memory list` shows the ids",
    )


def visible_ids(tx: Collections, caller: Caller, record_ids: Iterable[RecordId]) -> tuple[RecordId, ...]:
    """The ids, each once, where all of them name records that the caller may know of."""
    found = (tx.records.get(storable(record_id)) for record_id in dict.fromkeys(record_ids))
    return tuple(require_visible(record, caller.scopes).record_id for record in found)


def visible_id(tx: Collections, caller: Caller, record_id: RecordId | None) -> RecordId | None:
    """The id, where one is given: it names a record that the caller may know of."""
    return None if record_id is None else visible_ids(tx, caller, [record_id])[0]


def may_see(caller: Caller, record: Record) -> bool:
    """Whether a record of a scope that the caller reads is shown to it: nobody has confirmed what was never
    published, waiting or turned down, so an agent is shown of it that alone which it has made itself."""
    is_unconfirmed = record.kind in LEARNING_KINDS and record.published_at is None
    hidden = is_unconfirmed or record.state is State.CONSTRAINED
    return not hidden or caller.role is not Role.AGENT or record.created_by == caller.actor


def require_reach(caller: Caller, scopes: Iterable[Scope]) -> None:
    """Refuse a write to a scope that the caller's token is not good for."""
    for scope in scopes:
        if not caller.reaches(scope):
            raise Denied(
                f"the token of {caller.actor} is not good for {scope}",
                code="scope.denied",
                hint="use a token that is limited to other scopes, or to none",
            )


def require_writable(collections: Collections, caller: Caller, scope: Scope) -> None:
    """Refuse to store what is said in a scope: another agent's session, or one of which nothing is stored."""
    is_session = scope.kind is ScopeKind.SESSION
    if is_session and caller.role is Role.AGENT:
        session: Session | None = own_session(collections, caller, SessionId(scope.id))
    else:
        require_reach(caller, [scope])
        session = collections.sessions.find(SessionId(scope.id)) if is_session else None
    if session is not None and not keeps(collections, session):
        raise Refused(
            f"nothing of session {session.session_id!r} is stored",
            code="session.private",
            hint="it is private, or capture is off for it: say it in another scope, or turn capture on",
        )


def keeps(collections: Collections, session: Session) -> bool:
    """Whether what happens in a session is stored, its working folder asked as it is now."""
    return is_captured(collections, session) and allows_capture(
        session.working_folder, partial(find_binding, collections)
    )


def asks_privately(collections: Collections, caller: Caller, session_id: SessionId | None) -> bool:
    """Whether nothing of what is asked is kept, so that it is not sent on either: it is asked in such a
    session, in none where one has to be named, or in one that is not the caller's."""
    if session_id is None:
        return caller.role is Role.AGENT
    session = collections.sessions.find(SessionId(askable(session_id, "session")))
    return session is None or not may_use(caller, session) or not keeps(collections, session)


def require_bindable(caller: Caller, session: Session) -> None:
    """Refuse to bind a session to what the caller's token does not reach; the workspace is always seen."""
    bound = (scope for scope in session.visible_scopes() if scope.kind in _BINDABLE)
    require_reach(caller, bound)


_BINDABLE = frozenset({ScopeKind.PERSONA, ScopeKind.PROJECT})
