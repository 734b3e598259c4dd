"""The sessions, which of them began which, and the personas that agents speak as, in SQL that both
databases run.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeAlias, cast

from runlore.domain.batches import into_batches
from runlore.domain.capability import capability_scope_of, plain_capability_scope
from runlore.domain.errors import Conflict, Invalid, NotFound
from runlore.domain.record import JsonObject
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import UNBOUND, Binding, Persona, PersonaId, SessionId, binding_of, plain_binding
from runlore.domain.session import Session as Conversation
from runlore.domain.text.safe_text import is_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql import columns, journal_rows, texts
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.record_rows import to_json
from runlore.storage.sql.session import (
    IN_LIST_MAX,
    Parameters,
    Row,
    SqlCollection,
    SqlSession,
    in_list,
    writing,
)

_ALL = Condition()
_FOUND_PERSONA = "SELECT persona_id, updated_at_ms, revision, body FROM personas"
_FIND_PERSONA = f"{_FOUND_PERSONA} WHERE persona_id = ?"
_NEWEST_FIRST = "ORDER BY updated_at_ms DESC, persona_id DESC LIMIT ?"
_INSERT_PERSONA = (
    "INSERT INTO personas (persona_id, updated_at_ms, revision, body) VALUES (?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)
_UPDATE_PERSONA = (
    "UPDATE personas SET updated_at_ms = ?, revision = ?, body = ? WHERE persona_id = ? AND revision = ?"
)


class SqlPersonas(SqlCollection):
    """The part of `SqlSessions` about personas."""

    def find_persona(self, persona_id: PersonaId) -> Persona | None:
        return self._read_first(_read_persona, _FIND_PERSONA, persona_id)

    def get_persona(self, persona_id: PersonaId) -> Persona:
        found = self.find_persona(persona_id)
        if found is None:
            hint = "`runlore session persona list` shows the ids"
            raise columns.not_found(repr(persona_id), code="persona.not-found", hint=hint)
        return found

    def personas(
        self, *, limit: int, before: tuple[datetime, PersonaId] | None = None
    ) -> tuple[Persona, ...]:
        """The latest changed first (`updated_at`, then id, descending)."""
        if limit <= 0:
            return ()
        asked = _ALL
        if before is not None:
            asked = asked.also("(updated_at_ms, persona_id) < (?, ?)", to_milliseconds(before[0]), before[1])
        sql = f"{_FOUND_PERSONA} WHERE {asked.sql} {_NEWEST_FIRST}"
        return tuple(map(_read_persona, self._session.rows(sql, (*asked.parameters, limit))))

    @writing
    def put_persona(self, persona: Persona, *, expected_revision: int) -> None:
        """Write a persona (0 expected: a new one); Conflict (`persona.moved`) when it has moved."""
        columns.check_storable(persona.persona_id)
        self._session.make_room(freeing=False)
        updated_at_ms, body = to_milliseconds(persona.updated_at), _body_of_persona(persona)
        if expected_revision == 0:
            row = (persona.persona_id, updated_at_ms, persona.revision, body)
            written = self._execute(_INSERT_PERSONA, row)
        else:
            changed = (updated_at_ms, persona.revision, body, persona.persona_id, expected_revision)
            written = self._execute(_UPDATE_PERSONA, changed)
        if written != 1:
            raise _persona_revision_conflict(self._session, persona.persona_id, expected_revision)


def _persona_revision_conflict(session: SqlSession, persona_id: PersonaId, expected: int) -> Conflict:
    rows = session.rows(_FIND_PERSONA, (persona_id,))
    was = f"revision {rows[0][2]}" if rows else "no such persona"
    wanted = f"revision {expected}" if expected else "no such persona"
    return Conflict(
        f"persona {persona_id} has moved: {wanted} was expected, {was} was found",
        code="persona.moved",
        hint="read the persona again and decide anew",
    )


def _body_of_persona(persona: Persona) -> str:
    return to_json(
        {
            "name": persona.name,
            "capability_scope": plain_capability_scope(persona.capability_scope),
            "capture": persona.capture,
        }
    )


def _read_persona(row: Row) -> Persona:
    persona_id, updated_at_ms, revision, body = row
    with columns.Readable(f"persona {persona_id}"):
        plain = columns.from_json(body)
        return Persona(
            persona_id=PersonaId(persona_id),
            name=str(plain["name"]),
            capability_scope=capability_scope_of(cast("JsonObject", plain["capability_scope"])),
            capture=bool(plain["capture"]),
            updated_at=from_milliseconds(updated_at_ms),
            revision=revision,
        )


Place: TypeAlias = tuple[datetime, SessionId]

_COLUMNS = (
    *("session_id", "next_number", "created_by", "created_at_ms", "active_at_ms", "revision"),
    *("text_revision", "body"),
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
    """Sessions and personas."""

    def get(self, session_id: SessionId) -> Conversation:
        found = self.find(session_id)
        if found is None:
            raise not_found(session_id)
        return found

    def find(self, session_id: SessionId) -> Conversation | None:
        return self._read_first(_read, _FIND, session_id)

    def get_many(self, session_ids: Sequence[SessionId]) -> dict[SessionId, Conversation]:
        rows = self._rows_of(f"{_FOUND} sessions s {_TEXT} WHERE s.session_id IN ({{ids}})", session_ids)
        return {session.session_id: session for session in map(_read, rows)}

    def page(
        self,
        *,
        limit: int,
        before: Place | None = None,
        scopes: frozenset[Scope] | None = None,
        created_by: str | None = None,
    ) -> tuple[Conversation, ...]:
        """The newest first (`created_at`, then id, descending). `scopes` keeps those whose own session scope
        is named, `created_by` those of one caller; both given, either is enough."""
        if limit <= 0:
            return ()
        rows = [
            row
            for sql, values in _walks(limit, before, scopes, created_by)
            for row in self._session.rows(sql, values)
        ]
        found = {session.session_id: session for session in map(_read, rows)}
        newest = sorted(found.values(), key=lambda session: (session.created_at, session.session_id))
        return tuple(reversed(newest[-limit:]))

    def binding_at(self, session_id: SessionId, moment: datetime) -> Binding | None:
        """What a session was bound to at a moment, from its binding events; None before it was made."""
        at_ms = to_milliseconds(moment)
        made = self._first(_MADE, session_id)
        if made is None or made[0] > at_ms:
            return None
        row = self._first(_BINDING, session_id, session_id, at_ms)
        if row is None:
            return UNBOUND
        event = journal_rows.read(row)
        try:
            return binding_of(event.body)
        except (Invalid, *columns.UNREADABLE) as error:
            raise journal_rows.damage_error(event.session_id, event.number) from error

    def parent_of(self, session_id: SessionId) -> SessionId | None:
        """The session whose agent began this one as a subagent's; None where nobody is known to have."""
        row = self._first(_PARENT, session_id)
        return None if row is None else SessionId(row[0])

    def children_of(self, session_ids: Sequence[SessionId]) -> tuple[SessionId, ...]:
        """The sessions that the agents of any of these began, by id. Some may never have been stored."""
        return tuple(sorted({SessionId(row[0]) for row in self._rows_of(_CHILDREN, session_ids)}))

    @writing
    def put_parent(self, session_id: SessionId, parent_id: SessionId) -> None:
        """Note whose agent began a session; what was noted first stays. Neither need be there."""
        columns.check_storable(session_id, parent_id)
        self._session.make_room(freeing=False)
        self._execute(_PUT, (session_id, parent_id))

    def count(self) -> int:
        return self._number("SELECT count(*) FROM sessions")

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
        if self._execute(_INSERT, row) != 1:
            raise Conflict(
                f"session {session.session_id} exists already",
                code="session.exists",
                hint="use it as it is, or choose another id",
            )
        if text:
            self._run(texts.insert_statement(_owner(session), 1, text))

    @writing
    def update(self, session: Conversation, *, expected_revision: int) -> None:
        """Write a session's new state; Conflict (`session.moved`) when it has moved. `next_number` is not
        touched: only `SqlJournal.append` moves it."""
        self._session.make_room(freeing=session.forgotten_at is not None)
        locked = self._lock(_REVISION, session.session_id)
        if locked is None:
            raise not_found(session.session_id)
        columns.check_revision(
            session.session_id, locked[0], expected=expected_revision, code="session.moved"
        )
        revision, statements = texts.replace_statements(self._session, _owner(session), _text(session))
        active_at_ms = to_milliseconds(session.active_at)
        row = (active_at_ms, active_at_ms, session.revision, revision, _body(session), session.session_id)
        self._run((_UPDATE, [row]), *statements)


def not_found(session_id: SessionId) -> NotFound:
    return columns.not_found(
        repr(session_id), code="session.not-found", hint="`runlore session list` shows the ids"
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
    for chunk in into_batches(named, IN_LIST_MAX):
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
    with columns.Readable(f"session {session_id}"):
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
