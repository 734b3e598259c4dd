"""Reading a section of a prompt back into its entries: a renderer must leave that possible."""

import re

from runlore.domain.prompts.injected import FENCE, FENCE_OPENED, INTRO, closing_line, opening_line
from runlore.domain.prompts.projection import SectionName
from runlore.domain.prompts.rendering import BETWEEN, Rendered

_CODE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")


def entries_of(name: SectionName, text: str) -> tuple[Rendered, ...]:
    """Read a section back; ValueError where it is none."""
    lines = text.split("\n")
    if len(lines) < 3 or lines[:2] != [opening_line(name), INTRO[name]] or lines[-1] != closing_line(name):
        raise ValueError(f"this is no {name} section")
    entries = []
    place, end = 2, len(lines) - 1
    while place < end:
        heading, fence = lines[place], lines[place + 1]
        is_heading = heading.startswith("[") and heading.endswith("]") and fence == FENCE_OPENED
        if not is_heading or FENCE not in lines[place + 2 : end]:
            raise ValueError(f"this is no {name} section")
        closed = lines.index(FENCE, place + 2, end)
        content = "\n".join(lines[place + 2 : closed])
        parts = tuple(_original(part) for part in heading[1:-1].split(BETWEEN))
        entries.append(Rendered(heading=parts, content=_original(content)))
        place = closed + 1
    return tuple(entries)


def _original(shown: str) -> str:
    return _CODE.sub(lambda code: chr(int(code[1] or code[2] or code[3], 16)), shown)
