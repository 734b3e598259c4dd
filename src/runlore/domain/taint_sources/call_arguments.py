"""What a tool call is given: the commands that a shell tool is told to run, texts and paths by their keys."""

import re
from collections.abc import Iterator, Mapping, Sequence

from runlore.domain.record import JsonValue
from runlore.domain.shell import Script, ShellCommand, script_of, script_of_words
from runlore.domain.taint_sources.addresses import ReadingBudget, with_gaps_as_words
from runlore.domain.taint_sources.tools import runs_commands
from runlore.domain.text.word_tables import words

# What a shell tool is told besides its commands that is neither run nor handed on.
_NARRATING = words(
    "description justification explanation reason title summary name id session_id sessionid call_id cwd"
    " workdir working_directory dir dir_path directory timeout toolaction toolsummary action"
    " sandbox_permissions prefix_rule"
)
# Keys whose text may be typed into any program, and not into a shell alone.
TYPED_KEYS = words("chars data stdin code input text keys")
# Keys whose text is a command that the tool itself runs.
_COMMAND_KEYS = words(
    "command cmd commands script cmdline command_line commandline shell_command bash_command"
)
# Tools whose bare text is a program that may call others, and no script.
_PROGRAM_TOOLS = words("exec")
PATH_KEYS = words(
    "path file_path filepath file filename notebook_path absolute_path absolutepath paths files target_file"
    " targetfile relative_path dir_path directory include_pattern path_a path_b uri url urls link href"
)
_INNER_COMMAND = re.compile(r"""\bcmd["']?\s*:\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)""")
_NUMBERS = (int, float)
INNER_TOOL = re.compile(r"\btools\.([A-Za-z_][A-Za-z0-9_]*)\s*\(")


def path_arguments(arguments: JsonValue) -> Iterator[str]:
    texts = argument_texts(arguments, ReadingBudget.of_call()) if isinstance(arguments, Mapping) else ()
    yield from (text for key, text in texts if key.lower() in PATH_KEYS)


def simple_commands(name: str, arguments: JsonValue) -> Iterator[ShellCommand]:
    for called in commands_of_call(name, arguments):
        yield from script_of_called(called).commands


def script_of_called(called: str | list[str]) -> Script:
    return script_of(with_gaps_as_words(called)) if isinstance(called, str) else script_of_words(called)


def commands_of_call(name: str, arguments: JsonValue) -> Iterator[str | list[str]]:
    """What a shell tool is told to run: scripts, or the words of commands. What is typed into a program that
    runs already is no command; those that a program text calls by `tools.exec_command` are."""
    if not runs_commands(name):
        return
    for key, command in command_texts(arguments, ""):
        if isinstance(command, str) and (not key or key.lower() in TYPED_KEYS):
            if INNER_TOOL.search(command):
                yield from inner_commands(command)
            elif not key and name.strip().lower() not in _PROGRAM_TOOLS:
                yield command
        elif key.lower() in _COMMAND_KEYS:
            yield command


def is_narrating(key: str) -> bool:
    """Whether a shell tool is told something under this key that is neither run nor handed on."""
    return key.lower() in _NARRATING


def inner_commands(text: str) -> list[str]:
    return [
        re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], quoted[1:-1])
        for quoted in _INNER_COMMAND.findall(text)
    ]


def command_texts(value: JsonValue, key: str) -> Iterator[tuple[str, str | list[str]]]:
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
                yield from command_texts(item, inner)
    elif isinstance(value, Sequence):
        texts = [text for text in value if isinstance(text, str)]
        if key == "commands" or any(" " in text for text in texts[:1]):
            yield from ((key, text) for text in texts)
        elif texts:
            yield key, texts
        for item in value:
            if not isinstance(item, str):
                yield from command_texts(item, key)


def argument_texts(value: JsonValue, budget: ReadingBudget, key: str = "") -> Iterator[tuple[str, str]]:
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
                yield from argument_texts(item, budget, name)
    elif isinstance(value, Sequence):
        for item in value:
            if budget.is_spent:
                return
            yield from argument_texts(item, budget, key)
