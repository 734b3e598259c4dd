"""The sessions and which of them began which, as the port asks for them, in SQL that both databases run."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeAlias, cast

from runlore.domain.errors import Conflict, Invalid, NotFound
from runlore.domain.record import JsonObject
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import UNBOUND, Binding, SessionId, binding_of, plain_binding
from runlore.domain.session import Session as Conversation
from runlore.domain.text.storable import is_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql import columns, journal_rows, texts
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.personas import SqlPersonas
from runlore.storage.sql.record_rows import to_json
from runlore.storage.sql.session import (
    IN_LIST_MAX,
    Parameters,
    Row,
    SqlSession,
    SqlStatement,
    chunks,
    in_list,
    writing,
)

Place: TypeAlias = tuple[datetime, SessionId]
_ALL = Condition()

_COLUMNS = (
    "session_id",
    "next_number",
    "created_by",
    "created_at_ms",
    "active_at_ms",
    "revision",
    "text_revision",
    "body",
)
_SELECTED = ", ".join(f"s.{column}" for column in _COLUMNS)
_TEXT = texts.join_clause("session", "s", "session_id")
_FOUND = f"SELECT {_SELECTED}, {texts.SELECTED} FROM"
_FIND = f"{_FOUND} sessions s {_TEXT} WHERE s.session_id = ?"
_INSERT = (
    f"INSERT INTO sessions ({', '.join(_COLUMNS)}, journal_bytes) VALUES ({in_list(_COLUMNS)}, 0)"
    " ON CONFLICT DO NOTHING"
)
_UPDATE = (
    "UPDATE sessions SET active_at_ms = CASE WHEN active_at_ms > ? THEN active_at_ms ELSE ? END,"
    " revision = ?, text_revision = ?, body = ? WHERE session_id = ?"
)
_REVISION = "SELECT revision FROM sessions WHERE session_id = ?"
_MADE = "SELECT created_at_ms FROM sessions WHERE session_id = ?"
_BINDING = (
    f"SELECT {', '.join(journal_rows.COLUMNS)} FROM journal WHERE session_id = ? AND number ="
    " (SELECT max(number) FROM journal WHERE type = 'binding' AND session_id = ? AND at_ms <= ?)"
)
_PUT = "INSERT INTO session_parents (session_id, parent_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
_PARENT = "SELECT parent_id FROM session_parents WHERE session_id = ?"
_CHILDREN = "SELECT session_id FROM session_parents WHERE parent_id IN ({ids})"


class SqlSessions(SqlPersonas):
    """`ports.run_store.Sessions` on one database session."""

    def get(self, session_id: SessionId) -> Conversation:
        found = self.find(session_id)
        if found is None:
            raise not_found(session_id)
        return found

    def find(self, session_id: SessionId) -> Conversation | None:
        rows = self._session.rows(_FIND, (session_id,)) if is_storable(session_id) else []
        return _read(rows[0]) if rows else None

    def page(
        self,
        *,
        limit: int,
        before: Place | None = None,
        scopes: frozenset[Scope] | None = None,
        created_by: str | None = None,
    ) -> tuple[Conversation, ...]:
        """The newest first, after a place in that order: all, or the union of what the filters keep."""
        if limit <= 0:
            return ()
        rows = [
            row
            for sql, values in _walks(limit, before, scopes, created_by)
            for row in self._rows(sql, values)
        ]
        found = {session.session_id: session for session in map(_read, rows)}
        newest = sorted(found.values(), key=lambda session: (session.created_at, session.session_id))
        return tuple(reversed(newest[-limit:]))

    def binding_at(self, session_id: SessionId, moment: datetime) -> Binding | None:
        if not is_storable(session_id):
            return None
        at_ms = to_milliseconds(moment)
        made = self._session.rows(_MADE, (session_id,))
        if not made or made[0][0] > at_ms:
            return None
        rows = self._session.rows(_BINDING, (session_id, session_id, at_ms))
        if not rows:
            return UNBOUND
        event = journal_rows.read(rows[0])
        try:
            return binding_of(event.body)
        except (Invalid, *columns.UNREADABLE) as error:
            raise journal_rows.damage_error(event.session_id, event.number) from error

    def parent_of(self, session_id: SessionId) -> SessionId | None:
        return parent_of(self._session, session_id)

    def children_of(self, session_ids: Sequence[SessionId]) -> tuple[SessionId, ...]:
        return children_of(self._session, session_ids)

    @writing
    def put_parent(self, session_id: SessionId, parent_id: SessionId) -> None:
        put_parent(self._session, session_id, parent_id)

    def count(self) -> int:
        return int(self._session.rows("SELECT count(*) FROM sessions")[0][0])

    @writing
    def insert(self, session: Conversation) -> None:
        columns.check_storable(session.session_id, session.created_by)
        self._session.make_room(freeing=False)
        text = _text(session)
        row = (
            session.session_id,
            session.next_number,
            session.created_by,
            to_milliseconds(session.created_at),
            to_milliseconds(session.active_at),
            session.revision,
            1 if text else None,
            _body(session),
        )
        if self._session.run([SqlStatement(sql=_INSERT, rows=[row])]) != [1]:
            raise Conflict(
                f"session {session.session_id} exists already",
                code="session.exists",
                hint="use it as it is, or choose another id",
            )
        if text:
            self._session.run([texts.insert_statement(_owner(session), 1, text)])

    @writing
    def update(self, session: Conversation, *, expected_revision: int) -> None:
        """Write a session's new state; Conflict when it has moved. Its number and bytes are the journal's."""
        self._session.make_room(freeing=session.forgotten_at is not None)
        locked = self._session.rows(_REVISION + self._session.dialect.for_update, (session.session_id,))
        if not locked:
            raise not_found(session.session_id)
        if locked[0][0] != expected_revision:
            raise _revision_conflict(session.session_id, expected=expected_revision, found=locked[0][0])
        revision, statements = texts.replace_statements(self._session, _owner(session), _text(session))
        active_at_ms = to_milliseconds(session.active_at)
        row = (active_at_ms, active_at_ms, session.revision, revision, _body(session), session.session_id)
        self._session.run([SqlStatement(sql=_UPDATE, rows=[row]), *statements])

    def _rows(self, sql: str, parameters: Parameters) -> list[Row]:
        return self._session.rows(sql, parameters)


def not_found(session_id: SessionId) -> NotFound:
    return NotFound(
        f"there is no session {session_id!r}",
        code="session.not-found",
        hint="`runlore session list` shows the ids",
    )


def _revision_conflict(session_id: SessionId, *, expected: int, found: int) -> Conflict:
    return Conflict(
        f"session {session_id} has moved: revision {expected} was expected, {found} was found",
        code="session.moved",
        hint="read the session again and decide anew",
    )


def _walks(
    limit: int, before: Place | None, scopes: frozenset[Scope] | None, created_by: str | None
) -> Iterator[tuple[str, Parameters]]:
    """Queries that each walk one index, or look up ids, and together find the page."""
    if scopes is None and created_by is None:
        yield _walk(_ALL, limit, before)
    if created_by is not None and is_storable(created_by):
        yield _walk(_ALL.also("created_by = ?", created_by), limit, before)
    named = sorted(scope.id for scope in scopes or () if scope.kind is ScopeKind.SESSION)
    for chunk in chunks(named, IN_LIST_MAX):
        # The sum keeps databases off the list's index, for the ids are few.
        yield _walk(
            _ALL.also(f"session_id IN ({in_list(chunk)})", *chunk), limit, before, at="created_at_ms + 0"
        )


def _walk(
    asked: Condition, limit: int, before: Place | None, *, at: str = "created_at_ms"
) -> tuple[str, Parameters]:
    if before is not None:
        asked = asked.also(f"({at}, session_id) < (?, ?)", to_milliseconds(before[0]), before[1])
    order = f"{at} DESC, session_id DESC"
    found = f"SELECT * FROM sessions WHERE {asked.sql} ORDER BY {order} LIMIT ?"
    return f"{_FOUND} ({found}) s {_TEXT}", (*asked.parameters, limit)


def _owner(session: Conversation) -> str:
    return f"session:{session.session_id}"


def _text(session: Conversation) -> JsonObject:
    text = {"title": session.title or None, "working_folder": session.working_folder}
    return {name: value for name, value in text.items() if value is not None}


def _body(session: Conversation) -> str:
    return to_json(
        {
            "agent": session.agent,
            "private": session.private,
            "binding": plain_binding(session.binding),
            "ended_at_ms": columns.milliseconds(session.ended_at),
            "ended_by": session.ended_by,
            "forgotten_at_ms": columns.milliseconds(session.forgotten_at),
            "checkpoint_number": session.checkpoint_number,
        }
    )


def _read(row: Row) -> Conversation:
    session_id, next_number, created_by, created_at_ms, active_at_ms, revision, _, body = row[: len(_COLUMNS)]
    text = texts.read(row)
    try:
        plain = columns.from_json(body)
        checkpoint = plain["checkpoint_number"]
        return Conversation(
            session_id=SessionId(session_id),
            title=str(text.get("title", "")),
            agent=columns.optional_text(plain["agent"]),
            private=bool(plain["private"]),
            working_folder=columns.optional_text(text.get("working_folder")),
            binding=binding_of(cast("JsonObject", plain["binding"])),
            created_by=created_by,
            created_at=from_milliseconds(created_at_ms),
            active_at=from_milliseconds(active_at_ms),
            ended_at=columns.optional_time(plain["ended_at_ms"]),
            ended_by=columns.optional_text(plain.get("ended_by")),
            forgotten_at=columns.optional_time(plain["forgotten_at_ms"]),
            next_number=next_number,
            checkpoint_number=None if checkpoint is None else int(cast("int", checkpoint)),
            revision=revision,
        )
    except (Invalid, *columns.UNREADABLE) as error:
        raise columns.damage_error(f"session {session_id}") from error


def put_parent(session: SqlSession, session_id: SessionId, parent_id: SessionId) -> None:
    columns.check_storable(session_id, parent_id)
    session.make_room(freeing=False)
    session.run([SqlStatement(sql=_PUT, rows=[(session_id, parent_id)])])


def parent_of(session: SqlSession, session_id: SessionId) -> SessionId | None:
    rows = session.rows(_PARENT, (session_id,)) if is_storable(session_id) else []
    return SessionId(rows[0][0]) if rows else None


def children_of(session: SqlSession, session_ids: Sequence[SessionId]) -> tuple[SessionId, ...]:
    found: set[SessionId] = set()
    for chunk in chunks(filter(is_storable, dict.fromkeys(session_ids)), IN_LIST_MAX):
        found.update(SessionId(row[0]) for row in session.rows(_CHILDREN.format(ids=in_list(chunk)), chunk))
    return tuple(sorted(found))
