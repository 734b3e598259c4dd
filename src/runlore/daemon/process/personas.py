"""The persona of a state root's user, for which agents here speak."""

import getpass
import logging
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from runlore.daemon.agents_folder import agents_with_token, local_operator, read_persona, write_persona
from runlore.domain.errors import Conflict, RunloreError
from runlore.domain.session import PersonaId
from runlore.ports.operations import Operations, PersonaChange

if TYPE_CHECKING:
    from runlore.daemon.parts import Parts

_NAMES_TRIED_MAX = 100
_log = logging.getLogger(__name__)


def settle_own_persona(parts: "Parts") -> None:
    """Have a persona where agents have tokens and none was made yet: they were connected before there were
    personas. Without one nothing that their hooks report is taken."""
    root = parts.state_root
    if read_persona(root) is not None or not agents_with_token(root):
        return
    try:
        write_persona(root, make_persona(parts.operations(local_operator(root))))
    except (RunloreError, OSError) as error:
        _log.warning("no persona could be made for the agents here: %s", error)


def make_persona(operator: Operations) -> PersonaId:
    """A persona that nobody else has, by the name of the user. On a team's database another may have it."""
    try:
        user = re.sub(r"[^a-z0-9]+", "-", getpass.getuser().lower()).strip("-")
    except (KeyError, OSError):
        user = ""
    for number in range(1, _NAMES_TRIED_MAX + 1):
        name = (user or "user") if number == 1 else f"{user or 'user'}-{number}"
        with suppress(Conflict):
            operator.put_persona(PersonaChange(persona_id=PersonaId(name), name=user, expected_revision=0))
            return PersonaId(name)
    raise Conflict(
        f"there are {_NAMES_TRIED_MAX} personas by the name of {user} already",
        code="persona.taken",
        hint="name the one that is yours with --persona; `runlore session persona list` shows them",
    )
