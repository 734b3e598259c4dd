"""The normal form of a command (SKL-13): what is left when paths, addresses, versions and values are gone."""

import re
from collections.abc import Sequence
from dataclasses import field

from runlore.domain.lazy import dataclass
from runlore.domain.shell.command import ShellCommand
from runlore.domain.shell.program_forms import FORMS, Form

URL = "<url>"
NESTED_COMMANDS_MAX = 4

_ADDRESS = re.compile(r"^(?:[a-z][a-z0-9+.-]*://|<url>$|[\w.-]+@[\w.-]+:(?!\d+$))", re.IGNORECASE)
_VERSIONED = re.compile(
    r"^(python|pypy|pip|node|nodejs|ruby|perl|php|lua|gcc|g\+\+|clang|java|make|gmake)[-\d.]+$"
)
_SUBCOMMAND = re.compile(r"^[A-Za-z][A-Za-z0-9_]*(?:[:.-][A-Za-z0-9_]+)*$")
# A file that is run is a value, and no subcommand.
_SCRIPT = re.compile(r"\.(?:php|py|rb|js|mjs|cjs|ts|sh|pl|lua)$")
# A word that an unknown program may have as its subcommand: a plain one, in lower case, without digits.
_PLAIN = re.compile(r"^[a-z]+(?:[-:][a-z]+)*$")
_FLAG = re.compile(r"^--?[A-Za-z?][\w:+.?-]*$")
_NUMBERED = re.compile(r"^-[A-Za-z]?\d[\d.,:]*$|^-\d")
_UNKNOWN = Form(subcommands=1, joined=False)
_OLD_STYLE = re.compile(r"^[Acrtux][a-zA-Z]*$")


@dataclass(frozen=True, kw_only=True)
class CommandParts:
    """The words of a command, sorted out: what it does, how, and with what."""

    program: str
    subcommands: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(word for word in self.plain if _ADDRESS.match(word))


def normal_form(command: ShellCommand) -> str:
    """Program, subcommand, flags in order, `<url>`: the same for two commands that differ in values alone.

    Wrappers such as `sudo` are seen through already; what runs a command as its own work, as `uv run` does,
    stands before that command's form.
    """
    return form_of(parts_of(command))


def parts_of(command: ShellCommand) -> CommandParts:
    """The words of a command, with flags and their values told apart as far as the tables know."""
    return _parts((command.program, *command.arguments))


def form_of(parts: CommandParts, depth: int = 0) -> str:
    """The normal form of a command whose words are sorted out already."""
    flags = sorted(set(parts.flags))
    words = [parts.program, *parts.subcommands, *flags]
    if parts.inner and depth < NESTED_COMMANDS_MAX:
        words.append(form_of(_parts(parts.inner), depth + 1))
    elif parts.addresses:
        words.append(URL)
    return " ".join(words)


def _parts(words: Sequence[str]) -> CommandParts:
    # A program's name without its folder, its version and anything that would break the form in two.
    word = words[0]
    name = word.rstrip("/").rpartition("/")[2] or word
    versioned = _VERSIONED.match(name)
    program = re.sub(r"\s+", "_", versioned[1] if versioned else name) or "_"
    form = FORMS.get(program, _UNKNOWN)
    reading = _Reading(form, is_known=program in FORMS)
    arguments = list(words[1:])
    if program == "tar" and arguments and _OLD_STYLE.match(arguments[0]):
        # `tar xzf a.tgz`: the first word holds the flags, without their dash.
        arguments[0] = f"-{arguments[0]}"
    reading.read(arguments)
    return CommandParts(
        program=program,
        subcommands=tuple(reading.subcommands),
        flags=tuple(reading.flags),
        plain=tuple(reading.plain),
        inner=tuple(reading.inner),
    )


@dataclass
class _Reading:
    form: Form
    is_known: bool
    subcommands: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    wanted: int = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = self.form.subcommands

    def read(self, words: Sequence[str]) -> None:
        index = 0
        while index < len(words) and not self.inner:
            word = words[index]
            if word == "--":
                is_run = bool(self.subcommands) and self.subcommands[0] in self.form.runs
                (self.inner if is_run else self.plain).extend(words[index + 1 :])
                return
            if word.startswith("-") and word != "-":
                index += self._flag(word, words[index + 1 : index + 2])
            else:
                self._word(words, index)
                index += 1

    def _word(self, words: Sequence[str], index: int) -> None:
        word = words[index]
        if self.subcommands and self.subcommands[0] in self.form.runs and word:
            self.inner.extend(words[index:])
            return
        if self.wanted and self._is_subcommand(word, is_first=index == 0):
            self.subcommands.append(word)
            self.wanted -= 1
            if word in self.form.nested and len(self.subcommands) == 1:
                self.wanted += 1
            return
        self.plain.append(word)
        # What comes behind the first value is no subcommand any more.
        self.wanted = 0

    def _is_subcommand(self, word: str, *, is_first: bool) -> bool:
        if self.is_known:
            return _SUBCOMMAND.match(word) is not None and not _SCRIPT.search(word)
        return is_first and _PLAIN.match(word) is not None

    def _flag(self, word: str, following: Sequence[str]) -> int:
        """Read one flag: how many words it took."""
        name, equals, value = word.partition("=")
        if name in self.form.modules and (following or equals):
            self.subcommands += [name, *(_module(following[0]) if not equals else _module(value))]
            return 1 if equals else 2
        if equals or _NUMBERED.match(word):
            return 1
        if self._takes_value(word):
            return 2
        if not word.startswith("--") and len(word) > 2 and self.form.joined and self.is_known:
            return self._bundle(word)
        if _FLAG.match(word):
            self.flags.append(word)
        return 1

    def _bundle(self, word: str) -> int:
        """Short flags that stand together; one that takes a value takes the rest, or the next word."""
        for at, letter in enumerate(word[1:], start=1):
            flag = f"-{letter}"
            if self._takes_value(flag):
                return 2 if at == len(word) - 1 else 1
            if letter.isalpha():
                self.flags.append(flag)
        return 1

    def _takes_value(self, flag: str) -> bool:
        if self.subcommands and self.subcommands[0] in self.form.values_of:
            return flag in self.form.values_of[self.subcommands[0]]
        return flag in self.form.values


def _module(word: str) -> tuple[str, ...]:
    """A module by its first name: `http.server` is one thing, the rest of it is not a version."""
    return (word,) if _SUBCOMMAND.match(word) else ()
