"""Refusing a text that has to stay as it is, such as an id: with a secret in it, it is not taken at all."""

from runlore.domain.errors import Refused
from runlore.domain.guard import first_secret


def without_secret(name: str, text: str) -> str:
    """The text; Refused where it looks like it holds a secret. The message never repeats it."""
    finding = first_secret(text)
    if finding is not None:
        raise Refused(
            f"{name} looks like it holds a secret ({finding.rule}); nothing was stored",
            code="guard.secret",
            hint="use another that holds none",
        )
    return text
