"""Sessions and those of their subagents: what one asked for stands in the others too, in the same words.

So whoever forgets a session forgets what its subagents did, and theirs, and nothing of them comes in later.
"""

from runlore.domain import limits
from runlore.domain.errors import Refused
from runlore.domain.session import Session, SessionId
from runlore.ports.store import Collections


def family(
    collections: Collections, session: Session, *, members_max: int = limits.SESSION_FAMILY_MAX
) -> tuple[Session, ...]:
    """A session, and by their ids those of its subagents, and of theirs, that are not forgotten yet."""
    found: list[Session] = []
    for session_id in descendants(collections, session.session_id):
        member = collections.sessions.find(session_id)
        if member is not None and member.forgotten_at is None:
            found.append(member)
    if len(found) >= members_max:
        raise Refused(
            f"{len(found):,} sessions of subagents would go along, more than go at once",
            code="session.family",
            hint="forget some of these sessions first, each by its own id, then this one again",
        )
    return session, *found


def descendants(collections: Collections, session_id: SessionId) -> tuple[SessionId, ...]:
    """What a session began, and what that began, by id. Whoever began themselves are passed over."""
    seen = {session_id}
    latest: tuple[SessionId, ...] = (session_id,)
    for _ in range(limits.SESSION_GENERATIONS_MAX):
        children = collections.sessions.children_of(latest)
        latest = tuple(child for child in children if child not in seen)
        if not latest:
            break
        seen.update(latest)
    return tuple(sorted(seen - {session_id}))


def is_begun_by_forgotten(collections: Collections, parent_id: SessionId | None) -> bool:
    """Whether the session that began another one, or who began that one, was forgotten."""
    for _ in range(limits.SESSION_GENERATIONS_MAX):
        if parent_id is None:
            return False
        parent = collections.sessions.find(parent_id)
        if parent is not None and parent.forgotten_at is not None:
            return True
        parent_id = collections.sessions.parent_of(parent_id)
    return False
