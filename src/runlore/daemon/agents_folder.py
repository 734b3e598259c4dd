"""The folder of a state root that is about connected agents: whose they are, a token for each, what was
changed to connect it, and when it last reported."""

import json
import os
import re
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from runlore.atomic_write import atomic_write
from runlore.domain import limits
from runlore.domain.access import LOCAL_OPERATOR, Caller
from runlore.domain.errors import Invalid
from runlore.domain.session import PersonaId
from runlore.domain.text.safe_text import is_storable
from runlore.domain.timestamps import from_milliseconds
from runlore.hook import AGENTS_FOLDER

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
_TOKEN = ".token"
_SECRET_CHARS_MAX = 500


def has_agents(state_root: str) -> bool:
    """Whether anything here is about agents: without it nothing that knows of them need be loaded."""
    return os.path.isdir(os.path.join(state_root, AGENTS_FOLDER))


def token_path(state_root: str, agent: str) -> str:
    if not _NAME.fullmatch(agent):
        raise Invalid(
            f"{agent[:80]!r} is no name for an agent",
            code="mcp.agent",
            hint="use small letters, digits and hyphens, such as claude-code",
        )
    return os.path.join(state_root, AGENTS_FOLDER, agent + _TOKEN)


def agents_with_token(state_root: str) -> list[str]:
    return [name.removesuffix(_TOKEN) for name in _list_names(state_root) if name.endswith(_TOKEN)]


def is_agent_secret(state_root: str, secret: str) -> bool:
    """Whether the token of an agent that was connected here has this secret."""
    for agent in agents_with_token(state_root):
        path = os.path.join(state_root, AGENTS_FOLDER, agent + _TOKEN)
        with suppress(OSError, ValueError), open(path, encoding="ascii") as file:
            if file.read(_SECRET_CHARS_MAX).strip() == secret:
                return True
    return False


def persona_path(state_root: str) -> str:
    return os.path.join(state_root, AGENTS_FOLDER, "persona")


def read_persona(state_root: str) -> PersonaId | None:
    """The persona of this state root's user: agents speak for it, and so does the operator."""
    try:
        with open(persona_path(state_root), encoding="utf-8") as file:
            text = file.read(limits.ID_CHARS_MAX + 1).strip()
    except (OSError, ValueError):
        return None
    return PersonaId(text) if text and len(text) <= limits.ID_CHARS_MAX and is_storable(text) else None


def write_persona(state_root: str, persona_id: PersonaId) -> None:
    path = persona_path(state_root)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    atomic_write(path, f"{persona_id}\n".encode())


def local_operator(state_root: str) -> Caller:
    """Who owns this state root, as the persona that agents here are bound to."""
    return replace(LOCAL_OPERATOR, persona_id=read_persona(state_root))


def read_records(state_root: str) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for name in _list_names(state_root):
        if name.endswith(".json"):
            path = os.path.join(state_root, AGENTS_FOLDER, name)
            with suppress(OSError, ValueError), open(path, "rb") as file:
                found[name.removesuffix(".json")] = dict(json.load(file))
    return found


def report_path(state_root: str, agent: str) -> str:
    return os.path.join(state_root, AGENTS_FOLDER, f"{agent}.reported")


def last_report(state_root: str, agent: str) -> datetime | None:
    return _changed_at(report_path(state_root, agent))


def last_loss(state_root: str, agent: str) -> datetime | None:
    """When a report was last left out: it was too large, too many waited for a daemon, or the
    daemon refused it or its token."""
    return _changed_at(os.path.join(state_root, AGENTS_FOLDER, f"{agent}.lost"))


def _changed_at(path: str) -> datetime | None:
    try:
        return from_milliseconds(int(os.stat(path).st_mtime * 1000))
    except OSError:
        return None


def _list_names(state_root: str) -> list[str]:
    try:
        return sorted(os.listdir(os.path.join(state_root, AGENTS_FOLDER)))
    except OSError:
        return []
