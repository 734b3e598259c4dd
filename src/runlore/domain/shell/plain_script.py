"""Reads scripts that need no grammar: plain and quoted words, joined by `&&`, `||`, `;`, `|` and new lines.

Most of what agents run is of this kind, and it is read many times faster so. Whatever else a script has in
it (substitutions, heredocs, redirects into files, keywords) leaves it to the grammar. What both can read they
read the same, word for word; only where a redirect stands in the middle of a pipeline or a list does the
grammar break it in two, and this does not.
"""

import re

from runlore.domain.shell.command import Redirect, ShellCommand

PLAIN_CHARS_MAX = 1_024
COMMANDS_MAX = 24

_TOKEN = re.compile(
    r"""[ \t]*(?:(&&|\|\||[;|\n])|(2>&1|2>/dev/null|>/dev/null)(?=[ \t]*(?:[;|\n]|&&|$))
    |((?:[A-Za-z0-9_./:@%+,=~^*-]|'[^'\n]*'|"(?:[^"$`\\\n]|\\[^"$`\\\n])*")+)(?=[ \t;|\n&]|$))""",
    re.VERBOSE,
)
# Words that mean something else to the shell where a command begins.
_KEYWORDS = frozenset(
    {
        *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"),
        *(
            "select",
            "function",
            "coproc",
            "time",
            "export",
            "declare",
            "typeset",
            "readonly",
            "local",
            "unset",
        ),
        *("unsetenv", "eval", "exec"),
    }
)
_PIECE = re.compile(r"'[^']*'|\"[^\"]*\"|[^'\"]+")
_REDIRECTS = {
    "2>&1": Redirect(">&", "1"),
    "2>/dev/null": Redirect(">", "/dev/null"),
    ">/dev/null": Redirect(">", "/dev/null"),
}


def plain_commands(text: str) -> tuple[ShellCommand, ...] | None:
    """The commands of a plain script as the grammar finds them; None where it needs the grammar."""
    if len(text) > PLAIN_CHARS_MAX:
        return None
    reading = _Reading(text)
    return tuple(reading.commands) if reading.is_read() else None


class _Reading:
    def __init__(self, text: str) -> None:
        self.text = text
        self.commands: list[ShellCommand] = []
        self._redirects: list[Redirect] = []
        self._pipeline = self._place = 0
        self._joint = ""

    def is_read(self) -> bool:
        """Read all of it; whether all of it is plain."""
        text, match = self.text.rstrip(), _TOKEN.match
        size = len(text)
        words: list[str] = []
        at = start = end = 0
        while at < size:
            found = match(text, at)
            if found is None:
                return False
            at = found.end()
            joint, redirect, word = found.groups()
            if word:
                if self._redirects or (not words and not _begins_command(word)):
                    return False
                # The grammar loses a lone dash, and signs of equality alone, in some places.
                if word == "-" or not word.strip("="):
                    return False
                if not words:
                    start = found.start(3)
                end = at
                words.append(_unquote(word) if "'" in word or '"' in word else word)
            elif redirect:
                if not words:
                    return False
                self._redirects.append(_REDIRECTS[redirect])
            else:
                if not self._close(words, start, end, joint=joint):
                    return False
                words = []
        return self._close(words, start, end, joint="") and (not self._joint or self._joint in ";\n")

    def _close(self, words: list[str], start: int, end: int, *, joint: str) -> bool:
        """End a command. Nothing may stand between two signs but new lines."""
        if not words:
            is_blank = joint in ("", "\n") and (not self._joint or self._joint in ";\n|&&||")
            return is_blank and not self._redirects
        if len(self.commands) >= COMMANDS_MAX:
            return False
        self.commands.append(
            ShellCommand(
                program=words[0],
                arguments=tuple(words[1:]),
                redirects=tuple(self._redirects),
                text=self.text[start:end],
                pipeline=self._pipeline,
                place=self._place,
            )
        )
        self._redirects = []
        self._joint = joint
        self._place = self._place + 1 if joint == "|" else 0
        self._pipeline += joint != "|"
        return True


def _begins_command(word: str) -> bool:
    return word not in _KEYWORDS and "=" not in word and word[0] not in "'\"-="


def _unquote(word: str) -> str:
    return "".join(part[1:-1] if part[0] in "'\"" else part for part in _PIECE.findall(word))
