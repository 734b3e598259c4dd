"""Who agents are when they speak, as rows."""

from datetime import datetime
from typing import cast

from runlore.domain.capability import capability_scope_of, plain_capability_scope
from runlore.domain.errors import Conflict, Invalid, NotFound
from runlore.domain.record import JsonObject
from runlore.domain.session import Persona, PersonaId
from runlore.domain.text.storable import is_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql import columns
from runlore.storage.sql.record_rows import to_json
from runlore.storage.sql.session import Row, SqlCollection, SqlSession, SqlStatement, writing

_FOUND = "SELECT persona_id, updated_at_ms, revision, body FROM personas"
_FIND = f"{_FOUND} WHERE persona_id = ?"
_NEWEST_FIRST = "ORDER BY updated_at_ms DESC, persona_id DESC LIMIT ?"
_INSERT = (
    "INSERT INTO personas (persona_id, updated_at_ms, revision, body) VALUES (?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)
_UPDATE = (
    "UPDATE personas SET updated_at_ms = ?, revision = ?, body = ? WHERE persona_id = ? AND revision = ?"
)


class SqlPersonas(SqlCollection):
    """The part of `SqlSessions` about personas."""

    def find_persona(self, persona_id: PersonaId) -> Persona | None:
        rows = self._session.rows(_FIND, (persona_id,)) if is_storable(persona_id) else []
        return _read(rows[0]) if rows else None

    def get_persona(self, persona_id: PersonaId) -> Persona:
        found = self.find_persona(persona_id)
        if found is None:
            raise _not_found(persona_id)
        return found

    def personas(
        self, *, limit: int, before: tuple[datetime, PersonaId] | None = None
    ) -> tuple[Persona, ...]:
        if limit <= 0:
            return ()
        if before is None:
            rows = self._session.rows(f"{_FOUND} {_NEWEST_FIRST}", (limit,))
        else:
            place = (to_milliseconds(before[0]), before[1])
            sql = f"{_FOUND} WHERE (updated_at_ms, persona_id) < (?, ?) {_NEWEST_FIRST}"
            rows = self._session.rows(sql, (*place, limit))
        return tuple(map(_read, rows))

    @writing
    def put_persona(self, persona: Persona, *, expected_revision: int) -> None:
        columns.check_storable(persona.persona_id)
        self._session.make_room(freeing=False)
        updated_at_ms, body = to_milliseconds(persona.updated_at), _body(persona)
        if expected_revision == 0:
            row = (persona.persona_id, updated_at_ms, persona.revision, body)
            statement = SqlStatement(sql=_INSERT, rows=[row])
        else:
            changed = (updated_at_ms, persona.revision, body, persona.persona_id, expected_revision)
            statement = SqlStatement(sql=_UPDATE, rows=[changed])
        if self._session.run([statement]) != [1]:
            raise _revision_conflict(self._session, persona.persona_id, expected_revision)


def _revision_conflict(session: SqlSession, persona_id: PersonaId, expected: int) -> Conflict:
    rows = session.rows(_FIND, (persona_id,))
    was = f"revision {rows[0][2]}" if rows else "no such persona"
    wanted = f"revision {expected}" if expected else "no such persona"
    return Conflict(
        f"persona {persona_id} has moved: {wanted} was expected, {was} was found",
        code="persona.moved",
        hint="read the persona again and decide anew",
    )


def _not_found(persona_id: PersonaId) -> NotFound:
    return NotFound(
        f"there is no persona {persona_id!r}",
        code="persona.not-found",
        hint="`runlore session persona list` shows the ids",
    )


def _body(persona: Persona) -> str:
    return to_json(
        {
            "name": persona.name,
            "capability_scope": plain_capability_scope(persona.capability_scope),
            "capture": persona.capture,
        }
    )


def _read(row: Row) -> Persona:
    persona_id, updated_at_ms, revision, body = row
    try:
        plain = columns.from_json(body)
        return Persona(
            persona_id=PersonaId(persona_id),
            name=str(plain["name"]),
            capability_scope=capability_scope_of(cast("JsonObject", plain["capability_scope"])),
            capture=bool(plain["capture"]),
            updated_at=from_milliseconds(updated_at_ms),
            revision=revision,
        )
    except (Invalid, *columns.UNREADABLE) as error:
        raise columns.damage_error(f"persona {persona_id}") from error
