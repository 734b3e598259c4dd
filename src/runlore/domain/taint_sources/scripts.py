"""What a shell tool's script reads from outside, command by command."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from runlore.domain.shell import Script, ShellCommand, script_of, script_of_words
from runlore.domain.shell.wrappers import SHELLS
from runlore.domain.taint_sources.addresses import is_own_machine, with_gaps_as_words
from runlore.domain.taint_sources.budget import MORE_THAN_IS_READ, Budget
from runlore.domain.taint_sources.commands import (
    is_untold,
    named_address,
    outside_of_command,
    plain_name,
    untold,
)
from runlore.domain.taint_sources.kinds import Reading
from runlore.domain.taint_sources.program_texts import INTERPRETERS, outside_of_text
from runlore.domain.taint_sources.programs import BY_PROGRAM

# Scripts that are remembered: an open run is read again with every candidate that names it.
REMEMBERED_SCRIPTS = 2_048
REMEMBERED_CHARS_MAX = 2_048
# A variable that is set to more than so many things is none that can be told.
VALUES_MAX = 4

_BEFORE_COMMANDS = ";|&(`$\"' \t\n"
# A few words at the beginning of a line, or behind a sign that a command can follow.
_COMMAND_LIKE = re.compile(r"""(?:^|[;|&(`"'\n])[ \t]*[A-Za-z0-9_./+-]+(?:[ \t]+[^\s;|&()`"']+){0,3}""")
_PROXY = re.compile(r"\b(?:https?|ftp|all|socks)_proxy=[\"']?([^\s\"';&|]+)", re.IGNORECASE)
_VARIABLE = re.compile(r"^\$\{?([A-Za-z_]\w*)\}?$")
# A name that is set, and to what, where that is plain.
_ASSIGNED = re.compile(
    r"""(?<![\w$])([A-Za-z_]\w*)\+?=((?<!\+=)(?:"[^"$`\\]+"|'[^']+'|[\w./:+-]+)(?=[\s;&|)'"]|$))?"""
)
_SETTING = re.compile(r"\b(?:for|read|select|mapfile|readarray|printf|getopts)\b([^;\n]*)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_PRINTING = frozenset({"echo", "printf"})


class _Read(NamedTuple):
    readings: tuple[Reading, ...]
    work: int


def outside_of_script(text: str, budget: Budget) -> tuple[Reading, ...]:
    """What a script reads from outside."""
    if not budget.spend_chars(len(text)):
        return (MORE_THAN_IS_READ,)
    read = _remembered(text) if len(text) <= REMEMBERED_CHARS_MAX else _read(text)
    return read.readings if budget.spend(read.work) else (*read.readings, MORE_THAN_IS_READ)


def outside_of_words(words: Sequence[str], budget: Budget) -> tuple[Reading, ...]:
    """The same for a command that comes as words."""
    if not budget.spend_chars(sum(map(len, words)) + len(words)):
        return (MORE_THAN_IS_READ,)
    return tuple(_of_commands(script_of_words(words), " ".join(words), budget))


def _read(text: str) -> _Read:
    budget = Budget.of_call()
    script = script_of(with_gaps_as_words(text))
    found = list(_of_commands(script, text, budget))
    if not found and not script.whole:
        found += _of_loose_words(text)
    return _Read(readings=tuple(found), work=budget.used)


_remembered = lru_cache(maxsize=REMEMBERED_SCRIPTS)(_read)


def _of_commands(script: Script, text: str, budget: Budget) -> Iterator[Reading]:
    before: ShellCommand | None = None
    is_found = False
    variables = _variables(text) if any("$" in command.program for command in script.commands) else {}
    for command in script.commands:
        for each in _resolved(command, variables):
            readings = outside_of_command(each, budget)
            is_found = is_found or bool(readings)
            yield from readings
        if not is_found:
            # Where something was read from outside already, what is piped on from it tells nothing new.
            yield from _of_feeding(command, before)
        if budget.is_spent:
            break
        before = command
    for found in _PROXY.finditer(text) if "_proxy=" in text.lower() else ():
        if not is_own_machine(found[1] if "://" in found[1] else f"http://{found[1]}"):
            yield named_address(found[1])
    if script.is_cut or budget.is_spent:
        yield MORE_THAN_IS_READ


def _of_feeding(command: ShellCommand, before: ShellCommand | None) -> Iterator[Reading]:
    """A shell or an interpreter that runs what is piped into it."""
    program = plain_name(command.program)
    is_shell = program in SHELLS
    if command.place == 0 or command.given or not (is_shell or program in INTERPRETERS):
        return
    if any(not word.startswith("-") for word in command.arguments) and "-s" not in command.arguments:
        return
    if not is_shell and any(word != "-" for word in command.arguments):
        return
    feeds = before is not None and (before.pipeline, before.place + 1) == (command.pipeline, command.place)
    if before is None or not feeds:
        yield untold(program)
    elif before.program in _PRINTING:
        yield from outside_of_text(program, " ".join(before.arguments))
    elif before.program != "cat" or not (before.arguments or before.reads):
        yield untold(program)


def _resolved(command: ShellCommand, variables: Mapping[str, Sequence[str]]) -> Iterator[ShellCommand]:
    """The command, or what it is where its program is a variable that the script sets to plain words."""
    found = _VARIABLE.match(command.program)
    values = variables.get(found[1], ()) if found else ()
    if not values:
        yield command
    for value in values:
        yield from script_of_words((*value.split(), *command.arguments)).commands


def _variables(text: str) -> Mapping[str, Sequence[str]]:
    """What a short script sets variables to; nothing for one that it sets otherwise than to plain words."""
    values: dict[str, list[str]] = {}
    if len(text) > REMEMBERED_CHARS_MAX:
        return values
    unclear = {word for line in _SETTING.findall(text) for word in _NAME.findall(line)}
    for name, value in _ASSIGNED.findall(text):
        plain = value.strip("'\"").split()
        if not plain or is_untold(plain[0]):
            unclear.add(name)
        if value not in values.setdefault(name, []):
            values[name].append(value.strip("'\""))
    return {name: found for name, found in values.items() if name not in unclear and len(found) <= VALUES_MAX}


def _of_loose_words(text: str) -> Iterator[Reading]:
    """What could not be parsed counts by its words: a program of the table where a command could begin."""
    for found in _COMMAND_LIKE.finditer(text):
        words = [plain_name(word) for word in found[0].lstrip(_BEFORE_COMMANDS).split()]
        row = BY_PROGRAM.get(words[0]) if len(words) > 1 else None
        if row is None:
            continue
        behind = next((word for word in words[1:] if word in row.when), "")
        if behind or not row.when:
            yield f"{words[0]} {behind}".strip(), row.outside
