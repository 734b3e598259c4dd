"""What a tool call reads from outside: by the tool's name, by the commands it runs, by what it is given.

What a shell tool's script reads from outside, command by command.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from runlore.domain import limits
from runlore.domain.record import JsonValue
from runlore.domain.shell import Script, ShellCommand, script_of, script_of_words
from runlore.domain.shell.wrappers import SHELLS
from runlore.domain.taint_sources.addresses import (
    MORE_THAN_IS_READ,
    ReadingBudget,
    is_address,
    is_own_machine,
    with_gaps_as_words,
)
from runlore.domain.taint_sources.call_arguments import (
    INNER_TOOL,
    PATH_KEYS,
    TYPED_KEYS,
    argument_texts,
    command_texts,
    commands_of_call,
    inner_commands,
    is_narrating,
    script_of_called,
)
from runlore.domain.taint_sources.call_files import CallFiles, files_printed
from runlore.domain.taint_sources.commands import (
    ENVIRONMENT,
    describe_unknown,
    is_computed_program,
    named_address,
    outside_of_command,
    plain_name,
)
from runlore.domain.taint_sources.kinds import ANYWHERE, Brings, Reading, WorkPlace
from runlore.domain.taint_sources.listed_files import is_fed_by, outside_of_listed
from runlore.domain.taint_sources.local_programs import outside_of_unlisted
from runlore.domain.taint_sources.paths import outside_of_folder, outside_of_path
from runlore.domain.taint_sources.program_texts import INTERPRETERS, outside_of_text
from runlore.domain.taint_sources.programs import BY_PROGRAM
from runlore.domain.taint_sources.tools import (
    FILE_READERS,
    GIVEN_A_FILE,
    OUR_TOOLS,
    UNKNOWN,
    is_batch,
    outside_of_tool,
    runs_commands,
)
from runlore.domain.text.word_tables import words

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
_PRINTED = re.compile(r"\$\{?([A-Za-z_]\w*)")
# What every shell says of itself.
_OF_SHELL = words("HOME PWD OLDPWD PATH USER SHELL PIPESTATUS RANDOM SECONDS LINENO HOSTNAME PPID UID TMPDIR")
BATCH_DEPTH_MAX = 3
# What prints nothing of its own, or only what it is given.
_SILENT = words("cd export set mkdir sleep true umask echo printf")

# What a tool of the workspace writes, looks for or shows; an address in it is not opened.
_CONTENT_KEYS = words(
    "content contents new_string old_string new_str old_str file_text insert_text new_source old_text"
    " new_text pattern query regex text patch diff input description explanation prompt message question"
    " thought plan replacement command todos title header label answer answers options codecontent search"
    " replace fact"
)


class _Read(NamedTuple):
    readings: tuple[Reading, ...]
    work: int


def outside_of_script(text: str, budget: ReadingBudget) -> tuple[Reading, ...]:
    if not budget.spend_chars(len(text)):
        return (MORE_THAN_IS_READ,)
    read = _remembered(text) if len(text) <= REMEMBERED_CHARS_MAX else _read(text)
    return read.readings if budget.spend(read.work) else (*read.readings, MORE_THAN_IS_READ)


def outside_of_words(words: Sequence[str], budget: ReadingBudget) -> tuple[Reading, ...]:
    """The same for a command that comes as words."""
    if not budget.spend_chars(sum(map(len, words)) + len(words)):
        return (MORE_THAN_IS_READ,)
    return tuple(_of_commands(script_of_words(words), " ".join(words), budget))


def _read(text: str) -> _Read:
    budget = ReadingBudget.of_call()
    script = script_of(with_gaps_as_words(text))
    found = list(_of_commands(script, text, budget))
    if not found and not script.whole:
        found += _of_loose_words(text)
    return _Read(readings=tuple(found), work=budget.used)


_remembered = lru_cache(maxsize=REMEMBERED_SCRIPTS)(_read)


def _of_commands(script: Script, text: str, budget: ReadingBudget) -> Iterator[Reading]:
    before: ShellCommand | None = None
    is_found = False
    variables = _variables(text) if "$" in text else {}
    for command in script.commands:
        for each in _resolve(command, variables):
            readings = outside_of_command(each, budget) or _of_printed_variables(each, text)
            readings = readings or tuple(outside_of_listed(each, before, text))
            if not readings and script.whole:
                readings = tuple(outside_of_unlisted(each, text))
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


def _of_printed_variables(command: ShellCommand, text: str) -> tuple[Reading, ...]:
    """A variable that a command prints and that this script has not set: whoever started the shell did."""
    if command.program not in _PRINTING or "$" not in text:
        return ()
    named = {name for word in command.arguments for name in _PRINTED.findall(word)} - _OF_SHELL
    known = {name for name, _ in _ASSIGNED.findall(text)}
    known |= {word for line in _SETTING.findall(text) for word in _NAME.findall(line)}
    return () if named <= known else (("the environment", ENVIRONMENT),)


def _of_feeding(command: ShellCommand, before: ShellCommand | None) -> Iterator[Reading]:
    """A shell or an interpreter that runs what is piped into it."""
    program = plain_name(command.program)
    is_shell = program in SHELLS
    if command.place == 0 or command.stdin_text or not (is_shell or program in INTERPRETERS):
        return
    if any(not word.startswith("-") for word in command.arguments) and "-s" not in command.arguments:
        return
    if not is_shell and any(word != "-" for word in command.arguments):
        return
    if before is None or not is_fed_by(command, before):
        yield describe_unknown(program)
    elif before.program in _PRINTING:
        yield from outside_of_text(program, " ".join(before.arguments))
    elif before.program != "cat" or not (before.arguments or before.reads):
        yield describe_unknown(program)


def _resolve(command: ShellCommand, variables: Mapping[str, Sequence[str]]) -> Iterator[ShellCommand]:
    """The command, or what it is where a word of it is a variable that the script sets to plain words."""
    if not variables:
        yield command
        return
    given = tuple(value for word in command.arguments for value in _values(word, variables) or (word,))
    if given != command.arguments:
        command = replace(command, arguments=given)
    values = _values(command.program, variables)
    if not values:
        yield command
    for value in values:
        yield from script_of_words((*value.split(), *command.arguments)).commands


def _values(word: str, variables: Mapping[str, Sequence[str]]) -> Sequence[str]:
    found = _VARIABLE.match(word)
    return variables.get(found[1], ()) if found else ()


def _variables(text: str) -> Mapping[str, Sequence[str]]:
    """What a short script sets variables to; nothing for one that it sets otherwise than to plain words."""
    values: dict[str, list[str]] = {}
    if len(text) > REMEMBERED_CHARS_MAX:
        return values
    unclear = {word for line in _SETTING.findall(text) for word in _NAME.findall(line)}
    for name, value in _ASSIGNED.findall(text):
        plain = value.strip("'\"").split()
        if not plain or is_computed_program(plain[0]):
            unclear.add(name)
        if value not in values.setdefault(name, []):
            values[name].append(value.strip("'\""))
    return {name: found for name, found in values.items() if name not in unclear and len(found) <= VALUES_MAX}


def _of_loose_words(text: str) -> Iterator[Reading]:
    """What could not be parsed counts by its words: a program of the table where a command could begin."""
    for found in _COMMAND_LIKE.finditer(text):
        words = [plain_name(word) for word in found[0].lstrip(_BEFORE_COMMANDS).split()]
        for row in BY_PROGRAM.get(words[0], ()) if len(words) > 1 else ():
            behind = next((word for word in words[1:] if word in row.when), "")
            if behind or not row.when:
                yield f"{words[0]} {behind}".strip(), row.outside


def outside_of_call(
    name: str, arguments: JsonValue, budget: ReadingBudget | None = None, *, place: WorkPlace = ANYWHERE
) -> tuple[Reading, ...]:
    """What a tool call reads from outside: its sources, each with the reason that it counts."""
    own = budget or ReadingBudget.of_call()
    if place.is_ours and name in OUR_TOOLS:
        return ()
    found = tuple(_of_call(name, arguments, own, depth=0))
    if not found:
        found = tuple(_of_other_folders(name, arguments, place.folder))
    return (*found, MORE_THAN_IS_READ) if own.is_spent and MORE_THAN_IS_READ not in found else found


def prints_outside(name: str, arguments: JsonValue, folder: str = "") -> bool:
    """Whether what a call that reads from outside prints is all from there: a text and no report of what was
    installed or pulled, and nothing of other commands beside it."""
    readings = tuple(outside_of_call(name, arguments, ReadingBudget.of_call()))
    if not all(each.brings is Brings.TEXT for _, each in readings):
        return False
    for called in commands_of_call(name, arguments):
        script = script_of_called(called)
        printing = [each for each in script.commands if each.program not in _SILENT]
        reading = {
            each.pipeline
            for each in printing
            if outside_of_command(each)
            or any(outside_of_folder(path, folder) for path in files_printed(each))
        }
        if script.whole and not all(each.pipeline in reading for each in printing):
            return False
    return True


def _of_call(name: str, arguments: JsonValue, budget: ReadingBudget, *, depth: int) -> Iterator[Reading]:
    if runs_commands(name):
        yield from _of_shell_call(arguments, budget)
    elif is_batch(name):
        yield from _of_batch(name, arguments, budget, depth=depth)
    elif (by_name := outside_of_tool(name)) is not None:
        texts = (text for _, text in argument_texts(arguments, budget) if is_address(text))
        addresses = tuple(dict.fromkeys(texts))[: limits.TAINT_SOURCES_MAX]
        yield from ((text, by_name) for text in addresses or (name,))
    else:
        yield from _of_paths(arguments, budget)


def _of_batch(name: str, arguments: JsonValue, budget: ReadingBudget, *, depth: int) -> Iterator[Reading]:
    """The calls of a call, each as if it stood alone; one of another shape is unknown."""
    calls = arguments.get("tool_calls") if isinstance(arguments, Mapping) else None
    if not isinstance(calls, Sequence) or isinstance(calls, str) or depth >= BATCH_DEPTH_MAX:
        yield name, UNKNOWN
        return
    for call in calls:
        tool = call.get("tool") if isinstance(call, Mapping) else None
        if not isinstance(call, Mapping) or not isinstance(tool, str) or not budget.spend_text():
            yield name, UNKNOWN
            return
        rest = {key: value for key, value in call.items() if key != "tool"}
        yield from _of_call(tool, call.get("parameters", rest), budget, depth=depth + 1)


def _of_shell_call(arguments: JsonValue, budget: ReadingBudget) -> Iterator[Reading]:
    for key, command in command_texts(arguments, ""):
        if is_narrating(key):
            continue
        if isinstance(command, str):
            yield from _of_script(command, budget, is_typed=key.lower() in TYPED_KEYS)
        else:
            yield from outside_of_words(command, budget)
        if budget.is_spent:
            yield MORE_THAN_IS_READ
            return


def _of_script(text: str, budget: ReadingBudget, *, is_typed: bool) -> Iterator[Reading]:
    if is_typed and len(text.strip()) == 1:
        # An answer to a program that asks: `y`, `q`.
        return
    calls = [called[1] for called in INNER_TOOL.finditer(text)] if "tools." in text else []
    found = tuple(_of_program_text(text, calls, budget)) if calls else ()
    if not (found and is_typed):
        # A program text that calls tools is no script: what of it cannot be told as one says nothing.
        is_code = bool(calls) and is_typed
        found += tuple(
            each for each in outside_of_script(text, budget) if not (is_code and each == describe_unknown())
        )
    if is_typed and not calls and not found:
        found = tuple(outside_of_text("what was typed", text))
    yield from found
    if is_address(text) and not is_own_machine(text):
        yield named_address(text)


def _of_program_text(text: str, calls: Sequence[str], budget: ReadingBudget) -> Iterator[Reading]:
    """Commands and tools that are called from inside a program text, as late Codex versions do."""
    for name in calls:
        if (by_name := outside_of_tool(name)) is not None:
            yield name, by_name
    commands = inner_commands(text)
    for inner in commands:
        yield from outside_of_script(inner, budget)
    if len(commands) < sum(map(runs_commands, calls)):
        yield describe_unknown()


def _of_paths(arguments: JsonValue, budget: ReadingBudget) -> Iterator[Reading]:
    """The files and addresses that a tool of the workspace is called with."""
    for key, text in argument_texts(arguments, budget):
        name = key.lower()
        if name in PATH_KEYS and (outside := outside_of_path(text)):
            yield text, outside
        elif name not in _CONTENT_KEYS and is_address(text) and not is_own_machine(text):
            yield named_address(text)


def _of_other_folders(name: str, arguments: JsonValue, folder: str) -> Iterator[Reading]:
    """What a call shows of other folders, or where nobody can tell what a tool that shows files is given."""
    tool = name.strip().lower()
    is_told = arguments is None or (
        isinstance(arguments, Mapping) and (arguments or tool not in GIVEN_A_FILE)
    )
    if tool in FILE_READERS and not is_told:
        yield f"{name} of something that cannot be told", UNKNOWN
    yield from CallFiles(name, arguments, folder).list_elsewhere()
