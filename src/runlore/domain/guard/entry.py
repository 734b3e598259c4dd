"""The way into the guard. Its rules are loaded with the first text that is looked at: the value types that
refuse secrets are read by commands that store nothing."""

from typing import TYPE_CHECKING

from runlore.domain.errors import Refused
from runlore.domain.guard.finding import SecretFinding
from runlore.domain.lazy import LazyModule

if TYPE_CHECKING:
    from runlore.domain.guard import scan
else:
    scan = LazyModule("runlore.domain.guard.scan")


def find_secrets(text: str) -> tuple[SecretFinding, ...]:
    """Every secret and redaction marker in a text, in order and without overlap."""
    return scan.find_secrets(text)


def first_secret(text: str) -> SecretFinding | None:
    """One finding, when there is any: the first that the scan meets."""
    return scan.first_secret(text)


def redact(text: str) -> tuple[str, int]:
    """The text with every secret replaced by `<redacted:RULE>`, and how many were replaced."""
    return scan.redact(text)


def secret_spans(text: str) -> tuple[SecretFinding, ...]:
    """What `redact` takes out of a text, in order and without overlap: where it stood in the text itself."""
    return scan.secret_spans(text)


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
