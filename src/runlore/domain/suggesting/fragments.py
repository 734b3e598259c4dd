"""The code in a Markdown text, and the prose around it, section by section.

It is stricter than a renderer: what could be shown as code is taken for code, and a fence that is never
closed reaches to the end.
"""

import re
from collections.abc import Iterator
from dataclasses import field
from itertools import pairwise

from runlore.domain.lazy import dataclass
from runlore.domain.text.inline_spans import code_spans

_FENCE = re.compile(r"^\s*(?:(?:[-*+]|\d{1,3}[.)])\s+)?(`{3,}|~{3,})([^`]*)$")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?=[ \t]|$)(.*)$")
_SETEXT = re.compile(r"^ {0,3}(?:=+|-+)[ \t]*$")
_LISTED = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s")
_LANGUAGE = re.compile(r"^\s*[A-Za-z0-9+#-]{0,16}\s*$")
_INDENT = re.compile(r"^(?: {4}|\t| {1,3}\t)")


@dataclass(kw_only=True)
class MarkdownSection:
    """What stands under one heading: code inside its lines, inside its tables, in blocks, and the words.

    `ordered` is the code of lines and blocks in the order of the text, `alone` are the lines without any code
    that stand by themselves.
    """

    title: str
    level: int = 2
    code: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    ordered: list[str] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands there."""
        return not (self.all_code or any(line.strip() for line in self.prose))

    @property
    def all_code(self) -> list[str]:
        return [*self.code, *self.cells, *self.blocks]


def sections_of(text: str) -> tuple[MarkdownSection, ...]:
    """The sections of a text; what comes before the first heading stands under an empty title."""
    sections = [MarkdownSection(title="", level=0)]
    fence, block = "", list[str]()
    lines = ["", *text.split("\n"), ""]
    for (before, line), after in zip(pairwise(lines), lines[2:], strict=False):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                _end(block, sections[-1])
                fence, block = "", []
            else:
                block.append(line.strip())
        elif found:
            fence = found[1]
            if not _LANGUAGE.match(found[2]):
                # Nobody sees what else is said there.
                block.append(found[2].strip())
        elif (heading := _HEADING.match(line)) and len(heading[1]) <= 2:
            title = heading[2].strip().rstrip("#").rstrip()
            sections.append(MarkdownSection(title=title, level=len(heading[1])))
        elif (under := _SETEXT.match(line)) and before.strip():
            # A line of signs makes a heading of the line above it.
            sections.append(MarkdownSection(title=before.strip(), level=1 if "=" in under[0] else 2))
        else:
            _read(line, sections[-1], stands_alone=_is_apart(before, line) and _is_apart(after, after))
    if fence:
        _end(block, sections[-1])
    return tuple(sections[1:] if sections[0].is_empty else sections)


def _end(block: list[str], section: MarkdownSection) -> None:
    section.blocks.append("\n".join(block))
    section.ordered.append(section.blocks[-1])


def _is_apart(neighbour: str, line: str) -> bool:
    """Whether a line is not a part of the sentence that its neighbour has."""
    return not neighbour.strip() or _LISTED.match(line) is not None or _HEADING.match(neighbour) is not None


def _read(line: str, section: MarkdownSection, *, stands_alone: bool) -> None:
    if _INDENT.match(line) and not _LISTED.match(line) and line.strip():
        _end([line.strip()], section)
        return
    found = [_inside(line[start:end]) for start, end in code_spans(line)]
    if line.lstrip().startswith("|"):
        # A pipe inside a cell is written with a backslash.
        section.cells += [code.replace("\\|", "|") for code in found]
    else:
        section.code += found
        section.ordered += found
    if stands_alone and not found:
        section.alone.append(line)
    section.prose.append(" ".join(_between(line)))


def _between(line: str) -> Iterator[str]:
    at = 0
    for start, end in code_spans(line):
        yield line[at:start]
        at = end
    yield line[at:]


def _inside(span: str) -> str:
    return span.strip("`").strip()
