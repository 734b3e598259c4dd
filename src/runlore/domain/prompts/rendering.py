"""The exact text of a prompt's sections. The same entries always give the same bytes.

A section stands between two marker lines, opens with a line that says what it is, and holds each entry as a
heading and a fenced text. Whatever an entry holds, it stays inside its fence: control, hidden and
bidirectional characters are written as their codes (`safe_text`), and so is what could be read as a marker or
a fence. `entries_of` reads a section back into exactly its entries, which is what the tests hold it to.

Receipts keep the number of the renderer (`sections.RENDERER`) and the digest of what was given.
"""

import re
from collections.abc import Iterable, Sequence

from runlore.domain.errors import Corrupt
from runlore.domain.lazy import dataclass
from runlore.domain.prompts.projection import LearnedEntry, SectionName
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.prompts.sections import (
    FENCE,
    FENCE_OPENED,
    FROM_OUTSIDE,
    INTRO,
    INTROS,
    MARKER,
    RENDERER,
    closing_line,
    opening_line,
)
from runlore.domain.text.excerpt import excerpt
from runlore.domain.text.safe_text import escape
from runlore.domain.timestamps import format_time

_BETWEEN = " · "
SOURCE_TOLD_CHARS_MAX = 100

# What could be taken for one of our markers or a fence.
_MARKER_LIKE = re.compile(rf"<(?=[\s\\]*+/?\s*+{MARKER}\s*+:)", re.IGNORECASE)
# What joins and bounds a heading.
_HEADING_SIGNS = str.maketrans({sign: f"\\x{ord(sign):02x}" for sign in "·[]"})
_FENCE_LIKE = re.compile(r"`{3,}|~{3,}")
_CODE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")


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
    heading = (entry.record_id, entry.kind.value, str(entry.scope), *(["standing"] * entry.standing))
    return _entry(Rendered(heading=heading, content=entry.content))


def render_run(memory: RunMemory, sources: Sequence[str] = ()) -> str:
    """A run's memory; `sources` are what its conversation had read from outside."""
    heading = [memory.run_id, memory.status.value, format_time(memory.captured_at)]
    if sources:
        more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
        heading.append(f"{FROM_OUTSIDE}: {excerpt(sources[0], SOURCE_TOLD_CHARS_MAX)}{more}")
    return _entry(Rendered(heading=tuple(heading), content=memory.summary))


def _entry(entry: Rendered) -> str:
    heading = _BETWEEN.join(_harmless(part, in_heading=True) for part in entry.heading)
    return f"[{heading}]\n{FENCE_OPENED}\n{_harmless(entry.content)}\n{FENCE}"


def _harmless(text: str, *, in_heading: bool = False) -> str:
    """The text with every character that could leave its place written as a code."""
    shown = escape(text, keep_newlines=not in_heading)
    shown = _MARKER_LIKE.sub(r"\\x3c", shown)
    shown = _FENCE_LIKE.sub(lambda run: f"\\x{ord(run[0][0]):02x}" * len(run[0]), shown)
    return shown.translate(_HEADING_SIGNS) if in_heading else shown


def entries_of(name: SectionName, text: str) -> tuple[Rendered, ...]:
    """Read a section back; Corrupt where it is none."""
    lines = text.split("\n")
    if len(lines) < 3 or lines[:2] != [opening_line(name), INTRO[name]] or lines[-1] != closing_line(name):
        raise _no_section(name)
    entries = []
    place, end = 2, len(lines) - 1
    while place < end:
        heading, fence = lines[place], lines[place + 1]
        is_heading = heading.startswith("[") and heading.endswith("]") and fence == FENCE_OPENED
        if not is_heading or FENCE not in lines[place + 2 : end]:
            raise _no_section(name)
        closed = lines.index(FENCE, place + 2, end)
        content = "\n".join(lines[place + 2 : closed])
        parts = tuple(_original(part) for part in heading[1:-1].split(_BETWEEN))
        entries.append(Rendered(heading=parts, content=_original(content)))
        place = closed + 1
    return tuple(entries)


def _original(shown: str) -> str:
    return _CODE.sub(lambda code: chr(int(code[1] or code[2] or code[3], 16)), shown)


def _no_section(name: SectionName) -> Corrupt:
    return Corrupt(
        f"this is no {name} section as this renderer writes it",
        code="section.format",
        hint="ask for the run's receipt once more",
    )
