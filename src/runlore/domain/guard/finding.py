"""What the guard says about a text: which rule spoke and where, never what was found there."""

from runlore.domain.lazy import dataclass


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """One secret or redaction marker, as a span of the text that was scanned.

    It holds no part of the text, so it can be logged, stored and shown in an error.
    """

    rule: str
    start: int
    end: int


MARKER = "<redacted:"
"""How what stands in place of something that was taken out begins."""

REDACTION_MARKER = "redaction-marker"
"""The one rule that reports something already removed; `redact` leaves its findings alone."""

ASSIGNMENT = "assignment"
"""A credential's name with a value: the rule that gives way to any that knows the value's form."""

UNREAD = "unread"
"""The rest of a text that has more to be judged than any text a person writes."""
