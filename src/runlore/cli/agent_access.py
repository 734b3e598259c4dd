"""An agent's own way to the daemon of a state root: a token with the role `agent`, kept in a private file and
bound to the persona of whoever the state root belongs to.

The daemon is started where none runs. The operator's token makes the agent's once, and is not used again.
"""

import os
from contextlib import suppress
from dataclasses import replace

from runlore.atomic_write import atomic_write
from runlore.client.connect import connect_to_daemon, read_token_file
from runlore.client.remote import RemoteOperations
from runlore.client.transport import Transport
from runlore.config.settings import Settings
from runlore.daemon.agents_folder import agents_with_token, read_persona, token_path, write_persona
from runlore.daemon.process.personas import make_persona
from runlore.daemon.process.sockets import is_listening, socket_path
from runlore.domain.access import Role
from runlore.domain.errors import Conflict, Denied, NotFound, Unavailable
from runlore.domain.session import PersonaId
from runlore.ports.operations import MadeToken, NewToken, Operations, PersonaChange

_NAMES_TRIED_MAX = 100


def start_daemon(settings: Settings) -> None:
    if is_listening(socket_path(settings.state_root)):
        return
    from runlore.cli.background import start_detached
    from runlore.cli.service import on_a_port
    from runlore.cli.terminal import progress_bar
    from runlore.daemon.process.logs import log_path

    log = log_path(settings.state_root)
    with progress_bar("Starting Runlore in the background"):
        on_a_port(replace(settings, url=None), lambda where: start_detached(where, log), is_given=False)


def connect_as_agent(settings: Settings, agent: str) -> Transport:
    """A connection with the agent's token; one that is lost, revoked or somebody else's is made anew."""
    path = token_path(settings.state_root, agent)
    start_daemon(settings)
    persona_id = read_persona(settings.state_root)
    try:
        if persona_id is not None and _read_note(path)[1:] != [persona_id]:
            raise Denied(f"the token of {agent} is bound to no persona", code="token.persona")
        transport = _connect(settings, read_token_file(path))
        # Any call tells whether the token is still good.
        RemoteOperations(transport).states()
    except Denied:
        _make_token(settings, agent, path)
        transport = _connect(settings, read_token_file(path))
    return transport


def settle_persona(settings: Settings, wanted: str | None) -> PersonaId:
    """The persona of this state root's user: the one that is wanted, else the one that there is, else a new
    one. Agents that have a token get one for it."""
    present = read_persona(settings.state_root)
    if present is not None and wanted in (None, present):
        return present
    transport = connect_as_operator(settings)
    try:
        operator = RemoteOperations(transport)
        persona_id = make_persona(operator) if wanted is None else _take_persona(operator, wanted)
    finally:
        transport.close()
    write_persona(settings.state_root, persona_id)
    for agent in agents_with_token(settings.state_root):
        connect_as_agent(settings, agent).close()
    return persona_id


def _take_persona(operator: Operations, wanted: str) -> PersonaId:
    with suppress(Conflict):
        operator.put_persona(PersonaChange(persona_id=PersonaId(wanted), expected_revision=0))
    return PersonaId(wanted)


def connect_as_operator(settings: Settings) -> Transport:
    start_daemon(settings)
    return _connect(settings, None)


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
    """A new token, in the place of the one before. A name stays with its token for good, so later ones are
    numbered.

    Its name is noted before it is made: one whose secret was never written is revoked by the next attempt.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    transport = connect_as_operator(settings)
    try:
        operator = RemoteOperations(transport)
        for name in _read_note(path)[:1]:
            with suppress(NotFound):
                operator.revoke_token(name)
        made = _create_token(operator, agent, path, read_persona(settings.state_root))
    finally:
        transport.close()
    atomic_write(path, f"{made.secret}\n".encode())


def _read_note(path: str) -> list[str]:
    """The name of the token in a file, and the persona that it is bound to, where it is bound to one."""
    try:
        with open(f"{path}.name", encoding="utf-8") as file:
            return file.read().split("\n")
    except (OSError, ValueError):
        return []


def _create_token(operator: Operations, agent: str, path: str, persona_id: PersonaId | None) -> MadeToken:
    taken = {token.name for token in operator.list_tokens()}
    for number in range(1, _NAMES_TRIED_MAX + 1):
        name = agent if number == 1 else f"{agent}-{number}"
        if name in taken:
            continue
        note = "\n".join(filter(None, (name, persona_id))).encode()
        atomic_write(f"{path}.name", note)
        try:
            return operator.create_token(NewToken(name=name, role=Role.AGENT, persona_id=persona_id))
        except Conflict:
            os.unlink(f"{path}.name")
    raise Conflict(
        f"there are {_NAMES_TRIED_MAX} tokens of {agent} already",
        code="token.taken",
        hint="`runlore token list` shows them",
    )
