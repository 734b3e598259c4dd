"""Programs that work on what the folder and this machine have: what they print is the folder's own.

A program that no table names counts, as a tool does that none names: nobody can tell what it prints. The
project's own scripts and the functions of the script itself are told by their path and by their name.
"""

import re
from collections.abc import Iterator

from runlore.domain.shell import ShellCommand
from runlore.domain.shell.wrappers import SHELLS, WRAPPERS
from runlore.domain.taint_sources.commands import CLIENTS, RUNNERS, plain_name
from runlore.domain.taint_sources.kinds import Brings, Outside, OutsideKind, Reading
from runlore.domain.taint_sources.paths import outside_of_folder, outside_of_path
from runlore.domain.taint_sources.program_texts import INTERPRETERS, TEXT_PROGRAMS
from runlore.domain.taint_sources.programs import (
    BY_PROGRAM,
    COPYING,
    LOCAL,
    NAMING_ONLY,
    NOT_PRINTING,
    SEARCHING,
    SHOWING,
    UNPACKING,
)

_LISTED = (
    LOCAL | NAMING_ONLY | NOT_PRINTING | SHOWING | SEARCHING | COPYING | UNPACKING | TEXT_PROGRAMS | SHELLS
).union(BY_PROGRAM, INTERPRETERS, WRAPPERS, RUNNERS, CLIENTS)
_UNLISTED = Outside(
    kind=OutsideKind.UNKNOWN_TOOL, brings=Brings.CODE, why="no table says what this program prints"
)
_NAME = re.compile(r"[A-Za-z][\w.+-]{0,60}")
_FUNCTION = re.compile(r"([\w.-]{1,60})[ \t]*\([ \t]*\)|\bfunction[ \t]+([\w.-]{1,60})")


def outside_of_unlisted(command: ShellCommand, text: str) -> Iterator[Reading]:
    """A program of which nobody can tell what it prints; `text` is the script that it stands in."""
    called, name = command.program, plain_name(command.program)
    if name in _LISTED or not _NAME.fullmatch(name):
        return
    if "/" not in called:
        if not any(name in found for found in _FUNCTION.findall(text.lower())):
            yield name, _UNLISTED
    elif outside := outside_of_path(called):
        yield called, outside
    elif called.startswith("~") or outside_of_folder(called):
        yield called, _UNLISTED
