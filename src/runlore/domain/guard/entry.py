"""The way into the guard. Its rules are loaded with the first text that is looked at: the value types that
refuse secrets are read by commands that store nothing.

The same short texts come again and again: names, paths, ids. Those in which nothing was found are known by a
digest, so that no text is kept.
"""

from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import TYPE_CHECKING

from runlore.domain.errors import Refused
from runlore.domain.guard.finding import SecretFinding
from runlore.domain.lazy import LazyModule

if TYPE_CHECKING:
    from runlore.domain.guard import scan, view
else:
    scan = LazyModule("runlore.domain.guard.scan")
    view = LazyModule("runlore.domain.guard.view")


def apart() -> AbstractContextManager[None]:
    """What is found out inside may be remembered for any body, and is charged to this one."""
    return view.apart()


def is_used_up() -> bool:
    """Whether the body that is read may cost no more."""
    return view.is_used_up()


KNOWN_CHARS_MAX, KNOWN_MAX = 256, 16_384


class _Known:
    """The latest short texts in which nothing was found."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def __contains__(self, text: str) -> bool:
        return len(text) <= KNOWN_CHARS_MAX and _digest(text) in self._digests

    def add(self, text: str) -> None:
        if len(text) <= KNOWN_CHARS_MAX:
            if len(self._digests) >= KNOWN_MAX:
                self._digests.clear()
            self._digests.add(_digest(text))


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()


# A marker of what was taken out is a finding, and nothing that is taken out.
_without_findings, _without_secrets = _Known(), _Known()


def find_secrets(text: str) -> tuple[SecretFinding, ...]:
    """Every secret and redaction marker in a text, in order and without overlap."""
    return scan.find_secrets(text)


def first_secret(text: str) -> SecretFinding | None:
    """One finding, when there is any: the first that the scan meets."""
    if text in _without_findings:
        return None
    found = scan.first_secret(text)
    if found is None:
        _without_findings.add(text)
    return found


def redact(text: str) -> tuple[str, int]:
    """The text with every secret replaced by `<redacted:RULE>`, and how many were replaced."""
    if text in _without_secrets:
        return text, 0
    clean, replaced = scan.redact(text)
    if not replaced:
        _without_secrets.add(text)
    return clean, replaced


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
