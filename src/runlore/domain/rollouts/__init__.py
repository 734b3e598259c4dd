"""Promoted procedures on their way: what guards each move, and what it makes of a promoted skill.

Every function is pure. One that changes something answers a new value, one revision on, with one event more;
one that changes nothing answers the very value that it was given, so that `is` tells.
"""

from runlore.domain.rollouts.definition import (
    DEFAULT_DESCRIPTION,
    accept_provenance,
    check_definition,
    check_source,
    document_of,
    normalize_definition,
)
from runlore.domain.rollouts.evidence import Unproven, counting, fingerprint, unproven_because
from runlore.domain.rollouts.moves import (
    NextStep,
    advance_promoted,
    create_promoted,
    next_step,
    redefine_promoted,
    revoke_promoted,
    roll_back_promoted,
    rollback_target,
)
from runlore.domain.rollouts.results import Ran, Result, execution_for, in_canary, record_result

__all__ = [
    "DEFAULT_DESCRIPTION",
    "NextStep",
    "Ran",
    "Result",
    "Unproven",
    "accept_provenance",
    "advance_promoted",
    "check_definition",
    "check_source",
    "counting",
    "create_promoted",
    "document_of",
    "execution_for",
    "fingerprint",
    "in_canary",
    "next_step",
    "normalize_definition",
    "record_result",
    "redefine_promoted",
    "revoke_promoted",
    "roll_back_promoted",
    "rollback_target",
    "unproven_because",
]
