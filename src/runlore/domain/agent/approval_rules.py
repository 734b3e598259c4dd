"""What a person has settled about the calls of Runlore's own agent; `approval_decision` decides by it."""

from enum import StrEnum

from runlore.domain.lazy import dataclass


class Stance(StrEnum):
    """What is done with a call that no pattern names."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, kw_only=True)
class ApprovalRules:
    """What a person has settled beforehand: for commands and for files, and patterns of commands.

    `unconfined` is for commands that nothing keeps inside the working folder.
    """

    shell: Stance = Stance.ASK
    writes: Stance = Stance.ALLOW
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    unconfined: Stance = Stance.ASK
