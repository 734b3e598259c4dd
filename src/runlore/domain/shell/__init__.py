"""Shell commands: what a script runs, command by command, and the form that makes two of them the same."""

from runlore.domain.shell.command import Redirect, ShellCommand
from runlore.domain.shell.forms import CommandParts, form_of, normal_form, parts_of
from runlore.domain.shell.script import Script, commands_of, commands_of_words, script_of, script_of_words

__all__ = [
    "CommandParts",
    "Redirect",
    "Script",
    "ShellCommand",
    "commands_of",
    "commands_of_words",
    "form_of",
    "normal_form",
    "parts_of",
    "script_of",
    "script_of_words",
]
