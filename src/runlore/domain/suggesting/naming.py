"""Names of suggestions (SKL-4), valid by the Agent Skills specification, each one given once.

| heuristic | name |
| --- | --- |
| multi-step | `procedure-<topic>` of the first command |
| error-recovery | `error-<topic>` of what failed |
| user-correction | `user-correction-<word>`: the first word that differs from what was corrected |
| repeated-action | `repeated-<command>` without flags |
| explicit-instruction | the name that was asked for |
| cross-session | `procedure-` or `error-`, the topic, and what else is done |

A name that is taken gets what else is done, and then `-2`, `-3` and so on; one that some systems keep for a
device gets `-skill`.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import CommandKind
from runlore.domain.lazy import LazyModule
from runlore.domain.suggesting.lines import Line
from runlore.domain.suggesting.words import words_of

if TYPE_CHECKING:
    from runlore.domain.suggesting import fixes, purposes
else:
    fixes = LazyModule("runlore.domain.suggesting.fixes")
    purposes = LazyModule("runlore.domain.suggesting.purposes")

NAMED_AFTER_NOTHING = "shell"
CROSS_SESSION_WORDS_MAX = 5
COMMAND_WORDS_MAX = 4
LETTER_FLAG_CHARS = 2
# More of a text than any name can use.
_READ_CHARS_MAX = 400

_VALID = re.compile(r"^[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_BREAK = re.compile(r"[^a-z0-9]+")
_FIRST_PART = re.compile(r"[:/=@+,]")
# No folder can be called so on Windows.
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)
_RUNNERS = frozenset(
    {"run", "exec", "npx", "bunx", "uvx", "uv", "poetry", "pipenv", "pdm", "hatch", "x", "dlx"}
)


def is_valid_name(name: str) -> bool:
    """Whether the Agent Skills specification lets a skill be called this."""
    return len(name) <= limits.SKILL_NAME_CHARS_MAX and _VALID.match(name) is not None


def is_reserved(name: str) -> bool:
    """Whether some system keeps a name for itself."""
    return name in _RESERVED


def slug(text: str, chars_max: int = limits.SKILL_NAME_CHARS_MAX) -> str:
    """A text as part of a name: lower-case ASCII letters and digits, single hyphens; may be empty."""
    plain = unicodedata.normalize("NFKD", text[:_READ_CHARS_MAX]).encode("ascii", "ignore").decode().lower()
    whole = _BREAK.sub("-", plain).strip("-")
    if len(whole) <= chars_max:
        return whole
    return whole[: chars_max + 1].rpartition("-")[0] or whole[:chars_max]


def choose_name(match: Match, lines: Sequence[Line]) -> str:
    """The name that a match would have if nothing else had it."""
    asked = slug(match.asked_name)
    if match.heuristic is Heuristic.EXPLICIT_INSTRUCTION and asked:
        return asked
    return _join(*_name_parts(match, lines))


def list_names(match: Match, lines: Sequence[Line]) -> tuple[str, ...]:
    """The names that a match would have, the best first: the next says more of what is done."""
    wanted = choose_name(match, lines)
    if match.heuristic in (Heuristic.EXPLICIT_INSTRUCTION, Heuristic.USER_CORRECTION):
        return (wanted,)
    is_of_fix = fixes.is_fix(match)
    told = _distinguishing(lines[:1] if is_of_fix else lines)
    kind = wanted.partition("-")[0]
    flags = [
        word.lstrip("-")
        for line in (lines[-1:] if is_of_fix else lines)
        for command in line.commands
        for word in command.form.split()
        if word.startswith("--") or (word.startswith("-") and len(word) > LETTER_FLAG_CHARS)
    ]
    more = [_join(kind, *told), _join(kind, *told, *dict.fromkeys(flags))]
    return tuple(dict.fromkeys([wanted, *(name for name in more if is_valid_name(name))]))


def free_name(wanted: Sequence[str], taken: frozenset[str] | set[str]) -> str:
    """The first of these that nobody has; else the first with a number."""
    free = next((name for name in wanted if name not in taken and not is_reserved(name)), "")
    return free or unique_name(wanted[0], taken)


def unique_name(wanted: str, taken: frozenset[str] | set[str]) -> str:
    """The name itself, or the first of `-2`, `-3`, ... that nobody has."""
    wanted = f"{wanted}-skill" if is_reserved(wanted) else wanted
    if wanted not in taken:
        return wanted
    number = 2
    while True:
        ending = f"-{number}"
        name = slug(wanted, limits.SKILL_NAME_CHARS_MAX - len(ending)) + ending
        if name not in taken:
            return name
        number += 1


def _name_parts(match: Match, lines: Sequence[Line]) -> tuple[str, ...]:
    if match.heuristic is Heuristic.ERROR_RECOVERY:
        return "error", _topic(lines[:1])
    if match.heuristic is Heuristic.USER_CORRECTION:
        return "user-correction", _differing(lines) or _topic(lines[-1:])
    if match.heuristic is Heuristic.REPEATED_ACTION:
        return "repeated", *_command_words(lines)
    if match.heuristic is Heuristic.CROSS_SESSION:
        return "error" if fixes.is_fix(match) else "procedure", *_distinguishing(
            lines[:1] if fixes.is_fix(match) else lines
        )
    return "procedure", _topic(lines)


def _join(*parts: str) -> str:
    told = [part for part in map(slug, parts) if part]
    if len(told) < 2:
        told.append(NAMED_AFTER_NOTHING)
    return slug("-".join(told))


def _topic(lines: Sequence[Line]) -> str:
    """What the first command that has one is about; work goes before handling files and moving."""
    commands = [command for line in lines for command in line.commands if not command.is_looking]
    named = [command for command in commands if slug(command.topic)]
    working = [command for command in named if command.kind is CommandKind.WORK]
    return next((command.topic for command in working or named), "")


def _differing(lines: Sequence[Line]) -> str:
    """The first word of what worked that differs from what was corrected, or its first part."""
    before = [word.text for word in words_of(lines[0].text)]
    after = [word.text for word in words_of(lines[-1].text)]
    changed = [word for place, word in enumerate(after) if before[place : place + 1] != [word]]
    parts = (next(filter(slug, _FIRST_PART.split(word)), "") for word in changed)
    return next(filter(None, parts), "")


def _command_words(lines: Sequence[Line]) -> tuple[str, ...]:
    form = next((command.form for line in lines for command in line.commands if not command.is_looking), "")
    words = [word for word in form.split() if not word.startswith(("-", "<"))]
    return tuple(words[:COMMAND_WORDS_MAX])


def _distinguishing(lines: Sequence[Line]) -> tuple[str, ...]:
    """The topic of the first command that has a purpose, and the words of what else is done, each once."""
    commands = [command for line in lines for command in line.commands if not command.is_looking]
    telling = [command for command in commands if not purposes.is_passing(command)] or commands
    words: dict[str, None] = {}
    for command in telling:
        form = [word for word in command.form.split() if not word.startswith(("-", "<"))]
        told = [word for word in form if word not in _RUNNERS] or form
        purpose = purposes.purpose_of(command)
        words.update(dict.fromkeys(told[:2] if purpose is None or len(told) < 3 else [told[0], told[-1]]))
    return tuple(words)[:CROSS_SESSION_WORDS_MAX]
