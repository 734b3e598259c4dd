"""Which session's agent began which, in SQL that both databases run. Nothing but ids is kept of it."""

from collections.abc import Sequence

from runlore.domain.session import SessionId
from runlore.domain.storable import is_storable
from runlore.storage.sql import columns
from runlore.storage.sql.session import IN_LIST_MAX, SqlSession, SqlStatement, chunks, in_list

_PUT = "INSERT INTO session_parents (session_id, parent_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
_PARENT = "SELECT parent_id FROM session_parents WHERE session_id = ?"
_CHILDREN = "SELECT session_id FROM session_parents WHERE parent_id IN ({ids})"


def put(session: SqlSession, session_id: SessionId, parent_id: SessionId) -> None:
    """Note who began a session; what was noted first stays."""
    columns.check_storable(session_id, parent_id)
    session.make_room(freeing=False)
    session.run([SqlStatement(sql=_PUT, rows=[(session_id, parent_id)])])


def parent_of(session: SqlSession, session_id: SessionId) -> SessionId | None:
    """Who began a session; None where nobody is known to have."""
    rows = session.rows(_PARENT, (session_id,)) if is_storable(session_id) else []
    return SessionId(rows[0][0]) if rows else None


def children_of(session: SqlSession, session_ids: Sequence[SessionId]) -> tuple[SessionId, ...]:
    """The sessions that any of these began, by id."""
    found: set[SessionId] = set()
    for chunk in chunks(filter(is_storable, dict.fromkeys(session_ids)), IN_LIST_MAX):
        found.update(SessionId(row[0]) for row in session.rows(_CHILDREN.format(ids=in_list(chunk)), chunk))
    return tuple(sorted(found))
