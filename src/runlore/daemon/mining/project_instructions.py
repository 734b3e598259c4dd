"""The instructions that agents find in a folder: its files and what they name with `@`, those above it up to
the repository's root, the user's own, and the skills, rules and slash commands that are there. Skills that
Runlore has written are left out: what they were made of is known. Nothing is followed out of a link, and
what cannot be read tells nothing."""

import os
import re
from collections.abc import Iterator

from runlore.domain.suggesting.already_documented import TASK_FILES, Instructions, instructions_of
from runlore.regular_file import read_small
from runlore.skill_files.locations import FILE, PLACES

READ_BYTES_MAX = 256 * 1024
SKILLS_MAX = 200
_FOLDERS_UP_MAX = 12
_TEXTS = frozenset(
    {
        *("claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md", "qwen.md"),
        *(".cursorrules", "readme.md", "readme", "contributing.md"),
    }
)
# Texts that agents read in folders of their own, by how their names end.
_RULES = {
    ".claude/commands": ".md",
    ".claude/rules": ".md",
    ".cursor/rules": ".mdc",
    ".github": "copilot-instructions.md",
    ".github/instructions": ".instructions.md",
}
_NAMED, _NAMED_MAX = re.compile(r"(?<![\w`/])@((?!/)[\w./-]{1,200}\.md)\b"), 20
_OF_USER = (".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md")
_OURS = "author: runlore"


def read_instructions(folder: str) -> tuple[Instructions, ...]:
    """What agents are told that work in this folder; of one that is not on this machine, what the user tells
    all of them."""
    return (*_in_project(folder), *_of_user())


def _in_project(folder: str) -> Iterator[Instructions]:
    if not os.path.isabs(folder) or not os.path.isdir(folder):
        return
    home = os.path.expanduser("~")
    for _ in range(_FOLDERS_UP_MAX):
        if folder in (home, os.path.dirname(folder)):
            return
        for name in _names(folder):
            if name.lower() in _TEXTS or name.lower() in TASK_FILES:
                yield from _read(os.path.join(folder, name), name, base=folder)
        yield from _rules(folder)
        yield from _skills(folder, {each for place in PLACES.values() for each in place.project})
        if os.path.exists(os.path.join(folder, ".git")):
            return
        folder = os.path.dirname(folder)


def _of_user() -> Iterator[Instructions]:
    home = os.path.expanduser("~")
    for name in _OF_USER:
        yield from _read(os.path.join(home, name), f"~/{name}")
    yield from _rules(home)
    yield from _skills(home, {each for place in PLACES.values() for each in place.user})


def _rules(base: str) -> Iterator[Instructions]:
    for place, ending in _RULES.items():
        names = [name for name in _names(os.path.join(base, place)) if name.endswith(ending)]
        for name in names[:SKILLS_MAX]:
            yield from _read(os.path.join(base, place, name), name)


def _skills(base: str, folders: set[str]) -> Iterator[Instructions]:
    for folder in sorted(folders):
        place = os.path.join(base, folder)
        for name in _names(place)[:SKILLS_MAX]:
            yield from _read(os.path.join(place, name, FILE), f"the skill {name}")


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _read(path: str, source: str, *, base: str = "") -> Iterator[Instructions]:
    """A file as instructions; with a `base` also the files in it that the text names."""
    content = read_small(path, READ_BYTES_MAX)
    if content is None:
        return
    text = content.decode(errors="replace")
    if not (path.endswith(FILE) and _OURS in text[:2_000]):
        named = list(dict.fromkeys(_NAMED.findall(text)))[:_NAMED_MAX] if base else []
        inside = [os.path.realpath(os.path.join(base, name)) for name in named]
        texts = (read for each in inside if _is_inside(each, base) for read in _read(each, source))
        told = [instructions_of(source, os.path.basename(path), text), *texts]
        yield Instructions(source=source, told=tuple(segment for each in told for segment in each.told))


def _is_inside(path: str, base: str) -> bool:
    return path.startswith(os.path.join(os.path.realpath(base), ""))
