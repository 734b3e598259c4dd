"""Who may call, and what was done by whom: tokens and the audit feed."""

import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from runlore.daemon.calls.lookups import askable
from runlore.daemon.calls.requests import (
    check_limit,
    cursor_at,
    cut_page,
    number_of,
    read_cursor,
    whole_milliseconds,
    wrong_cursor,
)
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.token_file import read_secret, write_secret
from runlore.domain import limits
from runlore.domain.access import AccessToken, TokenId, check_token_name, hash_secret, is_reserved_name
from runlore.domain.audit_feed import AuditEvent, AuditKind, AuditPlace
from runlore.domain.errors import Conflict, Invalid, NotFound
from runlore.domain.guard.entry import without_secret
from runlore.domain.records.audit import Act
from runlore.domain.scope import Scope, ScopeKind
from runlore.ports import operations as ops
from runlore.ports.operations.paging import paginate
from runlore.ports.store import Transaction

TOKEN_PREFIX = "rlt_"


class AccessActs(Bound):
    """Tokens, and the audit feed."""

    @operation
    def create_token(self, request: ops.NewToken) -> ops.MadeToken:
        name = check_token_name(request.name)
        if is_reserved_name(name):
            raise Invalid(
                f"{name!r} is a name that Runlore itself acts under",
                code="token.reserved",
                hint="name the token after the person or program that uses it",
            )
        without_secret("the token's name", name)
        own = () if request.persona_id is None else (Scope(ScopeKind.PERSONA, request.persona_id),)
        for scope in (*(request.scopes or ()), *own):
            without_secret("a scope of the token", scope.id)
        if request.scopes is not None:
            request = replace(request, scopes=request.scopes.union(own))
        now = self.parts.clock.now()
        request = replace(request, expires_at=_expiry(request.expires_at, now))
        token_id = TokenId(self.parts.ids.new("tok", now))
        made = new_token(replace(request, name=name), token_id, Act(actor=self.caller.actor, at=now))
        with self.parts.store.transaction() as tx:
            tx.tokens.insert(made.token)
        return made

    @operation
    def list_tokens(self) -> tuple[AccessToken, ...]:
        with self.parts.store.snapshot() as snapshot:
            return snapshot.tokens.everything()

    @operation
    def revoke_token(self, name: str) -> AccessToken:
        act = Act(actor=self.caller.actor, at=self.parts.clock.now())
        with self.parts.store.transaction() as tx:
            token = _find(tx, name)
            tx.tokens.revoke(token.token_id, act)
        return token if token.revoked_at is not None else replace(token, revoked_at=act.at)

    @operation
    def rotate_token(self, request: ops.TokenRotation) -> ops.MadeToken:
        act = Act(actor=self.caller.actor, at=self.parts.clock.now())
        ends_at = _expiry(request.expires_at, act.at)
        if not 0 <= request.grace_s <= limits.TOKEN_GRACE_S_MAX:
            raise Invalid(
                f"the secret before cannot be good for another {request.grace_s:,} seconds",
                code="token.grace",
                hint=f"give 0 to {limits.TOKEN_GRACE_S_MAX:,} seconds",
            )
        with self.parts.store.transaction() as tx:
            before = _find(tx, request.name)
            if before.revoked_at is not None:
                raise Conflict(
                    f"the token {before.name} has been revoked",
                    code="token.revoked",
                    hint="make a new one: one that was revoked never opens anything again",
                )
            secret = _new_secret()
            rotated = replace(
                before,
                digest=hash_secret(secret),
                previous_digest=before.digest,
                previous_until=act.at + timedelta(seconds=request.grace_s),
                expires_at=ends_at or before.expires_at,
            )
            denial = rotated.why_not(rotated.digest, act.at)
            if denial is not None:
                raise Invalid(
                    f"the token {before.name} has ended, and would be no good with a new secret",
                    code="token.expires",
                    hint="say until when it shall be good from now on",
                )
            tx.tokens.rotate(rotated, before.digest, act)
        own = read_secret(self.parts.state_root)
        if own is not None and hash_secret(own) == before.digest:
            write_secret(self.parts.state_root, secret)
        return ops.MadeToken(token=rotated, secret=secret)

    @operation
    def list_audit(self, request: ops.AuditRequest) -> ops.AuditPage:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        after = None if request.cursor is None else _read_place(request.cursor)
        with self.parts.store.snapshot() as snapshot:
            found = snapshot.audit.page(
                limit=limit + 1, kinds=request.kinds, since=request.since, after=after
            )
        items, cursor = cut_page(found, limit, _cursor_behind)
        return ops.AuditPage(items=items, next_cursor=cursor)


def follow_audit(
    ask: Callable[[ops.AuditRequest], ops.AuditPage], request: ops.AuditRequest, *, beat_s: float
) -> Iterator[AuditEvent | None]:
    """Each act once, from the request's `since` on, and None whenever there was none for a beat.

    An act has the time at which it was begun, and is there once it is committed: what is a little older than
    the newest is looked through again.
    """
    sent_at: dict[str, datetime] = {}
    since, pause = request.since, threading.Event()
    while True:
        for event in paginate(ask, replace(request, since=since, limit=limits.LIST_LIMIT_MAX)):
            if event.id not in sent_at:
                sent_at[event.id] = event.at
                yield event
        if sent_at:
            newest = max(sent_at.values())
            since = newest - timedelta(seconds=limits.AUDIT_LATE_S)
            sent_at = {name: at for name, at in sent_at.items() if at >= since}
        yield None
        pause.wait(beat_s)


def new_token(request: ops.NewToken, token_id: TokenId, act: Act) -> ops.MadeToken:
    secret = _new_secret()
    token = AccessToken(
        token_id=token_id,
        name=request.name,
        role=request.role,
        scopes=request.scopes,
        digest=hash_secret(secret),
        created_at=act.at,
        created_by=act.actor,
        persona_id=request.persona_id,
        expires_at=request.expires_at,
    )
    return ops.MadeToken(token=token, secret=secret)


def _new_secret() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def _find(tx: Transaction, name: str) -> AccessToken:
    token = tx.tokens.find(askable(name, "token"))
    if token is None:
        raise NotFound(
            f"there is no token {name!r}",
            code="token.not-found",
            hint="`runlore token list` shows the names",
        )
    return token


def _expiry(wanted: datetime | None, now: datetime) -> datetime | None:
    ends_at = whole_milliseconds(wanted)
    if ends_at is not None and ends_at <= now:
        raise Invalid(
            "the token would have ended before it is made",
            code="token.expires",
            hint="name a time to come, or none for a token that no time ends",
        )
    return ends_at


def _cursor_behind(event: AuditEvent) -> str:
    return cursor_at(event.at, f"{event.kind}:{event.revision}:{event.subject}")


def _read_place(cursor: str) -> AuditPlace:
    at, name = read_cursor(cursor, str) or (None, "")
    kind, _, rest = name.partition(":")
    revision, _, subject = rest.partition(":")
    if at is None or kind not in [*AuditKind] or not subject:
        raise wrong_cursor()
    return (at, AuditKind(kind), subject, number_of(revision))
