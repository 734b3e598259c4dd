"""What has to hold around a command: the settings before it, the folder that it is run in."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from posixpath import splitext

from runlore.domain.detectors.match import Match
from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.suggesting.condensing import Unit
from runlore.domain.suggesting.lines import Line
from runlore.domain.suggesting.one_off_values import is_temporary
from runlore.domain.suggesting.value_positions import Placed, find_placed_values

_SETTINGS = re.compile(r"^(?P<env>env\s+)?(?P<told>(?:[A-Za-z_]\w{0,80}=[^\s'\"]{0,400}\s+){1,12})(?=\S)")
# What a command does is the same wherever its cache lies; of other folders nobody can say so.
_CACHE = re.compile(r"CACHE|TE?MP", re.IGNORECASE)
# What a variable is called that names a folder.
_FOLDER = re.compile(r"(?:CACHE|TE?MP|TE?MPDIR|DIR|DIRECTORY|FOLDER|HOME|ROOT|PREFIX)$", re.IGNORECASE)
_ADDS_WORKTREE = "git worktree add"


def without_throw_away_settings(line: Line) -> Line:
    """A line without settings that only point into a folder for what is thrown away: a cache that one
    session had to put elsewhere is nothing that the command needs."""
    if line.whole:
        return line
    return replace(line, commands=tuple(map(_without, line.commands)))


def _without(command: StepCommand) -> StepCommand:
    found = _SETTINGS.match(command.text)
    if found is None:
        return command
    told = found["told"].split()
    kept = [each for each in told if not _is_throw_away(*each.split("=", 1))]
    if len(kept) == len(told):
        return command
    prefix = " ".join([*(["env"] if kept and found["env"] else []), *kept, ""])
    gone = {part for each in told if each not in kept for part in (each, each.partition("=")[2])}
    values = tuple(value for value in command.values if value not in gone)
    return replace(command, text=prefix.lstrip() + command.text[found.end() :], values=values)


def _is_throw_away(name: str, value: str) -> bool:
    return _CACHE.search(name) is not None and is_temporary(value)


def has_throw_away_setting(line: Line) -> bool:
    """Whether a setting before a command names something in a folder for what is thrown away."""
    return any(True for _ in _thrown_away(line))


def folders_to_make(line: Line, told: str) -> tuple[str, ...]:
    """The folders that settings of a line name and that nobody has made yet, as the line is told; none where
    one of them may be a file."""
    placed = list(_thrown_away(line))
    if not all(_FOLDER.search(each.flag) and not splitext(each.value)[1] for each in placed):
        return ()
    found = [re.search(rf"\b{re.escape(each.flag)}=(<[a-z0-9-]{{1,40}}>)", told) for each in placed]
    return tuple(dict.fromkeys(each[1] for each in found if each))


def _thrown_away(line: Line) -> Iterator[Placed]:
    for command in line.commands:
        for placed in find_placed_values(command):
            if placed.flag and not placed.flag.startswith("-") and is_temporary(placed.value):
                yield placed


def enter_worktrees(units: Sequence[Unit], match: Match) -> tuple[Unit, ...]:
    """The units with the way into a worktree behind the line that adds it, where the session went there."""
    told: list[Unit] = []
    for place, unit in enumerate(units):
        told.append(unit)
        added = [command for command in unit.line.commands if command.form.startswith(_ADDS_WORKTREE)]
        follows = [command for later in units[place + 1 :] for command in later.line.commands]
        if not added or not follows or any(command.kind is CommandKind.MOVING for command in follows):
            continue
        way = _way(match, frozenset(value for command in added for value in command.values))
        if way is not None:
            told.append(Unit(lines=(Line(commands=(way,)),)))
    return tuple(told)


def _way(match: Match, folders: frozenset[str]) -> StepCommand | None:
    moves = (
        command
        for occurrence in reversed(match.occurrences)
        for step in occurrence.steps
        for command in step.commands
        if command.kind is CommandKind.MOVING and folders.intersection(command.text.split()[1:2])
    )
    return next(moves, None)
