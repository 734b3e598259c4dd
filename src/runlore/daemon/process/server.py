"""The daemon's life: the plan of where it listens, and what it holds meanwhile.

The web server itself is started by a surface (`api.serve`), which is handed a `Service`.
"""

import ipaddress
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runlore.config.server import ServerSettings
from runlore.config.settings import Settings
from runlore.daemon.boot import boot_daemon
from runlore.daemon.clean_shutdown import note_clean_shutdown
from runlore.daemon.parts import Parts
from runlore.daemon.process.browser_sessions import BrowserSessions
from runlore.daemon.process.personas import settle_own_persona
from runlore.daemon.process.tokens import TokenBook, operator_secret, token_book
from runlore.daemon.wiring import open_parts
from runlore.domain.errors import INDEX_BUILDING, Invalid, RunloreError, Unavailable
from runlore.domain.lazy import LazyModule

if TYPE_CHECKING:
    from runlore.daemon.process import openid
else:
    openid = LazyModule("runlore.daemon.process.openid")

INCOMING_FOLDER = "incoming"
GRACE_S = 10
# After these the store acknowledges no write any more, until it is opened again.
_STOPPED = frozenset({"store.io", "store.damaged"})
# Behind this one a new start may help, and only that.
DISK_FAILED = "store.io"
_PROBE_S = 1.0


@dataclass(frozen=True)
class Plan:
    """What to serve, and where to listen. It has been checked."""

    settings: Settings

    @property
    def state_root(self) -> str:
        return self.settings.state_root

    @property
    def server(self) -> ServerSettings:
        return self.settings.server


def make_plan(settings: Settings, *, host: str | None = None, port: int | None = None) -> Plan:
    """The plan of a daemon. Beyond this machine it speaks TLS or not at all."""
    server = settings.server
    server = replace(
        server, host=server.host if host is None else host, port=server.port if port is None else port
    )
    if bool(server.tls_certificate) != bool(server.tls_key):
        raise Invalid(
            "a TLS certificate needs its key, and a key its certificate",
            code="server.tls",
            hint="set both tls_certificate and tls_key in [server] of config.toml",
        )
    if server.tcp and not is_loopback(server.host) and not server.tls_certificate:
        raise Invalid(
            f"listening on {server.host} reaches beyond this machine, and needs TLS",
            code="server.tls",
            hint="set tls_certificate and tls_key in [server] of config.toml, or listen on 127.0.0.1",
        )
    for path in filter(None, (server.tls_certificate, server.tls_key)):
        if not os.access(path, os.R_OK):
            raise Invalid(
                f"{path} cannot be read", code="server.tls", hint="name PEM files that this user can read"
            )
    return Plan(replace(settings, server=server))


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _reasons(failure: RunloreError | None) -> tuple[str, ...]:
    return () if failure is None else (failure.with_code,)


class Health:
    """Whether the daemon can do its work, and why not."""

    def __init__(self, parts: Parts, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._parts = parts
        self._elapsed = elapsed
        self._asking = threading.Lock()
        self._asked: tuple[float, RunloreError | None] | None = None
        self._stopping = False
        self._is_ready = False

    def ready(self) -> None:
        self._is_ready = True

    def stop(self) -> None:
        """It serves what it has begun, and nothing new."""
        self._stopping = True

    def is_stopping(self) -> bool:
        return self._stopping

    def reasons(self) -> tuple[str, ...]:
        """Why it is not ready; nothing when it is."""
        asked = self._asked
        reasons = self.recent_reasons()
        if reasons is not None:
            return reasons
        with self._asking:
            if self._asked is asked:
                self._asked = (self._elapsed(), self.failure() or self._building())
            return _reasons(self._asked[1] if self._asked else None)

    def recent_reasons(self) -> tuple[str, ...] | None:
        """As `reasons`, where the store need not be asked. It is asked at most once a second: probes need no
        token, and keep no writer waiting."""
        if self._stopping:
            return ("the daemon is stopping",)
        if not self._is_ready:
            return ("the daemon is starting",)
        asked = self._asked
        if asked is None or not (self._elapsed() - asked[0] < _PROBE_S or self._asking.locked()):
            return None
        return _reasons(asked[1])

    def failure(self) -> RunloreError | None:
        """What keeps the store from accepting writes. A transaction that writes nothing finds out, and ends
        a wait for room; whether there is room for something new the store knows."""
        try:
            with self._parts.store.transaction():
                pass
        except RunloreError as error:
            return error
        return self._parts.store.refusal()

    def _building(self) -> RunloreError | None:
        """What searches do not know all of yet."""
        if not any(follower.is_behind() for follower in self._parts.followers):
            return None
        return Unavailable(
            "the search index is being built: searches answer with what it has so far",
            code=INDEX_BUILDING,
            hint="ask again in a few seconds; what is stored is safe",
        )

    def refusal_code(self) -> str:
        """The code of what keeps writes from being accepted, as far as that is known by now; else nothing."""
        refusal = self._parts.store.refusal()
        return "" if refusal is None else refusal.code

    def has_stopped_writing(self) -> bool:
        """Whether only a new start can make the store write again."""
        failure = self.failure()
        return failure is not None and failure.code in _STOPPED


@dataclass(frozen=True, kw_only=True)
class Service:
    """What a surface of the daemon needs: the parts, who may call, and whether all is well."""

    parts: Parts
    server: ServerSettings
    tokens: TokenBook
    browsers: BrowserSessions
    health: Health

    @property
    def incoming(self) -> str:
        """A private folder for what is being received."""
        folder = os.path.join(self.parts.state_root, INCOMING_FOLDER)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return folder


def service(parts: Parts, server: ServerSettings) -> Service:
    tokens = token_book(parts)
    provider = openid.OpenId(server.openid) if server.openid else None
    browsers = BrowserSessions(tokens, parts.clock, parts.state_root, provider)
    return Service(parts=parts, server=server, tokens=tokens, browsers=browsers, health=Health(parts))


@contextmanager
def open_service(plan: Plan) -> Iterator[Service]:
    """What a daemon holds while it serves: its store, in order after the boot, and the operator's token."""
    try:
        parts = open_parts(plan.settings)
    except Unavailable as error:
        raise _in_use(plan.state_root) if error.code == "store.locked" else error from None
    try:
        boot_daemon(parts)
        operator_secret(parts)
        settle_own_persona(parts)
        # What a daemon that died was receiving is of no use to anybody.
        shutil.rmtree(os.path.join(plan.state_root, INCOMING_FOLDER), ignore_errors=True)
        yield service(parts, plan.server)
        parts.agent.close()
        note_clean_shutdown(parts)
    finally:
        parts.close()


def _in_use(state_root: str) -> Unavailable:
    return Unavailable(
        f"{state_root} is in use by another command",
        code="store.locked",
        hint="wait for it to end, then start the daemon again",
    )
