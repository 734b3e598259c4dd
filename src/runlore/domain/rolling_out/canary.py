"""Whom a canary is shown to (ROL-4)."""

from hashlib import sha256

from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import PromotedSkill, RolloutStatus

_SHARES = 100


def in_canary(skill: PromotedSkill, session_id: SessionId) -> bool:
    """Whether a session sees a skill that is in canary: it was named, or its id falls into the share.

    The same session is drawn for the same skill again and again, and stays when the share grows.
    """
    if skill.status is not RolloutStatus.CANARY:
        return False
    return session_id in skill.canary.sessions or _draw(skill.name, session_id) < skill.canary.share


def _draw(name: str, session_id: str) -> int:
    """A number from 0 to 99 that a session keeps for a skill, and another one for another skill."""
    data = f"{len(name)}:{name}{session_id}".encode("utf-8", "surrogatepass")
    return int.from_bytes(sha256(data).digest()[:8]) % _SHARES
