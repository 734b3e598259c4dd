"""Tokens: who a secret stands for, and the operator's own token of a state root."""

import hmac
import logging
import os
import threading
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from runlore.daemon.agents_folder import has_agents, is_agent_secret, read_persona
from runlore.daemon.operations.access import new_token
from runlore.daemon.parts import Parts
from runlore.daemon.token_file import SECRET_CHARS_MAX, TOKEN_FILE, read_secret, write_secret
from runlore.domain.access import AccessToken, Caller, Role, TokenId, hash_secret
from runlore.domain.errors import Conflict, Denied, Unavailable
from runlore.domain.records.audit import Act
from runlore.ports.clock import Clock
from runlore.ports.operations import MadeToken, NewToken
from runlore.ports.store import Store

OPERATOR = "operator"
_REMEMBERED_MAX = 1_000
_NAMES_TRIED_MAX = 1_000
_log = logging.getLogger(__name__)


class TokenBook:
    """Who a secret stands for. What it remembers is dropped with every change of the tokens.

    Where other daemons share the database a token can be revoked without our knowledge, so there nothing is
    remembered and the store is asked each time.
    """

    def __init__(self, store: Store, clock: Clock, *, is_alone: bool, state_root: str = "") -> None:
        self._store = store
        self._clock = clock
        self._state_root = state_root
        self._is_alone = is_alone
        self._lock = threading.Lock()
        self._generation = 0
        self._remembered: dict[str, tuple[Caller, datetime | None]] = {}

    def authenticate_from_cache(self, secret: str) -> Caller | None:
        """The caller of a secret that was good before, where nothing can have changed since. Never waits."""
        caller, ends_at = self._remembered.get(secret, (None, None))
        is_good = self._is_alone and (ends_at is None or self._clock.now() < ends_at)
        return caller if is_good else None

    def authenticate(self, secret: str) -> Caller:
        """The caller of a secret; Denied where it is no token, or one that is good no more."""
        with self._lock:
            generation = self._generation
        digest = hash_secret(secret) if len(secret) <= SECRET_CHARS_MAX else ""
        token = self._good_token(digest)
        caller = self._with_own_persona(token.caller(), secret)
        with self._lock:
            # A token that was revoked while we looked must not be remembered.
            if generation == self._generation and len(self._remembered) < _REMEMBERED_MAX:
                self._remembered[secret] = caller, token.ends_at(digest)
        return caller

    def authenticate_operator(self, digest: str) -> Caller:
        """The operator whose token has this digest; Denied where it is another's, or good no more."""
        token = self._good_token(digest)
        if token.role is not Role.OPERATOR:
            raise Denied(
                f"the token {token.name} is of the role {token.role}, and the console is for operators",
                code="token.role",
                hint="log in with an operator's token, or with a link made on the daemon's machine",
            )
        own = read_secret(self._state_root)
        is_own = own is not None and hmac.compare_digest(hash_secret(own), digest)
        return self._with_own_persona(token.caller(), own or "") if is_own else token.caller()

    def invalidate(self) -> None:
        """A token was made, rotated or revoked: nothing that was known before counts any more."""
        with self._lock:
            self._generation += 1
            self._remembered.clear()

    def _with_own_persona(self, caller: Caller, secret: str) -> Caller:
        """The caller; who comes with the operator's token of this state root is its user, and so is an agent
        of it whose token was made before there were personas."""
        if caller.persona_id is not None or not has_agents(self._state_root):
            return caller
        if caller.role is Role.OPERATOR:
            is_own = secret == read_secret(self._state_root)
        else:
            is_own = caller.role is Role.AGENT and is_agent_secret(self._state_root, secret)
        return replace(caller, persona_id=read_persona(self._state_root)) if is_own else caller

    def _good_token(self, digest: str) -> AccessToken:
        with self._store.snapshot() as snapshot:
            token = snapshot.tokens.by_digest(digest)
        if token is None or not hmac.compare_digest(
            token.digest if token.digest == digest else token.previous_digest, digest
        ):
            raise Denied(
                "this is no token of this Runlore",
                code="token.unknown",
                hint="use the secret in operator.token, or one that `runlore token create` has told",
            )
        denial = token.why_not(digest, self._clock.now())
        if denial is not None:
            raise denial
        return token


def token_book(parts: Parts) -> TokenBook:
    return TokenBook(parts.store, parts.clock, is_alone=parts.is_alone, state_root=parts.state_root)


def operator_secret(parts: Parts) -> str:
    """The secret in `operator.token`. Where it is missing, or no good any more, a new token is made."""
    path = os.path.join(parts.state_root, TOKEN_FILE)
    secret = read_secret(parts.state_root)
    if secret is not None and _is_good(parts, secret):
        with suppress(OSError):
            os.chmod(path, 0o600)
        return secret
    made = _make_operator_token(parts)
    write_secret(parts.state_root, made.secret)
    return made.secret


def _is_good(parts: Parts, secret: str) -> bool:
    digest = hash_secret(secret)
    with parts.store.snapshot() as snapshot:
        token = snapshot.tokens.by_digest(digest)
    if token is None or token.why_not(digest, parts.clock.now()) is not None:
        return False
    return token.role is Role.OPERATOR and token.scopes is None


def _make_operator_token(parts: Parts) -> MadeToken:
    """A new operator's token. A name stays with its token for good, so later ones are numbered."""
    for number in range(1, _NAMES_TRIED_MAX + 1):
        now = parts.clock.now()
        name = OPERATOR if number == 1 else f"{OPERATOR}-{number}"
        request = NewToken(name=name, role=Role.OPERATOR)
        made = new_token(request, TokenId(parts.ids.new("tok", now)), Act(actor="daemon", at=now))
        with suppress(Conflict):
            with parts.store.transaction() as tx:
                tx.tokens.insert(made.token)
            if number > 1:
                # They are not revoked: another daemon on the same database may be using them.
                _log.warning(
                    "%s was made for this state root. Earlier operator's tokens of daemons stay good; "
                    "`runlore token list` shows them, and `runlore token revoke NAME` ends one that was lost",
                    name,
                )
            return made
    raise Unavailable(
        f"there are {_NAMES_TRIED_MAX:,} operator's tokens already",
        code="token.file",
        hint=f"put the secret of one of them into {TOKEN_FILE} in the state root",
    )
