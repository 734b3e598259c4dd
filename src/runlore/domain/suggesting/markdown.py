"""Commands inside Markdown: whatever they hold, they stay inside their code."""

import re

from runlore.domain.guard import find_secrets
from runlore.domain.text.safe_text import escape, hidden_characters

SECRET = "<secret>"
_TICKS = re.compile(r"`+")


def visible(text: str) -> str:
    """The text as a person may see it: hidden characters as their codes, `<secret>` for what was redacted."""
    for finding in sorted(find_secrets(text), key=lambda found: -found.start):
        # What is found is the marker of a redaction; should a secret have come through, it ends here.
        text = f"{text[: finding.start]}{SECRET}{text[finding.end :]}"
    if not hidden_characters(text) and "\r" not in text:
        return text
    return "\n".join("\t".join(escape(part) for part in line.split("\t")) for line in text.split("\n"))


def code_span(text: str) -> str:
    """One line of code inside a sentence."""
    line = " ".join(visible(text).split())
    ticks = "`" * (_longest(line) + 1)
    room = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def code_block(text: str, *, language: str = "", indent: str = "") -> list[str]:
    """The lines of a fenced block that the text cannot leave."""
    shown = visible(text)
    fence = "`" * max(3, _longest(shown) + 1)
    lines = [f"{fence}{language}", *shown.split("\n"), fence]
    return [f"{indent}{line}".rstrip() if not line else f"{indent}{line}" for line in lines]


def table_cell(text: str) -> str:
    """A command inside a table: its pipes would end the cell, in code as well."""
    return code_span(text).replace("|", "\\|")


def _longest(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
