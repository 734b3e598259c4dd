"""Names of suggestions (SKL-19), valid by the Agent Skills specification, each one given once.

| heuristic | name |
| --- | --- |
| explicit-instruction | the name that was asked for |
| cross-session | the words that ask for it; without any, what is done |
| multi-step, repeated-action | what is done |
| error-recovery | `fix-`, the command, and what the error says |
| user-correction | `rule-` and the command |

Behind it stands the project, where it is one. A name that is taken gets `-2`, `-3` and so on; one that some
systems keep for a device gets `-skill`.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import CommandKind
from runlore.domain.lazy import LazyModule
from runlore.domain.project import project_name
from runlore.domain.suggesting.lines import Line

if TYPE_CHECKING:
    from runlore.domain.detectors import error_recovery, purpose_groups
else:
    # Reading a skill's name needs no detector.
    purpose_groups = LazyModule("runlore.domain.detectors.purpose_groups")
    error_recovery = LazyModule("runlore.domain.detectors.error_recovery")

NAMED_AFTER_NOTHING = "shell"
NAME_WORDS_MAX, CAUSE_WORDS_MAX = 4, 4
# Two people who ask for the same may mean different ones of these.
_WAYS_OF_GIT = ("rebase", "merge", "cherry-pick", "revert", "reset")
# More of a text than any name can use.
_READ_CHARS_MAX = 400

_VALID = re.compile(r"^[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_BREAK = re.compile(r"[^a-z0-9]+")
# No folder can be called so on Windows.
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
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
    projects = {each.project_name or project_name(each.project) for each in match.occurrences}
    project = slug(projects.pop()) if len(projects) == 1 else ""
    words = [slug(part) for part in _name_parts(match, lines)]
    parts = list(dict.fromkeys(part for word in words for part in word.split("-") if part))
    if project and not set(project.split("-")) <= set(parts):
        room = limits.SKILL_NAME_CHARS_MAX - len(project) - 1
        return f"{slug('-'.join(parts), room) or NAMED_AFTER_NOTHING}-{project}"
    return slug("-".join(parts)) or NAMED_AFTER_NOTHING


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


def _name_parts(match: Match, lines: Sequence[Line]) -> Sequence[str]:
    if match.heuristic is Heuristic.ERROR_RECOVERY:
        return _fix_parts(match, lines)
    if match.heuristic is Heuristic.USER_CORRECTION:
        return ["rule", *_command_words(lines[-1:])]
    if match.pattern.startswith(purpose_groups.SETTING):
        setting, _, key = match.pattern.removeprefix(purpose_groups.SETTING).partition(" ")
        return [*key.split(), setting.rpartition("=")[2] or setting]
    act = (
        match.pattern.removeprefix(purpose_groups.ASKED)
        if match.pattern.startswith(purpose_groups.ASKED)
        else ""
    )
    if act.startswith("mcp"):
        server, _, tool = act.removeprefix("mcp").strip("_").rpartition("__")
        more = [word for word in match.words if word not in tool.split("_") and word not in server]
        return [*tool.split("_"), server.partition("-")[0], *more][: NAME_WORDS_MAX + 1]
    if len(match.words) > 1:
        # The words may say why (`conflicts with main`), and not which of two ways it was done.
        done = [each for each in _WAYS_OF_GIT if act.startswith(f"git {each}")]
        return [*done, *match.words][:NAME_WORDS_MAX]
    return [*act.split(), *match.words][: NAME_WORDS_MAX + 1] if act else _command_words(lines)


def _fix_parts(match: Match, lines: Sequence[Line]) -> Sequence[str]:
    steps = match.occurrences[-1].steps
    error = error_recovery.error_of(steps[0])
    if rule := error_recovery.rule_of(error):
        return ["fix", *_command_words(lines[:1]), rule]
    cause = error_recovery.cause_of(error).split()
    remedy = error_recovery.remedy_of(steps)
    if remedy is error_recovery.Remedy.APPROVED:
        return ["fix", error_recovery.SANDBOX, match.pattern.partition(" ")[0]]
    kind = "retry" if remedy is error_recovery.Remedy.AGAIN else ""
    done = [] if kind else _command_words(lines[:1])
    return ["fix", kind, *done, *[word for word in cause if word not in done][:CAUSE_WORDS_MAX]]


def _command_words(lines: Sequence[Line]) -> list[str]:
    """What commands do, each once; folders and files are named where nothing else is done."""
    commands = [command for line in lines for command in line.commands]
    working = [command for command in commands if command.kind is CommandKind.WORK]
    forms = [command.form for command in working or commands]
    words = dict.fromkeys(word for form in forms for word in form.split() if not word.startswith(("-", "<")))
    return list(words)[:NAME_WORDS_MAX]
