"""What a step is told as: its command line without what only looks around.

`cd /srv/app && make test 2>&1 | tail -5` is told as `make test`. A line whose parts cannot be told apart,
such as a loop, is told whole. Nothing is ever told that the step does not have.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from posixpath import normpath

from runlore.domain.detectors.mined import CommandKind, Step, StepCommand
from runlore.domain.lazy import dataclass

# What may stand between two commands of a line: where output goes that nobody keeps, and an operator.
_BETWEEN = re.compile(
    r"^\s*(?:(?:[12&]?>&?\s*/dev/null|2>&1|1>&2|<\s*/dev/null)\s*){0,4}(&&|\|\||\|&|\||;|&|\n)\s*$"
)
_AFTER = re.compile(r"^\s*(?:(?:[12&]?>&?\s*/dev/null|2>&1|1>&2|<\s*/dev/null)\s*){0,4}[;&]?\s*$")
_SCRIPT = re.compile(r"\n|<<|\$\(|`|/tmp/|(?:^|[;&|(]\s*)(?:for|while|until|if|case)\s")
# A text that stands in a line as a whole: `"$(cat <<'EOF' ... EOF)"`. Commands have dots in its place.
_TEXT = re.compile(r"\"\$\(\s*cat\s+<<-?\s*['\"\\]?(\w{1,40})['\"]?[ \t]*\n(?s:.*?)(?:\n\s*\1\s*\)\"|\Z)")
LINE_CHARS_LONG = 300
PIPES = frozenset({"|", "|&"})
_ABSOLUTE = re.compile(r"^(?:/|~|\$HOME\b|\$\{?PWD\b|[A-Za-z]:[\\/])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """The parts of a command line that are told. `joiners` stand between its commands; a line that could not
    be taken apart has its whole text in `whole`, and all its commands."""

    commands: tuple[StepCommand, ...]
    joiners: tuple[str, ...] = ()
    whole: str = ""

    def render(self, texts: Sequence[str]) -> str:
        """The line with these texts in place of its commands' own."""
        if self.whole or not texts:
            return self.whole
        pieces = [texts[0]]
        for joiner, text in zip(self.joiners, texts[1:], strict=True):
            pieces.append(
                f"\n{text}" if joiner == "\n" else f"; {text}" if joiner == ";" else f" {joiner} {text}"
            )
        return "".join(pieces)

    @property
    def is_script(self) -> bool:
        """Whether it is a text of several commands that was made up for once, a loop or a heredoc."""
        return len(self.whole) > LINE_CHARS_LONG or _SCRIPT.search(self.whole) is not None

    @property
    def text(self) -> str:
        """The line as the step has it."""
        return self.render([command.text for command in self.commands])


def lines_of(steps: Iterable[Step]) -> tuple[Line, ...]:
    """The lines of steps, one each; where all of them go to one folder first, that is not told."""
    lines = [_line(step) for step in steps]
    folder = _shared_folder(lines)
    return tuple(_without_folder(line, folder) for line in lines)


def _line(step: Step) -> Line:
    commands = step.commands
    if "<<" in step.text:
        step = replace(step, text=_TEXT.sub("...", step.text))
    joiners = _joiners(step)
    if joiners is None:
        done = tuple(command for command in commands if not command.is_looking)
        return Line(commands=done or commands, whole=step.text)
    kept = _select_commands(commands, joiners) or list(range(len(commands)))
    between = tuple(_join_operator(joiners[before:after]) for before, after in pairwise(kept))
    return Line(commands=tuple(commands[index] for index in kept), joiners=between)


def _joiners(step: Step) -> tuple[str, ...] | None:
    """The operators between the commands of a step; None where something else stands there too."""
    if not step.commands:
        return None
    at, joiners = 0, []
    for index, command in enumerate(step.commands):
        start = step.text.find(command.text, at) if command.text else -1
        if start < 0:
            return None
        between = step.text[at:start]
        if index == 0:
            if between.strip():
                return None
        else:
            found = _BETWEEN.match(between[:200]) if len(between) <= 200 else None
            if found is None:
                return None
            joiners.append(found[1])
        at = start + len(command.text)
    return tuple(joiners) if _AFTER.match(step.text[at : at + 200]) else None


def _select_commands(commands: Sequence[StepCommand], joiners: Sequence[str]) -> list[int]:
    """Which commands are told: of each pipeline all up to the last that does not only look around."""
    kept: list[int] = []
    pipeline: list[int] = []
    for index in range(len(commands)):
        pipeline.append(index)
        if index == len(commands) - 1 or joiners[index] not in PIPES:
            while pipeline and not _counts(commands[pipeline[-1]]):
                pipeline.pop()
            kept += pipeline
            pipeline = []
    return kept


def _counts(command: StepCommand) -> bool:
    return not command.is_looking or command.kind is CommandKind.MOVING


def _join_operator(joiners: Sequence[str]) -> str:
    """The operator between two commands when what stood between them is left out."""
    return joiners[0] if len(joiners) == 1 else next((sign for sign in joiners if sign not in PIPES), "&&")


def _folder(command: StepCommand) -> str:
    """Where a plain `cd` goes to, if it says so outright."""
    words = command.text.split()
    is_plain = len(words) == 2 and words[0] == "cd" and _ABSOLUTE.match(words[1].strip("'\""))
    return words[1].strip("'\"") if is_plain else ""


def _shared_folder(lines: Sequence[Line]) -> str:
    """The folder that contains all folders which the lines go to outright."""
    folders = {
        normpath(folder) for line in lines for command in line.commands if (folder := _folder(command))
    }
    if not folders:
        return ""
    shortest = min(folders, key=lambda folder: (len(folder), folder))
    inside = all(folder == shortest or folder.startswith(f"{shortest}/") for folder in folders)
    return shortest if inside else ""


def _without_folder(line: Line, folder: str) -> Line:
    """The line without its first command where that goes to the folder of all of them, and does more."""
    is_there = (
        bool(folder)
        and not line.whole
        and len(line.commands) > 1
        and line.joiners[0] in ("&&", ";", "\n")
        and normpath(_folder(line.commands[0]) or ".") == folder
    )
    return Line(commands=line.commands[1:], joiners=line.joiners[1:]) if is_there else line
