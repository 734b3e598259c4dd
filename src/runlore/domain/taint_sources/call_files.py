"""Which files a tool call shows, writes, and brings from outside without showing them."""

import re
from collections.abc import Iterator
from itertools import islice
from posixpath import basename, join

from runlore.domain.record import JsonValue
from runlore.domain.shell import ShellCommand
from runlore.domain.taint_sources.addresses import ReadingBudget, is_address, last_part
from runlore.domain.taint_sources.call_arguments import argument_texts, path_arguments, simple_commands
from runlore.domain.taint_sources.commands import (
    is_of_others,
    option_values,
    outside_of_command,
    plain_name,
    told_to_make,
)
from runlore.domain.taint_sources.kinds import Outside
from runlore.domain.taint_sources.paths import outside_of_folder, outside_of_path
from runlore.domain.taint_sources.program_texts import INTERPRETERS, QUOTED
from runlore.domain.taint_sources.programs import (
    BRINGING,
    COPYING,
    NOT_SHOWING,
    SEARCHING,
    SHOWING,
    UNPACKING,
)
from runlore.domain.taint_sources.tools import FILE_READERS, FILE_WRITERS
from runlore.domain.text.word_tables import words

# Of so many files at most one is made.
INPUTS_MAX = 16
# Options of curl by which a file is called as its address ends.
_NAMED_REMOTELY = re.compile(r"-[a-zA-Z]*O|--remote-name")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update) File: (.{1,400})$", re.MULTILINE)
# Behind these stands what is made, and the folder in which something is done.
_OUTPUTS = words(
    "-o -O --output --output-dir --outdir --output-directory --out --outfile --output-document --prefix"
)
_FOLDERS = words("-C --directory --cwd --git-dir --work-tree")
_GOING = frozenset({"cd", "pushd"})


class CallFiles:
    """The files of one call; its script is read once for all that is asked."""

    def __init__(self, name: str, arguments: JsonValue, folder: str = "") -> None:
        self._tool = name.strip().lower()
        self._arguments = arguments
        self._folder = folder
        self._commands = tuple(_commands_in_place(name, arguments))

    def list_shown(self) -> Iterator[str]:
        """The files whose text it shows: what a reading tool is given, or a command that prints files."""
        if self._tool in FILE_READERS:
            yield from path_arguments(self._arguments)
        for here, command in self._commands:
            yield from (join(here, word) for word in files_printed(command))

    def list_written(self) -> Iterator[str]:
        """The files that it writes itself."""
        if self._tool in FILE_WRITERS:
            yield from path_arguments(self._arguments)
            for _, text in argument_texts(self._arguments, ReadingBudget.of_call()):
                yield from _PATCHED.findall(text) if "*** " in text else ()
        for here, command in self._commands:
            yield from (join(here, path) for path in _redirected_to(command))
            yield from (join(here, path) for path in command.arguments if command.program == "tee")

    def list_elsewhere(self) -> Iterator[tuple[str, Outside]]:
        """What it shows of other folders than that in which is worked: files, names, or what is run there."""
        if self._tool in FILE_READERS:
            yield from _elsewhere(path_arguments(self._arguments), self._folder)
        written = {*self.list_written()} if self._commands else ()
        for here, command in self._commands:
            program = plain_name(command.program)
            if program in NOT_SHOWING:
                continue
            plain = plain_words(command)[program in SEARCHING :]
            if program == "git":
                plain = plain[1:] if "--no-index" in command.arguments else ()
            named = {*plain, *(command.reads if command.redirects else ())}
            named -= {*option_values(command.arguments, _OUTPUTS)}
            named |= {*option_values(command.arguments, _FOLDERS)}
            paths = (join(here, word) for word in sorted(named) if ":" not in word)
            yield from _elsewhere((here, *(path for path in paths if path not in written)), self._folder)

    def list_brought(self) -> Iterator[tuple[str, str]]:
        """The files and folders that it brings from outside without showing them, each with its source: what
        a download, a clone or a copy is told to make."""
        piped = ""
        for here, command in self._commands:
            found = next((source for source, _ in outside_of_command(command)), "")
            program, plain = plain_name(command.program), plain_words(command)
            if program in COPYING and len(plain) > 1:
                copied = (word for word in plain[:-1] if outside_of_folder(word, self._folder))
                found = found or next(copied, "")
            elif program in UNPACKING:
                found = found or next((word for word in plain if outside_of_path(word)), "")
            elif program == "git" and is_of_others(command):
                found = f"git {plain[0]}"
            piped = found or (piped if command.place else "")
            if piped:
                told = (*_told_to_bring(command), *_redirected_to(command))
                made = dict.fromkeys(last_part(word) if is_address(word) else word for word in told)
                yield from ((join(here, path), piped) for path in made if path.strip("./"))

    def list_derived(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """What it makes of files without showing it: a copy, a part, another form of them."""
        given: tuple[str, ...] = ()
        for here, command in self._commands:
            program, plain = plain_name(command.program), plain_words(command)
            if program == "git":
                program, plain = "mv" if plain[:1] == ("mv",) else "git", plain[1:]
            is_copied = program in COPYING and len(plain) > 1
            targets = [*_copied_to(plain)] if is_copied else [*option_values(command.arguments, _OUTPUTS)]
            targets += _redirected_to(command)
            named = plain[:-1] if is_copied else (*plain, *command.reads)
            inputs = tuple(join(here, word) for word in named if word not in targets and not is_address(word))
            given = (*(given if command.place else ()), *inputs)[:INPUTS_MAX]
            if given:
                yield from ((given, join(here, target)) for target in targets)


def files_printed(command: ShellCommand) -> tuple[str, ...]:
    """The files that a command prints."""
    if command.program not in SHOWING and command.program not in SEARCHING:
        return ()
    named = plain_words(command)[command.program in SEARCHING :]
    return (*named, *command.reads) if command.redirects else named


def plain_words(command: ShellCommand) -> tuple[str, ...]:
    return tuple(word for word in command.arguments if not word.startswith("-") and "\n" not in word)


def _commands_in_place(name: str, arguments: JsonValue) -> Iterator[tuple[str, ShellCommand]]:
    """The commands of a call, each with the folder that the call went to before it."""
    here = ""
    for command in simple_commands(name, arguments):
        if command.program in _GOING:
            here = join(here, *plain_words(command)[:1])
        else:
            yield here, command


def _redirected_to(command: ShellCommand) -> tuple[str, ...]:
    return command.writes if command.redirects else ()


def _elsewhere(paths: Iterator[str] | tuple[str, ...], folder: str) -> Iterator[tuple[str, Outside]]:
    for path in filter(None, paths):
        if outside := outside_of_folder(path, folder):
            yield path, outside


def _told_to_bring(command: ShellCommand) -> tuple[str, ...]:
    """The files and folders that a command is told to make of what it brings."""
    program, plain = plain_name(command.program), plain_words(command)
    told = tuple(option_values(command.arguments, _OUTPUTS))
    if program in COPYING and len(plain) > 1:
        return tuple(_copied_to(plain))
    if program == "curl" and not any(map(_NAMED_REMOTELY.match, command.arguments)):
        return tuple(word for word in plain if not is_address(word))
    if program == "git":
        made = _git_brings(command, plain)
    elif program in BRINGING or program == "tee" or not {"zipfile", "tarfile"}.isdisjoint(plain):
        made = plain
    elif program in INTERPRETERS:
        made = tuple(QUOTED.findall(" ".join((*command.arguments, command.stdin_text))))[:INPUTS_MAX]
    else:
        made = told_to_make(plain)
    return (*made, *told)


def _git_brings(command: ShellCommand, plain: tuple[str, ...]) -> tuple[str, ...]:
    """What git clones, and the files that it takes from others' branches: those that are named, or the folder
    of a branch."""
    if not is_of_others(command):
        return plain[{"clone": 1, "submodule": 2, "subtree": 2}.get(plain[0] if plain else "", len(plain)) :]
    if plain[:2] == ("worktree", "add"):
        return plain[2:3]
    if plain[:1] not in (("checkout",), ("restore",)):
        return ()
    behind = command.arguments[command.arguments.index("--") + 1 :] if "--" in command.arguments else ()
    return behind or plain[2:]


def _copied_to(plain: tuple[str, ...]) -> Iterator[str]:
    """Where copies are put: the last word, or below it where it is a folder for sure."""
    *copied, target = plain
    for path in islice(copied, INPUTS_MAX):
        name = basename(path.rpartition(":")[2])
        yield join(target, name) if name.strip(".") and (target.endswith("/") or len(copied) > 1) else target
