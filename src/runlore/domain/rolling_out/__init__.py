"""Promoted procedures on their way: what guards each move, and what it makes of a promoted skill.

Every function is pure. One that changes something answers a new value, one revision on, with one event more;
one that changes nothing answers the very value that it was given, so that `is` tells.
"""

from runlore.domain.rolling_out.advancing import advanced
from runlore.domain.rolling_out.canary import in_canary
from runlore.domain.rolling_out.defining import (
    DEFAULT_DESCRIPTION,
    accepted_provenance,
    check_definition,
    check_source,
    defined,
)
from runlore.domain.rolling_out.document import document_of
from runlore.domain.rolling_out.ending import revoked, rollback_target, rolled_back
from runlore.domain.rolling_out.fingerprint import fingerprint
from runlore.domain.rolling_out.going_on import NextStep, next_step
from runlore.domain.rolling_out.promoting import promoted, redefined
from runlore.domain.rolling_out.proving import Unproven, counting, unproven_because
from runlore.domain.rolling_out.recording import Ran, Result, execution_for, recorded

__all__ = [
    "DEFAULT_DESCRIPTION",
    "NextStep",
    "Ran",
    "Result",
    "Unproven",
    "accepted_provenance",
    "advanced",
    "check_definition",
    "check_source",
    "counting",
    "defined",
    "document_of",
    "execution_for",
    "fingerprint",
    "in_canary",
    "next_step",
    "promoted",
    "recorded",
    "redefined",
    "revoked",
    "rollback_target",
    "rolled_back",
    "unproven_because",
]
