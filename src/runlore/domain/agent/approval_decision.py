"""Approval rules (AGT-4): which calls of Runlore's own agent are made, and which a person decides on.

A rule for commands is a pattern in which `*` stands for any text; at the end of what it allows, right behind
a word, only for further words: `git diff*` is not for `git difftool`. A line is allowed only where all of it
can be read without doubt: plain and quoted words, joined by `&&`, `||`, `;`, `|` and new lines. Everything
else a shell knows (substitutions, variables, redirections into files, loops, assignments) is for a person to
read.

What is denied (SEC-6) is looked for much further: in all that the grammar finds, in scripts inside scripts
and behind programs such as `sudo`. A pattern names a program and what it is called with. It is compared with
the command as it is written, without the options before its subcommand (`git -C . push` is `git push`), and
its own options with those of the command wherever they stand (`rm -rf` is `rm -r --force`). Where words name
what is denied, and nobody can tell whether they are run, a person is asked.

A person allows what they see, and secrets are not shown. A command in which more would be hidden than a plain
value can be allowed by nobody: behind `<redacted:...>` there could be another command.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from runlore.domain import limits
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.domain.agent.obeyed_files import names_of, obeyed_by, writes_git_settings
from runlore.domain.guard import secret_spans
from runlore.domain.record import JsonObject
from runlore.domain.shell.command import ShellCommand
from runlore.domain.shell.plain_script import plain_commands
from runlore.domain.shell.script import EXECUTING, Script, script_of
from runlore.domain.shell.wrappers import SHELLS, WRAPPERS, inner_of, side_effect_of
from runlore.domain.text.safe_text import STAR, escape, hidden_characters, matches

# Programs that take further words of a command from elsewhere.
_FED = frozenset({"xargs", "parallel"})
# Programs that run their words, or a script in one of them; the reader of scripts sees through others.
_DENIED_INSIDE = frozenset(
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
_TOKEN = re.compile(r"[^\s'\"`;|&(){}<>,:=!\[\]]+")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:@%+,=~^*-]+")
# How many words of one command are moved about.
_WORDS_MAX = 24
_NESTING_MAX = 3
_WORDS_BETWEEN = 2
# Programs that give a file another name.
_NAMING = frozenset({"cp", "install", "ln", "mv"})
_ASSIGNED = re.compile(r"(?<![\w-])[A-Za-z_]\w*\+?=(<\([^)]*\)|\"[^\"]*\"|'[^']*'|\S+)")


def denied_by(patterns: Sequence[str], script: Script) -> tuple[str, str] | None:
    """A command that is denied, and the pattern that denies it; None where none is."""
    for command in script.commands if patterns else ():
        for text in _seen_as(command):
            for pattern in patterns:
                if matches(pattern, text):
                    return text, pattern
    return None


def doubt_of(patterns: Sequence[str], script: Script) -> str | None:
    """The text of a command that may run what is denied; None where none does."""
    heads = [head for pattern in patterns if (head := pattern.partition(STAR)[0].split())]
    feeding = {each.pipeline for each in script.commands if not _is_harmless(each)} if heads else set()
    for command in script.commands if heads else ():
        is_naming = program_name(command.program) in _NAMING
        is_read = _is_harmless(command) and command.pipeline not in feeding and not is_naming
        if _is_fed_unread(command, script):
            return command.text
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
    is_running = program_name(command.program) in _DENIED_INSIDE
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
    """The same call without the options before its subcommand, and with each later option in front."""
    name = words[0].casefold().removesuffix(".exe")
    arguments = words[1:_WORDS_MAX]
    if name.startswith("git-"):
        yield "git", name.removeprefix("git-"), *arguments
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
    if "{" in command.program or not SHELLS.isdisjoint(command.wrappers):
        return True
    name, *arguments = (word for word in command.words[:_WORDS_MAX] if word != ":::" and "{" not in word)
    known = ([program_name(name), *tail] for tail in (arguments, *_tails(tuple(arguments))))
    return any(words == list(head[: len(words)]) for words in known)


def _names(command: ShellCommand, head: Sequence[str]) -> bool:
    """Whether the words of a command name what a pattern denies: `system("git push")`."""
    if _makes_alias(command) and head[0] in map(program_name, _programs_renamed_by(command)):
        return True
    if program_name(command.program) in _NAMING:
        return head[0] in map(program_name, command.arguments)
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
    for words in (text, text.replace("/", " ")):
        tokens = [program_name(token) for token in _TOKEN.findall(words) if not token.startswith("-")]
        for at in range(len(tokens) if head[0] in tokens else 0):
            rest = iter(tokens[at + 1 : at + len(head) + _WORDS_BETWEEN])
            if tokens[at] == head[0] and all(word in rest for word in head[1:]):
                return True
    return False


def _makes_alias(command: ShellCommand) -> bool:
    given = (*command.arguments, *(value for _, value in command.assignments))
    return command.program == "alias" or any(word.startswith("alias.") for word in given)


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


SHELL = "shell"
WRITING = frozenset({"write_file", "edit_file"})
HARMLESS = frozenset(
    {"read_file", "list_skills", "use_skill", "memory_search", "propose_learning", "scratch", "ask_user"}
)
_TOLD_CHARS = 120
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_WHITE = " \t\n"
# What a shell makes something else of before a program is given it.
_EXPANDED = frozenset("*~?[{$`")
# Programs that run what stands in their words, or what they are fed, as a script.
_RUNNING = SHELLS | {"eval", ".", "source"}
_EXECUTING = frozenset(EXECUTING)
# A value that a shell takes as it stands; quotes only in pairs, so that what follows them stays as it looks.
_PLAIN = re.compile(r"""[\w.+/=~@%:,^!'"-]*""", re.ASCII)
_QUOTES = "'\""


class Ruling(StrEnum):
    """What the rules say of a call."""

    ALLOWED = "allowed"
    DENIED = "denied"
    ASK = "ask"


@dataclass(frozen=True, kw_only=True)
class ExplainedRuling:
    """A ruling, with the sentence that says which rule it is."""

    ruling: Ruling
    why: str


_BY_STANCE = {Stance.ALLOW: Ruling.ALLOWED, Stance.ASK: Ruling.ASK, Stance.DENY: Ruling.DENIED}


def verdict(
    rules: ApprovalRules, tool: str, arguments: JsonObject, *, confined: bool = True
) -> ExplainedRuling:
    """What the rules say of a call. A tool that they do not know is asked about; so is, unless it is settled
    otherwise, every command that is not `confined` to the working folder."""
    if tool == SHELL:
        command = arguments.get("command")
        line = command if isinstance(command, str) else ""
        ruled = _of_command(rules, line)
        if ruled.ruling is Ruling.ALLOWED and writes_git_settings(line):
            ruled = ExplainedRuling(
                ruling=Ruling.ASK, why="it writes git's settings, and git obeys them by itself"
            )
        return ruled if confined or rules.unconfined is Stance.ALLOW else _of_unconfined(rules, ruled)
    if tool in WRITING:
        path = arguments.get("path")
        return _of_write(rules, path if isinstance(path, str) else "")
    if tool in HARMLESS:
        return ExplainedRuling(ruling=Ruling.ALLOWED, why=f"{tool} needs no approval")
    return ExplainedRuling(ruling=Ruling.ASK, why=f"no rule names the tool {_quote_beginning(tool)}")


def _of_write(rules: ApprovalRules, path: str) -> ExplainedRuling:
    program = obeyed_by(names_of(path))
    if rules.writes is Stance.ALLOW and program is not None:
        why = f"{_quote_beginning(path)} is a file that {program} obeys by itself"
        return ExplainedRuling(ruling=Ruling.ASK, why=why)
    return ExplainedRuling(
        ruling=_BY_STANCE[rules.writes], why=f"the rule for writing files is {rules.writes.value}"
    )


def _of_command(rules: ApprovalRules, line: str) -> ExplainedRuling:
    script = script_of(line)
    if denied := _match_denied(rules.deny, script):
        return denied
    unclear = _unclear(line)
    if unclear is None:
        commands = plain_commands(line.strip(_WHITE)) or ()
        unread = _not_allowed(rules, commands) if commands else "there is no command in it"
        unread = unread or _named_doubt(rules.deny, script, line)
        if unread is None:
            return ExplainedRuling(ruling=Ruling.ALLOWED, why="every command in it is allowed by a pattern")
    else:
        unread = unclear
    if rules.shell is not Stance.ALLOW:
        return ExplainedRuling(ruling=_BY_STANCE[rules.shell], why=unread)
    return _of_any(rules, line, script)


def _of_unconfined(rules: ApprovalRules, ruled: ExplainedRuling) -> ExplainedRuling:
    """The ruling about a command that can do all that its user can: never milder than what is settled."""
    if ruled.ruling is Ruling.DENIED:
        return ruled
    why = "on this system nothing keeps a command inside the working folder: it can do all that its user can"
    reason = why if ruled.ruling is Ruling.ALLOWED else f"{why}; {ruled.why}"
    return ExplainedRuling(ruling=_BY_STANCE[rules.unconfined], why=reason)


def _of_any(rules: ApprovalRules, line: str, script: Script) -> ExplainedRuling:
    """A line where all is allowed that is not denied: asked about where that cannot be told for sure."""
    if hidden_characters(line) or "\r" in line:
        return ExplainedRuling(ruling=Ruling.ASK, why="it has characters that nobody sees")
    if rules.deny:
        if not script.whole or script.is_cut:
            return ExplainedRuling(
                ruling=Ruling.ASK, why="not all of it can be read, and something is denied"
            )
        for command in script.commands:
            if doubt := _doubt(rules.deny, command.words, command.text):
                return ExplainedRuling(ruling=Ruling.ASK, why=doubt)
        if doubt := _named_doubt(rules.deny, script, line):
            return ExplainedRuling(ruling=Ruling.ASK, why=doubt)
    return ExplainedRuling(ruling=Ruling.ALLOWED, why="the rule for commands is allow")


def _unclear(line: str) -> str | None:
    """Why a line cannot be read without doubt; None where it can."""
    if hidden_characters(line) or "\r" in line:
        return "it has characters that nobody sees"
    if line.strip() != line.strip(_WHITE):
        return "it has white space that is none to a shell"
    if plain_commands(line.strip(_WHITE)) is None:
        return "it is longer or holds more than plain commands: a person has to read it"
    return None


def _not_allowed(rules: ApprovalRules, commands: Sequence[ShellCommand]) -> str | None:
    """Why some command of a plain line is not allowed; None where each is."""
    for command in commands:
        if _EXPANDED.intersection(command.program):
            return f"the program of {_quote_beginning(command.text)} is not written out"
        if not any(_allows(pattern, command.words) for pattern in rules.allow):
            return f"no pattern allows {_quote_beginning(command.text)}"
        if doubt := _doubt(rules.deny, command.words, command.text):
            return doubt
    return None


def _allows(pattern: str, words: Sequence[str]) -> bool:
    """Whether a pattern allows a command. One that runs another command has to be written in it, up to and
    including the program that is run; one that runs a script, as a whole. An option by which a program that
    reads would write or run something has to be written in it too."""
    text, begun = canonical(words), pattern.removesuffix(STAR)
    is_behind_a_word = begun != pattern and begun[-1:].isalnum()
    meant = (begun, f"{begun} {STAR}") if is_behind_a_word else (pattern,)
    if not any(matches(each, text) for each in meant):
        return False
    written, star, _ = pattern.partition(STAR)
    if not star:
        return True
    effect = side_effect_of(program_name(words[0]), words[1:])
    named = {word.partition("=")[0] for word in written.split()}
    is_named = effect is None or effect.partition("=")[0] in named
    return is_named and len(written) >= _fixed_chars(words)


def _fixed_chars(words: Sequence[str]) -> float:
    """How many of a command's first characters no star may stand for."""
    at = 0
    while True:
        name = program_name(words[at])
        arguments = words[at + 1 :]
        if name in _RUNNING or (name == "find" and not _EXECUTING.isdisjoint(arguments)):
            return float("inf")
        inner = inner_of(name, arguments)
        if inner is None and name in WRAPPERS:
            return float("inf")
        if inner is None:
            # A program is written out where it is run by another one, and else as far as the pattern says.
            return len(canonical(words[: at + 1])) if at else 0
        if inner.script is not None or not inner.words:
            return float("inf")
        at += 1 + inner.words[0]


def _match_denied(patterns: Sequence[str], script: Script) -> ExplainedRuling | None:
    found = denied_by(patterns, script)
    if found is None:
        return None
    text, pattern = found
    return ExplainedRuling(
        ruling=Ruling.DENIED,
        why=f"{_quote_beginning(text)} is denied by the pattern {_quote_beginning(pattern)}",
    )


def _doubt(deny: Sequence[str], words: Sequence[str], text: str) -> str | None:
    """Why it cannot be told that a command is none of the denied; None where it can."""
    if not deny:
        return None
    if _EXPANDED.intersection(words[0]):
        return f"the program of {_quote_beginning(text)} is not written out, and something is denied"
    if not _is_expanded(text):
        return None
    name = program_name(words[0])
    if any(matches(pattern.partition(" ")[0], each) for pattern in deny for each in (name, words[0])):
        return f"what {_quote_beginning(text)} is given is not written out, and a pattern denies some of that"
    return None


def _named_doubt(deny: Sequence[str], script: Script, line: str) -> str | None:
    # `PROMPT_COMMAND`, `PS4` and others name what a shell runs.
    heads = [head for pattern in deny if (head := pattern.partition(STAR)[0].split())]
    assigned = (each[0] for each in _ASSIGNED.finditer(line) if any(_spells(each[1], head) for head in heads))
    text = doubt_of(deny, script) or next(assigned, None)
    return None if text is None else f"{_quote_beginning(text)} names what a pattern denies, and may run it"


def _is_expanded(text: str) -> bool:
    """Whether a shell may make other words of a command's; a backslash could hide where its quotes end."""
    return any(sign in text for sign in "$`\\") or bool(_EXPANDED.intersection(_QUOTED.sub("", text)))


def _quote_beginning(text: str) -> str:
    shown = escape(" ".join(text.split()))
    return f"`{shown if len(shown) <= _TOLD_CHARS else shown[:_TOLD_CHARS] + '…'}`"


def why_not_shown(command: str) -> str:
    """Why a command cannot be shown to anybody; empty where it can."""
    if len(command) > limits.APPROVAL_TEXT_CHARS_MAX:
        return "it is too long to be shown to a person"
    if all(_is_value(command[found.start : found.end]) for found in secret_spans(command)):
        return ""
    return (
        "a part of it looks like a secret and is not shown to whoever decides, and more than a value may"
        " stand in it: leave the secret out, or read it from a file"
    )


def _is_value(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and not any(text.count(quote) % 2 for quote in _QUOTES)
