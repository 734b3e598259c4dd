"""What a tool call reads from outside: by the tool's name, by the commands it runs, by what it is given."""

import re
from collections.abc import Iterator, Mapping, Sequence

from runlore.domain import limits
from runlore.domain.record import JsonValue
from runlore.domain.taint_sources.addresses import is_address, is_own_machine
from runlore.domain.taint_sources.budget import MORE_THAN_IS_READ, Budget
from runlore.domain.taint_sources.commands import named_address, untold
from runlore.domain.taint_sources.kinds import Reading, words
from runlore.domain.taint_sources.paths import outside_of_path
from runlore.domain.taint_sources.program_texts import outside_of_text
from runlore.domain.taint_sources.scripts import outside_of_script, outside_of_words
from runlore.domain.taint_sources.tools import (
    UNKNOWN,
    is_batch,
    outside_of_tool,
    runs_commands,
)

BATCH_DEPTH_MAX = 3

# What a shell tool is told besides its commands that is neither run nor handed on.
_NARRATING = words(
    "description justification explanation reason title summary name id session_id sessionid call_id cwd"
    " workdir working_directory dir dir_path directory timeout toolaction toolsummary action"
)
# Keys whose text may be typed into any program, and not into a shell alone.
_TYPED = words("chars data stdin code input text keys")
# Keys whose text is a command that the tool itself runs.
_COMMAND_KEYS = words(
    "command cmd commands script cmdline command_line commandline shell_command bash_command"
)
# Tools whose bare text is a program that may call others, and no script.
_PROGRAM_TOOLS = words("exec")
_PATH_KEYS = words(
    "path file_path filepath file filename notebook_path absolute_path absolutepath paths files target_file"
    " targetfile relative_path dir_path directory include_pattern path_a path_b uri url urls link href"
)
# What a tool of the workspace writes, looks for or shows; an address in it is not opened.
_CONTENT_KEYS = words(
    "content contents new_string old_string new_str old_str file_text insert_text new_source old_text"
    " new_text pattern query regex text patch diff input description explanation prompt message question"
    " thought plan replacement command todos title header label answer answers options codecontent search"
    " replace fact"
)
_INNER_COMMAND = re.compile(r"""\bcmd["']?\s*:\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)""")
_NUMBERS = (int, float)
_INNER_TOOL = re.compile(r"\btools\.([A-Za-z_][A-Za-z0-9_]*)\s*\(")


def outside_of_call(name: str, arguments: JsonValue, budget: Budget | None = None) -> tuple[Reading, ...]:
    """What a tool call reads from outside: its sources, each with the reason that it counts."""
    own = budget or Budget.of_call()
    found = tuple(_of_call(name, arguments, own, depth=0))
    return (*found, MORE_THAN_IS_READ) if own.is_spent and MORE_THAN_IS_READ not in found else found


def called_commands(name: str, arguments: JsonValue) -> Iterator[str | list[str]]:
    """What a shell tool is told to run: scripts, or the words of commands. What is typed into a program that
    runs already is no command; those that a program text calls by `tools.exec_command` are."""
    if not runs_commands(name):
        return
    for key, command in _commands(arguments, ""):
        if isinstance(command, str) and (not key or key.lower() in _TYPED):
            if _INNER_TOOL.search(command):
                yield from _inner_commands(command)
            elif not key and name.strip().lower() not in _PROGRAM_TOOLS:
                yield command
        elif key.lower() in _COMMAND_KEYS:
            yield command


def is_narrating(key: str) -> bool:
    """Whether a shell tool is told something under this key that is neither run nor handed on."""
    return key.lower() in _NARRATING


def _of_call(name: str, arguments: JsonValue, budget: Budget, *, depth: int) -> Iterator[Reading]:
    if runs_commands(name):
        yield from _of_shell_call(arguments, budget)
    elif is_batch(name):
        yield from _of_batch(name, arguments, budget, depth=depth)
    elif (by_name := outside_of_tool(name)) is not None:
        texts = (text for _, text in _texts(arguments, budget) if is_address(text))
        addresses = tuple(dict.fromkeys(texts))[: limits.TAINT_SOURCES_MAX]
        yield from ((text, by_name) for text in addresses or (name,))
    else:
        yield from _of_paths(arguments, budget)


def _of_batch(name: str, arguments: JsonValue, budget: Budget, *, depth: int) -> Iterator[Reading]:
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


def _of_shell_call(arguments: JsonValue, budget: Budget) -> Iterator[Reading]:
    for key, command in _commands(arguments, ""):
        if is_narrating(key):
            continue
        if isinstance(command, str):
            yield from _of_script(command, budget, is_typed=key.lower() in _TYPED)
        else:
            yield from outside_of_words(command, budget)
        if budget.is_spent:
            yield MORE_THAN_IS_READ
            return


def _of_script(text: str, budget: Budget, *, is_typed: bool) -> Iterator[Reading]:
    calls = [called[1] for called in _INNER_TOOL.finditer(text)] if "tools." in text else []
    found = tuple(_of_program_text(text, calls, budget)) if calls else ()
    if not (found and is_typed):
        # A program text that calls tools is no script: what of it cannot be told as one says nothing.
        is_code = bool(calls) and is_typed
        found += tuple(each for each in outside_of_script(text, budget) if not (is_code and each == untold()))
    if is_typed and not calls and not found:
        found = tuple(outside_of_text("what was typed", text))
    yield from found
    if is_address(text) and not is_own_machine(text):
        yield named_address(text)


def _of_program_text(text: str, calls: Sequence[str], budget: Budget) -> Iterator[Reading]:
    """Commands and tools that are called from inside a program text, as late Codex versions do."""
    for name in calls:
        if (by_name := outside_of_tool(name)) is not None:
            yield name, by_name
    commands = _inner_commands(text)
    for inner in commands:
        yield from outside_of_script(inner, budget)
    if len(commands) < sum(map(runs_commands, calls)):
        yield untold()


def _inner_commands(text: str) -> list[str]:
    """The commands that a program text has in quotes, without them."""
    return [
        re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], quoted[1:-1])
        for quoted in _INNER_COMMAND.findall(text)
    ]


def _of_paths(arguments: JsonValue, budget: Budget) -> Iterator[Reading]:
    """The files and addresses that a tool of the workspace is called with."""
    for key, text in _texts(arguments, budget):
        name = key.lower()
        if name in _PATH_KEYS and (outside := outside_of_path(text)):
            yield text, outside
        elif name not in _CONTENT_KEYS and is_address(text) and not is_own_machine(text):
            yield named_address(text)


def _commands(value: JsonValue, key: str) -> Iterator[tuple[str, str | list[str]]]:
    """All texts of a shell tool's arguments, by their keys: each a script, or the words of a command."""
    if isinstance(value, str):
        if value:
            yield key, value
    elif isinstance(value, (dict, Mapping)):
        is_narrated = key.lower() in _NARRATING
        for name, item in value.items():
            inner = key if is_narrated else name
            if isinstance(item, str):
                if item:
                    yield inner, item
            elif not isinstance(item, _NUMBERS) and item is not None:
                yield from _commands(item, inner)
    elif isinstance(value, Sequence):
        texts = [text for text in value if isinstance(text, str)]
        if key == "commands" or any(" " in text for text in texts[:1]):
            yield from ((key, text) for text in texts)
        elif texts:
            yield key, texts
        for item in value:
            if not isinstance(item, str):
                yield from _commands(item, key)


def _texts(value: JsonValue, budget: Budget, key: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a call's arguments with their keys, as many as may be looked at."""
    if isinstance(value, str):
        if budget.spend_text():
            yield key, value
    elif isinstance(value, (dict, Mapping)):
        for name, item in value.items():
            if isinstance(item, str):
                if budget.spend_text():
                    yield name, item
            elif not isinstance(item, _NUMBERS) and item is not None:
                yield from _texts(item, budget, name)
    elif isinstance(value, Sequence):
        for item in value:
            if budget.is_spent:
                return
            yield from _texts(item, budget, key)
