"""Which Runlore a command talks to: one at an address, the daemon of the state root, or none but itself.

A daemon that starts holds the lock before its socket is there, and one that ends takes its socket away before
it lets go of the lock. So both are looked at, again and again, for as long as an embedded command would wait.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from runlore.config.settings import TOKEN_VARIABLE, Settings, read_settings
from runlore.domain import limits
from runlore.domain.errors import Denied, Invalid, Unavailable

if TYPE_CHECKING:
    from runlore.client.transport import Transport
    from runlore.ports.operations import Operations

TOKEN_FILE = "operator.token"
_TOKEN_BYTES_MAX = 500
_POLL_S = 0.02
# A daemon that starts on a busy machine, or builds its index first, takes its time.
_STARTING_S = 30.0


def choose_settings(
    *, home: str | None, url: str | None, token_file: str | None, environment: Mapping[str, str]
) -> Settings:
    """The settings of a command. Its own words count before the environment, `--home` before RUNLORE_URL."""
    settings = read_settings(home=home, environment=environment)
    address = url if url is not None or home is not None else settings.url
    if address is None:
        if token_file is not None:
            raise Invalid(
                "--token-file is for a Runlore at an address, and none is named",
                code="url.missing",
                hint="give --url too; the daemon of a state root is reached with its own token",
            )
        return replace(settings, url=None, token=None)
    token = read_token_file(token_file) if token_file is not None else (settings.token or "").strip()
    return replace(settings, url=address, token=token or None)


@contextmanager
def open_operations(
    settings: Settings, *, mounts_follow: bool = True, works_last: bool = True, learns_s: float | None = None
) -> Iterator["Operations"]:
    """The operations: over HTTP, through the socket of the daemon, or embedded where there is neither: then
    mounted skills are brought up to date last, unless somebody only wants to look, background work is done,
    unless it is opened again soon (not `works_last`), and with `learns_s` skills are learned here."""
    transport = (
        _daemon(settings.state_root) if settings.url is None else connect_to_url(settings.url, settings.token)
    )
    with ExitStack() as opened:
        if transport is None:
            from runlore.daemon.wiring import open_embedded

            embedded = open_embedded(
                settings, mounts_follow=mounts_follow, works_last=works_last, learns_s=learns_s
            )
            # Loading that took a while, in which a daemon may have begun to start.
            transport = _daemon(settings.state_root)
            if transport is None:
                try:
                    operations = opened.enter_context(embedded)
                except Unavailable as held:
                    transport = _daemon(settings.state_root) if held.code == "store.locked" else None
                    if transport is None:
                        raise
                else:
                    yield operations
                    return
        from runlore.client.remote import RemoteOperations

        opened.callback(transport.close)
        yield RemoteOperations(transport)


def is_embedded(settings: Settings) -> bool:
    """Whether a command works on the state root itself: no address is set, and no daemon has a socket."""
    from runlore.daemon.process.sockets import socket_path

    return settings.url is None and not os.path.exists(socket_path(settings.state_root))


def connect_to_url(url: str, token: str | None) -> "Transport":
    from runlore.client.addresses import transport_to

    if token is None:
        raise Denied(
            f"there is no token for the Runlore at the address: {TOKEN_VARIABLE} is not set",
            code="token.missing",
            hint=f"set {TOKEN_VARIABLE}, or give --token-file with a file that holds the token alone",
        )
    return transport_to(url, token=token)


def _daemon(state_root: str) -> "Transport | None":
    """A connection to the daemon; None as soon as nobody holds the state root."""
    from runlore.daemon.process.daemon_lock import has_daemon, lock_refusal

    began = time.monotonic()
    while True:
        transport = connect_to_daemon(state_root)
        if transport is not None:
            return transport
        is_starting = has_daemon(state_root)
        held = lock_refusal(state_root)
        if held is None and not is_starting:
            return None
        if time.monotonic() - began >= (_STARTING_S if is_starting else limits.LOCK_WAIT_S):
            raise held or Unavailable(
                f"a daemon of {state_root} is starting or ending",
                code="daemon.busy",
                hint="try again in a moment; `runlore logs` shows what it does",
            )
        time.sleep(_POLL_S)


def connect_to_daemon(state_root: str, secret: str | None = None) -> "Transport | None":
    """A connection to the daemon of a state root with a token's secret, the operator's where none is given;
    None where no daemon answers."""
    from runlore.client.transport import Transport, unix_connect
    from runlore.daemon.process.sockets import socket_path

    path = socket_path(state_root)
    if not os.path.exists(path):
        return None
    token_file = os.path.join(state_root, TOKEN_FILE)
    try:
        owner = os.stat(token_file).st_uid
    except OSError:
        owner = os.geteuid()
    transport = Transport(
        unix_connect(path, owner=owner), where=f"the daemon of {state_root}", host="runlore", token=None
    )
    try:
        transport.open()
    except Unavailable:
        # What a dead daemon left behind.
        return None
    try:
        transport.authorise(secret or read_token_file(token_file))
    except BaseException:
        transport.close()
        raise
    return transport


def read_token_file(path: str) -> str:
    """The secret in a file that holds a token alone."""
    try:
        with open(path, encoding="utf-8") as file:
            secret = file.read(_TOKEN_BYTES_MAX + 1).strip()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise Denied(
            f"the token in {path} cannot be read: {why}",
            code="token.file",
            hint="name a file that holds the token alone and that this user can read",
        ) from None
    if not secret or len(secret) > _TOKEN_BYTES_MAX or "\n" in secret:
        raise Invalid(
            f"{path} does not hold a token alone",
            code="token.file",
            hint="write the secret that `runlore token create` told into it, and nothing else",
        )
    return secret
