"""The body of a skill taken apart: what was merged into it, section by section, and put together again.

A part begins at a heading `Also: NAME`. Nothing is ever cut: every line of every body stands in what it is
merged into, but for a section that stands there already, word by word. Headings move down, out of the way of
the part's own; lines inside code are left as they are.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from runlore.domain.lazy import dataclass

ALSO = "Also: "
_FENCE = re.compile(r"^[ \t]{0,12}(?:(?:[-*+]|\d{1,3}[.)])[ \t]{1,4})?(`{3,}|~{3,})([^`]*)$")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*)$")
_TOP, _DEEPEST = 2, 6


@dataclass(frozen=True, kw_only=True)
class BodySection:
    """A heading and the lines under it. The first of a body may have none: its level is 0."""

    title: str
    level: int
    lines: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands there, no heading either."""
        return self.level == 0 and not any(line.strip() for line in self.lines)

    @property
    def content(self) -> tuple[str, str]:
        """What makes two sections the same, wherever they stand."""
        return self.title, "\n".join(self.lines).strip("\n")


@dataclass(frozen=True, kw_only=True)
class BodyPart:
    """What a body says of itself, or what it has from another: the name says from which."""

    name: str
    sections: tuple[BodySection, ...]


def parts_of(body: str) -> tuple[BodyPart, ...]:
    """The parts of a body: its own first, then what was merged into it."""
    parts: list[BodyPart] = []
    name, sections = "", list[BodySection]()
    for section in _sections(body):
        if section.level != _TOP or not section.title.startswith(ALSO):
            sections.append(section)
            continue
        parts.append(_part(name, sections))
        # What stands between the heading and the next one is the part's own beginning.
        name = section.title.removeprefix(ALSO).strip()
        sections = [BodySection(title="", level=0, lines=section.lines)]
    parts.append(_part(name, sections))
    return tuple(parts)


def merge_bodies(bodies: Sequence[tuple[str, str]]) -> str:
    """The first body, then what the others (name and body) have that does not stand there yet."""
    first, *others = bodies
    known = {section.content for part in parts_of(first[1]) for section in part.sections}
    told = [text] if (text := _close_fence(first[1]).strip("\n")) else []
    for name, body in others:
        for part in parts_of(body):
            new = [section for section in part.sections if section.content not in known]
            known.update(section.content for section in new)
            if new:
                told.append(f"{'#' * _TOP} {ALSO}{part.name or name}")
                told += (_write_section(section, is_own=not part.name) for section in new)
    return "\n\n".join(told) + "\n"


def _part(name: str, sections: Iterable[BodySection]) -> BodyPart:
    return BodyPart(name=name, sections=tuple(section for section in sections if not section.is_empty))


def _sections(body: str) -> Iterator[BodySection]:
    title, level, lines = "", 0, list[str]()
    for line, is_code in _mark_code(_close_fence(body).split("\n")):
        found = None if is_code else _HEADING.match(line)
        if found is None:
            lines.append(line)
            continue
        yield BodySection(title=title, level=level, lines=tuple(lines))
        title, level, lines = found[2].strip(), len(found[1]), []
    yield BodySection(title=title, level=level, lines=tuple(lines))


def _write_section(section: BodySection, *, is_own: bool) -> str:
    text = "\n".join(section.lines).strip("\n")
    if section.level == 0:
        return text
    level = min(max(section.level, _TOP) + 1, _DEEPEST) if is_own else section.level
    heading = f"{'#' * level} {section.title}"
    return f"{heading}\n\n{text}" if text else heading


def _close_fence(body: str) -> str:
    """A body whose last code block ends, so that it does not swallow what is put behind it."""
    fence = ""
    for _, opened in _fences(body.split("\n")):
        fence = opened
    return f"{body.rstrip()}\n{fence}" if fence else body


def _mark_code(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """The lines, and whether each is code."""
    before = ""
    for line, fence in _fences(lines):
        yield line, bool(before or fence)
        before = fence


def _fences(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The lines, each with the fence that is open behind it."""
    fence = ""
    for line in lines:
        found = _FENCE.match(line)
        if found is not None and not fence:
            fence = found[1]
        elif found is not None and found[1].startswith(fence) and not found[2].strip():
            fence = ""
        yield line, fence
