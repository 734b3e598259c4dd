"""What counts as read from outside: tables of tools, commands and files with reasons, and their reader."""

from runlore.domain.taint_sources.calls import outside_of_call
from runlore.domain.taint_sources.commands import outside_of_command
from runlore.domain.taint_sources.kinds import Brings, Outside, OutsideKind
from runlore.domain.taint_sources.reading import PASTED, read_outside

__all__ = [
    "PASTED",
    "Brings",
    "Outside",
    "OutsideKind",
    "outside_of_call",
    "outside_of_command",
    "read_outside",
]
