"""An agent's own way to the daemon of a state root: a token with the role `agent`, kept in a private file.

The daemon is started where none runs. The operator's token makes the agent's once, and is not used again.
"""

import os
import re
from contextlib import suppress
from dataclasses import replace

from runlore.atomic_write import atomic_write
from runlore.cli.connect import connect_to_daemon, read_token_file
from runlore.client.remote import RemoteOperations
from runlore.client.transport import Transport
from runlore.config.settings import Settings
from runlore.daemon.process.sockets import is_listening, socket_path
from runlore.domain.access import Role
from runlore.domain.errors import Conflict, Denied, Invalid, NotFound, Unavailable
from runlore.ports.operations import MadeToken, NewToken, Operations

FOLDER = "agents"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
_NAMES_TRIED_MAX = 100


def start_daemon(settings: Settings) -> None:
    """See to it that a daemon of the state root listens."""
    if is_listening(socket_path(settings.state_root)):
        return
    from runlore.cli.background import start_detached
    from runlore.cli.service import on_a_port
    from runlore.daemon.process.logs import log_path

    log = log_path(settings.state_root)
    on_a_port(replace(settings, url=None), lambda where: start_detached(where, log), is_given=False)


def connect_as_agent(settings: Settings, agent: str) -> Transport:
    """A connection with the agent's token; a token that is lost or revoked is made anew."""
    path = token_path(settings.state_root, agent)
    start_daemon(settings)
    try:
        transport = _connect(settings, read_token_file(path))
        # Any call tells whether the token is still good.
        RemoteOperations(transport).states()
    except Denied:
        _make_token(settings, agent, path)
        transport = _connect(settings, read_token_file(path))
    return transport


def connect_as_operator(settings: Settings) -> Transport:
    """A connection with the operator's token."""
    start_daemon(settings)
    return _connect(settings, None)


def token_path(state_root: str, agent: str) -> str:
    """The file of an agent's token."""
    if not _NAME.fullmatch(agent):
        raise Invalid(
            f"{agent[:80]!r} is no name for an agent",
            code="mcp.agent",
            hint="use small letters, digits and hyphens, such as claude-code",
        )
    return os.path.join(state_root, FOLDER, f"{agent}.token")


def _connect(settings: Settings, secret: str | None) -> Transport:
    transport = connect_to_daemon(settings.state_root, secret)
    if transport is None:
        raise Unavailable(
            f"the daemon of {settings.state_root} does not answer",
            code="daemon.unreachable",
            hint="`runlore logs` may tell why; `runlore up --detach` starts it",
        )
    return transport


def _make_token(settings: Settings, agent: str, path: str) -> None:
    """A new token. A name stays with its token for good, so later ones are numbered.

    Its name is noted before it is made: one whose secret was never written is revoked by the next attempt.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    note = f"{path}.name"
    transport = connect_as_operator(settings)
    try:
        operator = RemoteOperations(transport)
        with suppress(FileNotFoundError), open(note, encoding="utf-8") as file, suppress(NotFound):
            operator.revoke_token(file.read())
        made = _create_token(operator, agent, note)
    finally:
        transport.close()
    atomic_write(path, lambda file: file.write(f"{made.secret}\n".encode()))
    os.unlink(note)


def _create_token(operator: Operations, agent: str, note: str) -> MadeToken:
    taken = {token.name for token in operator.list_tokens()}
    for number in range(1, _NAMES_TRIED_MAX + 1):
        name = agent if number == 1 else f"{agent}-{number}"
        if name in taken:
            continue
        atomic_write(note, lambda file, name=name: file.write(name.encode()))  # type: ignore[misc]
        try:
            return operator.create_token(NewToken(name=name, role=Role.AGENT))
        except Conflict:
            os.unlink(note)
    raise Conflict(
        f"there are {_NAMES_TRIED_MAX} tokens of {agent} already",
        code="token.taken",
        hint="`runlore token list` shows them",
    )
