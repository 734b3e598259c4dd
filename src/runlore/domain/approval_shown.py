"""Whether a command can be shown to whoever decides on it.

A person allows what they see, and secrets are not shown. A command in which more would be hidden than a plain
value can be allowed by nobody: behind `<redacted:...>` there could be another command.
"""

import re

from runlore.domain import limits
from runlore.domain.guard import secret_spans

# A value that a shell takes as it stands; quotes only in pairs, so that what follows them stays as it looks.
_PLAIN = re.compile(r"""[\w.+/=~@%:,^!'"-]*""", re.ASCII)
_QUOTES = "'\""


def hidden_in(command: str) -> str:
    """Why a command cannot be shown to anybody; empty where it can."""
    if len(command) > limits.APPROVAL_TEXT_CHARS_MAX:
        return "it is too long to be shown to a person"
    if all(_is_value(command[found.start : found.end]) for found in secret_spans(command)):
        return ""
    return (
        "a part of it looks like a secret and is not shown to whoever decides, and more than a value may"
        " stand in it: leave the secret out, or read it from a file"
    )


def _is_value(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and not any(text.count(quote) % 2 for quote in _QUOTES)
