"""Errors as problem documents (RFC 9457), and back: the same class, code, sentence and hint on both sides."""

from runlore.daemon.answers.shapes import reader
from runlore.domain.errors import (
    Conflict,
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    Refused,
    RunloreError,
    Unavailable,
)
from runlore.domain.record import JsonValue
from runlore.domain.representation import Plain, as_object, as_text

# The title tells the classes apart that share a status: 422 is Invalid or Refused, 500 Corrupt or unforeseen.
_CLASSES: tuple[type[RunloreError], ...] = (
    Invalid,
    Refused,
    Denied,
    NotFound,
    Conflict,
    Unavailable,
    Corrupt,
    RunloreError,
)
_BY_TITLE = {kind.title: kind for kind in _CLASSES}


def problem(error: RunloreError, status: int) -> Plain:
    """The problem document of an error (RFC 9457), with its stable code and hint."""
    return {
        "type": f"urn:runlore:error:{error.code}",
        "title": error.title,
        "status": status,
        "code": error.code,
        "detail": error.sentence,
        "hint": error.hint,
    }


@reader
def problem_from_plain(plain: JsonValue) -> RunloreError:
    """The error that a problem document tells of."""
    fields = as_object(plain)
    kind = _BY_TITLE[as_text(fields["title"])]
    return kind(as_text(fields["detail"]), code=as_text(fields["code"]), hint=as_text(fields["hint"]))
