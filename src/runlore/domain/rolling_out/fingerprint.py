"""The fingerprint of a definition (ROL-5): what evidence is bound to."""

import json
from hashlib import sha256

from runlore.domain.skills.rollout import Definition, Runtime


def fingerprint(definition: Definition) -> str:
    """A SHA-256 over all that an agent sees of a skill, and how it is run.

    Every part has its label and its length in front, so that no text can pass for another one's neighbour.
    """
    parts = (
        ("name", definition.name),
        ("description", definition.description),
        ("when_to_use", definition.when_to_use),
        ("version", definition.version),
        ("instructions", definition.instructions.strip()),
        ("runtime", _compact(definition.runtime)),
    )
    found = sha256()
    for label, text in parts:
        data = text.encode()
        found.update(f"{label}:{len(data)}:".encode())
        found.update(data)
    return found.hexdigest()


def _compact(runtime: Runtime) -> str:
    plain = {
        "context": runtime.context.value,
        "agent_profile": runtime.agent_profile,
        "allowed_tools": list(runtime.allowed_tools),
        "blocked_tools": list(runtime.blocked_tools),
        "provider": runtime.provider,
        "model": runtime.model,
        "fallback_model": runtime.fallback_model,
    }
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
