"""What a sentence about a suggestion may not bring: a program, a flag, a file or an address that it has not.

A sentence is read as it is shown: letters of other widths and scripts, marks on letters and emphasis inside
a word are taken off first. A program's name may be a plain word; with an argument it is a command.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from runlore.domain.shell.forms import FORMS
from runlore.domain.suggesting.known_commands import KnownCommands
from runlore.domain.suggestion import Suggestion
from runlore.domain.suspicion.views import latin

_MARKUP = re.compile(r"\]\(|\]:|\]\[|&#|&\w{2,8};|`|\\")
_ANGLE = re.compile(r"<([^<>]{0,60})(>?)")
# Elements of HTML that would do something where they are not shown as text, whatever a parameter is called.
_ELEMENTS = frozenset(
    ("a", "audio", "base", "body", "br", "button", "code", "details", "dialog", "div", "embed", "form",
     "frame", "head", "hr", "html", "iframe", "img", "input", "link", "math", "meta", "object", "p", "pre",
     "script", "select", "slot", "source", "span", "style", "svg", "table", "template", "textarea", "title",
     "video")
)  # fmt: skip
_SHELL_LIKE = re.compile(
    r"^-{1,2}[A-Za-z][\w-]*(?:=|$)|:[/\\]|^(?:/|\./|\.\./|~/|\\\\)[^\s]|[$][({A-Za-z_]|^[>|&]{1,2}$"
    r"|\|\||&&|>>|^www\.|@"
    # A host, a file: what has a dot inside, and no number is.
    r"|[^\W_]\.[^\W\d_]{2,}|^\d{1,3}(?:\.\d{1,3}){3}\b|^[A-Za-z][\w.-]{0,60}:\d{2,5}\b"
)
_DOTTED_NAMES = frozenset({"node.js", "vue.js", "next.js"})
_FLAG = re.compile(r"^-{1,2}[A-Za-z0-9]")
# What very many programs can do.
_SUBCOMMANDS = frozenset(
    ("add", "apply", "build", "clean", "clone", "delete", "deploy", "exec", "get", "init", "install",
     "publish", "pull", "push", "release", "remove", "reset", "restart", "rm", "run", "start", "stop", "test",
     "uninstall", "update", "upgrade")
)  # fmt: skip
# Of so many words behind a program's name one may be its flag.
_FLAG_WITHIN = 4
# Names of programs that are words of English too, in the order of the alphabet.
_WORDS_TOO = frozenset(
    ("at", "bat", "bundle", "cat", "convert", "cut", "date", "diff", "docker", "express", "file", "find",
     "fly", "format", "go", "head", "host", "install", "job", "join", "just", "kill", "last", "less", "look",
     "make", "man", "mix",
     "more", "move", "nice", "node", "open", "patch", "poetry", "python", "read", "rush", "screen", "script",
     "service", "set", "sort", "source", "split", "stack", "strings", "sync", "tail", "task", "tee", "test",
     "time", "timeout", "top", "touch", "tree", "type", "watch", "which", "who", "write", "yes")
)  # fmt: skip
# What a shell does itself.
_BUILTINS = frozenset({"eval", "exec", "sudo", "doas", "nohup", "xargs", "chroot", "dd", "mkfs", "crontab"})
_EDGES = ".,;:!?()[]{}\"'*_“”‘’…"
_LISTED = re.compile(r"^[\s>]*(?:(?:[-*+]|\d{1,3}[.)])\s+)?")
_TABLE_SIGNS = frozenset("|-:")


class OwnSentences:
    """The words of a suggestion, and what a sentence about it has beside them."""

    def __init__(self, suggestion: Suggestion, known: KnownCommands) -> None:
        told = (suggestion.body, suggestion.description, suggestion.name.replace("-", " "))
        self._known = known
        self._words = known.words | {
            word.strip(_EDGES) for text in told for word in text.replace("`", " ").split()
        }
        self._placeholders = {word for word in known.words if word.startswith("<") and word.endswith(">")}

    def has_markup(self, line: str) -> bool:
        """Whether a line has an element, a link or a sign that would be shown as another."""
        shown = unicodedata.normalize("NFKC", line)
        if _MARKUP.search(shown):
            return True
        return any(
            found[0] not in self._placeholders or found[1].lower() in _ELEMENTS
            for found in _ANGLE.finditer(shown)
        )

    def gains(self, line: str) -> bool:
        """Whether a line names something of a shell that the suggestion has not."""
        words = [word for word in (each.strip(_EDGES) for each in line.split()) if word]
        if any(map(self._is_gained, words)):
            return True
        shown = [word for word in (each.strip(_EDGES) for each in _as_shown(line).split()) if word]
        return (shown != words and any(map(self._is_gained, shown))) or any(self._has_arguments(shown))

    def is_command(self, line: str) -> bool:
        """Whether a line that stands alone reads as a command, and is none of the suggestion's."""
        text = _as_shown(_LISTED.sub("", line, count=1)).strip()
        words = text.split()
        if len(words) < 2 or text[-1] in ".!?:;,":
            return False
        is_program = words[0] in FORMS or words[0] in _BUILTINS or words[0] in self._known.programs
        return is_program and not self._known.is_known(text, is_step=False)

    def _is_gained(self, word: str) -> bool:
        if word in self._words or word.lower() in self._words:
            return False
        if set(word) <= _TABLE_SIGNS or word.lower() in _DOTTED_NAMES:
            # A table's own lines, or a name that people write so.
            return False
        if _SHELL_LIKE.search(word):
            return True
        return (word in FORMS and word not in _WORDS_TOO) or word in _BUILTINS

    def _has_arguments(self, words: Sequence[str]) -> Iterator[bool]:
        """For each program among the words whether what stands behind it is no argument of its own."""
        for place, word in enumerate(words[:-1]):
            program = word.lower()
            form = FORMS.get(program)
            if form is None and program not in self._known.programs:
                continue
            own = self._known.arguments(program)
            follower = words[place + 1]
            if form is not None and follower not in own:
                yield follower in form.values_of or follower in form.nested
                yield word == program and bool(form.subcommands) and follower in _SUBCOMMANDS
            behind = words[place + 1 : place + 1 + _FLAG_WITHIN]
            yield any(_FLAG.match(each) and each not in own for each in behind)


def _as_shown(line: str) -> str:
    """A line as a person reads it."""
    plain = unicodedata.normalize("NFKD", line.replace("*", "").replace("~~", ""))
    bare = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return latin(unicodedata.normalize("NFKC", bare))
