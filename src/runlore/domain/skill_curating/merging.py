"""Several drafts made into one: the oldest, under its name, with all that the others say (SKL-9).

Nothing is cut. What would not fit into one skill, or would look suspicious as one, is not merged.

The body of a skill taken apart: what was merged into it, section by section, and put together again.

A part begins at a heading `Also: NAME`. Nothing is ever cut: every line of every body stands in what it is
merged into, but for a section that stands there already, word by word. Headings move down, out of the way of
the part's own; lines inside code are left as they are.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Self

from runlore.domain import limits
from runlore.domain.guard import first_secret
from runlore.domain.lazy import dataclass
from runlore.domain.skill import Skill, SkillDocument
from runlore.domain.suspicion import suspicions
from runlore.domain.taint import inherit

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
    sections = [text] if (text := _close_fence(first[1]).strip("\n")) else []
    for name, body in others:
        for part in parts_of(body):
            new = [section for section in part.sections if section.content not in known]
            known.update(section.content for section in new)
            if new:
                sections.append(f"{'#' * _TOP} {ALSO}{part.name or name}")
                sections += (_write_section(section, is_own=not part.name) for section in new)
    return "\n\n".join(sections) + "\n"


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


# Beyond these nobody reads it as one skill.
PARTS_MAX = 8
# What a section and a part get in addition: signs, a name, blank lines, the end of a code block.
_HEADING_CHARS, _HEADING_LINES = 8, 2
_PART_CHARS, _PART_LINES = limits.SKILL_NAME_CHARS_MAX + 16, 3
FIRST_MERGED_VERSION = "1.1.0"
_VERSION_NUMBERS = 3
_VERSION_DIGITS_MAX = 9
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def merge_skills(skills: Sequence[Skill]) -> Skill:
    """The first skill with what the others say. What it is tainted by, and learned from, is theirs too."""
    first, *others = skills
    sources = (each for skill in skills for each in skill.learned_from)
    document = _document([skill.document for skill in skills])
    is_new = document != replace(first.document, version=document.version)
    return replace(
        first,
        document=document if is_new else first.document,
        provenance=inherit([first.provenance, *(skill.provenance for skill in others)]),
        also_from=tuple(each for each in dict.fromkeys(sources) if each not in _own(first)),
    )


def is_suspicious(merged: Skill) -> bool:
    """Whether clean drafts say together what none of them says alone, or hold a secret. A tainted one waits
    for a person."""
    document = merged.document
    texts = (document.description, " ".join(document.topics), " ".join(document.actions), document.body)
    if any(map(first_secret, texts)):
        return True
    return not merged.provenance.tainted and any(map(suspicions, texts))


@dataclass(frozen=True, kw_only=True)
class MergedSize:
    """How large skills are when they are merged, or a little more: each section once, every heading, and
    what stands around them."""

    sections: frozenset[tuple[str, str]]
    chars_around: int
    lines_around: int
    parts: int
    topics: frozenset[str]
    actions: frozenset[str]

    @classmethod
    def of(cls, document: SkillDocument) -> Self:
        parts = parts_of(document.body)
        sections = frozenset(section.content for part in parts for section in part.sections)
        return cls(
            sections=sections,
            chars_around=max(0, len(document.body) - sum(len(text) for _, text in sections)),
            lines_around=max(0, document.body.count("\n") - sum(text.count("\n") for _, text in sections)),
            parts=len(parts),
            topics=frozenset(document.topics),
            actions=frozenset(document.actions),
        )

    def join(self, other: Self) -> Self:
        return replace(
            self,
            sections=self.sections | other.sections,
            chars_around=self.chars_around + other.chars_around,
            lines_around=self.lines_around + other.lines_around,
            parts=self.parts + other.parts,
            topics=self.topics | other.topics,
            actions=self.actions | other.actions,
        )

    @property
    def is_full(self) -> bool:
        return self.parts >= PARTS_MAX

    def has_room_for(self, other: Self) -> bool:
        """Whether both together are within the bounds that every skill has, and can be read as one."""
        if self.parts + other.parts > PARTS_MAX:
            return False
        both = self.join(other)
        return (
            both.chars <= limits.SKILL_BODY_CHARS_MAX
            and both.lines <= limits.SKILL_BODY_LINES_MAX
            and max(len(both.topics), len(both.actions)) <= limits.SKILL_WORDS_MAX
        )

    @property
    def chars(self) -> int:
        """How many characters the merged body has at most."""
        sections = sum(len(text) + _HEADING_CHARS for _, text in self.sections)
        return sections + self.chars_around + self.parts * _PART_CHARS

    @property
    def lines(self) -> int:
        sections = sum(text.count("\n") + _HEADING_LINES for _, text in self.sections)
        return sections + self.lines_around + self.parts * _PART_LINES


def next_version(version: str) -> str:
    """The version of a document that got more to say."""
    numbers = version.split(".")
    is_plain = all(
        number.isascii() and number.isdigit() and len(number) <= _VERSION_DIGITS_MAX for number in numbers
    )
    if len(numbers) != _VERSION_NUMBERS or not is_plain:
        return FIRST_MERGED_VERSION
    return f"{int(numbers[0])}.{int(numbers[1]) + 1}.0"


def _document(documents: Sequence[SkillDocument]) -> SkillDocument:
    first = documents[0]
    bodies = list({document.body: (document.name, document.body) for document in documents}.values())
    return replace(
        first,
        description=_description(documents),
        body=merge_bodies(bodies) if len(bodies) > 1 else first.body,
        topics=_words(document.topics for document in documents),
        actions=_words(document.actions for document in documents),
        version=next_version(first.version),
    )


def _description(documents: Sequence[SkillDocument]) -> str:
    """The sentences of all descriptions that there is room for, each once; the first one's in any case."""
    description = documents[0].description
    for document in documents[1:]:
        said = frozenset(_sentences(description))
        new = " ".join(each for each in _sentences(document.description) if each not in said)
        longer = f"{description} {new}"
        if new and new not in description and len(longer) <= limits.SKILL_DESCRIPTION_CHARS_MAX:
            description = longer
    return description


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence]


def _words(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """All keywords. Those with the same body may have more between them than one skill can have."""
    return tuple(dict.fromkeys(word for words in lists for word in words))[: limits.SKILL_WORDS_MAX]


def _own(skill: Skill) -> tuple[object, ...]:
    return tuple(each for each in skill.learned_from if each not in skill.also_from)
