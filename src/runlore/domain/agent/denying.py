"""What is denied to Runlore's own agent, found wherever it stands in a command line (AGT-4, SEC-6).

A pattern names a program and what it is called with. It is compared with the command as it is written,
without the options before its subcommand (`git -C . push` is `git push`), and with any later option right
behind that. So is what other programs are given to run. Where words name what is denied, and nobody can tell
whether they are run, a person is asked.
"""

import re
from collections.abc import Iterator, Sequence

from runlore.domain.shell.command import ShellCommand
from runlore.domain.shell.script import Script, script_of
from runlore.domain.text.wildcards import STAR, matches

# Programs that take further words of a command from elsewhere.
_FED = frozenset({"xargs", "parallel"})
# Programs that run their words, or a script in one of them; the reader of scripts sees through others.
_RUNNING = frozenset(
    {
        "alias", "at", "batch", "busybox", "coproc", "docker", "doas", "entr", "exec", "gosu",
        "hyperfine", "kubectl", "lxc", "machinectl", "mise", "npx", "nsenter", "perf", "pkexec",
        "podman", "poetry", "pipx", "pwsh", "screen", "script", "setpriv", "sg", "ssh",
        "systemd-run", "tmux", "toolbox", "trap", "uv", "uvx", "valgrind", "watch",
    }
)  # fmt: skip
# Programs that print, read or make files of their words, and run none of them.
_HARMLESS = frozenset(
    {
        "[", "[[", ":", "basename", "cat", "cd", "cp", "cut", "diff", "dirname", "echo", "egrep",
        "export", "false", "fgrep", "file", "grep", "head", "help", "id", "info", "jq", "less",
        "ln", "ls", "man", "mkdir", "more", "mv", "printf", "pwd", "read", "readlink", "realpath",
        "rg", "rmdir", "stat", "tail", "tee", "test", "touch", "tr", "true", "type", "uniq",
        "unset", "wc", "whatis", "whereis", "which",
    }
)  # fmt: skip
# What of git runs words that it is given, or gives them a name to be run by.
_GIT_RUNNING = frozenset(
    {"bisect", "config", "difftool", "filter-branch", "mergetool", "rebase", "submodule"}
)
_TOKEN = re.compile(r"[^\s'\"`;|&(){}<>,=!\[\]]+")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:@%+,=~^*-]+")
# How many words of one command are moved about.
_WORDS_MAX = 24
_NESTING_MAX = 3


def denied_by(patterns: Sequence[str], script: Script) -> tuple[str, str] | None:
    """A command that is denied, and the pattern that denies it; None where none is."""
    for command in script.commands if patterns else ():
        for told in _seen_as(command):
            for pattern in patterns:
                if matches(pattern, told):
                    return told, pattern
    return None


def doubt_of(patterns: Sequence[str], script: Script) -> str | None:
    """The text of a command that may run what is denied; None where none does."""
    heads = [head for pattern in patterns if (head := pattern.partition(STAR)[0].split())]
    feeding = {each.pipeline for each in script.commands if not _is_harmless(each)} if heads else set()
    for command in script.commands if heads else ():
        is_read = _is_harmless(command) and command.pipeline not in feeding
        for head in heads:
            if _is_long(command, head) or _may_become(command, head):
                return command.text
            if not is_read and _names(command, head):
                return command.text
    return None


def canonical(words: Sequence[str]) -> str:
    """A command as patterns see it: one blank between its words, and quotes around what is no plain word."""
    return " ".join(
        word if _PLAIN_WORD.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'" for word in words
    )


def program_name(program: str) -> str:
    """A program without its folder."""
    return program.rstrip("/").rpartition("/")[2]


def _seen_as(command: ShellCommand, depth: int = 0) -> Iterator[str]:
    """All that a command could be called, and all that it runs."""
    yield canonical(command.words)
    yield " ".join(command.text.split())
    for words in _orders((program_name(command.program), *command.arguments)):
        yield canonical(words)
        for first in range(len(command.wrappers)):
            yield canonical((*command.wrappers[first:], *words))
            yield canonical((command.wrappers[first], *words))
    is_running = program_name(command.program) in _RUNNING
    if is_running:
        for at in range(min(len(command.arguments), _WORDS_MAX)):
            for words in _orders((program_name(command.arguments[at]), *command.arguments[at + 1 :])):
                yield canonical(words)
    if depth < _NESTING_MAX:
        for text in _scripts(command, is_running=is_running):
            for inner in script_of(text).commands:
                yield from _seen_as(inner, depth + 1)


def _scripts(command: ShellCommand, *, is_running: bool) -> Iterator[str]:
    """The scripts that a program is given, each more than one word, and what it gives a name to."""
    values = (word.partition("=")[2] for word in command.arguments)
    texts = (*command.arguments, *values, command.given) if is_running else ()
    yield from (text for text in (command.program, *texts) if len(text.split()) > 1)
    for at, word in enumerate(command.arguments):
        # An alias of git's: another command of git, or behind `!` a script.
        if word.startswith("alias."):
            value = word.partition("=")[2] or " ".join(command.arguments[at + 1 :])
            yield value[1:] if value.startswith("!") else f"{command.program} {value}"


def _orders(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The same call without the options before its subcommand, and with each later option in front."""
    name = words[0].casefold().removesuffix(".exe")
    arguments = words[1:_WORDS_MAX]
    for tail in dict.fromkeys((arguments, *_tails(arguments))):
        yield words[0], *tail
        yield name, *tail
        for at, word in enumerate(tail):
            if word.startswith("-") and at > 1:
                yield name, tail[0], word, *tail[1:at], *tail[at + 1 :]


def _tails(arguments: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """What may be left behind the leading options; whether one takes the next word cannot be known."""
    starts = {0}
    for at, word in enumerate(arguments):
        if at in starts and word.startswith(("-", "+")):
            starts |= {at + 1} if "=" in word else {at + 1, at + 2}
            starts.discard(at)
    yield from (arguments[at:] for at in sorted(starts) if at <= len(arguments))


def _is_long(command: ShellCommand, head: Sequence[str]) -> bool:
    """Whether a command may be denied for words that are further behind than is looked at."""
    if len(command.arguments) < _WORDS_MAX:
        return False
    name = program_name(command.program)
    has_option = any(word.startswith("-") for word in (*head, command.arguments[0]))
    return name in _RUNNING or (name == head[0] and has_option)


def _may_become(command: ShellCommand, head: Sequence[str]) -> bool:
    """Whether words from elsewhere may make a command of this one that begins as the pattern does."""
    if _FED.isdisjoint(command.wrappers):
        return False
    if "{" in command.program:
        return True
    name, *arguments = (word for word in command.words[:_WORDS_MAX] if word != ":::" and "{" not in word)
    known = ([program_name(name), *tail] for tail in (arguments, *_tails(tuple(arguments))))
    return any(words == list(head[: len(words)]) for words in known)


def _names(command: ShellCommand, head: Sequence[str]) -> bool:
    """Whether the words of a command name what a pattern denies: `system("git push")`."""
    if _makes_alias(command) and program_name(command.program) == head[0]:
        return True
    text = " ".join((*command.arguments, command.given, *(value for _, value in command.assignments)))
    tokens = [program_name(token) for token in _TOKEN.findall(text) if not token.startswith("-")]
    return any(tokens[at : at + len(head)] == list(head) for at in range(len(tokens)))


def _makes_alias(command: ShellCommand) -> bool:
    return any(word.startswith("alias.") for word in command.arguments)


def _is_harmless(command: ShellCommand) -> bool:
    name = program_name(command.program)
    if name != "git":
        return name in _HARMLESS and _FED.isdisjoint(command.wrappers)
    return _GIT_RUNNING.isdisjoint(command.arguments) and not _makes_alias(command)
