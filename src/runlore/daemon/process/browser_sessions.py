"""Logins from a browser: with an operator's token, with a code that whoever owns the state root has made, or
with what a provider of OpenID Connect says of a person.

A session has two secrets: the browser keeps one in a cookie that no script reads, the page keeps the other,
the CSRF token, and sends it with every call. One alone is good for nothing: a foreign page sends the cookie
without the token, and another server on this machine is sent the cookie, which browsers share between ports,
and never the token. Their digests are kept in a file, so that a new start of the daemon ends no session.
"""

import hmac
import json
import os
import re
import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeGuard

from runlore.atomic_write import atomic_write
from runlore.daemon.process.tokens import TokenBook
from runlore.daemon.token_file import read_secret
from runlore.domain.access import Caller, hash_secret
from runlore.domain.errors import Denied, RunloreError, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.timestamps import format_time, parse_time
from runlore.ports.clock import Clock
from runlore.regular_file import open_regular

if TYPE_CHECKING:
    from runlore.daemon.process.openid import OpenId

SESSIONS_FILE = "browser-sessions.json"
CODE_FILE = "browser-code.json"
KEY_HEADER = "runlore-page-key"
SESSION_S = 12 * 3_600
CODE_S = 120
_SESSIONS_MAX = 100
_SECRET_BYTES = 32
_FILE_BYTES_MAX = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")
# Whoever put a link or a pipe there has something in mind: neither is followed, neither holds us up.


@dataclass(frozen=True, kw_only=True)
class BrowserSession:
    """What is kept of a session: digests of its two secrets and of its token, or who has logged in without
    one, and its end."""

    cookie: str
    key: str
    token: str
    expires_at: datetime
    person: str = ""


@dataclass(frozen=True, kw_only=True)
class Login:
    """A new session with its secrets, which are told this once."""

    cookie: str
    key: str
    caller: Caller
    expires_at: datetime


def cookie_name(server: tuple[str, int | None] | None) -> str:
    """The cookie of a daemon that listens there: browsers share cookies between the ports of a host."""
    return f"runlore_{server[1]}" if server and server[1] else "runlore"


class BrowserSessions:
    """The sessions of one state root."""

    def __init__(
        self, tokens: TokenBook, clock: Clock, state_root: str, openid: "OpenId | None" = None
    ) -> None:
        self._tokens = tokens
        self.openid = openid
        self._clock = clock
        self._state_root = state_root
        self._path = os.path.join(state_root, SESSIONS_FILE)
        self._lock = threading.Lock()
        self._known: dict[str, BrowserSession] | None = None

    def log_in(self, secret: str) -> Login:
        """A session for whoever has an operator's token."""
        return self._begin(hash_secret(secret))

    def log_in_with_code(self, code: str) -> Login:
        """A session for whoever was given the code; it is good once."""
        with self._lock:
            self._use_code(code)
        own = read_secret(self._state_root)
        return self._begin(hash_secret(own or ""))

    def log_in_as(self, person: str) -> Login:
        """A session for somebody of whom the provider has just told who they are."""
        return self._begin(person=person)

    def authenticate(self, cookie: str, key: str) -> Caller:
        """Whose session this is. A token that was revoked takes its sessions along."""
        with self._lock:
            found = self._sessions().get(hash_secret(cookie))
        now = self._clock.now()
        # One that ends later than any that could begin now was made by a clock that has been set back.
        is_now = found is not None and now < found.expires_at <= now + timedelta(seconds=SESSION_S)
        if found is None or not is_now or not hmac.compare_digest(found.key, hash_secret(key)):
            raise _session_over()
        return self._caller(found.token, found.person)

    def log_out(self, cookie: str, key: str) -> None:
        """End a session; one that has ended already stays so."""
        with self._lock:
            sessions = self._sessions()
            found = sessions.get(hash_secret(cookie))
            if found is not None and hmac.compare_digest(found.key, hash_secret(key)):
                self._keep({name: each for name, each in sessions.items() if each is not found})

    def _caller(self, digest: str, person: str) -> Caller:
        """Who that is by now: a token may have been revoked, and a person taken off the list."""
        if not person:
            return self._tokens.authenticate_operator(digest)
        if self.openid is None or person not in self.openid.settings.people:
            raise _session_over()
        return self.openid.caller(person)

    def _begin(self, digest: str = "", person: str = "") -> Login:
        caller = self._caller(digest, person)
        cookie, key = (secrets.token_urlsafe(_SECRET_BYTES) for _ in range(2))
        now = self._clock.now()
        expires_at = now + timedelta(seconds=SESSION_S)
        made = BrowserSession(
            cookie=hash_secret(cookie),
            key=hash_secret(key),
            token=digest,
            expires_at=expires_at,
            person=person,
        )
        with self._lock:
            alive = [each for each in self._sessions().values() if each.expires_at > now]
            self._keep({each.cookie: each for each in [*alive[-_SESSIONS_MAX + 1 :], made]})
        return Login(cookie=cookie, key=key, caller=caller, expires_at=expires_at)

    def _sessions(self) -> Mapping[str, BrowserSession]:
        if self._known is None:
            told = _read(self._path).get("sessions", [])
            read = [_session(each) for each in told] if isinstance(told, list) else []
            self._known = {each.cookie: each for each in read if each is not None}
        return self._known

    def _keep(self, sessions: dict[str, BrowserSession]) -> None:
        told = [{**asdict(each), "expires_at": format_time(each.expires_at)} for each in sessions.values()]
        try:
            _write(self._path, {"sessions": told})
        except OSError as error:
            raise _unwritable(SESSIONS_FILE, error) from None
        self._known = sessions

    def _use_code(self, code: str) -> None:
        path = os.path.join(self._state_root, CODE_FILE)
        kept = _read(path)
        digest = kept.get("digest")
        is_right = _is_digest(digest) and hmac.compare_digest(digest, hash_secret(code))
        if is_right:
            # Used up before it is good for anything: whoever dies here asks for another one.
            try:
                os.unlink(path)
            except OSError as error:
                raise _unwritable(CODE_FILE, error) from None
        if not is_right or str(kept.get("expires_at", "")) <= format_time(self._clock.now()):
            raise Denied(
                "this link is no good: it was used, or is too old",
                code="session.code",
                hint="ask for a new one; it is good once, for two minutes",
            )


def make_code(state_root: str, now: datetime) -> str:
    """A code that logs in once, soon; one that was made before is good no more."""
    code = secrets.token_urlsafe(_SECRET_BYTES)
    expires_at = format_time(now + timedelta(seconds=CODE_S))
    told = {"digest": hash_secret(code), "expires_at": expires_at}
    _write(os.path.join(state_root, CODE_FILE), told)
    return code


def _session(told: object) -> BrowserSession | None:
    """A session as the file has it; None where somebody has written something else there."""
    if not isinstance(told, dict):
        return None
    cookie, key, token = told.get("cookie"), told.get("key"), told.get("token")
    person = told.get("person", "")
    with suppress(RunloreError):
        if _is_digest(cookie) and _is_digest(key) and (_is_digest(token) or (token == "" and person)):
            expires_at = parse_time(str(told.get("expires_at")))
            return BrowserSession(
                cookie=cookie, key=key, token=token, expires_at=expires_at, person=str(person)
            )
    return None


def _session_over() -> Denied:
    return Denied(
        "this session has ended, or never was",
        code="session.ended",
        hint="log in again, with an operator's token or a new link",
    )


def _is_digest(told: object) -> TypeGuard[str]:
    return isinstance(told, str) and _DIGEST.fullmatch(told) is not None


def _read(path: str) -> dict[str, object]:
    """A small file of ours; empty where it is missing, another user's, or holds something else: nobody is
    logged in then."""
    with suppress(OSError, ValueError, RecursionError), open_regular(path) as file:
        if os.fstat(file.fileno()).st_uid == os.geteuid():
            told = json.loads(file.read(_FILE_BYTES_MAX))
            if isinstance(told, dict):
                return told
    return {}


def _unwritable(name: str, error: OSError) -> Unavailable:
    return Unavailable(
        f"{name} in the state root cannot be written: {error.strerror or error}",
        code="session.file",
        hint="see to it that this user can write to the state root, and that there is room",
    )


def _write(path: str, told: Mapping[str, object]) -> None:
    text = json.dumps(told).encode()
    atomic_write(path, text)
