"""The exact text of a prompt's sections. The same entries always give the same bytes.

A section stands between two marker lines, opens with a line that says what it is, and holds each entry as a
heading and a fenced text. Whatever an entry holds, it stays inside its fence: control, hidden and
bidirectional characters are written as their codes (`safe_text`), and so is what could be read as a marker or
a fence: a section can be read back into exactly its entries.

Receipts keep the number of the renderer (`sections.RENDERER`) and the digest of what was given.
"""

import re
from collections.abc import Iterable, Sequence

from runlore.domain.lazy import dataclass
from runlore.domain.prompts.injected import (
    FENCE,
    FENCE_OPENED,
    FROM_OUTSIDE,
    INTRO,
    INTROS,
    MARKER,
    MAY_BE_OVER,
    RENDERER,
    closing_line,
    opening_line,
)
from runlore.domain.prompts.projection import LearnedEntry, SectionName
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.text.excerpt import excerpt
from runlore.domain.text.safe_text import escape
from runlore.domain.timestamps import format_time

BETWEEN = " · "
SOURCE_TOLD_CHARS_MAX = 100

# What could be taken for one of our markers or a fence.
_MARKER_LIKE = re.compile(rf"<(?=[\s\\]*+/?\s*+{MARKER}\s*+:)", re.IGNORECASE)
# What joins and bounds a heading.
_HEADING_SIGNS = str.maketrans({sign: f"\\x{ord(sign):02x}" for sign in "·[]"})
_FENCE_LIKE = re.compile(r"`{3,}|~{3,}")


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """An entry as it is told: its heading's parts, the id first, and its text."""

    heading: tuple[str, ...]
    content: str


def frame(name: SectionName) -> str:
    """Everything of a section that is not an entry; it costs tokens too."""
    return f"{opening_line(name)}\n{INTRO[name]}\n{closing_line(name)}"


def section(name: SectionName, entries: Iterable[str], *, renderer: int = RENDERER) -> str:
    """A section of rendered entries, as the renderer of that number framed it."""
    intro = INTROS.get(renderer, INTRO)[name]
    return "\n".join((opening_line(name), intro, *entries, closing_line(name)))


def render_learning(entry: LearnedEntry) -> str:
    heading = [entry.record_id, entry.kind.value, str(entry.scope), *(["standing"] * entry.standing)]
    if entry.doubt:
        heading.append(f"{MAY_BE_OVER}: {excerpt(entry.doubt, SOURCE_TOLD_CHARS_MAX)}")
    return _entry(Rendered(heading=tuple(heading), content=entry.content))


def render_run(memory: RunMemory, sources: Sequence[str] = ()) -> str:
    """A run's memory; `sources` are what its conversation had read from outside."""
    heading = [memory.run_id, memory.status.value, format_time(memory.captured_at)]
    if sources:
        more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
        heading.append(f"{FROM_OUTSIDE}: {excerpt(sources[0], SOURCE_TOLD_CHARS_MAX)}{more}")
    return _entry(Rendered(heading=tuple(heading), content=memory.summary))


def _entry(entry: Rendered) -> str:
    heading = BETWEEN.join(_harmless(part, in_heading=True) for part in entry.heading)
    return f"[{heading}]\n{FENCE_OPENED}\n{_harmless(entry.content)}\n{FENCE}"


def _harmless(text: str, *, in_heading: bool = False) -> str:
    """The text with every character that could leave its place written as a code."""
    shown = escape(text, keep_newlines=not in_heading)
    shown = _MARKER_LIKE.sub(r"\\x3c", shown)
    shown = _FENCE_LIKE.sub(lambda run: f"\\x{ord(run[0][0]):02x}" * len(run[0]), shown)
    return shown.translate(_HEADING_SIGNS) if in_heading else shown
