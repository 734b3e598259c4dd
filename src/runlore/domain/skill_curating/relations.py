"""Which drafts are about the same thing, told by what their steps run (SKL-9).

Two are related where they share two topic keywords, two of the things that they run, and half of all that
they run: keywords in common say little, as two skills for `docker build` may do quite different things with
it. What every project does with every change does not count, and a command that says what it does by its
values (`psql`, `docker run`, `curl`) is the same only with the same values. What puts a failure right is
never related to a procedure. Words that a model has chosen decide nothing.
"""

import re
from collections.abc import Iterable, Sequence

from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.lazy import dataclass
from runlore.domain.skill_curating.parts import BodyPart, parts_of
from runlore.domain.skills.skill_keywords import commands_in, words_of
from runlore.domain.suggesting.fragments import sections_of
from runlore.domain.suggesting.known_commands import STEPS
from runlore.domain.suggesting.purposes import is_everyday, is_passing

KEYWORDS_MIN = 2
SHARED_RUNS_MIN = 2
# Lists and code; what else stands among the steps only speaks of them.
_STEP = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s|^\s*(?:`{3,}|~{3,})")
_BEFORE_AFTER = re.compile(r"^\|\s*Before\s*\|\s*After\s*\|\s*$")
# What is done with them is told by what they are given.
_BY_VALUES = frozenset(
    (
        *("", "run", "query", "connect", "request", "copy", "move", "remove", "convert"),
        *("install", "update", "create", "change", "download", "debug"),
    )
)


@dataclass(frozen=True, kw_only=True)
class Doing:
    """What the steps of one part run: `runs` is each command without flags and passing values, `words` their
    topic keywords. Where it is one command, `text` is that as it is written."""

    runs: frozenset[str]
    words: frozenset[str]
    text: str = ""
    is_fix: bool = False


def doings_of(body: str) -> tuple[Doing, ...]:
    """What each part of a body does; parts that do nothing that could be compared are left out."""
    found = dict.fromkeys(map(_doing, parts_of(body)))
    return tuple(doing for doing in found if doing.runs)


def is_alike(one: Doing, other: Doing) -> bool:
    """Whether two parts are about the same: two keywords, two runs, and half of all that they run. One
    command alone has to be the same to the letter."""
    if one.is_fix != other.is_fix or len(shared_words(one, other)) < KEYWORDS_MIN:
        return False
    shared = len(one.runs & other.runs)
    if shared < SHARED_RUNS_MIN:
        return bool(one.text) and one.text == other.text
    return 2 * shared >= len(one.runs | other.runs)


def runs_needed(doing: Doing) -> int:
    """How many of its runs anything has to share to be about the same."""
    return max(min(SHARED_RUNS_MIN, len(doing.runs)), (len(doing.runs) + 1) // 2)


def is_near(one: Doing, other: Doing) -> bool:
    """Whether two parts may stand in one skill when others join them: they have something in common."""
    return one.is_fix == other.is_fix and not one.runs.isdisjoint(other.runs)


def shared_words(one: Doing, other: Doing) -> frozenset[str]:
    """The topic keywords that two parts share."""
    return one.words & other.words


def keywords_shared(ones: Iterable[Doing], others: Sequence[Doing]) -> tuple[str, ...]:
    """The topic keywords by which two bodies are about the same, in order; none where they are not."""
    found = {
        word for one in ones for other in others if is_alike(one, other) for word in shared_words(one, other)
    }
    return tuple(sorted(found))


def _doing(part: BodyPart) -> Doing:
    texts = [
        "\n".join(section.lines) for section in part.sections if section.title.casefold() == STEPS.casefold()
    ]
    is_fix = any(_BEFORE_AFTER.match(line) for text in texts for line in text.split("\n"))
    commands = [command for text in texts for command in commands_in(_code_of(text)) if _counts(command)]
    before = [command for text in texts for command in commands_in(_find_failed(text))]
    runs = frozenset([*map(_run, commands), *(f"not {_run(command)}" for command in before)])
    return Doing(
        runs=runs,
        words=frozenset(word for command in (*commands, *before) for word in words_of(command)),
        text=" ; ".join(sorted({command.text for command in commands})) if len(runs) == 1 else "",
        is_fix=is_fix,
    )


def _code_of(text: str) -> list[str]:
    """The code of the steps, in its order."""
    lines, is_block = list[str](), False
    for line in text.split("\n"):
        found = _STEP.match(line)
        is_fence = found is not None and found[0].strip()[:1] in "`~"
        if is_block or found is not None:
            lines.append(line)
        is_block = is_block != is_fence
    return [code for section in sections_of("\n".join(lines)) for code in section.ordered]


def _find_failed(text: str) -> list[str]:
    """What failed before, where the steps put a failure right: the first cell of the table."""
    return [cell for section in sections_of(text) for cell in section.cells[:1]]


def _counts(command: StepCommand) -> bool:
    return command.kind is CommandKind.WORK and not is_passing(command) and not is_everyday(command)


def _run(command: StepCommand) -> str:
    words = [word for word in command.form.split() if not word.startswith("-")]
    if command.verb in _BY_VALUES:
        words += command.values
    return " ".join((command.verb, *words))
