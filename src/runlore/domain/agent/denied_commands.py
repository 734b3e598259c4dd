"""What is denied to Runlore's own agent (AGT-4, SEC-6).

It is looked for in all that the grammar finds, in scripts inside scripts, and behind programs such as `sudo`.
A pattern names a program and what it is called with. It is compared with the command as it is written,
without the options before its subcommand (`git -C . push` is `git push`), and its own options with those of
the command wherever they stand (`rm -rf` is `rm -r --force`). Where words name what is denied, and nobody can
tell whether they are run, a person is asked.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from runlore.domain.shell.command import ShellCommand
from runlore.domain.shell.script import Script, script_of
from runlore.domain.shell.wrappers import SHELLS, WRAPPERS, side_effect_of
from runlore.domain.text.safe_text import STAR, matches

# Programs that take further words of a command from elsewhere.
_FED = frozenset({"xargs", "parallel"})
# Programs that run their words, or a script in one of them; the reader of scripts sees through others.
_DENIED_INSIDE = frozenset(
    {
        "alias", "at", "batch", "busybox", "coproc", "docker", "doas", "entr", "exec", "gosu",
        "hyperfine", "kubectl", "lxc", "machinectl", "mise", "npx", "nsenter", "perf", "pkexec",
        "podman", "poetry", "pipx", "pwsh", "screen", "script", "setarch", "setpriv", "sg", "ssh",
        "systemd-run", "tmux", "toolbox", "trap", "uv", "uvx", "valgrind", "watch",
    }
)  # fmt: skip
# Programs that run what stands in their words, or what they are fed, as a script.
RUNNING = SHELLS | {"eval", ".", "source"}
# Programs that print, read or make files of their words, and run none of them.
_HARMLESS = frozenset(
    {
        "[", "[[", ":", "basename", "cat", "cd", "cp", "cut", "diff", "dirname", "echo", "egrep",
        "export", "false", "fgrep", "file", "grep", "head", "help", "id", "info", "jq",
        "ln", "ls", "mkdir", "more", "mv", "printf", "pwd", "read", "readlink", "realpath",
        "rg", "rmdir", "stat", "tail", "tee", "test", "touch", "tr", "true", "type", "uniq",
        "unset", "wc", "whatis", "whereis", "which",
    }
)  # fmt: skip
# What of git runs words that it is given, or gives them a name to be run by.
_GIT_RUNNING = frozenset(
    {"bisect", "config", "difftool", "filter-branch", "mergetool", "rebase", "submodule"}
)
# What they print stands in their words.
_SPELT_OUT = frozenset({"echo", "printf"})
_TOKEN = re.compile(r"[^\s'\"`;|&(){}<>,:=!%#\[\]\\]+")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:@%+,=~^*-]+")
# How many words of one command are moved about.
_WORDS_MAX = 24
_NESTING_MAX = 3
_WORDS_BETWEEN = 2
# Programs that give a file another name.
_NAMING = frozenset({"cp", "install", "ln", "mv"})
# What letters are short for wherever they are used.
_LETTERS = {"--all": "a", "--delete": "d", "--force": "f", "--global": "g", "--recursive": "r", "--yes": "y"}
_LINE_ESCAPE = re.compile(r"\\[0nrt]")
_ASSIGNED = re.compile(r"(?<![\w-])[A-Za-z_]\w*\+?=(<\([^)]*\)|\"[^\"]*\"|'[^']*'|\S+)")


def denied_by(patterns: Sequence[str], script: Script) -> tuple[str, str] | None:
    """A command that is denied, and the pattern that denies it; None where none is."""
    for command in script.commands if patterns else ():
        for words, text in _seen_as(command):
            for pattern in patterns:
                if matches(pattern, text) or _has_its_options(pattern.split(), words):
                    return text, pattern
    return None


def doubt_of(patterns: Sequence[str], script: Script, line: str) -> str | None:
    """The text of a command that may run what is denied; None where none does."""
    heads = [head for pattern in patterns if (head := pattern.partition(STAR)[0].split())]
    others = [each for each in script.commands if not _is_harmless(each)] if heads else []
    feeding = {each.pipeline for each in others}
    is_run = any(
        "<(" in each.text or _runs_a_file(each) or _is_fed_by_a_group(each, script) for each in others
    )
    for command in script.commands if heads else ():
        is_naming = program_name(command.program) in _NAMING
        is_read = _is_harmless(command) and command.pipeline not in feeding and not (is_naming or is_run)
        if _is_fed_unread(command, script):
            return command.text
        for head in heads:
            if _is_long(command, head) or _may_become(command, head) or _is_short_for(command, head):
                return command.text
            if not is_read and _names(command, head):
                return command.text
    # `PROMPT_COMMAND`, `PS4` and others name what a shell runs.
    assigned = _ASSIGNED.finditer(line) if heads else ()
    return next((each[0] for each in assigned if any(_spells(each[1], head) for head in heads)), None)


def canonical(words: Sequence[str]) -> str:
    """A command as patterns see it: one blank between its words, and quotes around what is no plain word."""
    return " ".join(
        word if _PLAIN_WORD.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'" for word in words
    )


def program_name(program: str) -> str:
    return program.rstrip("/").rpartition("/")[2]


def _seen_as(command: ShellCommand, depth: int = 0) -> Iterator[tuple[Sequence[str], str]]:
    """All that a command could be called, and all that it runs: in words, and as patterns see it."""
    yield command.words, canonical(command.words)
    yield (), " ".join(command.text.split())
    for words in _orders((program_name(command.program), *command.arguments)):
        yield words, canonical(words)
        if unversioned := words[0].rstrip("0123456789."):
            # Patterns for `pip` mean `pip3` and `pip3.11` too.
            yield (unversioned, *words[1:]), canonical((unversioned, *words[1:]))
        for first in range(len(command.wrappers)):
            yield (), canonical((*command.wrappers[first:], *words))
            yield (), canonical((command.wrappers[first], *words))
    is_running = program_name(command.program) in _DENIED_INSIDE
    if is_running:
        for at in range(min(len(command.arguments), _WORDS_MAX)):
            for words in _orders((program_name(command.arguments[at]), *command.arguments[at + 1 :])):
                yield words, canonical(words)
    if depth < _NESTING_MAX:
        for text in _scripts(command, is_running=is_running):
            for inner in script_of(text).commands:
                yield from _seen_as(inner, depth + 1)


def _has_its_options(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a call has the options of a pattern, wherever they stand and however they are spelt, behind the
    names that the pattern begins with; its other names in their order."""
    first = next((at for at, word in enumerate(pattern) if _is_letter_or_long(word)), None)
    if first is None or not words:
        return False
    names = [word for word in words if not word.startswith("-")]
    begun, later = pattern[:first], [word for word in pattern[first:] if not _is_letter_or_long(word)]
    behind = iter(names[first:])
    return (
        len(names) >= first
        and all(map(matches, begun, names))
        and all(any(matches(word, name) for name in behind) for word in later if word != STAR)
        and _gives_options([word for word in pattern if _is_letter_or_long(word)], words)
    )


def _is_letter_or_long(word: str) -> bool:
    return word.startswith("-") and word.strip("-") != ""


def _gives_options(options: Sequence[str], words: Sequence[str]) -> bool:
    """Whether each option is given: `-rf` by `-fr`, by `-r -f` and by `--recursive --force`."""
    given = list(takewhile(lambda word: word != "--", words))
    letters = {letter for word in given if word[:1] == "-" and word[:2] != "--" for letter in word[1:]}
    long = [word.partition("=")[0] for word in given if word.startswith("--") and word[3:]]
    letters |= {letter for name, letter in _LETTERS.items() if any(map(name.startswith, long))}
    letters |= {letter.lower() for letter in letters & {"R"}}
    for option in (each.rstrip(STAR) for each in options):
        is_long = option.startswith("--")
        is_spelt = any(word.startswith(option) or (is_long and option.startswith(word)) for word in long)
        meant = {_LETTERS.get(option, option)} if is_long else set(option[1:].replace("R", "r"))
        if not (is_spelt or option in given or meant <= letters):
            return False
    return True


def _scripts(command: ShellCommand, *, is_running: bool) -> Iterator[str]:
    """The scripts that a program is given, each more than one word, and what it gives a name to."""
    values = (word.partition("=")[2] for word in command.arguments)
    texts = (*command.arguments, *values, command.stdin_text) if is_running else ()
    yield from (text for text in (command.program, *texts) if len(text.split()) > 1)
    for at, word in enumerate(command.arguments):
        if word == "for-each-repo":
            yield f"{command.program} {' '.join(command.arguments[at + 1 :])}"
        # An alias of git's: another command of git, or behind `!` a script.
        if word.startswith("alias."):
            value = word.partition("=")[2] or " ".join(command.arguments[at + 1 :])
            yield value[1:] if value.startswith("!") else f"{command.program} {value}"


def _orders(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The same call without the options before its subcommand, and with all of them last."""
    name = words[0].casefold().removesuffix(".exe")
    # `npm@10` is a version of npm's.
    name = name.partition("@")[0] or name
    arguments = words[1:_WORDS_MAX]
    if name.startswith("git-"):
        yield "git", name.removeprefix("git-"), *arguments
    for tail in dict.fromkeys((arguments, *tails_of(arguments), _options_last(arguments))):
        yield words[0], *tail
        yield name, *tail


def _options_last(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The words with the options at their end, each with the word behind it: `aws s3 --region x rm`."""
    last = {at for at, word in enumerate(arguments) if word.startswith("-")}
    last |= {at + 1 for at in last if "=" not in arguments[at]}
    ordered = sorted(range(len(arguments)), key=lambda at: at in last)
    return tuple(arguments[at] for at in ordered)


def tails_of(arguments: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """What may be left behind the leading options; whether one takes the next word cannot be known."""
    starts = {0}
    for at, word in enumerate(arguments):
        if at in starts and word.startswith(("-", "+")):
            starts |= {at + 1} if "=" in word else {at + 1, at + 2}
            starts.discard(at)
    yield from (arguments[at:] for at in sorted(starts) if at <= len(arguments))


def _is_fed_unread(command: ShellCommand, script: Script) -> bool:
    """Whether a shell is fed a script that does not stand here, or a program gets another name."""
    name = program_name(command.program)
    if name == "hash" and "-p" in command.arguments:
        return True
    if name not in SHELLS or any(not word.startswith("-") for word in command.arguments):
        return False
    feeders = (
        each for each in script.commands if each.pipeline == command.pipeline and each.place < command.place
    )
    return bool(command.reads) or any(program_name(each.program) not in _SPELT_OUT for each in feeders)


def _is_fed_by_a_group(command: ShellCommand, script: Script) -> bool:
    """Whether what a command reads comes from several, as behind `(a; b) |`."""
    return command.place > 0 and not any(
        each.pipeline == command.pipeline and each.place < command.place for each in script.commands
    )


def _is_long(command: ShellCommand, head: Sequence[str]) -> bool:
    """Whether a command may be denied for words that are further behind than is looked at."""
    if len(command.arguments) < _WORDS_MAX:
        return False
    name = program_name(command.program)
    has_option = any(word.startswith("-") for word in (*head, command.arguments[0]))
    return name in _DENIED_INSIDE or (name == head[0] and has_option)


def _may_become(command: ShellCommand, head: Sequence[str]) -> bool:
    """Whether words from elsewhere may make a command of this one that begins as the pattern does."""
    if _FED.isdisjoint(command.wrappers):
        return False
    is_open = "{" in command.program or program_name(command.program) in WRAPPERS
    if is_open or not SHELLS.isdisjoint(command.wrappers):
        return True
    name, *arguments = (word for word in command.words[:_WORDS_MAX] if word != ":::" and "{" not in word)
    known = ([program_name(name), *tail] for tail in (arguments, *tails_of(tuple(arguments))))
    return any(words == list(head[: len(words)]) for words in known)


def _is_short_for(command: ShellCommand, head: Sequence[str]) -> bool:
    """Whether it may be the beginning of the subcommand that is denied: `npm pub` publishes too."""
    for name, *arguments in _orders((program_name(command.program), *command.arguments)):
        if name == head[0] and len(head) > 1 and arguments:
            more = head[1].removeprefix(arguments[0])
            if more != head[1] and more[:1].isalpha():
                return True
    return False


def _names(command: ShellCommand, head: Sequence[str]) -> bool:
    """Whether the words of a command name what a pattern denies: `system("git push")`."""
    if _makes_alias(command) and head[0] in map(program_name, _programs_renamed_by(command)):
        return True
    if program_name(command.program) in _NAMING:
        return _spells(" ".join(command.arguments), head[:1])
    behind_letters = (word[2:] for word in command.arguments if word.startswith("-"))
    text = " ".join(
        (
            *command.arguments,
            *behind_letters,
            command.stdin_text,
            *(value for _, value in command.assignments),
        )
    )
    return _spells(text, head)


def _spells(text: str, head: Sequence[str]) -> bool:
    """Whether a pattern's words stand in a text, one soon behind the other: `run("git", args=["push"])`."""
    names = [word for word in head if not word.startswith("-")]
    options = [word for word in head if word.startswith("-")]
    text = _LINE_ESCAPE.sub(" ", text)
    for words in (text, text.replace("/", " ")):
        all_tokens = [program_name(token) or token for token in _TOKEN.findall(words)]
        tokens = [token for token in all_tokens if not token.startswith("-")]
        for at in range(len(tokens) if names[0] in tokens else 0):
            rest = iter(tokens[at + 1 : at + len(names) + _WORDS_BETWEEN])
            if tokens[at] == names[0] and all(word in rest for word in names[1:]):
                return not options or _gives_options(options, all_tokens)
    return False


def _runs_a_file(command: ShellCommand) -> bool:
    """Whether a command runs a file, which the same line may have written."""
    name = program_name(command.program)
    is_script = name in RUNNING and any(not word.startswith("-") for word in command.arguments)
    return is_script or command.program.startswith(("./", "../"))


def _makes_alias(command: ShellCommand) -> bool:
    given = (*command.arguments, *(value for _, value in command.assignments))
    is_given = any(word.startswith("alias.") or "=alias." in word for word in given)
    return command.program == "alias" or is_given


def _programs_renamed_by(command: ShellCommand) -> Iterator[str]:
    """The programs that may get another name."""
    yield command.program
    yield from (word.partition("=")[2] for word in command.arguments)


def _is_harmless(command: ShellCommand) -> bool:
    name = program_name(command.program)
    if command.assignments:
        # `GIT_EDITOR`, `PAGER` and others name what is run.
        return False
    if "${" in command.text and ("`" in command.text or "$(" in command.text):
        # What stands inside of a variable's default is not taken apart.
        return False
    does = side_effect_of(name, command.arguments)
    if name != "git":
        return name in _HARMLESS and does is None and _FED.isdisjoint(command.wrappers)
    return does is None and _GIT_RUNNING.isdisjoint(command.arguments) and not _makes_alias(command)
