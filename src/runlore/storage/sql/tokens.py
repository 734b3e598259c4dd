"""Tokens: who may call. Their secrets are not here."""

import orjson

from runlore.domain.access import AccessToken, TokenId
from runlore.domain.errors import Conflict, Invalid
from runlore.domain.records.audit import Act
from runlore.domain.scope import Scope
from runlore.domain.timestamps import to_milliseconds
from runlore.storage.sql import columns
from runlore.storage.sql.session import Row, SqlCollection, SqlValue, in_list, writing

_COLUMNS = (
    *("scopes", "token_id", "name", "role", "digest", "created_at_ms", "created_by", "revoked_at_ms"),
    *("persona_id", "expires_at_ms", "previous_digest", "previous_until_ms"),
)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM tokens"
_INSERT = f"INSERT INTO tokens ({', '.join(_COLUMNS)}) VALUES ({in_list(_COLUMNS)}) ON CONFLICT DO NOTHING"
_REVOKE = "UPDATE tokens SET revoked_at_ms = ? WHERE token_id = ? AND revoked_at_ms IS NULL"
_ROTATE = (
    "UPDATE tokens SET digest = ?, previous_digest = ?, previous_until_ms = ?, expires_at_ms = ?"
    " WHERE token_id = ? AND digest = ? AND revoked_at_ms IS NULL"
)
_EVENT = (
    "INSERT INTO token_events (token_id, revision, act, at_ms, actor)"
    " SELECT ?, COALESCE(max(revision), 0) + 1, ?, ?, ? FROM token_events WHERE token_id = ?"
)


class SqlTokens(SqlCollection):
    """What is kept of tokens."""

    def by_digest(self, digest: str) -> AccessToken | None:
        """The token whose secret has this digest, or had it before the last rotation; revoked or not."""
        return self._one("digest = ?", digest) or self._one(
            "previous_digest <> '' AND previous_digest = ?", digest
        )

    def find(self, name: str) -> AccessToken | None:
        return self._one("name = ?", name) or self._one("token_id = ?", name)

    def everything(self) -> tuple[AccessToken, ...]:
        rows = self._session.rows(f"{_SELECT} ORDER BY created_at_ms DESC, token_id DESC")
        return tuple(_read(row) for row in rows)

    @writing
    def insert(self, token: AccessToken) -> None:
        """Write a new token; Conflict when the name is taken, by a revoked one or as an id too."""
        columns.check_storable(
            token.token_id, token.name, token.digest, token.created_by, token.persona_id or ""
        )
        self._session.make_room(freeing=False)
        is_id = self._one("token_id = ?", token.name) is not None
        if is_id or self._execute(_INSERT, _values(token)) != 1:
            raise Conflict(
                f"there is a token {token.name!r} already",
                code="token.exists",
                hint="choose another name; that of a revoked token stays taken, so that events stay clear",
            )
        self._note(token.token_id, "create", Act(actor=token.created_by, at=token.created_at))

    @writing
    def revoke(self, token_id: TokenId, act: Act) -> None:
        """Note the revocation; the first one's time stays."""
        columns.check_storable(act.actor)
        if self._execute(_REVOKE, (to_milliseconds(act.at), token_id)) == 1:
            self._note(token_id, "revoke", act)
        elif self._one("token_id = ?", token_id) is None:
            raise columns.not_found(
                repr(token_id), code="token.not-found", hint="the list of tokens shows names and ids"
            )

    @writing
    def rotate(self, token: AccessToken, before: str, act: Act) -> None:
        """Write a token's new digest over the one before; Conflict when somebody was faster."""
        columns.check_storable(act.actor)
        changed = columns.values_of(
            token, ("digest", "previous_digest", "previous_until_ms", "expires_at_ms", "token_id")
        )
        if self._execute(_ROTATE, (*changed, before)) != 1:
            raise Conflict(
                f"the token {token.name!r} was rotated or revoked meanwhile",
                code="token.moved",
                hint="`runlore token list` shows how it stands",
            )
        self._note(token.token_id, "rotate", act)

    def _note(self, token_id: TokenId, what: str, act: Act) -> None:
        self._execute(_EVENT, (token_id, what, to_milliseconds(act.at), act.actor, token_id))

    def _one(self, condition: str, value: SqlValue) -> AccessToken | None:
        return self._read_first(_read, f"{_SELECT} WHERE {condition}", value)


def _values(token: AccessToken) -> tuple[SqlValue, ...]:
    scopes = None if token.scopes is None else orjson.dumps(sorted(map(str, token.scopes))).decode()
    return (scopes, *columns.values_of(token, _COLUMNS[1:]))


def _read(row: Row) -> AccessToken:
    scopes, token_id, *_ = row
    try:
        return AccessToken(
            scopes=None if scopes is None else frozenset(map(Scope.parse, orjson.loads(scopes))),
            **columns.fields_of(AccessToken, _COLUMNS[1:], row[1:]),
        )
    # A token that cannot be read must never be taken for one without limits.
    except (*columns.UNREADABLE, Invalid) as error:
        raise columns.damage_error(f"token {token_id}") from error
