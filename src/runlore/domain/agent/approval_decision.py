"""Approval rules (AGT-4): which calls of Runlore's own agent are made, and which a person decides on.

A rule for commands is a pattern in which `*` stands for any text; at the end of what it allows, right behind
a word, only for further words: `git diff*` is not for `git difftool`. A line is allowed only where all of it
can be read without doubt: plain and quoted words, joined by `&&`, `||`, `;`, `|` and new lines. Everything
else a shell knows (substitutions, variables, redirections into files, loops, assignments) is for a person to
read.

A person allows what they see, and secrets are not shown. A command in which more would be hidden than a plain
value can be allowed by nobody: behind `<redacted:...>` there could be another command.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from runlore.domain import limits
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.domain.agent.denied_commands import (
    RUNNING,
    canonical,
    denied_by,
    doubt_of,
    program_name,
    tails_of,
)
from runlore.domain.agent.obeyed_files import names_of, obeyed_by, writes_git_settings
from runlore.domain.guard import secret_spans
from runlore.domain.record import JsonObject
from runlore.domain.shell.command import ShellCommand
from runlore.domain.shell.plain_script import plain_commands
from runlore.domain.shell.script import EXECUTING, Script, script_of
from runlore.domain.shell.wrappers import WRAPPERS, inner_of, side_effect_of
from runlore.domain.text.safe_text import STAR, escape, hidden_characters, matches

SHELL = "shell"
WRITING = frozenset({"write_file", "edit_file"})
HARMLESS = frozenset(
    {"read_file", "list_skills", "use_skill", "memory_search", "propose_learning", "scratch", "ask_user"}
)
_TOLD_CHARS = 120
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_WHITE = " \t\n"
# What a shell makes something else of before a program is given it; a tilde where a word begins.
_EXPANDED = re.compile(r"[*?\[{$`]|(?:^|[\s=:])~")
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
        if _EXPANDED.search(command.program):
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
        if name in RUNNING or (name == "find" and not _EXECUTING.isdisjoint(arguments)):
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
    if _EXPANDED.search(words[0]):
        return f"the program of {_quote_beginning(text)} is not written out, and something is denied"
    if not _is_expanded(text):
        return None
    if any(_may_begin(pattern, words) for pattern in deny):
        return f"what {_quote_beginning(text)} is given is not written out, and a pattern denies some of that"
    return None


def _may_begin(pattern: str, words: Sequence[str]) -> bool:
    """Whether the words of a call that are written out leave it open that it begins as a pattern does."""
    if not any(matches(pattern.partition(" ")[0], each) for each in (program_name(words[0]), words[0])):
        return False
    written = tuple(takewhile(lambda word: not _EXPANDED.search(word), words[1:]))
    meant = [word for word in pattern.split()[1:] if not word.startswith("-")]
    return any(
        all(map(matches, meant, (word for word in tail if not word.startswith("-"))))
        for tail in (written, *tails_of(written))
    )


def _named_doubt(deny: Sequence[str], script: Script, line: str) -> str | None:
    text = doubt_of(deny, script, line)
    return None if text is None else f"{_quote_beginning(text)} names what a pattern denies, and may run it"


def _is_expanded(text: str) -> bool:
    """Whether a shell may make other words of a command's; a backslash could hide where its quotes end."""
    return any(sign in text for sign in "$`\\") or bool(_EXPANDED.search(_QUOTED.sub("", text)))


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
